//! Stores one of two buffers, and writes on without having waited for the turn of the other.

#[path = "../fixture/turns.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, buffers: Buffers<'k>, c: C) {
    let mut staging = buffers.open(wg);
    staging.put(wg, 0, [1.0; 64]);
    let mut staging = staging.fence_proxy_async(wg).store(wg, c.at(0, 0));
    staging.put(wg, 0, [2.0; 64]);
    staging.finish(wg);
}

fn main() {
    let _ = store;
}
