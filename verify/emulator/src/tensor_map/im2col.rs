//! `im2col` copies: pixels of a bounding box, one after the other (PTX ISA 5.5.4).
//!
//! A tensor of channels, width, (height, (depth,)) and images has a box that lies inside the
//! spatial dimensions: from its lower corner to the last index plus its upper corner. A copy begins
//! at the pixel of its coordinates and goes along the box, width first, wrapping around to the next
//! row, slice and image, until it has as many pixels as the map says. Of each pixel, moved by the
//! offsets of the instruction, it takes a run of channels; what lies outside the tensor is filled.

use super::tile::Runs;
use super::{MAX_RANK, Piece, TensorMap, TensorMapDesc, TensorMapError, TileError};

/// Spatial dimensions of a tensor at most.
pub const MAX_SPATIAL: usize = MAX_RANK - 2;

/// What `cuTensorMapEncodeIm2col` takes instead of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Im2col {
    /// The lower corner of the box, width first.
    pub lower: [i32; MAX_SPATIAL],
    /// Its upper corner, counted from the last index.
    pub upper: [i32; MAX_SPATIAL],
    /// Channels of a pixel that a copy takes, at most 256.
    pub channels: u32,
    /// Pixels that a copy takes, at most 1024.
    pub pixels: u32,
}

impl Im2col {
    pub(super) fn validate(&self, desc: &TensorMapDesc) -> Result<(), TensorMapError> {
        use TensorMapError as E;
        let rank = desc.rank as usize;
        if rank < 3 {
            return Err(E::Im2colRank { rank });
        }
        if self.channels == 0 || self.channels > 256 {
            return Err(E::Channels { channels: self.channels });
        }
        if self.pixels == 0 || self.pixels > 1024 {
            return Err(E::Pixels { pixels: self.pixels });
        }
        // 16 bits for the corners of one dimension, 8 for two, 5 for three.
        let limit = [1 << 15, 1 << 7, 1 << 4][rank - 3];
        for dimension in 0..rank - 2 {
            for corner in [self.lower[dimension], self.upper[dimension]] {
                if !(-limit..limit).contains(&corner) {
                    return Err(E::Corner { dimension: dimension + 1, corner, limit });
                }
            }
        }
        Ok(())
    }
}

impl TensorMap {
    /// The pieces of an `im2col` copy at `coords` (channels first, images last) whose pixels are
    /// moved by `offsets`.
    pub fn im2col_pieces(
        &self,
        coords: &[i32],
        offsets: &[u16],
        shared_base: u32,
    ) -> Result<Vec<Piece>, TileError> {
        let desc = self.desc();
        let pattern = self.check(coords, shared_base)?;
        let rank = desc.rank as usize;
        let Some(box_) = &desc.im2col else { return Err(TileError::Mode { im2col: true }) };
        if !offsets.is_empty() && offsets.len() != rank - 2 {
            return Err(TileError::Offsets { rank: desc.rank, found: offsets.len() });
        }
        let first = |i: usize| i64::from(box_.lower[i]);
        let last = |i: usize| desc.global_dims[i + 1] as i64 - 1 + i64::from(box_.upper[i]);
        let mut at: Vec<i64> = coords[1..].iter().map(|&c| i64::from(c)).collect();
        let mut pieces = Vec::new();
        let mut runs = Runs::new(pattern, |piece| pieces.push(piece));
        let row_bytes = box_.channels * desc.data_type.bytes();
        for pixel in 0..box_.pixels {
            let row = (0..rank - 1).try_fold(desc.global_address, |address, i| {
                let offset = offsets.get(i).map_or(0, |&o| i64::from(o));
                let index = u64::try_from(at[i] + offset).ok()?;
                let inside = index < desc.global_dims[i + 1];
                inside.then(|| address.wrapping_add(index.wrapping_mul(desc.global_strides[i])))
            });
            let shared = shared_base + pixel * row_bytes;
            self.push_row(&mut runs, shared, coords[0], box_.channels, row);
            // The next pixel of the box; behind the last of an image, the next image.
            let mut dimension = 0;
            while dimension < rank - 2 {
                at[dimension] += i64::from(desc.element_strides[dimension + 1]);
                if at[dimension] <= last(dimension) {
                    break;
                }
                at[dimension] = first(dimension);
                dimension += 1;
            }
            if dimension == rank - 2 {
                at[dimension] += 1;
            }
        }
        runs.finish();
        Ok(pieces)
    }
}
