//! Reads a message whose flag was never looked at.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn first<'k>(cta: &mut Threads<'k>, inbox: Incoming<'k>) -> u32 {
    let _ = cta;
    inbox.get(0)
}

fn main() {
    let _ = first;
}
