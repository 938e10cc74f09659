//! Rings of stages: the producer/consumer pipeline, from bulk copies or threads to matrix instructions or
//! threads.
//!
//! A field `ab: Stages<4, (Tile<bf16, 128, 64>, Tile<bf16, 128, 64>), ByBulk, ByMma>` of a layout is four stages of
//! shared memory with two mbarriers each: *full*, on which the producer's hand-over completes a phase, and
//! *empty*, on which the consumer's does. [`StagesPart::split`] gives the two ends; each moves into the role
//! that uses it and keeps its own cursor, so that stage index, phase and parity appear nowhere in a kernel
//! (rules C3, C4, C10).
//!
//! Threads fill a stage by ordinary stores (`fill`) or by `cp.async` (`copy`, `wait_copies`).
//!
//! Several sets may drain one ring: `Stages<4, D, ByBulk, (ByWgmma, ByWgmma)>` hands each stage to both, which may drain it in different
//! ways, each at its own pace; it is empty when all have handed it back. [`StagesPart::split_among`] gives an end to each, and a set that never
//! drains stops the ring.
//!
//! A [`Slot`] is one stage while one side holds it. Its state says what was done to it, and every method says
//! in a bound what must have been done before ([`crate::path`]):
//!
//! | filled | drained | the producer | the consumer |
//! |---|---|---|---|
//! | [`ByBulk`] | [`ByMma`] | `acquire`, `load` | `wait`, `acc.mma`, `release_by_commit` |
//! | [`ByBulk`] | [`ByPairMma`] | `acquire`, `load` | in the leader, `wait_for_both`, `acc.mma` of a [pair](crate::pair_accumulator), `release_by_commit` |
//! | [`ByBulk`] | [`ByWgmma`] | `acquire`, `load` | `wait`, `product.mma_async`, `wait_group`, `release` |
//! | [`ByBulk`] | [`ByThreads`] | `acquire`, `load` | `wait`, `get`, `fence_proxy_async`, `release` |
//! | [`ByThreads`] | [`ByMma`] | `acquire`, `fill`, `fence_proxy_async`, `publish` | `wait`, `acc.mma`, `release_by_commit` |
//! | [`ByThreads`] | [`ByWgmma`] | `acquire`, `fill`, `fence_proxy_async`, `publish` | `wait`, `product.mma_async`, `wait_group`, `release` |
//! | [`ByThreads`] | [`ByThreads`] | `acquire`, `fill`, `publish` | `wait`, `get`, `release` |
//!
//! # CTAs that load for each other
//! Where the CTAs of a cluster read the same tile, each loads its share of the rows into all of them: a stage of
//! `ToAll<Tile<bf16, 128, 64>, 2>` in each of two CTAs, through tensor maps of `Tile<bf16, 64, 64>`. The ends are the same. A
//! full barrier expects the bytes of the whole tile, whichever CTA loads them; a stage is empty when the consumers of all
//! CTAs have released it, so each release arrives at every CTA, at the scope of the cluster (rules C7, C11). A copy from a
//! peer may land before this CTA has announced the bytes: its phase is the same, because the peer waited for this CTA's
//! release. The exit waits for the peers, so nobody writes into a CTA that has ended (rule F3).
//!
//! # Stages of a pair of CTAs
//! A stage that a pair multiplies has a part in each of the two CTAs, and one hand-over for both: the copies of both complete on the full
//! barrier of the CTA that leads the pair, which expects the bytes of both. Its thread alone waits, multiplies, and hands both parts back
//! by a commit that arrives in both CTAs. The other CTA loads its part and waits until it comes back; that it was filled is nothing that
//! its threads observe (rules B6, C11). There is no second phase that could drift from the first.
//!
//! In a cluster of several pairs, `ToAll<T, PAIRS>` is a tile that the CTAs at the same place in each pair have in common: each loads its
//! share for those, onto the barriers of the CTAs that lead their pairs, and a stage comes back when every pair has handed it back.
//!
//! # Why a hand-over is one
//! A set acts as one: each of its threads makes its accesses, the set's barrier orders them (ISA 8.9.4), and one
//! lane arrives with `.release.cta`, which is cumulative over what the barrier ordered (ISA 8.8). So each
//! barrier counts one arrival a phase, whatever the size of the set (rule C9). Every thread of the waiting set
//! waits itself, with an acquiring `try_wait`. Nobody can be lapped: the next phase needs this set's own
//! hand-over, which needs all its threads.

mod ends;
mod fills;
mod open;
mod slot;

use core::marker::PhantomData;

use crate::layout::Field;
use crate::path::Way;
pub use crate::path::{ByBulk, ByMma, ByPairMma, ByThreads, ByWgmma};
use crate::peers;
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta};
use crate::require;
use crate::scope::Cta as CtaScope;
use crate::sem::{Acquire, Release};
use crate::tile::StageData;
use crate::token::{FillsOf, Finished, RoleReturn, Set, sealed};

pub use ends::{Attempt, Consumer, Producer, StagesPart};
pub use fills::Fills;
pub use slot::{HeldStage, Loaded, Slot};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// A ring of `N` stages of `D`, filled by `F` and drained by `R`, or by each of several: a field of a layout.
pub struct Stages<const N: u32, D, F = ByBulk, R = ByMma>(PhantomData<(D, F, R)>);

/// What the types of a ring say; implemented by [`Stages`] alone.
pub trait Ring: sealed::Sealed + 'static {
    /// What a stage holds.
    type Data: StageData;
    /// How it is filled.
    type Fill: Fill;
    /// How it is drained.
    type Drain: Drain;
    /// Number of stages.
    const STAGES: u32;
    /// CTAs of the cluster that fill and release a stage together; 1 if each has its own ring. Of a ring that pairs drain, pairs.
    const PEERS: u32;
    /// CTAs that a stage has parts in.
    const CTAS: u32 = if Self::Drain::PAIR { 2 * Self::PEERS } else { Self::PEERS };
    /// Bytes from one stage to the next.
    const STRIDE: u32;
}

/// A way to fill a stage.
pub trait Fill: Way {
    /// What ending the producer proves: nothing is needed where threads fill.
    #[doc(hidden)]
    type Closed<'k, Tag>: RoleReturn + crate::layout::Proof;
    /// Whether an asynchronous fill may outlive the producer, and completes on the full barrier.
    #[doc(hidden)]
    const ASYNCHRONOUS: bool;
}

/// A way to drain a stage.
#[diagnostic::on_unimplemented(
    message = "no ring is drained `{Self}`",
    label = "not a way to drain a ring",
    note = "rules B6 and C9: a stage goes back by arrivals that the ring's type counts; sets that drain it together are of this CTA, where its \
            barrier says that it is filled, so that a pair has its ring to itself (PTX ISA 9.7.13.15)",
    note = "take `ByThreads`, `ByMma`, `ByPairMma` or `ByWgmma`, or up to four of `ByThreads`, `ByMma` and `ByWgmma`: `(ByWgmma, ByWgmma)`"
)]
pub trait Drain: Way {
    /// Whether an asynchronous operation arrives on the empty barrier.
    #[doc(hidden)]
    const ASYNCHRONOUS: bool = false;
    /// Whether a stage has a part in each CTA of a pair, of which one hands both on.
    #[doc(hidden)]
    const PAIR: bool = false;
    /// Whether threads read the stage by ordinary loads.
    #[doc(hidden)]
    const GENERIC: bool = false;
    /// Arrivals by which a consumer hands a stage back: one for the set, behind its barrier; or one of each warp of a
    /// warpgroup, where threads have read nothing that a barrier would have to bring together.
    #[doc(hidden)]
    const ARRIVALS: u32 = 1;
    /// What a stage that threads hand back has to be ready for, in a ring that `F` fills.
    #[doc(hidden)]
    type Refill<F: Fill>: Way;
}

/// A ring as one of the sets that drain it sees it, which drains it `By`.
pub struct Share<R, By>(PhantomData<(R, By)>);

impl<R, By> sealed::Sealed for Share<R, By> {}
impl<R: Ring, By: Drain> Ring for Share<R, By> {
    type Data = R::Data;
    type Fill = R::Fill;
    type Drain = By;
    const STAGES: u32 = R::STAGES;
    const PEERS: u32 = R::PEERS;
    const STRIDE: u32 = R::STRIDE;
}

/// A way to drain a ring that one set has to itself.
#[diagnostic::on_unimplemented(
    message = "several sets drain this ring, `{Self}`, and each has an end of its own",
    label = "one end for several sets",
    note = "rules C3 and C9: a stage comes back when every set has handed it back, and each keeps the parity of the phases that it waits for \
            (PTX ISA 9.7.13.15)",
    note = "write `let (mut filling, (mut one, mut other)) = ring.split_among();`, and move each end into its role"
)]
pub trait DrainsAlone: Drain {}
#[diagnostic::do_not_recommend]
impl DrainsAlone for ByThreads {}
#[diagnostic::do_not_recommend]
impl DrainsAlone for ByMma {}
#[diagnostic::do_not_recommend]
impl DrainsAlone for ByPairMma {}
#[diagnostic::do_not_recommend]
impl DrainsAlone for ByWgmma {}

/// Several sets drain each stage, each as if it were alone; together they make one phase of the empty barrier.
macro_rules! drained_by_several {
    ($($way:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($way: CompletesHere),*> Drain for ($($way,)*) {
            const ASYNCHRONOUS: bool = false $(|| $way::ASYNCHRONOUS)*;
            const GENERIC: bool = false $(|| $way::GENERIC)*;
            const ARRIVALS: u32 = 0 $(+ $way::ARRIVALS)*;
            type Refill<Next: Fill> = Next;
        }
    };
}
drained_by_several! { A B }
drained_by_several! { A B C }
drained_by_several! { A B C D }

/// A way to drain a stage that is filled when a barrier of this CTA says so.
#[diagnostic::on_unimplemented(
    message = "a stage that a pair of CTAs multiplies is filled when a barrier of the CTA that leads the pair says so: the ring is drained \
               `{Self}`",
    label = "not observed in the other CTA",
    note = "rules B6 and C11: the copies of both CTAs complete on one barrier, which is awaited where it is; in the other CTA no thread knows \
            that they have, and a stage has `load` and nothing else (PTX ISA 9.7.9.25.2, 9.7.13.15.16)",
    note = "in the CTA that leads, `if let Some(leader) = cta.pair_leader()`, call `.wait_for_both(&mut t, leader)`"
)]
pub trait CompletesHere: Drain {}

/// The way to drain a ring that the instructions `By` need.
#[diagnostic::on_unimplemented(
    message = "this ring is drained `{Self}`, and these instructions drain one `{By}`",
    label = "a stage that other instructions drain",
    note = "rule D6: what reads a stage decides on which barrier, of which CTA, hands it back, so the ring says it in the layout",
    note = "declare the ring as `Stages<N, Data, Fill, {By}>`"
)]
pub trait DrainsLike<By: Way>: Drain {}

impl Fill for ByThreads {
    type Closed<'k, Tag> = ();
    const ASYNCHRONOUS: bool = false;
}
impl Fill for ByBulk {
    type Closed<'k, Tag> = Finished<'k, FillsOf<Tag>>;
    const ASYNCHRONOUS: bool = true;
}
impl Drain for ByThreads {
    const GENERIC: bool = true;
    type Refill<F: Fill> = F;
}
impl Drain for ByMma {
    const ASYNCHRONOUS: bool = true;
    type Refill<F: Fill> = F;
}
impl Drain for ByPairMma {
    const ASYNCHRONOUS: bool = true;
    const PAIR: bool = true;
    // No thread reads a stage, and so there is nothing to fence: `ThreadsReadWhereDrained`.
    type Refill<F: Fill> = ByThreads;
}
impl Drain for ByWgmma {
    const ARRIVALS: u32 = 4;
    type Refill<F: Fill> = F;
}
#[diagnostic::do_not_recommend]
impl CompletesHere for ByThreads {}
#[diagnostic::do_not_recommend]
impl CompletesHere for ByMma {}
#[diagnostic::do_not_recommend]
impl CompletesHere for ByWgmma {}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByMma> for ByMma {}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByPairMma> for ByPairMma {}
#[diagnostic::do_not_recommend]
impl DrainsLike<ByWgmma> for ByWgmma {}

impl<const N: u32, D, F, R> sealed::Sealed for Stages<N, D, F, R> {}
impl<const N: u32, D: StageData, F: Fill, R: Drain> Ring for Stages<N, D, F, R> {
    type Data = D;
    type Fill = F;
    type Drain = R;
    const STAGES: u32 = {
        require(N >= 1, "rule C10: a ring has at least one stage: write 1 or more");
        N
    };
    const PEERS: u32 = {
        require(
            D::CTAS == 1 || F::ASYNCHRONOUS,
            "rule B6: only bulk copies fill the stages of all CTAs of a cluster: fill the ring `ByBulk`",
        );
        require(
            !R::PAIR || F::ASYNCHRONOUS,
            "rule B1: instructions of one CTA of a pair read the stages of both, and behind stores of threads `fence.proxy.async` would have to \
             stand in both CTAs: fill the ring `ByBulk`",
        );
        D::CTAS
    };
    const STRIDE: u32 = D::BYTES.next_multiple_of(D::ALIGN);
}

// SAFETY: (1) `init` initialises each full barrier with the one arrival that its producer makes a phase, and each empty
// barrier with those of each consumer, which are the consumers of all peers (I11, I23);
// (2) the stages and barriers are all within BYTES (I7); (3) `Closed` comes from the producer's `finish`, which has
// waited for every bulk copy (I21); threads' own accesses end with them.
unsafe impl<const N: u32, D: StageData, F: Fill, R: Drain> Field for Stages<N, D, F, R> {
    const BYTES: u32 = <Self as Ring>::STRIDE * <Self as Ring>::STAGES + 2 * MBARRIER * N;
    const ALIGN: u32 = if D::ALIGN > MBARRIER { D::ALIGN } else { MBARRIER };
    const REMOTE_BARRIERS: bool = F::ASYNCHRONOUS || R::ASYNCHRONOUS;
    const CLUSTER: u32 = match <Self as Ring>::CTAS {
        1 => 0,
        ctas => ctas,
    };
    type Part<'k, Tag> = StagesPart<'k, Tag, Self>;
    type Closed<'k, Tag> = F::Closed<'k, Tag>;

    #[inline(always)]
    unsafe fn init(base: Addr<SharedCta>, _: u32) {
        let mut i = 0;
        while i < 2 * N {
            let barrier = base.offset(<Self as Ring>::STRIDE * N + i * MBARRIER);
            let arrivals = if i < N { 1 } else { <Self as Ring>::PEERS * R::ARRIVALS };
            // SAFETY: the barrier's place (I7), before anyone uses it (I6).
            unsafe { ptx::mbarrier::init(barrier, arrivals) };
            i += 1;
        }
    }

    #[inline(always)]
    unsafe fn part<'k, Tag>(base: Addr<SharedCta>, _: u32) -> Self::Part<'k, Tag> {
        StagesPart::new(base)
    }
}

/// A ring of `N` stages: lets the number of stages follow from the ring's type.
pub trait RingOf<const N: u32>: Ring {}
impl<const N: u32, D: StageData, F: Fill, R: Drain> RingOf<N> for Stages<N, D, F, R> {}

/// Waits until the phase of parity `phase` has completed, and acquires what it hands over.
///
/// # Safety
/// `barrier` is an initialised mbarrier of this CTA.
#[inline(always)]
pub(crate) unsafe fn wait_phase(barrier: Addr<SharedCta>, phase: u32) {
    // SAFETY: the caller's promise.
    unsafe { ptx::mbarrier::wait_parity::<Acquire, CtaScope>(barrier, phase) }
}

/// As [`wait_phase`], on a barrier that peers of the cluster complete too if there are any (rule C7).
///
/// # Safety
/// As for [`wait_phase`].
#[inline(always)]
unsafe fn wait_phase_of<R: Ring>(barrier: Addr<SharedCta>, phase: u32) {
    if R::PEERS == 1 && !R::Drain::PAIR {
        // SAFETY: the caller's promise.
        unsafe { wait_phase(barrier, phase) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { peers::wait(barrier, phase) }
    }
}

/// Arrives once for the set, behind its barrier.
///
/// # Safety
/// `barrier` is an initialised mbarrier of this CTA that expects this arrival.
#[inline(always)]
pub(crate) unsafe fn arrive_for_the_set<T: Set>(set: &mut T, barrier: Addr<SharedCta>) {
    set.barrier_for(barrier.raw());
    // SAFETY: the caller's promise; the set's barrier has ordered every thread's accesses before the release, which is cumulative
    // over them, and one lane arrives for all (I11, I13).
    set.lead(|| {
        // SAFETY: as above.
        unsafe { ptx::mbarrier::arrive::<Release, CtaScope>(barrier) };
    });
}

/// The first CTA of each of `pairs` pairs, as the mask of a multicast.
#[inline(always)]
const fn first_of_all_pairs(pairs: u32) -> u16 {
    (0x5555 & ((1u32 << (2 * pairs)) - 1)) as u16
}

/// The CTAs of ranks 0 to `ctas - 1`, as the mask of a multicast.
#[inline(always)]
const fn all_peers(ctas: u32) -> u16 {
    ((1u32 << ctas) - 1) as u16
}
