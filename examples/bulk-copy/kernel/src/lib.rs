//! A matrix is scaled tile by tile: bulk tensor copies bring tiles in, threads change them, bulk tensor copies take
//! them out.
//!
//! ```text
//!   bulk copies ──tiles──▶ four warps ──out──▶ bulk stores
//!               ◀─────────
//! ```
//!
//! Ragged edges need no code: what a tile has outside the matrix comes in as zero and does not go out.
#![no_std]

use baton::global::Store;
use baton::prelude::*;

/// Rows of a tile: one for each thread that changes it.
pub const ROWS: usize = 128;
/// Columns of a tile: one panel.
pub const COLS: usize = 32;
/// Stages between the copies and the threads.
pub const STAGES: u32 = 3;
/// Numbers that a thread changes at a time: 16 bytes.
const CHUNK: usize = 4;

/// A tile of either matrix.
pub type TileF32 = Tile<f32, ROWS, COLS>;

baton::shared! {
    /// What a CTA keeps in shared memory.
    pub struct Smem in smem {
        tiles: Stages<STAGES, TileF32, ByBulk, ByThreads>,
        out: Staging<TileF32>,
    }
}

/// `output = factor * input`, in matrices of `rows` × `columns` tiles.
#[baton::kernel(threads = 160, no_stack)]
pub fn scale(
    cta: Cta<'_, Smem, 160>,
    input: TensorMap<TileF32>,
    output: TensorMap<TileF32, Store>,
    rows: u32,
    columns: u32,
    factor: f32,
) -> Exit<'_> {
    // Every CTA takes every so many-th tile, row by row of tiles.
    let (first, step, tiles) = (cta.index().x, cta.grid().x, rows * columns);
    let corner = move |tile: u32| {
        ((tile / columns * ROWS as u32) as i32, (tile % columns * COLS as u32) as i32)
    };
    let (cta, smem::Parts { tiles: ring, out, .. }) = cta.claim();
    let (mut producer, mut consumer) = ring.split();

    let (joined, (stored, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut out = out.open(&mut wg);
            let mut tile = first;
            while tile < tiles {
                let stage = consumer.wait(&mut wg);
                let row = wg.rank() * COLS as u32;
                for col in (0..COLS as u32).step_by(CHUNK) {
                    let values = stage.get_chunk::<CHUNK>(row + col).map(|value| factor * value);
                    out.put(&mut wg, col, values);
                }
                // What was read comes before the copy that fills the stage next, what was written before the one below.
                let (stage, filled) = stage.fence_proxy_async_with(&mut wg, out);
                let (row, col) = corner(tile);
                out = filled
                    .store_and_release(&mut wg, output.at(row, col), stage)
                    .wait_group_read(&mut wg);
                tile += step;
            }
            out.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut tile = first;
                while tile < tiles {
                    let (row, col) = corner(tile);
                    producer.acquire(&mut t).load(&mut t, input.at(row, col));
                    tile += step;
                }
                producer.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded, stored))
}
