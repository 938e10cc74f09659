//! A tile stored through a map that others load through.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn store<'k>(wg: &mut Epilogue<'k>, buffer: Buffer<'k>, c: TensorMap<Output>) {
    let staging = buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0));
    staging.finish(wg);
}

fn main() {}
