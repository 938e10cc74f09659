//! Reads 12 bytes at once.

use baton::prelude::*;

#[baton::kernel(threads = 32)]
fn sums(cta: Cta<'_, NoShared, 32>, x: ReadOnly<f32>, y: GlobalPtr<f32>) -> Exit<'_> {
    let values = x.get_nc_chunk::<3>(0);
    y.partition(&cta).put(0, values[0]);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {}
