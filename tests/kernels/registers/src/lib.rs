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
