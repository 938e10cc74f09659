//! `tensormap.replace`: one field of an encoded map.
//!
//! The field is written as it is; the map is checked when it is used.

use super::format::{ADDRESS, BOX, DIMS, ELEMENT_STRIDES, ENUMS, STRIDES};
use super::{MAX_RANK, Swizzle, TENSOR_MAP_BYTES};

/// What is replaced, with the position inside an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the qualifier")]
pub enum MapField {
    GlobalAddress,
    Rank,
    BoxDim(usize),
    GlobalDim(usize),
    GlobalStride(usize),
    ElementStride(usize),
    ElementType,
    InterleaveLayout,
    SwizzleMode,
    SwizzleAtomicity,
    FillMode,
}

impl MapField {
    /// The field of a qualifier; none if there is no such field or position.
    pub fn new(name: &str, position: usize) -> Option<MapField> {
        let inside = |limit: usize| (position < limit).then_some(position);
        Some(match name {
            "global_address" => MapField::GlobalAddress,
            "rank" => MapField::Rank,
            "box_dim" => MapField::BoxDim(inside(MAX_RANK)?),
            "global_dim" => MapField::GlobalDim(inside(MAX_RANK)?),
            "global_stride" => MapField::GlobalStride(inside(MAX_RANK - 1)?),
            "element_stride" => MapField::ElementStride(inside(MAX_RANK)?),
            "elemtype" => MapField::ElementType,
            "interleave_layout" => MapField::InterleaveLayout,
            "swizzle_mode" => MapField::SwizzleMode,
            "swizzle_atomicity" => MapField::SwizzleAtomicity,
            "fill_mode" => MapField::FillMode,
            _ => return None,
        })
    }
}

/// Element types in the order of `tensormap.replace`, as those of the driver.
const TYPES: [u8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12];

/// Replaces a field. The value of an enumeration that does not exist is stored so that the map is
/// refused when it is used.
pub fn replace(map: &mut [u8; TENSOR_MAP_BYTES], field: MapField, value: u64) {
    let mut put = |at: usize, bytes: &[u8]| map[at..at + bytes.len()].copy_from_slice(bytes);
    let byte = value.min(0xff) as u8;
    let less_one = (value as u32).wrapping_sub(1).to_le_bytes();
    match field {
        MapField::GlobalAddress => put(ADDRESS, &value.to_le_bytes()),
        // The instruction counts from zero.
        MapField::Rank => put(ENUMS + 1, &[byte.saturating_add(1)]),
        MapField::BoxDim(i) => put(BOX + 2 * i, &(value as u16).to_le_bytes()),
        MapField::GlobalDim(i) => put(DIMS + 4 * i, &less_one),
        MapField::GlobalStride(i) => put(STRIDES + 8 * i, &value.to_le_bytes()),
        MapField::ElementStride(i) => put(ELEMENT_STRIDES + i, &[byte]),
        MapField::ElementType => put(ENUMS, &[TYPES.get(value as usize).copied().unwrap_or(0xff)]),
        MapField::InterleaveLayout => put(ENUMS + 2, &[byte]),
        MapField::SwizzleMode => put(ENUMS + 3, &[if value > 3 { 0xff } else { byte }]),
        MapField::SwizzleAtomicity => {
            let wide = map[ENUMS + 3] >= Swizzle::B128 as u8;
            if wide && value <= 3 {
                map[ENUMS + 3] = Swizzle::B128 as u8 + byte;
            } else if value != 0 {
                map[ENUMS + 3] = 0xff;
            }
        }
        MapField::FillMode => put(ENUMS + 5, &[byte]),
    }
}
