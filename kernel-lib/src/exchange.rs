//! Exchange: each thread of a CTA writes its own elements of a region, arrives, does something else, and after
//! the wait reads everybody's.
//!
//! A field `sums: Exchange<f32, 256>` of a layout. It is the split-phase form of "write, `__syncthreads`, read": the
//! arrival and the wait are two calls on the region, with the phase inside it (rules C3, C4, C10), and between
//! them the region cannot be touched.

use core::marker::PhantomData;

use crate::collective::{Collectives as _, WholeWarps};
use crate::dropped::{ExchangeRegion, Hand};
use crate::layout::{Claimed, Field};
use crate::path::{
    Acquired, Arrived, Empty, FillCompleted, Full, HasArrived, HasContents, MayArrive,
    ObservedRelaxed, PollConfirmed, Polled, VisibleToTheSet, Writable, Written,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::word::Word32;
use crate::scope::Cta as CtaScope;
use crate::sem::{Acquire, Relaxed, Release};
use crate::shared_access::{check, read, write};
use crate::tile::{Element, Elements, Linear, StageData};
use crate::token::{Brand, Cta, Marks, SameSet, Set, StaysWithItsThreads, WARP};

/// `N` elements of `T` that the threads of a CTA exchange: a field of a layout.
pub struct Exchange<T, const N: usize>(PhantomData<T>);

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

// SAFETY: (1) the barrier expects one arrival of each thread of the CTA (I11); (2) elements and barrier within BYTES (I7); (3)
// nothing asynchronous.
unsafe impl<T: Element, const N: usize> Field for Exchange<T, N> {
    const BYTES: u32 = <Linear<T, N> as StageData>::BYTES.next_multiple_of(MBARRIER) + MBARRIER;
    const ALIGN: u32 = 16;
    const REMOTE_BARRIERS: bool = false;
    type Part<'k, Tag> = ExchangePart<'k, Tag, T, N>;
    type Closed<'k, Tag> = ();
    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, threads: u32) {
        // SAFETY: the barrier's place (I7), before anyone uses it (I6).
        unsafe { ptx::mbarrier::init(base.offset(Self::BYTES - MBARRIER), threads) };
    }
    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        ExchangePart { base, brand: PhantomData, field: PhantomData }
    }
}

/// An exchange region that the CTA has not opened yet.
pub struct ExchangePart<'k, Tag, T, const N: usize> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, T)>,
}

impl<'k, Tag, T: Element, const N: usize> ExchangePart<'k, Tag, T, N> {
    /// Opens the region for the whole CTA.
    #[inline(always)]
    pub fn open<L, const THREADS: u32>(
        self, // C2: the region is opened once by each thread; go on with the one that this returns
        cta: &mut Cta<'k, Claimed<L>, THREADS>,
    ) -> Region<'k, Tag, T, N, Cta<'k, Claimed<L>, THREADS>, Empty> {
        let _ = cta;
        Region::new(self.base, 0, true)
    }
}

/// An exchange region in a state of [`crate::path`].
#[must_use = "a region that is dropped after an arrival leaves the CTA waiting"]
pub struct Region<'k, Tag, T, const N: usize, S, State> {
    base: Addr<SharedCta>,
    phase: u32,
    complete: bool,
    hand: Hand<ExchangeRegion>,
    brand: Brand<'k>,
    field: Marks<(Tag, T, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, T: Element, const N: usize, S: Set, State> Region<'k, Tag, T, N, S, State> {
    #[inline(always)]
    fn new(base: Addr<SharedCta>, phase: u32, complete: bool) -> Self {
        Region {
            base,
            phase,
            complete,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> Region<'k, Tag, T, N, S, Next> {
        self.hand.settle();
        Region::new(self.base, self.phase, self.complete)
    }

    #[inline(always)]
    fn barrier(&self) -> Addr<SharedCta> {
        self.base.offset(<Exchange<T, N> as Field>::BYTES - MBARRIER)
    }

    /// Writes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with the region that this returns
        set: &mut U,
        mut value: impl FnMut(u32) -> T,
    ) -> Region<'k, Tag, T, N, S, Written>
    where
        U: SameSet<S>,
        State: Writable,
    {
        let mut index = set.rank();
        while index < N as u32 {
            // SAFETY: in range, this thread's own (I16), and the region is the CTA's to write (I13, I14).
            unsafe { write(self.base.offset(<Linear<T, N>>::byte_offset(index)), value(index)) };
            index += U::THREADS;
        }
        self.become_state()
    }

    /// Arrives: this thread's elements are written.
    ///
    /// # PTX
    /// `mbarrier.arrive.release.cta.shared::cta.b64`, PTX 8.0, sm_90 (ISA 9.7.13.15.13).
    #[inline(always)]
    pub fn arrive<U>(
        self, // C3, C10: one arrival for each observed phase; wait with the region that this returns
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, Arrived>
    where
        U: SameSet<S>,
        State: MayArrive + HasContents,
    {
        let _ = set;
        // SAFETY: the region's barrier counts one arrival of each thread of the CTA (I11), and this one has waited since its last (I14).
        unsafe { ptx::mbarrier::arrive::<Release, CtaScope>(self.barrier()) };
        self.become_state()
    }

    /// Waits until every thread has arrived, and acquires what they wrote.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta`, PTX 7.8, sm_90 (ISA 9.7.13.15.16).
    #[inline(always)]
    pub fn wait<U>(
        self, // C3, C4: a phase is awaited once, by the region that arrived on it; go on with the one that this returns
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, Full>
    where
        U: SameSet<S>,
        State: HasArrived,
    {
        let _ = set;
        // SAFETY: the region's barrier (I6, I9), and the phase that this thread has arrived on, which cannot be over twice (I10).
        unsafe { ptx::mbarrier::wait_parity::<Acquire, CtaScope>(self.barrier(), self.phase) };
        self.next_phase().become_state()
    }

    /// Waits until every thread has arrived, without acquiring: nothing may be read before
    /// [`fence_acquire`](Self::fence_acquire) (rule C6).
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.relaxed.cta`, PTX 8.6, sm_90 (ISA 9.7.13.15.16).
    #[inline(always)]
    pub fn wait_relaxed<U>(
        self, // C3, C4: a phase is awaited once, by the region that arrived on it; go on with the one that this returns
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, ObservedRelaxed>
    where
        U: SameSet<S>,
        State: HasArrived,
    {
        let _ = set;
        // SAFETY: as in `wait` (I6, I9, I10).
        unsafe { ptx::mbarrier::wait_parity::<Relaxed, CtaScope>(self.barrier(), self.phase) };
        self.next_phase().become_state()
    }

    /// Asks once whether every thread has arrived (rule C5).
    #[inline(always)]
    pub fn try_wait<U>(
        mut self, // C5: the answer is in the region that this returns; go on with that
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, Polled>
    where
        U: SameSet<S>,
        State: HasArrived,
    {
        let _ = set;
        // SAFETY: as in `wait` (I6, I9, I10).
        self.complete = unsafe {
            ptx::mbarrier::try_wait_parity::<Acquire, CtaScope>(self.barrier(), self.phase)
        };
        self.become_state()
    }

    #[inline(always)]
    fn next_phase(mut self) -> Self {
        self.phase ^= 1;
        self
    }

    /// Element `index`. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u32) -> T
    where
        State: PollConfirmed + FillCompleted + Acquired + VisibleToTheSet,
    {
        check(index < N as u32);
        // SAFETY: in range; the state says that every thread's writes were acquired and nobody writes (I13, I14, I15).
        unsafe { read(self.base.offset(<Linear<T, N>>::byte_offset(index))) }
    }
}

impl<'k, Tag, T: Element + Word32, const N: usize, S: Set> Region<'k, Tag, T, N, S, Empty> {
    /// `f` over one value of each thread, in their order; every thread gets it, and the region again.
    ///
    /// The warps reduce by shuffles, and exchange one value each. `f` is associative; see
    /// [`Collectives::reduce`](crate::collective::Collectives::reduce). The region has an element for each thread.
    ///
    /// ```
    /// # use baton::prelude::*;
    /// # baton::shared! { struct Smem in smem { sums: Exchange<f32, 256> } }
    /// #[baton::kernel(threads = 256, no_stack)]
    /// fn norm(cta: Cta<'_, Smem, 256>, x: ReadOnly<f32>, y: GlobalPtr<f32>) -> Exit<'_> {
    ///     let (mut cta, smem::Parts { sums, .. }) = cta.claim();
    ///     let region = sums.open(&mut cta);
    ///     let value = x.get(cta.rank() as u64);
    ///     let (sum, region) = region.reduce(&mut cta, value * value, |a, b| a + b);
    ///     let (most, region) = region.reduce(&mut cta, value, Math::max);
    ///     baton::assert!(most * most <= sum);
    ///     region.close(&mut cta);
    ///     cta.join().exit(())
    /// }
    /// # fn main() {}
    /// ```
    #[inline(always)]
    pub fn reduce<U>(
        self, // A9: the region is written and read on the way; go on with the one that this returns
        set: &mut U,
        value: T,
        f: impl Fn(T, T) -> T,
    ) -> (T, Self)
    where
        U: SameSet<S> + WholeWarps,
    {
        const {
            crate::require(
                N == U::THREADS as usize,
                "rule A13: `reduce` exchanges one element for each thread: make it an `Exchange<T, N>` with `N` the threads of its set",
            );
        }
        let of_warp = set.reduce(value, &f);
        let full = self.fill(set, |_| of_warp).arrive(set).wait(set);
        let mut all = full.get(0);
        for warp in 1..U::THREADS / WARP {
            all = f(all, full.get(WARP * warp));
        }
        (all, full.reopen(set))
    }

    /// Ends the use of a region that nobody has begun to fill again.
    #[inline(always)]
    pub fn close<U: SameSet<S>>(
        self, // C3: nobody arrives again; leave the region behind its last wait
        set: &mut U,
    ) {
        let _ = set;
        self.hand.settle();
    }
}

impl<'k, Tag, T: Element, const N: usize, S: Set> Region<'k, Tag, T, N, S, ObservedRelaxed> {
    /// Makes the relaxed wait an acquire pattern.
    ///
    /// # PTX
    /// `fence.acquire.cta`, before sm_90 `fence.acq_rel.cta` (ISA 9.7.13.4, 8.8).
    #[inline(always)]
    pub fn fence_acquire<U: SameSet<S>>(
        self, // A3: the order is known of the region that this returns; go on with that
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, Full> {
        let _ = set;
        ptx::fence::fence_acquire::<CtaScope>();
        self.become_state()
    }
}

impl<'k, Tag, T: Element, const N: usize, S: Set> Region<'k, Tag, T, N, S, Polled> {
    /// The region if every thread had arrived, else the question again.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    pub fn completed(
        self, // C5: the answer is used once; go on with what this returns
    ) -> Result<Region<'k, Tag, T, N, S, Full>, Region<'k, Tag, T, N, S, Arrived>> {
        if self.complete { Ok(self.next_phase().become_state()) } else { Err(self.become_state()) }
    }
}

impl<'k, Tag, T: Element, const N: usize, S: Set> Region<'k, Tag, T, N, S, Full> {
    /// The CTA's barrier, after which nobody reads any more and the region can be filled again.
    #[inline(always)]
    pub fn reopen<U: SameSet<S>>(
        self, // A9: what was read may be written over; go on with the region that this returns
        set: &mut U,
    ) -> Region<'k, Tag, T, N, S, Empty> {
        set.barrier();
        self.become_state()
    }

    /// Ends the use of the region.
    #[inline(always)]
    pub fn close<U: SameSet<S>>(
        self, // C3: nobody arrives again; leave the region behind its last wait
        set: &mut U,
    ) {
        let _ = set;
        self.hand.settle();
    }
}
