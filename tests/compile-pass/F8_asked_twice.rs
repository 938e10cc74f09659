//! The answer comes before the second question.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) {
    if let Ok(asker) = asker.ask(thread).answer(thread) {
        let _ = asker.ask(thread).answer(thread);
    }
}

fn main() {
    let _ = ask;
}
