//! An array in global memory while one set of threads holds it.
//!
//! Protocols between CTAs ([`crate::protocol`]) decide who holds an array and when. What a holder may do with it is the
//! same in all of them, and is here: each thread writes the elements that it owns, [`sync`](Held::sync) stands between
//! that and the reads of all elements (rule A13), and [`release`](Held::release) hands the array on.

use core::marker::PhantomData;

use crate::global::{read_global, write_global};
use crate::path::{
    FillCompleted, Full, Handed, HasContents, OpensToTheSet, Synced, VisibleToTheSet, Writable,
    Written,
};
use crate::ptx::addr::{Addr, Global};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::{Marks, SameSet, Set, SingleThread, StaysWithItsThreads};

/// An array that the set `C` holds, in a state of [`crate::path`]; `P` is how the protocol goes on.
#[must_use = "what a protocol handed over is handed on by `release`"]
pub struct Held<T, C, State, P = ()> {
    data: u64,
    len: u64,
    next: P,
    types: Marks<(T, C, State)>,
    stays: StaysWithItsThreads,
}

/// How a protocol goes on when the holder hands its array on.
#[expect(private_bounds, reason = "`Held::release` hands on, and nobody else")]
pub trait HandsOn: GoesOn {}
impl<P: GoesOn> HandsOn for P {}

/// The steps of a [`HandsOn`].
pub(crate) trait GoesOn {
    /// The address of the word by which it is handed on.
    fn word(&self) -> u64;
    /// Called by the set's leader, behind the set's barrier: has a release pattern that the next holder acquires.
    fn hand_on(&self);
    /// Called by every thread of the set: the array was handed on.
    fn settle(self);
}

impl<T: Element, C: Set, State, P> Held<T, C, State, P> {
    /// # Safety
    /// 1. `data` is an array of `len` elements in global memory.
    /// 2. Until it is handed on by `next`, no other set accesses it; if `State` is [`Full`], no other set writes it.
    /// 3. What others wrote to it before comes before this in every thread of the set.
    #[inline(always)]
    pub(crate) unsafe fn new(data: u64, len: u64, next: P) -> Self {
        Held { data, len, next, types: PhantomData, stays: PhantomData }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> Held<T, C, Next, P> {
        let Held { data, len, next, .. } = self;
        Held { data, len, next, types: PhantomData, stays: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn next(&self) -> &P {
        &self.next
    }

    #[inline(always)]
    fn element(&self, index: u64) -> Addr<Global> {
        Addr::from_raw(self.data + index * size_of::<T>() as u64)
    }

    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with what this returns
        set: &mut U,
        mut value: impl FnMut(u64) -> T,
    ) -> Held<T, C, Written, P>
    where
        U: SameSet<C>,
        State: Writable,
    {
        let mut index = set.rank() as u64;
        while index < self.len {
            // SAFETY: in range, this thread's own (I16), and the set holds the array (I13, I14).
            unsafe { write_global(self.element(index), value(index)) };
            index += U::THREADS as u64;
        }
        self.become_state()
    }

    /// Replaces the elements that this thread owns by what `value` makes of their index and what they were.
    #[inline(always)]
    pub fn update<U>(
        self, // A9: the elements are written; go on with what this returns
        set: &mut U,
        mut value: impl FnMut(u64, T) -> T,
    ) -> Held<T, C, Written, P>
    where
        U: SameSet<C>,
        State: Writable + HasContents,
    {
        let mut index = set.rank() as u64;
        while index < self.len {
            let at = self.element(index);
            // SAFETY: in range, this thread's own (I16), and the set holds the array (I13, I14).
            let new = value(index, unsafe { read_global(at) });
            // SAFETY: as above.
            unsafe { write_global(at, new) };
            index += U::THREADS as u64;
        }
        self.become_state()
    }

    /// Opens every element to every thread of the set, to read.
    ///
    /// # PTX
    /// The set's barrier if it has written (ISA 8.9.4), else nothing.
    #[inline(always)]
    pub fn sync<U>(
        self, // A13: the set's barrier is behind; go on with what this returns
        set: &mut U,
    ) -> Held<T, C, Synced, P>
    where
        U: SameSet<C>,
        State: OpensToTheSet,
    {
        if State::BARRIER {
            set.barrier();
        }
        self.become_state()
    }

    /// Element `index`. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T
    where
        State: FillCompleted + VisibleToTheSet,
    {
        check(index < self.len);
        // SAFETY: in range; the state says that nobody writes (I13, I14, I15).
        unsafe { read_global(self.element(index)) }
    }

    /// Element `index`, for a thread that holds the array alone: it needs no barrier. Traps when it is out of range.
    #[inline(always)]
    pub fn load<U>(&self, thread: &mut U, index: u64) -> T
    where
        U: SameSet<C> + SingleThread,
    {
        let _ = thread;
        check(index < self.len);
        // SAFETY: in range; one thread holds the array (I1, I13).
        unsafe { read_global(self.element(index)) }
    }

    /// Writes element `index`, for a thread that holds the array alone. Traps when it is out of range.
    #[inline(always)]
    pub fn store<U>(&mut self, thread: &mut U, index: u64, value: T)
    where
        U: SameSet<C> + SingleThread,
        State: Writable,
    {
        let _ = thread;
        check(index < self.len);
        // SAFETY: in range; one thread holds the array (I1, I13).
        unsafe { write_global(self.element(index), value) }
    }

    /// Hands the array on.
    ///
    /// # PTX
    /// The set's barrier, then the protocol's release pattern by one thread.
    #[inline(always)]
    pub fn release<U>(
        self, // A9: the array is the next holder's now; take it again with the protocol's own call
        set: &mut U,
    ) where
        U: SameSet<C>,
        P: HandsOn,
    {
        set.barrier_for(self.next.word());
        set.lead(|| self.next.hand_on());
        self.next.settle();
    }
}

impl<T: Element, C: Set, P> Held<T, C, Synced, P> {
    /// The set's barrier, after which nobody reads any more and each thread may write its elements again.
    #[inline(always)]
    pub fn reopen<U: SameSet<C>>(
        self, // A13: the set's barrier is behind; go on with what this returns
        set: &mut U,
    ) -> Held<T, C, Handed, P> {
        set.barrier();
        self.become_state()
    }
}

/// An array that nobody writes any more.
pub type Final<T, C> = Held<T, C, Full>;
