//! The matrix of a tile type: box, type and swizzle follow from the type.

use baton::global::{Load, Store};
use baton::launch::TensorMap;
use baton::tile::{BulkTile, Element, ElementType, Swizzle};
use baton_emulator::tensor_map::{self as map, TensorMapDesc};

use crate::buffer::Buffer;
use crate::error::Error;

/// A row-major matrix that begins at the start of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Rows.
    pub rows: u64,
    /// Elements of a row.
    pub cols: u64,
    /// Elements from the start of a row to the start of the next.
    pub pitch: u64,
}

impl Matrix {
    /// Rows without a gap between them.
    pub const fn new(rows: u64, cols: u64) -> Self {
        Self { rows, cols, pitch: cols }
    }

    /// The same, with rows `pitch` elements apart.
    ///
    /// The tensor unit wants rows to begin at multiples of 16 bytes: a matrix whose rows are not such
    /// multiples needs a pitch.
    pub const fn with_pitch(self, pitch: u64) -> Self {
        Self { pitch, ..self }
    }

    /// Refuses a matrix that memory of so many elements does not hold.
    pub(crate) fn fits(self, len: usize) -> Result<(), Error> {
        let Matrix { rows, cols, pitch } = self;
        let refuse = |hint| Error::MatrixDoesNotFit { rows, cols, pitch, len, hint };
        if pitch < cols {
            return Err(refuse(": the pitch is less than a row"));
        }
        match self.span() {
            Some(span) if span <= len as u64 => Ok(()),
            _ => Err(refuse("")),
        }
    }

    /// Elements from the first to the last, gaps included; `None` if they are too many to count.
    fn span(self) -> Option<u64> {
        match self.rows {
            0 => Some(0),
            rows => (rows - 1).checked_mul(self.pitch)?.checked_add(self.cols),
        }
    }
}

impl<T: Element> Buffer<T> {
    /// The matrix in this buffer, as a tensor map for tiles that a kernel loads.
    pub fn tensor_map<Tile: BulkTile<Element = T>>(
        &self,
        matrix: Matrix,
    ) -> Result<TensorMap<'_, Tile, Load>, Error> {
        self.encode(matrix, false)
    }

    /// The matrix in this buffer, as a tensor map for tiles that a kernel stores.
    pub fn tensor_map_mut<Tile: BulkTile<Element = T>>(
        &mut self,
        matrix: Matrix,
    ) -> Result<TensorMap<'_, Tile, Store>, Error> {
        self.encode(matrix, true)
    }

    /// Encodes a map for the access that a caller's borrow allows.
    fn encode<Tile: BulkTile<Element = T>, A>(
        &self,
        matrix: Matrix,
        writes: bool,
    ) -> Result<TensorMap<'_, Tile, A>, Error> {
        let Matrix { rows, cols, pitch } = matrix;
        matrix.fits(self.len())?;

        let refuse = |reason| Error::BadTensorMap {
            what: format!(
                "a matrix of {rows} x {cols} elements of {} bytes, pitch {pitch}, in tiles of {} x {}",
                size_of::<T>(),
                Tile::ROWS,
                Tile::COLS,
            ),
            reason,
        };
        let desc =
            describe::<Tile>(self.address(), matrix).map_err(|error| refuse(error.to_string()))?;
        let encoded = self.device().driver().encode(&desc).map_err(refuse)?;
        // SAFETY: this device's encoder has encoded it; element type, box and swizzle are those of
        // `Tile` (1); `span` has checked that the matrix lies in this buffer, which the callers lend to
        // the result as its access demands (2).
        let map = unsafe { TensorMap::from_encoded(self.device().id(), encoded) };
        // SAFETY: the buffer's allocation is all that the tensor is a part of; the callers say what for.
        Ok(unsafe { map.owned_by(self.owner(), writes) })
    }
}

/// The tensor map of a matrix at `address` in tiles of `Tile`: innermost extent first.
fn describe<Tile: BulkTile>(
    address: u64,
    Matrix { rows, cols, pitch }: Matrix,
) -> Result<TensorMapDesc, map::TensorMapError> {
    let row_bytes = pitch.saturating_mul(size_of::<Tile::Element>() as u64);
    let mut desc = TensorMapDesc::new(
        data_type::<Tile::Element>(),
        address,
        &[cols, rows],
        &[row_bytes],
        &[Tile::PANEL_COLS, Tile::ROWS],
    )?;
    desc.swizzle = match Tile::SWIZZLE {
        Swizzle::None => map::Swizzle::None,
        Swizzle::B128 => map::Swizzle::B128,
    };
    desc.l2_promotion = map::L2Promotion::B256;
    desc.validate()?;
    Ok(desc)
}

/// The name of an element type.
pub(super) fn data_type<T: Element>() -> map::DataType {
    match T::TYPE {
        ElementType::U8 => map::DataType::U8,
        ElementType::U16 => map::DataType::U16,
        ElementType::U32 => map::DataType::U32,
        ElementType::I32 => map::DataType::I32,
        ElementType::U64 => map::DataType::U64,
        ElementType::I64 => map::DataType::I64,
        ElementType::F16 => map::DataType::F16,
        ElementType::Bf16 => map::DataType::Bf16,
        ElementType::F32 => map::DataType::F32,
        ElementType::F64 => map::DataType::F64,
    }
}
