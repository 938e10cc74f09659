//! Asks once more after the answer that no cluster is left.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) {
    if let Err(asker) = asker.ask(thread).answer(thread) {
        let _ = asker.ask(thread).answer(thread);
    }
}

fn main() {
    let _ = ask;
}
