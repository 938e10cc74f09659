//! Staging: a tile in shared memory that threads write and a bulk copy stores to global memory.
//!
//! A field `c: Staging<Tile<f32, 128, 64>>` of a layout. One set of threads opens it, and then the buffer goes
//! round: written by threads, [`fence_proxy_async`](StagingBuffer::fence_proxy_async) (rule B1),
//! [`store`](StagingBuffer::store), [`wait_group_read`](StagingBuffer::wait_group_read) (rules B7, B11), written
//! again. After [`finish`](StagingBuffer::finish) no store reads the buffer, so that the CTA may exit (rule B9).
//!
//! The set's leader issues every store and waits for every group: a bulk group belongs to the thread that
//! committed it (rule B10).
//!
//! A field `c: Staging<Tile<f32, 128, 64>, 2>` is two buffers that take turns: while the copy of one reads it, the set writes the other.
//! `wait_group_read` then waits for all groups but the newest one, and gives the buffer that was stored before that. Nothing else
//! changes in a kernel: each step is the same, and what may be written is the buffer whose copy was waited for.
//!
//! # Why it is ordered
//! Of `N` buffers in turn, the one that comes next was stored last before the other `N` - 1, each of which the leader has stored since, in at
//! least one group. So a wait that lets the newest `N` - 1 groups of that thread be unread covers it (ISA 9.7.9.25.3); more groups in
//! between, of other buffers or of one that is stored to several places, make the wait longer, and never too short. The turn goes on by
//! `wait_group_read` alone, which only what was stored has.

use core::marker::PhantomData;

use crate::dropped::{Hand, StagingBuffer as Held};
use crate::global::{Store, StoreTarget, TileAt};
use crate::layout::Field;
use crate::path::{
    ByBulk, EndsStaging, HandsOnTo, InFlight, ProxyFence, SourceFree, StoreInFlight, Writable,
    Written, WrittenFenced,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::ptx::policy::Hint;
use crate::require;
use crate::rounding::RoundsFrom;
use crate::shared_access::{check, pack, write_chunk};
use crate::tile::{BulkTile, Tile};
use crate::token::{Brand, Finished, Marks, SameSet, Set, StaysWithItsThreads, StoresOf, sealed};
use crate::unrolled::unrolled;

/// `N` staging buffers of the tile `T`, which take turns: a field of a layout.
pub struct Staging<T, const N: u32 = 1>(PhantomData<T>);

// SAFETY: (1) nothing to initialise: a buffer is written before it is read; (2) the tiles' bytes; (3) `Closed`
// comes from `finish`, which waits for every bulk store of the set (I21).
unsafe impl<T: BulkTile, const N: u32> Field for Staging<T, N> {
    const BYTES: u32 = {
        require(
            N >= 1 && N <= MOST,
            "rule B7: 1 to 4 buffers take turns, of which all but one may be read by bulk stores while one is written: write `Staging<T, 2>`",
        );
        N * T::BYTES
    };
    const ALIGN: u32 = 1024;
    const REMOTE_BARRIERS: bool = false;
    type Part<'k, Tag> = StagingPart<'k, Tag, T, N>;
    type Closed<'k, Tag> = Finished<'k, StoresOf<Tag>>;
    #[inline(always)]
    unsafe fn init(_: Addr<SharedCta>, _: u32) {}
    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        StagingPart { base, brand: PhantomData, field: PhantomData }
    }
}

/// Buffers of a field at most.
const MOST: u32 = 4;

/// Staging buffers that no set has opened yet.
pub struct StagingPart<'k, Tag, T, const N: u32 = 1> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, T)>,
}

impl<'k, Tag, T: BulkTile, const N: u32> StagingPart<'k, Tag, T, N> {
    /// Opens the buffer for the set that will write it and store it.
    #[inline(always)]
    pub fn open<S: Set>(
        self, // B10: one set writes the buffer and stores it; go on with the buffer that this returns
        set: &mut S,
    ) -> StagingBuffer<'k, Tag, T, S, Written, N>
    where
        Tag: crate::layout::Tag,
    {
        let _ = set;
        ptx::mark::end::<Tag, S, 0>();
        StagingBuffer::new(self.base, 0)
    }
}

/// A staging buffer that was opened. Nothing implements it: it is here for what the compiler says where an unopened one is used.
#[diagnostic::on_unimplemented(
    message = "this staging buffer has not been opened, so no set of threads may use it yet",
    label = "not opened",
    note = "rules B10 and A13: one set writes the buffer, stores it and waits for the store (PTX ISA 9.7.9.25.3: a bulk group belongs to the \
            thread that committed it)",
    note = "write `let mut staging = buffer.open(&mut set);`, and go on with that"
)]
#[doc(hidden)]
pub trait IsOpen: sealed::Sealed {}
impl<Tag, T, const N: u32> sealed::Sealed for StagingPart<'_, Tag, T, N> {}

impl<'k, Tag, T: BulkTile, const N: u32> StagingPart<'k, Tag, T, N> {
    /// What an opened buffer does; see [`IsOpen`].
    #[doc(hidden)]
    pub fn put<U: Set, V>(&mut self, set: &mut U, col: u32, values: V)
    where
        Self: IsOpen,
    {
        let _ = (set, col, values);
        unreachable!()
    }

    /// What an opened buffer does; see [`IsOpen`].
    #[doc(hidden)]
    pub fn fence_proxy_async<U: Set>(
        self, // B10: one set writes the buffer and stores it; open it first
        set: &mut U,
    ) -> StagingBuffer<'k, Tag, T, U, WrittenFenced, N>
    where
        Self: IsOpen,
    {
        let _ = set;
        unreachable!()
    }
}

/// A staging buffer in the hands of the set `S`, in a state of [`crate::path`]: of `N` that take turns, the one whose turn it is.
#[must_use = "a staging buffer must be finished before the kernel ends (rule B9)"]
pub struct StagingBuffer<'k, Tag, T, S, State, const N: u32 = 1> {
    /// Where the first of them begins.
    first: Addr<SharedCta>,
    /// Whose turn it is.
    turn: u32,
    hand: Hand<Held>,
    brand: Brand<'k>,
    field: Marks<(Tag, T, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, T: BulkTile, S: Set, State, const N: u32> StagingBuffer<'k, Tag, T, S, State, N> {
    #[inline(always)]
    fn new(first: Addr<SharedCta>, turn: u32) -> Self {
        StagingBuffer {
            first,
            turn,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn become_state<Next>(self) -> StagingBuffer<'k, Tag, T, S, Next, N> {
        self.hand.settle();
        StagingBuffer::new(self.first, self.turn)
    }

    /// Address of the buffer.
    #[inline(always)]
    pub(crate) fn base(&self) -> Addr<SharedCta> {
        if N == 1 { self.first } else { self.first.offset(self.turn * T::BYTES) }
    }

    /// The buffer whose turn comes now.
    #[inline(always)]
    fn next_turn(self) -> StagingBuffer<'k, Tag, T, S, Written, N> {
        let turn = match N {
            1 => 0,
            2 => self.turn ^ 1,
            _ if self.turn + 1 == N => 0,
            _ => self.turn + 1,
        };
        self.hand.settle();
        StagingBuffer::new(self.first, turn)
    }

    /// `fence.proxy.async` in each thread of the set: orders its stores to the buffer before the bulk copy's reads
    /// (rule B1).
    ///
    /// # PTX
    /// `fence.proxy.async.shared::cta`, PTX 8.0, sm_90 (ISA 9.7.13.4).
    #[inline(always)]
    pub fn fence_proxy_async<U>(
        self, // B1: the stores are fenced; go on with the buffer that this returns
        set: &mut U,
    ) -> StagingBuffer<'k, Tag, T, S, State::Fenced, N>
    where
        U: SameSet<S>,
        State: ProxyFence,
    {
        let _ = set;
        ptx::fence::fence_proxy_async_in::<SharedCta>();
        self.become_state()
    }

    /// Begins the bulk copy of the whole tile to its place in the matrix; what lies outside the matrix is left
    /// out.
    ///
    /// # PTX
    /// The set's barrier; then by its leader one `cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group` for each
    /// panel and `cp.async.bulk.commit_group`. PTX 8.0, sm_90 (ISA 9.7.9.25.5, 9.7.9.25.3).
    #[inline(always)]
    pub fn store<U>(
        self, // B7: the buffer belongs to the copy now; go on with the one that this returns
        set: &mut U,
        to: impl StoreTarget<T>,
    ) -> StagingBuffer<'k, Tag, T, S, InFlight, N>
    where
        U: SameSet<S>,
        State: HandsOnTo<ByBulk>,
    {
        let (base, to) = (self.base(), to.place());
        to.agreed(set);
        set.barrier();
        // SAFETY: the buffer is written and fenced by every thread of the set (I14, I17), whose barrier stands before (I13); nobody
        // writes it until the leader has waited for the group, by the state that this returns (I18).
        set.lead(|| unsafe { begin_store(base, to) });
        self.become_state()
    }

    /// As [`store`](Self::store), and hands the stage or the accumulator back that the set has read: one barrier of the set
    /// stands between its accesses to both and what its leader begins.
    ///
    /// # PTX
    /// As `store`, and `mbarrier.arrive.release.cta.shared::cta.b64` by the leader before the copies.
    #[inline(always)]
    pub fn store_and_release<U, H>(
        self, // B7: the buffer belongs to the copy now; go on with the one that this returns
        set: &mut U,
        to: impl StoreTarget<T>,
        read: H, // A9: it is the producer's now
    ) -> StagingBuffer<'k, Tag, T, S, InFlight, N>
    where
        U: SameSet<S>,
        H: HandBack<S>,
        State: HandsOnTo<ByBulk>,
    {
        let (base, to) = (self.base(), to.place());
        to.agreed(set);
        set.barrier_for(read.barrier().raw());
        // SAFETY: the set's barrier stands before (I13).
        let arrive = unsafe { read.arrival() };
        set.lead(|| {
            arrive();
            // SAFETY: as in `store` (I13, I14, I17, I18).
            unsafe { begin_store(base, to) };
        });
        self.become_state()
    }

    /// Waits until the bulk copies have read the buffer, so that it can be written again: of several that take turns the one that was
    /// stored the longest ago, while the others may still be read.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group.read N - 1` by the leader, which committed the groups (rule B10), then the set's barrier.
    /// PTX 8.0, sm_90 (ISA 9.7.9.25.3).
    #[inline(always)]
    pub fn wait_group_read<U>(
        self, // B7, B11: the copies have read it; go on with the buffer that this returns
        set: &mut U,
    ) -> StagingBuffer<'k, Tag, T, S, Written, N>
    where
        U: SameSet<S>,
        State: StoreInFlight,
    {
        // Each turn has a store, and so the buffer whose turn comes was last stored N groups of this thread ago, or more, or never (I19).
        set.lead(match N {
            1 => ptx::bulk::wait_group_read::<0>,
            2 => ptx::bulk::wait_group_read::<1>,
            3 => ptx::bulk::wait_group_read::<2>,
            _ => ptx::bulk::wait_group_read::<{ MOST - 1 }>,
        });
        set.barrier();
        self.next_turn()
    }

    /// Ends the buffer: waits until every bulk store of the set has read it, so that the CTA may exit (rule B9). The stores
    /// themselves are complete when the kernel is.
    ///
    /// # PTX
    /// `cp.async.bulk.wait_group.read 0` by the leader; nothing of a single buffer where `wait_group_read` was the last step.
    #[inline(always)]
    pub fn finish<U>(
        self, // B9: after this no bulk store is begun; pass the proof to the exit
        set: &mut U,
    ) -> Finished<'k, StoresOf<Tag>>
    where
        U: SameSet<S>,
        State: EndsStaging,
    {
        if State::IN_FLIGHT || N > 1 {
            set.lead(ptx::bulk::wait_group_read::<0>);
        }
        self.hand.settle();
        // SAFETY: the leader, which issues all stores of this buffer (I9, I19), has waited for all of them (I21); the other threads'
        // proofs are acted on behind a barrier of the CTA, or by its end (I5).
        unsafe { Finished::assume() }
    }
}

/// What a set has read and can hand back behind its barrier: a stage, or an accumulator.
#[expect(private_bounds, reason = "where a stage goes back is no other crate's to know")]
pub trait HandBack<S: Set>: GoesBack + sealed::Sealed {
    /// Gives it up, in every thread of the set; the leader then calls what this returns.
    ///
    /// # Safety
    /// 1. The set's barrier stands between its last accesses and this.
    #[doc(hidden)]
    unsafe fn arrival(self) -> impl FnOnce();
}

/// Where something goes back.
pub(crate) trait GoesBack {
    /// The barrier at which it is handed back.
    fn barrier(&self) -> Addr<SharedCta>;
}

/// Begins the copy of the whole tile, panel by panel, as a group.
///
/// # Safety
/// 1. The tile at `base` is written and visible to the async proxy, and nobody writes it until this thread has waited for
///    the group.
#[inline(always)]
unsafe fn begin_store<T: BulkTile, H: Hint>(base: Addr<SharedCta>, to: TileAt<T, Store, H>) {
    let panel_bytes = T::BYTES / T::PANELS;
    let mut panel = 0;
    while panel < T::PANELS {
        let col = to.col + (panel * T::PANEL_COLS) as i32;
        // SAFETY: by 1.
        unsafe {
            ptx::tensor_full::cp_async_bulk_tensor_store(
                Addr::from_raw(to.map),
                ptx::tensor_full::Tile([col, to.row]),
                base.offset(panel * panel_bytes),
                to.hint,
            )
        };
        panel += 1;
    }
    ptx::bulk::commit_group();
}

impl<'k, Tag, E, const ROWS: usize, const COLS: usize, S: Set, State, const BUFFERS: u32>
    StagingBuffer<'k, Tag, Tile<E, ROWS, COLS>, S, State, BUFFERS>
where
    Tile<E, ROWS, COLS>: BulkTile<Element = E>,
    E: crate::tile::Element,
{
    /// Writes `N` neighbouring elements, from `col` on, of this thread's own row: thread `r` of the set owns row `r`
    /// (rule A13). Values in f32 are [rounded](RoundsFrom) two at a time. Traps when they are not all in the row, or `col` is not on a
    /// 16-byte boundary.
    ///
    /// # PTX
    /// `st.shared.v4.b32` for each 16 bytes (ISA 9.7.9.12): eight threads write eight different places of the swizzle, without a conflict.
    #[inline(always)]
    pub fn put<U, V, const N: usize>(&mut self, set: &mut U, col: u32, values: [V; N])
    where
        U: SameSet<S>,
        State: Writable + SourceFree,
        V: Copy,
        E: RoundsFrom<V>,
    {
        self.put_with(set, col, values, |_, _, value| value);
    }

    /// As [`put`](Self::put), what `change(row, column, value)` makes of each value: a bias of the column, an activation, a scale of the row.
    /// Row and column are those of the buffer.
    ///
    /// ```
    /// use baton::prelude::*;
    /// use baton::global::Store;
    ///
    /// type Piece = Tile<bf16, 128, 64>;
    /// baton::shared! { pub struct Smem in smem { c: Staging<Piece, 2> } }
    ///
    /// /// Stores f32 sums as bf16, twice as large and not below zero.
    /// #[baton::kernel(threads = 128)]
    /// fn scaled(cta: Cta<'_, Smem, 128>, c: TensorMap<Piece, Store>) -> Exit<'_> {
    ///     let (mut cta, smem::Parts { c: staging, .. }) = cta.claim();
    ///     let mut staging = staging.open(&mut cta);
    ///     for col in [0, 32] {
    ///         let sums: [f32; 32] = [1.5; 32];
    ///         staging.put_with(&mut cta, col, sums, |_row, _column, sum| (2.0 * sum).max(0.0));
    ///     }
    ///     let stored = staging.fence_proxy_async(&mut cta).store(&mut cta, c.at(0, 0)).finish(&mut cta);
    ///     cta.join().exit((stored,))
    /// }
    /// # fn main() {}
    /// ```
    ///
    /// # PTX
    /// As `put`.
    #[inline(always)]
    pub fn put_with<U, V, R, const N: usize>(
        &mut self,
        set: &mut U,
        col: u32,
        values: [V; N],
        mut change: impl FnMut(u32, u32, V) -> R,
    ) where
        U: SameSet<S>,
        State: Writable + SourceFree,
        V: Copy,
        E: RoundsFrom<R>,
    {
        let chunk = const {
            require(
                S::THREADS as usize == ROWS,
                "rule A13: each thread of the set owns one row, so the tile has as many rows as the set has threads: choose its \
                 `ROWS` so",
            );
            require(
                N > 0 && (N * size_of::<E>()) % 16 == 0,
                "rule D14: a thread writes its row in steps of 16 bytes: choose `N` so",
            );
            require(
                N <= COLS,
                "rule D14: a thread writes at most the row of the tile: put less at once",
            );
            16 / size_of::<E>()
        };
        // Not `col + N`: the sum could wrap.
        check(col <= const { (COLS - N) as u32 } && col % (chunk as u32) == 0);
        let (base, row) = (self.base(), set.rank());
        unrolled!(number < N * size_of::<E>() / 16, {
            let first = number * chunk;
            let words = pack(|i| {
                let i = first + i;
                E::round([i, i + 1].map(|i| change(row, col + i as u32, values[i])))
            });
            let at = Tile::<E, ROWS, COLS>::place(base, row, col + first as u32);
            // SAFETY: inside the row, which is this thread's own (I16), of a buffer that no copy reads (I14, I18); the swizzle moves
            // whole 16-byte chunks.
            unsafe { write_chunk(at, words) };
        });
    }
}
