//! Shared-memory matrix descriptors: where the elements of A and B lie.
//!
//! A descriptor names a start address, two strides and a swizzle. Together with the element size,
//! and with which index of the matrix is contiguous (its *major* index), they define one of the
//! canonical layouts. With `T` elements in 16 bytes, and `s` the swizzle's span in units of 16
//! bytes, the element at row `r` (of A; column of B) and depth `k` is at
//!
//! | | byte offset from the start address, before the swizzle |
//! |---|---|
//! | K-major, no swizzle | 16·(r%8) + SBO·(r/8) + size·(k%T) + LBO·(k/T) |
//! | K-major, swizzled | 16s·(r%8) + SBO·(r/8) + size·k |
//! | MN-major, no swizzle | size·(r%T) + SBO·(r/T) + 16·(k%8) + LBO·(k/8) |
//! | MN-major, swizzled | size·(r%sT) + LBO·(r/sT) + 16s·(k%8) + SBO·(k/8) |
//!
//! (k%4 and k/4 in the last row for the 128-byte swizzle with 32-byte atoms.) The swizzle then acts
//! on the sum as an address, so that a descriptor whose start is advanced inside a swizzled row
//! still finds its elements. A base offset moves the pattern to start at another line of 128 bytes.

use super::element::{self, ElementType};
use crate::tensor_map::{Pattern, Swizzle};

/// Shared-memory addresses in descriptors have 18 bits.
const ADDRESS_MASK: u32 = 0x3_ffff;

/// Which index of an operand is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// The depth, K.
    K,
    /// The row of A, or the column of B ("transposed" in the instruction descriptor).
    Mn,
}

/// A decoded shared-memory descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedDescriptor {
    /// Address of element (0, 0), before the swizzle.
    pub start: u32,
    /// Leading-dimension byte offset, LBO.
    pub leading: u32,
    /// Stride-dimension byte offset, SBO.
    pub stride: u32,
    /// Line of 128 bytes, modulo 8, at which the swizzle pattern starts.
    pub base_offset: u32,
    /// How rows are permuted.
    pub swizzle: Swizzle,
}

/// A shared-memory descriptor that is illegal (rule D14), or an operand that shared memory does not
/// have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum DescriptorError {
    #[error(
        "shared-memory descriptor {bits:#018x}: bits 46 to 48 are {found:#05b}; tcgen05 needs 0b001 (a wgmma descriptor \
         has 0b000 there and other swizzle codes) (rule D14)"
    )]
    Version { bits: u64, found: u64 },
    #[error(
        "shared-memory descriptor {bits:#018x}: reserved bit {bit} is set; encode addresses and strides as \
         (x & 0x3ffff) >> 4 (rule D14)"
    )]
    Reserved { bits: u64, bit: u32 },
    #[error(
        "wgmma descriptor {bits:#018x}: reserved bit {bit} is set; encode addresses and strides as (x & 0x3ffff) >> 4 \
         (a tcgen05 descriptor has 0b001 in bits 46 to 48 and other swizzle codes) (rule D14)"
    )]
    WgmmaReserved { bits: u64, bit: u32 },
    #[error(
        "shared-memory descriptor {bits:#018x}: absolute leading dimension (bit 52), which sm_100a does not have; clear it \
         (rule D14)"
    )]
    AbsoluteLeading { bits: u64 },
    #[error(
        "shared-memory descriptor {bits:#018x}: swizzle code {code} (bits 61 to 63); use 0 for none, 2 for 128 bytes, \
         4 for 64, 6 for 32, or 1 for 128 with 32-byte atoms (rule D14)"
    )]
    Swizzle { bits: u64, code: u64 },
    #[error(
        "a {bits}-bit MN-major operand with swizzle {swizzle:?}; 32-bit MN-major operands need the 128-byte swizzle with \
         32-byte atoms (code 1), all others must not have it (rule D14)"
    )]
    Transposed { bits: u32, swizzle: Swizzle },
    #[error(
        "a K-major operand with the 128-byte swizzle with 32-byte atoms (code 1); use code 2, or an MN-major tf32 operand \
         (rule D14)"
    )]
    AtomKMajor,
    #[error(
        "element (row {row}, k {k}) of a matrix operand is at shared address {address:#x}, outside the {bytes} bytes of \
         shared memory; check the descriptor's start, leading and stride offsets (rule D14)"
    )]
    Outside { row: u32, k: u32, address: u32, bytes: usize },
    #[error(
        "the emulator does not read {element:?} operands; use an 8-, 16- or 32-bit type, or run on a GPU"
    )]
    Unsupported { element: ElementType },
}

impl DescriptorError {
    /// The rule that was broken, if it is one of the list.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Unsupported { .. } => None,
            _ => Some("D14"),
        }
    }
}

impl SharedDescriptor {
    /// Decodes the 64-bit form that `tcgen05.mma` takes.
    pub fn decode(bits: u64) -> Result<Self, DescriptorError> {
        let field = |low: u32, width: u32| bits >> low & ((1 << width) - 1);
        if field(46, 3) != 0b001 {
            return Err(DescriptorError::Version { bits, found: field(46, 3) });
        }
        let reserved = [14, 15, 30, 31].into_iter().chain(53..=60);
        if let Some(bit) = reserved.into_iter().find(|&bit| field(bit, 1) != 0) {
            return Err(DescriptorError::Reserved { bits, bit });
        }
        if field(52, 1) != 0 {
            return Err(DescriptorError::AbsoluteLeading { bits });
        }
        let swizzle = match field(61, 3) {
            0 => Swizzle::None,
            1 => Swizzle::B128Atom32,
            2 => Swizzle::B128,
            4 => Swizzle::B64,
            6 => Swizzle::B32,
            code => return Err(DescriptorError::Swizzle { bits, code }),
        };
        Ok(SharedDescriptor {
            start: (field(0, 14) << 4) as u32,
            leading: (field(16, 14) << 4) as u32,
            stride: (field(32, 14) << 4) as u32,
            base_offset: field(49, 3) as u32,
            swizzle,
        })
    }

    /// Decodes the 64-bit form that `wgmma.mma_async` takes.
    pub fn decode_wgmma(bits: u64) -> Result<Self, DescriptorError> {
        let field = |low: u32, width: u32| bits >> low & ((1 << width) - 1);
        let reserved = [14, 15, 30, 31, 46, 47, 48].into_iter().chain(52..=61);
        if let Some(bit) = reserved.into_iter().find(|&bit| field(bit, 1) != 0) {
            return Err(DescriptorError::WgmmaReserved { bits, bit });
        }
        let swizzle =
            [Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32][field(62, 2) as usize];
        Ok(SharedDescriptor {
            start: (field(0, 14) << 4) as u32,
            leading: (field(16, 14) << 4) as u32,
            stride: (field(32, 14) << 4) as u32,
            base_offset: field(49, 3) as u32,
            swizzle,
        })
    }

    /// The layout of an operand of elements with this many bits (8, 16 or 32; 4 lays out bytes).
    pub fn layout(&self, major: Major, bits: u32) -> Result<OperandLayout, DescriptorError> {
        let swizzle = self.swizzle;
        let atom32 = swizzle == Swizzle::B128Atom32;
        match major {
            Major::K if atom32 => return Err(DescriptorError::AtomKMajor),
            Major::Mn if atom32 != (bits == 32) => {
                return Err(DescriptorError::Transposed { bits, swizzle });
            }
            _ => {}
        }
        let size = bits.div_ceil(8);
        let chunk = 16 / size;
        let span = swizzle.span().unwrap_or(16);
        let swizzled = swizzle != Swizzle::None;
        let (leading, stride) = (self.leading, self.stride);
        let [row, k] = match (major, swizzled) {
            (Major::K, false) => [Axis::new(8, 16, stride), Axis::new(chunk, size, leading)],
            // The leading offset is ignored: all of K lies in one row.
            (Major::K, true) => [Axis::new(8, span, stride), Axis::new(span / size, size, span)],
            (Major::Mn, false) => [Axis::new(chunk, size, stride), Axis::new(8, 16, leading)],
            (Major::Mn, true) => {
                let lines = if atom32 { 4 } else { 8 };
                [Axis::new(span / size, size, leading), Axis::new(lines, span, stride)]
            }
        };
        Ok(OperandLayout {
            start: self.start,
            pattern_start: self.base_offset << 7,
            pattern: swizzle.pattern(),
            major,
            size,
            row,
            k,
        })
    }
}

/// How an index moves the address: `inner` bytes per step inside a group, `outer` bytes per group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Axis {
    group: u32,
    inner: u32,
    outer: u32,
}

impl Axis {
    const fn new(group: u32, inner: u32, outer: u32) -> Self {
        Axis { group, inner, outer }
    }

    fn offset(self, index: u32) -> u32 {
        index % self.group * self.inner + index / self.group * self.outer
    }
}

/// Addresses of the elements of an operand in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandLayout {
    start: u32,
    pattern_start: u32,
    pattern: Pattern,
    major: Major,
    size: u32,
    row: Axis,
    k: Axis,
}

/// The shared memory of a CTA, at the addresses that descriptors use.
#[derive(Clone, Copy, Debug)]
pub struct SharedWindow<'a> {
    base: u32,
    bytes: &'a [u8],
}

impl<'a> SharedWindow<'a> {
    /// Shared memory whose first byte has the address `base`, of which descriptors hold the lower
    /// 18 bits.
    pub fn new(base: u32, bytes: &'a [u8]) -> Self {
        SharedWindow { base, bytes }
    }

    fn get(&self, address: u32, length: u32) -> Option<&'a [u8]> {
        let offset = (address.wrapping_sub(self.base) & ADDRESS_MASK) as usize;
        self.bytes.get(offset..offset + length as usize)
    }
}

impl OperandLayout {
    /// Shared-memory address of an element.
    pub fn address(&self, row: u32, k: u32) -> u32 {
        let plain = self.start.wrapping_add(self.row.offset(row)).wrapping_add(self.k.offset(k));
        (plain ^ self.pattern.toggle(plain.wrapping_sub(self.pattern_start))) & ADDRESS_MASK
    }

    /// The operand in runs of contiguous elements, of at most 16 bytes: row and k of the first
    /// element, and the bytes.
    fn chunks(&self, rows: u32, depth: u32) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let OperandLayout { major, size, .. } = *self;
        let (lines, length) = match major {
            Major::K => (rows, depth),
            Major::Mn => (depth, rows),
        };
        let chunk = 16 / size;
        (0..lines).flat_map(move |line| {
            (0..length).step_by(chunk as usize).map(move |first| {
                let bytes = chunk.min(length - first) * size;
                match major {
                    Major::K => (line, first, bytes),
                    Major::Mn => (first, line, bytes),
                }
            })
        })
    }

    /// The runs of shared memory, address and length, that a multiplication reads for this operand.
    pub fn runs(&self, rows: u32, depth: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.chunks(rows, depth).map(|(row, k, bytes)| (self.address(row, k), bytes))
    }

    /// Reads an operand of packed 4-bit elements, K-major, in row-major order. The layout is one of
    /// bytes, `depth` elements are half as many.
    pub(crate) fn gather_packed(
        &self,
        rows: u32,
        depth: u32,
        shared: &SharedWindow<'_>,
    ) -> Result<Vec<f32>, DescriptorError> {
        let mut out = Vec::with_capacity((rows * depth) as usize);
        for (row, k, length) in self.chunks(rows, depth / 2) {
            let address = self.address(row, k);
            let Some(run) = shared.get(address, length) else {
                let bytes = shared.bytes.len();
                return Err(DescriptorError::Outside { row, k: 2 * k, address, bytes });
            };
            out.extend(run.iter().flat_map(|b| [b & 15, b >> 4]).map(element::e2m1_to_f32));
        }
        Ok(out)
    }

    /// Bytes of a row of a matrix that is copied as it is.
    pub(crate) fn row_bytes(
        &self,
        row: u32,
        bytes: u32,
        shared: &SharedWindow<'_>,
    ) -> Result<Vec<u8>, DescriptorError> {
        let mut out = Vec::with_capacity(bytes as usize);
        for k in (0..bytes).step_by(16) {
            let address = self.address(row, k);
            let Some(run) = shared.get(address, 16) else {
                let bytes = shared.bytes.len();
                return Err(DescriptorError::Outside { row, k, address, bytes });
            };
            out.extend_from_slice(run);
        }
        Ok(out)
    }

    /// The runs of rows from `first` on only.
    pub(crate) fn runs_from(
        &self,
        first: u32,
        rows: u32,
        depth: u32,
    ) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.chunks(rows, depth).map(move |(row, k, bytes)| (self.address(first + row, k), bytes))
    }

    /// Reads an operand, as values of type `T`, into panels of `PANEL` rows: element (r, k) of the
    /// result is at `(r / PANEL · depth + k) · PANEL + r % PANEL`. With `PANEL` 1 that is the usual
    /// row-major order.
    ///
    /// `element` has to be of the size that the layout was made for.
    pub fn gather<T: FromElement, const PANEL: usize>(
        &self,
        element: ElementType,
        rows: u32,
        depth: u32,
        shared: &SharedWindow<'_>,
    ) -> Result<Vec<T>, DescriptorError> {
        let decode = T::decoder(element).ok_or(DescriptorError::Unsupported { element })?;
        let panel_length = depth as usize * PANEL;
        let mut out = vec![T::default(); (rows as usize).div_ceil(PANEL) * panel_length];
        for (row, k, length) in self.chunks(rows, depth) {
            let address = self.address(row, k);
            let Some(run) = shared.get(address, length) else {
                let bytes = shared.bytes.len();
                return Err(DescriptorError::Outside { row, k, address, bytes });
            };
            let mut bytes = [0; 16];
            bytes[..run.len()].copy_from_slice(run);
            let values = decode(bytes).into_iter().take((length / self.size) as usize);
            let (row, k) = (row as usize, k as usize);
            for (i, value) in values.enumerate() {
                let (row, k) = match self.major {
                    Major::K => (row, k + i),
                    Major::Mn => (row + i, k),
                };
                out[row / PANEL * panel_length + k * PANEL + row % PANEL] = value;
            }
        }
        Ok(out)
    }
}

/// A number that elements can be read as.
pub trait FromElement: Copy + Default {
    /// How to read 16 bytes of elements; entries beyond the last element are unspecified. None if
    /// elements of this type are not such numbers, or are not supported.
    fn decoder(element: ElementType) -> Option<fn([u8; 16]) -> [Self; 16]>;
}

impl FromElement for f32 {
    fn decoder(element: ElementType) -> Option<fn([u8; 16]) -> [f32; 16]> {
        Some(match element {
            ElementType::F16 => |bytes| halves(bytes, element::f16_to_f32),
            ElementType::Bf16 => |bytes| halves(bytes, element::bf16_to_f32),
            ElementType::Tf32 => |bytes| {
                let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|j| bytes[4 * i + j]));
                std::array::from_fn(|i| if i < 4 { element::tf32_to_f32(word(i)) } else { 0.0 })
            },
            ElementType::E4m3 => |bytes| bytes.map(element::e4m3_to_f32),
            ElementType::E5m2 => |bytes| bytes.map(element::e5m2_to_f32),
            ElementType::E2m3 => |bytes| element::unpack_padded(bytes, 6).map(element::e2m3_to_f32),
            ElementType::E3m2 => |bytes| element::unpack_padded(bytes, 6).map(element::e3m2_to_f32),
            ElementType::E2m1 => |bytes| element::unpack_padded(bytes, 4).map(element::e2m1_to_f32),
            _ => return None,
        })
    }
}

fn halves(bytes: [u8; 16], read: impl Fn(u16) -> f32) -> [f32; 16] {
    let mut values = [0.0; 16];
    for (i, value) in values[..8].iter_mut().enumerate() {
        *value = read(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
    }
    values
}

impl FromElement for i32 {
    fn decoder(element: ElementType) -> Option<fn([u8; 16]) -> [i32; 16]> {
        Some(match element {
            ElementType::U8 => |bytes| bytes.map(i32::from),
            ElementType::S8 => |bytes| bytes.map(|byte| i32::from(byte as i8)),
            _ => return None,
        })
    }
}
