//! One accumulator while one side holds it, and what each state of it allows.

use core::marker::PhantomData;

use crate::dropped::{Accumulator, Hand};
use crate::operand::{Matrix, Operand};
use crate::pair::leader;
use crate::path::{
    AfterThreadSync, BeforeThreadSync, ByMma, LoadUnderWay, Loading, LoadsEnded, MatrixWritable,
    MmaCompleted, ReadByMma, ReadableByMma, Ready, Released, StoreUnderWay, StoresEnded, Storing,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{CtaGroup, Group1};
use crate::require;
use crate::scope::{Cluster, Cta as CtaScope};
use crate::sem::{Relaxed, Release};
use crate::shared_access::check;
use crate::stages::{DrainsLike, HeldStage, Ring, Slot};
use crate::staging::{GoesBack, HandBack};
use crate::token::{
    Brand, FourWarps, Marks, SameSet, Set, SingleThread, StaysWithItsThreads, WARP, sealed,
};

use super::{First, MmaElement, MmaTimes, Operands, instruction, multiply};

/// One accumulator, held by one side, in a state of [`crate::path`]; `V` holds the registers of a load under way.
///
/// It borrows its end of the ring (`'e`): while somebody holds an accumulator, the end cannot
/// [finish](super::AccProducer::finish), and no proof says that its instructions are over.
///
/// With `Group2` it is a CTA's part of an accumulator [of a pair](crate::pair_accumulator).
#[must_use = "an accumulator that is not handed on stops the ring"]
pub struct Acc<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, V = (), G = Group1> {
    /// Barrier on which this side hands the accumulator on.
    next: Addr<SharedCta>,
    tensor: Addr<Tmem>,
    started: bool,
    values: V,
    hand: Hand<Accumulator>,
    /// The consuming end's note that something was stored.
    stored: Option<&'e mut bool>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, State, G)>,
    stays: StaysWithItsThreads,
}

impl<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, V, G: CtaGroup>
    Acc<'e, 'k, Tag, S, State, ROWS, COLS, V, G>
{
    #[inline(always)]
    pub(super) fn new(
        next: Addr<SharedCta>,
        tensor: Addr<Tmem>,
        values: V,
        stored: Option<&'e mut bool>,
    ) -> Self {
        Acc {
            next,
            tensor,
            started: false,
            values,
            hand: Hand::new(),
            stored,
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    #[allow(clippy::type_complexity)]
    fn become_state<Next, W>(self, values: W) -> (Acc<'e, 'k, Tag, S, Next, ROWS, COLS, W, G>, V) {
        self.hand.settle();
        (Acc::new(self.next, self.tensor, values, self.stored), self.values)
    }
}

impl<'k, Tag, S, State, const ROWS: usize, const COLS: usize, V>
    Acc<'_, 'k, Tag, S, State, ROWS, COLS, V>
{
    /// Issues the matrix instructions that add the product of the stage's two tiles: A is `ROWS` × K, B is
    /// `COLS` × K, both K-major, and the accumulator becomes (or grows by) A · Bᵀ.
    ///
    /// # PTX
    /// One `tcgen05.mma.cta_group::1.kind::f16` for each 16 columns of K, PTX 8.6, sm_100a (ISA 9.7.16.10.9). They
    /// are a pipelined pair with each other (same accumulator and shape, ISA 9.7.16.6.2).
    #[inline(always)]
    pub fn mma<T, O, RS>(
        &mut self,
        thread: &mut T,
        stage: O,
    ) -> Slot<'k, O::Tag, O::Ring, RS, ReadByMma>
    where
        O: HeldStage<'k, Set = RS, State: ReadableByMma>,
        T: SameSet<S> + SameSet<RS> + SingleThread,
        State: MatrixWritable,
        O::Ring: Ring<Drain: DrainsLike<ByMma>, Data: Operands<ROWS, COLS>>,
        RS: Set,
    {
        let _ = thread;
        let stage = stage.slot();
        // SAFETY: one thread (I1); the stage was acquired and its contents are the async proxy's or fenced for it (I13, I17); the
        // accumulator is this thread's, and the instructions into it are issued in order (I14). The stage goes back
        // by this thread's commit, or not at all (I18, I19).
        unsafe {
            <O::Ring as Ring>::Data::issue(self.tensor, stage.data(), self.started);
            self.started = true;
            stage.read_by_mma()
        }
    }

    /// As [`mma`](Self::mma), of two [operands](crate::operand), each of a stage that is open: A has `ROWS` rows, B `COLS`, and both one K. A may
    /// be [in tensor memory](crate::tensor_stages) too.
    #[inline(always)]
    pub fn mma_of<T, A, B, SA, SB, ByA, ByB, const K: usize>(
        &mut self,
        thread: &mut T,
        a: Operand<'_, A, SA, ByA>,
        b: Operand<'_, B, SB, ByB>,
    ) where
        T: SameSet<S> + SameSet<SA> + SameSet<SB> + SingleThread,
        State: MatrixWritable,
        ByA: DrainsLike<ByMma>,
        ByB: DrainsLike<ByMma>,
        A: First<ROWS, K, Element: MmaElement>,
        // Of B, which is known after A: else the compiler takes B's elements for A's, and says no more than that they differ.
        B: Matrix<COLS, K, Element: MmaTimes<A::Element>>,
    {
        let _ = thread;
        let idesc = const { instruction::<A::Element>(ROWS, COLS) };
        // SAFETY: one thread (I1), which holds both stages open: they were acquired, their contents are the async proxy's or fenced for it
        // (I13, I17), and they go back by a commit of this thread behind the views that are used up here, or not at all (I18, I19). The
        // accumulator is this thread's, and the instructions into it, all of one kind and shape, are issued in order (I14).
        unsafe {
            multiply::<Group1, A, B, ROWS, COLS, K>(
                self.tensor,
                [a.at(), b.at()],
                idesc,
                self.started,
            )
        };
        self.started = true;
    }

    /// Hands the accumulator to the consumer once its matrix instructions have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`, PTX 8.6, sm_100a (ISA 9.7.16.10.1); it
    /// contains `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn commit<T>(
        self, // D5: the commit hands the accumulator on; take the next one from `acquire`
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
        State: MatrixWritable,
    {
        let _ = thread;
        // SAFETY: the full barrier expects one arrival a phase (I11), which this thread's commit makes of what it has issued (I19).
        unsafe { ptx::tcgen05::commit::<Group1, SharedCta>(self.next) };
        self.hand.settle();
    }
}

impl<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, V, G: CtaGroup>
    Acc<'e, 'k, Tag, S, State, ROWS, COLS, V, G>
{
    /// Orders what follows behind what the barrier observed.
    ///
    /// # PTX
    /// `tcgen05.fence::after_thread_sync`, PTX 8.6, sm_100a (ISA 9.7.16.11.1). No instruction in SASS; it binds the
    /// compiler and the memory model.
    #[inline(always)]
    pub fn fence_after_thread_sync<T>(
        self, // D1: the order is known of the accumulator that this returns; go on with that
        warpgroup: &mut T,
    ) -> Acc<'e, 'k, Tag, S, Ready, ROWS, COLS, (), G>
    where
        T: SameSet<S>,
        State: MmaCompleted + LoadsEnded + StoresEnded,
    {
        let _ = warpgroup;
        ptx::tcgen05::fence_after_thread_sync();
        self.become_state(()).0
    }

    /// Begins to load `W` columns from `col` on: each thread gets its own row. Traps when they are not all in the
    /// accumulator.
    ///
    /// # PTX
    /// `tcgen05.ld.sync.aligned.32x32b.xW.b32`, W a power of two from 1 to 128, PTX 8.6, sm_100a (ISA 9.7.16.8.3).
    #[inline(always)]
    pub fn ld<const W: usize>(
        self, // D3: the load has the accumulator; go on with what `wait_ld` returns
        warpgroup: &mut impl LoadsRows<S>,
        col: u32,
    ) -> Acc<'e, 'k, Tag, S, Loading, ROWS, COLS, [u32; W], G>
    where
        State: MmaCompleted + AfterThreadSync + LoadsEnded + StoresEnded,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let last = const {
            require(
                W <= COLS,
                "rule D14: a load is at most as wide as the accumulator: read it in several, `ld::<32>(…)` for instance",
            );
            (COLS - W) as u32
        };
        // Not `col + W`: the sum could wrap.
        check(col <= last);
        // Warp `i` of the warpgroup reaches lanes 32 i to 32 i + 31 (rule D12).
        let lane = (warpgroup.rank() / WARP) * WARP;
        let at = Addr::from_raw(self.tensor.raw() + (lane << 16) + col);
        // SAFETY: all lanes of the warp are here (I1, I2); the accumulator is complete and ordered (I14, I15), the set's (I13), and in
        // bounds.
        let values = unsafe { ptx::tcgen05::ld_32x32b::<[u32; W]>(at) };
        self.become_state(values).0
    }

    /// Begins to store `W` columns from `col` on: each thread writes its own row. Traps when they are not all in the
    /// accumulator. What is stored is what the next matrix instructions add to, where the producer
    /// [keeps](Self::keep) it.
    ///
    /// # PTX
    /// `tcgen05.st.sync.aligned.32x32b.xW.b32`, W a power of two from 1 to 128, PTX 8.6, sm_100a (ISA 9.7.16.8.4).
    #[inline(always)]
    pub fn st<const W: usize>(
        mut self, // D4: the store has the accumulator; go on with what `wait_st` returns
        warpgroup: &mut impl LoadsRows<S>,
        col: u32,
        values: [f32; W],
    ) -> Acc<'e, 'k, Tag, S, Storing, ROWS, COLS, (), G>
    where
        State: MmaCompleted + AfterThreadSync + LoadsEnded + StoresEnded,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let last = const {
            require(
                W <= COLS,
                "rule D14: a store is at most as wide as the accumulator: write it in several, `st::<32>(…)` for instance",
            );
            (COLS - W) as u32
        };
        check(col <= last);
        // As for `ld`.
        let lane = (warpgroup.rank() / WARP) * WARP;
        let at = Addr::from_raw(self.tensor.raw() + (lane << 16) + col);
        // SAFETY: as in `ld` (I1, I2, I13, I14, I15).
        unsafe { ptx::tcgen05::st_32x32b::<[u32; W]>(at, values.map(f32::to_bits)) };
        if let Some(stored) = self.stored.as_deref_mut() {
            *stored = true;
        }
        self.become_state(()).0
    }

    /// Waits for the store.
    ///
    /// # PTX
    /// `tcgen05.wait::st.sync.aligned`, PTX 8.6, sm_100a (ISA 9.7.16.8.5).
    #[inline(always)]
    pub fn wait_st<T>(
        self, // D4: the store has ended; go on with the accumulator that this returns
        warpgroup: &mut T,
    ) -> Acc<'e, 'k, Tag, S, Ready, ROWS, COLS, (), G>
    where
        T: SameSet<S>,
        State: StoreUnderWay,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token (I1, I2), and are those that stored (I19).
        unsafe { ptx::tcgen05::wait_st() };
        self.become_state(()).0
    }

    /// Adds to what the accumulator holds, as the consumer of the last round left it, and not to zero.
    #[inline(always)]
    pub fn keep(
        mut self, // D4: what was stored is added to; go on with the accumulator that this returns
    ) -> Self
    where
        State: MatrixWritable,
    {
        self.started = true;
        self
    }

    /// Orders the ended loads before the next hand-over.
    ///
    /// # PTX
    /// `tcgen05.fence::before_thread_sync`, PTX 8.6, sm_100a (ISA 9.7.16.11.1). No instruction in SASS.
    #[inline(always)]
    pub fn fence_before_thread_sync<T>(
        self, // D2: the loads are fenced; go on with the accumulator that this returns
        warpgroup: &mut T,
    ) -> Acc<'e, 'k, Tag, S, Released, ROWS, COLS, (), G>
    where
        T: SameSet<S>,
        State: MmaCompleted + LoadsEnded + StoresEnded,
    {
        let _ = warpgroup;
        ptx::tcgen05::fence_before_thread_sync();
        self.become_state(()).0
    }

    /// Hands the drained accumulator back to the producer.
    ///
    /// # PTX
    /// The set's barrier, then `mbarrier.arrive.release.cta` by one lane on the empty barrier. Of a pair, `tcgen05.fence::after_thread_sync`,
    /// `::before_thread_sync` and `mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _` on that of the CTA that leads: of the
    /// tcgen05 instructions the fences take the order along, whatever the barrier's (ISA 9.7.16.6.4).
    #[inline(always)]
    pub fn release<T>(
        self, // D2: the accumulator is the producer's now; take the next one from `wait`
        warpgroup: &mut T,
    ) where
        S: Set,
        T: SameSet<S>,
        State: MmaCompleted + LoadsEnded + StoresEnded + BeforeThreadSync,
    {
        warpgroup.barrier_for(self.next.raw());
        // SAFETY: the set's barrier stands before (I13).
        warpgroup.lead(unsafe { self.arrival() });
    }
}

impl<Tag, S, State, const ROWS: usize, const COLS: usize, V, G> sealed::Sealed
    for Acc<'_, '_, Tag, S, State, ROWS, COLS, V, G>
{
}
impl<Tag, S, State, const ROWS: usize, const COLS: usize, V, G> GoesBack
    for Acc<'_, '_, Tag, S, State, ROWS, COLS, V, G>
{
    #[inline(always)]
    fn barrier(&self) -> Addr<SharedCta> {
        self.next
    }
}
impl<Tag, S: Set, State, const ROWS: usize, const COLS: usize, V, G: CtaGroup> HandBack<S>
    for Acc<'_, '_, Tag, S, State, ROWS, COLS, V, G>
where
    State: MmaCompleted + LoadsEnded + StoresEnded + BeforeThreadSync,
{
    #[inline(always)]
    unsafe fn arrival(self) -> impl FnOnce() {
        let empty = self.next;
        self.hand.settle();
        // SAFETY: the empty barrier expects this arrival once a phase (I11); every thread's loads have ended and are fenced (I14, I15).
        // That of a pair lies with the CTA that leads, which has not ended (I22); this thread passes on, by its own two fences, what
        // the set's barrier brought it from the others.
        move || unsafe {
            if G::CTAS == 1 {
                ptx::mbarrier::arrive::<Release, CtaScope>(empty);
            } else {
                ptx::tcgen05::fence_after_thread_sync();
                ptx::tcgen05::fence_before_thread_sync();
                ptx::mbarrier::arrive_remote::<Relaxed, Cluster>(ptx::shared::mapa(
                    empty,
                    leader(),
                ));
            }
        }
    }
}

/// The warpgroup that holds the accumulator's end.
pub trait LoadsRows<S>: SameSet<S> + FourWarps {}
impl<S, T: SameSet<S> + FourWarps> LoadsRows<S> for T {}

impl<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, const W: usize, G: CtaGroup>
    Acc<'e, 'k, Tag, S, State, ROWS, COLS, [u32; W], G>
{
    /// Waits for the load, and gives the accumulator back with the values: no value exists before.
    ///
    /// # PTX
    /// `tcgen05.wait::ld.sync.aligned`, PTX 8.6, sm_100a (ISA 9.7.16.8.5). The registers pass through it, so that no
    /// use moves above.
    #[inline(always)]
    pub fn wait_ld<T>(
        self, // D3: the load has ended; go on with the accumulator that this returns
        warpgroup: &mut T,
    ) -> (Acc<'e, 'k, Tag, S, Ready, ROWS, COLS, (), G>, [f32; W])
    where
        T: SameSet<S>,
        State: LoadUnderWay,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let _ = warpgroup;
        let (acc, values) = self.become_state(());
        // SAFETY: all lanes of the warp are here, by the token (I1, I2), and are those that loaded (I19); the registers were shown to
        // nobody since, and go through the wait (I20).
        let values = unsafe { ptx::tcgen05::wait_ld_of(values) };
        (acc, values.map(f32::from_bits))
    }
}
