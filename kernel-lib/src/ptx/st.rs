//! Stores.
//!
//! The strengths are those of [`ld`](super::ld): weak data, strong with a scope (`.relaxed`,
//! `.release`), and `.volatile`. Only `.release`, or `.relaxed` after a releasing fence, publishes what
//! this thread did before.
//!
//! ISA: *st*; memory model 8.2, 8.4, 8.8. Other vectors are in [`vector`](super::vector), `.b128` and `.mmio` in
//! [`wide`](super::wide), hints to the caches in [`cached`](super::cached).

use super::addr::{Addr, Reached, SharedCta, Stored};
use super::word::{Word, Word32};
use crate::scope::Scope;
use crate::sem::StoreSem;

/// `st.sem.scope.space.bN [a], v;` with `.sem` = `.relaxed`, `.release`. PTX 6.0, sm_70.
///
/// ISA: *st*, 8.8. Can break A4 (relaxed), A5, A7.
///
/// # Safety
/// 1. `addr` is aligned to the size of `T` and inside a live, writable object of space `Sp`.
/// 2. Every access that may happen at the same time is strong, of the same size, and its scope and
///    `S` include each other's thread.
#[inline(always)]
pub unsafe fn st<M: StoreSem, S: Scope, Sp: Reached, T: Word>(addr: Addr<Sp>, value: T) {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st", $sem, $scope, $space, $width, " [{}], {};"),
                    in($aclass) addr.widened() as $aty, in($class) value.to_word() as $ty,
                    options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, reached Sp, word T)
    }
}

/// `st.weak.space.bN [a], v;` PTX 6.0, sm_70.
///
/// ISA: *st*, 8.4. Can break A9, A13, B1, B7.
///
/// # Safety
/// 1. As (1) of [`st`].
/// 2. No other thread and no asynchronous operation accesses these bytes at the same time: every
///    access to them happens before or after this store by synchronisation.
#[inline(always)]
pub unsafe fn st_weak<Sp: Stored, T: Word>(addr: Addr<Sp>, value: T) {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.weak", $space, $width, " [{}], {};"),
                    in($aclass) addr.widened() as $aty, in($class) value.to_word() as $ty,
                    options(nostack)
                )
            };
        }
        select!(emit [] stored Sp, word T)
    }
}

/// `st.volatile.space.bN [a], v;` PTX 1.1; `.local`: PTX 9.1.
///
/// Relaxed at system scope. It never synchronises (A6).
///
/// ISA: *st*, 8.4. Can break A4, A6.
///
/// # Safety
/// 1. As (1) of [`st`].
/// 2. As (2) of [`st`], with `S` = `Sys`.
#[inline(always)]
pub unsafe fn st_volatile<Sp: Stored, T: Word>(addr: Addr<Sp>, value: T) {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.volatile", $space, $width, " [{}], {};"),
                    in($aclass) addr.widened() as $aty, in($class) value.to_word() as $ty,
                    options(nostack)
                )
            };
        }
        select!(emit [] stored Sp, word T)
    }
}

/// `st.weak.space.v2.b32 [a], {v0, v1};` PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A9, A12, A13, B1, B7.
///
/// # Safety
/// 1. `addr` is aligned to 8 bytes and inside a live, writable object of space `Sp`.
/// 2. As (2) of [`st_weak`]. The access is two accesses of 4 bytes in no particular order.
#[inline(always)]
pub unsafe fn st_weak_v2<Sp: Stored, T: Word32>(addr: Addr<Sp>, values: [T; 2]) {
    device! {
        let [a, b] = values.map(|value| value.to_word() as u32);
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("st.weak", $space, ".v2.b32 [{}], {{{}, {}}};"),
                    in($aclass) addr.widened() as $aty, in(reg32) a, in(reg32) b,
                    options(nostack)
                )
            };
        }
        select!(emit [] stored Sp)
    }
}

/// `st.weak.space.v4.b32 [a], {v0, v1, v2, v3};` PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A9, A12, A13, B1, B7.
///
/// # Safety
/// 1. `addr` is aligned to 16 bytes and inside a live, writable object of space `Sp`.
/// 2. As (2) of [`st_weak`]. The access is four accesses of 4 bytes in no particular order.
#[inline(always)]
pub unsafe fn st_weak_v4<Sp: Stored, T: Word32>(addr: Addr<Sp>, values: [T; 4]) {
    device! {
        let [a, b, c, d] = values.map(|value| value.to_word() as u32);
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("st.weak", $space, ".v4.b32 [{}], {{{}, {}, {}, {}}};"),
                    in($aclass) addr.widened() as $aty,
                    in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                    options(nostack)
                )
            };
        }
        select!(emit [] stored Sp)
    }
}

/// `st.bulk.weak.shared::cta [a], bytes, 0;` PTX 8.6, sm_100.
///
/// Fills shared memory with zeros: weak stores of this thread, in the generic proxy.
///
/// ISA: *st.bulk*. Can break A9, A13, B1, B7.
///
/// # Safety
/// 1. `addr` is aligned to 8 bytes, `bytes` is a multiple of 8, and that many bytes are live and writable.
/// 2. As (2) of [`st_weak`].
#[inline(always)]
pub unsafe fn st_bulk_zero(addr: Addr<SharedCta>, bytes: u64) {
    device! {
        asm!(
            "st.bulk.weak.shared::cta [{}], {}, 0;",
            in(reg32) addr.raw(), in(reg64) bytes, options(nostack)
        )
    }
}
