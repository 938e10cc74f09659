//! Arrays that stay in registers, and some that do not.
#![no_std]

use baton::prelude::*;

/// Elements of each thread.
pub const CHUNK: usize = 24;

/// As many elements, each of which needs all before it, written out.
#[baton::kernel(threads = 32, no_stack)]
pub fn unrolled(
    cta: Cta<'_, NoShared, 32>,
    input: ReadOnly<f32>,
    output: GlobalPtr<f32>,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let mut values = [0.0f32; CHUNK];
    baton::unroll! {
        for i in 0..CHUNK {
            let value = input.get(32 * i as u64 + cta.rank() as u64);
            values[i] = if i > 0 { value.exp() + values[i - 1].tanh() } else { value };
        }
    }
    baton::unroll! {
        for i in 0..24 {
            mine.put(i as u64, values[23 - i]);
        }
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// A loop whose end only the launch knows: the array is memory.
// As a newcomer writes it.
#[allow(clippy::needless_range_loop)]
#[baton::kernel(threads = 32)]
pub fn rolled(
    cta: Cta<'_, NoShared, 32>,
    input: ReadOnly<f32>,
    output: GlobalPtr<f32>,
    count: u32,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let mut values = [0.0f32; CHUNK];
    for i in 0..count as usize % CHUNK {
        values[i] = input.get(32 * i as u64 + cta.rank() as u64);
    }
    for i in 0..CHUNK {
        mine.put(i as u64, values[(i + count as usize) % CHUNK]);
    }
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

/// The same, of which its author thinks that it is not.
#[cfg(feature = "refused")]
#[baton::kernel(threads = 32, no_stack)]
pub fn mistaken(
    cta: Cta<'_, NoShared, 32>,
    input: ReadOnly<f32>,
    output: GlobalPtr<f32>,
    at: u32,
) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let mut values = [0.0f32; CHUNK];
    baton::unroll! {
        for i in 0..CHUNK {
            values[i] = input.get(32 * i as u64 + cta.rank() as u64);
        }
    }
    mine.put(0, values[at as usize % CHUNK]);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

baton::shared! {
    /// One element for each thread.
    pub struct Smem in smem { values: Exchange<u32, 128> }
}

/// What a warp and a CTA make of one number of each thread: eight results for each thread, one behind the other.
#[baton::kernel(threads = 128, no_stack)]
pub fn together(cta: Cta<'_, Smem, 128>, input: ReadOnly<u32>, output: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = output.partition(&cta);
    let (mut cta, smem::Parts { values, .. }) = cta.claim();
    let region = values.open(&mut cta);
    let value = input.get(cta.rank() as u64);
    mine.put(0, cta.reduce(value, after));
    mine.put(1, cta.scan(value, after));
    mine.put(2, cta.scan_below(value, IDENTITY, after));
    let (place, count) = cta.place(value.is_multiple_of(3));
    mine.put(3, place);
    mine.put(4, count);
    mine.put(5, cta.least(value));
    mine.put(6, cta.greatest(value as i32) as u32);
    let (all, region) = region.reduce(&mut cta, value, after);
    // Once more, in the region that came back.
    let (again, region) = region.reduce(&mut cta, value, after);
    mine.put(7, if all == again { all } else { 0 });
    region.close(&mut cta);
    cta.join().exit(())
}

/// The map that does nothing, for [`after`].
pub const IDENTITY: u32 = 1 << 16;

/// One map `x → a·x + b` modulo 2¹⁶ after another, `a` in the upper half: associative, and in no other order the same.
pub const fn after(first: u32, second: u32) -> u32 {
    let (a, b) = (first >> 16, first & 0xffff);
    let (c, d) = (second >> 16, second & 0xffff);
    (a * c % 0x1_0000) << 16 | (b.wrapping_mul(c).wrapping_add(d)) & 0xffff
}
