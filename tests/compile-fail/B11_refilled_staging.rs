//! An epilogue refills its staging buffer for the next tile while the last one is being stored.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn epilogue<'k>(wg: &mut Epilogue<'k>, buffer: Buffer<'k>, results: &mut Results<'k>, c: C) {
    let mut staging = buffer.open(wg).fence_proxy_async(wg).store(wg, c.at(0, 0));
    let acc = results.wait(wg).fence_after_thread_sync(wg);
    let (acc, values) = acc.ld::<64>(wg, 0).wait_ld(wg);
    staging.put(wg, 0, values);
    acc.fence_before_thread_sync(wg).release(wg);
    staging.finish(wg);
}

fn main() {
    let _ = epilogue;
}
