//! Vectors of any element: loads and stores of up to 16 bytes, and of 32 in global memory.
//!
//! A vector is an array; its element and length choose the form. It is one access for each element, in no
//! particular order (A12): a strong vector is strong element by element, and none yields a witness for the
//! whole.
//!
//! ISA: *ld*, *st*, *Vectors as operands*; memory model 8.2. The vectors of two and four 32-bit words are in
//! [`ld`](super::ld), [`st`](super::st) and [`wide`](super::wide) too, which name the length.

use super::addr::{Addr, Global, Loaded, Reached, Stored};
use super::policy::{Cached, EvictFirst, EvictLast, EvictNormal};
use super::word::{Word, Word32};
use crate::float::{bf16, bf16x2, e4m3, e5m2, f16, f16x2};
use crate::scope::Scope;
use crate::sem::{LoadSem, StoreSem};

mod sealed {
    pub trait Sealed {}
}

/// A vector of at most 16 bytes: `[T; 2]`, or `[T; 4]` of elements of at most 32 bits.
#[diagnostic::on_unimplemented(
    message = "PTX has no vector `{Self}` of at most 16 bytes",
    label = "expected `[T; 2]`, or `[T; 4]` of elements of at most 4 bytes"
)]
pub trait Vector: sealed::Sealed + Copy {
    /// The length and the size of an element, `10 * length + bytes`.
    #[doc(hidden)]
    const SHAPE: usize;
    #[doc(hidden)]
    fn to_words(self) -> [u64; 4];
    #[doc(hidden)]
    fn from_words(words: [u64; 4]) -> Self;
}

/// A vector of 32 bytes: `[T; 8]` of 32-bit words, or `[T; 4]` of 64-bit ones.
#[diagnostic::on_unimplemented(
    message = "PTX has no vector `{Self}` of 32 bytes",
    label = "expected eight elements of 4 bytes, or four of 8"
)]
pub trait Wide: sealed::Sealed + Copy {
    #[doc(hidden)]
    const SHAPE: usize;
    #[doc(hidden)]
    fn to_words(self) -> [u64; 8];
    #[doc(hidden)]
    fn from_words(words: [u64; 8]) -> Self;
}

impl<T: Word> sealed::Sealed for [T; 2] {}
impl<T: Word> sealed::Sealed for [T; 4] {}
impl<T: Word> sealed::Sealed for [T; 8] {}

impl<T: Word> Vector for [T; 2] {
    const SHAPE: usize = 20 + T::BYTES;
    #[inline(always)]
    fn to_words(self) -> [u64; 4] {
        let [a, b] = self.map(T::to_word);
        [a, b, 0, 0]
    }
    #[inline(always)]
    fn from_words([a, b, _, _]: [u64; 4]) -> Self {
        [a, b].map(T::from_word)
    }
}

/// A word of which vectors of four have at most 16 bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a word of at most 32 bits",
    label = "four of these are more than 16 bytes"
)]
pub trait Narrow: Word {}

/// A word of 64 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a word of 64 bits",
    label = "expected `u64`, `i64` or `f64`"
)]
pub trait Word64: Word {}

macro_rules! words {
    ($class:ident: $($ty:ty),*) => { $(impl $class for $ty {})* };
}
words!(Narrow: u8, i8, e4m3, e5m2, u16, i16, f16, bf16, u32, i32, f32, f16x2, bf16x2);
words!(Word64: u64, i64, f64);

impl<T: Narrow> Vector for [T; 4] {
    const SHAPE: usize = 40 + T::BYTES;
    #[inline(always)]
    fn to_words(self) -> [u64; 4] {
        self.map(T::to_word)
    }
    #[inline(always)]
    fn from_words(words: [u64; 4]) -> Self {
        words.map(T::from_word)
    }
}

impl<T: Word32> Wide for [T; 8] {
    const SHAPE: usize = 84;
    #[inline(always)]
    fn to_words(self) -> [u64; 8] {
        self.map(T::to_word)
    }
    #[inline(always)]
    fn from_words(words: [u64; 8]) -> Self {
        words.map(T::from_word)
    }
}

impl<T: Word64> Wide for [T; 4] {
    const SHAPE: usize = 48;
    #[inline(always)]
    fn to_words(self) -> [u64; 8] {
        let [a, b, c, d] = self.map(T::to_word);
        [a, b, c, d, 0, 0, 0, 0]
    }
    #[inline(always)]
    fn from_words([a, b, c, d, ..]: [u64; 8]) -> Self {
        [a, b, c, d].map(T::from_word)
    }
}

/// Adds the form of a [`Vector`]: its qualifiers, its list of operands, and their registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_shape {
    ($V:ident $emit:ident! $($done:tt)*) => {
        match const { <$V as Vector>::SHAPE } {
            21 => $emit!($($done)* ".v2.b8" "{{{}, {}}}" reg16 u16 [a b]),
            22 => $emit!($($done)* ".v2.b16" "{{{}, {}}}" reg16 u16 [a b]),
            24 => $emit!($($done)* ".v2.b32" "{{{}, {}}}" reg32 u32 [a b]),
            28 => $emit!($($done)* ".v2.b64" "{{{}, {}}}" reg64 u64 [a b]),
            41 => $emit!($($done)* ".v4.b8" "{{{}, {}, {}, {}}}" reg16 u16 [a b c d]),
            42 => $emit!($($done)* ".v4.b16" "{{{}, {}, {}, {}}}" reg16 u16 [a b c d]),
            44 => $emit!($($done)* ".v4.b32" "{{{}, {}, {}, {}}}" reg32 u32 [a b c d]),
            // `Vector` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// The same of a [`Wide`] vector.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_wide_shape {
    ($V:ident $emit:ident! $($done:tt)*) => {
        match const { <$V as Wide>::SHAPE } {
            84 => $emit!($($done)* ".v8.b32" "{{{}, {}, {}, {}, {}, {}, {}, {}}}" reg32 u32 [a b c d e f g h]),
            _ => $emit!($($done)* ".v4.b64" "{{{}, {}, {}, {}}}" reg64 u64 [a b c d]),
        }
    };
}

/// Reads the registers of a vector.
#[cfg(target_arch = "nvptx64")]
macro_rules! read_registers {
    ($words:ident $addr:ident $class:ident $bits:ident $head:expr, $list:literal $reg:ident $ty:ident [$($r:ident)*] $(, $option:ident)*) => {{
        $(let $r: $ty;)*
        asm!(
            concat!($head, " ", $list, ", [{}];"),
            $(out($reg) $r,)* in($class) $addr.widened() as $bits, options($($option,)* nostack)
        );
        let mut read = [$($r as u64),*].into_iter();
        for word in &mut $words {
            if let Some(value) = read.next() {
                *word = value;
            }
        }
    }};
}

/// Writes the registers of a vector.
#[cfg(target_arch = "nvptx64")]
macro_rules! write_registers {
    ($words:ident $addr:ident $class:ident $bits:ident $head:expr, $list:literal $reg:ident $ty:ident [$($r:ident)*]) => {{
        let [$($r,)* ..] = $words;
        asm!(
            concat!($head, " [{}], ", $list, ";"),
            in($class) $addr.widened() as $bits, $(in($reg) $r as $ty,)* options(nostack)
        )
    }};
}

/// `ld.sem.scope.space.vN.bM {d…}, [a];` with `.sem` = `.relaxed`, `.acquire`. PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A3 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`ld`](super::ld::ld) of each element; `addr` is aligned to the whole vector.
#[inline(always)]
pub unsafe fn ld_vector<M: LoadSem, S: Scope, Sp: Reached, V: Vector>(addr: Addr<Sp>) -> V {
    device! {
        let mut words = [0; 4];
        macro_rules! emit {
            ($sem:literal $scope:literal $space:tt) => { by_shape!(V typed! $sem $scope $space) };
        }
        macro_rules! typed {
            ($sem:literal $scope:literal ($space:literal $class:ident $bits:ident) $shape:literal $($list:tt)*) => {
                read_registers!(words addr $class $bits concat!("ld", $sem, $scope, $space, $shape), $($list)*)
            };
        }
        select!(emit [] load_sem M, scope S, reached Sp);
        V::from_words(words)
    }
}

/// `st.sem.scope.space.vN.bM [a], {v…};` with `.sem` = `.relaxed`, `.release`. PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A4 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`st`](super::st::st) of each element; `addr` is aligned to the whole vector.
#[inline(always)]
pub unsafe fn st_vector<M: StoreSem, S: Scope, Sp: Reached, V: Vector>(addr: Addr<Sp>, values: V) {
    device! {
        let words = values.to_words();
        macro_rules! emit {
            ($sem:literal $scope:literal $space:tt) => { by_shape!(V typed! $sem $scope $space) };
        }
        macro_rules! typed {
            ($sem:literal $scope:literal ($space:literal $class:ident $bits:ident) $shape:literal $($list:tt)*) => {
                write_registers!(words addr $class $bits concat!("st", $sem, $scope, $space, $shape), $($list)*)
            };
        }
        select!(emit [] store_sem M, scope S, reached Sp)
    }
}

/// `ld.weak.space.vN.bM {d…}, [a];` PTX 6.0, sm_70.
///
/// ISA: *ld*, *Vectors as operands*. Can break A1, A9, A12, B6.
///
/// # Safety
/// As for [`ld_weak`](super::ld::ld_weak) of each element; `addr` is aligned to the whole vector.
#[inline(always)]
pub unsafe fn ld_weak_vector<Sp: Loaded, V: Vector>(addr: Addr<Sp>) -> V {
    device! {
        let mut words = [0; 4];
        macro_rules! emit {
            ($space:tt) => { by_shape!(V typed! $space) };
        }
        macro_rules! typed {
            (($space:literal $class:ident $bits:ident) $shape:literal $($list:tt)*) => {
                read_registers!(words addr $class $bits concat!("ld.weak", $space, $shape), $($list)*, pure, readonly)
            };
        }
        select!(emit [] loaded Sp);
        V::from_words(words)
    }
}

/// `st.weak.space.vN.bM [a], {v…};` PTX 6.0, sm_70.
///
/// ISA: *st*, *Vectors as operands*. Can break A9, A12, A13, B1, B7.
///
/// # Safety
/// As for [`st_weak`](super::st::st_weak) of each element; `addr` is aligned to the whole vector.
#[inline(always)]
pub unsafe fn st_weak_vector<Sp: Stored, V: Vector>(addr: Addr<Sp>, values: V) {
    device! {
        let words = values.to_words();
        macro_rules! emit {
            ($space:tt) => { by_shape!(V typed! $space) };
        }
        macro_rules! typed {
            (($space:literal $class:ident $bits:ident) $shape:literal $($list:tt)*) => {
                write_registers!(words addr $class $bits concat!("st.weak", $space, $shape), $($list)*)
            };
        }
        select!(emit [] stored Sp)
    }
}

/// How long the L2 cache keeps what a 32-byte access brings: nothing said (`()`), or a priority.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no L2 priority of a 32-byte access",
    label = "expected `()`, `EvictFirst`, `EvictLast` or `EvictNormal`"
)]
pub trait Kept: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const NUMBER: u8;
}
impl sealed::Sealed for () {}
impl Kept for () {
    const NUMBER: u8 = 0;
}
impl sealed::Sealed for EvictFirst {}
impl Kept for EvictFirst {
    const NUMBER: u8 = 1;
}
impl sealed::Sealed for EvictLast {}
impl Kept for EvictLast {
    const NUMBER: u8 = 2;
}
impl sealed::Sealed for EvictNormal {}
impl Kept for EvictNormal {
    const NUMBER: u8 = 3;
}

/// Adds the priority of a 32-byte access, behind what stands for global memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_global_kept {
    ($E:ident $V:ident $emit:ident! $($done:tt)*) => {
        match const { $E::NUMBER } {
            0 => by_wide_shape!($V $emit! $($done)* ".global"),
            1 => by_wide_shape!($V $emit! $($done)* ".global.L2::evict_first"),
            2 => by_wide_shape!($V $emit! $($done)* ".global.L2::evict_last"),
            _ => by_wide_shape!($V $emit! $($done)* ".global.L2::evict_normal"),
        }
    };
}

/// The same where a generic address stands too.
#[cfg(target_arch = "nvptx64")]
macro_rules! by_kept {
    ($Sp:ident $E:ident $V:ident $emit:ident! $($done:tt)*) => {
        match const { ($Sp::GENERIC, $E::NUMBER) } {
            (false, _) => by_global_kept!($E $V $emit! $($done)*),
            (true, 0) => by_wide_shape!($V $emit! $($done)* ""),
            (true, 1) => by_wide_shape!($V $emit! $($done)* ".L2::evict_first"),
            (true, 2) => by_wide_shape!($V $emit! $($done)* ".L2::evict_last"),
            (true, _) => by_wide_shape!($V $emit! $($done)* ".L2::evict_normal"),
        }
    };
}

/// `ld.weak.global.kept.vN.bM {d…}, [a];` PTX 8.8, sm_100.
///
/// ISA: *ld*, *Vectors as operands*. Can break A1, A9, A12, B6.
///
/// # Safety
/// As for [`ld_weak`](super::ld::ld_weak) of each element; `addr` is aligned to 32 bytes and points into global
/// memory.
#[inline(always)]
pub unsafe fn ld_weak_wide<Sp: Cached, V: Wide, E: Kept>(addr: Addr<Sp>) -> V {
    device! {
        let mut words = [0; 8];
        macro_rules! typed {
            ($space:literal $shape:literal $($list:tt)*) => {
                read_registers!(words addr reg64 u64 concat!("ld.weak", $space, $shape), $($list)*, pure, readonly)
            };
        }
        by_kept!(Sp E V typed!);
        V::from_words(words)
    }
}

/// `st.weak.global.kept.vN.bM [a], {v…};` PTX 8.8, sm_100.
///
/// ISA: *st*, *Vectors as operands*. Can break A9, A12, A13, B1, B7.
///
/// # Safety
/// As for [`st_weak`](super::st::st_weak) of each element; `addr` is aligned to 32 bytes and points into global
/// memory.
#[inline(always)]
pub unsafe fn st_weak_wide<Sp: Cached, V: Wide, E: Kept>(addr: Addr<Sp>, values: V) {
    device! {
        let words = values.to_words();
        macro_rules! typed {
            ($space:literal $shape:literal $($list:tt)*) => {
                write_registers!(words addr reg64 u64 concat!("st.weak", $space, $shape), $($list)*)
            };
        }
        by_kept!(Sp E V typed!)
    }
}

/// `ld.sem.scope.global.kept.vN.bM {d…}, [a];` with `.sem` = `.relaxed`, `.acquire`. PTX 8.8, sm_100.
///
/// ISA: *ld*, *Vectors as operands*. Can break A3 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`ld`](super::ld::ld) of each element; `addr` is aligned to 32 bytes and points into global memory.
#[inline(always)]
pub unsafe fn ld_wide<M: LoadSem, S: Scope, V: Wide, E: Kept>(addr: Addr<Global>) -> V {
    device! {
        let mut words = [0; 8];
        macro_rules! emit {
            ($sem:literal $scope:literal) => { by_global_kept!(E V typed! $sem $scope) };
        }
        macro_rules! typed {
            ($sem:literal $scope:literal $space:literal $shape:literal $($list:tt)*) => {
                read_registers!(words addr reg64 u64 concat!("ld", $sem, $scope, $space, $shape), $($list)*)
            };
        }
        select!(emit [] load_sem M, scope S);
        V::from_words(words)
    }
}

/// `st.sem.scope.global.kept.vN.bM [a], {v…};` with `.sem` = `.relaxed`, `.release`. PTX 8.8, sm_100.
///
/// ISA: *st*, *Vectors as operands*. Can break A4 (relaxed), A5, A7, A12.
///
/// # Safety
/// As for [`st`](super::st::st) of each element; `addr` is aligned to 32 bytes and points into global memory.
#[inline(always)]
pub unsafe fn st_wide<M: StoreSem, S: Scope, V: Wide, E: Kept>(addr: Addr<Global>, values: V) {
    device! {
        let words = values.to_words();
        macro_rules! emit {
            ($sem:literal $scope:literal) => { by_global_kept!(E V typed! $sem $scope) };
        }
        macro_rules! typed {
            ($sem:literal $scope:literal $space:literal $shape:literal $($list:tt)*) => {
                write_registers!(words addr reg64 u64 concat!("st", $sem, $scope, $space, $shape), $($list)*)
            };
        }
        select!(emit [] store_sem M, scope S)
    }
}
