//! Two CTAs share a flag whose scope is one of them.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn ends<'k>(cta: &mut Threads<'k>, mailbox: Mailbox<'k, u32, baton::scope::Cta>) {
    if let End::Sender(outbox) = mailbox.ends(cta, 0, 1) {
        outbox.fill(cta, |i| i as u32).send(cta);
    }
}

fn main() {
    let _ = ends;
}
