//! Ends the kernel with the proof that its bulk stores have ended.

use baton::global::Store;
use baton::prelude::*;

type Output = Tile<f32, 128, 64>;
baton::shared! { pub struct Smem in smem { c: Staging<Output> } }

#[baton::kernel(threads = 128)]
fn ones(cta: Cta<'_, Smem, 128>, c: TensorMap<Output, Store>) -> Exit<'_> {
    let (mut cta, smem::Parts { c: staging, .. }) = cta.claim();
    let mut staging = staging.open(&mut cta);
    staging.put(&mut cta, 0, [1.0; 64]);
    let in_flight = staging.fence_proxy_async(&mut cta).store(&mut cta, c.at(0, 0));
    let stored = in_flight.finish(&mut cta);
    cta.join().exit((stored,))
}

fn main() {}
