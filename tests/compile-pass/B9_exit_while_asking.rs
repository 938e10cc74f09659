//! The last answer has landed.

#[path = "../fixture/takeover.rs"]
mod fixture;
use fixture::*;

fn ask<'k>(thread: &mut Asking<'k>, asker: Asker<'k, Granted>) -> Finished<'k, RequestsOf<smem::tiles>> {
    asker.ask_until_refused(thread)
}

fn main() {
    let _ = ask;
}
