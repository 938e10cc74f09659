//! Loads.
//!
//! `ld` comes in three strengths. A *weak* load may not race; a *strong* one (`.relaxed`, `.acquire`)
//! may, and has a scope; `.volatile` is a relaxed load at system scope that is never merged. Only
//! `.acquire`, or `.relaxed` before an acquiring fence, makes what another thread released visible.
//!
//! ISA: *ld*, *ld.global.nc*; memory model 8.2, 8.4, 8.8. Other vectors are in [`vector`](super::vector), `.b128`
//! and `.mmio` in [`wide`](super::wide), hints to the caches in [`cached`](super::cached). Left out: `.param`,
//! whose addresses are names that no Rust program knows; a generic address reaches a kernel's parameters.

use super::addr::{Addr, Global, Loaded, Reached, Stored};
use super::word::{Word, Word32};
use crate::scope::Scope;
use crate::sem::LoadSem;

/// `ld.sem.scope.space.bN d, [a];` with `.sem` = `.relaxed`, `.acquire`. PTX 6.0, sm_70.
///
/// ISA: *ld*, 8.8. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// 1. `addr` is aligned to the size of `T`, inside a live object of space `Sp`, whose bits there are
///    initialised.
/// 2. Every access that may happen at the same time is strong, of the same size, and its scope and
///    `S` include each other's thread.
#[inline(always)]
pub unsafe fn ld<M: LoadSem, S: Scope, Sp: Reached, T: Word>(addr: Addr<Sp>) -> T {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld", $sem, $scope, $space, $width, " {}, [{}];"),
                    out($class) value, in($aclass) addr.widened() as $aty, options(nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] load_sem M, scope S, reached Sp, word T)
    }
}

/// `ld.weak.space.bN d, [a];` PTX 6.0, sm_70.
///
/// Ordinary data. The compiler may merge, move and drop it as it may any load that cannot race.
///
/// ISA: *ld*, 8.4. Can break A1, A9, B6.
///
/// # Safety
/// 1. As (1) of [`ld`].
/// 2. No other thread and no asynchronous operation writes these bytes at the same time: every write
///    to them happens before or after this load by synchronisation.
#[inline(always)]
pub unsafe fn ld_weak<Sp: Loaded, T: Word>(addr: Addr<Sp>) -> T {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld.weak", $space, $width, " {}, [{}];"),
                    out($class) value, in($aclass) addr.widened() as $aty,
                    options(pure, readonly, nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] loaded Sp, word T)
    }
}

/// `ld.volatile.space.bN d, [a];` PTX 1.1; `.local`: PTX 9.1.
///
/// Relaxed at system scope. It never synchronises (A6): no witness comes from it.
///
/// ISA: *ld*, 8.4. Can break A3, A6.
///
/// # Safety
/// 1. As (1) of [`ld`].
/// 2. As (2) of [`ld`], with `S` = `Sys`.
#[inline(always)]
pub unsafe fn ld_volatile<Sp: Stored, T: Word>(addr: Addr<Sp>) -> T {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident) ($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld.volatile", $space, $width, " {}, [{}];"),
                    out($class) value, in($aclass) addr.widened() as $aty, options(nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] stored Sp, word T)
    }
}

/// `ld.weak.space.v2.b32 {d0, d1}, [a];` PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A1, A9, A12, B6.
///
/// # Safety
/// 1. `addr` is aligned to 8 bytes, inside a live object of space `Sp`, initialised there.
/// 2. As (2) of [`ld_weak`]. The access is two accesses of 4 bytes in no particular order.
#[inline(always)]
pub unsafe fn ld_weak_v2<Sp: Loaded, T: Word32>(addr: Addr<Sp>) -> [T; 2] {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident)) => {{
                let (a, b): (u32, u32);
                asm!(
                    concat!("ld.weak", $space, ".v2.b32 {{{}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, in($aclass) addr.widened() as $aty,
                    options(pure, readonly, nostack)
                );
                [a, b].map(|bits| T::from_word(bits as u64))
            }};
        }
        select!(emit [] loaded Sp)
    }
}

/// `ld.weak.space.v4.b32 {d0, d1, d2, d3}, [a];` PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A1, A9, A12, B6.
///
/// # Safety
/// 1. `addr` is aligned to 16 bytes, inside a live object of space `Sp`, initialised there.
/// 2. As (2) of [`ld_weak`]. The access is four accesses of 4 bytes in no particular order.
#[inline(always)]
pub unsafe fn ld_weak_v4<Sp: Loaded, T: Word32>(addr: Addr<Sp>) -> [T; 4] {
    device! {
        macro_rules! emit {
            (($space:literal $aclass:ident $aty:ident)) => {{
                let (a, b, c, d): (u32, u32, u32, u32);
                asm!(
                    concat!("ld.weak", $space, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                    in($aclass) addr.widened() as $aty,
                    options(pure, readonly, nostack)
                );
                [a, b, c, d].map(|bits| T::from_word(bits as u64))
            }};
        }
        select!(emit [] loaded Sp)
    }
}

/// `ld.global.nc.bN d, [a];` PTX 3.1, sm_35.
///
/// Outside the memory model: the value may be that of any time since the launch. The tag
/// `//@baton nc` tells the builder that the source asked for it.
///
/// ISA: *ld.global.nc*. Can break A10.
///
/// # Safety
/// 1. As (1) of [`ld`].
/// 2. Nobody writes these bytes while the kernel runs.
#[inline(always)]
pub unsafe fn ld_nc<T: Word>(addr: Addr<Global>) -> T {
    device! {
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    "//@baton nc",
                    concat!("ld.global.nc", $width, " {}, [{}];"),
                    out($class) value, in(reg64) addr.raw(), options(pure, readonly, nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] word T)
    }
}

/// `ld.global.nc.v4.b32 {d0, d1, d2, d3}, [a];` PTX 3.1, sm_35.
///
/// ISA: *ld.global.nc*. Can break A10, A12.
///
/// # Safety
/// 1. `addr` is aligned to 16 bytes, inside a live object, initialised there.
/// 2. Nobody writes these bytes while the kernel runs.
#[inline(always)]
pub unsafe fn ld_nc_v4<T: Word32>(addr: Addr<Global>) -> [T; 4] {
    device! {
        let (a, b, c, d): (u32, u32, u32, u32);
        asm!(
            "//@baton nc",
            "ld.global.nc.v4.b32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) addr.raw(),
            options(pure, readonly, nostack)
        );
        [a, b, c, d].map(|bits| T::from_word(bits as u64))
    }
}
