//! The fence has the scope of the flag.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, inbox: Incoming<'k>) -> u32 {
    let inbox = inbox.wait_relaxed(cta).fence_acquire::<Gpu, _>(cta);
    inbox.get(0)
}

fn main() {
    let _ = first;
}
