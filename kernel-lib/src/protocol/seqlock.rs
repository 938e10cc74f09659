//! A value that readers read without waiting for each other, and again if a writer came between.

use super::{Guarded, Word};
use crate::global::read_global;
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{AcqRel, Acquire, Relaxed, Release};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::SingleThread;

/// A few elements that are read and written as one: a kernel parameter.
///
/// The elements race, so every access to them is strong and relaxed (rule A7: at one scope). Readers do not write, so
/// any number of them go on at once.
///
/// # Why that orders
/// The writer makes the count odd, `fence`, stores the elements, and makes the count even with a release. A reader whose
/// loads see any of those stores has the writer's fence, that store, its own load and its own fence between the two
/// counts (ISA 8.8: third release and third acquire pattern), so that its second look at the count sees the odd one or
/// a later one, and the reader tries again. A reader that saw the even count first acquired all that it was made
/// behind.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::SeqLock;
///
/// #[baton::kernel(threads = 32)]
/// fn best(cta: Cta<'_, NoShared, 32>, best: SeqLock<u32>) -> Exit<'_> {
///     let block = cta.index().x;
///     let (cta, ()) = cta.claim();
///     let (joined, _) = cta.roles((warp(move |w| {
///         w.elect(move |mut t| {
///             let [score, _] = best.read::<2, _>(&mut t);
///             if score < block {
///                 best.update::<2, _>(&mut t, |[score, at]| {
///                     if score < block { [block, block] } else { [score, at] }
///                 });
///             }
///         })
///     }),));
///     joined.exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct SeqLock<T, S = Gpu>(Guarded<T, S>);

impl<T, S> Clone for SeqLock<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for SeqLock<T, S> {}

impl<T: Element, S: Scope> SeqLock<T, S> {
    #[inline(always)]
    fn word(&self) -> Word<S> {
        // SAFETY: the host passes one word (I24).
        unsafe { self.0.word(0) }
    }

    #[inline(always)]
    fn load<const N: usize>(&self) -> [T; N] {
        core::array::from_fn(|i| {
            // SAFETY: in range by the callers' check; every access that may come at the same time is strong, of this size and
            // scope, which are the parameter's (I23, I24).
            unsafe { ptx::ld::ld::<Relaxed, S, Global, T>(self.element(i)) }
        })
    }

    #[inline(always)]
    fn element(&self, i: usize) -> Addr<Global> {
        Addr::from_raw(self.0.data + (i * size_of::<T>()) as u64)
    }

    /// The first `N` elements as one writer left them. Traps when the array has fewer.
    ///
    /// # PTX
    /// `ld.acquire.S` of the count, `ld.relaxed.S` of each element, `fence.acquire.S`, `ld.relaxed.S` of the count; until
    /// both counts are the same even number. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn read<const N: usize, C: SingleThread>(&self, thread: &mut C) -> [T; N]
    where
        S: Includes<Gpu>,
    {
        let _ = thread;
        check(N as u64 <= self.0.len);
        let count = self.word();
        loop {
            let before = count.load::<Acquire>().value();
            let values = self.load();
            ptx::fence::fence_acquire::<S>();
            if before % 2 == 0 && count.load::<Relaxed>().value() == before {
                return values;
            }
        }
    }

    /// Replaces the first `N` elements by what `new` makes of them, alone among writers. Traps when the array has fewer.
    ///
    /// # PTX
    /// `atom.relaxed.S.cas` that makes the even count odd, `fence.acq_rel.S`, `ld` and `st.relaxed.S` of each element,
    /// `st.release.S` of the next even count. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn update<const N: usize, C: SingleThread>(
        &self,
        thread: &mut C,
        new: impl FnOnce([T; N]) -> [T; N],
    ) where
        S: Includes<Gpu>,
    {
        let _ = thread;
        check(N as u64 <= self.0.len);
        let count = self.word();
        let mut even = 0;
        loop {
            let seen = count.compare_exchange::<Relaxed>(even, even | 1).value();
            if seen == even {
                break;
            }
            // The next even count: this one, or the one that its writer is going to leave.
            even = seen.wrapping_add(seen % 2);
        }
        // Both ways: it makes the exchange acquire what the last writer left, and the odd count come before the stores below.
        ptx::fence::fence::<AcqRel, S>();
        // SAFETY: in range; until the count is even again no other thread writes (I13), and what was written was acquired (I25).
        let old = core::array::from_fn(|i| unsafe { read_global(self.element(i)) });
        let values = new(old);
        let mut i = 0;
        while i < N {
            // SAFETY: as in `load`.
            unsafe { ptx::st::st::<Relaxed, S, Global, T>(self.element(i), values[i]) };
            i += 1;
        }
        count.store::<Release>(even.wrapping_add(2));
    }
}
