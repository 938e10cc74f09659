//! Reads a message behind an acquiring wait for its flag.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, inbox: Incoming<'k>) -> u32 {
    let inbox = inbox.wait(cta);
    inbox.get(0)
}

fn main() {
    let _ = first;
}
