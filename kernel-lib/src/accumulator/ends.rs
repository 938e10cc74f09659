//! The two ends of a ring of accumulators: one thread that issues matrix instructions, and a warpgroup that loads.

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::path::{Accumulating, Observed};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{CtaGroup, Group1};
use crate::scope::Cluster;
use crate::sem::Relaxed;
use crate::stages::wait_phase;
use crate::token::{Brand, Finished, FourWarps, Marks, SameSet, SingleThread};

use super::{Acc, Accs, Draining, Issuing, MBARRIER};

/// The producing end: one thread that issues matrix instructions.
pub struct AccProducer<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
}

/// The consuming end: a warpgroup that loads accumulators; with `Group2` a CTA's part of those of a pair.
pub struct AccConsumer<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize, G = Group1> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    /// Whether the set has stored to tensor memory; known when the kernel is compiled.
    stored: bool,
    brand: Brand<'k>,
    field: Marks<(Tag, S, G)>,
}

impl<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize>
    AccProducer<'k, Tag, S, N, ROWS, COLS>
{
    /// The end at the beginning of its ring.
    ///
    /// # Safety
    /// 1. The barriers of `Accs` are at `base` and its columns at `tensor`, claimed, and this is their one producing end.
    #[inline(always)]
    pub(super) unsafe fn of(base: Addr<SharedCta>, tensor: u32) -> Self {
        AccProducer {
            base,
            tensor,
            cursor: Cursor::start(),
            brand: PhantomData,
            field: PhantomData,
        }
    }

    /// Waits until the next accumulator has been drained, and takes it to accumulate into, from zero.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the empty barrier, then
    /// `tcgen05.fence::after_thread_sync`: the loads of the previous round stand before the matrix instructions
    /// of this one (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn acquire<T>(&mut self, thread: &mut T) -> Acc<'_, 'k, Tag, S, Accumulating, ROWS, COLS>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let index = self.cursor.index();
        let empty = self.base.offset(Accs::<N, ROWS, COLS>::EMPTY + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { wait_phase(empty, self.cursor.emptied()) };
        ptx::tcgen05::fence_after_thread_sync();
        self.cursor.advance();
        Acc::new(
            self.base.offset(Accs::<N, ROWS, COLS>::FULL + index * MBARRIER),
            column(self.tensor, index * COLS as u32),
            (),
            None,
        )
    }

    /// Ends the producer: waits until every matrix instruction that this thread issued has completed (rules D5,
    /// D8), also those that were never committed.
    ///
    /// # PTX
    /// One `tcgen05.commit` on a barrier of its own, and the wait for it.
    #[inline(always)]
    pub fn finish<T>(
        self, // D8: after this no matrix instruction is issued; return the proof from the role
        thread: &mut T,
    ) -> Finished<'k, Issuing<Tag>>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let drain = self.base.offset(Accs::<N, ROWS, COLS>::DRAIN);
        // SAFETY: the barrier is used here alone, once (I9, I10), by the commit of the thread that issued everything (I19); the
        // proof says no more than what the wait observed (I21). The two fences pass the order on to the barrier that
        // joins the roles (ISA 9.7.16.6.4).
        unsafe {
            ptx::tcgen05::commit::<Group1, SharedCta>(drain);
            wait_phase(drain, 0);
            ptx::tcgen05::fence_after_thread_sync();
            ptx::tcgen05::fence_before_thread_sync();
            Finished::assume()
        }
    }
}

impl<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize, G: CtaGroup>
    AccConsumer<'k, Tag, S, N, ROWS, COLS, G>
{
    /// The end at the beginning of its ring.
    ///
    /// # Safety
    /// 1. The barriers of `Accs` are at `base` and its columns at `tensor`, claimed, and this is their one consuming end.
    #[inline(always)]
    pub(crate) unsafe fn of(base: Addr<SharedCta>, tensor: u32) -> Self {
        AccConsumer {
            base,
            tensor,
            cursor: Cursor::start(),
            stored: false,
            brand: PhantomData,
            field: PhantomData,
        }
    }

    /// Waits until the matrix instructions of the next accumulator have completed, and takes it. Each thread of
    /// the warpgroup waits itself.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the full barrier, on which the producer's
    /// `tcgen05.commit` arrives (ISA 9.7.16.10.1). Of a pair `.relaxed.cluster`: the commit is the leader's, and what it hands on is tensor
    /// memory, whose order `tcgen05.fence::after_thread_sync` takes from any wait (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn wait<T>(&mut self, warpgroup: &mut T) -> Acc<'_, 'k, Tag, S, Observed, ROWS, COLS, (), G>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        let index = self.cursor.index();
        let full = self.base.offset(Accs::<N, ROWS, COLS>::FULL + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe {
            if G::CTAS == 1 {
                wait_phase(full, self.cursor.filled());
            } else {
                ptx::mbarrier::wait_parity::<Relaxed, Cluster>(full, self.cursor.filled());
            }
        }
        self.cursor.advance();
        Acc::new(
            self.base.offset(Accs::<N, ROWS, COLS>::EMPTY + index * MBARRIER),
            column(self.tensor, index * COLS as u32),
            (),
            Some(&mut self.stored),
        )
    }

    /// Ends the consumer: no load or store of this warp is under way any more (rules D3, D4).
    ///
    /// # PTX
    /// `tcgen05.wait::ld.sync.aligned`, in kernels that [store](Acc::st) also `tcgen05.wait::st.sync.aligned`; then
    /// `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn finish<T>(
        self, // D8: after this no accumulator is loaded; return the proof from the role
        warpgroup: &mut T,
    ) -> Finished<'k, Draining<Tag>>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token (I1, I2); the waits end every load and store of this thread (I19, I21).
        unsafe {
            ptx::tcgen05::wait_ld();
            if self.stored {
                ptx::tcgen05::wait_st();
            }
            ptx::tcgen05::fence_before_thread_sync();
            Finished::assume()
        }
    }
}

/// The tensor memory address of `column` to the right of `base` (columns are the low 16 bits).
#[inline(always)]
fn column(base: u32, column: u32) -> Addr<Tmem> {
    Addr::from_raw(base + column)
}
