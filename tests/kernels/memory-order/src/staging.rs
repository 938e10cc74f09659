//! Bulk stores from shared memory: rules B1, B7, B9, B10, B11.

use baton::global::Store;
use baton::prelude::*;

type Out = Tile<u32, 64, 32>;

baton::shared! { pub struct Smem in smem { buffer: Staging<Out> } }

/// The threads write a tile, the first of them stores it, and once it was read the threads write another.
#[baton::kernel(threads = 64)]
pub fn store_twice(cta: Cta<'_, Smem, 64>, c: TensorMap<Out, Store>) -> Exit<'_> {
    let (mut cta, smem::Parts { buffer, .. }) = cta.claim();
    let mut buffer = buffer.open(&mut cta);
    buffer.put(&mut cta, 0, [1; 4]);
    let mut buffer =
        buffer.fence_proxy_async(&mut cta).store(&mut cta, c.at(0, 0)).wait_group_read(&mut cta);
    buffer.put(&mut cta, 0, [2; 4]);
    let buffer = buffer.fence_proxy_async(&mut cta).store(&mut cta, c.at(0, 32));
    let stored = buffer.finish(&mut cta);
    cta.join().exit((stored,))
}
