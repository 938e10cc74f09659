//! C = A · Bᵀ on Blackwell's tensor cores: A is M × K, B is N × K, both bf16 and K-major; C is M × N.
//!
//! Six warps: four drain accumulators (the epilogue), one loads tiles with bulk tensor copies, one issues
//! `tcgen05.mma`. Each CTA walks over tiles of C; while the epilogue drains one accumulator, the matrix
//! instructions fill the other. Which tiles a CTA has follows from its index; in [`dynamic`] it takes them as they come.
//!
//! ```text
//!   bulk copies ──ab──▶ tcgen05.mma ──acc──▶ epilogue ──c──▶ bulk stores
//!                ◀─commit─          ◀─release─
//! ```
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod dynamic;
pub mod fused;
pub mod pair;
pub mod raw;

use baton::global::Store;
use baton::prelude::*;
use baton::rounding::RoundsFrom;

/// Rows of a tile of C, and of A's tile.
pub const TILE_M: usize = 128;
/// Columns of a tile of C, and rows of B's tile.
pub const TILE_N: usize = 128;
/// Columns of A's and B's tiles: one step of K.
pub const TILE_K: usize = 64;
/// Stages between the copies and the matrix instructions.
pub const STAGES: u32 = 4;
/// Accumulators between the matrix instructions and the epilogue.
pub const ACCUMULATORS: u32 = 2;
/// Columns that the epilogue loads at a time.
const CHUNK: usize = 32;

/// A tile of A.
pub type TileA = Tile<bf16, TILE_M, TILE_K>;
/// A tile of B.
pub type TileB = Tile<bf16, TILE_N, TILE_K>;
/// A tile of C.
pub type TileC<T> = Tile<T, TILE_M, TILE_N>;

baton::shared! {
    /// What one CTA keeps in shared and tensor memory.
    pub struct Smem<T: Output> in smem {
        ab: Stages<STAGES, (TileA, TileB), ByBulk, ByMma>,
        acc: Accs<ACCUMULATORS, TILE_M, TILE_N>,
        c: Staging<TileC<T>>,
    }
}

/// What C can be made of: what an accumulator's values are rounded to.
pub trait Output: RoundsFrom<f32> {}
impl Output for f32 {}
impl Output for bf16 {}

/// The tiles of C that one CTA computes: every `step`-th, row by row of tiles.
#[derive(Clone, Copy)]
struct Tiles {
    next: u32,
    step: u32,
    end: u32,
    columns: u32,
}

impl Iterator for Tiles {
    /// Row and column of the tile's first element.
    type Item = (i32, i32);
    #[inline(always)]
    fn next(&mut self) -> Option<(i32, i32)> {
        if self.next >= self.end {
            return None;
        }
        let (row, column) = (self.next / self.columns, self.next % self.columns);
        self.next += self.step;
        Some(((row * TILE_M as u32) as i32, (column * TILE_N as u32) as i32))
    }
}

/// C = A · Bᵀ in tiles of 128 × 128. `rows` and `columns` count the tiles of C, `steps` those of K.
#[baton::kernel(threads = 192, no_stack, min_ctas = 1, instances(gemm_f32 = <f32>, gemm_bf16 = <bf16>))]
pub fn gemm<T: Output>(
    cta: Cta<'_, Smem<T>, 192>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<TileC<T>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    let tiles = Tiles { next: cta.index().x, step: cta.grid().x, end: rows * columns, columns };
    let (cta, smem::Parts { ab, acc, c: staging, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();

    let (mut joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut staging = staging.open(&mut wg);
            for (row, column) in tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                for col in (0..TILE_N as u32).step_by(CHUNK) {
                    let (next, values) = acc.ld::<CHUNK>(&mut wg, col).wait_ld(&mut wg);
                    staging.put(&mut wg, col, values);
                    acc = next;
                }
                let acc = acc.fence_before_thread_sync(&mut wg);
                staging = staging
                    .fence_proxy_async(&mut wg)
                    .store_and_release(&mut wg, c.at(row, column), acc)
                    .wait_group_read(&mut wg);
            }
            (staging.finish(&mut wg), results.finish(&mut wg))
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for (row, column) in tiles {
                    // Counted by hand: the iterator of a range costs a select in each step.
                    let mut step = 0;
                    while step < steps {
                        let k = (step * TILE_K as u32) as i32;
                        loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(column, k)));
                        step += 1;
                    }
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for _ in tiles {
                    let mut acc = accumulators.acquire(&mut t);
                    let mut step = 0;
                    while step < steps {
                        let stage = stages.wait(&mut t);
                        acc.mma(&mut t, stage).release_by_commit(&mut t);
                        step += 1;
                    }
                    acc.commit(&mut t);
                }
                accumulators.finish(&mut t)
            })
        }),
    ));

    let (stored, drained) = drained;
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated, stored))
}
