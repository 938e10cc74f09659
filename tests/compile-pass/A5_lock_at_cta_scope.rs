//! The scope includes every CTA of the grid.

use baton::prelude::*;
use baton::protocol::SpinLock;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn count(cta: &mut Threads<'_>, totals: SpinLock<u32, Gpu>) {
    totals.lock(cta).update(cta, |_, old| old + 1).release(cta);
}

fn main() {
    let _ = count;
}
