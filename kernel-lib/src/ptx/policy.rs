//! What the L2 cache should do with what an access brings: policies, and hints that stand alone.
//!
//! A [`Policy`] is a value that an instruction takes as its last operand (`.L2::cache_hint`). It changes
//! how fast things go and never what they mean.
//!
//! ISA: *createpolicy*, *prefetch, prefetchu*, *applypriority*, *discard*.

use super::addr::{Addr, Generic, Global, Local, Space};

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

/// What becomes of the accesses that a policy is about.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no priority of cache lines",
    label = "expected `EvictFirst`, `EvictLast`, `EvictNormal` or `EvictUnchanged`"
)]
pub trait Priority: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const NUMBER: u8;
}

/// What becomes of the other accesses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no secondary priority of cache lines",
    label = "expected `EvictFirst` or `EvictUnchanged`"
)]
pub trait Secondary: Priority {}

macro_rules! priorities {
    ($($(#[$doc:meta])* $name:ident $number:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Priority for $name {
            const NUMBER: u8 = $number;
        }
    )*};
}

priorities! {
    /// `.L2::evict_first`
    EvictFirst 0;
    /// `.L2::evict_last`
    EvictLast 1;
    /// `.L2::evict_normal`
    EvictNormal 2;
    /// `.L2::evict_unchanged`
    EvictUnchanged 3;
}
impl Secondary for EvictFirst {}
impl Secondary for EvictUnchanged {}

#[cfg(target_arch = "nvptx64")]
macro_rules! by_priority {
    ($P:ident $S:ident $emit:ident!) => {
        match const { ($P::NUMBER, $S::NUMBER) } {
            (0, 0) => $emit!(".L2::evict_first.L2::evict_first"),
            (1, 0) => $emit!(".L2::evict_last.L2::evict_first"),
            (2, 0) => $emit!(".L2::evict_normal.L2::evict_first"),
            (3, 0) => $emit!(".L2::evict_unchanged.L2::evict_first"),
            (0, _) => $emit!(".L2::evict_first.L2::evict_unchanged"),
            (1, _) => $emit!(".L2::evict_last.L2::evict_unchanged"),
            (2, _) => $emit!(".L2::evict_normal.L2::evict_unchanged"),
            (_, _) => $emit!(".L2::evict_unchanged.L2::evict_unchanged"),
        }
    };
}

/// `createpolicy.fractional.primary.secondary.b64 d, fraction;` PTX 7.4, sm_80.
///
/// The primary priority for that part of the accesses, the secondary one for the others.
///
/// ISA: *createpolicy*.
///
/// # Safety
/// 1. `fraction` is above 0 and at most 1.
#[inline(always)]
pub unsafe fn fractional<P: Priority, S: Secondary>(fraction: f32) -> Policy {
    device! {
        let policy: u64;
        macro_rules! emit {
            ($priorities:literal) => {
                asm!(
                    "{{",
                    ".reg .f32 fraction;",
                    "mov.b32 fraction, {};",
                    concat!("createpolicy.fractional", $priorities, ".b64 {}, fraction;"),
                    "}}",
                    in(reg32) fraction.to_bits(), out(reg64) policy, options(pure, nomem, nostack)
                )
            };
        }
        by_priority!(P S emit!);
        Policy(policy)
    }
}

/// `createpolicy.range.global.primary.secondary.b64 d, [a], primary_bytes, total_bytes;` PTX 7.4, sm_80.
///
/// The primary priority for the first bytes from `addr` on, the secondary one for the others of the range.
/// Nothing is read.
///
/// ISA: *createpolicy*.
///
/// # Safety
/// 1. There are primary bytes, and no more of them than in total.
#[inline(always)]
pub unsafe fn range<P: Priority, S: Secondary>(
    addr: Addr<Global>,
    primary_bytes: u32,
    total_bytes: u32,
) -> Policy {
    device! {
        let policy: u64;
        macro_rules! emit {
            ($priorities:literal) => {
                asm!(
                    concat!("createpolicy.range.global", $priorities, ".b64 {}, [{}], {}, {};"),
                    out(reg64) policy, in(reg64) addr.raw(), in(reg32) primary_bytes, in(reg32) total_bytes,
                    options(pure, nomem, nostack)
                )
            };
        }
        by_priority!(P S emit!);
        Policy(policy)
    }
}

/// `createpolicy.cvt.L2.b64 d, property;` PTX 7.4, sm_80.
///
/// The policy of an access property, as CUDA encodes one.
///
/// ISA: *createpolicy*.
///
/// # Safety
/// 1. `property` is such an encoding.
#[inline(always)]
pub unsafe fn from_access_property(property: u64) -> Policy {
    device! {
        let policy: u64;
        asm!(
            "createpolicy.cvt.L2.b64 {}, {};",
            out(reg64) policy, in(reg64) property, options(pure, nomem, nostack)
        );
        Policy(policy)
    }
}

/// A space whose lines the level-2 cache keeps: [`Global`], or the [`Generic`] address of it.
#[diagnostic::on_unimplemented(
    message = "the L2 cache takes no hint about `{Self}`",
    label = "expected `Global` or `Generic`"
)]
pub trait Cached: Space {
    #[doc(hidden)]
    const GENERIC: bool;
}
impl Cached for Global {
    const GENERIC: bool = false;
}
impl Cached for Generic {
    const GENERIC: bool = true;
}

/// A space that can be fetched ahead: [`Global`], [`Local`] or [`Generic`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not fetched ahead",
    label = "expected `Global`, `Local` or `Generic`"
)]
pub trait Prefetched: Space {
    #[doc(hidden)]
    const NUMBER: u8;
}
impl Prefetched for Global {
    const NUMBER: u8 = 0;
}
impl Prefetched for Local {
    const NUMBER: u8 = 1;
}
impl Prefetched for Generic {
    const NUMBER: u8 = 2;
}

macro_rules! prefetches {
    ($($(#[$doc:meta])* $name:ident = $level:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *prefetch, prefetchu*.
        ///
        /// # Safety
        /// 1. `addr` lies in a live object.
        #[inline(always)]
        pub unsafe fn $name<Sp: Prefetched>(addr: Addr<Sp>) {
            device! {
                match const { Sp::NUMBER } {
                    0 => asm!(concat!("prefetch.global", $level, " [{}];"), in(reg64) addr.widened(), options(nostack)),
                    1 => asm!(concat!("prefetch.local", $level, " [{}];"), in(reg64) addr.widened(), options(nostack)),
                    _ => asm!(concat!("prefetch", $level, " [{}];"), in(reg64) addr.widened(), options(nostack)),
                }
            }
        }
    )*};
}

prefetches! {
    /// `prefetch.space.L1 [a];` PTX 2.0.
    prefetch_l1 = ".L1";
    /// `prefetch.space.L2 [a];` PTX 2.0.
    prefetch_l2 = ".L2";
}

macro_rules! hints {
    ($($(#[$doc:meta])* $name:ident = $mnemonic:literal $rest:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<Sp: Cached>(addr: Addr<Sp>) {
            device! {
                match const { Sp::GENERIC } {
                    false => asm!(concat!($mnemonic, ".global", $rest), in(reg64) addr.widened(), options(nostack)),
                    true => asm!(concat!($mnemonic, $rest), in(reg64) addr.widened(), options(nostack)),
                }
            }
        }
    )*};
}

hints! {
    /// `prefetch.global.L2::evict_last [a];` PTX 7.4, sm_80.
    ///
    /// ISA: *prefetch, prefetchu*.
    ///
    /// # Safety
    /// 1. `addr` lies in a live object.
    prefetch_l2_evict_last = "prefetch" ".L2::evict_last [{}];";
    /// `prefetch.global.L2::evict_normal [a];` PTX 7.4, sm_80.
    ///
    /// ISA: *prefetch, prefetchu*.
    ///
    /// # Safety
    /// 1. `addr` lies in a live object.
    prefetch_l2_evict_normal = "prefetch" ".L2::evict_normal [{}];";
    /// `applypriority.global.L2::evict_normal [a], 128;` PTX 7.4, sm_80. `addr` is aligned to 128 bytes.
    ///
    /// ISA: *applypriority*.
    ///
    /// # Safety
    /// 1. `addr` lies in a live object.
    applypriority_evict_normal = "applypriority" ".L2::evict_normal [{}], 128;";
    /// `discard.global.L2 [a], 128;` PTX 7.4, sm_80.
    ///
    /// What the 128 bytes hold is lost: they are uninitialised until written again.
    ///
    /// ISA: *discard*.
    ///
    /// # Safety
    /// 1. `addr` is aligned to 128 bytes, in a live, writable object.
    /// 2. Nobody else accesses these bytes at the same time, and nobody reads them before they are written.
    discard = "discard" ".L2 [{}], 128;";
}

/// `prefetchu.L1 [a];` PTX 2.0.
///
/// Into the uniform cache; a generic address.
///
/// ISA: *prefetch, prefetchu*.
///
/// # Safety
/// 1. `addr` lies in a live object.
#[inline(always)]
pub unsafe fn prefetchu_l1(addr: Addr<Generic>) {
    device! { asm!("prefetchu.L1 [{}];", in(reg64) addr.raw(), options(nostack)) }
}
