//! The emulator's 128 bytes for a tensor map, little endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `BtMp` |
//! | 4 | format version, 1 |
//! | 5..11 | data type, rank, interleave, swizzle, L2 promotion, fill |
//! | 16..24 | global address |
//! | 24..56 | four strides |
//! | 56..76 | five dimension lengths, each less one |
//! | 76..86 | five box lengths, 16 bits each |
//! | 86..91 | five element strides |
//! | 91 | 1 for `im2col` |
//! | 92..104 | lower, then upper corner of the box, three lengths of 16 bits each |
//! | 104..108 | channels, pixels |
//!
//! The rest is zero.

use super::{
    DataType, Im2col, Interleave, L2Promotion, MAX_RANK, MAX_SPATIAL, OobFill, Swizzle,
    TENSOR_MAP_BYTES, TensorMapDesc, TensorMapError,
};

const MAGIC: [u8; 4] = *b"BtMp";
const VERSION: u8 = 1;
pub(super) const ENUMS: usize = 5;
pub(super) const ADDRESS: usize = 16;
pub(super) const STRIDES: usize = 24;
pub(super) const DIMS: usize = 56;
pub(super) const BOX: usize = 76;
pub(super) const ELEMENT_STRIDES: usize = 86;
const MODE: usize = 91;
const CORNERS: usize = 92;
const COLUMN: usize = 104;
const END: usize = 108;

/// Checks a description and gives its 128 bytes for the emulator.
pub fn encode(desc: &TensorMapDesc) -> Result<[u8; TENSOR_MAP_BYTES], TensorMapError> {
    desc.validate()?;
    let mut out = [0; TENSOR_MAP_BYTES];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC);
    put(4, &[VERSION]);
    put(
        ENUMS,
        &[
            desc.data_type as u8,
            desc.rank as u8,
            desc.interleave as u8,
            desc.swizzle as u8,
            desc.l2_promotion as u8,
            desc.oob_fill as u8,
        ],
    );
    put(ADDRESS, &desc.global_address.to_le_bytes());
    for i in 0..desc.rank as usize {
        // Lengths go up to 2^32, which only fits less one.
        put(DIMS + 4 * i, &((desc.global_dims[i] - 1) as u32).to_le_bytes());
        put(BOX + 2 * i, &(desc.box_dims[i] as u16).to_le_bytes());
        put(ELEMENT_STRIDES + i, &[desc.element_strides[i] as u8]);
        if i > 0 {
            put(STRIDES + 8 * (i - 1), &desc.global_strides[i - 1].to_le_bytes());
        }
    }
    if let Some(im2col) = &desc.im2col {
        let mut put = |at: usize, value: i32| {
            out[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
        };
        for i in 0..MAX_SPATIAL {
            put(CORNERS + 2 * i, im2col.lower[i]);
            put(CORNERS + 6 + 2 * i, im2col.upper[i]);
        }
        put(COLUMN, im2col.channels as i32);
        put(COLUMN + 2, im2col.pixels as i32);
        out[MODE] = 1;
    }
    Ok(out)
}

/// Reads back what [`encode`] wrote. The result obeys the same rules.
pub fn decode(bytes: &[u8; TENSOR_MAP_BYTES]) -> Result<TensorMapDesc, TensorMapError> {
    let found = array::<4>(bytes, 0);
    if found != MAGIC {
        return Err(TensorMapError::Magic { found });
    }
    if bytes[4] != VERSION {
        return Err(TensorMapError::Version { found: bytes[4] });
    }
    let reserved = (ENUMS + 6..ADDRESS).chain(END..TENSOR_MAP_BYTES);
    if let Some(offset) = reserved.into_iter().find(|&i| bytes[i] != 0) {
        return Err(TensorMapError::Reserved { offset });
    }
    let rank = bytes[ENUMS + 1] as usize;
    if rank == 0 || rank > MAX_RANK {
        return Err(TensorMapError::Rank { rank });
    }
    let half = |at: usize| u16::from_le_bytes(array(bytes, at));
    let corner = |at: usize| std::array::from_fn(|i| i32::from(half(at + 2 * i) as i16));
    let im2col = match bytes[MODE] {
        0 => None,
        1 => Some(Im2col {
            lower: corner(CORNERS),
            upper: corner(CORNERS + 6),
            channels: half(COLUMN).into(),
            pixels: half(COLUMN + 2).into(),
        }),
        value => return Err(TensorMapError::Field { field: "mode", offset: MODE, value }),
    };
    let desc = TensorMapDesc {
        im2col,
        data_type: field(bytes, ENUMS, "data type", &DataType::ALL)?,
        rank: rank as u32,
        interleave: field(
            bytes,
            ENUMS + 2,
            "interleave",
            &[Interleave::None, Interleave::B16, Interleave::B32],
        )?,
        swizzle: field(bytes, ENUMS + 3, "swizzle", &Swizzle::ALL)?,
        l2_promotion: field(
            bytes,
            ENUMS + 4,
            "L2 promotion",
            &[L2Promotion::None, L2Promotion::B64, L2Promotion::B128, L2Promotion::B256],
        )?,
        oob_fill: field(bytes, ENUMS + 5, "fill", &[OobFill::Zeros, OobFill::Nan])?,
        global_address: u64::from_le_bytes(array(bytes, ADDRESS)),
        global_dims: per_dimension(rank, |i| {
            u64::from(u32::from_le_bytes(array(bytes, DIMS + 4 * i))) + 1
        }),
        global_strides: per_dimension(rank - 1, |i| {
            u64::from_le_bytes(array(bytes, STRIDES + 8 * i))
        }),
        box_dims: per_dimension(rank, |i| u32::from(u16::from_le_bytes(array(bytes, BOX + 2 * i)))),
        element_strides: per_dimension(rank, |i| u32::from(bytes[ELEMENT_STRIDES + i])),
    };
    desc.validate()?;
    Ok(desc)
}

/// The enumerator whose value is the byte at `offset`; the slices above list enumerators by value.
fn field<T: Copy>(
    bytes: &[u8; TENSOR_MAP_BYTES],
    offset: usize,
    name: &'static str,
    values: &[T],
) -> Result<T, TensorMapError> {
    let value = bytes[offset];
    let unknown = TensorMapError::Field { field: name, offset, value };
    values.get(usize::from(value)).copied().ok_or(unknown)
}

fn array<const N: usize>(bytes: &[u8; TENSOR_MAP_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn per_dimension<T: Default, const N: usize>(used: usize, value: impl Fn(usize) -> T) -> [T; N] {
    std::array::from_fn(|i| if i < used { value(i) } else { T::default() })
}
