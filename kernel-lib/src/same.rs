//! One value for a whole set, where only a protocol makes it so.
//!
//! Whatever decides whether threads come to a collective has to be one value for all of its set (rule F4), and the builder
//! checks that in the PTX. It knows that kernel parameters, block indices, plain loads from one address and what a warp
//! computes together are one value. It does not know what a protocol guarantees: a strong load of a word that nobody writes
//! any more gives all threads the same, and only its author knows. [`same`] says so.
//!
//! It is a promise and not an operation: it costs no instruction and makes nothing equal. So it is `unsafe`: everything that a set
//! does together rests on it. The emulator checks it in every run, and reports threads of the set that pass different values (rule F4).

use crate::ptx::mark;
use crate::token::Set;

/// How a value passes through its mark. The library's own, so that only [`same`] marks.
pub(crate) trait Marked {
    /// The value, behind the mark of a set of so many threads.
    fn marked(self, threads: u32) -> Self;
}

/// What [`same`] takes: an integer of 32 or 64 bits, a `bool` or an `f32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value that `same` can mark",
    label = "expected `u32`, `i32`, `u64`, `i64`, `bool` or `f32`",
    note = "rule F4: mark the number that decides how often, or whether, the set does something"
)]
#[expect(private_bounds, reason = "which values can be marked, and how, no other crate says")]
pub trait OneValue: Marked + Copy {}

/// Says that all threads of the set pass the same value here, and returns it.
///
/// # Safety
/// 1. Each thread of the set calls it equally often, and of the `n`-th calls all values are equal.
///
/// # PTX
/// `mov`, which ptxas removes, behind a comment that the builder and the emulator read.
///
/// # Examples
/// ```
/// # #![cfg_attr(target_arch = "nvptx64", no_std)]
/// use baton::prelude::*;
/// use baton::sem::{Acquire, Relaxed};
///
/// /// Rounds are agreed on before the flag goes up, and not changed any more.
/// #[baton::kernel(threads = 64)]
/// pub fn rounds(cta: Cta<'_, NoShared, 64>, words: GlobalPtr<u32>) -> Exit<'_> {
///     let mut cta = cta;
///     // SAFETY: the host zeroes the words, and threads use them through this alone.
///     let words = unsafe { words.atomics::<Gpu, _, 64>(&cta) };
///     while words.at(0).load::<Acquire>().value() == 0 {}
///     // SAFETY: (1) nobody writes the word behind the flag, so all threads read one number, once.
///     let rounds = unsafe { same(&mut cta, words.at(1).load::<Relaxed>().value()) };
///     for _ in 0..rounds {
///         cta.barrier();
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[inline(always)]
pub unsafe fn same<S: Set, T: OneValue>(set: &mut S, value: T) -> T {
    let _ = set;
    value.marked(S::THREADS)
}

macro_rules! one_value {
    ($($ty:ident as $bits:ident by $warp:ident $group:ident $cta:ident: $to:expr, $from:expr;)*) => {$(
        impl OneValue for $ty {}
        impl Marked for $ty {
            #[inline(always)]
            fn marked(self, threads: u32) -> Self {
                let to: fn($ty) -> $bits = $to;
                let from: fn($bits) -> $ty = $from;
                match threads {
                    1 => self,
                    32 => from(mark::$warp(to(self))),
                    // Groups of four warps begin at multiples of four.
                    128 => from(mark::$group(to(self))),
                    _ => from(mark::$cta(to(self))),
                }
            }
        }
    )*};
}

one_value! {
    u32 as u32 by same_in_warp same_in_group same_in_cta: |v| v, |v| v;
    i32 as u32 by same_in_warp same_in_group same_in_cta: |v| v as u32, |v| v as i32;
    f32 as u32 by same_in_warp same_in_group same_in_cta: f32::to_bits, f32::from_bits;
    bool as u32 by same_in_warp same_in_group same_in_cta: u32::from, |v| v != 0;
    u64 as u64 by same_in_warp_64 same_in_group_64 same_in_cta_64: |v| v, |v| v;
    i64 as u64 by same_in_warp_64 same_in_group_64 same_in_cta_64: |v| v as u64, |v| v as i64;
}
