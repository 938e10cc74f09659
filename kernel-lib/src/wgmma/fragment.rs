//! A in registers: the factor that a warpgroup has computed itself.
//!
//! The threads fill a [`Fragment`]; its `mma_async` hands its registers over with those of the product, by the fence that is in it, and what its
//! instructions leave under way holds it until the wait that covers them.

use core::marker::PhantomData;

use super::{
    Continues, InRegisters, Kind, Open, PairOf, Product, Registers, Sums, Times, WholeWarpgroup,
    descriptor, has_columns, registers_of,
};
use crate::operand::{Matrix, Operand, steps_of};
use crate::path::{
    ByWgmma, Issued, ReadByWgmma, ReadableByWgmma, RegistersSettled, Settled, TakesFragment,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::wgmma::Accumulator;
use crate::require;
use crate::stages::{DrainsLike, HeldStage, Ring, Slot};
use crate::tile::{Element, Tile, ToAll};
use crate::token::{Marks, SameSet, Set, StaysWithItsThreads, WARP};
use crate::unrolled::unrolled;

/// A tile of 64 × K of A in the registers of the warpgroup `S`, for `STEPS` instructions (K / 16 for elements of two bytes, K / 8
/// of four, K / 32 of one), in a state of [`crate::path`].
#[must_use = "a fragment goes into the group that reads it"]
pub struct Fragment<E, S, const STEPS: usize, State = Settled> {
    words: [[u32; 4]; STEPS],
    types: Marks<(E, S, State)>,
    stays: StaysWithItsThreads,
}

impl<E: Element, S: Set, const STEPS: usize> Fragment<E, S, STEPS> {
    /// Makes one: each thread asks for the elements that it holds, `value(row, column)`.
    #[inline(always)]
    pub fn new(warpgroup: &mut S, value: impl FnMut(u32, u32) -> E) -> Self
    where
        S: WholeWarpgroup,
    {
        let zeros: Self =
            Fragment { words: [[0; 4]; STEPS], types: PhantomData, stays: PhantomData };
        zeros.fill(warpgroup, value)
    }
}

impl<E: Element, S: Set, const STEPS: usize, State> Fragment<E, S, STEPS, State> {
    #[inline(always)]
    pub(super) fn become_state<Next>(self) -> Fragment<E, S, STEPS, Next> {
        Fragment { words: self.words, types: PhantomData, stays: PhantomData }
    }

    /// Other elements in the place of these: with `r` = 16 · warp + lane / 4 and `n` elements in a word, word `i` of a step holds
    /// elements of row `r` + 8 · (i % 2), from column `n` · (lane % 4) + 4 `n` · (i / 2) of that step on (ISA 9.7.15.5.1.1).
    #[inline(always)]
    pub fn fill<T>(
        self, // E1: the registers are written; go on with the fragment that this returns
        warpgroup: &mut T,
        mut value: impl FnMut(u32, u32) -> E,
    ) -> Fragment<E, S, STEPS>
    where
        T: SameSet<S>,
        State: RegistersSettled,
    {
        let (rank, per_word) = (warpgroup.rank(), 4 / size_of::<E>() as u32);
        let (row, col) = (16 * (rank / WARP) + rank % WARP / 4, per_word * (rank % 4));
        let mut word = |step: usize, i: u32| {
            let row = row + 8 * (i % 2);
            let col = 8 * per_word * step as u32 + 4 * per_word * (i / 2) + col;
            let mut word = 0;
            let mut j = 0;
            while j < per_word {
                word |= (value(row, col + j).to_word() as u32) << (32 / per_word * j);
                j += 1;
            }
            word
        };
        let mut words = [[0; 4]; STEPS];
        unrolled!(step < STEPS, {
            words[step] = [word(step, 0), word(step, 1), word(step, 2), word(step, 3)];
        });
        Fragment { words, types: PhantomData, stays: PhantomData }
    }

    /// The registers, behind everything that the compiler computed for them.
    #[inline(always)]
    pub(super) fn in_place(mut self) -> Self {
        let mut step = 0;
        while step < STEPS {
            self.words[step] = ptx::wgmma::in_place(self.words[step]);
            step += 1;
        }
        self
    }
}

/// A K-major tile of B whose product with a fragment of `STEPS` steps of `E` fits the registers `D`.
///
/// # Safety
/// `issue` reads the tile at its place, nothing else.
#[diagnostic::on_unimplemented(
    message = "the product of a fragment of `{E}` in {STEPS} steps and `{Self}` does not fit the registers `{D}`",
    label = "shapes or types do not fit",
    note = "rule D14: a warpgroup multiplies 64 × K in registers by an N × K tile of a type that goes with it (PTX ISA 9.7.15.2)",
    note = "make the stage `Tile<bf16, N, K>`; the fragment has K / 16 steps (K / 8 for f32, K / 32 for types of one byte)"
)]
pub unsafe trait MultipliesFragment<E, D, const STEPS: usize> {
    /// The kind of the instructions.
    #[doc(hidden)]
    type Kind: Kind;
    /// # Safety
    /// 1. As for [`Multiplies::issue`]; `a` too is the instructions' since that fence.
    #[doc(hidden)]
    unsafe fn issue(
        registers: D,
        a: &[[u32; 4]; STEPS],
        stage: Addr<SharedCta>,
        accumulate: bool,
    ) -> D;
}

// SAFETY: the descriptor names the tile, step by step.
unsafe impl<
    E: Times<F>,
    F: Element,
    V: Sums,
    const N: usize,
    const K: usize,
    const L: usize,
    const STEPS: usize,
> MultipliesFragment<E, [V; L], STEPS> for Tile<F, N, K>
where
    [V; L]: Accumulator<E::Pair>,
{
    type Kind = InRegisters<E::Pair>;

    #[inline(always)]
    unsafe fn issue(
        registers: [V; L],
        a: &[[u32; 4]; STEPS],
        stage: Addr<SharedCta>,
        accumulate: bool,
    ) -> [V; L] {
        const { registers_of(L, V::COUNT, N) };
        // SAFETY: the caller's promise.
        unsafe { multiply::<E, [V; L], Self, STEPS, N, K>(registers, a, stage, accumulate) }
    }
}

/// Issues the instructions that multiply the fragment `a` by the matrix `B` at `b`.
///
/// # Safety
/// 1. As for [`MultipliesFragment::issue`], of the matrix.
#[inline(always)]
unsafe fn multiply<E, D, B, const STEPS: usize, const N: usize, const K: usize>(
    mut registers: D,
    a: &[[u32; 4]; STEPS],
    b: Addr<SharedCta>,
    accumulate: bool,
) -> D
where
    B: Matrix<N, K>,
    E: Times<B::Element>,
    D: Accumulator<PairOf<E, B::Element>>,
{
    const {
        require(
            STEPS == steps_of::<E>(K) as usize,
            "rule D14: a fragment has one step for each 32 bytes of B's columns: give it as many",
        );
    };
    let b = descriptor::<B, N, K>(b);
    let mut step = 0;
    while step < STEPS {
        let b = b + (B::step(step as u32) >> 4) as u64;
        let accumulate = accumulate || step > 0;
        // SAFETY: the caller's promise; the matrix lies in the first 256 KiB, so the address field does not overflow. What is N-major has
        // elements of two bytes.
        registers = unsafe {
            if B::MN_MAJOR {
                registers.registers::<0, 0, 1>(a[step], b, accumulate)
            } else {
                registers.registers::<0, 0, 0>(a[step], b, accumulate)
            }
        };
        step += 1;
    }
    registers
}

// SAFETY: the tile itself.
#[diagnostic::do_not_recommend]
unsafe impl<E, T, D, const STEPS: usize, const CTAS: u32> MultipliesFragment<E, D, STEPS>
    for ToAll<T, CTAS>
where
    T: MultipliesFragment<E, D, STEPS>,
{
    type Kind = T::Kind;

    #[inline(always)]
    unsafe fn issue(
        registers: D,
        a: &[[u32; 4]; STEPS],
        stage: Addr<SharedCta>,
        accumulate: bool,
    ) -> D {
        // SAFETY: the caller's promise.
        unsafe { T::issue(registers, a, stage, accumulate) }
    }
}

/// The kind of the instructions that multiply a fragment by the tile of a stage of the ring `R` into the registers `D`.
type KindWith<R, E, D, const STEPS: usize> =
    <<R as Ring>::Data as MultipliesFragment<E, D, STEPS>>::Kind;

/// What is under way behind one more instruction of the kind `I` that reads the registers of a fragment.
type OpenedWith<I, E, S, const STEPS: usize, Flight> = Open<
    I,
    <Flight as Continues<I>>::Groups,
    (Fragment<E, S, STEPS, ReadByWgmma>, <Flight as Continues<I>>::A),
>;

/// What [`Fragment::mma_async`] returns: the product, which holds the fragment, and the stage that the instructions read.
pub type UnderWayWith<'k, I, E, D, S, const STEPS: usize, Flight, RingTag, R, RS> = (
    Product<D, S, Issued, OpenedWith<I, E, S, STEPS, Flight>>,
    Slot<'k, RingTag, R, RS, ReadByWgmma>,
);

impl<D: Registers, S: Set, State, Flight> Product<D, S, State, Flight> {
    /// The fence between the threads' accesses to the registers of A, and to these if they are theirs, and the instructions.
    ///
    /// # Safety
    /// 1. All threads of the warpgroup are here.
    #[inline(always)]
    unsafe fn fence_before_a(&mut self)
    where
        State: TakesFragment,
        D: Accumulator<D::Some>,
    {
        // SAFETY: the caller's promise.
        unsafe {
            if State::SETTLED {
                self.values = ptx::wgmma::fence_of::<D::Some, D>(self.values);
            } else {
                ptx::wgmma::fence();
            }
        }
    }
}

impl<E: Element, S: Set, const STEPS: usize, State> Fragment<E, S, STEPS, State> {
    /// As [`Product::mma_async`], with A in these registers; the stage is B alone. The product holds them until the wait that
    /// covers the group.
    ///
    /// The fence is in the call: the stage has been waited for before it, and no other code comes between it and the instructions, of which
    /// ptxas would make one after the other (C7519). So the product need not be fenced, and may be under way.
    ///
    /// # PTX
    /// `wgmma.fence.sync.aligned`, then one `wgmma.mma_async.sync.aligned.m64nNk16` with four registers of A for each 16 columns of K, PTX 8.0,
    /// sm_90a (ISA 9.7.15.5.2, 9.7.15.7.1).
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn mma_async<'k, T, D, ProductState, Flight, O, RS>(
        self, // E2: only a wait gives the registers of A back; go on with the fragment that `wait_group` returns
        warpgroup: &mut T,
        mut product: Product<D, S, ProductState, Flight>,
        stage: O,
    ) -> UnderWayWith<'k, KindWith<O::Ring, E, D, STEPS>, E, D, S, STEPS, Flight, O::Tag, O::Ring, RS>
    where
        O: HeldStage<'k, Set = RS, State: ReadableByWgmma>,
        O::Ring: Ring<Drain: DrainsLike<ByWgmma>, Data: MultipliesFragment<E, D, STEPS>>,
        T: SameSet<S> + SameSet<RS> + WholeWarpgroup,
        D: Registers + Accumulator<D::Some>,
        State: RegistersSettled,
        ProductState: TakesFragment,
        Flight: Continues<KindWith<O::Ring, E, D, STEPS>>,
        RS: Set,
    {
        let _ = warpgroup;
        let stage = stage.slot();
        let a = self.in_place();
        // SAFETY: as in `Product::mma_async` (I1, I2, I13, I17, I18); all these registers are the instructions' since the fence (I14), and come
        // back behind the wait that covers the group, or not at all (I20).
        product.values = unsafe {
            product.fence_before_a();
            <O::Ring as Ring>::Data::issue(product.values, &a.words, stage.data(), product.started)
        };
        product.started = true;
        let a = a.become_state();
        // SAFETY: just issued, into the product's registers (I14).
        let flight = |flight: Flight| unsafe { flight.open() }.reading(a);
        (product.become_state(flight), stage.become_state())
    }

    /// As [`mma_async`](Self::mma_async), by an [operand](crate::operand) of a stage that is open: B has a row for each column of the
    /// product. The stage goes back as behind [`Product::mma_async_of`].
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn mma_async_of<T, D, ProductState, Flight, B, SB, By, const N: usize, const K: usize>(
        self, // E2: only a wait gives the registers of A back; go on with the fragment that `wait_group` returns
        warpgroup: &mut T,
        mut product: Product<D, S, ProductState, Flight>,
        b: Operand<'_, B, SB, By>,
    ) -> Product<D, S, Issued, OpenedWith<InRegisters<PairOf<E, B::Element>>, E, S, STEPS, Flight>>
    where
        T: SameSet<S> + SameSet<SB> + WholeWarpgroup,
        By: DrainsLike<ByWgmma>,
        B: Matrix<N, K>,
        E: Times<B::Element>,
        D: Registers + Accumulator<D::Some> + Accumulator<PairOf<E, B::Element>>,
        State: RegistersSettled,
        ProductState: TakesFragment,
        Flight: Continues<InRegisters<PairOf<E, B::Element>>>,
    {
        const { has_columns::<D, PairOf<E, B::Element>>(N) };
        let _ = warpgroup;
        let a = self.in_place();
        // SAFETY: as in `Product::mma_async_of` (I1, I2, I13, I17, I18, I19); all these registers are the instructions' since the fence (I14),
        // and come back behind the wait that covers the group, or not at all (I20).
        product.values = unsafe {
            product.fence_before_a();
            multiply::<E, D, B, STEPS, N, K>(
                product.values,
                &a.words,
                Addr::from_raw(b.at()),
                product.started,
            )
        };
        product.started = true;
        let a = a.become_state();
        // SAFETY: just issued, into the product's registers (I14).
        product.become_state(|flight| unsafe { flight.open() }.reading(a))
    }
}
