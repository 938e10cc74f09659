//! A release fence stands before the relaxed store.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn send<'k>(cta: &mut Threads<'k>, outbox: Outgoing<'k>) {
    outbox.fill(cta, |i| i as u32).fence_release::<Gpu, _>(cta).store_relaxed(cta);
}

fn main() {
    let _ = send;
}
