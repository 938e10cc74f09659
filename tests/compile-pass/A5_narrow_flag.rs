//! The flag has a scope that both CTAs are in.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn ends<'k>(cta: &mut Threads<'k>, mailbox: Mailbox<'k, u32, baton::scope::Gpu>) {
    if let End::Sender(outbox) = mailbox.ends(cta, 0, 1) {
        outbox.fill(cta, |i| i as u32).send(cta);
    }
}

fn main() {
    let _ = ends;
}
