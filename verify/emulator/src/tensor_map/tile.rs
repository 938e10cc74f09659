//! One tile of a tensor, as runs of bytes.
//!
//! A tile is a box of elements at some coordinates of the tensor. In shared memory its rows follow
//! each other without gaps, innermost dimension first, and the swizzle then permutes the addresses
//! (also where the inner dimension is narrower than the swizzle's span). In global memory its
//! elements lie wherever the strides put them, and those with a coordinate below zero or beyond the
//! end do not exist: a load fills their places, a store skips them.

use super::{
    Interleave, MAX_RANK, OobFill, Pattern, TENSOR_MAP_BYTES, TensorMapDesc, TensorMapError,
};

/// More bytes than any tile that shared memory can hold.
const MAX_TILE_BYTES: u64 = 256 << 10;

/// What shared-memory addresses of tensor copies must be a multiple of.
const SHARED_ALIGNMENT: u32 = 128;

/// A tensor map that obeys the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    desc: TensorMapDesc,
}

/// A run of bytes of a tile, contiguous in shared memory and, if it exists there, in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Shared-memory address of the first byte.
    pub shared: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// Global address of the first byte; none outside the tensor.
    pub global: Option<u64>,
}

/// Why a tile cannot be walked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum TileError {
    #[error(
        "tensor copy with {found} coordinate(s) through a map of {rank} dimension(s); use the {rank}d form of the \
         instruction, or encode the map with {found} dimension(s)"
    )]
    Coordinates { rank: u32, found: usize },
    #[error(
        "{} copy through a map of the other mode; encode the map for it", if *im2col { "im2col" } else { "tiled" }
    )]
    Mode { im2col: bool },
    #[error(
        "im2col copy with {found} offset(s) through a map of {rank} dimensions; give one for each spatial dimension"
    )]
    Offsets { rank: u32, found: usize },
    #[error(
        "copy of four rows through a map of {rank} dimension(s) whose box has {rows} rows; it needs 2 dimensions and a \
         box of one row"
    )]
    FourRows { rank: u32, rows: u32 },
    #[error(
        "tensor copy at shared address {address:#x}; align the tile to {SHARED_ALIGNMENT} bytes \
         (1024 where a 128-byte swizzle is to start with its first row)"
    )]
    SharedAlignment { address: u32 },
    #[error(
        "a tile of {bytes} bytes at shared address {address:#x} is larger than shared memory; use a smaller box"
    )]
    TooLarge { address: u32, bytes: u64 },
    #[error(
        "the emulator does not walk tiles with interleave {interleave:?}; use interleave None, or run on a GPU"
    )]
    Interleaved { interleave: Interleave },
}

impl TensorMap {
    /// Checks the description.
    pub fn new(desc: TensorMapDesc) -> Result<Self, TensorMapError> {
        desc.validate()?;
        Ok(TensorMap { desc })
    }

    /// Reads the emulator's 128 bytes.
    pub fn decode(bytes: &[u8; TENSOR_MAP_BYTES]) -> Result<Self, TensorMapError> {
        Ok(TensorMap { desc: super::decode(bytes)? })
    }

    /// The description.
    pub fn desc(&self) -> &TensorMapDesc {
        &self.desc
    }

    /// Bytes of shared memory that a tile takes; see [`TensorMapDesc::tile_bytes`].
    pub fn tile_bytes(&self) -> u64 {
        self.desc.tile_bytes()
    }

    /// Writes what a load leaves in shared memory for elements outside the tensor. `bytes` starts
    /// at an even place of an element, as every [`Piece`] does.
    ///
    /// The special NaN is the 16-bit pattern 0x7ff7 throughout, whatever the element type (its
    /// value is not documented; Hopper was reported to write this one).
    pub fn fill(&self, bytes: &mut [u8]) {
        match self.desc.oob_fill {
            OobFill::Zeros => bytes.fill(0),
            OobFill::Nan => {
                for (i, byte) in bytes.iter_mut().enumerate() {
                    *byte = 0x7ff7_u16.to_le_bytes()[i % 2];
                }
            }
        }
    }

    /// The pieces of the tile at `coords` (innermost dimension first), as
    /// [`for_each_piece`](Self::for_each_piece) visits them.
    pub fn pieces(&self, coords: &[i32], shared_base: u32) -> Result<Vec<Piece>, TileError> {
        let mut pieces = Vec::new();
        self.for_each_piece(coords, shared_base, |piece| pieces.push(piece))?;
        Ok(pieces)
    }

    /// Visits the tile at `coords` (innermost dimension first) whose shared-memory copy begins at
    /// `shared_base`.
    ///
    /// Every byte of the tile is in exactly one piece. Pieces are as long as contiguity allows: at
    /// least 16 bytes inside the tensor unless its edge is nearer.
    pub fn for_each_piece(
        &self,
        coords: &[i32],
        shared_base: u32,
        visit: impl FnMut(Piece),
    ) -> Result<(), TileError> {
        let desc = &self.desc;
        let pattern = self.check(coords, shared_base)?;
        if desc.im2col.is_some() {
            return Err(TileError::Mode { im2col: false });
        }
        let mut runs = Runs::new(pattern, visit);

        let rank = desc.rank as usize;
        let tile = desc.tile_dims();
        let row_bytes = tile[0] * desc.data_type.bytes();
        let mut index = [0u32; MAX_RANK];
        let mut shared = shared_base;
        loop {
            let row = self.row_address(coords, &index);
            self.push_row(&mut runs, shared, coords[0], tile[0], row);
            shared += row_bytes;
            // Count up the outer dimensions like an odometer.
            let Some(next) = (1..rank).find(|&i| index[i] + 1 < tile[i]) else { break };
            index[1..next].fill(0);
            index[next] += 1;
        }
        runs.finish();
        Ok(())
    }

    /// The pieces of a copy of four rows, `tile::gather4` or `tile::scatter4`: elements from `x` on of
    /// the rows `y`.
    pub fn four_rows(
        &self,
        x: i32,
        y: [i32; 4],
        shared_base: u32,
    ) -> Result<Vec<Piece>, TileError> {
        let desc = &self.desc;
        let rows = desc.box_dims[1];
        if desc.rank != 2 || rows != 1 || desc.im2col.is_some() {
            return Err(TileError::FourRows { rank: desc.rank, rows });
        }
        let pattern = self.check(&[x, 0], shared_base)?;
        let mut pieces = Vec::new();
        let mut runs = Runs::new(pattern, |piece| pieces.push(piece));
        let width = desc.box_dims[0];
        for (i, y) in (0..).zip(y) {
            let shared = shared_base + i * width * desc.data_type.bytes();
            let row = self.row_address(&[x, y], &[0; MAX_RANK]);
            self.push_row(&mut runs, shared, x, width, row);
        }
        runs.finish();
        Ok(pieces)
    }

    /// One row of `length` elements from `x` on, at a shared address before the swizzle. `row` is
    /// where its element 0 would be.
    pub(super) fn push_row<F: FnMut(Piece)>(
        &self,
        runs: &mut Runs<F>,
        shared: u32,
        x: i32,
        length: u32,
        row: Option<u64>,
    ) {
        let element = self.desc.data_type.bytes();
        let x = i64::from(x);
        // The elements of the row that exist are first..last.
        let first = (-x).clamp(0, i64::from(length));
        let last = (self.desc.global_dims[0] as i64 - x).clamp(first, i64::from(length));
        let [first_byte, last_byte] = [first as u32 * element, last as u32 * element];
        match row {
            Some(row) if first < last => {
                // x + first is inside the tensor.
                let inner = ((x + first) as u64).wrapping_mul(u64::from(element));
                runs.push(shared, first_byte, None);
                let global = row.wrapping_add(inner);
                runs.push(shared + first_byte, last_byte - first_byte, Some(global));
                runs.push(shared + last_byte, length * element - last_byte, None);
            }
            _ => runs.push(shared, length * element, None),
        }
    }

    /// Global address of element 0 of the row at these tile indices; none if an outer coordinate is
    /// outside.
    fn row_address(&self, coords: &[i32], index: &[u32; MAX_RANK]) -> Option<u64> {
        let desc = &self.desc;
        let mut address = desc.global_address;
        for i in 1..desc.rank as usize {
            let at = i64::from(coords[i]) + i64::from(index[i] * desc.element_strides[i]);
            let at = u64::try_from(at).ok().filter(|&at| at < desc.global_dims[i])?;
            address += at * desc.global_strides[i - 1];
        }
        Some(address)
    }

    pub(super) fn check(&self, coords: &[i32], shared_base: u32) -> Result<Pattern, TileError> {
        let desc = &self.desc;
        if coords.len() != desc.rank as usize {
            return Err(TileError::Coordinates { rank: desc.rank, found: coords.len() });
        }
        if desc.interleave != Interleave::None {
            return Err(TileError::Interleaved { interleave: desc.interleave });
        }
        if !shared_base.is_multiple_of(SHARED_ALIGNMENT) {
            return Err(TileError::SharedAlignment { address: shared_base });
        }
        let bytes = self.tile_bytes();
        if bytes > MAX_TILE_BYTES || u64::from(shared_base) + bytes > u64::from(u32::MAX) {
            return Err(TileError::TooLarge { address: shared_base, bytes });
        }
        Ok(desc.swizzle.pattern())
    }
}

/// Splits runs where the swizzle does, and joins those that meet again.
pub(super) struct Runs<F> {
    pattern: Pattern,
    pending: Option<Piece>,
    visit: F,
}

impl<F: FnMut(Piece)> Runs<F> {
    pub fn new(pattern: Pattern, visit: F) -> Self {
        Runs { pattern, pending: None, visit }
    }

    /// Takes a run by its address before the swizzle.
    pub fn push(&mut self, mut address: u32, mut bytes: u32, mut global: Option<u64>) {
        while bytes > 0 {
            let length = bytes.min(self.pattern.atom - address % self.pattern.atom);
            self.join(Piece { shared: self.pattern.permute(address), bytes: length, global });
            address += length;
            bytes -= length;
            global = global.map(|global| global + u64::from(length));
        }
    }

    fn join(&mut self, piece: Piece) {
        if let Some(pending) = &mut self.pending {
            let meets = pending.shared + pending.bytes == piece.shared
                && match (pending.global, piece.global) {
                    (Some(a), Some(b)) => a + u64::from(pending.bytes) == b,
                    (a, b) => a == b,
                };
            if meets {
                pending.bytes += piece.bytes;
                return;
            }
            (self.visit)(*pending);
        }
        self.pending = Some(piece);
    }

    pub fn finish(mut self) {
        if let Some(piece) = self.pending.take() {
            (self.visit)(piece);
        }
    }
}
