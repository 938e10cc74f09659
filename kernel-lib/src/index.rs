//! Where a thread is: indices in the grid, the cluster and the CTA, each a type of its own.
//!
//! They say nothing about who else is where: permission to act for a set of threads comes from
//! [tokens](crate::token) alone.

use crate::ptx::sreg;
use crate::token::{Cta, Set, WARP};

/// Index of a CTA in the grid (`%ctaid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct CtaIndex {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// Extent of the grid in CTAs (`%nctaid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct GridExtent {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// Index of a cluster in the grid of clusters (`%clusterid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ClusterIndex {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// Rank of a CTA in its cluster (`%cluster_ctarank`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterRank(pub u32);

/// Index of a warp in its CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarpIndex(pub u32);

/// Index of a thread in its CTA, along x (`%tid.x`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadIndex(pub u32);

impl GridExtent {
    /// Number of CTAs.
    #[inline(always)]
    pub fn ctas(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

impl CtaIndex {
    /// The CTA's number in the order x, y, z of a grid of this extent.
    #[inline(always)]
    pub fn linear(self, grid: GridExtent) -> u64 {
        self.x as u64 + grid.x as u64 * (self.y as u64 + grid.y as u64 * self.z as u64)
    }
}

impl ThreadIndex {
    /// The warp that the thread is in.
    #[inline(always)]
    pub fn warp(self) -> WarpIndex {
        WarpIndex(self.0 / WARP)
    }
}

impl<L, const THREADS: u32> Cta<'_, L, THREADS> {
    /// Index of this CTA in the grid.
    #[inline(always)]
    pub fn index(&self) -> CtaIndex {
        CtaIndex { x: sreg::ctaid_x(), y: sreg::ctaid_y(), z: sreg::ctaid_z() }
    }

    /// Extent of the grid.
    #[inline(always)]
    pub fn grid(&self) -> GridExtent {
        GridExtent { x: sreg::nctaid_x(), y: sreg::nctaid_y(), z: sreg::nctaid_z() }
    }

    /// Index of this CTA's cluster in the grid of clusters. PTX 7.8, sm_90.
    #[inline(always)]
    pub fn cluster_index(&self) -> ClusterIndex {
        ClusterIndex { x: sreg::clusterid_x(), y: sreg::clusterid_y(), z: sreg::clusterid_z() }
    }

    /// Rank of this CTA in its cluster. PTX 7.8, sm_90.
    #[inline(always)]
    pub fn cluster_rank(&self) -> ClusterRank {
        ClusterRank(sreg::cluster_ctarank())
    }

    /// Index of this thread in the CTA.
    #[inline(always)]
    pub fn thread(&self) -> ThreadIndex {
        ThreadIndex(self.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_order_is_x_then_y_then_z() {
        let grid = GridExtent { x: 3, y: 4, z: 2 };
        assert_eq!(CtaIndex { x: 2, y: 1, z: 1 }.linear(grid), 2 + 3 + 12);
        assert_eq!(grid.ctas(), 24);
    }

    #[test]
    fn a_warp_has_32_threads() {
        assert_eq!([ThreadIndex(31).warp(), ThreadIndex(32).warp()], [WarpIndex(0), WarpIndex(1)]);
    }
}
