//! What must be handed on is not dropped.
//!
//! Rust cannot force that a value is used. A value of this kind holds a [`Hand`], whose destructor calls a
//! function that does not exist and whose name says what was dropped; every consuming method settles it. A
//! call that survives optimisation fails the build of the kernel, and the builder names type and line.
//!
//! This finds mistakes early; no soundness rests on it. A value that is forgotten leaves its barrier
//! without an arrival: a deadlock, never a wrong number.

use core::marker::PhantomData;
use core::mem;

/// What a [`Hand`] holds on to.
pub trait Held {
    /// Called where a value is dropped without having been handed on.
    #[doc(hidden)]
    fn dropped();
}

/// A hand that must be settled.
pub(crate) struct Hand<H: Held>(PhantomData<H>);

impl<H: Held> Hand<H> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Hand(PhantomData)
    }

    /// The value was handed on.
    #[inline(always)]
    pub(crate) fn settle(self) {
        mem::forget(self)
    }
}

impl<H: Held> Drop for Hand<H> {
    #[inline(always)]
    fn drop(&mut self) {
        H::dropped()
    }
}

macro_rules! held {
    ($($(#[$doc:meta])* $name:ident = $symbol:ident;)*) => {
        #[cfg(target_arch = "nvptx64")]
        unsafe extern "C" {
            $(safe fn $symbol();)*
        }
        $(
            $(#[$doc])*
            pub enum $name {}
            impl Held for $name {
                #[inline(always)]
                fn dropped() {
                    #[cfg(target_arch = "nvptx64")]
                    $symbol()
                }
            }
        )*
    };
}

held! {
    /// A product of a warpgroup, with instructions in no group.
    Product = __baton_dropped_product;
    /// A stage of a ring.
    StageSlot = __baton_dropped_stage;
    /// An accumulator in tensor memory.
    Accumulator = __baton_dropped_accumulator;
    /// A staging buffer.
    StagingBuffer = __baton_dropped_staging_buffer;
    /// The exchange region of a CTA.
    ExchangeRegion = __baton_dropped_exchange_region;
    /// A region that peers of the cluster read.
    PeerRegion = __baton_dropped_peer_region;
    /// An array that a lock guards.
    LockedArray = __baton_dropped_locked_array;
    /// A turn at a semaphore.
    Turn = __baton_dropped_turn;
}
