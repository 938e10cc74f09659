//! Writes to what a lock guards when the lock has been given up.

use baton::prelude::*;
use baton::protocol::SpinLock;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn count(cta: &mut Threads<'_>, totals: SpinLock<u32>) {
    let held = totals.lock(cta);
    held.release(cta);
    held.update(cta, |_, old| old + 1);
}

fn main() {
    let _ = count;
}
