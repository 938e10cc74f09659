//! The product by pairs of CTAs with more in its epilogue: C = gelu(A · Bᵀ + bias) + residual, all but the bias in bf16.
//!
//! Nothing of it goes through global memory on its own. A fourth role brings the residual by bulk copies, piece by piece, while the pair
//! multiplies; the epilogue reads each piece where it lies, adds what belongs to its row and columns, and hands it back in the step that begins
//! the store.
//!
//! ```text
//!   copies of both ──ab──▶ tcgen05.mma of the pair ──acc──▶ epilogue of each ──c──▶ bulk stores
//!                   ◀─commit to both─               ◀─release to the leader─
//!   copies ──residual─────────────────────────────────────▶
//! ```

use baton::cache::evict_first;
use baton::global::Store;
use baton::pair_accumulator::PairAccs;
use baton::path::ByPairMma;
use baton::prelude::*;
use baton::raster::grouped;

use crate::pair::{BUFFERS, CTAS, GROUP, HALF, HalfA, HalfB, PIECE, TILE_N, Tiles};
use crate::{ACCUMULATORS, CHUNK, TILE_K};

/// Stages between the copies and the matrix instructions.
pub const STAGES: u32 = 5;
/// Stages between the copies of the residual and the epilogue.
const PIECES: u32 = 2;

/// What is loaded of the residual, and stored of C, at a time.
pub type Piece = crate::pair::Piece<bf16>;

baton::shared! {
    /// What one CTA keeps in shared and tensor memory.
    pub struct Smem in smem {
        ab: Stages<STAGES, (HalfA, HalfB), ByBulk, ByPairMma>,
        residual: Stages<PIECES, Piece, ByBulk, ByThreads>,
        acc: PairAccs<ACCUMULATORS, TILE_N>,
        c: Staging<Piece, BUFFERS>,
    }
}

/// C = gelu(A · Bᵀ + bias) + residual in tiles of 256 × 256. `rows` and `columns` count the tiles of C, `steps` those of K; `bias` has an
/// element for each column of all tiles.
#[baton::kernel(threads = 224, no_stack, min_ctas = 1, cluster = 2)]
pub fn gemm_fused(
    cta: Cta<'_, Smem, 224>,
    a: TensorMap<HalfA>,
    b: TensorMap<HalfB>,
    bias: ReadOnly<f32>,
    residual: TensorMap<Piece>,
    c: TensorMap<Piece, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    let half = (cta.cluster_rank().0 * HALF as u32) as i32;
    let leader = cta.pair_leader();
    let (pair, pairs) = (cta.index().x / CTAS, cta.grid().x / CTAS);
    let tiles = Tiles(grouped(rows, columns, GROUP, pair, pairs));
    let (cta, smem::Parts { ab, residual: pieces, acc, c: staging, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (mut brings, mut added) = pieces.split();
    let (mut accumulators, mut results, tensor) = acc.split();

    let (joined, (drained, loaded, brought, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut staging = staging.open(&mut wg);
            let row_of_piece = PIECE as u32 * wg.rank();
            for (row, column) in tiles {
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                let mut first = 0;
                while first < TILE_N as u32 {
                    let piece = added.wait(&mut wg);
                    let mut col = 0;
                    while col < PIECE as u32 {
                        let (rest, sums) = acc.ld::<CHUNK>(&mut wg, first + col).wait_ld(&mut wg);
                        let place = u64::from(column as u32 + first + col);
                        let bias = bias.get_nc_chunk::<CHUNK>(place);
                        let add = piece.get_chunk::<CHUNK>(row_of_piece + col);
                        staging.put_with(&mut wg, col, sums, |_, column, sum| {
                            let at = (column - col) as usize;
                            (sum + bias[at]).gelu_approx() + add[at].to_f32()
                        });
                        acc = rest;
                        col += CHUNK as u32;
                    }
                    let to = c.at(row + half, column + first as i32);
                    let (piece, fenced) = piece.fence_proxy_async_with(&mut wg, staging);
                    let stored = fenced.store_and_release(&mut wg, to, piece);
                    staging = stored.wait_group_read(&mut wg);
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
                for (row, column) in tiles {
                    let mut first = 0;
                    while first < TILE_N as i32 {
                        // Read once, so that it makes room for what is read by many.
                        let from = residual.at(row + half, column + first).cached(evict_first());
                        brings.acquire(&mut t).load(&mut t, from);
                        first += PIECE as i32;
                    }
                }
                brings.finish(&mut t)
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
    joined.exit((loaded, brought, deallocated, stored))
}
