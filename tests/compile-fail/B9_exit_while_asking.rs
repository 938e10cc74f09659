//! Ends while the hardware may still write an answer.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) -> Finished<'k, RequestsOf<smem::tiles>> {
    asker.ask(thread).finish(thread)
}

fn main() {
    let _ = ask;
}
