//! The last of several arrivals reads what all of them wrote.

use core::marker::PhantomData;

use super::{Guarded, Word};
use crate::atomic::{ByAcquire, HeadsAcquirePattern, IsAcquired, Reads, Releases};
use crate::global::write_global;
use crate::held::{Final, Held};
use crate::path::{Empty, HasContents, Writable, Written};
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::ptx::sreg;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::AtomSem;
use crate::tile::Element;
use crate::token::{Marks, SameSet, Set, StaysWithItsThreads};

/// An array to which each CTA contributes, and which the last of them to arrive reads: a kernel parameter.
///
/// CTA `b` of `n` owns a run of `len / n` elements. One of its sets of threads writes them, and adds one to a counter with
/// a release; the one that finds `n - 1` there has seen the arrivals of all the others.
///
/// # Why that orders
/// Each arrival is a release pattern on the counter, and each reads the value that the one before it wrote, so that
/// all of them are one release sequence (ISA 8.8; `atom` continues the sequence that it reads from). The last arrival
/// acquires, at its own `.acquire` or at the fence behind it, and so synchronises with every other; the set's barrier
/// passes that on to its threads.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::LastArrival;
/// use baton::sem::AcqRel;
///
/// /// The sum of what the threads of all CTAs found, by the last CTA.
/// #[baton::kernel(threads = 128)]
/// fn total(cta: Cta<'_, NoShared, 128>, parts: LastArrival<f32>, sum: GlobalPtr<f32>) -> Exit<'_> {
///     let mut cta = cta;
///     let mut mine = sum.partition(&cta);
///     let part = parts.open(&mut cta).fill(&mut cta, |i| i as f32);
///     if let Some(all) = part.arrive::<AcqRel, _>(&mut cta).last(&mut cta) {
///         // Lands where the threads of the last CTA own their first elements.
///         if !mine.is_empty() {
///             mine.put(0, (0..all.len()).map(|i| all.get(i)).sum());
///         }
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct LastArrival<T, S = Gpu>(Guarded<T, S>);

/// What a set of a CTA contributes to a [`LastArrival`], in a state of [`crate::path`].
pub struct Contribution<T, S, C, State> {
    whole: Guarded<T, S>,
    first: u64,
    count: u64,
    arrivals: u32,
    types: Marks<(C, State)>,
    stays: StaysWithItsThreads,
}

/// A set that has contributed, and how its leader saw the counter.
#[must_use = "`last` says whether this was the last arrival"]
pub struct Arrival<T, S, C, How> {
    whole: Guarded<T, S>,
    /// The leader's is the set's.
    is_last: bool,
    types: Marks<(C, How)>,
    stays: StaysWithItsThreads,
}

impl<T: Element, S: Scope> LastArrival<T, S> {
    /// Gives the part of this CTA to one of its sets of threads.
    #[inline(always)]
    pub fn open<C: Set>(
        self, // A9: a part has one owner; go on with the one that this returns
        set: &mut C,
    ) -> Contribution<T, S, C, Empty>
    where
        S: Includes<Gpu>,
    {
        let _ = set;
        ptx::mark::opened_last_arrival::<C>(self.0.words);
        let [x, y, z] = [sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()].map(u64::from);
        let [nx, ny, nz] = [sreg::nctaid_x(), sreg::nctaid_y(), sreg::nctaid_z()].map(u64::from);
        let arrivals = nx * ny * nz;
        let count = self.0.len / arrivals;
        Contribution {
            whole: self.0,
            first: (x + nx * (y + ny * z)) * count,
            count,
            arrivals: arrivals as u32,
            types: PhantomData,
            stays: PhantomData,
        }
    }
}

impl<T: Element, S: Scope, C: Set, State> Contribution<T, S, C, State> {
    /// Writes the part: `value(i)` is asked for each index in the whole array, of the thread that owns it (thread `r` of
    /// `n` owns `r`, `r + n`, … of the part; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the part is written; go on with the one that this returns
        set: &mut U,
        mut value: impl FnMut(u64) -> T,
    ) -> Contribution<T, S, C, Written>
    where
        U: SameSet<C>,
        State: Writable,
    {
        let mut i = set.rank() as u64;
        while i < self.count {
            let index = self.first + i;
            let at: Addr<Global> = Addr::from_raw(self.whole.data + index * size_of::<T>() as u64);
            // SAFETY: in range, this thread's own (I16), and unread before its set's arrival (I13).
            unsafe { write_global(at, value(index)) };
            i += U::THREADS as u64;
        }
        let Contribution { whole, first, count, arrivals, stays, .. } = self;
        Contribution { whole, first, count, arrivals, types: PhantomData, stays }
    }

    /// Arrives: the part is the last one's to read. `M` is [`AcqRel`](crate::sem::AcqRel), or [`Release`](crate::sem::Release) before a
    /// [`fence_acquire`](Arrival::fence_acquire).
    ///
    /// # PTX
    /// The set's barrier, then `atom.M.S.global.add.u32` by one thread, PTX 6.0, sm_70 (ISA 9.7.13.6).
    #[inline(always)]
    pub fn arrive<M, U>(
        self, // A9: the part is the last arrival's now; ask `last` of what this returns
        set: &mut U,
    ) -> Arrival<T, S, C, M::How>
    where
        M: AtomSem + Reads + Releases,
        U: SameSet<C>,
        State: HasContents,
    {
        // SAFETY: the host passes one word (I24).
        let counter: Word<S> = unsafe { self.whole.word(0) };
        let mut is_last = false;
        set.barrier_for(counter.raw());
        set.lead(|| is_last = counter.fetch_add::<M>(1).value() == self.arrivals - 1);
        Arrival { whole: self.whole, is_last, types: PhantomData, stays: PhantomData }
    }
}

impl<T: Element, S: Scope, C: Set, How> Arrival<T, S, C, How> {
    /// Makes a releasing arrival an acquiring one too, by a fence of scope `F` in the thread that arrived; see
    /// [`Seen::fence_acquire`](crate::atomic::Seen::fence_acquire).
    #[inline(always)]
    pub fn fence_acquire<F, U>(
        self, // A3: the order is known of the arrival that this returns; go on with that
        set: &mut U,
    ) -> Arrival<T, S, C, ByAcquire>
    where
        How: HeadsAcquirePattern,
        F: Includes<S>,
        U: SameSet<C>,
    {
        set.lead(ptx::fence::fence_acquire::<F>);
        let Arrival { whole, is_last, stays, .. } = self;
        Arrival { whole, is_last, types: PhantomData, stays }
    }

    /// All contributions, if this set was the last to arrive.
    ///
    /// # PTX
    /// The set's barrier with a vote (`bar.red.or.pred`), by which every thread of the set knows.
    #[inline(always)]
    pub fn last<U>(
        self, // A1: an arrival is asked once; go on with what `Some` holds
        set: &mut U,
    ) -> Option<Final<T, C>>
    where
        How: IsAcquired,
        U: SameSet<C>,
    {
        set.barrier_any(self.is_last).then(|| {
            // SAFETY: (1) the parameter's array (I24); (2) every contribution was made, since each CTA makes one (I9), and nobody
            // writes any more (I13); (3) the leader acquired all of them, and the set's barrier passed that on (I25).
            unsafe { Held::new(self.whole.data, self.whole.len, ()) }
        })
    }
}
