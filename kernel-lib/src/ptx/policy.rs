//! What the L2 cache should do with what an access brings: policies, and hints that stand alone.
//!
//! A [`Policy`] is a value that an instruction takes as its last operand (`.L2::cache_hint`). It changes
//! how fast things go and never what they mean.
//!
//! ISA: *createpolicy*, *prefetch*, *applypriority*, *discard*. Left out: `.range` policies.

use super::addr::{Addr, Global};

/// A cache policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Policy(u64);

impl Policy {
    /// The bits, for an instruction's operand.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The policy with these bits.
    ///
    /// # Safety
    /// 1. They came from [`raw`](Self::raw), or from the host's side of the same encoding.
    #[inline(always)]
    pub const unsafe fn from_raw(bits: u64) -> Self {
        Policy(bits)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What an access tells the cache: a [`Policy`], or nothing ([`NoHint`]).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no cache hint",
    label = "expected a `Policy` or `NoHint`"
)]
pub trait Hint: sealed::Sealed + Copy {
    #[doc(hidden)]
    const HINTED: bool;
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// No cache policy.
#[derive(Clone, Copy, Debug)]
pub struct NoHint;

impl sealed::Sealed for NoHint {}
impl sealed::Sealed for Policy {}
impl Hint for NoHint {
    const HINTED: bool = false;
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
}
impl Hint for Policy {
    const HINTED: bool = true;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0
    }
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $priority:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *createpolicy*.
        #[inline(always)]
        pub fn $name() -> Policy {
            device! {
                let policy: u64;
                asm!(
                    concat!("createpolicy.fractional.", $priority, ".b64 {}, 0f3F800000;"),
                    out(reg64) policy, options(pure, nomem, nostack)
                );
                Policy(policy)
            }
        }
    )*};
}

policies! {
    /// `createpolicy.fractional.L2::evict_first.b64 d, 1.0;` PTX 7.4, sm_80. For data that is used once.
    evict_first = "L2::evict_first";
    /// `createpolicy.fractional.L2::evict_last.b64 d, 1.0;` PTX 7.4, sm_80. For data that is used again.
    evict_last = "L2::evict_last";
    /// `createpolicy.fractional.L2::evict_normal.b64 d, 1.0;` PTX 7.4, sm_80. Undoes the others.
    evict_normal = "L2::evict_normal";
    /// `createpolicy.fractional.L2::evict_unchanged.b64 d, 1.0;` PTX 7.4, sm_80. Leaves what is there.
    evict_unchanged = "L2::evict_unchanged";
}

macro_rules! hints {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. `addr` lies in a live object.
        #[inline(always)]
        pub unsafe fn $name(addr: Addr<Global>) {
            device! { asm!($text, in(reg64) addr.raw(), options(nostack)) }
        }
    )*};
}

hints! {
    /// `prefetch.global.L1 [a];` PTX 2.0.
    ///
    /// ISA: *prefetch, prefetchu*.
    prefetch_l1 = "prefetch.global.L1 [{}];";
    /// `prefetch.global.L2 [a];` PTX 2.0.
    ///
    /// ISA: *prefetch, prefetchu*.
    prefetch_l2 = "prefetch.global.L2 [{}];";
    /// `prefetch.global.L2::evict_last [a];` PTX 7.4, sm_80.
    ///
    /// ISA: *prefetch, prefetchu*.
    prefetch_l2_evict_last = "prefetch.global.L2::evict_last [{}];";
    /// `applypriority.global.L2::evict_normal [a], 128;` PTX 7.4, sm_80. `addr` is aligned to 128 bytes.
    ///
    /// ISA: *applypriority*.
    applypriority_evict_normal = "applypriority.global.L2::evict_normal [{}], 128;";
}

/// `discard.global.L2 [a], 128;` PTX 7.4, sm_80.
///
/// What the 128 bytes hold is lost: they are uninitialised until written again.
///
/// ISA: *discard*.
///
/// # Safety
/// 1. `addr` is aligned to 128 bytes, in a live, writable object.
/// 2. Nobody else accesses these bytes at the same time, and nobody reads them before they are written.
#[inline(always)]
pub unsafe fn discard(addr: Addr<Global>) {
    device! { asm!("discard.global.L2 [{}], 128;", in(reg64) addr.raw(), options(nostack)) }
}
