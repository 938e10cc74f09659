//! One array in global memory under two virtual addresses.
//!
//! A host that maps memory twice gives a kernel two addresses of one array. To the memory model they are two proxies: what
//! was written through the one is seen through the other only behind `fence.proxy.alias` on the path between (rule B3, ISA
//! 8.2.2, 8.6). [`Aliases`] is such an array in the hands of one set of threads, which writes through the first address and
//! reads through the second:
//!
//! ```text
//!   Empty ──fill──▶ Written ──fence_proxy_alias──▶ WrittenAliased ──sync──▶ Aliased ──reopen──▶ Empty
//! ```
//!
//! ```
//! use baton::alias::Aliases;
//! use baton::prelude::*;
//!
//! /// # Safety
//! /// Both are addresses of one array, which nobody but the first CTA touches.
//! unsafe fn through_both(cta: &mut Cta<'_, NoShared, 64>, first: GlobalPtr<u32>, second: GlobalPtr<u32>) -> u32 {
//!     let array = unsafe { Aliases::claim(cta, first, second) };
//!     let array = array.fill(cta, |i| i as u32).fence_proxy_alias(cta).sync(cta);
//!     array.get(0)
//! }
//! ```

use core::marker::PhantomData;

use crate::global::{GlobalPtr, read_global, write_global};
use crate::path::{
    AliasFence, Aliased, Empty, SyncsTo, VisibleThroughTheAlias, VisibleToTheSet, Writable, Written,
};
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::{Brand, Cta, Marks, SameSet, Set, StaysWithItsThreads};

/// An array with two virtual addresses, held by the set `C`, in a state of [`crate::path`].
pub struct Aliases<'k, T, C, State> {
    first: u64,
    second: u64,
    len: u64,
    brand: Brand<'k>,
    types: Marks<(T, C, State)>,
    stays: StaysWithItsThreads,
}

impl<'k, T: Element, L, const THREADS: u32> Aliases<'k, T, Cta<'k, L, THREADS>, Empty> {
    /// Claims an array that is mapped twice.
    ///
    /// # Safety
    /// 1. `first` and `second` have the same length, and are addresses of the same memory of the device.
    /// 2. Nobody touches that memory during the launch but this CTA, which claims it once, and only through the result.
    #[inline(always)]
    pub unsafe fn claim(
        cta: &mut Cta<'k, L, THREADS>,
        first: GlobalPtr<T>,
        second: GlobalPtr<T>,
    ) -> Self {
        let _ = cta;
        Aliases::new(first.address().raw(), second.address().raw(), first.len())
    }
}

impl<'k, T: Element, C: Set, State> Aliases<'k, T, C, State> {
    #[inline(always)]
    fn new(first: u64, second: u64, len: u64) -> Self {
        Aliases { first, second, len, brand: PhantomData, types: PhantomData, stays: PhantomData }
    }

    #[inline(always)]
    fn become_state<Next>(self) -> Aliases<'k, T, C, Next> {
        Aliases::new(self.first, self.second, self.len)
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

    /// Writes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13), through the first
    /// address.
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with the region that this returns
        set: &mut U,
        mut value: impl FnMut(u64) -> T,
    ) -> Aliases<'k, T, C, Written>
    where
        U: SameSet<C>,
        State: Writable,
    {
        let mut index = set.rank() as u64;
        while index < self.len {
            let at: Addr<Global> = Addr::from_raw(self.first + index * size_of::<T>() as u64);
            // SAFETY: in range, this thread's own (I16), and nobody reads it before the barrier of `sync` (I13, I14).
            unsafe { write_global(at, value(index)) };
            index += U::THREADS as u64;
        }
        self.become_state()
    }

    /// Orders this thread's accesses through the one address before those through the other.
    ///
    /// # PTX
    /// `fence.proxy.alias`, PTX 7.5, sm_70 (ISA *membar/fence*, 8.6).
    #[inline(always)]
    pub fn fence_proxy_alias<U>(
        self, // B3: the accesses are fenced; go on with the region that this returns
        set: &mut U,
    ) -> Aliases<'k, T, C, State::Fenced>
    where
        U: SameSet<C>,
        State: AliasFence,
    {
        let _ = set;
        ptx::fence::fence_proxy_alias();
        self.become_state()
    }

    /// The set's barrier, after which each of its threads may read what the others wrote (rule A13).
    #[inline(always)]
    pub fn sync<U>(
        self, // A13: the set's barrier is behind; go on with the region that this returns
        set: &mut U,
    ) -> Aliases<'k, T, C, State::Next>
    where
        U: SameSet<C>,
        State: SyncsTo,
    {
        set.barrier();
        self.become_state()
    }

    /// Element `index`, through the second address. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T
    where
        State: VisibleToTheSet + VisibleThroughTheAlias,
    {
        check(index < self.len);
        // SAFETY: in range; each writer's fence and the set's barrier stand between the writes and this read (I14, I17).
        unsafe { read_global(Addr::from_raw(self.second + index * size_of::<T>() as u64)) }
    }
}

impl<'k, T: Element, C: Set> Aliases<'k, T, C, Aliased> {
    /// `fence.proxy.alias` and the set's barrier, after which nobody reads any more and each thread may write its elements
    /// again.
    #[inline(always)]
    pub fn reopen<U: SameSet<C>>(
        self, // A13: the set's barrier is behind; go on with the region that this returns
        set: &mut U,
    ) -> Aliases<'k, T, C, Empty> {
        ptx::fence::fence_proxy_alias();
        set.barrier();
        self.become_state()
    }
}
