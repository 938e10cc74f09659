//! The same product by pairs of CTAs, in tiles of 256 × 256.
//!
//! The two CTAs of a pair multiply together: each loads 128 rows of A and 128 of B, and one instruction of the CTA that leads reads both
//! halves. So a byte that is loaded serves twice the instructions that it serves in tiles of 128 × 128. Each CTA drains its own 128 rows of
//! the accumulator, piece by piece, while the pair multiplies the next tile into the other accumulator; and while one piece is stored, the
//! next is written.
//!
//! ```text
//!   copies of both ──ab──▶ tcgen05.mma of the pair ──acc──▶ epilogue of each ──c──▶ bulk stores
//!                   ◀─commit to both─               ◀─release to the leader─
//! ```

use baton::global::Store;
use baton::pair_accumulator::PairAccs;
use baton::path::ByPairMma;
use baton::prelude::*;
use baton::raster::{Grouped, grouped};

use super::{ACCUMULATORS, CHUNK, Output, TILE_K};

/// Rows of a tile of C, half of which are each CTA's.
pub const TILE_M: usize = 256;
/// Columns of a tile of C.
pub const TILE_N: usize = 256;
/// CTAs of a pair.
pub const CTAS: u32 = 2;
/// Rows of A's tile and of B's that one CTA loads.
pub(crate) const HALF: usize = 128;
/// Columns of C that are stored at a time.
pub(crate) const PIECE: usize = 64;
/// Stages between the copies and the matrix instructions.
pub const STAGES: u32 = 5;
/// Pieces that are stored or written at a time.
pub(crate) const BUFFERS: u32 = 2;
/// Rows of tiles that are visited before the next column.
pub(crate) const GROUP: u32 = 8;

/// What one CTA loads of A.
pub type HalfA = Tile<bf16, HALF, TILE_K>;
/// What one CTA loads of B.
pub type HalfB = Tile<bf16, HALF, TILE_K>;
/// What is stored of C at a time.
pub type Piece<T> = Tile<T, HALF, PIECE>;

baton::shared! {
    /// What one CTA keeps in shared and tensor memory.
    pub struct Smem<T: Output> in smem {
        ab: Stages<STAGES, (HalfA, HalfB), ByBulk, ByPairMma>,
        acc: PairAccs<ACCUMULATORS, TILE_N>,
        c: Staging<Piece<T>, BUFFERS>,
    }
}

/// The tiles of a pair.
#[derive(Clone, Copy)]
pub(crate) struct Tiles(pub(crate) Grouped);

impl Iterator for Tiles {
    /// Row and column of the tile's first element.
    type Item = (i32, i32);

    #[inline(always)]
    fn next(&mut self) -> Option<(i32, i32)> {
        let (row, column) = self.0.next()?;
        Some(((row * TILE_M as u32) as i32, (column * TILE_N as u32) as i32))
    }
}

/// C = A · Bᵀ in tiles of 256 × 256. `rows` and `columns` count the tiles of C, `steps` those of K.
#[baton::kernel(threads = 192, no_stack, min_ctas = 1, cluster = 2, instances(gemm_pair_f32 = <f32>, gemm_pair_bf16 = <bf16>))]
pub fn gemm_pair<T: Output>(
    cta: Cta<'_, Smem<T>, 192>,
    a: TensorMap<HalfA>,
    b: TensorMap<HalfB>,
    c: TensorMap<Piece<T>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    let half = (cta.cluster_rank().0 * HALF as u32) as i32;
    let leader = cta.pair_leader();
    let (pair, pairs) = (cta.index().x / CTAS, cta.grid().x / CTAS);
    let tiles = Tiles(grouped(rows, columns, GROUP, pair, pairs));
    let (cta, smem::Parts { ab, acc, c: staging, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();

    let (joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut staging = staging.open(&mut wg);
            for (row, column) in tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                let mut first = 0;
                while first < TILE_N as u32 {
                    let mut col = 0;
                    while col < PIECE as u32 {
                        let (rest, values) = acc.ld::<CHUNK>(&mut wg, first + col).wait_ld(&mut wg);
                        staging.put(&mut wg, col, values);
                        acc = rest;
                        col += CHUNK as u32;
                    }
                    let to = c.at(row + half, column + first as i32);
                    staging = staging
                        .fence_proxy_async(&mut wg)
                        .store(&mut wg, to)
                        .wait_group_read(&mut wg);
                    first += PIECE as u32;
                }
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
            }
            (staging.finish(&mut wg), results.finish(&mut wg))
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for (row, column) in tiles {
                    let mut step = 0;
                    while step < steps {
                        let k = (step * TILE_K as u32) as i32;
                        let from = (a.at(row + half, k), b.at(column + half, k));
                        loads.acquire(&mut t).load(&mut t, from);
                        step += 1;
                    }
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                if let Some(leader) = leader {
                    for _ in tiles {
                        let mut acc = accumulators.acquire(&mut t, leader);
                        let mut step = 0;
                        while step < steps {
                            let stage = stages.wait_for_both(&mut t, leader);
                            acc.mma(&mut t, stage).release_by_commit(&mut t);
                            step += 1;
                        }
                        acc.commit(&mut t);
                    }
                }
                accumulators.finish(&mut t)
            })
        }),
    ));

    let (stored, drained) = drained;
    let mut joined = joined.join_peers();
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((loaded, deallocated, stored))
}
