//! Takes the end of a mailbox twice.

#[path = "../fixture/mailbox.rs"]
mod fixture;
use fixture::*;

fn twice<'k>(cta: &mut Threads<'k>, mailbox: Mailbox<u32, 0, 1>) {
    let _first = mailbox.end(cta);
    let _second = mailbox.end(cta);
}

fn main() {
    let _ = twice;
}
