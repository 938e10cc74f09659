//! Asks how many arrivals were pending, of an arrival that does not say.

use baton::ptx::addr::{Addr, SharedCta};
use baton::ptx::mbarrier;
use baton::scope::Cta;
use baton::sem::Release;

/// # Safety
/// `bar` is a live barrier.
unsafe fn pending(bar: Addr<SharedCta>) -> u32 {
    let state = unsafe { mbarrier::arrive::<Release, Cta>(bar) };
    unsafe { mbarrier::pending_count(state) }
}

fn main() {
    let _ = pending;
}
