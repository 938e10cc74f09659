//! Buffers that take turns: bulk stores read some of them while the set writes the next.

use baton::cache::{EvictFirst, EvictLast, evict_first, of_percent};
use baton::global::Store;
use baton::prelude::*;
use baton::staging::StagingBuffer;
use baton::token::FourWarps;

/// Columns of a piece.
pub const COLUMNS: u32 = 32;
/// Rows of a piece.
pub const ROWS: u32 = 128;
/// What is stored at a time.
pub type Piece = Tile<u32, { ROWS as usize }, { COLUMNS as usize }>;

baton::shared! {
    /// Of `in_turns`.
    pub struct Turns in turns {
        two: Staging<Piece, 2>,
        three: Staging<Piece, 3>,
    }
}

/// Stores `pieces` pieces below each other in each of two matrices, from two buffers and from three: element `i` of a matrix is `i`.
#[baton::kernel(threads = 128)]
pub fn in_turns(
    cta: Cta<'_, Turns, 128>,
    first: TensorMap<Piece, Store>,
    second: TensorMap<Piece, Store>,
    pieces: u32,
) -> Exit<'_> {
    let (cta, turns::Parts { two, three, .. }) = cta.claim();
    let (joined, (stored,)) = cta.roles((warpgroup(move |mut wg| {
        let (mut two, mut three) = (two.open(&mut wg), three.open(&mut wg));
        let mut piece = 0;
        while piece < pieces {
            write(&mut two, &mut wg, piece);
            let to = first.at((ROWS * piece) as i32, 0);
            two = two.fence_proxy_async(&mut wg).store(&mut wg, to).wait_group_read(&mut wg);
            write(&mut three, &mut wg, piece);
            let to = second.at((ROWS * piece) as i32, 0);
            three = three.fence_proxy_async(&mut wg).store(&mut wg, to).wait_group_read(&mut wg);
            piece += 1;
        }
        (two.finish(&mut wg), three.finish(&mut wg))
    }),));
    joined.exit(stored)
}

/// Writes the numbers of the elements of a piece.
fn write<S: FourWarps, Tag, const N: u32>(
    buffer: &mut StagingBuffer<'_, Tag, Piece, S, baton::path::Written, N>,
    wg: &mut S,
    piece: u32,
) {
    let first = (ROWS * piece + wg.rank()) * COLUMNS;
    let mut col = 0;
    while col < COLUMNS {
        buffer.put(wg, col, core::array::from_fn::<_, 4, _>(|i| first + col + i as u32));
        col += 4;
    }
}

baton::shared! {
    /// Of `one_in_turns`.
    pub struct Alone in alone { buffers: Staging<Piece, 2> }
}

/// The same from two buffers alone, so that no other group stands between.
#[baton::kernel(threads = 128)]
pub fn one_in_turns(
    cta: Cta<'_, Alone, 128>,
    to: TensorMap<Piece, Store>,
    pieces: u32,
) -> Exit<'_> {
    let (cta, alone::Parts { buffers, .. }) = cta.claim();
    let (joined, (stored,)) = cta.roles((warpgroup(move |mut wg| {
        let mut buffers = buffers.open(&mut wg);
        let mut piece = 0;
        while piece < pieces {
            write(&mut buffers, &mut wg, piece);
            let to = to.at((ROWS * piece) as i32, 0);
            let stored = buffers.fence_proxy_async(&mut wg).store(&mut wg, to);
            buffers = stored.wait_group_read(&mut wg);
            piece += 1;
        }
        buffers.finish(&mut wg)
    }),));
    joined.exit((stored,))
}

baton::shared! {
    /// Of `cached_copy`.
    pub struct Copies in copies {
        loaded: Stages<2, Piece, ByBulk, ByThreads>,
        stored: Staging<Piece, 2>,
    }
}

/// Copies `pieces` pieces below each other; each access says what the cache should do with it.
#[baton::kernel(threads = 160)]
pub fn cached_copy(
    cta: Cta<'_, Copies, 160>,
    from: TensorMap<Piece>,
    to: TensorMap<Piece, Store>,
    pieces: u32,
) -> Exit<'_> {
    let (cta, copies::Parts { loaded, stored, .. }) = cta.claim();
    let (mut loads, mut stages) = loaded.split();
    let (joined, (stored, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut buffers = stored.open(&mut wg);
            let row_of_piece = COLUMNS * wg.rank();
            for piece in 0..pieces {
                let stage = stages.wait(&mut wg);
                let row = stage.get_chunk::<{ COLUMNS as usize }>(row_of_piece);
                buffers.put(&mut wg, 0, row);
                let to = to.at((ROWS * piece) as i32, 0).cached(evict_first());
                let (stage, fenced) = stage.fence_proxy_async_with(&mut wg, buffers);
                let stored = fenced.store_and_release(&mut wg, to, stage);
                buffers = stored.wait_group_read(&mut wg);
            }
            buffers.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for piece in 0..pieces {
                    let from = from.at((ROWS * piece) as i32, 0);
                    let policy = of_percent::<EvictLast, EvictFirst, 50>();
                    loads.acquire(&mut t).load(&mut t, from.cached(policy));
                }
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded, stored))
}
