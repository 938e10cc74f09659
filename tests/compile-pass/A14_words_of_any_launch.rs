//! A protocol, whose words the host zeroes for each launch.

use baton::prelude::*;
use baton::protocol::SpinLock;

#[baton::kernel(threads = 32)]
pub fn count(cta: Cta<'_, NoShared, 32>, words: SpinLock<u32>) -> Exit<'_> {
    let mut cta = cta;
    words.lock(&mut cta).update(&mut cta, |_, old| old + 1).release(&mut cta);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

fn main() {
    let _ = count;
}
