//! Tests whose threads are in different CTAs.

use baton::prelude::*;
use baton::ptx::addr::{Addr, Global};
use baton::ptx::{fence, ld, sreg, st};
use baton::scope::{Cta as CtaScope, Scope};
use baton::sem::{AcqRel, Acquire, FenceSem, LoadSem, Relaxed, Release, Sc, StoreSem};

use crate::{LOCATIONS, Part, SLOTS, STRIDE, THREADS, disturb, meet};

/// Runs `body` as this thread's part, or disturbs.
///
/// # Safety
/// 1. `memory` has room for the locations of `blocks * THREADS` instances, zero; `results` for their slots; `scratch` for
///    [`SCRATCH`](crate::SCRATCH) words; `blocks` is a power of two.
/// 2. `body` keeps to the locations, and each role to its own slots.
#[inline(always)]
unsafe fn run<const ROLES: u32>(
    memory: Addr<Global>,
    results: Addr<Global>,
    scratch: Addr<Global>,
    (blocks, shuffle, stress): (u32, u32, u32),
    body: impl FnOnce(Part),
) {
    let cta = sreg::ctaid_x();
    if cta >= ROLES * blocks {
        // SAFETY: the caller's promise (1).
        return unsafe { disturb(scratch, stress, shuffle) };
    }
    let (role, count) = (cta % ROLES, blocks * THREADS);
    let own = cta / ROLES * THREADS + sreg::tid_x();
    // For each role another permutation: an odd factor has an inverse modulo a power of two.
    let instance =
        own.wrapping_mul((role * shuffle) | 1).wrapping_add(role * shuffle) & (count - 1);
    let place = |location: u32, instance: u32| {
        memory.offset((location * count + (instance & (count - 1))) * STRIDE * 4)
    };
    let part = Part {
        role,
        x: place(0, instance),
        y: place(1, instance ^ shuffle),
        results: results.offset(instance * SLOTS * 4),
    };
    // SAFETY: the third location of each instance, which nothing else uses.
    unsafe { meet(place(LOCATIONS - 1, instance), ROLES) };
    body(part);
}

/// Message passing: the data is read only if the flag was seen.
///
/// # Safety
/// As (2) of [`run`].
#[inline(always)]
unsafe fn message_passing<R: StoreSem, A: LoadSem, S: Scope>(part: Part) {
    let Part { role, x, y, .. } = part;
    // SAFETY: the caller's promise. That some of the tests race is what they are for.
    unsafe {
        if role == 0 {
            st::st_weak(x, 1u32);
            st::st::<R, S, _, u32>(y, 1);
        } else {
            let flag: u32 = ld::ld::<A, S, _, u32>(y);
            let data = if flag == 1 { ld::ld_weak(x) } else { 1u32 };
            part.result(0, flag);
            part.result(1, data);
        }
    }
}

/// Store buffering: each stores, and loads what the other stores.
///
/// # Safety
/// As (2) of [`run`].
#[inline(always)]
unsafe fn store_buffering<F: FenceSem>(part: Part) {
    let (mine, other) = if part.role == 0 { (part.x, part.y) } else { (part.y, part.x) };
    // SAFETY: the caller's promise.
    unsafe {
        st::st::<Relaxed, Gpu, _, u32>(mine, 1);
        fence::fence::<F, Gpu>();
        let seen = ld::ld::<Relaxed, Gpu, _, u32>(other);
        part.result(part.role, seen);
    }
}

/// Load buffering: each loads what the other stores, and stores.
///
/// # Safety
/// As (2) of [`run`].
#[inline(always)]
unsafe fn load_buffering<A: LoadSem, R: StoreSem>(part: Part) {
    let (other, mine) = if part.role == 0 { (part.x, part.y) } else { (part.y, part.x) };
    // SAFETY: the caller's promise.
    unsafe {
        let seen = ld::ld::<A, Gpu, _, u32>(other);
        st::st::<R, Gpu, _, u32>(mine, 1);
        part.result(part.role, seen);
    }
}

/// Independent reads of independent writes: two store, two load in opposite orders, with `between` in between.
///
/// # Safety
/// As (2) of [`run`].
#[inline(always)]
unsafe fn independent_reads<A: LoadSem>(part: Part, between: impl FnOnce()) {
    let Part { role, x, y, .. } = part;
    // SAFETY: the caller's promise.
    unsafe {
        match role {
            0 => st::st::<Relaxed, Gpu, _, u32>(x, 1),
            1 => st::st::<Relaxed, Gpu, _, u32>(y, 1),
            _ => {
                let (first, second) = if role == 2 { (x, y) } else { (y, x) };
                let before = ld::ld::<A, Gpu, _, u32>(first);
                between();
                let after = ld::ld::<Relaxed, Gpu, _, u32>(second);
                part.result((role - 2) * 2, before);
                part.result((role - 2) * 2 + 1, after);
            }
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident<$roles:literal> = |$part:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[baton::kernel(threads = 128, no_stack)]
        pub fn $name(
            cta: Cta<'_, NoShared, THREADS>,
            memory: GlobalPtr<u32>,
            results: GlobalPtr<u32>,
            scratch: GlobalPtr<u32>,
            blocks: u32,
            shuffle: u32,
            stress: u32,
        ) -> Exit<'_> {
            let arrays = (memory.address(), results.address(), scratch.address());
            // SAFETY: (1) is what the crate's comment asks of the host; (2) the bodies are those above.
            unsafe {
                run::<$roles>(arrays.0, arrays.1, arrays.2, (blocks, shuffle, stress), |$part| {
                    // SAFETY: as above.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                });
            }
            let (cta, ()) = cta.claim();
            cta.join().exit(())
        }
    )*};
}

kernels! {
    /// `tests/litmus/stress/mp.litmus`
    mp<2> = |part| message_passing::<Release, Acquire, Gpu>(part);
    /// `tests/litmus/stress/mp_relaxed.litmus`
    mp_relaxed<2> = |part| message_passing::<Relaxed, Relaxed, Gpu>(part);
    /// `tests/litmus/stress/mp_cta.litmus`
    mp_cta<2> = |part| message_passing::<Release, Acquire, CtaScope>(part);
    /// `tests/litmus/stress/sb.litmus`
    sb<2> = |part| store_buffering::<Sc>(part);
    /// `tests/litmus/stress/sb_acq_rel.litmus`
    sb_acq_rel<2> = |part| store_buffering::<AcqRel>(part);
    /// `tests/litmus/stress/lb.litmus`
    lb<2> = |part| load_buffering::<Acquire, Release>(part);
    /// `tests/litmus/stress/lb_relaxed.litmus`
    lb_relaxed<2> = |part| load_buffering::<Relaxed, Relaxed>(part);
    /// `tests/litmus/stress/iriw.litmus`
    iriw<4> = |part| independent_reads::<Relaxed>(part, fence::fence::<Sc, Gpu>);
    /// `tests/litmus/stress/iriw_acquire.litmus`
    iriw_acquire<4> = |part| independent_reads::<Acquire>(part, || ());
}
