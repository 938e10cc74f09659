//! C = A · Bᵀ on Hopper's tensor cores: A is M × K, B is N × K, both bf16 and K-major; C is M × N, f32 or bf16.
//!
//! Five warps: a warpgroup multiplies and stores, one warp loads tiles with bulk tensor copies. The instructions of one
//! stage are under way while those of the next are issued, and a stage goes back when its group is complete.
//!
//! ```text
//!   bulk copies ──ab──▶ wgmma, registers ──c──▶ bulk stores
//!                ◀─release─
//! ```
#![no_std]

pub mod cooperative;
pub mod multicast;

use baton::global::Store;
use baton::prelude::*;
use baton::rounding::RoundsFrom;
use baton::wgmma::Product;

/// Rows of a tile of C, and of A's tile.
pub const TILE_M: usize = 64;
/// Columns of a tile of C, and rows of B's tile.
pub const TILE_N: usize = 128;
/// Columns of A's and B's tiles: one step of K.
pub const TILE_K: usize = 64;
/// Stages between the copies and the matrix instructions.
pub const STAGES: u32 = 6;

/// A tile of A.
pub type TileA = Tile<bf16, TILE_M, TILE_K>;
/// A tile of B.
pub type TileB = Tile<bf16, TILE_N, TILE_K>;
/// A tile of C.
pub type TileC<T> = Tile<T, TILE_M, TILE_N>;

baton::shared! {
    /// What one CTA keeps in shared memory.
    pub struct Smem<T: Output> in smem {
        ab: Stages<STAGES, (TileA, TileB), ByBulk, ByWgmma>,
        c: Staging<TileC<T>>,
    }
}

/// What C can be made of: what the sums are rounded to.
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

/// C = A · Bᵀ in tiles of 64 × 128. `rows` and `columns` count the tiles of C, `steps` those of K, at least one.
#[baton::kernel(threads = 160, no_stack, min_ctas = 1, instances(gemm = <f32>, gemm_bf16 = <bf16>))]
pub fn gemm<T: Output>(
    cta: Cta<'_, Smem<T>, 160>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<TileC<T>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    let tiles = Tiles { next: cta.index().x, step: cta.grid().x, end: rows * columns, columns };
    let (cta, smem::Parts { ab, c: staging, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();

    let (joined, (stored, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut staging = staging.open(&mut wg);
            for (row, column) in tiles {
                let product = Product::<[f32; TILE_N / 2], _>::new(&mut wg).fence(&mut wg);
                let stage = stages.wait(&mut wg);
                let (product, stage) = product.mma_async(&mut wg, stage);
                let mut product = product.commit_group(&mut wg, stage);
                let mut step = 1;
                while step < steps {
                    let stage = stages.wait(&mut wg);
                    let (next, stage) = product.mma_async(&mut wg, stage);
                    let (next, read) =
                        next.commit_group(&mut wg, stage).wait_group::<1, _>(&mut wg);
                    read.release(&mut wg);
                    product = next;
                    step += 1;
                }
                let (product, read) = product.wait_group::<0, _>(&mut wg);
                read.release(&mut wg);
                staging.put_product(&mut wg, &product, |_, _, sum| sum);
                staging = staging
                    .fence_proxy_async(&mut wg)
                    .store(&mut wg, c.at(row, column))
                    .wait_group_read(&mut wg);
            }
            staging.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for (row, column) in tiles {
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
    ));
    joined.exit((loaded, stored))
}
