//! The lock is given up last.

use baton::prelude::*;
use baton::protocol::SpinLock;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn count(cta: &mut Threads<'_>, totals: SpinLock<u32>) {
    let held = totals.lock(cta);
    held.update(cta, |_, old| old + 1).release(cta);
}

fn main() {
    let _ = count;
}
