//! The end of a kernel: the joined CTA exits with the proofs that nothing uses its memory any more.

use core::marker::PhantomData;

use crate::layout::{Claimed, Layout};
use crate::{ptx, require};

use super::{Brand, Closes, RoleReturn, Set, StaysWithItsThreads, sealed};

/// All threads of the CTA again, each at the end of its role; what they do together comes behind a barrier of all of them.
pub struct Joined<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// All threads of the CTA, after every role of every CTA of its cluster has ended.
pub struct PeersJoined<'k, L, const THREADS: u32>(Brand<'k>, PhantomData<L>, StaysWithItsThreads);

/// The end of a kernel. Only [`Joined::exit`] and [`PeersJoined::exit`] make one.
pub struct Exit<'k>(Brand<'k>, StaysWithItsThreads); // B9: everything has ended; take it from `joined.exit`

impl<L, const THREADS: u32> Joined<'_, L, THREADS> {
    /// The token of a thread that has done with its role, or had none.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Joined(PhantomData, PhantomData, PhantomData)
    }

    /// Makes the warps whole: lanes that were not elected come early.
    #[inline(always)]
    pub(super) fn gather(&mut self) {
        // SAFETY: every lane of every warp leaves its role and comes here (I1, I2).
        unsafe { ptx::barrier::bar_warp_sync(u32::MAX) };
    }
}

impl<'k, L: Layout, const THREADS: u32> Joined<'k, Claimed<L>, THREADS> {
    /// Ends the kernel. `closed` holds the proof, field by field of the layout, that no asynchronous operation
    /// still uses the CTA's shared or tensor memory (rules B9, D8): what `finish` and `dealloc` return. Where a field
    /// spans a cluster, waits for the peers (rule F3).
    ///
    /// # PTX
    /// Where the layout has tensor memory `bar.sync` (of a pair, `join_peers` has met already), `tcgen05.fence::after_thread_sync`, then
    /// `tcgen05.dealloc.sync.aligned.b32` by the first warp, PTX 8.6, sm_100a (ISA 9.7.16.7.1).
    #[inline(always)]
    pub fn exit<P>(
        mut self, // B9: a CTA exits once, after everything that uses its memory has ended; return what this returns
        closed: P,
    ) -> Exit<'k>
    where
        P: Closes<'k, L>,
    {
        let _ = closed;
        if L::COLUMNS != 0 {
            if !L::PAIR {
                self.barrier();
            }
            // SAFETY: all threads of the CTA are here (I1, I2), behind its barrier, or, of a pair, whose proofs take the token of `join_peers`, behind
            // the cluster's (I22). The proofs of all fields are here, of which each says that both of its ends have ended (I21), in every
            // thread before that barrier (I5).
            unsafe { crate::layout::deallocate::<L>() };
        }
        if L::CLUSTER != 0 {
            // Peers may still read this CTA's memory (rules F3, D13).
            if L::ARRIVES_ON_CLUSTER {
                // SAFETY: the barrier that the claim initialised for this (I6); all threads of the CTA are here (I1, I2), and those of
                // its peers come, which is what this waits for (I22).
                unsafe { crate::cluster::meet_at_the_exit::<L, _>(&mut self) };
            } else {
                self.gather();
                // SAFETY: all threads of the CTA are here (I1, I2), and those of its peers come (I22); nothing else arrives on the
                // barrier.
                unsafe { crate::cluster::whole_barrier() };
            }
        }
        Exit(PhantomData, PhantomData)
    }

    /// Waits until every role of every CTA of the cluster has ended. What each did comes before what follows.
    ///
    /// # PTX
    /// `tcgen05.fence::before_thread_sync` where the layout has tensor memory, `barrier.cluster.arrive.release.aligned`,
    /// `barrier.cluster.wait.acquire.aligned`.
    #[inline(always)]
    pub fn join_peers(
        mut self, // D13: the CTA goes on behind the barrier of the cluster; go on with what this returns
    ) -> PeersJoined<'k, Claimed<L>, THREADS> {
        const {
            require(
                !L::ARRIVES_ON_CLUSTER,
                "rule F2: an exchange between peers arrives on the cluster's barrier; its `close` and the exit come behind its \
                 last wait: leave `join_peers` out",
            );
        };
        if L::COLUMNS != 0 {
            ptx::tcgen05::fence_before_thread_sync();
        }
        if L::CLUSTER == 0 {
            // A cluster of one.
            self.barrier();
        } else {
            self.gather();
            // SAFETY: all threads of the CTA are here (I1, I2), and those of its peers come (I22); no field arrives on the barrier.
            unsafe { crate::cluster::whole_barrier() };
        }
        PeersJoined(PhantomData, PhantomData, PhantomData)
    }
}

impl<L, const THREADS: u32> sealed::Sealed for PeersJoined<'_, L, THREADS> {}
impl<'k, L: Layout, const THREADS: u32> PeersJoined<'k, Claimed<L>, THREADS> {
    /// Ends the kernel; see [`Joined::exit`].
    #[inline(always)]
    pub fn exit<P>(
        self, // B9: a CTA exits once, after everything that uses its memory has ended; return what this returns
        closed: P,
    ) -> Exit<'k>
    where
        P: Closes<'k, L>,
    {
        Joined::<'k, Claimed<L>, THREADS>::new().exit(closed)
    }
}

/// Proof that `What` has ended: all that was begun through one field, such as [`FillsOf<Tag>`](super::FillsOf), or through one of its ends.
pub struct Finished<'k, What>(Brand<'k>, PhantomData<What>, StaysWithItsThreads);

impl<Tag> Finished<'_, Tag> {
    /// # Safety
    /// The caller has waited for every asynchronous operation begun through the field's endpoint, which it
    /// consumes.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Finished(PhantomData, PhantomData, PhantomData)
    }
}

/// The proof that everything that was begun through the end `End` has ended.
///
/// # Safety
/// `Self` is [`Finished<'k, End>`](Finished).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not prove that `{End}` has ended",
    label = "the proof of another end",
    note = "rule D8: tensor memory is deallocated when no matrix instruction writes it and no load reads it any more (PTX ISA \
            9.7.16.7.1)",
    note = "pass what the producer's `finish(&mut t)` and then what the consumer's `finish(&mut wg)` returns"
)]
pub unsafe trait ProofOf<'k, End>: sealed::Sealed {}
// SAFETY: the type itself, of this run, of that end (I3, I8, I21).
#[diagnostic::do_not_recommend]
unsafe impl<'k, End> ProofOf<'k, End> for Finished<'k, End> {}

impl<Tag> crate::layout::Proof for Finished<'_, Tag> {
    type Before<Rest: crate::layout::Proofs> = Rest::With<Self>;
}

impl<Tag> sealed::Sealed for Finished<'_, Tag> {}
// SAFETY: no data; its truth does not depend on the thread once a barrier has joined the role, and nobody acts on it before that
// (I5).
unsafe impl<Tag> RoleReturn for Finished<'_, Tag> {
    #[inline(always)]
    unsafe fn conjure() -> Self {
        Finished(PhantomData, PhantomData, PhantomData)
    }
}
