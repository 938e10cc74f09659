//! Turns: CTAs that work on the same tile hold it one after the other, in a fixed order.

use super::{Guarded, Word};
use crate::dropped::{Hand, Turn};
use crate::held::{GoesOn, Held};
use crate::path::Handed;
use crate::ptx::sreg;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Release};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::Set;

/// An array in tiles, each of which the CTAs along z hold in turn: a kernel parameter.
///
/// The grid's x and y number the tiles, z the CTAs that share one: split-K, where each CTA has summed a part of K and
/// adds it to the tile. The order is always the same, so the sums are too. Each tile is `len / (x · y)` elements; the
/// host passes one word for each (too few trap).
///
/// A CTA waits for those of lower z, which the hardware starts first.
///
/// # Why that orders
/// `ld.acquire` that finds one's own turn reads what the CTA before wrote with `st.release`, or the host's zero (ISA
/// 8.8).
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::Semaphore;
///
/// /// Each CTA adds its part of the sum to the tile that it shares with the CTAs along z.
/// #[baton::kernel(threads = 128)]
/// fn split_k(cta: Cta<'_, NoShared, 128>, tiles: Semaphore<f32>) -> Exit<'_> {
///     let mut cta = cta;
///     let part = cta.index().z as f32;
///     let tile = tiles.take_turn(&mut cta);
///     let sum = if tile.turn() == 0 {
///         tile.fill(&mut cta, |_| part)
///     } else {
///         tile.update(&mut cta, |_, sum| sum + part)
///     };
///     sum.release(&mut cta);
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Semaphore<T, S = Gpu>(Guarded<T, S>);

/// Passes the tile to the next CTA.
pub struct Pass<S> {
    word: Word<S>,
    turn: u32,
    hand: Hand<Turn>,
}

impl<T: Element, S: Scope> Semaphore<T, S> {
    /// Waits for this CTA's turn at its tile, and takes the tile.
    ///
    /// # PTX
    /// By one thread a loop over `ld.acquire.S.global.b32`; then the set's barrier. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn take_turn<C: Set>(
        self, // A9: a CTA has one turn; do all of it with the array that this returns
        set: &mut C,
    ) -> Held<T, C, Handed, Pass<S>>
    where
        S: Includes<Gpu>,
    {
        crate::ptx::mark::opened_semaphore::<C>(self.0.words);
        let tile = sreg::ctaid_x() as u64 + sreg::nctaid_x() as u64 * sreg::ctaid_y() as u64;
        let tiles = sreg::nctaid_x() as u64 * sreg::nctaid_y() as u64;
        check(tile < self.0.objects);
        // SAFETY: in range, by the check above (I24).
        let word = unsafe { self.0.word(tile) };
        let turn = sreg::ctaid_z();
        set.lead(|| while word.load::<Acquire>().value() != turn {});
        set.barrier_for(word.raw());
        let len = self.0.len / tiles;
        let data = self.0.data + tile * len * size_of::<T>() as u64;
        let next = Pass { word, turn, hand: Hand::new() };
        // SAFETY: (1) the tile lies in the parameter's array (I24); (2) a turn is one CTA's, whose threads give it to one set (I9),
        // and ends with its `hand_on` (I13); (3) the leader acquired what the turn before released, and the set's barrier
        // passed it on (I25).
        unsafe { Held::new(data, len, next) }
    }
}

impl<T: Element, C: Set, State, S> Held<T, C, State, Pass<S>> {
    /// Which turn it is: 0 for the first, which finds the host's contents.
    #[inline(always)]
    pub fn turn(&self) -> u32 {
        self.next().turn
    }
}

impl<S: Scope> GoesOn for Pass<S> {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.word.raw()
    }
    #[inline(always)]
    fn hand_on(&self) {
        self.word.store::<Release>(self.turn + 1);
    }
    #[inline(always)]
    fn settle(self) {
        self.hand.settle();
    }
}
