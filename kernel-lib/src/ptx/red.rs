//! Atomic read-modify-writes that return nothing.
//!
//! `red` is [`atom`](super::atom) without the old value, and cheaper for it. Because it yields no value it
//! never heads an acquire pattern (8.11.1): a `red` followed by an acquiring fence acquires nothing
//! (rule A2). It can release.
//!
//! ISA: *red*; memory model 8.8, 8.11.1. Vectors are in [`wide`](super::wide), cache policies in
//! [`cached`](super::cached).

use super::addr::{Addr, Reached};
use super::atom::{Add, Bitwise, MinMax};
use crate::scope::Scope;
use crate::sem::RedSem;

macro_rules! reds {
    ($($(#[$doc:meta])* $name:ident<$class:ident by $select:ident> = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. `addr` is aligned to the size of `T`, inside a live, writable object of space `Sp`, whose
        ///    bits there are initialised.
        /// 2. Every access that may happen at the same time is strong, of the same size, and its scope
        ///    and `S` include each other's thread.
        #[inline(always)]
        pub unsafe fn $name<M: RedSem, S: Scope, Sp: Reached, T: $class>(addr: Addr<Sp>, value: T) {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident) ($type:literal $class_:ident $ty:ident)) => {
                        asm!(
                            concat!("red", $sem, $scope, $space, $op, $type, " [{}], {};"),
                            in($aclass) addr.widened() as $aty, in($class_) value.to_word() as $ty,
                            options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, scope S, reached Sp, $select T)
            }
        }
    )*};
}

reds! {
    /// `red.sem.scope.space.add.type [a], v;` Integers wrap; floats round to nearest even, packed ones
    /// keep subnormals. PTX 6.0, sm_70;
    /// `.f16`: PTX 6.3; `.bf16` and `.bf16x2`: PTX 7.8, sm_90.
    ///
    /// A packed pair is two additions, not one.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7, A12 (packed pairs).
    red_add<Add by add_number> = ".add";
    /// `red.sem.scope.space.min.type [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_min<MinMax by min_max_number> = ".min";
    /// `red.sem.scope.space.max.type [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_max<MinMax by min_max_number> = ".max";
    /// `red.sem.scope.space.and.bN [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_and<Bitwise by bits_32_64> = ".and";
    /// `red.sem.scope.space.or.bN [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_or<Bitwise by bits_32_64> = ".or";
    /// `red.sem.scope.space.xor.bN [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_xor<Bitwise by bits_32_64> = ".xor";
}

macro_rules! wrapping_reds {
    ($($(#[$doc:meta])* $name:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`red_add`].
        #[inline(always)]
        pub unsafe fn $name<M: RedSem, S: Scope, Sp: Reached>(addr: Addr<Sp>, bound: u32) {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                        asm!(
                            concat!("red", $sem, $scope, $space, $op, ".u32 [{}], {};"),
                            in($aclass) addr.widened() as $aty, in(reg32) bound, options(nostack)
                        )
                    };
                }
                select!(emit [] store_sem M, scope S, reached Sp)
            }
        }
    )*};
}

wrapping_reds! {
    /// `red.sem.scope.space.inc.u32 [a], bound;` Adds one; from `bound` or above it goes to zero. PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_inc = ".inc";
    /// `red.sem.scope.space.dec.u32 [a], bound;` Subtracts one; from zero, or from above `bound`, it goes
    /// to `bound`. PTX 6.0, sm_70.
    ///
    /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7.
    red_dec = ".dec";
}
