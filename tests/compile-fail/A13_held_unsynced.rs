//! Reads what other threads of the set have just written behind a lock.

use baton::prelude::*;
use baton::protocol::SpinLock;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn first(cta: &mut Threads<'_>, totals: SpinLock<u32>) -> u32 {
    let held = totals.lock(cta).update(cta, |_, old| old + 1);
    let first = held.get(0);
    held.release(cta);
    first
}

fn main() {
    let _ = first;
}
