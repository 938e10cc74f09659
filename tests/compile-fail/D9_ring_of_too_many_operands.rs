//! A ring of 33 operands in tensor memory.

use baton::prelude::*;
use baton::tensor_stages::TensorStages;

baton::shared! { pub struct Smem in smem { p: TensorStages<33, bf16, 16> } }

#[baton::kernel(threads = 128)]
fn nothing(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, smem::Parts { p, .. }) = cta.claim();
    let mut joined = cta.join();
    let closed = p.dealloc(&mut joined);
    joined.exit((closed,))
}

fn main() {}
