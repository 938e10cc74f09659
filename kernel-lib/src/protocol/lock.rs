//! Locks: one set of threads at a time holds the array.

use super::{Guarded, Word};
use crate::dropped::{Hand, LockedArray};
use crate::held::{GoesOn, Held};
use crate::path::Handed;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::tile::Element;
use crate::token::Set;

/// An array that one set of threads at a time may touch: a kernel parameter.
///
/// Who comes next is chance; [`TicketLock`] keeps the order. A set that locks what it holds waits forever.
///
/// # Why that orders
/// `atom.acquire` that finds 0 reads what the last holder's `st.release` wrote, and so synchronises with it (ISA 8.8).
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::SpinLock;
///
/// /// Adds what each CTA found to the totals.
/// #[baton::kernel(threads = 128)]
/// fn totals(cta: Cta<'_, NoShared, 128>, totals: SpinLock<u32>) -> Exit<'_> {
///     let mut cta = cta;
///     let found = cta.index().x;
///     totals.lock(&mut cta).update(&mut cta, |_, old| old + found).release(&mut cta);
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct SpinLock<T, S = Gpu>(Guarded<T, S>);

/// An array that one set of threads at a time may touch, in the order in which they asked: a kernel parameter.
///
/// # Why that orders
/// A relaxed `atom.add` hands out tickets. `ld.acquire` that finds one's own number reads what the last holder's
/// `st.release` wrote, or the host's zero.
#[repr(transparent)]
pub struct TicketLock<T, S = Gpu>(Guarded<T, S>);

macro_rules! copies {
    ($($name:ident)*) => {$(
        impl<T, S> Clone for $name<T, S> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, S> Copy for $name<T, S> {}
    )*};
}
copies! { SpinLock TicketLock }

/// Unlocks a [`SpinLock`].
pub struct Unlock<S> {
    word: Word<S>,
    hand: Hand<LockedArray>,
}

/// Unlocks a [`TicketLock`].
pub struct UnlockTicket<S> {
    serving: Word<S>,
    /// The leader's is the set's.
    ticket: u32,
    hand: Hand<LockedArray>,
}

impl<T: Element, S: Scope> SpinLock<T, S> {
    #[inline(always)]
    fn word(&self) -> Word<S> {
        // SAFETY: the host passes one word (I24).
        unsafe { self.0.word(0) }
    }

    /// Waits until nobody holds the array, and takes it.
    ///
    /// # PTX
    /// By one thread a loop over `atom.acquire.S.global.exch.b32`, which polls with `ld.relaxed.S` while the lock is
    /// taken; then the set's barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn lock<C: Set>(&self, set: &mut C) -> Held<T, C, Handed, Unlock<S>>
    where
        S: Includes<Gpu>,
    {
        let word = self.word();
        set.lead(|| {
            while word.exchange::<Acquire>(1).value() != 0 {
                while word.load::<Relaxed>().value() != 0 {}
            }
        });
        set.barrier_for(word.raw());
        self.held()
    }

    /// Takes the array if nobody holds it.
    ///
    /// # PTX
    /// By one thread `atom.acquire.S.global.exch.b32`, then the set's barrier with a vote.
    #[inline(always)]
    pub fn try_lock<C: Set>(&self, set: &mut C) -> Option<Held<T, C, Handed, Unlock<S>>>
    where
        S: Includes<Gpu>,
    {
        let word = self.word();
        let mut taken = false;
        set.agree_on(word.raw());
        set.lead(|| taken = word.exchange::<Acquire>(1).value() == 0);
        set.barrier_any(taken).then(|| self.held())
    }

    /// The array in the hands of a set that has just taken the lock.
    #[inline(always)]
    fn held<C: Set>(&self) -> Held<T, C, Handed, Unlock<S>> {
        let next = Unlock { word: self.word(), hand: Hand::new() };
        // SAFETY: (1) the parameter's array (I24); (2) whoever finds 0 in the word, and writes 1, is alone until it writes 0
        // (I13); (3) the leader acquired what the last holder released, and the set's barrier passed it on (I25).
        unsafe { Held::new(self.0.data, self.0.len, next) }
    }
}

impl<S: Scope> GoesOn for Unlock<S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.word.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        self.word.store::<Release>(0);
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}

impl<T: Element, S: Scope> TicketLock<T, S> {
    /// Waits until all who asked before have had the array, and takes it.
    ///
    /// # PTX
    /// By one thread `atom.relaxed.S.global.add.u32` and a loop over `ld.acquire.S.global.b32`; then the set's barrier.
    /// PTX 6.0, sm_70.
    #[inline(always)]
    pub fn lock<C: Set>(&self, set: &mut C) -> Held<T, C, Handed, UnlockTicket<S>>
    where
        S: Includes<Gpu>,
    {
        // SAFETY: the host passes two words (I24).
        let (tickets, serving) = unsafe { (self.0.word(0), self.0.word(1)) };
        let mut ticket = 0;
        set.lead(|| {
            ticket = tickets.fetch_add::<Relaxed>(1).value();
            while serving.load::<Acquire>().value() != ticket {}
        });
        set.barrier_for(serving.raw());
        let next = UnlockTicket { serving, ticket, hand: Hand::new() };
        // SAFETY: (1) the parameter's array (I24); (2) a ticket is one set's, and is served until that set serves the next
        // (I13); (3) as for `SpinLock` (I25).
        unsafe { Held::new(self.0.data, self.0.len, next) }
    }
}

impl<S: Scope> GoesOn for UnlockTicket<S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.serving.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        self.serving.store::<Release>(self.ticket.wrapping_add(1));
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}
