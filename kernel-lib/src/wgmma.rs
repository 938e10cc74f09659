//! Products in registers: `wgmma`, the asynchronous matrix instructions of a warpgroup (sm_90a).
//!
//! A [`Product`] is a tile of 64 × N in the registers of a warpgroup's 128 threads. Its type says to whom the registers
//! belong: to the threads, or to instructions under way. Stages of a ring that [`ByWgmma`] drains
//! are the operands; a stage goes into the group that reads it and comes out of the wait that covers the group:
//!
//! ```text
//!   Settled ──fence──▶ WgmmaFenced ──mma_async──▶ Issued ──commit_group──▶ Committed ──wait_group::<0>──▶ Settled
//!                                                   ▲                        │ ▲
//!                                                   └───────mma_async────────┘ └─wait_group::<1>: the older stages
//! ```
//!
//! A may be in registers too: a [`Fragment`]. [`Fragment::mma_async`] fences both and issues, into a product that is settled or under way; the
//! fragment comes out of the wait together with the stage of B.
//!
//! # Why it is ordered
//! `wgmma.fence` orders the threads' accesses to the registers before the instructions (E1, ISA 9.7.15.7.1); instructions of
//! one shape into one tile follow each other without another, so a product in flight has the kind of its instructions in its type
//! ([`Continues`]). A group is complete when `wgmma.wait_group` says so, and
//! with it its accesses to registers and to shared memory (E2, E3, ISA 9.7.15.7.3). Groups belong to the warpgroup, and a
//! wait that lets `n` be incomplete means the newest `n` of all of them; so groups of another product in between make a
//! wait longer, and never too short.
//!
//! ```
//! use baton::prelude::*;
//! use baton::global::Store;
//! use baton::wgmma::Product;
//!
//! type A = Tile<bf16, 64, 64>;
//! type B = Tile<bf16, 128, 64>;
//! type C = Tile<f32, 64, 128>;
//!
//! baton::shared! {
//!     pub struct Smem in smem { ab: Stages<4, (A, B), ByBulk, ByWgmma>, c: Staging<C> }
//! }
//!
//! /// One tile of C = A · Bᵀ.
//! #[baton::kernel(threads = 160)]
//! fn tile(
//!     cta: Cta<'_, Smem, 160>,
//!     a: TensorMap<A>,
//!     b: TensorMap<B>,
//!     c: TensorMap<C, Store>,
//!     steps: u32,
//! ) -> Exit<'_> {
//!     let (cta, smem::Parts { ab, c: staging, .. }) = cta.claim();
//!     let (mut loads, mut stages) = ab.split();
//!     let (joined, (stored, loaded)) = cta.roles((
//!         warpgroup(move |mut wg| {
//!             let product = Product::<[f32; 64], _>::new(&mut wg).fence(&mut wg);
//!             let stage = stages.wait(&mut wg);
//!             let (product, stage) = product.mma_async(&mut wg, stage);
//!             let mut product = product.commit_group(&mut wg, stage);
//!             for _ in 1..steps {
//!                 let stage = stages.wait(&mut wg);
//!                 let (next, stage) = product.mma_async(&mut wg, stage);
//!                 let (next, read) = next.commit_group(&mut wg, stage).wait_group::<1, _>(&mut wg);
//!                 read.release(&mut wg);
//!                 product = next;
//!             }
//!             let (product, read) = product.wait_group::<0, _>(&mut wg);
//!             read.release(&mut wg);
//!             let mut staging = staging.open(&mut wg);
//!             staging.put_product(&mut wg, &product, |_row, _column, sum| sum);
//!             staging.fence_proxy_async(&mut wg).store(&mut wg, c.at(0, 0)).finish(&mut wg)
//!         }),
//!         warp(move |w| {
//!             w.elect(move |mut t| {
//!                 for step in 0..steps as i32 {
//!                     loads.acquire(&mut t).load(&mut t, (a.at(0, 64 * step), b.at(0, 64 * step)));
//!                 }
//!                 loads.finish(&mut t)
//!             })
//!         }),
//!     ));
//!     joined.exit((loaded, stored))
//! }
//! # fn main() {}
//! ```

mod flight;
mod fragment;
mod put;

use core::marker::PhantomData;

pub use self::flight::{
    Beside, Commits, Continues, FollowedBy, Groups, InGroups, InRegisters, InShared, Kind, Open,
    Opened, ReadTogether, Waits,
};
pub use self::fragment::{Fragment, MultipliesFragment, UnderWayWith};
use crate::float::{bf16, e4m3, e5m2, f16, f16x2};
use crate::operand::{Matrix, Operand, Rows, steps_of};
use crate::path::{
    ByWgmma, Committed, FencedForWgmma, HasCommitted, HasIssued, Issued, ReadByWgmma,
    ReadableByWgmma, RegistersSettled, Settled, WgmmaFenced,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::wgmma::{Accumulator, Pair, pair};
use crate::require;
use crate::stages::{DrainsLike, HeldStage, Ring, Slot};
use crate::tile::{Element, PANEL_ROW_BYTES, StageData, Tile, ToAll};
use crate::token::{Marks, RolePosition, SameSet, Set, StaysWithItsThreads, Warpgroup};

/// A whole warpgroup.
#[diagnostic::on_unimplemented(
    message = "`wgmma` is issued by a warpgroup together, and `{Self}` is not one",
    label = "needs the token of a warpgroup",
    note = "rule E4: `wgmma.fence`, `mma_async`, `commit_group` and `wait_group` are `.sync.aligned` instructions of all 128 \
            threads of a \
            warpgroup, which hold the product together (PTX ISA 9.7.15)",
    note = "give the role four warps: `warpgroup(move |mut wg| …)`"
)]
pub trait WholeWarpgroup: Set {}
impl<R: RolePosition> WholeWarpgroup for Warpgroup<'_, R> {}

/// A tile of 64 × N in the registers of the warpgroup `S`, in a state of [`crate::path`]; `Flight` holds what instructions under
/// way read, [`Open`] or [`InGroups`].
#[must_use = "instructions that were issued are waited for"]
pub struct Product<D, S, State = Settled, Flight = ()> {
    values: D,
    started: bool,
    flight: Flight,
    types: Marks<(S, State)>,
    stays: StaysWithItsThreads,
}

/// What [`Product::mma_async`] returns: the registers, and the stage that the instructions read.
pub type UnderWay<'k, I, D, S, Flight, RingTag, R, RS> =
    (Product<D, S, Issued, Opened<I, Flight>>, Slot<'k, RingTag, R, RS, ReadByWgmma>);

/// The kind of the instructions that multiply the tiles of a stage of the ring `R` into the registers `D`.
type KindOf<R, D> = <<R as Ring>::Data as MultipliesRows<D>>::Kind;

/// What a register of a product holds: one sum in f32 or i32, or two neighbours in f16.
pub trait Sums: Copy + sums::Sealed {
    /// The type of a sum.
    type Element: Element;
    /// Sums in a register.
    const COUNT: usize;
    /// The sum `i`, less than [`COUNT`](Self::COUNT).
    fn get(self, i: usize) -> Self::Element;
}

/// Seals the types of registers.
mod sums {
    pub trait Sealed {}
    pub trait Array {}
    impl<R: Sealed, const L: usize> Array for [R; L] {}
}

macro_rules! sums {
    ($($register:ty: $element:ty, $count:literal, |$this:ident, $i:ident| $get:expr;)*) => {$(
        impl sums::Sealed for $register {}
        impl Sums for $register {
            type Element = $element;
            const COUNT: usize = $count;
            #[inline(always)]
            fn get(self, $i: usize) -> $element {
                let $this = self;
                $get
            }
        }
    )*};
}
sums! {
    f32: f32, 1, |this, _i| this;
    i32: i32, 1, |this, _i| this;
    f16x2: f16, 2, |this, i| if i == 0 { this.low() } else { this.high() };
}

/// Registers of a product of 64 × N: `[f32; N / 2]`, `[i32; N / 2]` where the factors are integers, or `[f16x2; N / 4]` where
/// f16 is enough.
pub trait Registers: Copy + sums::Array {
    /// All zero.
    #[doc(hidden)]
    const ZERO: Self;
    /// Some pair of types whose products they accumulate.
    #[doc(hidden)]
    type Some: Pair;
}
impl<const L: usize> Registers for [f32; L] {
    const ZERO: Self = [0.0; L];
    type Some = pair::F16;
}
impl<const L: usize> Registers for [i32; L] {
    const ZERO: Self = [0; L];
    type Some = pair::U8U8;
}
impl<const L: usize> Registers for [f16x2; L] {
    const ZERO: Self = [f16x2::from_bits(0); L];
    type Some = pair::F16;
}

impl<D: Registers, S: Set> Product<D, S> {
    /// A product of zeros.
    #[inline(always)]
    pub fn new(warpgroup: &mut S) -> Self
    where
        S: WholeWarpgroup,
    {
        let _ = warpgroup;
        Product {
            values: D::ZERO,
            started: false,
            flight: (),
            types: PhantomData,
            stays: PhantomData,
        }
    }
}

impl<D: Registers, S: Set, State, Flight> Product<D, S, State, Flight> {
    #[inline(always)]
    fn become_state<Next, NextFlight>(
        self,
        flight: impl FnOnce(Flight) -> NextFlight,
    ) -> Product<D, S, Next, NextFlight> {
        let Product { values, started, flight: old, .. } = self;
        Product { values, started, flight: flight(old), types: PhantomData, stays: PhantomData }
    }

    /// Hands the registers to the instructions that follow.
    ///
    /// # PTX
    /// `wgmma.fence.sync.aligned`, PTX 8.0, sm_90a (ISA 9.7.15.7.1). The registers pass through it, so that the compiler
    /// writes them before: the zeros of a new product too.
    #[inline(always)]
    pub fn fence<T>(
        mut self, // E1: nobody touches the registers between the fence and the instructions; go on with the product that this returns
        warpgroup: &mut T,
    ) -> Product<D, S, WgmmaFenced>
    where
        T: SameSet<S> + WholeWarpgroup,
        State: RegistersSettled,
        D: Accumulator<D::Some>,
    {
        let _ = warpgroup;
        // SAFETY: all threads of the warpgroup are here, by the token (I1, I2).
        self.values = unsafe { ptx::wgmma::fence_of::<D::Some, D>(self.values) };
        self.become_state(|_| ())
    }

    /// Issues the instructions that add the product of the stage's two tiles, A (64 × K) and B (N × K, transposed).
    ///
    /// # PTX
    /// One `wgmma.mma_async.sync.aligned.m64nNk16` for each 16 columns of K, PTX 8.0, sm_90a (ISA 9.7.15.5.2).
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn mma_async<'k, T, O, RS>(
        self, // E1, E2: the instructions have the registers; go on with the product that this returns
        warpgroup: &mut T,
        stage: O,
    ) -> UnderWay<'k, KindOf<O::Ring, D>, D, S, Flight, O::Tag, O::Ring, RS>
    where
        O: HeldStage<'k, Set = RS, State: ReadableByWgmma>,
        O::Ring: Ring<Drain: DrainsLike<ByWgmma>, Data: Multiplies<D>>,
        T: SameSet<S> + SameSet<RS> + WholeWarpgroup,
        State: FencedForWgmma,
        Flight: Continues<KindOf<O::Ring, D>>,
        RS: Set,
    {
        self.mma_async_rows::<0, T, O, RS>(warpgroup, stage)
    }

    /// As [`mma_async`](Self::mma_async), with 64 of A's rows, which has more: those from 64 · `PART` on. So warpgroups that drain one ring
    /// multiply different rows of A's tile by the same tile of B.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn mma_async_rows<'k, const PART: u32, T, O, RS>(
        mut self, // E1, E2: the instructions have the registers; go on with the product that this returns
        warpgroup: &mut T,
        stage: O,
    ) -> UnderWay<'k, KindOf<O::Ring, D>, D, S, Flight, O::Tag, O::Ring, RS>
    where
        O: HeldStage<'k, Set = RS, State: ReadableByWgmma>,
        O::Ring: Ring<Drain: DrainsLike<ByWgmma>, Data: MultipliesRows<D>>,
        T: SameSet<S> + SameSet<RS> + WholeWarpgroup,
        State: FencedForWgmma,
        Flight: Continues<KindOf<O::Ring, D>>,
        RS: Set,
    {
        const {
            require(
                PART < <<O::Ring as Ring>::Data as MultipliesRows<D>>::PARTS,
                "rule D14: `PART` counts the 64 rows of A that the warpgroup multiplies, and the tile has no such rows: write less than its \
                 rows / 64",
            )
        };
        let _ = warpgroup;
        let stage = stage.slot();
        // SAFETY: all threads of the warpgroup are here (I1, I2); the stage was acquired and its contents are the async proxy's or
        // fenced for it (I13, I17); the registers are the instructions' since the fence (I14, I20). The stage goes back behind the
        // wait that covers the group, or not at all (I18). `PART` is one of the tile's, which is checked above.
        self.values = unsafe {
            <O::Ring as Ring>::Data::issue::<PART>(self.values, stage.data(), self.started)
        };
        self.started = true;
        // SAFETY: just issued, into these registers (I14).
        (self.become_state(|flight| unsafe { flight.open() }), stage.become_state())
    }

    /// As [`mma_async`](Self::mma_async), of two [operands](crate::operand), each of a stage that is open: A has 64 rows, B a row for each
    /// column of the product, and both one K. A stage goes back behind the wait: it is passed to [`commit_group`](Self::commit_group), or ends
    /// in [`wait_reads`](crate::stages::Slot::wait_reads) when no product reads it any more.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn mma_async_of<T, A, B, SA, SB, ByA, ByB, const N: usize, const K: usize>(
        mut self, // E1, E2: the instructions have the registers; go on with the product that this returns
        warpgroup: &mut T,
        a: Operand<'_, A, SA, ByA>,
        b: Operand<'_, B, SB, ByB>,
    ) -> Product<D, S, Issued, Opened<InShared<PairOf<A::Element, B::Element>>, Flight>>
    where
        T: SameSet<S> + SameSet<SA> + SameSet<SB> + WholeWarpgroup,
        ByA: DrainsLike<ByWgmma>,
        ByB: DrainsLike<ByWgmma>,
        A: Matrix<ROWS, K, Element: Times<B::Element>>,
        B: Matrix<N, K>,
        D: Accumulator<PairOf<A::Element, B::Element>>,
        State: FencedForWgmma,
        Flight: Continues<InShared<PairOf<A::Element, B::Element>>>,
    {
        const { has_columns::<D, PairOf<A::Element, B::Element>>(N) };
        let _ = warpgroup;
        // SAFETY: all threads of the warpgroup are here (I1, I2), which hold both stages open: they were acquired, their contents are the
        // async proxy's or fenced for it (I13, I17), and they go back behind a wait for what is issued before the views end, which are used
        // up here, or not at all (I18, I19). The registers are the instructions' since the fence (I14, I20).
        self.values = unsafe {
            multiply::<D, A, B, N, K>(
                self.values,
                [a.at(), b.at()].map(Addr::from_raw),
                self.started,
            )
        };
        self.started = true;
        // SAFETY: just issued, into these registers (I14).
        self.become_state(|flight| unsafe { flight.open() })
    }

    /// Makes a group of what was issued; `read` are the stages that go back when it is complete: one, a pair, or `()`.
    ///
    /// # PTX
    /// `wgmma.commit_group.sync.aligned`, PTX 8.0, sm_90a (ISA 9.7.15.7.2).
    #[inline(always)]
    pub fn commit_group<T, G>(
        self, // E2: only a wait gives the registers back; go on with the product that this returns
        warpgroup: &mut T,
        read: G, // E3: only a wait gives the stages back
    ) -> Product<D, S, Committed, Flight::Next>
    where
        T: SameSet<S> + WholeWarpgroup,
        State: HasIssued,
        G: ReadTogether<S>,
        Flight: Commits<G>,
    {
        let _ = warpgroup;
        // SAFETY: all threads of the warpgroup are here, by the token (I1, I2).
        unsafe { ptx::wgmma::commit_group() };
        // SAFETY: just committed. What reads `read` was issued before, since instructions take a stage and return it: it is in this group
        // or in an older one (I18).
        self.become_state(|flight| unsafe { flight.commit(read) })
    }

    /// Waits until at most the newest `N` groups are incomplete, and gives back what the others read: of each its stage, or
    /// the fragment and the stage; with `N` = 0 also the registers.
    ///
    /// # PTX
    /// `wgmma.wait_group.sync.aligned N`, PTX 8.0, sm_90a (ISA 9.7.15.7.3). With `N` = 0 the registers pass through it, so
    /// that no use moves above.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn wait_group<const N: u32, T>(
        self, // E2: go on with the product that this returns
        warpgroup: &mut T,
    ) -> (Product<D, S, Flight::State, Flight::Rest>, Flight::Done)
    where
        T: SameSet<S> + WholeWarpgroup,
        State: HasCommitted,
        Flight: Waits<S, N>,
        D: Accumulator<D::Some>,
    {
        let _ = warpgroup;
        let Product { mut values, started, flight, .. } = self;
        if N == 0 {
            // SAFETY: all threads of the warpgroup are here, by the token (I1, I2).
            values = unsafe { ptx::wgmma::wait_group_of::<D::Some, D, 0>(values) };
        } else {
            // SAFETY: as above.
            unsafe { ptx::wgmma::wait_group::<N>() };
        }
        // SAFETY: just waited for, by the warpgroup that issued (I18, I19).
        let (rest, done) = unsafe { flight.split() };
        (Product { values, started, flight: rest, types: PhantomData, stays: PhantomData }, done)
    }

    /// This thread's registers: with `r` = 16 · warp + lane / 4 and `c` = 2 · (lane % 4), sums 4 j and 4 j + 1 are those in
    /// row `r`, columns 8 j + `c` and the next; 4 j + 2 and 4 j + 3 those in row `r` + 8 (ISA 9.7.15.5.1.1). A register holds one
    /// sum, of f16 two.
    #[inline(always)]
    pub fn values(&self) -> D
    where
        State: RegistersSettled,
    {
        self.values
    }
}

impl<V: Sums, const L: usize, S: Set, State, Flight> Product<[V; L], S, State, Flight> {
    /// Calls `each` with the number and the value of each of this thread's sums, in the order of [`values`](Self::values).
    #[inline(always)]
    pub fn for_each(&self, each: impl FnMut(u32, V::Element))
    where
        State: RegistersSettled,
    {
        for_each(self.values, each);
    }
}

/// Element types that `wgmma` multiplies: rows of `Self` by rows of `B`.
#[diagnostic::on_unimplemented(
    message = "`wgmma` does not multiply `{Self}` by `{B}`",
    label = "types do not fit",
    note = "rule D14: bf16, f16 and f32 (as tf32) are multiplied by their own type; e4m3 and e5m2 also one by the other, and so \
            are u8 and i8 (PTX ISA 9.7.15.2)",
    note = "give both operands types that go together"
)]
pub trait Times<B: Element>: Element {
    /// The instruction's types.
    type Pair: Pair;
}

macro_rules! factors {
    ($($(#[$doc:meta])* $a:ty, $b:ty: $pair:ident;)*) => {$(
        $(#[$doc])*
        #[diagnostic::do_not_recommend]
        impl Times<$b> for $a {
            type Pair = pair::$pair;
        }
    )*};
}
factors! {
    f16, f16: F16;
    bf16, bf16: Bf16;
    /// The instruction takes the upper 19 bits of each element: tf32.
    f32, f32: Tf32;
    u8, u8: U8U8;
    u8, i8: U8S8;
    i8, u8: S8U8;
    i8, i8: S8S8;
    e4m3, e4m3: E4m3E4m3;
    e4m3, e5m2: E4m3E5m2;
    e5m2, e4m3: E5m2E4m3;
    e5m2, e5m2: E5m2E5m2;
}

/// A pair of K-major tiles, of which A has as many times 64 rows as one likes, whose product fits the registers `D`.
///
/// # Safety
/// `issue` reads 64 rows of the one tile and the other at their places, nothing else.
#[diagnostic::on_unimplemented(
    message = "the product of `{Self}` does not fit the registers `{D}`",
    label = "shapes or types do not fit",
    note = "rule D14: a warpgroup multiplies a 64 × K tile by an N × K tile of the same type: bf16, f16 or f32 (as tf32) into \
            `[f32; N / 2]`; e4m3 and e5m2 too, also one by the other; u8 and i8, also one by the other, into `[i32; N / 2]`; f16, e4m3 and \
            e5m2 also into `[f16x2; N / 4]` (PTX ISA 9.7.15.2)",
    note = "make the stage `(Tile<bf16, 64, K>, Tile<bf16, N, K>)`"
)]
pub unsafe trait MultipliesRows<D> {
    /// The kind of the instructions.
    #[doc(hidden)]
    type Kind: Kind;
    /// How many times 64 rows A has.
    #[doc(hidden)]
    const PARTS: u32;
    /// # Safety
    /// 1. All threads of a warpgroup call it, with registers that are the instructions' since a fence, for a stage whose
    ///    contents the async proxy may read until a wait covers the group.
    /// 2. `PART` is less than `PARTS`.
    #[doc(hidden)]
    unsafe fn issue<const PART: u32>(registers: D, stage: Addr<SharedCta>, accumulate: bool) -> D;
}

/// A pair of K-major tiles, of which A has the 64 rows of one instruction, whose product fits the registers `D`.
#[diagnostic::on_unimplemented(
    message = "the product of `{Self}` does not fit the registers `{D}`",
    label = "shapes or types do not fit",
    note = "rule D14: a warpgroup multiplies a 64 × K tile by an N × K tile of the same type: bf16, f16 or f32 (as tf32) into \
            `[f32; N / 2]`; e4m3 and e5m2 too, also one by the other; u8 and i8, also one by the other, into `[i32; N / 2]`; f16, e4m3 and \
            e5m2 also into `[f16x2; N / 4]` (PTX ISA 9.7.15.2)",
    note = "make the stage `(Tile<bf16, 64, K>, Tile<bf16, N, K>)`; of a tile of more rows `mma_async_rows` takes 64"
)]
pub trait Multiplies<D>: MultipliesRows<D> {}

/// Rows of A that one instruction multiplies.
const ROWS: usize = 64;

/// The matrix descriptor of a matrix in the 128-byte swizzle, without its address (ISA 9.7.15.5.1.2.2): stride between groups of eight rows
/// 1024 bytes, swizzle mode 1; from one panel to the next `panel` bytes, where an instruction reads several. Else the leading offset is not used.
const fn matrix(panel: u32) -> u64 {
    let leading = if panel == 0 { 1 } else { (panel >> 4) as u64 };
    (1024 >> 4) << 32 | leading << 16 | 1 << 62
}

/// The descriptor of the matrix `M` at `address`.
#[inline(always)]
fn descriptor<M: Matrix<ROWS, K>, const ROWS: usize, const K: usize>(
    address: Addr<SharedCta>,
) -> u64 {
    let matrix = const { matrix(M::PANEL) };
    matrix | ((address.raw() as u64 & 0x3_FFFF) >> 4)
}

/// Stages of which the CTAs of a cluster load one half, or both, for all of them, hold the same tiles at the same places.
macro_rules! loaded_for_all {
    ($(($a:ty, $b:ty) $($ctas:ident)*;)*) => {$(
        // SAFETY: the tiles themselves.
        #[diagnostic::do_not_recommend]
        unsafe impl<E: Element, F: Element, D, const M: usize, const N: usize, const K: usize, $(const $ctas: u32),*> MultipliesRows<D>
            for ($a, $b)
        where
            (Tile<E, M, K>, Tile<F, N, K>): MultipliesRows<D>,
        {
            type Kind = <(Tile<E, M, K>, Tile<F, N, K>) as MultipliesRows<D>>::Kind;
            const PARTS: u32 = <(Tile<E, M, K>, Tile<F, N, K>) as MultipliesRows<D>>::PARTS;

            #[inline(always)]
            unsafe fn issue<const PART: u32>(registers: D, stage: Addr<SharedCta>, accumulate: bool) -> D {
                // SAFETY: the caller's promise.
                unsafe {
                    <(Tile<E, M, K>, Tile<F, N, K>) as MultipliesRows<D>>::issue::<PART>(registers, stage, accumulate)
                }
            }
        }
        #[diagnostic::do_not_recommend]
        impl<E: Element, F: Element, D, const M: usize, const N: usize, const K: usize, $(const $ctas: u32),*> Multiplies<D>
            for ($a, $b)
        where
            (Tile<E, M, K>, Tile<F, N, K>): Multiplies<D>,
        {
        }
    )*};
}
loaded_for_all! {
    (ToAll<Tile<E, M, K>, A>, Tile<F, N, K>) A;
    (Tile<E, M, K>, ToAll<Tile<F, N, K>, B>) B;
    (ToAll<Tile<E, M, K>, A>, ToAll<Tile<F, N, K>, B>) A B;
}

/// Fails unless registers of a product of 64 × `n` are `length` of so many sums each.
const fn registers_of(length: usize, sums: usize, n: usize) {
    require(
        2 * length * sums == n,
        "rule D14: a product of 64 × N is `N / 2` sums in each thread of the warpgroup, two in a register of f16, and B's tile \
         has N rows: write the registers as `[f32; N / 2]`",
    );
}

/// Fails unless the registers `D` are those of a product of `n` columns.
const fn has_columns<D: Accumulator<P>, P: Pair>(n: usize) {
    require(
        D::N as usize == n,
        "rule D14: a product of 64 × N is `N / 2` sums in each thread of the warpgroup, two in a register of f16, and B has N \
         rows: write the registers as `[f32; N / 2]`, or take `N` rows of B's tile",
    );
}

/// The types of an instruction that multiplies `A` by `B`.
type PairOf<A, B> = <A as Times<B>>::Pair;

/// Issues the instructions that multiply the matrix `A` at `a` by `B` at `b`.
///
/// # Safety
/// 1. As for [`MultipliesRows::issue`], of the two matrices.
#[inline(always)]
unsafe fn multiply<D, A, B, const N: usize, const K: usize>(
    mut registers: D,
    [a, b]: [Addr<SharedCta>; 2],
    accumulate: bool,
) -> D
where
    A: Matrix<ROWS, K, Element: Times<B::Element>>,
    B: Matrix<N, K>,
    D: Accumulator<PairOf<A::Element, B::Element>>,
{
    let (a, b) = (descriptor::<A, ROWS, K>(a), descriptor::<B, N, K>(b));
    let mut step = 0;
    while step < const { steps_of::<A::Element>(K) } {
        let a = a + (A::step(step) >> 4) as u64;
        let b = b + (B::step(step) >> 4) as u64;
        let accumulate = accumulate || step > 0;
        // SAFETY: the caller's promise; both matrices lie in the first 256 KiB, so the address field does not overflow. What is M- or N-major
        // has elements of two bytes.
        registers = unsafe {
            match (A::MN_MAJOR, B::MN_MAJOR) {
                (false, false) => registers.shared::<0, 0, 0, 0>(a, b, accumulate),
                (false, true) => registers.shared::<0, 0, 0, 1>(a, b, accumulate),
                (true, false) => registers.shared::<0, 0, 1, 0>(a, b, accumulate),
                (true, true) => registers.shared::<0, 0, 1, 1>(a, b, accumulate),
            }
        };
        step += 1;
    }
    registers
}

// SAFETY: the descriptors name the rows of the one tile and the other tile, step by step.
unsafe impl<
    E: Times<F>,
    F: Element,
    V: Sums,
    const M: usize,
    const N: usize,
    const K: usize,
    const L: usize,
> MultipliesRows<[V; L]> for (Tile<E, M, K>, Tile<F, N, K>)
where
    [V; L]: Accumulator<E::Pair>,
{
    type Kind = InShared<E::Pair>;
    const PARTS: u32 = {
        require(
            M % ROWS == 0,
            "rule D14: a warpgroup multiplies 64 rows of A: give its tile a multiple of that",
        );
        (M / ROWS) as u32
    };

    #[inline(always)]
    unsafe fn issue<const PART: u32>(
        registers: [V; L],
        stage: Addr<SharedCta>,
        accumulate: bool,
    ) -> [V; L] {
        const { registers_of(L, V::COUNT, N) };
        let a = stage.offset(PART * (ROWS * PANEL_ROW_BYTES) as u32);
        let b = stage.offset(
            <Tile<E, M, K> as StageData>::BYTES
                .next_multiple_of(<Tile<F, N, K> as StageData>::ALIGN),
        );
        // SAFETY: the caller's promise; the rows of a part follow those of the one before in each panel.
        unsafe {
            multiply::<[V; L], Rows<Tile<E, M, K>, 0, ROWS>, Tile<F, N, K>, N, K>(
                registers,
                [a, b],
                accumulate,
            )
        }
    }
}
impl<E: Times<F>, F: Element, V: Sums, const N: usize, const K: usize, const L: usize>
    Multiplies<[V; L]> for (Tile<E, 64, K>, Tile<F, N, K>)
where
    [V; L]: Accumulator<E::Pair>,
{
}

/// Calls `each` for every sum, one call after the other in the code: a loop would index the registers, which
/// then lie in memory.
#[inline(always)]
fn for_each<V: Sums, const L: usize>(values: [V; L], mut each: impl FnMut(u32, V::Element)) {
    macro_rules! calls {
        ($($i:literal)*) => {$(
            if $i < L {
                each($i * V::COUNT as u32, values[$i].get(0));
                if V::COUNT == 2 {
                    each($i * 2 + 1, values[$i].get(1));
                }
            }
        )*};
    }
    calls! {
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
        80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
        112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
    }
}

#[cfg(test)]
mod tests {
    use super::{for_each, matrix};

    #[test]
    fn each_register_is_visited_once_and_in_order() {
        let mut seen = [0.0; 12];
        for_each([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0], |i, value| {
            seen[i as usize] += value;
        });
        assert_eq!(seen, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
    }

    #[test]
    fn matrix_descriptor_is_the_documented_bit_pattern() {
        // Stride 64 in units of 16 bytes at bit 32, leading offset 1 at bit 16, 128-byte swizzle (1) at bit 62.
        assert_eq!(matrix(0), 0x4000_0040_0001_0000);
        // Of panels of 32 rows the leading offset is 256 in those units.
        assert_eq!(matrix(32 * 128), 0x4000_0040_0100_0000);
    }
}
