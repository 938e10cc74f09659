//! `tcgen05.cp` and `tcgen05.shift`: rows of shared memory into lanes, and lanes by one.
//!
//! | shape | row r of the source goes to lanes |
//! |---|---|
//! | `.128x256b`, `.128x128b` | r |
//! | `.4x256b` | 32·r |
//! | `.64x128b.warpx2::02_13` | r, r + 64 |
//! | `.64x128b.warpx2::01_23` | 64·⌊r/32⌋ + r%32, and 32 more |
//! | `.32x128b.warpx4` | r, r + 32, r + 64, r + 96 |
//!
//! plus the lane of the address. The source is a K-major matrix of bytes. On the way, groups of
//! sixteen numbers of 6 or 4 bits with padding can become bytes.
//!
//! A shift gives lanes 0 to 30 of a quarter, for 32 bytes, what the next lane had. The text says
//! "downwards, all rows except the last"; that the last is the one which a `.4x256b` copy refreshes
//! decides the direction. It was not compared with hardware.

use super::descriptor::{DescriptorError, Major, SharedDescriptor, SharedWindow};
use super::element::containers;
use super::mma::MmaError;
use super::tensor_memory::{TensorAddress, TensorMemory, TensorMemoryError};

/// Shape of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the qualifier")]
pub enum CopyShape {
    Lanes128x256b,
    Lanes4x256b,
    Lanes128x128b,
    Lanes64x128b02_13,
    Lanes64x128b01_23,
    Lanes32x128b,
}

/// A copy: its shape, and the bits of the numbers that become bytes on the way, if any do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copy {
    /// Rows, bytes and lanes.
    pub shape: CopyShape,
    /// 6 or 4: sixteen such numbers in sixteen bytes are unpacked.
    pub unpack: Option<u32>,
}

impl CopyShape {
    /// Rows of the source.
    pub const fn rows(self) -> u32 {
        match self {
            CopyShape::Lanes128x256b | CopyShape::Lanes128x128b => 128,
            CopyShape::Lanes4x256b => 4,
            CopyShape::Lanes64x128b02_13 | CopyShape::Lanes64x128b01_23 => 64,
            CopyShape::Lanes32x128b => 32,
        }
    }

    /// Columns of tensor memory.
    pub const fn columns(self) -> u32 {
        match self {
            CopyShape::Lanes128x256b | CopyShape::Lanes4x256b => 8,
            _ => 4,
        }
    }

    /// The lanes that a row goes to.
    pub fn lanes(self, row: u32) -> impl Iterator<Item = u32> {
        let (first, step, times) = match self {
            CopyShape::Lanes128x256b | CopyShape::Lanes128x128b => (row, 0, 1),
            CopyShape::Lanes4x256b => (32 * row, 0, 1),
            CopyShape::Lanes64x128b02_13 => (row, 64, 2),
            CopyShape::Lanes64x128b01_23 => (row / 32 * 64 + row % 32, 32, 2),
            CopyShape::Lanes32x128b => (row, 32, 4),
        };
        (0..times).map(move |i| first + i * step)
    }
}

fn in_source(source: DescriptorError) -> MmaError {
    MmaError::Shared { matrix: "of the source", source }
}

impl Copy {
    /// The runs of shared memory, address and length, that it reads.
    pub fn runs(&self, from: &SharedDescriptor) -> Result<Vec<(u32, u32)>, MmaError> {
        let layout = from.layout(Major::K, 8).map_err(in_source)?;
        Ok(layout.runs(self.shape.rows(), 4 * self.shape.columns()).collect())
    }

    /// Performs it.
    pub fn execute(
        &self,
        from: &SharedDescriptor,
        shared: &SharedWindow<'_>,
        to: TensorAddress,
        tensor: &mut TensorMemory,
    ) -> Result<(), MmaError> {
        let layout = from.layout(Major::K, 8).map_err(in_source)?;
        let columns = self.shape.columns();
        for row in 0..self.shape.rows() {
            let mut bytes = layout.row_bytes(row, 4 * columns, shared).map_err(in_source)?;
            if let Some(width) = self.unpack {
                for group in bytes.chunks_exact_mut(16) {
                    let packed = std::array::from_fn(|i| group[i]);
                    group.copy_from_slice(&containers(packed, width));
                }
            }
            for lane in self.shape.lanes(row) {
                let at = TensorAddress { lane: to.lane.saturating_add(lane), ..to };
                tensor
                    .check(at, 1, columns)
                    .map_err(|source| MmaError::Tensor { matrix: "of the destination", source })?;
                let cells = tensor.row_mut(at.lane, at.column, columns);
                for (cell, word) in cells.iter_mut().zip(bytes.chunks_exact(4)) {
                    *cell = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                }
            }
        }
        Ok(())
    }
}

/// Columns of a shift.
pub const SHIFT_COLUMNS: u32 = 8;

/// `tcgen05.shift.down`.
pub fn shift(at: TensorAddress, tensor: &mut TensorMemory) -> Result<(), TensorMemoryError> {
    tensor.check(at, 32, SHIFT_COLUMNS)?;
    for lane in at.lane..at.lane + 31 {
        for column in at.column..at.column + SHIFT_COLUMNS {
            match tensor.read(lane + 1, column) {
                Some(value) => tensor.write(lane, column, value),
                None => tensor.forget(TensorAddress { lane, column }, 1, 1),
            }
        }
    }
    Ok(())
}
