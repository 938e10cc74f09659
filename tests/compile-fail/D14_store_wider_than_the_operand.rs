//! Stores 128 elements into a row of 64.

use baton::prelude::*;
use baton::tensor_stages::TensorStages;

baton::shared! { pub struct Smem in smem { p: TensorStages<1, bf16, 64> } }

#[baton::kernel(threads = 160)]
fn make(cta: Cta<'_, Smem, 160>) -> Exit<'_> {
    let (cta, smem::Parts { p, .. }) = cta.claim();
    let (mut made, mut taken, memory) = p.split();
    let (mut joined, (stored, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let p = made.acquire(&mut wg);
            let p = p.st::<64>(&mut wg, 0, |i| bf16::from_f32(i as f32)).wait_st(&mut wg);
            p.fence_before_thread_sync(&mut wg).publish(&mut wg);
            made.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                taken.wait(&mut t).open(&mut t).release_by_commit(&mut t);
                taken.finish(&mut t)
            })
        }),
    ));
    let closed = memory.dealloc(&mut joined, issued, stored);
    joined.exit((closed,))
}

fn main() {}
