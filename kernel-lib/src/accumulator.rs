//! Accumulators in tensor memory: matrix instructions write them, a warpgroup reads them.
//!
//! A field `acc: Accs<2, 128, 256>` of a layout is a ring of two accumulators of 128 rows and 256 columns of f32.
//! One thread holds the producing end and issues `tcgen05.mma` into what [`AccProducer::acquire`] hands out; a
//! warpgroup holds the consuming end and loads what [`AccConsumer::wait`] hands out. The tensor memory itself is
//! allocated by the claim and given back by [`Tensor::dealloc`] when both ends have finished (rules D8, D9).
//!
//! # Why it is ordered
//! `tcgen05` instructions are asynchronous and unordered unless they are a pipelined pair (ISA 9.7.16.6.2).
//! Consecutive `mma` into the same accumulator with the same shape are such a pair; nothing else here is. So:
//! `commit` makes the full barrier complete when the thread's matrix instructions have; the consumer's wait and
//! `tcgen05.fence::after_thread_sync` order its loads behind them (D1, D5); `wait::ld` ends the loads (D3),
//! `tcgen05.fence::before_thread_sync` orders them before the arrival on the empty barrier (D2), and the
//! producer's wait has its own `after_thread_sync`.

use core::marker::PhantomData;

use crate::cursor::Cursor;
use crate::dropped::{Accumulator, Hand};
use crate::float::{bf16, f16};
use crate::layout::{Field, TENSOR_COLUMNS, allocated_columns};
use crate::path::{
    Accumulating, AfterThreadSync, BeforeThreadSync, ByMma, Full, LoadUnderWay, Loading,
    LoadsEnded, MatrixWritable, MmaCompleted, Observed, ReadByMma, Ready, Released, StoreUnderWay,
    StoresEnded, Storing,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::ptx::tcgen05::{CtaGroup, Group1, kind};
use crate::require;
use crate::scope::Cta as CtaScope;
use crate::sem::Release;
use crate::shared_access::check;
use crate::stages::{DrainsLike, Ring, Slot, wait_phase};
use crate::staging::HandBack;
use crate::tile::{BulkTile, Element, PANEL_ROW_BYTES, StageData, Tile, ToAll};
use crate::token::{
    Brand, Finished, FourWarps, Joined, Marks, ProofOf, SameSet, Set, SingleThread,
    StaysWithItsThreads, WARP, sealed,
};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `N` accumulators of `ROWS` × `COLS` f32 in tensor memory: a field of a layout, at most one in each.
pub struct Accs<const N: u32, const ROWS: usize, const COLS: usize>(());

/// What the type of a ring of accumulators says; implemented by [`Accs`] alone.
pub trait Accumulators: sealed::Sealed + 'static {
    /// Number of accumulators.
    const COUNT: u32;
    /// Columns of one, each 32 bits of all 128 lanes.
    const COLUMNS: u32;
}

impl<const N: u32, const ROWS: usize, const COLS: usize> sealed::Sealed for Accs<N, ROWS, COLS> {}
impl<const N: u32, const ROWS: usize, const COLS: usize> Accumulators for Accs<N, ROWS, COLS> {
    const COUNT: u32 = N;
    const COLUMNS: u32 = {
        require(N >= 1, "there is at least one accumulator");
        require(
            ROWS == 128,
            "rule D14: an accumulator has 128 rows, one for each lane of tensor memory (PTX ISA 9.7.16.2.1)",
        );
        require(
            COLS >= 16 && COLS <= 256 && COLS % 16 == 0,
            "rule D14: with 128 rows, an accumulator has 16 to 256 columns in steps of 16 (PTX ISA 9.7.16.2.1)",
        );
        COLS as u32
    };
}

impl<const N: u32, const ROWS: usize, const COLS: usize> Accs<N, ROWS, COLS> {
    pub(crate) const FULL: u32 = 0;
    pub(crate) const EMPTY: u32 = N * MBARRIER;
    pub(crate) const DRAIN: u32 = 2 * N * MBARRIER;
}

// SAFETY: (1) `init` initialises each barrier with the one arrival a phase that its side makes; (2) barriers within
// BYTES, accumulators within COLUMNS; (3) `Closed` comes from `dealloc`, which takes the proofs of both ends.
unsafe impl<const N: u32, const ROWS: usize, const COLS: usize> Field for Accs<N, ROWS, COLS> {
    const BYTES: u32 = (2 * N + 1) * MBARRIER;
    const ALIGN: u32 = MBARRIER;
    const COLUMNS: u32 = {
        let columns = N * <Self as Accumulators>::COLUMNS;
        require(
            columns <= TENSOR_COLUMNS,
            "rule D9: the accumulators need more than the 512 columns of tensor memory that an SM has, and its one allocation cannot \
             grow: the claim gives up the permit (PTX ISA 9.7.16.7.1)",
        );
        columns
    };
    type Part<'k, Tag> = AccsPart<'k, Tag, N, ROWS, COLS>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut at = 0;
        while at < Self::BYTES {
            // SAFETY: the barrier's place, before anyone uses it.
            unsafe { ptx::mbarrier::init(base.offset(at), 1) };
            at += MBARRIER;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag> {
        AccsPart { base, tensor, brand: PhantomData, field: PhantomData }
    }
}

/// Accumulators that have been claimed and not yet split into their ends.
pub struct AccsPart<'k, Tag, const N: u32, const ROWS: usize, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    brand: Brand<'k>,
    field: PhantomData<fn() -> Tag>,
}

/// The producing end: one thread that issues matrix instructions.
pub struct AccProducer<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
}

/// The consuming end: a warpgroup that loads accumulators.
pub struct AccConsumer<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize> {
    base: Addr<SharedCta>,
    tensor: u32,
    cursor: Cursor<N>,
    /// Whether the set has stored to tensor memory; known when the kernel is compiled.
    stored: bool,
    brand: Brand<'k>,
    field: Marks<(Tag, S)>,
}

/// The allocation of tensor memory behind the accumulators.
#[must_use = "tensor memory must be deallocated before the kernel ends (rule D8)"]
pub struct Tensor<'k, Tag> {
    address: u32,
    columns: u32,
    brand: Brand<'k>,
    field: PhantomData<fn() -> Tag>,
}

/// Proof that the tensor memory of the field `Tag` was deallocated (rule D8).
pub struct Deallocated<'k, Tag>(Brand<'k>, PhantomData<fn() -> Tag>, StaysWithItsThreads);

impl<Tag> Deallocated<'_, Tag> {
    /// # Safety
    /// 1. The field's tensor memory was deallocated.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Deallocated(PhantomData, PhantomData, PhantomData)
    }
}

impl<Tag> crate::layout::Proof for Deallocated<'_, Tag> {
    type Before<Rest: crate::layout::Proofs> = Rest::With<Self>;
}

/// Names the producing end of the field `Tag` in a proof.
pub struct Issuing<Tag>(PhantomData<Tag>);
/// Names the consuming end of the field `Tag` in a proof.
pub struct Draining<Tag>(PhantomData<Tag>);

/// What [`AccsPart::split`] gives: the two ends and the allocation.
pub type Ends<'k, Tag, P, C, const N: u32, const ROWS: usize, const COLS: usize> = (
    AccProducer<'k, Tag, P, N, ROWS, COLS>,
    AccConsumer<'k, Tag, C, N, ROWS, COLS>,
    Tensor<'k, Tag>,
);

impl<'k, Tag, const N: u32, const ROWS: usize, const COLS: usize> AccsPart<'k, Tag, N, ROWS, COLS> {
    /// The two ends, and the allocation that outlives them.
    #[inline(always)]
    pub fn split<P: Set, C: Set>(
        self, // C2: the accumulators are split once, so each end exists once for each thread
    ) -> Ends<'k, Tag, P, C, N, ROWS, COLS> {
        let (base, tensor) = (self.base, self.tensor);
        (
            AccProducer {
                base,
                tensor,
                cursor: Cursor::start(),
                brand: PhantomData,
                field: PhantomData,
            },
            // SAFETY: the field's own.
            unsafe { AccConsumer::of(base, tensor) },
            Tensor {
                address: tensor,
                columns: const { allocated_columns(<Accs<N, ROWS, COLS> as Field>::COLUMNS) },
                brand: PhantomData,
                field: PhantomData,
            },
        )
    }
}

impl<'k, Tag, const N: u32, const ROWS: usize, const COLS: usize> AccsPart<'k, Tag, N, ROWS, COLS> {
    /// Deallocates accumulators that nobody used: their ends do not exist. Otherwise see [`Tensor::dealloc`].
    #[inline(always)]
    pub fn dealloc<L, const THREADS: u32>(
        self, // D8: tensor memory is deallocated once, by the joined CTA
        joined: &mut Joined<'k, L, THREADS>,
    ) -> Deallocated<'k, Tag> {
        let (_, _, tensor) = self.split::<Joined<'k, L, THREADS>, Joined<'k, L, THREADS>>();
        // SAFETY: nothing was begun through an end that was never handed out.
        let (issued, drained): (Finished<Issuing<Tag>>, Finished<Draining<Tag>>) =
            unsafe { (Finished::assume(), Finished::assume()) };
        tensor.dealloc(joined, issued, drained)
    }
}

/// One accumulator, held by one side, in a state of [`crate::path`]; `V` holds the registers of a load under way.
///
/// It borrows its end of the ring (`'e`): while somebody holds an accumulator, the end cannot
/// [finish](AccProducer::finish), and no proof says that its instructions are over.
#[must_use = "an accumulator that is not handed on stops the ring"]
pub struct Acc<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, V = ()> {
    /// Barrier on which this side hands the accumulator on.
    next: Addr<SharedCta>,
    tensor: Addr<Tmem>,
    started: bool,
    values: V,
    hand: Hand<Accumulator>,
    /// The consuming end's note that something was stored.
    stored: Option<&'e mut bool>,
    brand: Brand<'k>,
    field: Marks<(Tag, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize>
    AccProducer<'k, Tag, S, N, ROWS, COLS>
{
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
        // SAFETY: the ring's barrier, initialised by the claim.
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
        self, // D8: after this no matrix instruction is issued
        thread: &mut T,
    ) -> Finished<'k, Issuing<Tag>>
    where
        T: SameSet<S> + SingleThread,
    {
        let _ = thread;
        let drain = self.base.offset(Accs::<N, ROWS, COLS>::DRAIN);
        // SAFETY: the barrier is used here alone, once, by the commit of the thread that issued everything; the
        // proof says no more than what the wait observed. The two fences pass the order on to the barrier that
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

impl<'k, Tag, S, const N: u32, const ROWS: usize, const COLS: usize>
    AccConsumer<'k, Tag, S, N, ROWS, COLS>
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
    /// `tcgen05.commit` arrives (ISA 9.7.16.10.1).
    #[inline(always)]
    pub fn wait<T>(&mut self, warpgroup: &mut T) -> Acc<'_, 'k, Tag, S, Observed, ROWS, COLS>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        let index = self.cursor.index();
        let full = self.base.offset(Accs::<N, ROWS, COLS>::FULL + index * MBARRIER);
        // SAFETY: the ring's barrier, initialised by the claim.
        unsafe { wait_phase(full, self.cursor.filled()) };
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
        self, // D8: after this no accumulator is loaded
        warpgroup: &mut T,
    ) -> Finished<'k, Draining<Tag>>
    where
        T: SameSet<S> + FourWarps,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token; the waits end every load and store of this thread.
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

impl<'k, Tag> Tensor<'k, Tag> {
    /// Deallocates the tensor memory, behind a barrier of the CTA.
    ///
    /// Takes the proofs of both ends: nothing is under way and nobody will touch it (rule D8).
    ///
    /// # PTX
    /// `bar.sync`, `tcgen05.fence::after_thread_sync`, then `tcgen05.dealloc.cta_group::1.sync.aligned.b32` by the first warp
    /// (ISA 9.7.16.7.1).
    #[inline(always)]
    pub fn dealloc<L, const THREADS: u32>(
        self, // D8: tensor memory is deallocated once, by the joined CTA
        joined: &mut Joined<'k, L, THREADS>,
        issued: impl ProofOf<'k, Issuing<Tag>>,
        drained: impl ProofOf<'k, Draining<Tag>>,
    ) -> Deallocated<'k, Tag> {
        let _ = (issued, drained);
        joined.barrier();
        ptx::tcgen05::fence_after_thread_sync();
        if joined.rank() / WARP == 0 {
            // SAFETY: one whole warp, the one that allocated; both ends have ended, in every thread, before the
            // barrier above.
            unsafe { ptx::tcgen05::dealloc::<Group1>(Addr::from_raw(self.address), self.columns) };
        }
        // SAFETY: just deallocated.
        unsafe { Deallocated::assume() }
    }
}

/// The tensor memory address of `column` to the right of `base` (columns are the low 16 bits).
#[inline(always)]
fn column(base: u32, column: u32) -> Addr<Tmem> {
    Addr::from_raw(base + column)
}

impl<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, V>
    Acc<'e, 'k, Tag, S, State, ROWS, COLS, V>
{
    #[inline(always)]
    fn new(
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
    fn become_state<Next, W>(self, values: W) -> (Acc<'e, 'k, Tag, S, Next, ROWS, COLS, W>, V) {
        self.hand.settle();
        (Acc::new(self.next, self.tensor, values, self.stored), self.values)
    }

    /// Issues the matrix instructions that add the product of the stage's two tiles: A is `ROWS` × K, B is
    /// `COLS` × K, both K-major, and the accumulator becomes (or grows by) A · Bᵀ.
    ///
    /// # PTX
    /// One `tcgen05.mma.cta_group::1.kind::f16` for each 16 columns of K, PTX 8.6, sm_100a (ISA 9.7.16.10.9). They
    /// are a pipelined pair with each other (same accumulator and shape, ISA 9.7.16.6.2).
    #[inline(always)]
    pub fn mma<T, RingTag, R, RS>(
        &mut self,
        thread: &mut T,
        stage: Slot<'k, RingTag, R, RS, Full>,
    ) -> Slot<'k, RingTag, R, RS, ReadByMma>
    where
        T: SameSet<S> + SameSet<RS> + SingleThread,
        State: MatrixWritable,
        R: Ring<Drain: DrainsLike<ByMma>>,
        R::Data: Operands<ROWS, COLS>,
        RS: Set,
    {
        let _ = thread;
        // SAFETY: one thread; the stage was acquired and its contents are the async proxy's or fenced for it; the
        // accumulator is this thread's, and the instructions into it are issued in order. The stage goes back
        // by this thread's commit, or not at all.
        unsafe {
            R::Data::issue(self.tensor, stage.data(), self.started);
            self.started = true;
            stage.read_by_mma()
        }
    }

    /// Hands the accumulator to the consumer once its matrix instructions have completed.
    ///
    /// # PTX
    /// `tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64`, PTX 8.6, sm_100a (ISA 9.7.16.10.1); it
    /// contains `tcgen05.fence::before_thread_sync`.
    #[inline(always)]
    pub fn commit<T>(
        self, // D5: only the commit hands the accumulator on
        thread: &mut T,
    ) where
        T: SameSet<S> + SingleThread,
        State: MatrixWritable,
    {
        let _ = thread;
        // SAFETY: the full barrier expects one arrival a phase.
        unsafe { ptx::tcgen05::commit::<Group1, SharedCta>(self.next) };
        self.hand.settle();
    }

    /// Orders what follows behind what the barrier observed.
    ///
    /// # PTX
    /// `tcgen05.fence::after_thread_sync`, PTX 8.6, sm_100a (ISA 9.7.16.11.1). No instruction in SASS; it binds the
    /// compiler and the memory model.
    #[inline(always)]
    pub fn fence_after_thread_sync<T>(
        self,
        warpgroup: &mut T,
    ) -> Acc<'e, 'k, Tag, S, Ready, ROWS, COLS>
    where
        T: SameSet<S>,
        State: MmaCompleted + LoadsEnded,
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
        self, // D3: the accumulator comes back from `wait_ld`
        warpgroup: &mut impl LoadsRows<S>,
        col: u32,
    ) -> Acc<'e, 'k, Tag, S, Loading, ROWS, COLS, [u32; W]>
    where
        State: MmaCompleted + AfterThreadSync + LoadsEnded + StoresEnded,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let last = const {
            require(W <= COLS, "rule D14: a load is at most as wide as the accumulator");
            (COLS - W) as u32
        };
        // Not `col + W`: the sum could wrap.
        check(col <= last);
        // Warp `i` of the warpgroup reaches lanes 32 i to 32 i + 31 (rule D12).
        let lane = (warpgroup.rank() / WARP) * WARP;
        let at = Addr::from_raw(self.tensor.raw() + (lane << 16) + col);
        // SAFETY: all lanes of the warp are here; the accumulator is complete, ordered, and in bounds.
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
        mut self, // D4: the accumulator comes back from `wait_st`
        warpgroup: &mut impl LoadsRows<S>,
        col: u32,
        values: [f32; W],
    ) -> Acc<'e, 'k, Tag, S, Storing, ROWS, COLS>
    where
        State: MmaCompleted + AfterThreadSync + LoadsEnded + StoresEnded,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let last = const {
            require(W <= COLS, "rule D14: a store is at most as wide as the accumulator");
            (COLS - W) as u32
        };
        check(col <= last);
        // As for `ld`.
        let lane = (warpgroup.rank() / WARP) * WARP;
        let at = Addr::from_raw(self.tensor.raw() + (lane << 16) + col);
        // SAFETY: all lanes of the warp are here; the accumulator is complete, ordered and in bounds, and the set's.
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
    pub fn wait_st<T>(self, warpgroup: &mut T) -> Acc<'e, 'k, Tag, S, Ready, ROWS, COLS>
    where
        T: SameSet<S>,
        State: StoreUnderWay,
    {
        let _ = warpgroup;
        // SAFETY: all lanes of the warp are here, by the token.
        unsafe { ptx::tcgen05::wait_st() };
        self.become_state(()).0
    }

    /// Adds to what the accumulator holds, as the consumer of the last round left it, and not to zero.
    #[inline(always)]
    pub fn keep(mut self) -> Self
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
        self,
        warpgroup: &mut T,
    ) -> Acc<'e, 'k, Tag, S, Released, ROWS, COLS>
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
    /// The set's barrier, then `mbarrier.arrive.release.cta` by one lane on the empty barrier.
    #[inline(always)]
    pub fn release<T>(
        self, // D2: the accumulator is the producer's now
        warpgroup: &mut T,
    ) where
        T: SameSet<S>,
        State: MmaCompleted + LoadsEnded + StoresEnded + BeforeThreadSync,
    {
        warpgroup.barrier();
        // SAFETY: the set's barrier stands before.
        warpgroup.lead(unsafe { self.arrival() });
    }
}

impl<Tag, S, State, const ROWS: usize, const COLS: usize, V> sealed::Sealed
    for Acc<'_, '_, Tag, S, State, ROWS, COLS, V>
{
}
impl<Tag, S, State, const ROWS: usize, const COLS: usize, V> HandBack<S>
    for Acc<'_, '_, Tag, S, State, ROWS, COLS, V>
where
    State: MmaCompleted + LoadsEnded + StoresEnded + BeforeThreadSync,
{
    #[inline(always)]
    unsafe fn arrival(self) -> impl FnOnce() {
        let empty = self.next;
        self.hand.settle();
        // SAFETY: the empty barrier expects one arrival a phase; every thread's loads have ended and are fenced.
        move || unsafe { _ = ptx::mbarrier::arrive::<Release, CtaScope>(empty) }
    }
}

/// The warpgroup that holds the accumulator's end.
pub trait LoadsRows<S>: SameSet<S> + FourWarps {}
impl<S, T: SameSet<S> + FourWarps> LoadsRows<S> for T {}

impl<'e, 'k, Tag, S, State, const ROWS: usize, const COLS: usize, const W: usize>
    Acc<'e, 'k, Tag, S, State, ROWS, COLS, [u32; W]>
{
    /// Waits for the load, and gives the accumulator back with the values: no value exists before.
    ///
    /// # PTX
    /// `tcgen05.wait::ld.sync.aligned`, PTX 8.6, sm_100a (ISA 9.7.16.8.5). The registers pass through it, so that no
    /// use moves above.
    #[inline(always)]
    pub fn wait_ld<T>(self, warpgroup: &mut T) -> (Acc<'e, 'k, Tag, S, Ready, ROWS, COLS>, [f32; W])
    where
        T: SameSet<S>,
        State: LoadUnderWay,
        [u32; W]: ptx::tcgen05::Registers,
    {
        let _ = warpgroup;
        let (acc, values) = self.become_state(());
        // SAFETY: all lanes of the warp are here, by the token.
        let values = unsafe { ptx::tcgen05::wait_ld_of(values) };
        (acc, values.map(f32::from_bits))
    }
}

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

/// A pair of K-major tiles whose product is an accumulator of `M` × `N`.
///
/// # Safety
/// `issue` reads the two tiles at their places and writes the accumulator, nothing else.
#[diagnostic::on_unimplemented(
    message = "the product of `{Self}` is not an accumulator of {M} × {N}",
    label = "shapes or types do not fit",
    note = "rule D14: `tcgen05.mma` multiplies an M × K tile by an N × K tile of the same type, bf16 or f16, into M × N \
            (PTX ISA 9.7.16.2.1)",
    note = "a stage for it is `(Tile<bf16, {M}, K>, Tile<bf16, {N}, K>)`"
)]
pub unsafe trait Operands<const M: usize, const N: usize> {
    /// # Safety
    /// 1. One thread calls it, for an accumulator that is its own and a stage whose contents the async proxy may
    ///    read until this thread's next commit completes.
    #[doc(hidden)]
    unsafe fn issue(accumulator: Addr<Tmem>, stage: Addr<SharedCta>, accumulate: bool);
}

/// Bytes of K that one instruction takes from each row: 16 elements of two bytes.
const K_BYTES: u32 = 32;

/// The matrix descriptor of a K-major tile in the 128-byte swizzle, without its address (ISA 9.7.16.4.1): stride
/// between groups of eight rows 1024 bytes, the fixed bit pattern, swizzle mode 2.
const DESCRIPTOR: u64 = (1024 >> 4) << 32 | 0b001 << 46 | 2 << 61;

/// The descriptor of what begins at `address`.
#[inline(always)]
fn descriptor(address: Addr<SharedCta>) -> u64 {
    DESCRIPTOR | ((address.raw() as u64 & 0x3_FFFF) >> 4)
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
        unsafe { multiply::<Group1, E, M, N, K>(accumulator, stage, idesc, accumulate) }
    }
}

/// Issues the instructions, described by `idesc`, that multiply the two K-major tiles of a stage: `M` rows of A, and behind them
/// `N` rows of B. With `Group2` these are the tiles of one CTA, and the peer's lie at the same places.
///
/// # Safety
/// 1. As for [`Operands::issue`]; with `Group2` the stage is that of both CTAs.
#[inline(always)]
pub(crate) unsafe fn multiply<
    G: CtaGroup,
    E: MmaElement,
    const M: usize,
    const N: usize,
    const K: usize,
>(
    accumulator: Addr<Tmem>,
    stage: Addr<SharedCta>,
    idesc: u32,
    accumulate: bool,
) {
    let a = descriptor(stage);
    let b = descriptor(stage.offset(
        <Tile<E, M, K> as StageData>::BYTES.next_multiple_of(<Tile<E, N, K> as StageData>::ALIGN),
    ));
    let steps = const { PANEL_ROW_BYTES as u32 / K_BYTES };
    let mut panel = 0;
    while panel < <Tile<E, M, K> as BulkTile>::PANELS {
        let mut step = 0;
        while step < steps {
            let a_at = (panel * (M * PANEL_ROW_BYTES) as u32 + step * K_BYTES) >> 4;
            let b_at = (panel * (N * PANEL_ROW_BYTES) as u32 + step * K_BYTES) >> 4;
            // SAFETY: the caller's promise; both tiles lie in the first 256 KiB, so the address field does not overflow.
            unsafe {
                ptx::tcgen05::mma::<G, kind::F16>(
                    accumulator,
                    a + a_at as u64,
                    b + b_at as u64,
                    idesc,
                    accumulate || panel > 0 || step > 0,
                )
            };
            step += 1;
        }
        panel += 1;
    }
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
