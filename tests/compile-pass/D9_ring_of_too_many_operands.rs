//! As many operands as there may be.

use baton::prelude::*;
use baton::tensor_stages::TensorStages;

baton::shared! { pub struct Smem in smem { p: TensorStages<32, bf16, 16> } }

#[baton::kernel(threads = 128)]
fn nothing(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
    let (cta, smem::Parts { p, .. }) = cta.claim();
    let mut joined = cta.join();
    let closed = p.dealloc(&mut joined);
    joined.exit((closed,))
}

fn main() {}
