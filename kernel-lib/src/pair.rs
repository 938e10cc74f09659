//! Tensor memory of a pair of CTAs: what `cta_group::2` instructions work on.
//!
//! A field `tensor: Pair<256>` of a layout is an allocation that the two CTAs of a cluster make and give back
//! together. A kernel uses one `cta_group` throughout (rule D10): a layout has either this or accumulators of single CTAs,
//! and a kernel with this is launched in clusters of two. Neither CTA gives the memory back, nor exits, while the other may
//! still use it: [`PairTensor::dealloc`] takes the token of the cluster whose roles have all ended (rule D13).
//!
//! The instructions on it are those of layer 0 ([`ptx::tcgen05`]), which are `unsafe`; what the types
//! here keep is who allocates, when it ends, and that the two belong together. For matrix products there are safe
//! [accumulators of a pair](crate::pair_accumulator).
//!
//! ```
//! use baton::pair::Pair;
//! use baton::prelude::*;
//!
//! baton::shared! {
//!     pub struct Smem in smem { tensor: Pair<256> }
//! }
//!
//! #[baton::kernel(threads = 128, cluster = 2)]
//! fn pairs(cta: Cta<'_, Smem, 128>) -> Exit<'_> {
//!     let (cta, smem::Parts { tensor, .. }) = cta.claim();
//!     let mut joined = cta.join().join_peers();
//!     let closed = tensor.dealloc(&mut joined);
//!     joined.exit((closed,))
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::accumulator::Deallocated;
use crate::layout::{Field, TENSOR_COLUMNS};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCta, Tmem};
use crate::require;
use crate::token::{Brand, Cta, Marks, PeersJoined, sealed};

/// Says that this CTA leads its pair: it is the one of even rank. See [`Cta::pair_leader`].
///
/// It speaks of the CTA and not of a thread, so that every role may have it.
pub struct PairLeader<'k>(Brand<'k>);

impl Clone for PairLeader<'_> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl Copy for PairLeader<'_> {}

impl<'k, L, const THREADS: u32> Cta<'k, L, THREADS> {
    /// Whether this CTA leads its pair. Instructions of a pair are issued by the leader, on whose barriers the copies of both
    /// complete, and what observes or issues them asks for what this returns. The other CTA loads its own part, and drains it.
    ///
    /// # PTX
    /// `%cluster_ctarank`, PTX 7.8, sm_90 (ISA 10.16): the CTAs of a pair differ in its last bit (ISA 9.7.16.2.1).
    #[inline(always)]
    pub fn pair_leader(&self) -> Option<PairLeader<'k>> {
        leads().then_some(PairLeader(PhantomData))
    }
}

/// Whether this CTA leads its pair.
#[inline(always)]
pub(crate) fn leads() -> bool {
    ptx::sreg::cluster_ctarank() & 1 == 0
}

/// The rank of the CTA that leads the pair of this one.
#[inline(always)]
pub(crate) fn leader() -> u32 {
    ptx::sreg::cluster_ctarank() & !1
}

/// Both CTAs of this one's pair, as the mask of a multicast.
#[inline(always)]
pub(crate) fn both() -> u16 {
    0b11 << leader()
}

/// `COLS` columns of tensor memory in each of two CTAs, allocated together: a field of a layout.
pub struct Pair<const COLS: u32>(());

/// The allocation of a pair of CTAs, in the hands of one of them.
#[must_use = "tensor memory must be deallocated before the kernel ends (rule D8)"]
pub struct PairTensor<'k, Tag> {
    address: u32,
    columns: u32,
    brand: Brand<'k>,
    field: Marks<Tag>,
}

// SAFETY: (1) nothing to initialise; (2) no bytes, and the columns (I7); (3) `Closed` comes from `dealloc` (I21).
unsafe impl<const COLS: u32> Field for Pair<COLS> {
    const BYTES: u32 = 0;
    const ALIGN: u32 = 4;
    const COLUMNS: u32 = {
        require(
            COLS >= 1 && COLS <= TENSOR_COLUMNS,
            "rule D9: an SM has 512 columns of tensor memory: ask for at most as many (PTX ISA 9.7.16.7.1)",
        );
        COLS
    };
    const PAIR: bool = true;
    const CLUSTER: u32 = 2;
    const REMOTE_BARRIERS: bool = false;
    type Part<'k, Tag> = PairTensor<'k, Tag>;
    type Closed<'k, Tag> = Deallocated<'k, Tag>;

    #[inline(always)]
    unsafe fn init(_: Addr<SharedCta>, _: u32) {}

    #[inline(always)]
    unsafe fn part<'k, Tag>(_: Addr<SharedCta>, tensor: u32) -> Self::Part<'k, Tag> {
        PairTensor { address: tensor, columns: COLS, brand: PhantomData, field: PhantomData }
    }
}

/// A set of threads behind the barrier at which every role of both CTAs has ended.
#[diagnostic::on_unimplemented(
    message = "the other CTA of the pair may still use this tensor memory: `{Self}` joins the roles of one CTA",
    label = "missing `join_peers`",
    note = "rule D13: with `cta_group::2` an instruction of either CTA works on the tensor memory of both, so neither gives it \
            back, nor \
            exits, before the roles of both have ended (PTX ISA 9.7.16.7.1)",
    note = "`let mut joined = joined.join_peers();` waits for them; pass `&mut joined`"
)]
pub trait PeersHaveEnded: sealed::Sealed {}
impl<L, const THREADS: u32> PeersHaveEnded for PeersJoined<'_, L, THREADS> {}

impl<'k, Tag> PairTensor<'k, Tag> {
    /// Where this CTA's part begins, for instructions of layer 0. Code that begins one has to see it complete before its role
    /// ends.
    #[inline(always)]
    pub fn address(&self) -> Addr<Tmem> {
        Addr::from_raw(self.address)
    }

    /// The field's columns.
    #[inline(always)]
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Gives the memory back: the exit deallocates that of all fields, in both CTAs.
    #[inline(always)]
    pub fn dealloc<J>(
        self, // D8: tensor memory is deallocated once, by the joined CTAs; pass the proof to the exit
        joined: &mut J,
    ) -> Deallocated<'k, Tag>
    where
        J: PeersHaveEnded,
    {
        let _ = joined;
        // SAFETY: the roles of both CTAs have ended (I22), and what they began has completed, by the promise of who used the address (I21).
        unsafe { Deallocated::assume() }
    }
}
