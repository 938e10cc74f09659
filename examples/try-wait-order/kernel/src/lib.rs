//! A warp waits for an mbarrier and reads the clock; a thread reads the clock and arrives.
//!
//! In each turn of its loop the waiting warp does three things, in this order:
//!
//! ```text
//!   mbarrier.try_wait.parity.relaxed.cluster  complete, [barrier], 0
//!   mov                                       clock, %globaltimer      does not use `complete`
//!   selp                                      done, 1, 0, complete     does
//! ```
//!
//! If a wait held back everything behind it, the clock of the turn that succeeds could not be earlier than the one that
//! the producer read before its arrival. It is one block of assembly, so that nothing stands in between.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

use baton::layout::{Base, Layout};
use baton::prelude::*;
use baton::ptx::addr::{Addr, SharedCta};
use baton::ptx::{barrier, ld, mbarrier, sreg, st};
use baton::scope::Cta as CtaScope;
use baton::sem::{Relaxed, Release};

/// Threads of the CTA: the waiting warp, and the one of which thread 32 arrives.
pub const THREADS: u32 = 64;

/// Words that a run writes.
pub const WORDS: u64 = 8;

/// What the words of a run are.
pub mod word {
    /// The clocks of the waiter's last turn, which do not depend on the answer: nanoseconds.
    pub const FREE_NANOSECONDS: usize = 0;
    /// The same, cycles of the multiprocessor.
    pub const FREE_CYCLES: usize = 1;
    /// The clocks that the waiter read when it had left its loop, nanoseconds.
    pub const AFTER_NANOSECONDS: usize = 2;
    /// The same, cycles.
    pub const AFTER_CYCLES: usize = 3;
    /// The clocks that the producer read before it arrived, nanoseconds.
    pub const ARRIVES_NANOSECONDS: usize = 4;
    /// The same, cycles.
    pub const ARRIVES_CYCLES: usize = 5;
    /// Turns of the waiter's loop.
    pub const TURNS: usize = 6;
    /// 1 if the phase was still open when the waiter came, as it has to be.
    pub const WAS_OPEN: usize = 7;
}

const ARMED: u32 = 8;

/// The barrier, and behind it the word by which the waiter lets the producer begin.
pub struct Place(());

// SAFETY: there are no fields; `init` initialises what lies in the first BYTES.
unsafe impl Layout for Place {
    const BYTES: u32 = ARMED + 4;
    const COLUMNS: u32 = 0;
    type Parts<'k> = Addr<SharedCta>;
    type Closed<'k> = ();
    #[inline(always)]
    unsafe fn init(base: Base, _: u32) {
        // SAFETY: the barrier's and the word's place, before anyone uses them.
        unsafe {
            mbarrier::init(base, 1);
            st::st_weak(base.offset(ARMED), 0u32);
        }
    }
    #[inline(always)]
    unsafe fn parts<'k>(base: Base, _: u32) -> Self::Parts<'k> {
        base
    }
}

/// One turn of the wait: whether the phase is complete, and both clocks, which do not wait for the answer.
///
/// # Safety
/// A live mbarrier is at `barrier`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), allow(unused))]
unsafe fn turn(barrier: Addr<SharedCta>) -> (bool, u64, u64) {
    #[cfg(target_arch = "nvptx64")]
    {
        let (complete, nanoseconds, cycles): (u32, u64, u64);
        // SAFETY: the caller's promise; the assembly writes its outputs only.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred complete;",
                "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 complete, [{}], 0;",
                "mov.u64 {}, %globaltimer;",
                "mov.u64 {}, %clock64;",
                "selp.u32 {}, 1, 0, complete;",
                "}}",
                in(reg32) barrier.raw(),
                out(reg64) nanoseconds,
                out(reg64) cycles,
                out(reg32) complete,
                options(nostack)
            );
        }
        (complete != 0, nanoseconds, cycles)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    unreachable!("this function runs on a device")
}

/// One run: `words` becomes the [`word`]s. The producer arrives about `delay` cycles after the waiter has begun.
///
/// Launched on one CTA.
#[baton::kernel(threads = 64, no_stack)]
pub fn order(cta: Cta<'_, Place, THREADS>, words: GlobalPtr<u64>, delay: u32) -> Exit<'_> {
    let (cta, place) = cta.claim();
    let armed = place.offset(ARMED);
    let thread = sreg::tid_x();
    let write = |word: usize, value: u64| {
        // SAFETY: the array has the words of one run, and each is written by one thread.
        unsafe { st::st_weak(words.address().offset(8 * word as u32), value) };
    };
    if thread < 32 {
        // SAFETY: the claim has initialised the barrier and the word; the phase asked for is the first. Nothing is
        // read that the wait would have to make visible.
        unsafe {
            let is_open = !mbarrier::test_wait_parity::<Relaxed, Cluster>(place, 0);
            barrier::bar_warp_sync(u32::MAX);
            if thread == 0 {
                st::st::<Relaxed, CtaScope, _, u32>(armed, 1);
            }
            let mut turns = 1;
            let (mut complete, mut nanoseconds, mut cycles) = turn(place);
            while !complete {
                turns += 1;
                (complete, nanoseconds, cycles) = turn(place);
            }
            let (after_nanoseconds, after_cycles) = (sreg::globaltimer(), sreg::clock64());
            if thread == 0 {
                write(word::FREE_NANOSECONDS, nanoseconds);
                write(word::FREE_CYCLES, cycles);
                write(word::AFTER_NANOSECONDS, after_nanoseconds);
                write(word::AFTER_CYCLES, after_cycles);
                write(word::TURNS, turns);
                write(word::WAS_OPEN, is_open as u64);
            }
        }
    } else if thread == 32 {
        // SAFETY: as above; the one arrival that the barrier counts.
        unsafe {
            while ld::ld::<Relaxed, CtaScope, _, u32>(armed) == 0 {}
            let start = sreg::clock64();
            while sreg::clock64().wrapping_sub(start) < delay as u64 {}
            let (nanoseconds, cycles) = (sreg::globaltimer(), sreg::clock64());
            mbarrier::arrive::<Release, CtaScope>(place);
            write(word::ARRIVES_NANOSECONDS, nanoseconds);
            write(word::ARRIVES_CYCLES, cycles);
        }
    }
    // SAFETY: all lanes of the warp come here.
    unsafe { barrier::bar_warp_sync(u32::MAX) };
    cta.join().exit(())
}
