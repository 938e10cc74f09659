//! The same product by CTAs that take tiles as they come.
//!
//! The grid has a CTA for each tile of C. Those that run ask the hardware to cancel the launch of another one and do its
//! tile next (`clusterlaunchcontrol`), so that no multiprocessor waits for a slower one, and barriers and tensor memory are
//! prepared once. How many tiles a CTA gets is known to nobody before: each role follows the answers by itself, at its own
//! pace. While the epilogue drains the accumulator of one tile, the matrix instructions fill the other with the next, and
//! the copies bring the tile after that.
//!
//! ```text
//!   asks ──tiles──▶ bulk copies ──ab──▶ tcgen05.mma ──acc──▶ epilogue ──c──▶ bulk stores
//!        ├─tiles───────────────────────▶
//!        └─tiles────────────────────────────────────────────▶
//! ```

use baton::global::Store;
use baton::index::CtaIndex;
use baton::prelude::*;
use baton::takeover::Takeover;

use super::{ACCUMULATORS, CHUNK, Output, STAGES, TILE_K, TILE_M, TILE_N, TileA, TileB, TileC};

/// Answers that the hardware may be ahead of the slowest role.
pub const ANSWERS: u32 = 2;

baton::shared! {
    /// What one CTA keeps in shared and tensor memory.
    pub struct Smem<T: Output> in smem {
        tiles: Takeover<ANSWERS, 3>,
        ab: Stages<STAGES, (TileA, TileB), ByBulk, ByMma>,
        acc: Accs<ACCUMULATORS, TILE_M, TILE_N>,
        c: Staging<TileC<T>>,
    }
}

/// Row and column of the first element of the tile that the CTA of this index has.
#[inline(always)]
fn first(CtaIndex { x, y, .. }: CtaIndex) -> (i32, i32) {
    ((y * TILE_M as u32) as i32, (x * TILE_N as u32) as i32)
}

/// C = A · Bᵀ in tiles of 128 × 128, on a grid of as many columns and rows as C has of them. `steps` counts the tiles of K.
#[baton::kernel(threads = 224, no_stack, min_ctas = 1, instances(gemm_dynamic_f32 = <f32>, gemm_dynamic_bf16 = <bf16>))]
pub fn gemm_dynamic<T: Output>(
    cta: Cta<'_, Smem<T>, 224>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<TileC<T>, Store>,
    steps: u32,
) -> Exit<'_> {
    let (cta, smem::Parts { tiles, ab, acc, c: staging, .. }) = cta.claim();
    let (asker, (loader, issuer, drainer)) = tiles.split();
    let (mut loads, mut stages) = ab.split();
    let (mut accumulators, mut results, tensor) = acc.split();

    let (mut joined, (drained, loaded, issued, asked)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut staging = staging.open(&mut wg);
            let mut next = Some(drainer.own());
            while let Some((drainer, work)) = next {
                let (row, column) = first(work.index());
                let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                for col in (0..TILE_N as u32).step_by(CHUNK) {
                    let (rest, values) = acc.ld::<CHUNK>(&mut wg, col).wait_ld(&mut wg);
                    staging.put(&mut wg, col, values);
                    acc = rest;
                }
                let acc = acc.fence_before_thread_sync(&mut wg);
                staging = staging
                    .fence_proxy_async(&mut wg)
                    .store_and_release(&mut wg, c.at(row, column), acc)
                    .wait_group_read(&mut wg);
                next = drainer.next(&mut wg);
            }
            (staging.finish(&mut wg), results.finish(&mut wg))
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut next = Some(loader.own());
                while let Some((loader, work)) = next {
                    let (row, column) = first(work.index());
                    let mut step = 0;
                    while step < steps {
                        let k = (step * TILE_K as u32) as i32;
                        loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(column, k)));
                        step += 1;
                    }
                    next = loader.next(&mut t);
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                // Which tile it is does not matter here, only that there is one.
                let mut next = Some(issuer.own());
                while let Some((issuer, _)) = next {
                    let mut acc = accumulators.acquire(&mut t);
                    let mut step = 0;
                    while step < steps {
                        let stage = stages.wait(&mut t);
                        acc.mma(&mut t, stage).release_by_commit(&mut t);
                        step += 1;
                    }
                    acc.commit(&mut t);
                    next = issuer.next(&mut t);
                }
                accumulators.finish(&mut t)
            })
        }),
        warp(move |w| w.elect(move |mut t| asker.ask_until_refused(&mut t))),
    ));

    let (stored, drained) = drained;
    let deallocated = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((asked, loaded, deallocated, stored))
}
