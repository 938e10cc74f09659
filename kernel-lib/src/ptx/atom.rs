//! Atomic read-modify-writes that return the old value.
//!
//! Each is one indivisible operation towards every strong operation that is morally strong with it: at
//! the same size, and at a scope that includes the other thread (rule A7). There is no `.sc` form; a
//! protocol that needs a total order puts [`fence`](super::fence::fence)`::<Sc, _>` beside it.
//!
//! ISA: *atom*; memory model 8.7, 8.8, 8.10.3 (atomicity). Vectors and `.b128` are in
//! [`wide`](super::wide), cache policies in [`cached`](super::cached).

use super::addr::{Addr, Reached};
use super::word::Word;
use crate::float::{bf16, bf16x2, f16, f16x2};
use crate::scope::Scope;
use crate::sem::AtomSem;

/// The operand type of an arithmetic atomic as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
}

/// A type that `atom.add` and `red.add` have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic addition of `{Self}`",
    label = "expected `u32`, `i32`, `u64`, `i64`, `f32`, `f64`, `f16`, `bf16`, `f16x2` or `bf16x2`"
)]
pub trait Add: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type that `atom.min`, `atom.max` and their `red` forms have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic minimum or maximum of `{Self}`",
    label = "expected `u32`, `i32`, `u64` or `i64`"
)]
pub trait MinMax: Word {
    #[doc(hidden)]
    const NUMBER: Number;
}

/// A type that `atom.and`, `atom.or`, `atom.xor` and their `red` forms have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic bitwise operation on `{Self}`",
    label = "expected `u32`, `i32`, `u64` or `i64`"
)]
pub trait Bitwise: Word {}

/// A type that `atom.exch` has: 32 or 64 bits.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic exchange of `{Self}`",
    label = "expected a word of 32 or 64 bits"
)]
pub trait Exchange: Word {}

/// A type that `atom.cas` has: 16, 32 or 64 bits, compared as bits.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic compare-and-swap of `{Self}`",
    label = "expected a word of 16, 32 or 64 bits"
)]
pub trait Compare: Word {}

macro_rules! numbers {
    ($class:ident: $($ty:ty => $number:ident),*) => {
        $(impl $class for $ty { const NUMBER: Number = Number::$number; })*
    };
}
numbers!(Add: u32 => U32, i32 => S32, u64 => U64, i64 => S64, f32 => F32, f64 => F64, f16 => F16, bf16 => Bf16, f16x2 => F16x2, bf16x2 => Bf16x2);
numbers!(MinMax: u32 => U32, i32 => S32, u64 => U64, i64 => S64);

macro_rules! classes {
    ($($class:ident: $($ty:ty),*;)*) => { $($(impl $class for $ty {})*)* };
}
classes! {
    Bitwise: u32, i32, u64, i64;
    Exchange: u32, i32, f32, f16x2, bf16x2, u64, i64, f64;
    Compare: u16, i16, u32, i32, f32, f16x2, bf16x2, u64, i64, f64;
}

macro_rules! atoms {
    ($($(#[$doc:meta])* $name:ident<$class:ident by $select:ident> = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// 1. `addr` is aligned to the size of `T`, inside a live, writable object of space `Sp`, whose
        ///    bits there are initialised.
        /// 2. Every access that may happen at the same time is strong, of the same size, and its scope
        ///    and `S` include each other's thread.
        #[inline(always)]
        pub unsafe fn $name<M: AtomSem, S: Scope, Sp: Reached, T: $class>(addr: Addr<Sp>, value: T) -> T {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident) ($type:literal $class_:ident $ty:ident)) => {{
                        let old: $ty;
                        asm!(
                            concat!("atom", $sem, $scope, $space, $op, $type, " {}, [{}], {};"),
                            out($class_) old, in($aclass) addr.widened() as $aty,
                            in($class_) value.to_word() as $ty, options(nostack)
                        );
                        T::from_word(old as u64)
                    }};
                }
                select!(emit [] atom_sem M, scope S, reached Sp, $select T)
            }
        }
    )*};
}

atoms! {
    /// `atom.sem.scope.space.add.type d, [a], v;` Integers wrap; floats round to nearest even, packed ones
    /// keep subnormals. PTX 6.0, sm_70;
    /// `.f16`: PTX 6.3; `.bf16` and `.bf16x2`: PTX 7.8, sm_90.
    ///
    /// A packed pair is two additions, not one.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7, A12 (packed pairs).
    atom_add<Add by add_number> = ".add";
    /// `atom.sem.scope.space.min.type d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_min<MinMax by min_max_number> = ".min";
    /// `atom.sem.scope.space.max.type d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_max<MinMax by min_max_number> = ".max";
    /// `atom.sem.scope.space.and.bN d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_and<Bitwise by bits_32_64> = ".and";
    /// `atom.sem.scope.space.or.bN d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_or<Bitwise by bits_32_64> = ".or";
    /// `atom.sem.scope.space.xor.bN d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_xor<Bitwise by bits_32_64> = ".xor";
    /// `atom.sem.scope.space.exch.bN d, [a], v;` PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_exch<Exchange by bits_32_64> = ".exch";
}

/// `atom.sem.scope.space.cas.bN d, [a], expected, new;` PTX 6.0, sm_70;
/// `.b16`: PTX 6.3, sm_70.
///
/// Returns what was there; the swap happened if that is `expected`, bit by bit.
///
/// ISA: *atom*. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// As for [`atom_add`].
#[inline(always)]
pub unsafe fn atom_cas<M: AtomSem, S: Scope, Sp: Reached, T: Compare>(
    addr: Addr<Sp>,
    expected: T,
    new: T,
) -> T {
    device! {
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident) ($type:literal $class:ident $ty:ident)) => {{
                let old: $ty;
                asm!(
                    concat!("atom", $sem, $scope, $space, ".cas", $type, " {}, [{}], {}, {};"),
                    out($class) old, in($aclass) addr.widened() as $aty,
                    in($class) expected.to_word() as $ty, in($class) new.to_word() as $ty,
                    options(nostack)
                );
                T::from_word(old as u64)
            }};
        }
        select!(emit [] atom_sem M, scope S, reached Sp, bits_16_32_64 T)
    }
}

macro_rules! wrapping_atoms {
    ($($(#[$doc:meta])* $name:ident = $op:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for [`atom_add`].
        #[inline(always)]
        pub unsafe fn $name<M: AtomSem, S: Scope, Sp: Reached>(addr: Addr<Sp>, bound: u32) -> u32 {
            device! {
                macro_rules! emit {
                    ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {{
                        let old: u32;
                        asm!(
                            concat!("atom", $sem, $scope, $space, $op, ".u32 {}, [{}], {};"),
                            out(reg32) old, in($aclass) addr.widened() as $aty, in(reg32) bound,
                            options(nostack)
                        );
                        old
                    }};
                }
                select!(emit [] atom_sem M, scope S, reached Sp)
            }
        }
    )*};
}

wrapping_atoms! {
    /// `atom.sem.scope.space.inc.u32 d, [a], bound;` Adds one; from `bound` or above it goes to zero. PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_inc = ".inc";
    /// `atom.sem.scope.space.dec.u32 d, [a], bound;` Subtracts one; from zero, or from above `bound`, it
    /// goes to `bound`. PTX 6.0, sm_70.
    ///
    /// ISA: *atom*. Can break A3 (relaxed), A5, A7.
    atom_dec = ".dec";
}
