//! Asks for a second cluster before the answer to the first.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) {
    let _ = asker.ask(thread).ask(thread).answer(thread);
}

fn main() {
    let _ = ask;
}
