//! One warp hands chunks of numbers to another through a ring of stages in shared memory.
//!
//! ```text
//!   producer: acquire, fill, publish ──ring──▶ consumer: wait, get, release
//!                                    ◀─────────
//! ```
//!
//! The consumer's lanes read what other lanes of the producer wrote, so every element depends on the hand-over.
#![no_std]

use baton::global::TheWarp;
use baton::prelude::*;

/// Stages of the ring.
pub const STAGES: u32 = 3;
/// Numbers that each lane adds to a chunk.
pub const ROWS: u32 = 4;
/// Numbers in a stage.
pub const CHUNK: usize = ROWS as usize * 32;

baton::shared! {
    /// What a CTA keeps in shared memory.
    pub struct Smem in smem {
        ring: Stages<STAGES, Linear<u32, CHUNK>, ByThreads, ByThreads>,
    }
}

/// Where number `item` of chunk `chunk` of CTA `block` lies in the whole: row by row of 32, the rows dealt out to
/// the CTAs.
pub const fn position(block: u32, blocks: u32, chunk: u64, item: u32) -> u64 {
    let row = chunk * ROWS as u64 + (item / 32) as u64;
    (row * blocks as u64 + block as u64) * 32 + (item % 32) as u64
}

/// Reverses each of `chunks` chunks of each CTA; beyond the end of `input` there are zeros.
#[baton::kernel(threads = 64, no_stack)]
pub fn reverse(
    cta: Cta<'_, Smem, 64>,
    input: ReadOnly<u32>,
    output: GlobalPtr<u32, TheWarp<1>>,
    chunks: u32,
) -> Exit<'_> {
    let (block, blocks) = (cta.index().x, cta.grid().x);
    let (cta, smem::Parts { ring, .. }) = cta.claim();
    let (mut producer, mut consumer) = ring.split();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            for chunk in 0..chunks as u64 {
                let number = |item| {
                    let at = position(block, blocks, chunk, item);
                    if at < input.len() { input.get(at) } else { 0 }
                };
                producer.acquire(&mut w).fill(&mut w, number).publish(&mut w);
            }
        }),
        warp(move |mut w| {
            let mut mine = output.partition(&w).into_iter();
            for _ in 0..chunks {
                let stage = consumer.wait(&mut w);
                for row in 0..ROWS {
                    let item = row * 32 + w.lane();
                    if let Some(mut place) = mine.next() {
                        place.put(stage.get(CHUNK as u32 - 1 - item));
                    }
                }
                stage.release(&mut w);
            }
        }),
    ));
    joined.exit(())
}
