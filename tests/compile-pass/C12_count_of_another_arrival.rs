//! The state of an arrival that completes nothing says how many are pending.

use baton::ptx::addr::{Addr, SharedCta};
use baton::ptx::mbarrier;

/// # Safety
/// `bar` is a live barrier, of which more than one arrival is pending.
unsafe fn pending(bar: Addr<SharedCta>) -> u32 {
    let state = unsafe { mbarrier::arrive_no_complete(bar, 1) };
    unsafe { mbarrier::pending_count(state) }
}

fn main() {
    let _ = pending;
}
