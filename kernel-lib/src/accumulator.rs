//! Accumulators in tensor memory: matrix instructions write them, a warpgroup reads them.
//!
//! A field `acc: Accs<2, 128, 256>` of a layout is a ring of two accumulators of 128 rows and 256 columns of f32.
//! One thread holds the producing end and issues `tcgen05.mma` into what [`AccProducer::acquire`] hands out; a
//! warpgroup holds the consuming end and loads what [`AccConsumer::wait`] hands out. The tensor memory itself is
//! allocated by the claim, for all fields of the layout at once, and deallocated by the exit, which takes what [`Tensor::dealloc`] gives when
//! both ends have finished (rules D8, D9).
//!
//! # Why it is ordered
//! `tcgen05` instructions are asynchronous and unordered unless they are a pipelined pair (ISA 9.7.16.6.2).
//! Consecutive `mma` into the same accumulator with the same shape are such a pair; nothing else here is. So:
//! `commit` makes the full barrier complete when the thread's matrix instructions have; the consumer's wait and
//! `tcgen05.fence::after_thread_sync` order its loads behind them (D1, D5); `wait::ld` ends the loads (D3),
//! `tcgen05.fence::before_thread_sync` orders them before the arrival on the empty barrier (D2), and the
//! producer's wait has its own `after_thread_sync`.

mod acc;
mod ends;
mod operands;

use core::marker::PhantomData;

use crate::layout::{Field, TENSOR_COLUMNS};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::require;
use crate::token::{Brand, Finished, Joined, ProofOf, Set, StaysWithItsThreads, sealed};

pub use acc::{Acc, LoadsRows};
pub use ends::{AccConsumer, AccProducer};
pub use operands::{First, InTensorMemory, MmaElement, MmaTimes, Operands};
pub(crate) use operands::{instruction, multiply, tiles};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `N` accumulators of `ROWS` × `COLS` f32 in tensor memory: a field of a layout.
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
        require(
            N >= 1,
            "rule D9: a field of accumulators allocates at least one: write `Accs<1, …>` or more",
        );
        require(
            ROWS == 128,
            "rule D14: an accumulator has 128 rows, one for each lane of tensor memory: write `Accs<N, 128, COLS>` (PTX ISA \
             9.7.16.2.1)",
        );
        require(
            COLS >= 16 && COLS <= 256 && COLS % 16 == 0,
            "rule D14: with 128 rows, an accumulator has 16 to 256 columns in steps of 16: round `COLS` (PTX ISA 9.7.16.2.1)",
        );
        COLS as u32
    };
}

impl<const N: u32, const ROWS: usize, const COLS: usize> Accs<N, ROWS, COLS> {
    pub(crate) const FULL: u32 = 0;
    pub(crate) const EMPTY: u32 = N * MBARRIER;
    pub(crate) const DRAIN: u32 = 2 * N * MBARRIER;
}

// SAFETY: (1) `init` initialises each barrier with the one arrival a phase that its side makes (I11); (2) barriers within
// BYTES, accumulators within COLUMNS (I7); (3) `Closed` comes from `dealloc`, which takes the proofs of both ends (I21).
unsafe impl<const N: u32, const ROWS: usize, const COLS: usize> Field for Accs<N, ROWS, COLS> {
    const BYTES: u32 = (2 * N + 1) * MBARRIER;
    const ALIGN: u32 = MBARRIER;
    const COLUMNS: u32 = {
        let columns = N * <Self as Accumulators>::COLUMNS;
        require(
            columns <= TENSOR_COLUMNS,
            "rule D9: the accumulators need more than the 512 columns of tensor memory that an SM has, and its one allocation \
             cannot \
             grow: the claim gives up the permit: take fewer accumulators, or narrower ones (PTX ISA 9.7.16.7.1)",
        );
        columns
    };
    type Part<'k, Tag> = AccsPart<'k, Tag, N, ROWS, COLS>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut at = 0;
        while at < Self::BYTES {
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
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

/// The allocation of tensor memory behind the accumulators.
#[must_use = "tensor memory must be deallocated before the kernel ends (rule D8)"]
pub struct Tensor<'k, Tag> {
    brand: Brand<'k>,
    field: PhantomData<fn() -> Tag>,
}

/// Proof that nothing uses the tensor memory of the field `Tag` any more, which the exit deallocates (rule D8).
pub struct Deallocated<'k, Tag>(Brand<'k>, PhantomData<fn() -> Tag>, StaysWithItsThreads);

impl<Tag> Deallocated<'_, Tag> {
    /// # Safety
    /// 1. Nothing works on the field's tensor memory, nor will, when all threads of the CTA, of a pair of both, have met behind this.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Deallocated(PhantomData, PhantomData, PhantomData)
    }
}

impl<Tag> sealed::Sealed for Deallocated<'_, Tag> {}
impl<Tag> crate::layout::Proof for Deallocated<'_, Tag> {
    type Before<Rest: crate::layout::Proofs> = Rest::With<Self>;
}

/// Names the end of the field `Tag` that issues matrix instructions in a proof.
pub struct Issuing<Tag>(PhantomData<Tag>);
/// Names the end of the field `Tag` that loads or stores in a proof.
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
        self, // C2: the accumulators are split once, so each end exists once for each thread; hand the ends to their roles
    ) -> Ends<'k, Tag, P, C, N, ROWS, COLS>
    where
        Tag: crate::layout::Tag,
    {
        ptx::mark::end::<Tag, P, 0>();
        ptx::mark::end::<Tag, C, 1>();
        let (base, tensor) = (self.base, self.tensor);
        (
            // SAFETY: the field's own, and the only one: the part is consumed (I8, I9).
            unsafe { AccProducer::of(base, tensor) },
            // SAFETY: the field's own, and the only one, as above (I8, I9).
            unsafe { AccConsumer::of(base, tensor) },
            Tensor::new(),
        )
    }
}

impl<'k, Tag, const N: u32, const ROWS: usize, const COLS: usize> AccsPart<'k, Tag, N, ROWS, COLS> {
    /// Deallocates accumulators that nobody used: their ends do not exist. Otherwise see [`Tensor::dealloc`].
    #[inline(always)]
    pub fn dealloc<L, const THREADS: u32>(
        self, // D8: tensor memory is deallocated once, by the joined CTA; pass the proof to the exit
        joined: &mut Joined<'k, L, THREADS>,
    ) -> Deallocated<'k, Tag>
    where
        Tag: crate::layout::Tag,
    {
        let (_, _, tensor) = self.split::<Joined<'k, L, THREADS>, Joined<'k, L, THREADS>>();
        // SAFETY: nothing was begun through an end that was never handed out (I9, I21).
        let (issued, drained): (Finished<Issuing<Tag>>, Finished<Draining<Tag>>) =
            unsafe { (Finished::assume(), Finished::assume()) };
        tensor.dealloc(joined, issued, drained)
    }
}

impl<'k, Tag> Tensor<'k, Tag> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Tensor { brand: PhantomData, field: PhantomData }
    }

    /// Gives the field's tensor memory back: the exit deallocates that of all fields at once, behind a barrier of the CTA.
    ///
    /// Takes the proofs of both ends: nothing is under way and nobody will touch it (rule D8).
    #[inline(always)]
    pub fn dealloc<L, const THREADS: u32>(
        self, // D8: tensor memory is deallocated once, by the joined CTA; pass the proof to the exit
        joined: &mut Joined<'k, L, THREADS>,
        issued: impl ProofOf<'k, Issuing<Tag>>,
        drained: impl ProofOf<'k, Draining<Tag>>,
    ) -> Deallocated<'k, Tag> {
        let _ = (joined, issued, drained);
        // SAFETY: both ends have ended, by the proofs (I21).
        unsafe { Deallocated::assume() }
    }
}
