//! The two ends of a ring: each keeps its own cursor, and takes stages in their order.

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::pair::PairLeader;
use crate::path::{ByPairMma, Empty, Full, PollConfirmed, Polled};
use crate::peers;
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::scope::Cta as CtaScope;
use crate::sem::Acquire;
use crate::tile::{Elements, StageData};
use crate::token::{
    Brand, Marks, RoleReturn, SameSet, Set, SingleThread, StaysWithItsThreads, sealed,
};

use super::{
    CompletesHere, Drain, DrainsAlone, DrainsLike, Fill, MBARRIER, Ring, RingOf, Share, Slot,
    Stages, wait_phase, wait_phase_of,
};

/// A ring that has been claimed and not yet split into its ends.
pub struct StagesPart<'k, Tag, R> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, R)>,
}

impl<'k, Tag, R> StagesPart<'k, Tag, R> {
    #[inline(always)]
    pub(super) fn new(base: Addr<SharedCta>) -> Self {
        StagesPart { base, brand: PhantomData, field: PhantomData }
    }
}

impl<'k, Tag, R: Ring> StagesPart<'k, Tag, R> {
    /// The two ends. Which set of threads holds an end follows from its first use.
    #[inline(always)]
    pub fn split<P: Set, C: Set, const N: u32>(
        self, // C2: a ring is split once, so each end exists once for each thread; hand the ends to their roles
    ) -> (Producer<'k, Tag, R, P, N>, Consumer<'k, Tag, R, C, N>)
    where
        R: RingOf<N> + Ring<Drain: DrainsAlone>,
        Tag: crate::layout::Tag,
    {
        ptx::mark::end::<Tag, P, 0>();
        ptx::mark::end::<Tag, C, 1>();
        (Producer::of(self.base), Consumer::of(self.base))
    }
}

/// One end for each of the sets that drain a ring.
macro_rules! split_among {
    ($all:ty: $($way:ident $set:ident $end:literal)*) => {
        impl<'k, Tag, const N: u32, Data, F, $($way),*> StagesPart<'k, Tag, Stages<N, Data, F, $all>>
        where
            Data: StageData,
            F: Fill,
            $($way: CompletesHere,)*
        {
            /// The end that fills, and one for each set that drains, in the order of the field's type. Which set of threads holds an end
            /// follows from its first use. A stage comes back when all of them have handed it back.
            #[inline(always)]
            #[allow(clippy::type_complexity)]
            pub fn split_among<P: Set, $($set: Set),*>(
                self, // C2: a ring is split once, so each end exists once for each thread; hand the ends to their roles
            ) -> (
                Producer<'k, Tag, Stages<N, Data, F, $all>, P, N>,
                ($(Consumer<'k, Tag, Share<Stages<N, Data, F, $all>, $way>, $set, N>,)*),
            )
            where
                Tag: crate::layout::Tag,
            {
                ptx::mark::end::<Tag, P, 0>();
                $(ptx::mark::end::<Tag, $set, $end>();)*
                (Producer::of(self.base), ($(Consumer::<_, _, $set, N>::of(self.base),)*))
            }
        }
    };
}
split_among! { (A, B): A SetA 1 B SetB 2 }
split_among! { (A, B, C): A SetA 1 B SetB 2 C SetC 3 }
split_among! { (A, B, C, D): A SetA 1 B SetB 2 C SetC 3 D SetD 4 }

/// A ring that was split. Nothing implements it: it is here for what the compiler says where stages are taken from the ring itself.
#[diagnostic::on_unimplemented(
    message = "this ring has not been split, and stages are taken from its ends",
    label = "not split",
    note = "rules C2 and C3: each side of a ring keeps the parity of the phases that it waits for, in an end of its own (PTX ISA 9.7.13.15)",
    note = "write `let (mut filling, mut draining) = ring.split();`, and move each end into its role"
)]
#[doc(hidden)]
pub trait IsSplit: sealed::Sealed {}
impl<Tag, R> sealed::Sealed for StagesPart<'_, Tag, R> {}

impl<'k, Tag, R: Ring> StagesPart<'k, Tag, R> {
    /// What the producer's end does; see [`IsSplit`].
    #[doc(hidden)]
    pub fn acquire<S: Set>(&mut self, set: &mut S) -> Slot<'k, Tag, R, S, Empty>
    where
        Self: IsSplit,
    {
        let _ = set;
        unreachable!()
    }

    /// What the consumer's end does; see [`IsSplit`].
    #[doc(hidden)]
    pub fn wait<S: Set>(&mut self, set: &mut S) -> Slot<'k, Tag, R, S, Full>
    where
        Self: IsSplit,
    {
        let _ = set;
        unreachable!()
    }
}

/// The end of a ring that fills stages. `Send`, so that it moves into a role; one for each thread of the set.
pub struct Producer<'k, Tag, R, S, const N: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S)>,
}

/// The end of a ring that drains stages.
pub struct Consumer<'k, Tag, R, S, const N: u32> {
    base: Addr<SharedCta>,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, R, S)>,
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Producer<'k, Tag, R, S, N> {
    #[inline(always)]
    fn of(base: Addr<SharedCta>) -> Self {
        Producer { base, cursor: Cursor::start(), brand: PhantomData, field: PhantomData }
    }

    /// Waits until the next stage has been handed back, and takes it.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta.shared::cta.b64` on the empty barrier; at once on the
    /// first lap. PTX 7.8, sm_90 (ISA 9.7.13.15.16). Where peers hand the stage back too, `.relaxed.cluster`,
    /// `fence.acquire.sync_restrict::shared::cluster.cluster` and
    /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`; PTX 8.6, sm_90.
    #[inline(always)]
    pub fn acquire<T: SameSet<S>>(&mut self, set: &mut T) -> Slot<'k, Tag, R, S, Empty> {
        let _ = set;
        let slot = Slot::new(self.base, self.cursor.index());
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { wait_phase_of::<R>(slot.empty(), self.cursor.emptied()) };
        self.cursor.advance();
        slot
    }

    /// Ends the producer: waits until every bulk copy that it began has landed, so that the CTA may exit (rule
    /// B9). Costs nothing where threads fill the ring.
    #[inline(always)]
    pub fn finish<T: SameSet<S>>(
        self, // B9: after this no bulk copy is begun; return the proof from the role
        set: &mut T,
    ) -> <R::Fill as Fill>::Closed<'k, Tag> {
        let _ = set;
        if R::Fill::ASYNCHRONOUS && !R::Drain::PAIR {
            self.each_last(R::STRIDE * R::STAGES, |full, phase| {
                // SAFETY: as in `wait_fills`; nothing is accessed behind it (I6, I9, I10).
                unsafe {
                    if R::CTAS == 1 {
                        wait_phase(full, phase);
                    } else {
                        peers::wait_to_end(full, phase);
                    }
                }
            });
        }
        if R::CTAS > 1 && R::Drain::ASYNCHRONOUS {
            self.each_last((R::STRIDE + MBARRIER) * R::STAGES, |empty, phase| {
                // Commits of peers arrive without a thread of theirs, and this CTA has to be there (rule F3).
                // SAFETY: as in `wait_fills`; nothing is accessed behind it (I6, I9, I10).
                unsafe { peers::wait_to_end(empty, phase) };
            });
        }
        // SAFETY: every fill of every stage has been observed, and this end, the one that begins them, is consumed (I9, I21).
        unsafe { <R::Fill as Fill>::Closed::conjure() }
    }
}

impl<Tag, R: Ring, S: Set, const N: u32> Producer<'_, Tag, R, S, N> {
    /// Waits until the last fill of every stage has completed. Of a pair's stages only the leader knows that, and they have come back
    /// behind its wait.
    #[inline(always)]
    pub(crate) fn wait_fills(&self) {
        let empties = if R::Drain::PAIR { MBARRIER * R::STAGES } else { 0 };
        self.each_last(R::STRIDE * R::STAGES + empties, |barrier, phase| {
            // SAFETY: the ring's barrier (I6). A full one's next phase nobody but this producer begins, and an empty one's phases end as
            // often, each behind its fill (I9, I10).
            unsafe { wait_phase_of::<R>(barrier, phase) };
        });
    }

    /// Runs `wait` with each of the ring's barriers from `first` on, and with the parity of the phase that belongs to the last fill of its
    /// stage.
    #[inline(always)]
    fn each_last(&self, first: u32, mut wait: impl FnMut(Addr<SharedCta>, u32)) {
        let mut index = 0;
        while index < ptx::opaque(N) {
            wait(self.base.offset(first + index * MBARRIER), self.cursor.last_fill(index));
            index += 1;
        }
    }
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Consumer<'k, Tag, R, S, N> {
    #[inline(always)]
    fn of(base: Addr<SharedCta>) -> Self {
        Consumer { base, cursor: Cursor::start(), brand: PhantomData, field: PhantomData }
    }

    /// Waits until the next stage has been filled, and takes it. Each thread of the set waits itself.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta.shared::cta.b64` on the full barrier. PTX 7.8, sm_90
    /// (ISA 9.7.13.15.16); the phase covers the bytes of bulk copies (`complete_tx`, ISA 9.7.9.25.2). Where peers fill the stage too,
    /// as in [`Producer::acquire`].
    #[inline(always)]
    pub fn wait<T: SameSet<S>>(&mut self, set: &mut T) -> Slot<'k, Tag, R, S, Full>
    where
        R::Drain: CompletesHere,
    {
        let _ = set;
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe {
            if R::PEERS > 1 && R::Drain::GENERIC {
                peers::wait_to_read(self.full(), self.cursor.filled());
            } else {
                wait_phase_of::<R>(self.full(), self.cursor.filled());
            }
        };
        self.take()
    }

    /// Waits until the copies of both CTAs of the pair have filled the next stage, and takes both parts of it, for instructions of the
    /// pair.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64` on this CTA's full barrier, on which both CTAs' copies
    /// complete; `fence.acquire.sync_restrict::shared::cluster.cluster` and
    /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`. PTX 8.6, sm_90 (ISA 9.7.13.4, 9.7.13.15.16).
    #[inline(always)]
    pub fn wait_for_both<T>(
        &mut self,
        thread: &mut T,
        leader: PairLeader<'k>,
    ) -> Slot<'k, Tag, R, S, Full>
    where
        T: SameSet<S> + SingleThread,
        R: Ring<Drain: DrainsLike<ByPairMma>>,
    {
        let _ = (thread, leader);
        // SAFETY: as in `wait` (I6, I9, I10); this CTA leads, so that its barrier is the one on which both parts complete (I12).
        unsafe { wait_phase_of::<R>(self.full(), self.cursor.filled()) };
        self.take()
    }

    /// The full barrier of the next stage.
    #[inline(always)]
    fn full(&self) -> Addr<SharedCta> {
        self.base.offset(R::STRIDE * R::STAGES + self.cursor.index() * MBARRIER)
    }

    /// Takes the next stage, whose phase was observed, and goes on.
    #[inline(always)]
    fn take(&mut self) -> Slot<'k, Tag, R, S, Full> {
        let slot = Slot::new(self.base, self.cursor.index());
        self.cursor.advance();
        slot
    }

    /// Asks once whether the next stage has been filled: one `try_wait`, whose answer the attempt holds (rule
    /// C5).
    ///
    /// For one thread: the threads of a larger set could get different answers.
    #[inline(always)]
    pub fn try_wait<T: SameSet<S> + SingleThread>(
        &mut self,
        set: &mut T,
    ) -> Attempt<'_, 'k, Tag, R, S, N>
    where
        R::Drain: CompletesHere,
    {
        let attempt =
            Attempt { consumer: self, complete: false, state: PhantomData, stays: PhantomData };
        attempt.try_wait(set)
    }
}

/// The answer of one `try_wait` for a consumer's next stage.
///
/// It borrows the consumer, whose cursor goes on only when the stage is taken: an attempt that is thrown away
/// leaves the ring as it was.
pub struct Attempt<'a, 'k, Tag, R, S, const N: u32, State = Polled> {
    consumer: &'a mut Consumer<'k, Tag, R, S, N>,
    complete: bool,
    state: Marks<State>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, R: Ring, S: Set, const N: u32> Attempt<'_, 'k, Tag, R, S, N> {
    /// The stage if the last `try_wait` said that its phase has completed, else the question again.
    #[inline(always)]
    pub fn completed(
        self, // C5: the answer is used once; go on with what this returns
    ) -> Result<Slot<'k, Tag, R, S, Full>, Self> {
        if self.complete { Ok(self.consumer.take()) } else { Err(self) }
    }

    /// Asks again.
    #[inline(always)]
    pub fn try_wait<T: SameSet<S>>(
        mut self, // C5: the new answer stands for the old one; go on with what this returns
        set: &mut T,
    ) -> Self {
        let _ = set;
        let (full, phase) = (self.consumer.full(), self.consumer.cursor.filled());
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        self.complete = unsafe {
            if R::PEERS == 1 {
                ptx::mbarrier::try_wait_parity::<Acquire, CtaScope>(full, phase)
            } else {
                peers::try_wait(full, phase)
            }
        };
        self
    }
}

impl<Tag, R: Ring, S: Set, const N: u32, State> Attempt<'_, '_, Tag, R, S, N, State> {
    /// An element of the stage, once it is known to be filled: which no state of this type says (rule C5).
    #[inline(always)]
    pub fn get(&self, index: u32) -> <R::Data as Elements>::Element
    where
        State: PollConfirmed,
        R::Data: Elements,
    {
        let _ = index;
        unreachable!()
    }
}
