//! The flag has a scope that both CTAs are in.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn ends<'k>(cta: &mut Threads<'k>, mailbox: Mailbox<u32, 0, 1, baton::scope::Gpu>) {
    if let End::Sender(outbox) = mailbox.end(cta) {
        outbox.fill(cta, |i| i as u32).send(cta);
    }
}

fn main() {
    let _ = ends;
}
