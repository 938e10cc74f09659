//! A lock that many readers hold at once, or one writer.

use super::{Guarded, Word};
use crate::dropped::{Hand, LockedArray};
use crate::held::{GoesOn, Held};
use crate::path::{Full, Handed};
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::tile::Element;
use crate::token::Set;

/// An array that one set of threads at a time may write, or any number of them read: a kernel parameter.
///
/// # Why that orders
/// The word counts readers, and its highest bit is the writer. A reader's `atom.acquire` and a writer's
/// `atom.acquire` read what the last holder's `red.release` left, or a read-modify-write that continues it (ISA 8.8:
/// all accesses to the word but for polls are read-modify-writes, so that every release is in the chain).
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::RwLock;
///
/// #[baton::kernel(threads = 128)]
/// fn bump(cta: Cta<'_, NoShared, 128>, table: RwLock<u32>) -> Exit<'_> {
///     let mut cta = cta;
///     let seen = table.read(&mut cta);
///     let first = seen.get(0);
///     seen.release(&mut cta);
///     if first == 0 {
///         table.write(&mut cta).update(&mut cta, |_, old| old + 1).release(&mut cta);
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct RwLock<T, S = Gpu>(Guarded<T, S>);

impl<T, S> Clone for RwLock<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for RwLock<T, S> {}

/// Set while a writer holds the array; the other bits count readers.
const WRITER: u32 = 1 << 31;
/// One reader less.
const LEAVE: u32 = u32::MAX;

/// Ends a reader's hold of a [`RwLock`].
pub struct UnlockRead<S> {
    word: Word<S>,
    hand: Hand<LockedArray>,
}

/// Ends a writer's hold of a [`RwLock`].
pub struct UnlockWrite<S> {
    word: Word<S>,
    hand: Hand<LockedArray>,
}

impl<T: Element, S: Scope> RwLock<T, S> {
    #[inline(always)]
    fn word(&self) -> Word<S> {
        // SAFETY: the host passes one word (I24).
        unsafe { self.0.word(0) }
    }

    /// Waits until nobody writes the array, and takes it to read.
    ///
    /// # PTX
    /// By one thread `atom.acquire.S.global.add.u32`, undone by `red.relaxed.S` and repeated while a writer holds the
    /// array; then the set's barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn read<C: Set>(&self, set: &mut C) -> Held<T, C, Full, UnlockRead<S>>
    where
        S: Includes<Gpu>,
    {
        let word = self.word();
        set.lead(|| {
            while word.fetch_add::<Acquire>(1).value() & WRITER != 0 {
                word.red_add::<Relaxed>(LEAVE);
                while word.load::<Relaxed>().value() & WRITER != 0 {}
            }
        });
        set.barrier_for(word.raw());
        let next = UnlockRead { word, hand: Hand::new() };
        // SAFETY: (1) the parameter's array (I24); (2) no writer gets in while a reader is counted (I13); (3) the leader acquired
        // what the last writer released, and the set's barrier passed it on (I25).
        unsafe { Held::new(self.0.data, self.0.len, next) }
    }

    /// Waits until nobody reads or writes the array, and takes it to write.
    ///
    /// # PTX
    /// By one thread a loop over `atom.acquire.S.global.cas.b32`, which polls with `ld.relaxed.S` while the array is
    /// held; then the set's barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn write<C: Set>(&self, set: &mut C) -> Held<T, C, Handed, UnlockWrite<S>>
    where
        S: Includes<Gpu>,
    {
        let word = self.word();
        set.lead(|| {
            while word.compare_exchange::<Acquire>(0, WRITER).value() != 0 {
                while word.load::<Relaxed>().value() != 0 {}
            }
        });
        set.barrier_for(word.raw());
        let next = UnlockWrite { word, hand: Hand::new() };
        // SAFETY: (1) the parameter's array (I24); (2) the word was 0, so nobody holds it, and is WRITER until it is handed on (I13);
        // (3) the leader acquired what the last writer and every reader since released, and the set's barrier passed it on (I25).
        unsafe { Held::new(self.0.data, self.0.len, next) }
    }
}

impl<S: Scope> GoesOn for UnlockRead<S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.word.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        self.word.red_add::<Release>(LEAVE);
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}

impl<S: Scope> GoesOn for UnlockWrite<S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.word.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        // Readers that found the writer are counted for a moment: their counts stay.
        self.word.red_and::<Release>(!WRITER);
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}
