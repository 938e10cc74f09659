//! One kernel writes an array, another reads it and says what it did not expect.
//!
//! They do nothing about order between launches: that is the host's, and what the example is about. Each exists
//! twice, for the typed launch and for a launch with plain device pointers.
#![no_std]

use baton::prelude::*;
use baton::ptx::addr::{Addr, Global};
use baton::ptx::{control, fence, ld, sreg, st};
use baton::scope::Cta as CtaScope;
use baton::sem::AcqRel;

/// Threads of a CTA.
pub const THREADS: u32 = 128;

/// What element `index` holds in round `round`.
pub const fn value(round: u32, index: u64) -> u32 {
    round.wrapping_mul(0x9e37_79b9) ^ index as u32
}

/// Sleeps for some microseconds, about `pauses` of them.
#[inline(always)]
fn linger(pauses: u32) {
    let mut pause = 0;
    while pause < pauses {
        control::nanosleep(1000);
        pause += 1;
    }
    // No load of what follows is moved up to before the sleep.
    fence::fence::<AcqRel, CtaScope>();
}

/// Gives every element its value of this round.
#[baton::kernel(threads = 128, no_stack)]
pub fn write(cta: Cta<'_, NoShared, THREADS>, data: GlobalPtr<u32>, round: u32) -> Exit<'_> {
    let mut mine = data.partition(&cta);
    let mut k = 0;
    while k < mine.len() {
        mine.put(k, value(round, mine.index(k)));
        k += 1;
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// Waits a while, reads every element once, and adds the number of those that are not of this round to `wrong`, of
/// which each thread has its own element.
#[baton::kernel(threads = 128, no_stack)]
pub fn read(
    cta: Cta<'_, NoShared, THREADS>,
    data: ReadOnly<u32>,
    wrong: GlobalPtr<u32>,
    round: u32,
    pauses: u32,
) -> Exit<'_> {
    linger(pauses);
    let mut mine = wrong.partition(&cta);
    let threads = mine.index(1) - mine.index(0);
    let mut index = mine.index(0);
    let mut count = mine.get(0);
    while index < data.len() {
        count += (data.get(index) != value(round, index)) as u32;
        index += threads;
    }
    mine.put(0, count);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The elements of a plain array that this thread goes through: where each lies, and its number.
#[inline(always)]
fn each(data: u64, len: u64, mut visit: impl FnMut(Addr<Global>, u64)) {
    let threads = (sreg::nctaid_x() * THREADS) as u64;
    let mut index = thread();
    while index < len {
        visit(Addr::from_raw(data + 4 * index), index);
        index += threads;
    }
}

/// This thread's number in the grid.
#[inline(always)]
fn thread() -> u64 {
    (sreg::ctaid_x() * THREADS + sreg::tid_x()) as u64
}

/// [`write`](write()) with a plain pointer to `len` words.
#[baton::kernel(threads = 128, no_stack)]
pub fn write_plain(cta: Cta<'_, NoShared, THREADS>, data: u64, len: u64, round: u32) -> Exit<'_> {
    // SAFETY: the host passes an array of `len` words, and the threads go through different elements.
    each(data, len, |at, index| unsafe { st::st_weak(at, value(round, index)) });
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// [`read`](read()) with plain pointers: `len` words of data, and a counter for each thread.
#[baton::kernel(threads = 128, no_stack)]
pub fn read_plain(
    cta: Cta<'_, NoShared, THREADS>,
    data: u64,
    len: u64,
    wrong: u64,
    round: u32,
    pauses: u32,
) -> Exit<'_> {
    linger(pauses);
    let mine = Addr::<Global>::from_raw(wrong + 4 * thread());
    // SAFETY: the host passes a counter for each thread.
    let mut count: u32 = unsafe { ld::ld_weak(mine) };
    each(data, len, |at, index| {
        // SAFETY: the host passes an array of `len` words.
        let found: u32 = unsafe { ld::ld_weak(at) };
        count += (found != value(round, index)) as u32;
    });
    // SAFETY: as above.
    unsafe { st::st_weak(mine, count) };
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}
