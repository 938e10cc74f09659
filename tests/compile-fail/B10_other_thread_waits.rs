//! Another set of threads waits for the bulk store than the one that issued it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, other: &mut LoadThread<'k>, buffer: Buffer<'k>, c: C) {
    let staging = buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0));
    staging.wait_group_read(other).finish(wg);
}

fn main() {
    let _ = store;
}
