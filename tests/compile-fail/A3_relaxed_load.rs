//! Takes a relaxed load of the flag for permission to read.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, inbox: Incoming<'k>) -> u32 {
    let inbox = inbox.wait_relaxed(cta);
    inbox.get(0)
}

fn main() {
    let _ = first;
}
