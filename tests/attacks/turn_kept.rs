//! Keeps a buffer whose copy is under way, beside the one whose turn comes next.

#[path = "../fixture/turns.rs"]
mod fixture;
use fixture::*;

fn keep<'k>(wg: &mut Epilogue<'k>, flying: Buffer<'k, InFlight>) {
    let next = flying.wait_group_read(wg);
    let again = flying.wait_group_read(wg);
    next.finish(wg);
    again.finish(wg);
}

fn main() {
    let _ = keep;
}
