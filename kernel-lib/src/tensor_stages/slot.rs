//! One operand in tensor memory while one side holds it, and what each state of it allows.

use core::marker::PhantomData;

use crate::accumulator::{InTensorMemory, LoadsRows, MmaElement};
use crate::dropped::{Hand, StageSlot};
use crate::operand::Operand;
use crate::path::{
    BeforeThreadSync, ByMma, HasContents, OpenTo, OpensTo, ReadByMatrix, ReadByMma, StoreUnderWay,
    Stored, StoredFenced, StoresEnded, Storing, Writable,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::Group1;
use crate::require;
use crate::shared_access::check;
use crate::stages::arrive_for_the_set;
use crate::token::{Brand, Marks, SameSet, Set, SingleThread, StaysWithItsThreads, WARP};

/// One matrix of 128 × `K` in tensor memory, held by one side, in a state of [`crate::path`].
///
/// It borrows its end of the ring (`'e`): while somebody holds a matrix, the end cannot [finish](super::TensorProducer::finish).
#[must_use = "a stage that is not handed on stops the ring"]
pub struct TensorSlot<'e, 'k, Tag, S, State, E, const K: usize> {
    /// Barrier on which this side hands the matrix on.
    next: Addr<SharedCta>,
    tensor: Addr<Tmem>,
    hand: Hand<StageSlot>,
    end: PhantomData<&'e mut ()>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, State, E)>,
    stays: StaysWithItsThreads,
}

impl<'e, 'k, Tag, S, State, E: MmaElement, const K: usize> TensorSlot<'e, 'k, Tag, S, State, E, K> {
    #[inline(always)]
    pub(super) fn new(next: Addr<SharedCta>, tensor: Addr<Tmem>) -> Self {
        TensorSlot {
            next,
            tensor,
            hand: Hand::new(),
            end: PhantomData,
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> TensorSlot<'e, 'k, Tag, S, Next, E, K> {
        self.hand.settle();
        TensorSlot::new(self.next, self.tensor)
    }

    /// Begins to store `W` words of each thread's own row, two elements in each, from element `first` on: `value(i)` is asked for element `i`.
    /// Traps when they are not all in the row, or `first` is odd.
    ///
    /// # PTX
    /// `tcgen05.st.sync.aligned.32x32b.xW.b32`, W a power of two from 1 to 128, PTX 8.6, sm_100a (ISA 9.7.16.8.4).
    #[inline(always)]
    pub fn st<const W: usize>(
        self, // D4: the store has the matrix; go on with what `wait_st` returns
        warpgroup: &mut impl LoadsRows<S>,
        first: u32,
        mut value: impl FnMut(u32) -> E,
    ) -> TensorSlot<'e, 'k, Tag, S, Storing, E, K>
    where
        State: StoresEnded + Writable,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let last = const {
            require(
                2 * W <= K,
                "rule D14: a store is at most as wide as a row of the matrix, two elements in a word: write it in several, `st::<16>(…)` for \
                 instance",
            );
            (K - 2 * W) as u32
        };
        check(first <= last && first % 2 == 0);
        let words = core::array::from_fn(|i| {
            let i = first + 2 * i as u32;
            value(i).to_word() as u32 | (value(i + 1).to_word() as u32) << 16
        });
        // Warp `i` of the warpgroup reaches lanes 32 i to 32 i + 31 (rule D12).
        let lane = (warpgroup.rank() / WARP) * WARP;
        let at = Addr::from_raw(self.tensor.raw() + (lane << 16) + first / 2);
        // SAFETY: all lanes of the warp are here (I1, I2); the matrix was handed back, and what read it has completed and is ordered, by the
        // state (I14, I15); it is the set's (I13), each thread writes its own row (I16), in bounds.
        unsafe { ptx::tcgen05::st_32x32b::<[u32; W]>(at, words) };
        self.become_state()
    }

    /// Waits for the store.
    ///
    /// # PTX
    /// `tcgen05.wait::st.sync.aligned`, PTX 8.6, sm_100a (ISA 9.7.16.8.5).
    #[inline(always)]
    pub fn wait_st<T>(
        self, // D4: the store has ended; go on with the matrix that this returns
        warpgroup: &mut T,
    ) -> TensorSlot<'e, 'k, Tag, S, Stored, E, K>
    where
        T: SameSet<S>,
        State: StoreUnderWay,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token (I1, I2), and are those that stored (I19).
        unsafe { ptx::tcgen05::wait_st() };
        self.become_state()
    }

    /// Orders the ended stores before the hand-over.
    ///
    /// # PTX
    /// `tcgen05.fence::before_thread_sync`, PTX 8.6, sm_100a (ISA 9.7.16.11.1). No instruction in SASS.
    #[inline(always)]
    pub fn fence_before_thread_sync<T>(
        self, // D2: the stores are fenced; go on with the matrix that this returns
        warpgroup: &mut T,
    ) -> TensorSlot<'e, 'k, Tag, S, StoredFenced, E, K>
    where
        T: SameSet<S>,
        State: HasContents + StoresEnded,
    {
        let _ = warpgroup;
        ptx::tcgen05::fence_before_thread_sync();
        self.become_state()
    }

    /// Hands the matrix to the thread that multiplies.
    ///
    /// # PTX
    /// The set's barrier, then `mbarrier.arrive.release.cta.shared::cta.b64` by one lane (ISA 9.7.13.15.13).
    #[inline(always)]
    pub fn publish<T>(
        self, // D2, D4: the matrix is the consumer's now; take the next one from `acquire`
        warpgroup: &mut T,
    ) where
        S: Set,
        T: SameSet<S>,
        State: HasContents + StoresEnded + BeforeThreadSync,
    {
        // SAFETY: the full barrier expects one arrival a phase (I11); every thread's stores have ended and are fenced (I13, I14, I15).
        unsafe { arrive_for_the_set(warpgroup, self.next) };
        self.hand.settle();
    }

    /// Opens the matrix to matrix instructions, as many as one likes; see [`Slot::open`](crate::stages::Slot::open).
    #[inline(always)]
    pub fn open<T>(
        self, // D6, D16: matrix instructions read the matrix from here on; go on with the one that this returns
        thread: &mut T,
    ) -> TensorSlot<'e, 'k, Tag, S, ReadByMma, E, K>
    where
        T: SameSet<S> + SingleThread,
        State: OpensTo<ByMma>,
    {
        let _ = thread;
        self.become_state()
    }

    /// The matrix as A, for one call that issues instructions.
    #[inline(always)]
    pub fn operand(&self) -> Operand<'_, InTensorMemory<E, K>, S, ByMma>
    where
        State: OpenTo<ByMma>,
    {
        Operand::new(self.tensor.raw())
    }

    /// Hands the matrix back once the matrix instructions that read it have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`, PTX 8.6, sm_100a (ISA 9.7.16.10.1).
    #[inline(always)]
    pub fn release_by_commit<T>(
        self, // D6, D16: the commit hands the matrix back; take the next one from `wait`
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
        State: ReadByMatrix,
    {
        let _ = thread;
        // SAFETY: the empty barrier expects this one arrival a phase (I11); the matrix instructions that read the matrix are this thread's, and
        // no view of it is left (I14, I18, I19).
        unsafe { ptx::tcgen05::commit::<Group1, SharedCta>(self.next) };
        self.hand.settle();
    }
}
