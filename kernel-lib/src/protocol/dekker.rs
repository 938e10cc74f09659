//! Two sides that exclude each other by stores and loads alone.

use core::marker::PhantomData;

use super::{Guarded, Word};
use crate::dropped::{Hand, LockedArray};
use crate::held::{GoesOn, Held};
use crate::path::{Handed, ReleasedAt, Sequenced, SequencedFor, Wanted};
use crate::ptx;
use crate::ptx::sreg;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{AcqRel, Acquire, Relaxed, Release, Sc};
use crate::tile::Element;
use crate::token::{Marks, SameSet, Set, StaysWithItsThreads};

/// An array that one of two sides at a time may touch: a kernel parameter. The first CTA of the grid along x is one side, the
/// second the other.
///
/// Each side announces itself by a store and then looks at the other's announcement; it gets the array if there is none.
/// Both may announce themselves at once, and then neither gets it and both try again: no side waits for the other's turn.
///
/// # Why that orders
/// This is the store-buffering pattern: if each side's load could be served before its own store reaches the other, both
/// would find nobody. Release and acquire do not forbid that, `fence.sc` on both sides does: the two fences are in one
/// order, and behind the second of them the load sees the store before the first (ISA 8.9.3, 8.10.2; rule A8). The load
/// acquires, and finds no announcement only where the other side's `st.release` stands, or the host's zero.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::Dekker;
///
/// /// Two CTAs add one to every element, `rounds` times.
/// #[baton::kernel(threads = 128)]
/// fn both(cta: Cta<'_, NoShared, 128>, totals: Dekker<u32>, rounds: u32) -> Exit<'_> {
///     let mut cta = cta;
///     if let Some(mut side) = totals.side(&mut cta) {
///         let mut done = 0;
///         while done < rounds {
///             if let Some(held) = side.announce(&mut cta).fence_sc::<Gpu, _>(&mut cta).look(&mut cta) {
///                 held.update(&mut cta, |_, old| old + 1).release(&mut cta);
///                 done += 1;
///             }
///         }
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Dekker<T, S = Gpu>(Guarded<T, S>);

/// One side of a [`Dekker`], in the hands of a set of threads.
pub struct Side<T, S, C> {
    mine: Word<S>,
    other: Word<S>,
    data: u64,
    len: u64,
    types: Marks<(T, C)>,
    stays: StaysWithItsThreads,
}

/// A side that has announced itself, in a state of [`crate::path`].
#[must_use = "the other side gets nothing while this one is announced; `look` gets the array, or withdraws"]
pub struct Announced<'a, T, S, C, State> {
    side: &'a Side<T, S, C>,
    state: Marks<State>,
    stays: StaysWithItsThreads,
}

/// Withdraws the announcement behind which the array was held.
pub struct Leave<'a, S> {
    mine: Word<S>,
    hand: Hand<LockedArray>,
    side: PhantomData<&'a mut ()>,
}

impl<T: Element, S: Scope> Dekker<T, S> {
    /// The side of this CTA, for one of its sets of threads; none in a CTA that is neither the first nor the second.
    #[inline(always)]
    pub fn side<C: Set>(
        self, // A9: a side is one set's; go on with the one that this returns
        set: &mut C,
    ) -> Option<Side<T, S, C>>
    where
        S: Includes<Gpu>,
    {
        let _ = set;
        ptx::mark::opened_dekker::<C>(self.0.words);
        let [x, y, z] = [sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()];
        (x < 2 && y == 0 && z == 0).then(|| Side {
            // SAFETY: the host passes two words (I24).
            mine: unsafe { self.0.word(x as u64) },
            // SAFETY: as above.
            other: unsafe { self.0.word(1 - x as u64) },
            data: self.0.data,
            len: self.0.len,
            types: PhantomData,
            stays: PhantomData,
        })
    }
}

impl<T: Element, S: Scope, C: Set> Side<T, S, C> {
    /// Announces that this side wants the array.
    ///
    /// # PTX
    /// `st.relaxed.S.global.b32` by one thread. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn announce<U>(&mut self, set: &mut U) -> Announced<'_, T, S, C, Wanted>
    where
        U: SameSet<C>,
    {
        let mine = self.mine;
        set.agree_on(mine.raw());
        set.lead(|| mine.store::<Relaxed>(1));
        Announced { side: self, state: PhantomData, stays: PhantomData }
    }
}

impl<'a, T: Element, S: Scope, C: Set, State> Announced<'a, T, S, C, State> {
    #[inline(always)]
    fn become_state<Next>(self) -> Announced<'a, T, S, C, Next> {
        Announced { side: self.side, state: PhantomData, stays: PhantomData }
    }

    /// Puts the announcement before the look, in the order of all such fences of scope `F`.
    ///
    /// # PTX
    /// `fence.sc.F` by the thread that announced. PTX 6.0, sm_70 (ISA *membar/fence*, 8.9.3).
    #[inline(always)]
    pub fn fence_sc<F: Scope, U>(
        self, // A8: the fence stands behind the announcement that this returns; go on with that
        set: &mut U,
    ) -> Announced<'a, T, S, C, Sequenced<F>>
    where
        U: SameSet<C>,
    {
        set.lead(ptx::fence::fence::<Sc, F>);
        self.become_state()
    }

    /// `fence.acq_rel.F`, which does not do here (rule A8).
    #[inline(always)]
    pub fn fence_acq_rel<F: Scope, U>(
        self, // A8: the fence stands behind the announcement that this returns; go on with that
        set: &mut U,
    ) -> Announced<'a, T, S, C, ReleasedAt<F>>
    where
        U: SameSet<C>,
    {
        set.lead(ptx::fence::fence::<AcqRel, F>);
        self.become_state()
    }

    /// Looks whether the other side is announced: if not, the array is this side's; if so, this side withdraws.
    ///
    /// # PTX
    /// The set's barrier; by one thread `ld.acquire.S.global.b32`, and `st.release.S.global.b32` to withdraw; then the set's barrier with a
    /// vote. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn look<U>(
        self, // A9: one look for each announcement; take the next one from `announce`
        set: &mut U,
    ) -> Option<Held<T, C, Handed, Leave<'a, S>>>
    where
        U: SameSet<C>,
        State: SequencedFor<S>,
    {
        let &Side { mine, other, data, len, .. } = self.side;
        let mut alone = false;
        // Who forgot what it held withdraws here: that too hands on what every thread of the set wrote.
        set.barrier_for(mine.raw());
        set.lead(|| {
            alone = other.load::<Acquire>().value() == 0;
            if !alone {
                mine.store::<Release>(0);
            }
        });
        set.barrier_any(alone).then(|| {
            let next = Leave { mine, hand: Hand::new(), side: PhantomData };
            // SAFETY: (1) the parameter's array (I24); (2) the fences of the two sides are ordered, so that one of two who are
            // both announced sees the other and withdraws, and who is alone stays announced until it has left (I14, I15); (3) the
            // leader acquired what the other side released when it left, and the set's barrier passed it on (I25).
            unsafe { Held::new(data, len, next) }
        })
    }
}

impl<S: Scope> GoesOn for Leave<'_, S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.mine.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        self.mine.store::<Release>(0);
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}
