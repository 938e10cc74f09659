//! What fills a stage with bulk copies: tiles of exactly the stage's types.

use crate::global::{Load, TileAt};
use crate::ptx;
use crate::ptx::addr::{Addr, SharedCluster, SharedCta};
use crate::ptx::policy::Hint;
use crate::ptx::tcgen05::CtaGroup;
use crate::ptx::tensor_full::{Multicast, NoGroup, One, cp_async_bulk_tensor_load as load};
use crate::require;
use crate::tile::{BulkTile, PANEL_ROW_BYTES, StageData, Tile, ToAll};

use super::{all_peers, first_of_all_pairs};

/// What can fill a stage of `D`: tiles of exactly its types.
///
/// # Safety
/// `begin` starts bulk copies that, together with those of the peers that fill the stage too, deliver exactly `BYTES` bytes
/// into the stage and onto the barrier of each; with `Group2` onto the barrier of the CTA that leads its pair.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill a stage of `{D}`",
    label = "other tiles than the stage's",
    note = "rule C8: the barrier expects the bytes of the stage's tiles, so exactly those tiles are loaded (PTX ISA 9.7.13.15.5)",
    note = "take the tiles from tensor maps of the stage's tile types, in the stage's order: `(a.at(row, col), b.at(row, col))`"
)]
pub unsafe trait Fills<D> {
    /// Bytes that the copies deliver.
    const BYTES: u32;
    /// # Safety
    /// 1. `data` is a stage of `D` that nobody else touches.
    /// 2. `barrier` expects `BYTES` in its current phase. It is this CTA's; with `Group2` that of the CTA that leads its pair.
    #[doc(hidden)]
    unsafe fn begin<G: CtaGroup>(self, data: Addr<SharedCta>, barrier: Addr<SharedCluster>);
}

// SAFETY: one copy of a whole box for each panel; a box delivers all its bytes, outside the matrix too (I12).
unsafe impl<T, H: Hint, const ROWS: usize, const COLS: usize> Fills<Tile<T, ROWS, COLS>>
    for TileAt<Tile<T, ROWS, COLS>, Load, H>
where
    Tile<T, ROWS, COLS>: BulkTile,
{
    const BYTES: u32 = <Tile<T, ROWS, COLS> as BulkTile>::BYTES;
    #[inline(always)]
    unsafe fn begin<G: CtaGroup>(self, data: Addr<SharedCta>, barrier: Addr<SharedCluster>) {
        type This<T, const R: usize, const C: usize> = Tile<T, R, C>;
        let panel_bytes = <This<T, ROWS, COLS> as BulkTile>::BYTES / This::<T, ROWS, COLS>::PANELS;
        let map = Addr::from_raw(self.map);
        let mut panel = 0;
        while panel < This::<T, ROWS, COLS>::PANELS {
            let at = [self.col + (panel * This::<T, ROWS, COLS>::PANEL_COLS) as i32, self.row];
            let to = data.offset(panel * panel_bytes).in_cluster();
            // SAFETY: the caller's promise; the panel lies in the stage, and a CTA's own shared memory is part of the
            // cluster's under the same addresses.
            unsafe {
                let at = ptx::tensor_full::Tile(at);
                if G::CTAS == 1 {
                    load::<_, _, _, NoGroup, _>(to, map, at, barrier, One, self.hint)
                } else {
                    load::<_, _, _, G, _>(to, map, at, barrier, One, self.hint)
                }
            };
            panel += 1;
        }
    }
}

// SAFETY: each CTA copies its share of the rows into every CTA, so that each gets the whole tile, since the number of CTAs is in
// the type of the field that all have (I23); a box delivers all its bytes, outside the matrix too (I12).
#[diagnostic::do_not_recommend]
unsafe impl<T, H: Hint, const SHARE: usize, const ROWS: usize, const COLS: usize, const CTAS: u32>
    Fills<ToAll<Tile<T, ROWS, COLS>, CTAS>> for TileAt<Tile<T, SHARE, COLS>, Load, H>
where
    Tile<T, ROWS, COLS>: BulkTile,
    Tile<T, SHARE, COLS>: BulkTile,
{
    const BYTES: u32 = {
        require(
            SHARE * CTAS as usize == ROWS,
            "rule C8: the barrier expects the bytes of the whole tile, so each CTA loads `ROWS / CTAS` of its rows: take the tensor map of a \
             tile of that many",
        );
        <Tile<T, ROWS, COLS> as BulkTile>::BYTES
    };
    #[inline(always)]
    unsafe fn begin<G: CtaGroup>(self, data: Addr<SharedCta>, barrier: Addr<SharedCluster>) {
        type This<T, const R: usize, const C: usize> = Tile<T, R, C>;
        let panel_bytes = <This<T, ROWS, COLS> as BulkTile>::BYTES / This::<T, ROWS, COLS>::PANELS;
        let rank = ptx::sreg::cluster_ctarank();
        // Of pairs, the CTAs at the same place in each hold the same tile.
        let first = rank / G::CTAS * SHARE as u32;
        let data = data.offset(first * PANEL_ROW_BYTES as u32);
        let map = Addr::from_raw(self.map);
        let mut panel = 0;
        while panel < This::<T, ROWS, COLS>::PANELS {
            let col = self.col + (panel * This::<T, ROWS, COLS>::PANEL_COLS) as i32;
            let at = [col, self.row + first as i32];
            let to = data.offset(panel * panel_bytes).in_cluster();
            // SAFETY: the caller's promise, in each of the CTAs: the ring lies at the same place in all (I7), none of which has ended
            // (I22), and every peer has released the stage, since the empty barrier counts the consumers of all (I11).
            unsafe {
                let at = ptx::tensor_full::Tile(at);
                if G::CTAS == 1 {
                    let peers = Multicast(all_peers(CTAS));
                    load::<_, _, _, NoGroup, _>(to, map, at, barrier, peers, self.hint)
                } else {
                    let peers = Multicast(first_of_all_pairs(CTAS) << (rank % G::CTAS));
                    load::<_, _, _, G, _>(to, map, at, barrier, peers, self.hint)
                }
            };
            panel += 1;
        }
    }
}

// SAFETY: each half fills its own part of the pair, and the bytes are those of both (I12).
unsafe impl<A, B, DA: StageData, DB: StageData> Fills<(DA, DB)> for (A, B)
where
    A: Fills<DA>,
    B: Fills<DB>,
{
    const BYTES: u32 = A::BYTES + B::BYTES;
    #[inline(always)]
    unsafe fn begin<G: CtaGroup>(self, data: Addr<SharedCta>, barrier: Addr<SharedCluster>) {
        // SAFETY: the caller's promise; the second half stands behind the first on its alignment.
        unsafe {
            self.0.begin::<G>(data, barrier);
            self.1.begin::<G>(data.offset(DA::BYTES.next_multiple_of(DB::ALIGN)), barrier);
        }
    }
}
