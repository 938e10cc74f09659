//! A fence that does not reach the other CTA, behind a flag that does.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, inbox: Incoming<'k>) -> u32 {
    let inbox = inbox.wait_relaxed(cta).fence_acquire::<baton::scope::Cta, _>(cta);
    inbox.get(0)
}

fn main() {
    let _ = first;
}
