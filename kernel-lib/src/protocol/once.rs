//! Once: the first to come fills the array, and nobody reads it before.

use super::Guarded;
use crate::held::{Final, Held};
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::tile::Element;
use crate::token::Set;

/// An array that the first set to come fills, and all read: a kernel parameter.
///
/// # Why that orders
/// `ld.acquire` that finds `FILLED` reads what the first set wrote with `st.release` behind its barrier (ISA 8.8). The
/// exchange that says who is first is relaxed: it permits nothing but to fill.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::Once;
///
/// /// A table that one CTA computes and all use.
/// #[baton::kernel(threads = 128)]
/// fn use_table(cta: Cta<'_, NoShared, 128>, table: Once<f32>, out: GlobalPtr<f32>) -> Exit<'_> {
///     let mut cta = cta;
///     let table = table.get_or_fill(&mut cta, |i| 1.0 / (i + 1) as f32);
///     let mut mine = out.partition(&cta);
///     if !mine.is_empty() {
///         mine.put(0, table.get(mine.index(0) % table.len()));
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Once<T, S = Gpu>(Guarded<T, S>);

impl<T, S> Clone for Once<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Once<T, S> {}

/// Some set fills the array.
const BEING_FILLED: u32 = 1;
/// The array is filled.
const FILLED: u32 = 2;

impl<T: Element, S: Scope> Once<T, S> {
    /// The array. If this set is the first to ask, its threads fill it: `value(i)` is asked once for each element, of the
    /// thread that owns it (thread `r` of `n` owns `r`, `r + n`, …; rule A13). Otherwise waits until it is filled.
    ///
    /// # PTX
    /// By one thread `atom.relaxed.S.global.cas.b32`, then the set's barrier with a vote. The first: the stores, the
    /// set's barrier, `st.release.S` by one thread, the set's barrier. The others: a loop over `ld.acquire.S` by one
    /// thread, the set's barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn get_or_fill<C: Set>(&self, set: &mut C, value: impl FnMut(u64) -> T) -> Final<T, C>
    where
        S: Includes<Gpu>,
    {
        let Guarded { data, len, .. } = self.0;
        // SAFETY: the host passes one word (I24).
        let word = unsafe { self.0.word(0) };
        let mut first = false;
        set.agree_on(word.raw());
        set.lead(|| first = word.compare_exchange::<Relaxed>(0, BEING_FILLED).value() == 0);
        if set.barrier_any(first) {
            // SAFETY: (1) the parameter's array (I24); (2) one exchange of the launch finds 0, and nobody reads before FILLED (I13);
            // (3) nobody has written it in this launch.
            let empty: Held<T, C, crate::path::Handed> = unsafe { Held::new(data, len, ()) };
            let _ = empty.fill(set, value);
            set.barrier();
            set.lead(|| word.store::<Release>(FILLED));
        } else {
            set.lead(|| while word.load::<Acquire>().value() != FILLED {});
            set.barrier();
        }
        // SAFETY: (1) the parameter's array (I24); (2) it was filled, once, and nobody writes it again (I13); (3) by this set, behind
        // its barrier, or acquired by the leader and passed on by the set's barrier (I25).
        unsafe { Held::new(data, len, ()) }
    }
}
