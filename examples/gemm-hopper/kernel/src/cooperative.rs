//! The same product in tiles of 128 × 256: two warpgroups drain one ring together.
//!
//! A stage holds 128 rows of A and 256 of B, and each warpgroup multiplies 64 of the former by all of the latter. So a byte that is loaded
//! serves twice the instructions that it serves in tiles of 64 × 128. Stages come back when both have handed them back; neither waits for
//! the other.
//!
//! ```text
//!                ┌──▶ wgmma, rows 0 to 63 ───upper──▶ bulk stores
//!   copies ──ab──┤
//!                └──▶ wgmma, rows 64 to 127 ─lower──▶ bulk stores
//! ```
//!
//! A warpgroup stores its sums piece by piece: of bf16 it writes a piece while the one before is stored, of f32 there is room for one.

use baton::global::{Store, TileAt};
use baton::layout::Tag;
use baton::prelude::*;
use baton::ptx::wgmma::pair;
use baton::raster::{Grouped, grouped};
use baton::stages::{Consumer, Fills, Producer, Share};
use baton::staging::StagingPart;
use baton::tile::{BulkTile, StageData};
use baton::token::{FillsOf, Finished, RolePosition, StoresOf};
use baton::wgmma::{InShared, MultipliesRows, Product};

use crate::{Output, TILE_K};

/// Rows of a tile of C, and of A's tile.
pub const TILE_M: usize = 128;
/// Columns of a tile of C, and rows of B's tile.
pub const TILE_N: usize = 256;
/// Rows that one warpgroup computes.
const HALF: usize = TILE_M / 2;
/// Columns of C that are stored at a time.
const PIECE: usize = 64;
/// Stages between the copies and the matrix instructions.
const STAGES: u32 = 4;
/// Rows of tiles that are visited before the next column.
pub(crate) const GROUP: u32 = 8;

/// A tile of A.
pub type TileA = Tile<bf16, TILE_M, TILE_K>;
/// A tile of B.
pub type TileB = Tile<bf16, TILE_N, TILE_K>;
/// What is stored of C at a time.
pub type Piece<T> = Tile<T, HALF, PIECE>;
/// The ring; `B` is a tile of B, or one that the CTAs of a cluster load for each other.
pub(crate) type Ring<B> = Stages<STAGES, (TileA, B), ByBulk, (ByWgmma, ByWgmma)>;

baton::shared! {
    /// What a CTA on its own keeps in shared memory.
    pub struct Smem<T: Output, const BUFFERS: u32> in smem {
        ab: Ring<TileB>,
        upper: Staging<Piece<T>, BUFFERS>,
        lower: Staging<Piece<T>, BUFFERS>,
    }
}

/// C = A · Bᵀ in tiles of 128 × 256. `rows` and `columns` count the tiles of C, `steps` those of K, at least one.
#[baton::kernel(threads = 288, no_stack, min_ctas = 1)]
pub fn gemm_cooperative(
    cta: Cta<'_, Smem<f32, 1>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<Piece<f32>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    cooperative(cta, a, b, c, [rows, columns, steps])
}

/// The same, C in bf16.
#[baton::kernel(threads = 288, no_stack, min_ctas = 1)]
pub fn gemm_cooperative_bf16(
    cta: Cta<'_, Smem<bf16, 2>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<Piece<bf16>, Store>,
    rows: u32,
    columns: u32,
    steps: u32,
) -> Exit<'_> {
    cooperative(cta, a, b, c, [rows, columns, steps])
}

/// Either of them: there is room for as many buffers of each warpgroup as the elements of C are small.
#[inline(always)]
fn cooperative<'k, T: Output, const BUFFERS: u32>(
    cta: Cta<'k, Smem<T, BUFFERS>, 288>,
    a: TensorMap<TileA>,
    b: TensorMap<TileB>,
    c: TensorMap<Piece<T>, Store>,
    [rows, columns, steps]: [u32; 3],
) -> Exit<'k> {
    let order = grouped(rows, columns, GROUP, cta.index().x, cta.grid().x);
    let tiles = Tiles { order, peers: 1, rank: 0 };
    let (cta, smem::Parts { ab, upper, lower, .. }) = cta.claim();
    let (loads, (first, second)) = ab.split_among();

    let (joined, (above, below, loaded)) = cta.roles((
        warpgroup(move |wg| half::<0, _, _, _, _, _, _>(wg, first, upper, c, tiles, steps)),
        warpgroup(move |wg| half::<1, _, _, _, _, _, _>(wg, second, lower, c, tiles, steps)),
        warp(move |w| w.elect(move |t| load(t, loads, a, b, tiles, steps))),
    ));
    joined.exit((loaded, above, below))
}

/// The tiles of a CTA: those of its cluster in their order, of which it computes the one at its rank.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    pub(crate) order: Grouped,
    pub(crate) peers: u32,
    pub(crate) rank: u32,
}

impl Iterator for Tiles {
    /// Row and column of the tile's first element.
    type Item = (i32, i32);

    #[inline(always)]
    fn next(&mut self) -> Option<(i32, i32)> {
        let (row, column) = self.order.next()?;
        let row = self.peers * row + self.rank;
        Some(((row * TILE_M as u32) as i32, (column * TILE_N as u32) as i32))
    }
}

/// Loads the stages of all tiles.
#[inline(always)]
pub(crate) fn load<'k, R: RolePosition, Ab, B: StageData, From: BulkTile>(
    mut t: Thread<'k, R>,
    mut loads: Producer<'k, Ab, Ring<B>, Thread<'k, R>, STAGES>,
    a: TensorMap<TileA>,
    b: TensorMap<From>,
    tiles: Tiles,
    steps: u32,
) -> Finished<'k, FillsOf<Ab>>
where
    (TileAt<TileA>, TileAt<From>): Fills<(TileA, B)>,
{
    for (row, column) in tiles {
        let mut step = 0;
        while step < steps {
            let k = (step * TILE_K as u32) as i32;
            loads.acquire(&mut t).load(&mut t, (a.at(row, k), b.at(column, k)));
            step += 1;
        }
    }
    loads.finish(&mut t)
}

/// The 64 rows of each tile that are the warpgroup's: `PART` counts them.
#[inline(always)]
pub(crate) fn half<
    'k,
    const PART: u32,
    R: RolePosition,
    Ab,
    Out: Tag,
    B: StageData,
    T: Output,
    const BUFFERS: u32,
>(
    mut wg: Warpgroup<'k, R>,
    mut stages: Consumer<'k, Ab, Share<Ring<B>, ByWgmma>, Warpgroup<'k, R>, STAGES>,
    staging: StagingPart<'k, Out, Piece<T>, BUFFERS>,
    c: TensorMap<Piece<T>, Store>,
    tiles: Tiles,
    steps: u32,
) -> Finished<'k, StoresOf<Out>>
where
    (TileA, B): MultipliesRows<[f32; TILE_N / 2], Kind = InShared<pair::Bf16>>,
{
    let mut staging = staging.open(&mut wg);
    for (row, column) in tiles {
        let product = Product::<[f32; TILE_N / 2], _>::new(&mut wg).fence(&mut wg);
        let stage = stages.wait(&mut wg);
        let (product, stage) = product.mma_async_rows::<PART, _, _, _>(&mut wg, stage);
        let mut product = product.commit_group(&mut wg, stage);
        let mut step = 1;
        while step < steps {
            let stage = stages.wait(&mut wg);
            let (next, stage) = product.mma_async_rows::<PART, _, _, _>(&mut wg, stage);
            let (next, read) = next.commit_group(&mut wg, stage).wait_group::<1, _>(&mut wg);
            read.release(&mut wg);
            product = next;
            step += 1;
        }
        let (product, read) = product.wait_group::<0, _>(&mut wg);
        read.release(&mut wg);

        let row = row + (PART as usize * HALF) as i32;
        macro_rules! store {
            ($($first:literal)*) => {$(
                staging.put_columns::<$first, _, _, _, _>(&mut wg, &product, |_, _, sum| sum);
                let to = c.at(row, column + $first);
                staging = staging.fence_proxy_async(&mut wg).store(&mut wg, to).wait_group_read(&mut wg);
            )*};
        }
        store! { 0 64 128 192 }
    }
    staging.finish(&mut wg)
}
