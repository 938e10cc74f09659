//! Each thread that wrote runs the proxy fence before the bulk store.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, buffer: Buffer<'k>, c: C) {
    let mut staging = buffer.open(wg);
    staging.put(wg, 0, [1.0; 64]);
    let staging = staging.fence_proxy_async(wg).store(wg, c.at(0, 0));
    staging.finish(wg);
}

fn main() {
    let _ = store;
}
