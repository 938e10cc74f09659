//! The tensor core of Hopper: one MMA by a whole warpgroup, asynchronous.
//!
//! D is in the registers of the warpgroup's 128 threads, B in shared memory, A in either. An MMA runs
//! in the async proxy: shared memory that was written by ordinary stores needs `fence.proxy.async`
//! before it, and the registers of D and of A belong to the MMA from the [`fence`] before it until
//! [`wait_group`] covers the group that [`commit_group`] put it in.
//!
//! The accumulator is an array that goes in and comes out of each call: `[f32; N / 2]`, `[f16x2; N / 4]`
//! or `[i32; N / 2]` for a tile of 64 × N, so that its length says N. What comes out is not there yet:
//! pass it on to the next MMA, or through [`wait_group_of`].
//!
//! ISA: *wgmma* and its subsections, *Asynchronous warpgroup level matrix instructions*; target sm_90a.
//! Left out: sparse MMAs and `.satfinite`, each of which would double the largest module of this crate; `.b1`.

use crate::float::f16x2;

mod sealed {
    pub trait Sealed {}
    pub trait Array {}
}

/// The types that an MMA multiplies, as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairName {
    F16,
    Bf16,
    Tf32,
    E4m3E4m3,
    E4m3E5m2,
    E5m2E4m3,
    E5m2E5m2,
    S8S8,
    S8U8,
    U8S8,
    U8U8,
}

/// The element types of A and B.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what wgmma multiplies",
    label = "expected one of the types of `wgmma::pair` (rule D14)"
)]
pub trait Pair: sealed::Sealed + Copy + 'static {
    /// The depth of one MMA, in elements.
    const K: u32;
    #[doc(hidden)]
    const NAME: PairName;
}

/// A pair whose matrices may lie transposed in shared memory: the 16-bit types.
#[diagnostic::on_unimplemented(
    message = "wgmma transposes 16-bit elements only, not `{Self}` (rule D14)",
    label = "expected `pair::F16` or `pair::Bf16`"
)]
pub trait Transposable: Pair {}

/// The pairs of element types.
pub mod pair {
    use super::{Pair, PairName, Transposable, sealed};

    macro_rules! pairs {
        ($($(#[$doc:meta])* $name:ident $k:literal;)*) => {$(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;
            impl sealed::Sealed for $name {}
            impl Pair for $name {
                const K: u32 = $k;
                const NAME: PairName = PairName::$name;
            }
        )*};
    }

    pairs! {
        /// `.f16.f16`
        F16 16;
        /// `.bf16.bf16`
        Bf16 16;
        /// `.tf32.tf32`
        Tf32 8;
        /// `.e4m3.e4m3`
        E4m3E4m3 32;
        /// `.e4m3.e5m2`
        E4m3E5m2 32;
        /// `.e5m2.e4m3`
        E5m2E4m3 32;
        /// `.e5m2.e5m2`
        E5m2E5m2 32;
        /// `.s8.s8`
        S8S8 32;
        /// `.s8.u8`
        S8U8 32;
        /// `.u8.s8`
        U8S8 32;
        /// `.u8.u8`
        U8U8 32;
    }

    impl Transposable for F16 {}
    impl Transposable for Bf16 {}
}

/// Registers that can accumulate products of `P`: the types and lengths that PTX has.
#[diagnostic::on_unimplemented(
    message = "wgmma cannot accumulate `{P}` in `{Self}` (rule D14)",
    label = "expected `[f32; N / 2]`, `[f16x2; N / 4]` or `[i32; N / 2]` for a tile 64 × N",
    note = "PTX ISA, wgmma.mma_async: N is a multiple of 8 up to 256 (of 16 beyond 32, with 8-bit integers); f16 accumulates f16 and 8-bit floats, s32 the 8-bit integers, f32 the others"
)]
pub trait Accumulator<P: Pair>: sealed::Array + Copy {
    /// The width of the tile.
    const N: u32;
    #[doc(hidden)]
    unsafe fn shared<const NA: u32, const NB: u32, const TA: u32, const TB: u32>(
        self,
        a: u64,
        b: u64,
        accumulate: bool,
    ) -> Self;
    #[doc(hidden)]
    unsafe fn registers<const NA: u32, const NB: u32, const TB: u32>(
        self,
        a: [u32; 4],
        b: u64,
        accumulate: bool,
    ) -> Self;
    #[doc(hidden)]
    unsafe fn fence(self) -> Self;
    #[doc(hidden)]
    unsafe fn wait<const PENDING: u32>(self) -> Self;
}

/// `wgmma.fence.sync.aligned;` PTX 8.0, sm_90a.
///
/// Orders earlier accesses to the registers of D and A, and to shared memory by earlier MMAs, before the
/// MMAs that follow.
///
/// ISA: *wgmma.fence*. Can break E1 by its absence, E4, F1.
///
/// # Safety
/// 1. All threads of a warpgroup execute it together.
#[inline(always)]
pub unsafe fn fence() {
    device! {
        super::anchor();
        asm!("//@baton collective wgmma.fence", "wgmma.fence.sync.aligned;", options(nostack))
    }
}

/// [`fence`], with one accumulator passed through it, so that what the compiler computes for it stands before.
///
/// # Safety
/// 1. As for [`fence`].
#[inline(always)]
pub(crate) unsafe fn fence_of<P: Pair, D: Accumulator<P>>(d: D) -> D {
    // SAFETY: the obligation is that of this function.
    unsafe { d.fence() }
}

/// The registers of A, of which the compiler computes nothing behind this: for [`fence`], which orders what stands before it.
#[inline(always)]
pub(crate) fn in_place(a: [u32; 4]) -> [u32; 4] {
    device! {
        let [mut a0, mut a1, mut a2, mut a3] = a;
        asm!(
            "// {} {} {} {}",
            inout(reg32) a0, inout(reg32) a1, inout(reg32) a2, inout(reg32) a3,
            options(nostack)
        );
        [a0, a1, a2, a3]
    }
}

/// `wgmma.commit_group.sync.aligned;` PTX 8.0, sm_90a.
///
/// Makes one group of this warpgroup's MMAs that belong to none yet.
///
/// ISA: *wgmma.commit_group*. Can break E2, E3, E4, F1.
///
/// # Safety
/// 1. All threads of a warpgroup execute it together.
#[inline(always)]
pub unsafe fn commit_group() {
    device! {
        super::anchor();
        asm!(
            "//@baton collective wgmma.commit_group",
            "wgmma.commit_group.sync.aligned;",
            options(nostack)
        )
    }
}

/// `wgmma.wait_group.sync.aligned n;` PTX 8.0, sm_90a.
///
/// Waits until at most the `PENDING` newest groups are incomplete. It says nothing about where their
/// accumulators are *used*: see [`wait_group_of`].
///
/// ISA: *wgmma.wait_group*. Can break E2, E3, E4, F1.
///
/// # Safety
/// 1. All threads of a warpgroup execute it together.
#[inline(always)]
pub unsafe fn wait_group<const PENDING: u32>() {
    device! {
        super::anchor();
        asm!(
            "//@baton collective wgmma.wait_group",
            "wgmma.wait_group.sync.aligned {};",
            const PENDING, options(nostack)
        )
    }
}

/// [`wait_group`], with one accumulator passed through it, so that no use moves above it.
///
/// # Safety
/// 1. As for [`wait_group`].
#[inline(always)]
pub unsafe fn wait_group_of<P: Pair, D: Accumulator<P>, const PENDING: u32>(d: D) -> D {
    // SAFETY: the obligation is that of this function.
    unsafe { d.wait::<PENDING>() }
}

/// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a_desc, b_desc, accumulate, 1, 1, 0, 0;` PTX
/// 8.0, sm_90a; `.s8.u8`: PTX 8.4, sm_90a.
///
/// D = A·B, or D = A·B + D with `accumulate`; A and B in shared memory, K innermost.
///
/// ISA: *wgmma.mma_async*. Can break B1, D14, E1, E2, E3, E4, F1.
///
/// # Safety
/// 1. All threads of a warpgroup execute it together, with the same descriptors.
/// 2. The descriptors are legal for `P`, and what they name lies in live shared memory, last written
///    through the async proxy or fenced (`fence.proxy.async`), and not written before completion.
/// 3. A [`fence`] stands between it and the last access to the registers of D, unless that was an MMA of
///    the same shape.
/// 4. The result is not used, but by such an MMA, before [`wait_group`] covers its group.
#[inline(always)]
pub unsafe fn mma_async<P: Pair, D: Accumulator<P>>(
    d: D,
    a_desc: u64,
    b_desc: u64,
    accumulate: bool,
) -> D {
    // SAFETY: the obligations are those of this function.
    unsafe { d.shared::<0, 0, 0, 0>(a_desc, b_desc, accumulate) }
}

/// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a_desc, b_desc, accumulate, 1, 1, ta, tb;` PTX
/// 8.0, sm_90a.
///
/// As [`mma_async`]; where `TA` or `TB` is 1, that matrix lies transposed: M or N innermost.
///
/// ISA: *wgmma.mma_async*. Can break B1, D14, E1, E2, E3, E4, F1.
///
/// # Safety
/// 1. As for [`mma_async`].
/// 2. `TA` and `TB` are 0 or 1.
#[inline(always)]
pub unsafe fn mma_async_transposed<
    P: Transposable,
    D: Accumulator<P>,
    const TA: u32,
    const TB: u32,
>(
    d: D,
    a_desc: u64,
    b_desc: u64,
    accumulate: bool,
) -> D {
    // SAFETY: the obligations are those of this function.
    unsafe { d.shared::<0, 0, TA, TB>(a_desc, b_desc, accumulate) }
}

/// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b_desc, accumulate, 1, 1, 0;` PTX 8.0,
/// sm_90a; `.s8.u8`: PTX 8.4, sm_90a.
///
/// As [`mma_async`], with A in registers.
///
/// ISA: *wgmma.mma_async*. Can break B1, D14, E1, E2, E3, E4, F1.
///
/// # Safety
/// 1. As for [`mma_async`].
/// 2. The registers of A obey (3) and (4) too: they are not written before [`wait_group`] covers the group.
#[inline(always)]
pub unsafe fn mma_async_registers<P: Pair, D: Accumulator<P>>(
    d: D,
    a: [u32; 4],
    b_desc: u64,
    accumulate: bool,
) -> D {
    // SAFETY: the obligations are those of this function.
    unsafe { d.registers::<0, 0, 0>(a, b_desc, accumulate) }
}

/// A pair of floats, whose products can be negated.
#[diagnostic::on_unimplemented(
    message = "wgmma negates floats only, not `{Self}` (rule D14)",
    label = "expected one of the float types of `wgmma::pair`"
)]
pub trait Negatable: Pair {}

/// Refuses choices that are no bits, and transpositions of elements that are not 16 bits wide.
const fn legal<P: Pair>(negated: [u32; 2], transposed: [u32; 2]) {
    assert!(
        negated[0] < 2 && negated[1] < 2 && transposed[0] < 2 && transposed[1] < 2,
        "rule D14: say 0 or 1 for each matrix"
    );
    assert!(
        P::K == 16 || transposed[0] + transposed[1] == 0,
        "rule D14: wgmma transposes 16-bit elements only"
    );
}

/// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a_desc, b_desc, accumulate, na, nb, ta, tb;` PTX
/// 8.0, sm_90a.
///
/// As [`mma_async`]; where `NA` or `NB` is 1, that matrix is negated; where `TA` or `TB` is 1, it lies
/// transposed, which only 16-bit elements do.
///
/// ISA: *wgmma.mma_async*. Can break B1, D14, E1, E2, E3, E4, F1.
///
/// # Safety
/// 1. As for [`mma_async`].
#[inline(always)]
pub unsafe fn mma_async_negated<
    P: Negatable,
    D: Accumulator<P>,
    const NA: u32,
    const NB: u32,
    const TA: u32,
    const TB: u32,
>(
    d: D,
    a_desc: u64,
    b_desc: u64,
    accumulate: bool,
) -> D {
    const { legal::<P>([NA, NB], [TA, TB]) };
    // SAFETY: the obligations are those of this function.
    unsafe { d.shared::<NA, NB, TA, TB>(a_desc, b_desc, accumulate) }
}

/// `wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a, b_desc, accumulate, na, nb, tb;` PTX 8.0,
/// sm_90a.
///
/// [`mma_async_negated`] with A in registers.
///
/// ISA: *wgmma.mma_async*. Can break B1, D14, E1, E2, E3, E4, F1.
///
/// # Safety
/// 1. As for [`mma_async_registers`].
#[inline(always)]
pub unsafe fn mma_async_registers_negated<
    P: Negatable,
    D: Accumulator<P>,
    const NA: u32,
    const NB: u32,
    const TB: u32,
>(
    d: D,
    a: [u32; 4],
    b_desc: u64,
    accumulate: bool,
) -> D {
    const { legal::<P>([NA, NB], [0, TB]) };
    // SAFETY: the obligations are those of this function.
    unsafe { d.registers::<NA, NB, TB>(a, b_desc, accumulate) }
}

/// The accumulators of one type. `$family` chooses among the pairs that they accumulate.
macro_rules! accumulators {
    (($element:ident $family:ident $bounds:ident) $n:literal $len:literal [$($r:ident)*]) => {
        impl sealed::Array for [$element; $len] {}
        impl<P: $bounds> Accumulator<P> for [$element; $len] {
            const N: u32 = $n;

            #[inline(always)]
            unsafe fn shared<const NA: u32, const NB: u32, const TA: u32, const TB: u32>(self, a: u64, b: u64, accumulate: bool) -> Self {
                device! {
                    super::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    macro_rules! emit {
                        ($k:literal $types:literal $end:literal) => {
                            asm!(
                                "{{",
                                ".reg .pred accumulate;",
                                "setp.ne.b32 accumulate, {accumulate}, 0;",
                                "//@baton collective wgmma.mma_async",
                                concat!(
                                    "wgmma.mma_async.sync.aligned.m64n", $n, $k, $types, " {{",
                                    comma!($($r)*), "}}, {a}, {b}, accumulate", $end, ";"
                                ),
                                "}}",
                                // The constants are there for the pairs that have them.
                                "// {na} {nb} {ta} {tb}",
                                accumulate = in(reg32) accumulate as u32, a = in(reg64) a, b = in(reg64) b,
                                na = const 1 - 2 * (NA as i32), nb = const 1 - 2 * (NB as i32), ta = const TA, tb = const TB,
                                $($r = inout(reg32) $r,)*
                                options(nostack)
                            )
                        };
                    }
                    $family!(emit P ", {na}, {nb}, {ta}, {tb}");
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn registers<const NA: u32, const NB: u32, const TB: u32>(self, a: [u32; 4], b: u64, accumulate: bool) -> Self {
                device! {
                    super::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    macro_rules! emit {
                        ($k:literal $types:literal $end:literal) => {
                            asm!(
                                "{{",
                                ".reg .pred accumulate;",
                                "setp.ne.b32 accumulate, {accumulate}, 0;",
                                "//@baton collective wgmma.mma_async",
                                concat!(
                                    "wgmma.mma_async.sync.aligned.m64n", $n, $k, $types, " {{",
                                    comma!($($r)*), "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, accumulate", $end, ";"
                                ),
                                "}}",
                                "// {na} {nb} {tb}",
                                accumulate = in(reg32) accumulate as u32, b = in(reg64) b,
                                na = const 1 - 2 * (NA as i32), nb = const 1 - 2 * (NB as i32), tb = const TB,
                                a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                                $($r = inout(reg32) $r,)*
                                options(nostack)
                            )
                        };
                    }
                    $family!(emit P ", {na}, {nb}, {tb}");
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn fence(self) -> Self {
                device! {
                    super::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    asm!(
                        "//@baton collective wgmma.fence",
                        "wgmma.fence.sync.aligned;",
                        concat!("//" $(, " {", stringify!($r), "}")*),
                        $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn wait<const PENDING: u32>(self) -> Self {
                device! {
                    super::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    asm!(
                        "//@baton collective wgmma.wait_group",
                        "wgmma.wait_group.sync.aligned {pending};",
                        concat!("//" $(, " {", stringify!($r), "}")*),
                        pending = const PENDING,
                        $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$($element::from_register($r)),*]
                }
            }
        }
    };
}

/// `r0 r1 …` as the template of an operand list.
#[cfg(target_arch = "nvptx64")]
macro_rules! comma {
    ($first:ident $($r:ident)*) => { concat!("{", stringify!($first), "}" $(, ", {", stringify!($r), "}")*) };
}

/// The names as integers: rustc leaves out the arms of such a `match` that an instance does not take before
/// it generates code.
#[cfg(target_arch = "nvptx64")]
mod code {
    use super::PairName;
    pub const F16: u8 = PairName::F16 as u8;
    pub const BF16: u8 = PairName::Bf16 as u8;
    pub const TF32: u8 = PairName::Tf32 as u8;
    pub const E4M3E4M3: u8 = PairName::E4m3E4m3 as u8;
    pub const E4M3E5M2: u8 = PairName::E4m3E5m2 as u8;
    pub const E5M2E4M3: u8 = PairName::E5m2E4m3 as u8;
    pub const E5M2E5M2: u8 = PairName::E5m2E5m2 as u8;
    pub const S8S8: u8 = PairName::S8S8 as u8;
    pub const S8U8: u8 = PairName::S8U8 as u8;
    pub const U8S8: u8 = PairName::U8S8 as u8;
    pub const U8U8: u8 = PairName::U8U8 as u8;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! into_f32 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::F16 => $emit!("k16" ".f32.f16.f16" $t),
            code::BF16 => $emit!("k16" ".f32.bf16.bf16" $t),
            code::TF32 => $emit!("k8" ".f32.tf32.tf32" ", {na}, {nb}"),
            code::E4M3E4M3 => $emit!("k32" ".f32.e4m3.e4m3" ", {na}, {nb}"),
            code::E4M3E5M2 => $emit!("k32" ".f32.e4m3.e5m2" ", {na}, {nb}"),
            code::E5M2E4M3 => $emit!("k32" ".f32.e5m2.e4m3" ", {na}, {nb}"),
            code::E5M2E5M2 => $emit!("k32" ".f32.e5m2.e5m2" ", {na}, {nb}"),
            // No integers implement `IntoF32`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}
#[cfg(target_arch = "nvptx64")]
macro_rules! into_f16 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::F16 => $emit!("k16" ".f16.f16.f16" $t),
            code::E4M3E4M3 => $emit!("k32" ".f16.e4m3.e4m3" ", {na}, {nb}"),
            code::E4M3E5M2 => $emit!("k32" ".f16.e4m3.e5m2" ", {na}, {nb}"),
            code::E5M2E4M3 => $emit!("k32" ".f16.e5m2.e4m3" ", {na}, {nb}"),
            code::E5M2E5M2 => $emit!("k32" ".f16.e5m2.e5m2" ", {na}, {nb}"),
            // No others implement `IntoF16`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}
#[cfg(target_arch = "nvptx64")]
macro_rules! into_s32 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::S8S8 => $emit!("k32" ".s32.s8.s8" ""),
            code::S8U8 => $emit!("k32" ".s32.s8.u8" ""),
            code::U8S8 => $emit!("k32" ".s32.u8.s8" ""),
            code::U8U8 => $emit!("k32" ".s32.u8.u8" ""),
            // No floats implement `IntoS32`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// A pair that f32 accumulates.
#[doc(hidden)]
pub trait IntoF32: Pair {}
/// A pair that f16 accumulates.
#[doc(hidden)]
pub trait IntoF16: Pair {}
/// A pair that s32 accumulates.
#[doc(hidden)]
pub trait IntoS32: Pair {}

macro_rules! families {
    ($($family:ident: $($pair:ident)*;)*) => { $($(impl $family for pair::$pair {})*)* };
}
families! {
    Negatable: F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoF32: F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoF16: F16 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoS32: S8S8 S8U8 U8S8 U8U8;
}

/// An element of an accumulator and the register that it is in.
trait Register: Copy {
    fn into_register(self) -> u32;
    fn from_register(bits: u32) -> Self;
}
impl Register for f32 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_register(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
}
impl Register for f16x2 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_register(bits: u32) -> f16x2 {
        f16x2::from_bits(bits)
    }
}
impl Register for i32 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn from_register(bits: u32) -> i32 {
        bits as i32
    }
}

/// Implements [`Accumulator`] for each width: `N length + registers` adds registers to those of the
/// widths before.
macro_rules! widths {
    ($kind:tt [$($r:ident)*]) => {};
    ($kind:tt [$($r:ident)*] $n:literal $len:literal + $($new:ident)*; $($rest:tt)*) => {
        accumulators!($kind $n $len [$($r)* $($new)*]);
        widths!($kind [$($r)* $($new)*] $($rest)*);
    };
}

widths! {
    (f32 into_f32 IntoF32) []
    8 4 + r0 r1 r2 r3;
    16 8 + r4 r5 r6 r7;
    24 12 + r8 r9 r10 r11;
    32 16 + r12 r13 r14 r15;
    40 20 + r16 r17 r18 r19;
    48 24 + r20 r21 r22 r23;
    56 28 + r24 r25 r26 r27;
    64 32 + r28 r29 r30 r31;
    72 36 + r32 r33 r34 r35;
    80 40 + r36 r37 r38 r39;
    88 44 + r40 r41 r42 r43;
    96 48 + r44 r45 r46 r47;
    104 52 + r48 r49 r50 r51;
    112 56 + r52 r53 r54 r55;
    120 60 + r56 r57 r58 r59;
    128 64 + r60 r61 r62 r63;
    136 68 + r64 r65 r66 r67;
    144 72 + r68 r69 r70 r71;
    152 76 + r72 r73 r74 r75;
    160 80 + r76 r77 r78 r79;
    168 84 + r80 r81 r82 r83;
    176 88 + r84 r85 r86 r87;
    184 92 + r88 r89 r90 r91;
    192 96 + r92 r93 r94 r95;
    200 100 + r96 r97 r98 r99;
    208 104 + r100 r101 r102 r103;
    216 108 + r104 r105 r106 r107;
    224 112 + r108 r109 r110 r111;
    232 116 + r112 r113 r114 r115;
    240 120 + r116 r117 r118 r119;
    248 124 + r120 r121 r122 r123;
    256 128 + r124 r125 r126 r127;
}

widths! {
    (f16x2 into_f16 IntoF16) []
    8 2 + r0 r1;
    16 4 + r2 r3;
    24 6 + r4 r5;
    32 8 + r6 r7;
    40 10 + r8 r9;
    48 12 + r10 r11;
    56 14 + r12 r13;
    64 16 + r14 r15;
    72 18 + r16 r17;
    80 20 + r18 r19;
    88 22 + r20 r21;
    96 24 + r22 r23;
    104 26 + r24 r25;
    112 28 + r26 r27;
    120 30 + r28 r29;
    128 32 + r30 r31;
    136 34 + r32 r33;
    144 36 + r34 r35;
    152 38 + r36 r37;
    160 40 + r38 r39;
    168 42 + r40 r41;
    176 44 + r42 r43;
    184 46 + r44 r45;
    192 48 + r46 r47;
    200 50 + r48 r49;
    208 52 + r50 r51;
    216 54 + r52 r53;
    224 56 + r54 r55;
    232 58 + r56 r57;
    240 60 + r58 r59;
    248 62 + r60 r61;
    256 64 + r62 r63;
}

widths! {
    (i32 into_s32 IntoS32) []
    8 4 + r0 r1 r2 r3;
    16 8 + r4 r5 r6 r7;
    24 12 + r8 r9 r10 r11;
    32 16 + r12 r13 r14 r15;
    48 24 + r16 r17 r18 r19 r20 r21 r22 r23;
    64 32 + r24 r25 r26 r27 r28 r29 r30 r31;
    80 40 + r32 r33 r34 r35 r36 r37 r38 r39;
    96 48 + r40 r41 r42 r43 r44 r45 r46 r47;
    112 56 + r48 r49 r50 r51 r52 r53 r54 r55;
    128 64 + r56 r57 r58 r59 r60 r61 r62 r63;
    144 72 + r64 r65 r66 r67 r68 r69 r70 r71;
    160 80 + r72 r73 r74 r75 r76 r77 r78 r79;
    176 88 + r80 r81 r82 r83 r84 r85 r86 r87;
    192 96 + r88 r89 r90 r91 r92 r93 r94 r95;
    208 104 + r96 r97 r98 r99 r100 r101 r102 r103;
    224 112 + r104 r105 r106 r107 r108 r109 r110 r111;
    240 120 + r112 r113 r114 r115 r116 r117 r118 r119;
    256 128 + r120 r121 r122 r123 r124 r125 r126 r127;
}
