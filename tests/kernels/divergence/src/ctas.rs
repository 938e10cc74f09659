//! A CTA whose threads part.

use baton::global::TheWarp;
use baton::prelude::*;
use baton::sem::{Acquire, Relaxed};

use crate::for_a_cta;

for_a_cta! {
    /// Wrong: warps that lie across the end.
    across_the_end |me, input, n, out| {
        let unit = (48 * me.index().x + me.rank()) / 32;
        if unit < n { // branch
            out = me.shfl(n + me.rank(), 5) // meets
        }
    }

    /// Wrong: a grid stride in which each thread has its own end.
    own_end_of_a_stride |me, input, n, out| {
        let mut at = 96 * me.index().x + me.rank();
        while at < n { // branch
            out += input.get(at as u64);
            me.barrier(); // meets
            at += 96 * me.grid().x
        }
    }

    /// Wrong: the first warp comes.
    first_warp |me, input, n, out| {
        if me.rank() < 32 { // branch
            me.barrier() // meets
        }
    }

    /// Wrong: each warp has its own vote.
    vote_of_each_warp |me, input, n, out| {
        if me.any(input.get(me.rank() as u64) > 3) { // branch
            me.barrier(); // meets
            out = 1
        }
    }

    /// Wrong: whether the own element exists.
    if_there_is_an_element |me, input, n, out| {
        if 96 * me.index().x + me.rank() < n { // branch
            me.barrier() // meets
        }
    }

    /// Wrong: each warp as often as its number.
    as_often_as_the_warp |me, input, n, out| {
        for _ in 0..me.rank() / 32 { // branch
            me.barrier() // meets
        }
    }

    /// Units of whole warps.
    units_of_warps |me, input, n, out| {
        let unit = (96 * me.index().x + me.rank()) / 32;
        if unit < n {
            out = me.shfl(n + me.rank(), 5)
        }
        me.barrier();
    }

    /// A stride of warps.
    stride_of_warps |me, input, n, out| {
        let mut unit = (96 * me.index().x + me.rank()) / 32;
        while unit < n {
            out += me.sum(input.get((32 * unit + me.lane()) as u64));
            unit += 3 * me.grid().x
        }
    }

    /// A stride of CTAs.
    stride_of_ctas |me, input, n, out| {
        let mut first = 96 * me.index().x;
        while first < n {
            if first + me.rank() < n {
                out += input.get((first + me.rank()) as u64)
            }
            me.barrier();
            first += 96 * me.grid().x
        }
    }

    /// The warp's number by a shuffle.
    shuffled_warp_number |me, input, n, out| {
        let number = me.rank() / 32;
        let number = me.shfl(number, 0);
        if number == 1 {
            out = me.sum(n)
        } else if number == 2 {
            out = me.shfl(me.rank(), 2)
        }
    }

    /// From the first element of the warp.
    from_the_first_of_the_warp |me, input, n, out| {
        let first = (96 * me.index().x + me.rank()) / 32 * 32;
        for at in first..n {
            out += me.sum(input.get(at as u64))
        }
    }

    /// The number of the CTA decides.
    by_the_cta |me, input, n, out| {
        if me.index().x < n {
            me.barrier();
            out = 1
        }
        for _ in 0..me.index().y {
            me.barrier()
        }
    }

    /// Nothing in the branch needs the others.
    nothing_to_meet_for |me, input, n, out| {
        if me.rank() < 64 {
            out = input.get(3)
        }
        me.barrier();
    }

    /// Two warps do something of their own.
    two_warps_apart |me, input, n, out| {
        if me.rank() >= 32 {
            out = me.shfl(n + me.rank(), 5)
        }
        me.barrier();
    }

    /// One word for each CTA.
    a_word_of_the_cta |me, input, n, out| {
        for _ in 0..input.get(me.index().x as u64) {
            me.barrier();
            out += 1
        }
    }
}

/// Wrong: the shared memory is claimed in two arms.
#[baton::kernel(threads = 64)]
pub fn claimed_in_arms(cta: Cta<'_, NoShared, 64>, n: u32) -> Exit<'_> {
    if cta.rank() < 7 { // branch
        let (mut cta, ()) = cta.claim();
        cta.barrier(); // meets
        cta.join().exit(())
    } else {
        let (cta, ()) = cta.claim();
        cta.join().exit(())
    }
}

/// Wrong: the roles are given in two arms.
#[baton::kernel(threads = 64)]
pub fn roles_in_arms(cta: Cta<'_, NoShared, 64>, n: u32, out: GlobalPtr<u32, TheWarp<0>>) -> Exit<'_> {
    let (cta, ()) = cta.claim();
    let joined = if cta.rank() % 32 < 16 { // branch
        let quiet = warp(move |mut me| me.barrier());
        let busy = warp(move |mut me| {
            me.barrier();
            me.barrier()
        });
        cta.roles((quiet, busy)).0
    } else {
        let writes = warp(move |mut me| {
            let word = me.shfl(n, 1);
            out.partition(&me).put(0, word)
        });
        cta.roles((writes, warp(move |mut me| me.barrier()))).0
    };
    joined.exit(())
}

/// Wrong: each thread's own atomic says whether it comes.
#[baton::kernel(threads = 32)]
pub fn by_an_atomic(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    while words.at(0).fetch_add::<Relaxed>(1).value() < 100 { // branch
        me.barrier() // meets
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// Wrong: all poll, and meet in between.
#[baton::kernel(threads = 32)]
pub fn polled_with_a_barrier(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    while words.at(0).load::<Acquire>().value() == 0 { // branch
        me.barrier() // meets
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// All poll, and meet behind it.
#[baton::kernel(threads = 32)]
pub fn polled(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    while words.at(0).load::<Acquire>().value() == 0 {}
    me.barrier();
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// One lane's poll counts for all.
#[baton::kernel(threads = 32)]
pub fn polled_by_one(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    loop {
        let word = words.at(0).load::<Acquire>().value();
        if me.shfl(word, 0) != 0 {
            break;
        }
        me.barrier()
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// Refused though right: a strong load of what nobody writes any more. Only the protocol makes it one value, and `same` says so.
#[baton::kernel(threads = 32)]
pub fn settled(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    while words.at(0).load::<Acquire>().value() == 0 {}
    let rounds = words.at(1).load::<Relaxed>().value();
    for _ in 0..rounds {
        me.barrier()
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}

/// The same, with the word of its author.
#[baton::kernel(threads = 32)]
pub fn settled_and_said(cta: Cta<'_, NoShared, 32>, words: GlobalPtr<u32>) -> Exit<'_> {
    let mut me = cta;
    // SAFETY: nobody runs this kernel.
    let words = unsafe { words.atomics::<Gpu, _, 32>(&me) };
    while words.at(0).load::<Acquire>().value() == 0 {}
    // SAFETY: (1) nobody writes the word any more.
    let rounds = unsafe { same(&mut me, words.at(1).load::<Relaxed>().value()) };
    for _ in 0..rounds {
        me.barrier()
    }
    let (cta, ()) = me.claim();
    cta.join().exit(())
}
