//! One region put in the place of another of its type.

#[path = "../fixture/exchange.rs"]
mod fixture;
use fixture::*;

use baton::exchange::Region;
use baton::path::Empty;

fn replace<'k>(
    sums: &mut Sums<'k>,
    maxima: Region<'k, smem::maxima, u32, 128, Threads<'k>, Empty>,
) -> Sums<'k> {
    core::mem::replace(sums, maxima)
}

fn main() {}
