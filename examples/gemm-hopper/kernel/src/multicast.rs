//! The same product in clusters of two: the CTAs compute tiles below each other, and each loads half of the tile of B that both need, for
//! both.

use baton::global::Store;
use baton::prelude::*;
use baton::raster::grouped;

use crate::cooperative::{GROUP, Piece, Ring, TILE_N, TileA, TileB, Tiles, half, load};
use crate::{Output, TILE_K};

/// CTAs of a cluster, which load B for each other.
pub const PEERS: u32 = 2;
/// What one of them loads of it.
pub type ShareB = Tile<bf16, { TILE_N / PEERS as usize }, TILE_K>;

baton::shared! {
    /// What a CTA of a cluster keeps in shared memory.
    pub struct Smem<T: Output, const BUFFERS: u32> in smem {
        ab: Ring<ToAll<TileB, PEERS>>,
        upper: Staging<Piece<T>, BUFFERS>,
        lower: Staging<Piece<T>, BUFFERS>,
    }
}

/// C = A · Bᵀ in tiles of 128 × 256. `rows` and `columns` count the tiles of C, the rows in pairs; `steps` those of K, at least one.
#[baton::kernel(threads = 288, no_stack, min_ctas = 1, cluster = 2)]
pub fn gemm_multicast(
    cta: Cta<'_, Smem<f32, 1>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<ShareB>,
    c: TensorMap<Piece<f32>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    multicast(cta, a, b, c, [rows, columns, steps])
}

/// The same, C in bf16.
#[baton::kernel(threads = 288, no_stack, min_ctas = 1, cluster = 2)]
pub fn gemm_multicast_bf16(
    cta: Cta<'_, Smem<bf16, 2>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<ShareB>,
    c: TensorMap<Piece<bf16>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    multicast(cta, a, b, c, [rows, columns, steps])
}

/// Either of them.
#[inline(always)]
fn multicast<'k, T: Output, const BUFFERS: u32>(
    cta: Cta<'k, Smem<T, BUFFERS>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<ShareB>,
    c: TensorMap<Piece<T>, Store>,
    [rows, columns, steps]: [u32; 3],
) -> Exit<'k> {
    let rank = cta.cluster_rank().0;
    let (cluster, clusters) = (cta.index().x / PEERS, cta.grid().x / PEERS);
    let order = grouped(rows, columns, GROUP / PEERS, cluster, clusters);
    let tiles = Tiles { order, peers: PEERS, rank };
    let (cta, smem::Parts { ab, upper, lower, .. }) = cta.claim();
    let (loads, (first, second)) = ab.split_among();

    let (joined, (above, below, loaded)) = cta.roles((
        warpgroup(move |wg| half::<0, _, _, _, _, _, _>(wg, first, upper, c, tiles, steps)),
        warpgroup(move |wg| half::<1, _, _, _, _, _, _>(wg, second, lower, c, tiles, steps)),
        warp(move |w| w.elect(move |t| load(t, loads, a, b, tiles, steps))),
    ));
    joined.exit((loaded, above, below))
}
