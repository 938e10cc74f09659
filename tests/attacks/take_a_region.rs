//! A kernel that is handed a region by the host.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

#[baton::kernel(threads = 128)]
fn handed<'k>(cta: Cta<'_, NoShared, 128>, sums: Sums<'static>) -> Exit<'_> {
    let _ = sums;
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
