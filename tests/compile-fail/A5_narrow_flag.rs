//! Two CTAs share a flag whose scope is one of them.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn ends<'k>(cta: &mut Threads<'k>, mailbox: Mailbox<u32, 0, 1, baton::scope::Cta>) {
    if let End::Sender(outbox) = mailbox.end(cta) {
        outbox.fill(cta, |i| i as u32).send(cta);
    }
}

fn main() {
    let _ = ends;
}
