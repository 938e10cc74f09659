//! Ends the kernel with tensor memory that it never used.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { acc: Accs<1, 128, 64> } }

#[baton::kernel(threads = 32)]
fn idle(cta: Cta<'_, Smem, 32>) -> Exit<'_> {
    let (cta, smem::Parts { acc, .. }) = cta.claim();
    let mut joined = cta.join();
    let _ = (&mut joined, acc);
    joined.exit(())
}

fn main() {}
