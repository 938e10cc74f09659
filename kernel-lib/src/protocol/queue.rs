//! A bounded queue: any thread pushes, any thread pops.

use super::Guarded;
use crate::global::{read_global, write_global};
use crate::ptx::addr::{Addr, Global};
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::SingleThread;

/// A queue of as many elements as its array has, a power of two from 2 on: a kernel parameter.
///
/// The host passes two words more than elements (too few trap, as does a length that is no power of two).
///
/// # Why that orders
/// Each element has a word that says whose turn it is. A thread that gets a place, by a relaxed exchange of the head or
/// the tail, has seen that word with `ld.acquire`, and so what the last holder of the place did before its
/// `st.release` (ISA 8.8); the exchange makes it the only one with that turn.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::Queue;
///
/// /// Each CTA takes a number and gives its half back, until it finds none.
/// #[baton::kernel(threads = 32)]
/// fn halve(cta: Cta<'_, NoShared, 32>, work: Queue<u32>) -> Exit<'_> {
///     let block = cta.index().x;
///     let (cta, ()) = cta.claim();
///     let (joined, _) = cta.roles((warp(move |w| {
///         w.elect(move |mut t| {
///             work.push(&mut t, block);
///             while let Some(number) = work.pop(&mut t) {
///                 if number > 1 {
///                     work.push(&mut t, number / 2);
///                 }
///             }
///         })
///     }),));
///     joined.exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Queue<T, S = Gpu>(Guarded<T, S>);

impl<T, S> Clone for Queue<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Queue<T, S> {}

impl<T: Element, S: Scope> Queue<T, S> {
    /// Gets the place at the end that `end` counts (0: tail, 1: head), whose turn is `after` behind its number, and uses it;
    /// nothing if it is not that turn yet.
    #[inline(always)]
    fn with_place<U>(
        &self,
        end: u64,
        after: u32,
        act: impl FnOnce(Addr<Global>) -> U,
    ) -> Option<U> {
        let len = self.0.len;
        // Without branches, so that it is made once for all calls.
        let fits = (2..=1 << 31).contains(&len) & (len.wrapping_add(2) <= self.0.objects);
        check(fits & (len & len.wrapping_sub(1) == 0));
        // SAFETY: in range, by the check above (I24).
        let count = unsafe { self.0.word(end) };
        let mut at = count.load::<Relaxed>().value();
        loop {
            // Or the compiler would have the loop's beginning twice.
            #[cfg(target_arch = "nvptx64")]
            crate::ptx::anchor();
            let index = at as u64 & (len - 1);
            // SAFETY: in range, by the check above (I24).
            let word = unsafe { self.0.word(2 + index) };
            // The words count from the place's own number, so that a fresh queue is zeroes.
            let turn = word.load::<Acquire>().value().wrapping_add(index as u32);
            let ahead = turn.wrapping_sub(at.wrapping_add(after)) as i32;
            if ahead < 0 {
                return None;
            }
            if ahead == 0 {
                let seen = count.compare_exchange::<Relaxed>(at, at.wrapping_add(1)).value();
                if seen == at {
                    let used = act(self.element(index));
                    // A push leaves the place to the pop of its number, a pop to the push one lap later.
                    let turn =
                        if after == 0 { at.wrapping_add(1) } else { at.wrapping_add(len as u32) };
                    word.store::<Release>(turn.wrapping_sub(index as u32));
                    return Some(used);
                }
                at = seen;
            } else {
                at = count.load::<Relaxed>().value();
            }
        }
    }

    #[inline(always)]
    fn element(&self, index: u64) -> Addr<Global> {
        Addr::from_raw(self.0.data + index * size_of::<T>() as u64)
    }

    /// Puts `value` at the end; `false` if the queue is full, as far as this thread has seen: the place at the end is still that of
    /// a `pop` one lap ago.
    ///
    /// # PTX
    /// A loop over `ld.acquire.S` of the place's word and `atom.relaxed.S.cas` of the tail; then the store, and
    /// `st.release.S` of the word. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn push<C: SingleThread>(&self, thread: &mut C, value: T) -> bool
    where
        S: Includes<Gpu>,
    {
        let _ = thread;
        // SAFETY: in range; the place is this thread's until its word says otherwise (I13), which it has acquired and releases (I25).
        self.with_place(0, 0, |at| unsafe { write_global(at, value) }).is_some()
    }

    /// Takes the first element; none if the queue is empty, as far as this thread has seen: the `push` of the first place is under
    /// way, or has not come here yet. So none is no proof that other threads' elements have all been taken.
    ///
    /// # PTX
    /// As [`push`](Self::push), with the head, and a load.
    #[inline(always)]
    pub fn pop<C: SingleThread>(&self, thread: &mut C) -> Option<T>
    where
        S: Includes<Gpu>,
    {
        let _ = thread;
        // SAFETY: as in `push` (I13, I25).
        self.with_place(1, 1, |at| unsafe { read_global(at) })
    }
}
