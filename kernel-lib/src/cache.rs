//! What the L2 cache should do with a tile: policies for [`TileAt::cached`](crate::global::TileAt::cached).
//!
//! A tile that many CTAs load is kept ([`evict_last`]); one that is loaded once, or stored and not read again, makes room
//! ([`evict_first`]). [`of_percent`] says so of a part of the accesses. A policy changes how fast things go, and never what they mean.

use crate::ptx::policy::{Priority, Secondary, fractional};
use crate::require;

pub use crate::ptx::policy::{
    EvictFirst, EvictLast, EvictNormal, EvictUnchanged, Policy, evict_first, evict_last,
    evict_normal, evict_unchanged,
};

/// The priority `P` for `PERCENT` of a hundred accesses, and `S` for the others.
///
/// ```
/// use baton::cache::{EvictFirst, EvictLast, Policy, of_percent};
///
/// /// Half of what is loaded stays; the cache has no room for all of it.
/// fn half_of_it() -> Policy {
///     of_percent::<EvictLast, EvictFirst, 50>()
/// }
/// ```
///
/// # PTX
/// `createpolicy.fractional`, PTX 7.4, sm_80 (ISA *createpolicy*).
#[inline(always)]
pub fn of_percent<P: Priority, S: Secondary, const PERCENT: u32>() -> Policy {
    const {
        require(
            PERCENT >= 1 && PERCENT <= 100,
            "rule D14: a policy is about 1 to 100 of a hundred accesses: choose `PERCENT` so",
        )
    };
    // SAFETY: above 0 and at most 1, which is checked above.
    unsafe { fractional::<P, S>(PERCENT as f32 / 100.0) }
}
