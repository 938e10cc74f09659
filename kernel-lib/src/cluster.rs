//! Clusters: CTAs that reach each other's shared memory.
//!
//! A field `halo: PeerExchange<f32, 256, 2>` of a layout is a region of each of the two CTAs of a cluster. Every thread
//! writes its own elements of its own CTA's region, arrives on the cluster's barrier, does something else, and after the
//! wait reads every element of every CTA:
//!
//! ```text
//!   Empty ──fill──▶ Written ──arrive──▶ ClusterArrived ──wait──▶ ClusterFull ──reopen──▶ Empty
//!                      └──fence_release, arrive_relaxed──▶┘           └──close──▶ proof for the exit
//! ```
//!
//! There is one barrier for a cluster, so one field of a layout is an exchange between peers; its regions alone arrive on
//! the barrier between the claim and the exit, and each of them waits before it arrives again (rule F2).
//!
//! # Why a peer is there
//! A kernel whose layout has such a field is launched in clusters of that many CTAs. The claim ends with the cluster's
//! barrier, so every peer has started and initialised its memory before a part exists. The exit begins with a barrier of its own, an
//! mbarrier in each CTA on which all CTAs arrive, so no CTA ends while a peer may still read its memory (rule F3). It is not the
//! cluster's barrier again, because then the exit of a CTA could pair with an exchange of another: as it is, the `n`-th exchange of
//! a CTA meets the `n`-th of the others, and a CTA that exchanges once more than its peers waits for ever.
//!
//! ```
//! use baton::cluster::PeerExchange;
//! use baton::prelude::*;
//!
//! baton::shared! {
//!     pub struct Smem in smem { sums: PeerExchange<u32, 1, 2> }
//! }
//!
//! /// Each thread gets the sum of what the leaders of both CTAs brought.
//! #[baton::kernel(threads = 32, cluster = 2)]
//! fn both(cta: Cta<'_, Smem, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
//!     let own = cta.index().x;
//!     let mut mine = out.partition(&cta);
//!     let (mut cta, smem::Parts { sums, .. }) = cta.claim();
//!     let sums = sums.open(&mut cta).fill(&mut cta, |_| own).arrive(&mut cta).wait(&mut cta);
//!     if !mine.is_empty() {
//!         mine.put(0, sums.get(0, 0) + sums.get(1, 0));
//!     }
//!     let closed = sums.close(&mut cta);
//!     cta.join().exit((closed,))
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::dropped::{Hand, PeerRegion as Held};
use crate::layout::{Claimed, Field, Layout, exit_barrier};
use crate::path::{
    ClusterArrived, ClusterFull, Empty, HasArrivedAtTheCluster, HasContents, NotAwaited,
    ReleasedAt, ReleasedToTheCluster, VisibleToTheCluster, WritableBesidePeers, Written,
};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::require;
use crate::scope::{Cluster, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::shared_access::{check, write};
use crate::tile::{Element, Elements, Linear, StageData};
use crate::token::{Brand, Cta, ExchangeOf, Finished, Marks, SameSet, Set, StaysWithItsThreads};

/// `N` elements of `T` in each of the `CTAS` CTAs of a cluster, for all of them to read: a field of a layout, at most one
/// in each.
pub struct PeerExchange<T, const N: usize, const CTAS: u32>(PhantomData<T>);

// SAFETY: (1) nothing to initialise: the elements are written before they are read (I14); (2) the elements (I7); (3) nothing
// asynchronous, and the exit waits for the peers (I22).
unsafe impl<T: Element, const N: usize, const CTAS: u32> Field for PeerExchange<T, N, CTAS> {
    const BYTES: u32 = <Linear<T, N> as StageData>::BYTES;
    const ALIGN: u32 = <Linear<T, N> as StageData>::ALIGN;
    const CLUSTER: u32 = {
        require(
            CTAS >= 1 && CTAS <= 16,
            "rule F3: a cluster has 1 to 16 CTAs, more than 8 only where the device allows it: choose a number of them",
        );
        CTAS
    };
    const ARRIVES_ON_CLUSTER: bool = true;
    const REMOTE_BARRIERS: bool = false;
    type Part<'k, Tag> = PeerPart<'k, Tag, T, N, CTAS>;
    type Closed<'k, Tag> = Finished<'k, ExchangeOf<Tag>>;
    #[inline(always)]
    unsafe fn init(_: Addr<SharedCta>, _: u32) {}
    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        PeerPart { base, brand: PhantomData, field: PhantomData }
    }
}

/// An exchange between peers that the CTA has not opened yet.
pub struct PeerPart<'k, Tag, T, const N: usize, const CTAS: u32> {
    base: Addr<SharedCta>,
    brand: Brand<'k>,
    field: Marks<(Tag, T)>,
}

impl<'k, Tag, T: Element, const N: usize, const CTAS: u32> PeerPart<'k, Tag, T, N, CTAS> {
    /// Opens the region for the whole CTA.
    #[inline(always)]
    pub fn open<L, const THREADS: u32>(
        self, // F2: one region arrives on the cluster's barrier; go on with the one that this returns
        cta: &mut Cta<'k, Claimed<L>, THREADS>,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, Cta<'k, Claimed<L>, THREADS>, Empty> {
        let _ = cta;
        PeerRegion::new(self.base)
    }
}

/// A region that peers read, in a state of [`crate::path`].
#[must_use = "a region that is dropped after an arrival leaves the cluster waiting"]
pub struct PeerRegion<'k, Tag, T, const N: usize, const CTAS: u32, S, State> {
    base: Addr<SharedCta>,
    hand: Hand<Held>,
    brand: Brand<'k>,
    field: Marks<(Tag, T, S, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, Tag, T: Element, const N: usize, const CTAS: u32, S: Set, State>
    PeerRegion<'k, Tag, T, N, CTAS, S, State>
{
    #[inline(always)]
    fn new(base: Addr<SharedCta>) -> Self {
        PeerRegion {
            base,
            hand: Hand::new(),
            brand: PhantomData,
            field: PhantomData,
            stays: PhantomData,
        }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> PeerRegion<'k, Tag, T, N, CTAS, S, Next> {
        self.hand.settle();
        PeerRegion::new(self.base)
    }

    /// Writes the elements of this CTA's region that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with the region that this returns
        set: &mut U,
        mut value: impl FnMut(u32) -> T,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, Written>
    where
        U: SameSet<S>,
        State: WritableBesidePeers,
    {
        let mut index = set.rank();
        while index < N as u32 {
            // SAFETY: in range, this thread's own (I16), and nobody reads the region before this thread has arrived (I13, I14).
            unsafe { write(self.base.offset(<Linear<T, N>>::byte_offset(index)), value(index)) };
            index += U::THREADS;
        }
        self.become_state()
    }

    /// Arrives on the cluster's barrier: this thread's elements are written.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.release.aligned`, PTX 8.0, sm_90 (ISA 9.7.13.4 and *barrier.cluster*).
    #[inline(always)]
    pub fn arrive<U>(
        self, // F2: one arrival for each wait; wait with the region that this returns
        set: &mut U,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, ClusterArrived>
    where
        U: SameSet<S>,
        State: HasContents,
    {
        let _ = set;
        // SAFETY: all threads of the CTA are here, by the token (I1, I2), and each waits before it arrives again, by the states (I14); no
        // other field of the layout arrives (I9).
        unsafe { ptx::barrier::barrier_cluster_arrive_aligned::<Release>() };
        self.become_state()
    }

    /// A release fence at scope `F`, for the relaxed arrival that follows.
    ///
    /// # PTX
    /// `fence.release.F` (ISA 9.7.13.4, 8.8).
    #[inline(always)]
    pub fn fence_release<F: Scope, U>(
        self, // F2: the fence stands before the arrival of the region that this returns; go on with that
        set: &mut U,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, ReleasedAt<F>>
    where
        U: SameSet<S>,
        State: HasContents,
    {
        let _ = set;
        ptx::fence::fence_release::<F>();
        self.become_state()
    }

    /// Arrives on the cluster's barrier without a release of its own, behind the fence.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.relaxed.aligned`, PTX 8.0, sm_90 (ISA *barrier.cluster*).
    #[inline(always)]
    pub fn arrive_relaxed<U>(
        self, // F2: one arrival for each wait; wait with the region that this returns
        set: &mut U,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, ClusterArrived>
    where
        U: SameSet<S>,
        State: ReleasedToTheCluster,
    {
        let _ = set;
        // SAFETY: as in `arrive` (I1, I2, I9, I14).
        unsafe { ptx::barrier::barrier_cluster_arrive_aligned::<Relaxed>() };
        self.become_state()
    }

    /// Waits until every thread of the cluster has arrived, and acquires what they wrote.
    ///
    /// # PTX
    /// `barrier.cluster.wait.acquire.aligned`, PTX 8.0, sm_90 (ISA *barrier.cluster*).
    #[inline(always)]
    pub fn wait<U>(
        self, // F2: one wait for each arrival; go on with the region that this returns
        set: &mut U,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, ClusterFull>
    where
        U: SameSet<S>,
        State: HasArrivedAtTheCluster,
    {
        let _ = set;
        // SAFETY: this thread has arrived and not waited since, by the state (I14).
        unsafe { ptx::barrier::barrier_cluster_wait_aligned() };
        self.become_state()
    }

    /// Element `index` of the region of the CTA of rank `rank`. Traps when there is no such CTA or element.
    ///
    /// # PTX
    /// `mapa.shared::cluster`, `ld.shared::cluster`, PTX 7.8, sm_90 (ISA 9.7.9.24, 9.7.9.8).
    #[inline(always)]
    pub fn get(&self, rank: u32, index: u32) -> T
    where
        State: VisibleToTheCluster,
    {
        check(rank < CTAS && index < N as u32);
        let at = self.base.offset(<Linear<T, N>>::byte_offset(index));
        // SAFETY: the field lies at the same place in every CTA of the cluster (I7), which has `CTAS` of them (I23) and none of which
        // has ended, since the exit waits for all (I22); every thread's writes were acquired and nobody writes (I13, I14).
        unsafe { ptx::ld::ld_weak(ptx::shared::mapa(at, rank)) }
    }

    /// Ends the use of the region: there is no arrival that was not waited for.
    #[inline(always)]
    pub fn close<U>(
        self, // F2, F3: behind the last wait there is only the exit; pass the proof to it
        set: &mut U,
    ) -> Finished<'k, ExchangeOf<Tag>>
    where
        U: SameSet<S>,
        State: NotAwaited,
    {
        let _ = set;
        self.hand.settle();
        // SAFETY: nothing asynchronous was begun, and no arrival waits for its wait, by the state (I14, I21).
        unsafe { Finished::assume() }
    }
}

impl<'k, Tag, T: Element, const N: usize, const CTAS: u32, S: Set>
    PeerRegion<'k, Tag, T, N, CTAS, S, ClusterFull>
{
    /// Waits until every thread of the cluster has read what it wanted, after which the region can be filled again.
    ///
    /// # PTX
    /// `barrier.cluster.arrive.release.aligned`, `barrier.cluster.wait.acquire.aligned`.
    #[inline(always)]
    pub fn reopen<U: SameSet<S>>(
        self, // F3: the peers have read it; go on with the region that this returns
        set: &mut U,
    ) -> PeerRegion<'k, Tag, T, N, CTAS, S, Empty> {
        let _ = set;
        // SAFETY: all threads of the CTA are here, by the token (I1, I2), and have waited since they arrived, by the state (I14).
        unsafe { whole_barrier() };
        self.become_state()
    }
}

/// Waits until every CTA of the cluster exits; what each did before comes before the end of all.
///
/// # PTX
/// The CTA's barrier, `mbarrier.arrive.release.cluster.shared::cluster.b64 _` by one thread on the barrier of each CTA,
/// `mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64` by all. PTX 8.0, sm_90.
///
/// # Safety
/// 1. `set` is the joined CTA, and each CTA of the cluster calls this once.
/// 2. The claim of the layout `L`, which arrives on the cluster's barrier, has run.
#[inline(always)]
pub(crate) unsafe fn meet_at_the_exit<L: Layout, S: Set>(set: &mut S) {
    let barrier = ptx::shared::dynamic_shared().offset(const { exit_barrier::<L>() });
    set.barrier();
    if set.is_leader() {
        let mut rank = 0;
        while rank < L::CLUSTER {
            // SAFETY: the barrier lies at the same place in every CTA of the cluster (I7), and expects one arrival of each (I11). None
            // has ended, since it waits for this one (I22).
            unsafe {
                ptx::mbarrier::arrive_remote::<Release, Cluster>(ptx::shared::mapa(barrier, rank));
            }
            rank += 1;
        }
    }
    // SAFETY: this CTA's barrier, initialised by the claim (I6), and its first phase, which is its only one (I10).
    unsafe { ptx::mbarrier::wait_parity::<Acquire, Cluster>(barrier, 0) };
}

/// Waits until every thread of the cluster is here; what each wrote before is visible to all.
///
/// # Safety
/// 1. Every thread of the cluster calls this, its warps whole, with no arrival that it has not waited for.
#[inline(always)]
pub(crate) unsafe fn whole_barrier() {
    // SAFETY: the caller's promise.
    unsafe { ptx::barrier::barrier_cluster_arrive_aligned::<Release>() };
    // SAFETY: as above; just arrived.
    unsafe { ptx::barrier::barrier_cluster_wait_aligned() };
}

/// The state that a fence of scope `F` reaches the cluster in.
impl<F: crate::scope::Includes<Cluster>> ReleasedToTheCluster for ReleasedAt<F> {}
