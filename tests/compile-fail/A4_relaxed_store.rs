//! Publishes with a relaxed store that nothing was released before.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn send<'k>(cta: &mut Threads<'k>, outbox: Outgoing<'k>) {
    outbox.fill(cta, |i| i as u32).store_relaxed(cta);
}

fn main() {
    let _ = send;
}
