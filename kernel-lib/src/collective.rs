//! What the lanes of a warp do together without memory: shuffles, votes and reductions.
//!
//! A set of [`WholeWarps`] does it in each of its warps ([`Collectives`]). The token says that all 32 lanes are here, so there is no
//! mask to get wrong (rule F1). None of these orders memory (ISA 9.7.9.6, 9.7.13.11): values pass in registers, and
//! nothing that was written becomes visible.

use crate::ptx::warp::{self, Bfly, Down, FULL, Idx, Redux, ShflMode, Up};
use crate::ptx::word::Word32;
use crate::token::{Cta, Joined, RolePosition, Set, WARP, Warp, Warpgroup};

/// A set whose warps are whole.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not have whole warps",
    label = "a lane alone",
    note = "rule F1: shuffles, votes and reductions are done by all 32 lanes of a warp (PTX ISA 9.7.9.6, 9.7.13.11)",
    note = "move it before `elect`, and pass the warp's token"
)]
pub trait WholeWarps: Set {}

/// The collectives of a set of [`WholeWarps`].
///
/// Every set has them, and the bound is each method's: so the compiler says why a lane alone cannot call one.
pub trait Collectives: Set {
    /// Index of this lane in its warp.
    #[inline(always)]
    fn lane(&self) -> u32
    where
        Self: WholeWarps,
    {
        self.rank() % WARP
    }

    /// The value that lane `from % 32` of the same warp passes.
    ///
    /// # PTX
    /// `shfl.sync.idx.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn shfl<T: Word32>(&mut self, value: T, from: u32) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: (1) all lanes of the warp are here, by the token (I1, I2); (2) so the lane read is.
        unsafe { warp::shfl_sync::<Idx, T>(value, from % WARP, Idx::WHOLE_WARP, FULL).0 }
    }

    /// The value of the lane `by` below, or this lane's own where there is none.
    ///
    /// # PTX
    /// `shfl.sync.up.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn shfl_up<T: Word32>(&mut self, value: T, by: u32) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: as in `shfl`.
        unsafe { warp::shfl_sync::<Up, T>(value, by % WARP, Up::WHOLE_WARP, FULL).0 }
    }

    /// The value of the lane `by` above, or this lane's own where there is none.
    ///
    /// # PTX
    /// `shfl.sync.down.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn shfl_down<T: Word32>(&mut self, value: T, by: u32) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: as in `shfl`.
        unsafe { warp::shfl_sync::<Down, T>(value, by % WARP, Down::WHOLE_WARP, FULL).0 }
    }

    /// The value of the lane whose number differs from this one's by exclusive or with `mask`.
    ///
    /// # PTX
    /// `shfl.sync.bfly.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn shfl_xor<T: Word32>(&mut self, value: T, mask: u32) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: as in `shfl`.
        unsafe { warp::shfl_sync::<Bfly, T>(value, mask % WARP, Bfly::WHOLE_WARP, FULL).0 }
    }

    /// Whether every lane of the warp votes `true`.
    ///
    /// # PTX
    /// `vote.sync.all.pred`, PTX 6.0, sm_30 (ISA 9.7.13.11).
    #[inline(always)]
    fn all(&mut self, vote: bool) -> bool
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::vote_sync_all(vote, FULL) }
    }

    /// Whether some lane of the warp votes `true`.
    ///
    /// # PTX
    /// `vote.sync.any.pred`, PTX 6.0, sm_30 (ISA 9.7.13.11).
    #[inline(always)]
    fn any(&mut self, vote: bool) -> bool
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::vote_sync_any(vote, FULL) }
    }

    /// The lanes of the warp that vote `true`, one bit each.
    ///
    /// # PTX
    /// `vote.sync.ballot.b32`, PTX 6.0, sm_30 (ISA 9.7.13.11).
    #[inline(always)]
    fn ballot(&mut self, vote: bool) -> u32
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::vote_sync_ballot(vote, FULL) }
    }

    /// The wrapping sum over the lanes of the warp.
    ///
    /// # PTX
    /// `redux.sync.add`, PTX 7.0, sm_80 (ISA 9.7.13.13).
    #[inline(always)]
    fn sum<T: Redux>(&mut self, value: T) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::redux_sync_add(value, FULL) }
    }

    /// The least over the lanes of the warp; of floats [`reduce`](Self::reduce).
    ///
    /// # PTX
    /// `redux.sync.min`, PTX 7.0, sm_80 (ISA 9.7.13.13).
    #[inline(always)]
    fn least<T: Redux>(&mut self, value: T) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::redux_sync_min(value, FULL) }
    }

    /// The greatest over the lanes of the warp; of floats [`reduce`](Self::reduce).
    ///
    /// # PTX
    /// `redux.sync.max`, PTX 7.0, sm_80 (ISA 9.7.13.13).
    #[inline(always)]
    fn greatest<T: Redux>(&mut self, value: T) -> T
    where
        Self: WholeWarps,
    {
        // SAFETY: all lanes of the warp are here, by the token (I1, I2).
        unsafe { warp::redux_sync_max(value, FULL) }
    }

    /// `f` over the values of all lanes of the warp, in their order; every lane gets it.
    ///
    /// `f` is associative; it need not commute. Each lane calls it five times, on values that may not be the warp's next ones: it should
    /// have no effect but its result. Of floats the order of the sum is the same each time, so the bits are.
    ///
    /// # PTX
    /// Five `shfl.sync.down.b32` and one `shfl.sync.idx.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn reduce<T: Word32>(&mut self, mut value: T, f: impl Fn(T, T) -> T) -> T
    where
        Self: WholeWarps,
    {
        // The first lane of each group of 2, 4 … 32 has what the group gives; what others have is not used.
        for by in [1, 2, 4, 8, 16] {
            value = f(value, self.shfl_down(value, by));
        }
        self.shfl(value, 0)
    }

    /// `f` over the values of the lanes up to this one, in their order (an inclusive scan). `f` is associative; see [`reduce`](Self::reduce).
    ///
    /// # PTX
    /// Five `shfl.sync.up.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn scan<T: Word32>(&mut self, mut value: T, f: impl Fn(T, T) -> T) -> T
    where
        Self: WholeWarps,
    {
        for by in [1, 2, 4, 8, 16] {
            let before = self.shfl_up(value, by);
            if self.lane() >= by {
                value = f(before, value);
            }
        }
        value
    }

    /// As [`scan`](Self::scan), of the lanes below this one; `first` in lane 0 (an exclusive scan).
    ///
    /// # PTX
    /// Six `shfl.sync.up.b32`, PTX 6.0, sm_30 (ISA 9.7.9.6).
    #[inline(always)]
    fn scan_below<T: Word32>(&mut self, value: T, first: T, f: impl Fn(T, T) -> T) -> T
    where
        Self: WholeWarps,
    {
        let whole = self.scan(value, f);
        let below = self.shfl_up(whole, 1);
        if self.lane() == 0 { first } else { below }
    }

    /// Compaction: how many lanes below this one vote `true`, which is this one's place among them, and how many of the warp do.
    ///
    /// # PTX
    /// `vote.sync.ballot.b32`, PTX 6.0, sm_30 (ISA 9.7.13.11).
    #[inline(always)]
    fn place(&mut self, vote: bool) -> (u32, u32)
    where
        Self: WholeWarps,
    {
        let lanes = self.ballot(vote);
        ((lanes & ((1 << self.lane()) - 1)).count_ones(), lanes.count_ones())
    }
}

impl<S: Set> Collectives for S {}

impl<L, const THREADS: u32> WholeWarps for Cta<'_, L, THREADS> {}
impl<L, const THREADS: u32> WholeWarps for Joined<'_, L, THREADS> {}
impl<R: RolePosition> WholeWarps for Warpgroup<'_, R> {}
impl<R: RolePosition> WholeWarps for Warp<'_, R> {}
