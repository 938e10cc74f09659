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

mod accumulators;

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

#[cfg(target_arch = "nvptx64")]
impl PairName {
    /// How many of the seven bits behind the sign are A's and B's exponents, of a pair of 8-bit floats: the digits of their
    /// names, so that one text serves the four pairs.
    const fn exponents(self) -> [u32; 2] {
        match self {
            Self::E4m3E4m3 => [4, 4],
            Self::E4m3E5m2 => [4, 5],
            Self::E5m2E4m3 => [5, 4],
            Self::E5m2E5m2 => [5, 5],
            // Their names have no such digits, and the text of their instructions does not ask.
            _ => [0, 0],
        }
    }
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
    note = "PTX ISA, wgmma.mma_async: N is a multiple of 8 up to 256 (of 16 beyond 32, with 8-bit integers); f16 accumulates f16 and 8-bit floats, s32 the 8-bit integers, f32 the others; odd multiples of 8 beyond 128 need baton's feature `every-form`"
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
