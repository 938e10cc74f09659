//! Behind that answer there is only the end.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) {
    if let Err(asker) = asker.ask(thread).answer(thread) {
        let _ = asker.finish(thread);
    }
}

fn main() {
    let _ = ask;
}
