//! Tests whose threads share a CTA and its shared memory: mbarriers, and the proxy of bulk copies.

use baton::layout::{Base, Layout};
use baton::prelude::*;
use baton::ptx::addr::{Addr, Global, SharedCta};
use baton::ptx::{barrier, bulk, fence, ld, mbarrier, sreg, st};
use baton::scope::Cta as CtaScope;
use baton::sem::{Acquire, ArriveSem, Relaxed, Release, WaitSem};

use crate::{LOCATIONS, SLOTS, STRIDE, THREADS, disturb, meet};

/// Pairs of threads of a CTA: an arriving and a waiting one.
pub const PAIRS: u32 = THREADS / 2;

/// Bytes of a bulk copy, of which the first word counts.
const COPY: u32 = 16;
/// Where the sources of copies begin, behind the barriers.
const SOURCES: u32 = PAIRS * 8;

/// A barrier for each pair, and a source of a copy for each thread.
pub struct Place(());

// SAFETY: there are no fields; `init` initialises the barriers, and the threads their sources.
unsafe impl Layout for Place {
    const BYTES: u32 = SOURCES + THREADS * COPY;
    const COLUMNS: u32 = 0;
    type Parts<'k> = Addr<SharedCta>;
    type Closed<'k> = ();
    #[inline(always)]
    unsafe fn init(base: Base, _: u32) {
        let mut pair = 0;
        while pair < PAIRS {
            // SAFETY: a barrier's place, before anyone uses it.
            unsafe { mbarrier::init(base.offset(8 * pair), 1) };
            pair += 1;
        }
    }
    #[inline(always)]
    unsafe fn parts<'k>(base: Base, _: u32) -> Self::Parts<'k> {
        base
    }
}

/// The arguments of a kernel, as addresses.
#[derive(Clone, Copy)]
struct Arrays {
    memory: Addr<Global>,
    results: Addr<Global>,
    scratch: Addr<Global>,
}

impl Arrays {
    /// Location and results of an instance, of `count`.
    #[inline(always)]
    fn of(&self, instance: u32) -> (Addr<Global>, Addr<Global>) {
        (self.memory.offset(instance * STRIDE * 4), self.results.offset(instance * SLOTS * 4))
    }
}

/// Data in global memory, handed over by an mbarrier.
///
/// # Safety
/// As [`between`](crate::between) demands of its caller (1), with [`PAIRS`] instances for each CTA.
#[inline(always)]
unsafe fn hand_over<R: ArriveSem, A: WaitSem>(
    arrays: Arrays,
    place: Addr<SharedCta>,
    (blocks, shuffle, stress): (u32, u32, u32),
) {
    let (cta, thread) = (sreg::ctaid_x(), sreg::tid_x());
    if cta >= blocks {
        // SAFETY: the caller's promise.
        return unsafe { disturb(arrays.scratch, stress, shuffle) };
    }
    let waits = thread >= PAIRS;
    let pair = if waits { (thread ^ shuffle) % PAIRS } else { thread };
    let instance = cta * PAIRS + pair;
    let (data, results) = arrays.of(instance);
    let count = blocks * THREADS;
    let bar = place.offset(8 * pair);
    // SAFETY: the barrier is initialised, and each pair has its own, with its own location and results. That one of the
    // tests races is what it is for.
    unsafe {
        meet(arrays.of((LOCATIONS - 1) * count + instance).0, 2);
        if waits {
            while !mbarrier::try_wait_parity::<A, CtaScope>(bar, 0) {}
            let seen: u32 = ld::ld_weak(data);
            st::st_weak(results, seen);
        } else {
            st::st_weak(data, 1u32);
            mbarrier::arrive::<R, CtaScope>(bar);
        }
    }
}

/// A word that the thread stores to shared memory, copied by the async proxy, and read again.
///
/// # Safety
/// As [`hand_over`], with [`THREADS`] instances for each CTA.
#[inline(always)]
unsafe fn copy(
    arrays: Arrays,
    place: Addr<SharedCta>,
    (blocks, shuffle, stress): (u32, u32, u32),
    before: impl FnOnce(Addr<SharedCta>),
    wait: impl FnOnce(),
) {
    let (cta, thread) = (sreg::ctaid_x(), sreg::tid_x());
    if cta >= blocks {
        // SAFETY: the caller's promise.
        return unsafe { disturb(arrays.scratch, stress, shuffle) };
    }
    let source = place.offset(SOURCES + COPY * thread);
    let (copied, results) = arrays.of(cta * THREADS + thread);
    // SAFETY: source, destination and results are this thread's own; the copy has ended when this returns. That some of
    // the tests race is what they are for.
    unsafe {
        st::st_weak_v4(source, [0u32; 4]);
        fence::fence_proxy_async();
        barrier::bar_sync(0);
        before(source);
        bulk::cp_async_bulk_to_global(copied, source, COPY);
        bulk::commit_group();
        wait();
        let seen: u32 = ld::ld_weak(copied);
        bulk::wait_group::<0>();
        st::st_weak(results, seen);
    }
}

/// Stores the word, in the generic proxy.
#[inline(always)]
fn store(source: Addr<SharedCta>) {
    // SAFETY: called by `copy` only, with the thread's own source.
    unsafe { st::st_weak(source, 1u32) }
}

/// Stores the word, and fences.
#[inline(always)]
fn store_and_fence(source: Addr<SharedCta>) {
    store(source);
    fence::fence_proxy_async();
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident = |$arrays:ident, $place:ident, $numbers:ident| $run:expr;)*) => {$(
        $(#[$doc])*
        #[baton::kernel(threads = 128, no_stack)]
        pub fn $name(
            cta: Cta<'_, Place, THREADS>,
            memory: GlobalPtr<u32>,
            results: GlobalPtr<u32>,
            scratch: GlobalPtr<u32>,
            blocks: u32,
            shuffle: u32,
            stress: u32,
        ) -> Exit<'_> {
            let (cta, $place) = cta.claim();
            let [memory, results, scratch] =
                [memory.address(), results.address(), scratch.address()];
            let $arrays = Arrays { memory, results, scratch };
            let $numbers = (blocks, shuffle, stress);
            // SAFETY: what the crate's comment asks of the host.
            #[allow(unused_unsafe)]
            unsafe {
                $run
            };
            cta.join().exit(())
        }
    )*};
}

kernels! {
    /// `tests/litmus/stress/mbarrier.litmus`
    mbarrier_acquire = |arrays, place, numbers| hand_over::<Release, Acquire>(arrays, place, numbers);
    /// `tests/litmus/stress/mbarrier_relaxed.litmus`
    mbarrier_relaxed = |arrays, place, numbers| hand_over::<Relaxed, Relaxed>(arrays, place, numbers);
    /// `tests/litmus/proxies/B1_same_thread_async.litmus`
    proxy_fence = |arrays, place, numbers| copy(arrays, place, numbers, store_and_fence, bulk::wait_group::<0>);
    /// `tests/litmus/proxies/B1_same_thread_none.litmus`
    proxy_none = |arrays, place, numbers| copy(arrays, place, numbers, store, bulk::wait_group::<0>);
    /// `tests/litmus/async/B7_destination_read.litmus`
    proxy_read = |arrays, place, numbers| copy(arrays, place, numbers, store_and_fence, bulk::wait_group_read::<0>);
}
