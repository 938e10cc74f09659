//! The two ends of a ring of operands in tensor memory: a warpgroup that stores, and a thread that multiplies.

use core::marker::PhantomData;

use crate::accumulator::{Draining, Issuing, MmaElement};
use crate::cursor::Cursor;
use crate::path::{Empty, Full};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::Group1;
use crate::stages::wait_phase;
use crate::token::{Brand, Finished, FourWarps, Marks, SameSet, SingleThread};

use super::{MBARRIER, TensorSlot, TensorStages};

/// The end that stores: a warpgroup.
pub struct TensorProducer<'k, Tag, S, const N: u32, E, const K: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, E)>,
}

/// The end that multiplies: one thread.
pub struct TensorConsumer<'k, Tag, S, const N: u32, E, const K: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, E)>,
}

impl<'k, Tag, S, const N: u32, E: MmaElement, const K: usize> TensorProducer<'k, Tag, S, N, E, K> {
    /// The end at the beginning of its ring.
    ///
    /// # Safety
    /// 1. The barriers of `TensorStages` are at `base` and its columns at `tensor`, claimed, and this is their one producing end.
    #[inline(always)]
    pub(super) unsafe fn of(base: Addr<SharedCta>, tensor: u32) -> Self {
        let (brand, field) = (PhantomData, PhantomData);
        TensorProducer { base, tensor, cursor: Cursor::start(), brand, field }
    }

    /// Waits until the next matrix has been handed back, and takes it to be stored. Each thread of the warpgroup waits itself.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the empty barrier, on which the consumer's `tcgen05.commit` arrives, then
    /// `tcgen05.fence::after_thread_sync`: the instructions that read the matrix stand before the stores (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn acquire<T>(&mut self, warpgroup: &mut T) -> TensorSlot<'_, 'k, Tag, S, Empty, E, K>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        let index = self.cursor.index();
        let empty = self.base.offset(TensorStages::<N, E, K>::EMPTY + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { wait_phase(empty, self.cursor.emptied()) };
        ptx::tcgen05::fence_after_thread_sync();
        self.cursor.advance();
        TensorSlot::new(
            self.base.offset(TensorStages::<N, E, K>::FULL + index * MBARRIER),
            matrix::<N, E, K>(self.tensor, index),
        )
    }

    /// Ends the producer: no store of this warp is under way any more (rule D4).
    ///
    /// # PTX
    /// `tcgen05.wait::st.sync.aligned`, `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn finish<T>(
        self, // D8: after this no operand is stored; return the proof from the role
        warpgroup: &mut T,
    ) -> Finished<'k, Draining<Tag>>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token (I1, I2); the wait ends every store of this thread (I19, I21).
        unsafe {
            ptx::tcgen05::wait_st();
            ptx::tcgen05::fence_before_thread_sync();
            Finished::assume()
        }
    }
}

impl<'k, Tag, S, const N: u32, E: MmaElement, const K: usize> TensorConsumer<'k, Tag, S, N, E, K> {
    /// The end at the beginning of its ring.
    ///
    /// # Safety
    /// 1. The barriers of `TensorStages` are at `base` and its columns at `tensor`, claimed, and this is their one consuming end.
    #[inline(always)]
    pub(super) unsafe fn of(base: Addr<SharedCta>, tensor: u32) -> Self {
        let (brand, field) = (PhantomData, PhantomData);
        TensorConsumer { base, tensor, cursor: Cursor::start(), brand, field }
    }

    /// Waits until the next matrix has been stored, and takes it.
    ///
    /// # PTX
    /// A loop over `mbarrier.try_wait.parity.acquire.cta` on the full barrier, then `tcgen05.fence::after_thread_sync`: the stores stand before
    /// the instructions that read the matrix (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn wait<T>(&mut self, thread: &mut T) -> TensorSlot<'_, 'k, Tag, S, Full, E, K>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let index = self.cursor.index();
        let full = self.base.offset(TensorStages::<N, E, K>::FULL + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim (I6), and the parity of this end's own cursor (I9, I10).
        unsafe { wait_phase(full, self.cursor.filled()) };
        ptx::tcgen05::fence_after_thread_sync();
        self.cursor.advance();
        TensorSlot::new(
            self.base.offset(TensorStages::<N, E, K>::EMPTY + index * MBARRIER),
            matrix::<N, E, K>(self.tensor, index),
        )
    }

    /// Ends the consumer: waits until every matrix instruction that this thread issued has completed (rules D5, D8).
    ///
    /// # PTX
    /// One `tcgen05.commit` on a barrier of its own, and the wait for it.
    #[inline(always)]
    pub fn finish<T>(
        self, // D8: after this no operand is multiplied; return the proof from the role
        thread: &mut T,
    ) -> Finished<'k, Issuing<Tag>>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let drain = self.base.offset(TensorStages::<N, E, K>::DRAIN);
        // SAFETY: the barrier is used here alone, once (I9, I10), by the commit of the thread that issued everything that reads the ring (I19);
        // the proof says no more than what the wait observed (I21). The two fences pass the order on to the barrier that joins the
        // roles (ISA 9.7.16.6.4).
        unsafe {
            ptx::tcgen05::commit::<Group1, SharedCta>(drain);
            wait_phase(drain, 0);
            ptx::tcgen05::fence_after_thread_sync();
            ptx::tcgen05::fence_before_thread_sync();
            Finished::assume()
        }
    }
}

/// The matrix of that number, of the ring whose columns begin at `tensor`.
#[inline(always)]
fn matrix<const N: u32, E: MmaElement, const K: usize>(tensor: u32, index: u32) -> Addr<Tmem> {
    Addr::from_raw(tensor + index * TensorStages::<N, E, K>::EACH)
}
