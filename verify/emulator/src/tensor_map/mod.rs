//! Tensor maps: what a `cp.async.bulk.tensor` instruction knows about its tensor.
//!
//! A [`TensorMapDesc`] holds the arguments of the driver's `cuTensorMapEncodeTiled`, field by field
//! and with the same enumerator values, so that a host program can hand one description to the
//! driver on a GPU and to [`encode`] for the emulator. [`TensorMapDesc::validate`] applies the
//! documented rules of that call either way: a map that the emulator takes is one that the driver
//! takes.
//!
//! - [`encode`] and [`decode`] convert to and from the emulator's own 128 bytes (the driver's are
//!   opaque).
//! - [`TensorMap::for_each_piece`] walks one tile: which bytes of shared memory correspond to which
//!   bytes of global memory, and which lie outside the tensor.
//!
//! Maps of `cuTensorMapEncodeIm2col` have an [`Im2col`] in the place of the box. One sentence of the
//! driver's documentation is not a rule here: that each stride is a multiple of the stride before
//! it. Overlapping and permuted dimensions depend on breaking it.

mod format;
mod im2col;
mod replace;
mod swizzle;
mod tile;

#[cfg(test)]
mod tests;

pub use format::{decode, encode};
pub use im2col::{Im2col, MAX_SPATIAL};
pub use replace::{MapField, replace};
pub use swizzle::{Pattern, Swizzle};
pub use tile::{Piece, TensorMap, TileError};

/// Most dimensions that a tensor map can have.
pub const MAX_RANK: usize = 5;

/// Bytes of an encoded tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;

/// Element type of a tensor, with the driver's enumerator values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[expect(missing_docs, reason = "each name is the type")]
pub enum DataType {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    I32 = 3,
    U64 = 4,
    I64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
    Bf16 = 9,
    F32Ftz = 10,
    Tf32 = 11,
    Tf32Ftz = 12,
}

impl DataType {
    /// Every data type.
    pub const ALL: [DataType; 13] = [
        DataType::U8,
        DataType::U16,
        DataType::U32,
        DataType::I32,
        DataType::U64,
        DataType::I64,
        DataType::F16,
        DataType::F32,
        DataType::F64,
        DataType::Bf16,
        DataType::F32Ftz,
        DataType::Tf32,
        DataType::Tf32Ftz,
    ];

    /// Bytes of one element.
    pub const fn bytes(self) -> u32 {
        match self {
            DataType::U8 => 1,
            DataType::U16 | DataType::F16 | DataType::Bf16 => 2,
            DataType::U32 | DataType::I32 | DataType::F32 | DataType::F32Ftz => 4,
            DataType::Tf32 | DataType::Tf32Ftz => 4,
            DataType::U64 | DataType::I64 | DataType::F64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        !matches!(
            self,
            DataType::U8
                | DataType::U16
                | DataType::U32
                | DataType::I32
                | DataType::U64
                | DataType::I64
        )
    }

    /// What a load does to elements on their way into shared memory, applied to `bytes` of whole
    /// elements.
    ///
    /// `F32Ftz` flushes subnormal numbers to a zero of the same sign. `Tf32` and `Tf32Ftz` round to
    /// 10 fraction bits, ties away from zero (the driver's documentation only names the types; this
    /// is what Hopper was reported to do). All other types move bit for bit.
    pub fn convert_loaded(self, bytes: &mut [u8]) {
        let convert: fn(u32) -> u32 = match self {
            DataType::F32Ftz => |bits| {
                let subnormal = bits & 0x7f80_0000 == 0;
                if subnormal { bits & 0x8000_0000 } else { bits }
            },
            DataType::Tf32 | DataType::Tf32Ftz => |bits| match bits & 0x7fff_ffff {
                0x7f80_0000 => bits,
                nan if nan > 0x7f80_0000 => 0x7fff_e000,
                _ => (bits + 0x1000) & 0xffff_e000,
            },
            _ => return,
        };
        for element in bytes.chunks_exact_mut(4) {
            let bits = u32::from_le_bytes([element[0], element[1], element[2], element[3]]);
            element.copy_from_slice(&convert(bits).to_le_bytes());
        }
    }
}

/// Interleaved layout of channels, with the driver's enumerator values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Interleave {
    /// Channels are not interleaved.
    None = 0,
    /// Slices of 16 bytes.
    B16 = 1,
    /// Slices of 32 bytes.
    B32 = 2,
}

/// How far the L2 cache widens a fetch, with the driver's enumerator values. The emulator has no L2
/// and ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum L2Promotion {
    /// No widening.
    None = 0,
    /// To 64 bytes.
    B64 = 1,
    /// To 128 bytes.
    B128 = 2,
    /// To 256 bytes.
    B256 = 3,
}

/// What a load writes for elements outside the tensor, with the driver's enumerator values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum OobFill {
    /// Zeros.
    Zeros = 0,
    /// The special NaN that `.oob` arithmetic treats as zero. Floating-point types only.
    Nan = 1,
}

/// The arguments of `cuTensorMapEncodeTiled`.
///
/// Dimensions run from the innermost, which is contiguous, outwards. Array entries at and beyond
/// `rank` (beyond `rank - 1` for the strides) are ignored, and are zero in what [`decode`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMapDesc {
    /// Element type.
    pub data_type: DataType,
    /// Number of dimensions, 1 to 5.
    pub rank: u32,
    /// Address of element 0.
    pub global_address: u64,
    /// Elements in each dimension.
    pub global_dims: [u64; MAX_RANK],
    /// Bytes from one index to the next in dimensions 1 and up.
    pub global_strides: [u64; MAX_RANK - 1],
    /// Extent of a tile in each dimension, before `element_strides` thins it out.
    pub box_dims: [u32; MAX_RANK],
    /// Every how many elements one is taken, in each dimension. Entry 0 counts only when the layout
    /// is interleaved.
    pub element_strides: [u32; MAX_RANK],
    /// Interleaved layout.
    pub interleave: Interleave,
    /// How tiles are permuted in shared memory.
    pub swizzle: Swizzle,
    /// L2 promotion.
    pub l2_promotion: L2Promotion,
    /// Fill for elements outside the tensor.
    pub oob_fill: OobFill,
    /// The map is one for `im2col` copies; the box then is one pixel.
    pub im2col: Option<Im2col>,
}

impl TensorMapDesc {
    /// A description without interleaving, swizzle, promotion or element strides, filling with
    /// zeros. Change the fields for more. `strides` has one entry fewer than `dims`.
    pub fn new(
        data_type: DataType,
        global_address: u64,
        dims: &[u64],
        strides: &[u64],
        box_dims: &[u32],
    ) -> Result<Self, TensorMapError> {
        let rank = dims.len();
        if rank == 0 || rank > MAX_RANK {
            return Err(TensorMapError::Rank { rank });
        }
        if strides.len() != rank - 1 {
            return Err(TensorMapError::Length {
                what: "stride",
                rank,
                expected: rank - 1,
                found: strides.len(),
            });
        }
        if box_dims.len() != rank {
            return Err(TensorMapError::Length {
                what: "box dimension",
                rank,
                expected: rank,
                found: box_dims.len(),
            });
        }
        let mut desc = TensorMapDesc {
            data_type,
            rank: rank as u32,
            global_address,
            global_dims: [0; MAX_RANK],
            global_strides: [0; MAX_RANK - 1],
            box_dims: [0; MAX_RANK],
            element_strides: [0; MAX_RANK],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            l2_promotion: L2Promotion::None,
            oob_fill: OobFill::Zeros,
            im2col: None,
        };
        desc.global_dims[..rank].copy_from_slice(dims);
        desc.global_strides[..rank - 1].copy_from_slice(strides);
        desc.box_dims[..rank].copy_from_slice(box_dims);
        desc.element_strides[..rank].fill(1);
        Ok(desc)
    }

    /// A description for `im2col` copies, else as [`new`](Self::new).
    pub fn new_im2col(
        data_type: DataType,
        global_address: u64,
        dims: &[u64],
        strides: &[u64],
        im2col: Im2col,
    ) -> Result<Self, TensorMapError> {
        let mut pixel = vec![1; dims.len()];
        if let Some(channels) = pixel.first_mut() {
            *channels = im2col.channels;
        }
        let desc = Self::new(data_type, global_address, dims, strides, &pixel)?;
        Ok(TensorMapDesc { im2col: Some(im2col), ..desc })
    }

    /// Elements of a tile in each dimension: `ceil(box / element stride)`; 1 at and beyond the
    /// rank.
    pub fn tile_dims(&self) -> [u32; MAX_RANK] {
        std::array::from_fn(|i| match i {
            _ if i >= self.rank as usize => 1,
            0 if self.interleave == Interleave::None => self.box_dims[0],
            _ => self.box_dims[i].div_ceil(self.element_strides[i].max(1)),
        })
    }

    /// Bytes that one tile occupies in shared memory, and that one copy counts on its mbarrier,
    /// whatever part of the tile lies outside the tensor.
    pub fn tile_bytes(&self) -> u64 {
        let elements: u64 = match &self.im2col {
            Some(im2col) => u64::from(im2col.channels) * u64::from(im2col.pixels),
            None => self.tile_dims().iter().map(|&n| u64::from(n)).product(),
        };
        elements.saturating_mul(u64::from(self.data_type.bytes()))
    }

    /// Checks the rules that `cuTensorMapEncodeTiled` documents.
    pub fn validate(&self) -> Result<(), TensorMapError> {
        use TensorMapError as E;
        let rank = self.rank as usize;
        if rank == 0 || rank > MAX_RANK {
            return Err(E::Rank { rank });
        }
        if self.interleave != Interleave::None && rank < 3 {
            return Err(E::InterleaveRank { interleave: self.interleave, rank });
        }
        let unit = if self.interleave == Interleave::B32 { 32 } else { 16 };
        if !self.global_address.is_multiple_of(unit) {
            return Err(E::AddressAlignment { address: self.global_address, unit });
        }
        for (dimension, &length) in self.global_dims[..rank].iter().enumerate() {
            if length == 0 || length > 1 << 32 {
                return Err(E::Dimension { dimension, length });
            }
        }
        for (i, &stride) in self.global_strides[..rank - 1].iter().enumerate() {
            if stride % unit != 0 {
                return Err(E::StrideAlignment { dimension: i + 1, stride, unit });
            }
            if stride >= 1 << 40 {
                return Err(E::StrideRange { dimension: i + 1, stride });
            }
        }
        for (dimension, &length) in self.box_dims[..rank].iter().enumerate() {
            if length == 0 || length > 256 {
                return Err(E::Box { dimension, length });
            }
        }
        for (dimension, &stride) in self.element_strides[..rank].iter().enumerate() {
            if stride == 0 || stride > 8 {
                return Err(E::ElementStride { dimension, stride });
            }
        }
        if self.interleave == Interleave::B32 && self.swizzle != Swizzle::B32 {
            return Err(E::InterleaveSwizzle { swizzle: self.swizzle });
        }
        if self.interleave == Interleave::None {
            let bytes = self.box_dims[0] * self.data_type.bytes();
            if !bytes.is_multiple_of(16) {
                return Err(E::InnerBytes { elements: self.box_dims[0], bytes });
            }
            if let Some(span) = self.swizzle.span().filter(|&span| bytes > span) {
                return Err(E::InnerSpan { swizzle: self.swizzle, bytes, span });
            }
        }
        if let Some(im2col) = &self.im2col {
            im2col.validate(self)?;
        }
        if self.oob_fill == OobFill::Nan && !self.data_type.is_float() {
            return Err(E::FillType { data_type: self.data_type });
        }
        self.check_extent()
    }

    /// The last byte of the tensor has a 64-bit address, so that no later computation can wrap
    /// around.
    fn check_extent(&self) -> Result<(), TensorMapError> {
        let rank = self.rank as usize;
        let inner = u128::from(self.global_dims[0]) * u128::from(self.data_type.bytes());
        let outer: u128 = self.global_dims[1..rank]
            .iter()
            .zip(&self.global_strides)
            .map(|(&length, &stride)| u128::from(length - 1) * u128::from(stride))
            .sum();
        if u128::from(self.global_address) + inner + outer > u128::from(u64::MAX) {
            return Err(TensorMapError::Extent { address: self.global_address });
        }
        Ok(())
    }
}

/// A description that breaks a rule of `cuTensorMapEncodeTiled`, or bytes that are no tensor map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum TensorMapError {
    #[error("tensor map: {rank} dimensions; use 1 to 5")]
    Rank { rank: usize },
    #[error("tensor map: {found} {what}(s) for {rank} dimension(s); give {expected}")]
    Length { what: &'static str, rank: usize, expected: usize, found: usize },
    #[error(
        "tensor map: interleave {interleave:?} with {rank} dimension(s); use 3 to 5 dimensions or no interleave"
    )]
    InterleaveRank { interleave: Interleave, rank: usize },
    #[error(
        "tensor map: global address {address:#x} is not a multiple of {unit}; align the buffer to {unit} bytes"
    )]
    AddressAlignment { address: u64, unit: u64 },
    #[error("tensor map: dimension {dimension} has {length} elements; use 1 to 2^32")]
    Dimension { dimension: usize, length: u64 },
    #[error(
        "tensor map: the stride of dimension {dimension}, {stride} bytes, is not a multiple of {unit}; \
         pad the rows of the tensor to a multiple of {unit} bytes"
    )]
    StrideAlignment { dimension: usize, stride: u64, unit: u64 },
    #[error(
        "tensor map: the stride of dimension {dimension}, {stride} bytes, is 2^40 or more; split the tensor"
    )]
    StrideRange { dimension: usize, stride: u64 },
    #[error("tensor map: the box has {length} elements in dimension {dimension}; use 1 to 256")]
    Box { dimension: usize, length: u32 },
    #[error(
        "tensor map: the inner box dimension, {elements} elements, has {bytes} bytes; make it a multiple of 16 bytes"
    )]
    InnerBytes { elements: u32, bytes: u32 },
    #[error(
        "tensor map: the inner box dimension has {bytes} bytes, more than the {span} that swizzle {swizzle:?} spans; \
         use a narrower box or a wider swizzle"
    )]
    InnerSpan { swizzle: Swizzle, bytes: u32, span: u32 },
    #[error("tensor map: the element stride of dimension {dimension} is {stride}; use 1 to 8")]
    ElementStride { dimension: usize, stride: u32 },
    #[error("tensor map: interleave B32 with swizzle {swizzle:?}; use swizzle B32")]
    InterleaveSwizzle { swizzle: Swizzle },
    #[error("im2col tensor map: {rank} dimensions; use 3 to 5")]
    Im2colRank { rank: usize },
    #[error("im2col tensor map: {channels} channels of a pixel; use 1 to 256")]
    Channels { channels: u32 },
    #[error("im2col tensor map: {pixels} pixels of a column; use 1 to 1024")]
    Pixels { pixels: u32 },
    #[error(
        "im2col tensor map: a corner of the box is {corner} in dimension {dimension}; with so many dimensions use -{limit} \
         to {}", limit - 1
    )]
    Corner { dimension: usize, corner: i32, limit: i32 },
    #[error("tensor map: NaN fill for {data_type:?}; use zeros, or a floating-point type")]
    FillType { data_type: DataType },
    #[error(
        "tensor map: the tensor at {address:#x} ends beyond the 64-bit address space; check its strides"
    )]
    Extent { address: u64 },
    #[error(
        "the 128 bytes are no tensor map of the emulator (they begin {found:02x?}); pass a map that `encode` made, \
         by value or by address"
    )]
    Magic { found: [u8; 4] },
    #[error("tensor map: format version {found} is not known here; encode the map with this build")]
    Version { found: u8 },
    #[error(
        "tensor map: byte {offset}, {field}, has the unknown value {value}; the map was overwritten after `encode`"
    )]
    Field { field: &'static str, offset: usize, value: u8 },
    #[error(
        "tensor map: byte {offset} is reserved and not zero; the map was overwritten after `encode`"
    )]
    Reserved { offset: usize },
}
