//! What the tensor core multiplies: the tiles of a stage, as matrix and instruction descriptors say it.

use core::marker::PhantomData;

use crate::float::{bf16, f16};
use crate::operand::{Matrix, steps_of};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{CtaGroup, Group1, kind};
use crate::tile::{Element, StageData, Tile, ToAll};

/// Element types of `kind::f16`.
pub trait MmaElement: Element {
    /// Its number in the instruction descriptor (ISA 9.7.16.4.2).
    const FORMAT: u32;
}
impl MmaElement for f16 {
    const FORMAT: u32 = 0;
}
impl MmaElement for bf16 {
    const FORMAT: u32 = 1;
}

/// Element types by which `tcgen05.mma` multiplies elements of `A`.
#[diagnostic::on_unimplemented(
    message = "`tcgen05.mma` does not multiply `{A}` by `{Self}`",
    label = "types do not fit",
    note = "rule D14: `kind::f16` multiplies bf16 by bf16 and f16 by f16 (PTX ISA 9.7.16.2)",
    note = "give both operands one of these types"
)]
pub trait MmaTimes<A: Element>: MmaElement {}
#[diagnostic::do_not_recommend]
impl<E: MmaElement> MmaTimes<E> for E {}

/// A pair of K-major tiles whose product is an accumulator of `M` × `N`.
///
/// # Safety
/// `issue` reads the two tiles at their places and writes the accumulator, nothing else.
#[diagnostic::on_unimplemented(
    message = "the product of `{Self}` is not an accumulator of {M} × {N}",
    label = "shapes or types do not fit",
    note = "rule D14: `tcgen05.mma` multiplies an M × K tile by an N × K tile of the same type, bf16 or f16, into M × N \
            (PTX ISA 9.7.16.2.1)",
    note = "make the stage `(Tile<bf16, {M}, K>, Tile<bf16, {N}, K>)`"
)]
pub unsafe trait Operands<const M: usize, const N: usize> {
    /// # Safety
    /// 1. One thread calls it, for an accumulator that is its own and a stage whose contents the async proxy may
    ///    read until this thread's next commit completes.
    #[doc(hidden)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool);
}

/// The matrix descriptor of a K-major tile in the 128-byte swizzle, without its address (ISA 9.7.16.4.1): stride
/// between groups of eight rows 1024 bytes, the fixed bit pattern, swizzle mode 2.
const DESCRIPTOR: u64 = (1024 >> 4) << 32 | 0b001 << 46 | 2 << 61;

/// The descriptor of the matrix `M` at `address`: where one instruction reads several panels, with the leading offset.
#[inline(always)]
fn descriptor<M: Matrix<ROWS, K>, const ROWS: usize, const K: usize>(
    address: Addr<SharedCta>,
) -> u64 {
    let matrix = const { DESCRIPTOR | ((M::PANEL >> 4) as u64) << 16 };
    matrix | ((address.raw() as u64 & 0x3_FFFF) >> 4)
}

/// The instruction descriptor of `kind::f16` with f32 accumulation (ISA 9.7.16.4.2).
pub(crate) const fn instruction<E: MmaElement>(m: usize, n: usize) -> u32 {
    1 << 4 | E::FORMAT << 7 | E::FORMAT << 10 | (n as u32 >> 3) << 17 | (m as u32 >> 4) << 24
}

/// Stages of which the CTAs of a cluster load one half, or both, for all of them, hold the same tiles at the same places.
macro_rules! loaded_for_all {
    ($(($a:ty, $b:ty) $($ctas:ident)*;)*) => {$(
        // SAFETY: the tiles themselves.
        #[diagnostic::do_not_recommend]
        unsafe impl<E: MmaElement, const M: usize, const N: usize, const K: usize, $(const $ctas: u32),*> Operands<M, N> for ($a, $b) {
            #[inline(always)]
            unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool) {
                // SAFETY: the caller's promise.
                unsafe {
                    <(Tile<E, M, K>, Tile<E, N, K>) as Operands<M, N>>::issue(accumulator, stage, accumulate)
                }
            }
        }
    )*};
}
loaded_for_all! {
    (ToAll<Tile<E, M, K>, A>, Tile<E, N, K>) A;
    (Tile<E, M, K>, ToAll<Tile<E, N, K>, B>) B;
    (ToAll<Tile<E, M, K>, A>, ToAll<Tile<E, N, K>, B>) A B;
}

// SAFETY: the instructions read the two tiles and write the accumulator.
unsafe impl<E: MmaElement, const M: usize, const N: usize, const K: usize> Operands<M, N>
    for (Tile<E, M, K>, Tile<E, N, K>)
{
    #[inline(always)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool) {
        let idesc = const { instruction::<E>(M, N) };
        // SAFETY: the caller's promise.
        unsafe {
            multiply::<Group1, Tile<E, M, K>, Tile<E, N, K>, M, N, K>(
                accumulator,
                tiles::<E, M, N, K>(stage),
                idesc,
                accumulate,
            )
        }
    }
}

/// The first factor of `tcgen05.mma`, of `ROWS` rows and `K` columns: a [`Matrix`] in shared memory, or one [`InTensorMemory`].
///
/// # Safety
/// `issue` reads the factor and what `b` describes, and writes the accumulator, nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a first operand of {ROWS} rows and {K} columns",
    label = "shapes do not fit",
    note = "rule D14: A has a row for each row of the product, B one for each of its columns, and both have one K (PTX ISA 9.7.16.2.1)",
    note = "make the ring's tile `Tile<_, {ROWS}, K>` with one K for both, or take a part of it: `.rows::<FIRST, {ROWS}>()`; of a `Tile<_, K, \
            {ROWS}>` take `.transposed()`"
)]
pub unsafe trait First<const ROWS: usize, const K: usize> {
    /// Its elements.
    type Element: Element;
    /// Whether it is M-major.
    #[doc(hidden)]
    const MN_MAJOR: bool;
    /// Issues the instruction for step `step` of K.
    ///
    /// # Safety
    /// 1. As for [`Operands::issue`]; the factor lies at `at`.
    #[doc(hidden)]
    unsafe fn issue<G: CtaGroup>(
        accumulator: Addr<Tmem>,
        at: u32,
        step: u32,
        b: u64,
        idesc: u32,
        accumulate: bool,
    );
}

// SAFETY: the descriptor names the matrix.
#[diagnostic::do_not_recommend]
unsafe impl<M: Matrix<ROWS, K>, const ROWS: usize, const K: usize> First<ROWS, K> for M {
    type Element = M::Element;
    const MN_MAJOR: bool = M::MN_MAJOR;
    #[inline(always)]
    unsafe fn issue<G: CtaGroup>(
        accumulator: Addr<Tmem>,
        at: u32,
        step: u32,
        b: u64,
        idesc: u32,
        accumulate: bool,
    ) {
        let a = descriptor::<M, ROWS, K>(Addr::from_raw(at)) + (M::step(step) >> 4) as u64;
        // SAFETY: the caller's promise; the matrix lies in the first 256 KiB, so the address field does not overflow.
        unsafe { ptx::tcgen05::mma::<G, kind::F16>(accumulator, a, b, idesc, accumulate) }
    }
}

/// A matrix of 128 × `K` of `E` in tensor memory: a row in each lane.
pub struct InTensorMemory<E, const K: usize>(PhantomData<E>);

/// Columns of tensor memory that one instruction takes of A: 16 elements of two bytes.
const K_COLUMNS: u32 = 8;

// SAFETY: the columns of the step, in all lanes.
unsafe impl<E: MmaElement, const K: usize> First<128, K> for InTensorMemory<E, K> {
    type Element = E;
    const MN_MAJOR: bool = false;
    #[inline(always)]
    unsafe fn issue<G: CtaGroup>(
        accumulator: Addr<Tmem>,
        at: u32,
        step: u32,
        b: u64,
        idesc: u32,
        accumulate: bool,
    ) {
        let a = Addr::from_raw(at + K_COLUMNS * step);
        // SAFETY: the caller's promise.
        unsafe { ptx::tcgen05::mma_tmem_a::<G, kind::F16>(accumulator, a, b, idesc, accumulate) }
    }
}

/// Issues the instructions, described by `idesc` but for how the matrices lie, that multiply `A` at `a` by the matrix `B` at `b`. With `Group2`
/// these are what one CTA has of them, and the peer's lie at the same places.
///
/// # Safety
/// 1. As for [`Operands::issue`], of the two factors; with `Group2` in both CTAs.
#[inline(always)]
pub(crate) unsafe fn multiply<G, A, B, const ROWS: usize, const COLS: usize, const K: usize>(
    accumulator: Addr<Tmem>,
    [a, b]: [u32; 2],
    idesc: u32,
    accumulate: bool,
) where
    G: CtaGroup,
    A: First<ROWS, K>,
    B: Matrix<COLS, K>,
{
    let b = descriptor::<B, COLS, K>(Addr::from_raw(b));
    let idesc = idesc | const { (A::MN_MAJOR as u32) << 15 | (B::MN_MAJOR as u32) << 16 };
    let mut step = 0;
    while step < const { steps_of::<A::Element>(K) } {
        let b = b + (B::step(step) >> 4) as u64;
        // SAFETY: the caller's promise; the matrix lies in the first 256 KiB, so the address field does not overflow.
        unsafe { A::issue::<G>(accumulator, a, step, b, idesc, accumulate || step > 0) };
        step += 1;
    }
}

/// Where the two tiles of a stage begin: `M` rows of A, and behind them B.
#[inline(always)]
pub(crate) fn tiles<E: Element, const M: usize, const N: usize, const K: usize>(
    stage: Addr<SharedCta>,
) -> [u32; 2] {
    let second =
        <Tile<E, M, K> as StageData>::BYTES.next_multiple_of(<Tile<E, N, K> as StageData>::ALIGN);
    [stage.raw(), stage.offset(second).raw()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruction_descriptor_is_the_documented_bit_pattern() {
        // bf16 × bf16 → f32, M = 128 (8 << 24), N = 256 (32 << 17): fields counted by hand from the ISA's table.
        assert_eq!(instruction::<bf16>(128, 256), 0x0840_0490);
        assert_eq!(instruction::<f16>(128, 64), 0x0810_0010);
    }

    #[test]
    fn matrix_descriptor_is_the_documented_bit_pattern() {
        // Stride 64 in units of 16 bytes at bit 32, 0b001 at bit 46, 128-byte swizzle (2) at bit 61.
        assert_eq!(DESCRIPTOR, 0x4000_4040_0000_0000);
    }
}
