//! Accesses wider than a register: 128-bit atomics, and vectors of strong accesses.
//!
//! A `.b128` access is one unit. A vector is not: it is one access for each element, in no particular order
//! (A12), and no element's witness stands for the others.
//!
//! ISA: *ld*, *st*, *atom*, *red*; memory model 8.2. Vectors of other elements are in [`vector`](super::vector).

use super::addr::{Addr, Global, Reached};
use super::word::{Word, Word32};
use crate::float::{bf16, bf16x2, f16, f16x2};
use crate::scope::Scope;
use crate::sem::{AtomSem, LoadSem, RedSem, StoreSem};

const fn halves(value: u128) -> (u64, u64) {
    (value as u64, (value >> 64) as u64)
}

const fn whole(low: u64, high: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

/// `ld.sem.scope.space.b128 d, [a];` with `.sem` = `.relaxed`, `.acquire`. PTX 8.3, sm_70; `.sys`: PTX 8.4.
///
/// ISA: *ld*. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// 1. `addr` is aligned to 16 bytes, inside a live object of space `Sp`, initialised there.
/// 2. Every access that may happen at the same time is strong, of the same size, and its scope and `S`
///    include each other's thread.
#[inline(always)]
pub unsafe fn ld_b128<M: LoadSem, S: Scope, Sp: Reached>(addr: Addr<Sp>) -> u128 {
    device! {
        let (low, high): (u64, u64);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    "{{",
                    ".reg .b128 value;",
                    concat!("ld", $sem, $scope, $space, ".b128 value, [{}];"),
                    "mov.b128 {{{}, {}}}, value;",
                    "}}",
                    in($aclass) addr.widened() as $aty, out(reg64) low, out(reg64) high, options(nostack)
                )
            };
        }
        select!(emit [] load_sem M, scope S, reached Sp);
        whole(low, high)
    }
}

/// `st.sem.scope.space.b128 [a], v;` with `.sem` = `.relaxed`, `.release`. PTX 8.3, sm_70; `.sys`: PTX 8.4.
///
/// ISA: *st*. Can break A4 (relaxed), A5, A7.
///
/// # Safety
/// As for [`ld_b128`]; the object is writable.
#[inline(always)]
pub unsafe fn st_b128<M: StoreSem, S: Scope, Sp: Reached>(addr: Addr<Sp>, value: u128) {
    device! {
        let (low, high) = halves(value);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    "{{",
                    ".reg .b128 value;",
                    "mov.b128 value, {{{}, {}}};",
                    concat!("st", $sem, $scope, $space, ".b128 [{}], value;"),
                    "}}",
                    in(reg64) low, in(reg64) high, in($aclass) addr.widened() as $aty, options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, reached Sp)
    }
}

/// `atom.sem.scope.space.exch.b128 d, [a], v;` PTX 8.3, sm_90; `.sys`: PTX 8.4.
///
/// ISA: *atom*. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// As for [`ld_b128`]; the object is writable.
#[inline(always)]
pub unsafe fn atom_exch_b128<M: AtomSem, S: Scope, Sp: Reached>(
    addr: Addr<Sp>,
    value: u128,
) -> u128 {
    device! {
        let (low, high) = halves(value);
        let (old_low, old_high): (u64, u64);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    "{{",
                    ".reg .b128 value, old;",
                    "mov.b128 value, {{{}, {}}};",
                    concat!("atom", $sem, $scope, $space, ".exch.b128 old, [{}], value;"),
                    "mov.b128 {{{}, {}}}, old;",
                    "}}",
                    in(reg64) low, in(reg64) high, in($aclass) addr.widened() as $aty,
                    out(reg64) old_low, out(reg64) old_high, options(nostack)
                )
            };
        }
        select!(emit [] atom_sem M, scope S, reached Sp);
        whole(old_low, old_high)
    }
}

/// `atom.sem.scope.space.cas.b128 d, [a], expected, new;` PTX 8.3, sm_90; `.sys`: PTX 8.4.
///
/// Returns what was there; the swap happened if that is `expected`.
///
/// ISA: *atom*. Can break A3 (relaxed), A5, A7.
///
/// # Safety
/// As for [`ld_b128`]; the object is writable.
#[inline(always)]
pub unsafe fn atom_cas_b128<M: AtomSem, S: Scope, Sp: Reached>(
    addr: Addr<Sp>,
    expected: u128,
    new: u128,
) -> u128 {
    device! {
        let (expected_low, expected_high) = halves(expected);
        let (new_low, new_high) = halves(new);
        let (old_low, old_high): (u64, u64);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    "{{",
                    ".reg .b128 expected, new, old;",
                    "mov.b128 expected, {{{}, {}}};",
                    "mov.b128 new, {{{}, {}}};",
                    concat!("atom", $sem, $scope, $space, ".cas.b128 old, [{}], expected, new;"),
                    "mov.b128 {{{}, {}}}, old;",
                    "}}",
                    in(reg64) expected_low, in(reg64) expected_high, in(reg64) new_low, in(reg64) new_high,
                    in($aclass) addr.widened() as $aty, out(reg64) old_low, out(reg64) old_high,
                    options(nostack)
                )
            };
        }
        select!(emit [] atom_sem M, scope S, reached Sp);
        whole(old_low, old_high)
    }
}

/// `ld.sem.scope.space.v2.b32 {d0, d1}, [a];` PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A3 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`ld`](super::ld::ld) of each element; `addr` is aligned to 8 bytes.
#[inline(always)]
pub unsafe fn ld_v2<M: LoadSem, S: Scope, Sp: Reached, T: Word32>(addr: Addr<Sp>) -> [T; 2] {
    device! {
        let (a, b): (u32, u32);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("ld", $sem, $scope, $space, ".v2.b32 {{{}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, in($aclass) addr.widened() as $aty, options(nostack)
                )
            };
        }
        select!(emit [] load_sem M, scope S, reached Sp);
        [a, b].map(|bits| T::from_word(bits as u64))
    }
}

/// `ld.sem.scope.space.v4.b32 {d0, d1, d2, d3}, [a];` PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A3 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`ld`](super::ld::ld) of each element; `addr` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn ld_v4<M: LoadSem, S: Scope, Sp: Reached, T: Word32>(addr: Addr<Sp>) -> [T; 4] {
    device! {
        let (a, b, c, d): (u32, u32, u32, u32);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("ld", $sem, $scope, $space, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"),
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                    in($aclass) addr.widened() as $aty, options(nostack)
                )
            };
        }
        select!(emit [] load_sem M, scope S, reached Sp);
        [a, b, c, d].map(|bits| T::from_word(bits as u64))
    }
}

/// `st.sem.scope.space.v2.b32 [a], {v0, v1};` PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A4 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`st`](super::st::st) of each element; `addr` is aligned to 8 bytes.
#[inline(always)]
pub unsafe fn st_v2<M: StoreSem, S: Scope, Sp: Reached, T: Word32>(addr: Addr<Sp>, values: [T; 2]) {
    device! {
        let [a, b] = values.map(|value| value.to_word() as u32);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("st", $sem, $scope, $space, ".v2.b32 [{}], {{{}, {}}};"),
                    in($aclass) addr.widened() as $aty, in(reg32) a, in(reg32) b, options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, reached Sp)
    }
}

/// `st.sem.scope.space.v4.b32 [a], {v0, v1, v2, v3};` PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A4 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`st`](super::st::st) of each element; `addr` is aligned to 16 bytes.
#[inline(always)]
pub unsafe fn st_v4<M: StoreSem, S: Scope, Sp: Reached, T: Word32>(addr: Addr<Sp>, values: [T; 4]) {
    device! {
        let [a, b, c, d] = values.map(|value| value.to_word() as u32);
        macro_rules! emit {
            ($sem:literal $scope:literal ($space:literal $aclass:ident $aty:ident)) => {
                asm!(
                    concat!("st", $sem, $scope, $space, ".v4.b32 [{}], {{{}, {}, {}, {}}};"),
                    in($aclass) addr.widened() as $aty, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                    options(nostack)
                )
            };
        }
        select!(emit [] store_sem M, scope S, reached Sp)
    }
}

/// `ld.mmio.relaxed.sys.global.bN d, [a];` PTX 8.2, sm_70.
///
/// Exactly one access, exactly as written: for the registers of a device. It never synchronises (A6).
///
/// ISA: *ld*. Can break A3, A6.
///
/// # Safety
/// As for [`ld_volatile`](super::ld::ld_volatile).
#[inline(always)]
pub unsafe fn ld_mmio<T: Word>(addr: Addr<Global>) -> T {
    device! {
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {{
                let value: $ty;
                asm!(
                    concat!("ld.mmio.relaxed.sys.global", $width, " {}, [{}];"),
                    out($class) value, in(reg64) addr.raw(), options(nostack)
                );
                T::from_word(value as u64)
            }};
        }
        select!(emit [] word T)
    }
}

/// `st.mmio.relaxed.sys.global.bN [a], v;` PTX 8.2, sm_70.
///
/// Exactly one access, exactly as written. It never synchronises (A6).
///
/// ISA: *st*. Can break A4, A6.
///
/// # Safety
/// As for [`st_volatile`](super::st::st_volatile).
#[inline(always)]
pub unsafe fn st_mmio<T: Word>(addr: Addr<Global>, value: T) {
    device! {
        macro_rules! emit {
            (($width:literal $class:ident $ty:ident)) => {
                asm!(
                    concat!("st.mmio.relaxed.sys.global", $width, " [{}], {};"),
                    in(reg64) addr.raw(), in($class) value.to_word() as $ty, options(nostack)
                )
            };
        }
        select!(emit [] word T)
    }
}

/// The element of an arithmetic vector as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F32,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
}

/// An element that vectors of two and four of `atom.add` and `red.add` have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic vector addition of `{Self}`",
    label = "expected `f32`, `f16`, `bf16`, `f16x2` or `bf16x2`"
)]
pub trait VectorAdd: Word {
    #[doc(hidden)]
    const ELEMENT: Element;
}
/// An element that vectors of `atom.min`, `atom.max` and their `red` forms have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic vector minimum or maximum of `{Self}`",
    label = "expected `f16`, `bf16`, `f16x2` or `bf16x2`"
)]
pub trait VectorMinMax: VectorAdd {}
/// An element that vectors of eight have.
#[diagnostic::on_unimplemented(
    message = "PTX has no atomic vector of eight `{Self}`",
    label = "expected `f16` or `bf16`"
)]
pub trait Half: VectorMinMax {}

macro_rules! elements {
    ($($ty:ident $element:ident: $($class:ident)*;)*) => {$(
        impl VectorAdd for $ty {
            const ELEMENT: Element = Element::$element;
        }
        $(impl $class for $ty {})*
    )*};
}
elements! {
    f32 F32:;
    f16 F16: VectorMinMax Half;
    bf16 Bf16: VectorMinMax Half;
    f16x2 F16x2: VectorMinMax;
    bf16x2 Bf16x2: VectorMinMax;
}

/// Calls `$emit!` with the type of a vector and the class of its registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_element {
    ($n:literal $sem:literal $scope:literal $emit:ident!) => {
        match T::ELEMENT {
            Element::F32 => $emit!($sem $scope concat!(".v", $n, ".f32"), reg32 u32),
            Element::F16 => $emit!($sem $scope concat!(".noftz.v", $n, ".f16"), reg16 u16),
            Element::Bf16 => $emit!($sem $scope concat!(".noftz.v", $n, ".bf16"), reg16 u16),
            Element::F16x2 => $emit!($sem $scope concat!(".noftz.v", $n, ".f16x2"), reg32 u32),
            Element::Bf16x2 => $emit!($sem $scope concat!(".noftz.v", $n, ".bf16x2"), reg32 u32),
        }
    };
    (half $n:literal $sem:literal $scope:literal $emit:ident!) => {
        match T::ELEMENT {
            Element::F16 => $emit!($sem $scope concat!(".noftz.v", $n, ".f16"), reg16 u16),
            Element::Bf16 => $emit!($sem $scope concat!(".noftz.v", $n, ".bf16"), reg16 u16),
            // No other element is a `Half`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    (min $n:literal $sem:literal $scope:literal $emit:ident!) => {
        match T::ELEMENT {
            Element::F16 => $emit!($sem $scope concat!(".noftz.v", $n, ".f16"), reg16 u16),
            Element::Bf16 => $emit!($sem $scope concat!(".noftz.v", $n, ".bf16"), reg16 u16),
            Element::F16x2 => $emit!($sem $scope concat!(".noftz.v", $n, ".f16x2"), reg32 u32),
            Element::Bf16x2 => $emit!($sem $scope concat!(".noftz.v", $n, ".bf16x2"), reg32 u32),
            // No other element has minima.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

macro_rules! vectors {
    ($($(#[$atom_doc:meta])* $atom:ident, $(#[$red_doc:meta])* $red:ident<$class:ident; $n:literal> = $op:literal $list:literal: $($r:ident $o:ident)*; $by:tt)*) => {
        $(vectors!(@one [$(#[$atom_doc])*] $atom, [$(#[$red_doc])*] $red $class $n $op $list $by $($r $o)*);)*
    };
    (@one [$(#[$atom_doc:meta])*] $atom:ident, [$(#[$red_doc:meta])*] $red:ident $class:ident $n:literal $op:literal $list:literal [$($min:tt)?] $($r:ident $o:ident)*) => {
        $(#[$atom_doc])*
        ///
        /// Each element is one operation; the vector is none.
        ///
        /// ISA: *atom*. Can break A3 (relaxed), A5, A7, A12.
        ///
        /// # Safety
        /// As for [`atom_add`](super::atom::atom_add) of each element; `addr` is aligned to the whole vector.
        #[inline(always)]
        pub unsafe fn $atom<M: AtomSem, S: Scope, T: $class>(addr: Addr<Global>, values: [T; $n]) -> [T; $n] {
            device! {
                let [$($r),*] = values.map(T::to_word);
                macro_rules! typed {
                    ($sem:literal $scope:literal $type:expr, $reg:ident $bits:ident) => {{
                        $(let $o: $bits;)*
                        asm!(
                            concat!("atom", $sem, $scope, ".global", $op, $type, " ", $list, ", [{}], ", $list, ";"),
                            $(out($reg) $o,)* in(reg64) addr.raw(), $(in($reg) $r as $bits,)*
                            options(nostack)
                        );
                        [$($o as u64),*]
                    }};
                }
                macro_rules! emit {
                    ($sem:literal $scope:literal) => { by_element!($($min)? $n $sem $scope typed!) };
                }
                let old: [u64; $n] = select!(emit [] atom_sem M, scope S);
                old.map(T::from_word)
            }
        }

        $(#[$red_doc])*
        ///
        /// Each element is one operation; the vector is none.
        ///
        /// ISA: *red*. Can break A2, A4 (relaxed), A5, A7, A12.
        ///
        /// # Safety
        /// As for [`red_add`](super::red::red_add) of each element; `addr` is aligned to the whole vector.
        #[inline(always)]
        pub unsafe fn $red<M: RedSem, S: Scope, T: $class>(addr: Addr<Global>, values: [T; $n]) {
            device! {
                let [$($r),*] = values.map(T::to_word);
                macro_rules! typed {
                    ($sem:literal $scope:literal $type:expr, $reg:ident $bits:ident) => {
                        asm!(
                            concat!("red", $sem, $scope, ".global", $op, $type, " [{}], ", $list, ";"),
                            in(reg64) addr.raw(), $(in($reg) $r as $bits,)* options(nostack)
                        )
                    };
                }
                macro_rules! emit {
                    ($sem:literal $scope:literal) => { by_element!($($min)? $n $sem $scope typed!) };
                }
                select!(emit [] store_sem M, scope S)
            }
        }
    };
}

vectors! {
    /// `atom.sem.scope.global.add.v2.type d, [a], {v0, v1};` PTX 8.1, sm_90.
    atom_add_v2,
    /// `red.sem.scope.global.add.v2.type [a], {v0, v1};` PTX 8.1, sm_90.
    red_add_v2<VectorAdd; 2> = ".add" "{{{}, {}}}": a p b q; []
    /// `atom.sem.scope.global.add.v4.type d, [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    atom_add_v4,
    /// `red.sem.scope.global.add.v4.type [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    red_add_v4<VectorAdd; 4> = ".add" "{{{}, {}, {}, {}}}": a p b q c r d s; []
    /// `atom.sem.scope.global.add.v8.type d, [a], {v0, …, v7};` PTX 8.1, sm_90.
    atom_add_v8,
    /// `red.sem.scope.global.add.v8.type [a], {v0, …, v7};` PTX 8.1, sm_90.
    red_add_v8<Half; 8> = ".add" "{{{}, {}, {}, {}, {}, {}, {}, {}}}": a p b q c r d s e t f u g v h w; [half]
    /// `atom.sem.scope.global.min.noftz.v2.type d, [a], {v0, v1};` PTX 8.1, sm_90.
    atom_min_v2,
    /// `red.sem.scope.global.min.noftz.v2.type [a], {v0, v1};` PTX 8.1, sm_90.
    red_min_v2<VectorMinMax; 2> = ".min" "{{{}, {}}}": a p b q; [min]
    /// `atom.sem.scope.global.min.noftz.v4.type d, [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    atom_min_v4,
    /// `red.sem.scope.global.min.noftz.v4.type [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    red_min_v4<VectorMinMax; 4> = ".min" "{{{}, {}, {}, {}}}": a p b q c r d s; [min]
    /// `atom.sem.scope.global.min.noftz.v8.type d, [a], {v0, …, v7};` PTX 8.1, sm_90.
    atom_min_v8,
    /// `red.sem.scope.global.min.noftz.v8.type [a], {v0, …, v7};` PTX 8.1, sm_90.
    red_min_v8<Half; 8> = ".min" "{{{}, {}, {}, {}, {}, {}, {}, {}}}": a p b q c r d s e t f u g v h w; [half]
    /// `atom.sem.scope.global.max.noftz.v2.type d, [a], {v0, v1};` PTX 8.1, sm_90.
    atom_max_v2,
    /// `red.sem.scope.global.max.noftz.v2.type [a], {v0, v1};` PTX 8.1, sm_90.
    red_max_v2<VectorMinMax; 2> = ".max" "{{{}, {}}}": a p b q; [min]
    /// `atom.sem.scope.global.max.noftz.v4.type d, [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    atom_max_v4,
    /// `red.sem.scope.global.max.noftz.v4.type [a], {v0, v1, v2, v3};` PTX 8.1, sm_90.
    red_max_v4<VectorMinMax; 4> = ".max" "{{{}, {}, {}, {}}}": a p b q c r d s; [min]
    /// `atom.sem.scope.global.max.noftz.v8.type d, [a], {v0, …, v7};` PTX 8.1, sm_90.
    atom_max_v8,
    /// `red.sem.scope.global.max.noftz.v8.type [a], {v0, …, v7};` PTX 8.1, sm_90.
    red_max_v8<Half; 8> = ".max" "{{{}, {}, {}, {}, {}, {}, {}, {}}}": a p b q c r d s e t f u g v h w; [half]
}
