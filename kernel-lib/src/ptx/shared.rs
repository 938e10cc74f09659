//! Shared memory: where the dynamic part begins, and how addresses of it convert.
//!
//! The launch decides how large dynamic shared memory is; the module only names it. There is one such
//! name, `baton_dynamic_shared`, aligned to 1024 bytes, which the widest swizzle needs.
//!
//! ISA: *State spaces* (shared), *cvta*, *isspacep*, *mapa*, *getctarank*.

use super::addr::{Addr, Generic, Memory, SharedCluster, SharedCta};

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 1024 .b8 baton_dynamic_shared[];");

/// The first byte of dynamic shared memory, aligned to 1024 bytes.
///
/// `mov.u32 d, baton_dynamic_shared;` PTX 1.0. How many bytes follow is
/// [`dynamic_smem_size`](super::sreg::dynamic_smem_size).
///
/// ISA: *State spaces*.
#[inline(always)]
pub fn dynamic_shared() -> Addr<SharedCta> {
    device! {
        let addr: u32;
        asm!("mov.u32 {}, baton_dynamic_shared;", out(reg32) addr, options(pure, nomem, nostack));
        Addr::from_raw(addr)
    }
}

/// `mapa.shared::cluster.u32 d, a, rank;` PTX 7.8, sm_90.
///
/// The byte at the same place in the shared memory of the CTA with this rank. Using it needs that CTA
/// to have started and not exited (F3).
///
/// ISA: *mapa*. Can break C11, F3.
///
/// # Safety
/// 1. `rank` is less than the number of CTAs in the cluster.
#[inline(always)]
pub unsafe fn mapa(addr: Addr<SharedCta>, rank: u32) -> Addr<SharedCluster> {
    device! {
        let mapped: u32;
        asm!(
            "mapa.shared::cluster.u32 {}, {}, {};",
            out(reg32) mapped, in(reg32) addr.raw(), in(reg32) rank, options(pure, nomem, nostack)
        );
        Addr::from_raw(mapped)
    }
}

/// `getctarank.shared::cluster.u32 d, a;` PTX 7.8, sm_90. The rank of the CTA that `addr` is in.
///
/// ISA: *getctarank*.
///
/// # Safety
/// 1. `addr` lies in the shared memory of a CTA of this cluster.
#[inline(always)]
pub unsafe fn getctarank(addr: Addr<SharedCluster>) -> u32 {
    device! {
        let rank: u32;
        asm!(
            "getctarank.shared::cluster.u32 {}, {};",
            out(reg32) rank, in(reg32) addr.raw(), options(pure, nomem, nostack)
        );
        rank
    }
}

/// `isspacep.space p, a;` PTX 2.0. Whether `addr` lies in `Sp`: a question about a number, which touches no memory and to which any
/// number has an answer.
///
/// ISA: *isspacep*.
#[inline(always)]
pub fn isspacep<Sp: Memory>(addr: Addr<Generic>) -> bool {
    device! {
        let inside: u32;
        macro_rules! emit {
            (($space:literal $class:ident $ty:ident)) => {
                asm!(
                    "{{",
                    ".reg .pred inside;",
                    concat!("isspacep", $space, " inside, {};"),
                    "selp.u32 {}, 1, 0, inside;",
                    "}}",
                    in(reg64) addr.raw(), out(reg32) inside, options(pure, nomem, nostack)
                )
            };
        }
        select!(emit [] memory Sp);
        inside != 0
    }
}

/// `cvta.space.u64 d, a;` PTX 2.0. The generic address of `addr`.
///
/// ISA: *cvta*.
///
/// # Safety
/// 1. `addr` lies in `Sp`.
#[inline(always)]
pub unsafe fn cvta<Sp: Memory>(addr: Addr<Sp>) -> Addr<Generic> {
    device! {
        let generic: u64;
        macro_rules! emit {
            (($space:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("cvta", $space, ".u64 {}, {};"),
                    out(reg64) generic, in(reg64) addr.widened(), options(pure, nomem, nostack)
                )
            };
        }
        select!(emit [] memory Sp);
        Addr::from_raw(generic)
    }
}

/// `cvta.to.space.u64 d, a;` PTX 2.0.
///
/// ISA: *cvta*.
///
/// # Safety
/// 1. `addr` lies in `Sp` ([`isspacep`]).
#[inline(always)]
pub unsafe fn cvta_to<Sp: Memory>(addr: Addr<Generic>) -> Addr<Sp> {
    device! {
        let specific: u64;
        macro_rules! emit {
            (($space:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("cvta.to", $space, ".u64 {}, {};"),
                    out(reg64) specific, in(reg64) addr.raw(), options(pure, nomem, nostack)
                )
            };
        }
        select!(emit [] memory Sp);
        Addr::from_raw(Sp::narrow(specific))
    }
}
