//! A grid has one CTA for each tile, and the tiles take different times. The CTAs that run ask the hardware to cancel the
//! launch of others and do their tiles too: nothing counts tiles in memory, and no CTA is initialised twice.
//!
//! ```text
//!   asks ──answer──▶ loads ──ring──▶ stirs
//!        └──answer──────────────────▶
//! ```
#![no_std]

use baton::global::TheWarp;
use baton::prelude::*;
use baton::takeover::Takeover;

/// Threads of a CTA: one warp asks, two follow.
pub const THREADS: u32 = 96;
/// Numbers of a tile that go through the ring at a time.
pub const ROW: usize = 32;
/// CTAs of a cluster of [`in_pairs`].
pub const PAIR: u32 = 2;

/// What becomes of a number of tile `tile`, which takes longer for some tiles than for others.
pub const fn stirred(number: u32, tile: u32) -> u32 {
    let mut result = number;
    let mut i = 0;
    while i <= tile % 5 {
        result = result.wrapping_mul(3) ^ (tile + i);
        i += 1;
    }
    result
}

baton::shared! {
    /// Answers for two warps, and a ring between these.
    pub struct Smem in smem {
        tiles: Takeover<2, 2>,
        rows: Stages<2, Linear<u32, ROW>, ByThreads, ByThreads>,
    }
}

/// Stirs each row of 32 numbers of `input`, backwards, into `output`. Tile `b` has rows `b`, `b + n`, … of `n` tiles. `by` gets the
/// number of the CTA that did the tile, in each of its rows.
#[baton::kernel(threads = 96, no_stack)]
pub fn tiles(
    cta: Cta<'_, Smem, THREADS>,
    input: ReadOnly<u32>,
    mut output: GlobalPtr<u32, TheWarp<2>>,
    mut by: GlobalPtr<u32, TheWarp<2>>,
) -> Exit<'_> {
    let (own, count) = (cta.index().x, cta.grid().x);
    let numbers = input.len();
    let (cta, smem::Parts { tiles, rows, .. }) = cta.claim();
    let (asker, (loader, stirrer)) = tiles.split();
    let (mut filling, mut draining) = rows.split();
    let (joined, (asked, ..)) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(loader.own());
            while let Some((loader, work)) = next {
                let mut first = ROW as u64 * work.index().x as u64;
                while first < numbers {
                    let number = |i| {
                        let index = first + i as u64;
                        if index < numbers { input.get(index) } else { 0 }
                    };
                    filling.acquire(&mut w).fill(&mut w, number).publish(&mut w);
                    first += ROW as u64 * count as u64;
                }
                next = loader.next(&mut w);
            }
        }),
        warp(move |mut w| {
            let opposite = ROW as u32 - 1 - w.rank();
            let mut next = Some(stirrer.own());
            while let Some((stirrer, work)) = next {
                let tile = work.index().x;
                let mut doers = work.partition(&mut w, &mut by).into_iter();
                let mut places = work.partition(&mut w, &mut output).into_iter();
                let mut first = ROW as u64 * tile as u64;
                while first < numbers {
                    let stage = draining.wait(&mut w);
                    let number = stage.get(opposite);
                    stage.release(&mut w);
                    if let Some(mut place) = places.next() {
                        place.put(stirred(number, tile));
                    }
                    if let Some(mut place) = doers.next() {
                        place.put(own);
                    }
                    first += ROW as u64 * count as u64;
                }
                next = stirrer.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}

baton::shared! {
    /// Answers for two warps of each CTA of a pair.
    pub struct Pairs in pairs { tiles: Takeover<1, 2, PAIR> }
}

/// Stirs the numbers of two arrays in their places, each with a warp of its own, in CTAs that take over others by pairs.
#[baton::kernel(threads = 96, no_stack, cluster = 2)]
pub fn in_pairs(
    cta: Cta<'_, Pairs, THREADS>,
    mut first: GlobalPtr<u32, TheWarp<1>>,
    mut second: GlobalPtr<u32, TheWarp<2>>,
) -> Exit<'_> {
    let (cta, pairs::Parts { tiles, .. }) = cta.claim();
    let (asker, (one, other)) = tiles.split();
    let (joined, (asked, ..)) = cta.roles((
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
        warp(move |mut w| {
            let mut next = Some(one.own());
            while let Some((one, work)) = next {
                let tile = work.index().x;
                for mut place in work.partition(&mut w, &mut first) {
                    place.put(stirred(place.get(), tile));
                }
                next = one.next(&mut w);
            }
        }),
        warp(move |mut w| {
            let mut next = Some(other.own());
            while let Some((other, work)) = next {
                let tile = work.index().x;
                for mut place in work.partition(&mut w, &mut second) {
                    place.put(stirred(!place.get(), tile));
                }
                next = other.next(&mut w);
            }
        }),
    ));
    joined.exit((asked,))
}
