//! Tensor maps of a launch description: the arguments of the driver's functions that make them.

use std::ops::Range;

use baton_emulator::tensor_map::{
    DataType, Im2col, Interleave, L2Promotion, MAX_SPATIAL, OobFill, Swizzle, TensorMapDesc,
    TensorMapError,
};
use serde::Deserialize;
use toml::Spanned;

use super::SpecError;

/// Arguments of `cuTensorMapEncodeTiled` or `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorMap {
    /// Whose memory.
    pub buffer: String,
    /// Bytes to element 0.
    offset: Option<Spanned<u64>>,
    /// Of an element.
    #[serde(rename = "type")]
    data_type: MapType,
    /// Elements in each dimension, innermost first.
    dims: Spanned<Vec<u64>>,
    /// Bytes from one index to the next in dimensions 1 and up; left out: without gaps.
    strides: Option<Spanned<Vec<u64>>>,
    /// Of a tile.
    #[serde(rename = "box")]
    tile: Option<Spanned<Vec<u32>>>,
    /// Of the map for `im2col` copies.
    im2col: Option<Spanned<Column>>,
    /// Every how many elements one is taken.
    element_strides: Option<Spanned<Vec<u32>>>,
    /// Of channels.
    interleave: Option<Spanned<MapInterleave>>,
    /// Of shared memory.
    swizzle: Option<Spanned<MapSwizzle>>,
    /// Without effect here.
    #[serde(default)]
    l2_promotion: MapPromotion,
    /// Of what lies outside.
    oob_fill: Option<Spanned<MapFill>>,
}

/// Instead of a box.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Lower corner of the bounding box, width first.
    pub lower: Vec<i32>,
    /// Upper corner.
    pub upper: Vec<i32>,
    /// Channels of a pixel.
    pub channels: u32,
    /// Pixels of a copy.
    pub pixels: u32,
}

/// Names of what a tensor map takes, each with the enumerator that it is.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident is $of:ident: $($(#[$default:ident])? $word:literal = $case:ident),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Deserialize)]
        #[expect(missing_docs, reason = "each name is the driver's")]
        pub enum $name { $($(#[$default])? #[serde(rename = $word)] $case),+ }

        impl From<$name> for $of {
            fn from(name: $name) -> $of {
                match name { $($name::$case => $of::$case),+ }
            }
        }
    };
}

names! {
    /// A [`DataType`].
    MapType is DataType:
    "u8" = U8, "u16" = U16, "u32" = U32, "i32" = I32, "u64" = U64, "i64" = I64, "f16" = F16,
    "f32" = F32, "f64" = F64, "bf16" = Bf16, "f32_ftz" = F32Ftz, "tf32" = Tf32,
    "tf32_ftz" = Tf32Ftz,
}
names! {
    /// An [`Interleave`].
    #[derive(Default)]
    MapInterleave is Interleave: #[default] "none" = None, "16b" = B16, "32b" = B32,
}
names! {
    /// A [`Swizzle`].
    #[derive(Default)]
    MapSwizzle is Swizzle:
    #[default] "none" = None, "32b" = B32, "64b" = B64, "128b" = B128,
    "128b_atom_32b" = B128Atom32, "128b_atom_32b_flip_8b" = B128Atom32Flip8,
    "128b_atom_64b" = B128Atom64,
}
names! {
    /// An [`L2Promotion`].
    #[derive(Default)]
    MapPromotion is L2Promotion:
    #[default] "none" = None, "64b" = B64, "128b" = B128, "256b" = B256,
}
names! {
    /// An [`OobFill`].
    #[derive(Default)]
    MapFill is OobFill: #[default] "zeros" = Zeros, "nan" = Nan,
}

/// A key of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name is the key")]
pub enum Key {
    Offset,
    Dims,
    Strides,
    /// Or `im2col`.
    Box,
    ElementStrides,
    Interleave,
    Swizzle,
    OobFill,
}

/// What is wrong with a map, and with which key, where it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapError {
    key: Option<Key>,
    /// What is wrong.
    pub problem: String,
}

impl MapError {
    fn new(key: impl Into<Option<Key>>, problem: impl Into<String>) -> MapError {
        MapError { key: key.into(), problem: problem.into() }
    }

    /// The error with its place in the description.
    pub fn at(self, map: &Spanned<TensorMap>) -> SpecError {
        let span = self.key.and_then(|key| map.get_ref().span(key));
        SpecError::new(
            span.unwrap_or(map.span()),
            self.problem,
            "the rules are those of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col",
        )
    }
}

impl From<TensorMapError> for MapError {
    fn from(error: TensorMapError) -> MapError {
        use TensorMapError as E;
        let key = match &error {
            E::Rank { .. } | E::Dimension { .. } | E::Im2colRank { .. } => Key::Dims,
            E::Length { what, .. } if what.contains("box") => Key::Box,
            E::Length { .. }
            | E::StrideAlignment { .. }
            | E::StrideRange { .. }
            | E::Extent { .. } => Key::Strides,
            E::AddressAlignment { .. } => Key::Offset,
            E::InterleaveRank { .. } => Key::Interleave,
            E::InterleaveSwizzle { .. } => Key::Swizzle,
            E::Box { .. }
            | E::InnerBytes { .. }
            | E::InnerSpan { .. }
            | E::Channels { .. }
            | E::Pixels { .. }
            | E::Corner { .. } => Key::Box,
            E::ElementStride { .. } => Key::ElementStrides,
            E::FillType { .. } => Key::OobFill,
            _ => return MapError::new(None, error.to_string()),
        };
        MapError::new(key, error.to_string())
    }
}

/// The value of a key, or what stands for one that is left out.
fn given<T: Copy + Default>(key: &Option<Spanned<T>>) -> T {
    key.as_ref().map_or_else(T::default, |value| *value.get_ref())
}

impl TensorMap {
    /// Bytes to element 0.
    pub fn offset(&self) -> u64 {
        given(&self.offset)
    }

    /// Where the value of a key stands.
    pub fn span(&self, key: Key) -> Option<Range<usize>> {
        fn of<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
            value.as_ref().map(Spanned::span)
        }
        match key {
            Key::Offset => of(&self.offset),
            Key::Dims => Some(self.dims.span()),
            // Strides that are left out follow from the dimensions.
            Key::Strides => of(&self.strides).or_else(|| Some(self.dims.span())),
            Key::Box => of(&self.tile).or_else(|| of(&self.im2col)),
            Key::ElementStrides => of(&self.element_strides),
            Key::Interleave => of(&self.interleave),
            Key::Swizzle => of(&self.swizzle),
            Key::OobFill => of(&self.oob_fill),
        }
    }

    /// The description for the emulator, of a tensor at `address`.
    pub fn desc(&self, address: u64) -> Result<TensorMapDesc, MapError> {
        let data_type = DataType::from(self.data_type);
        let dims = self.dims.get_ref();
        let rank = dims.len();
        let strides = match &self.strides {
            Some(strides) => strides.get_ref().clone(),
            None => packed(dims, data_type.bytes())?,
        };
        let mut desc = match (&self.tile, &self.im2col) {
            (Some(tile), None) => {
                TensorMapDesc::new(data_type, address, dims, &strides, tile.get_ref())?
            }
            (None, Some(column)) => {
                let column = column.get_ref();
                let corner = |given: &[i32]| -> Result<[i32; MAX_SPATIAL], MapError> {
                    if !(3..=5).contains(&rank) || given.len() != rank - 2 {
                        let problem = format!(
                            "a corner with {} numbers for {rank} dimensions; an im2col map has 3 \
                             to 5 dimensions, and a corner two numbers fewer",
                            given.len()
                        );
                        return Err(MapError::new(Key::Box, problem));
                    }
                    Ok(std::array::from_fn(|i| given.get(i).copied().unwrap_or(0)))
                };
                let im2col = Im2col {
                    lower: corner(&column.lower)?,
                    upper: corner(&column.upper)?,
                    channels: column.channels,
                    pixels: column.pixels,
                };
                TensorMapDesc::new_im2col(data_type, address, dims, &strides, im2col)?
            }
            (Some(_), Some(_)) => {
                return Err(MapError::new(Key::Box, "give either `box` or `im2col`"));
            }
            (None, None) => return Err(MapError::new(None, "give either `box` or `im2col`")),
        };
        if let Some(steps) = &self.element_strides {
            let steps = steps.get_ref();
            if steps.len() != rank {
                let problem = format!("{} element_strides for {rank} dimensions", steps.len());
                return Err(MapError::new(Key::ElementStrides, problem));
            }
            desc.element_strides[..rank].copy_from_slice(steps);
        }
        desc.interleave = given(&self.interleave).into();
        desc.swizzle = given(&self.swizzle).into();
        desc.l2_promotion = self.l2_promotion.into();
        desc.oob_fill = given(&self.oob_fill).into();
        desc.validate()?;
        Ok(desc)
    }
}

/// Strides of a tensor without gaps.
fn packed(dims: &[u64], element: u32) -> Result<Vec<u64>, MapError> {
    let mut stride = u64::from(element);
    let mut strides = Vec::new();
    for &dim in dims.iter().take(dims.len().saturating_sub(1)) {
        stride = stride
            .checked_mul(dim)
            .ok_or_else(|| MapError::new(Key::Dims, "the tensor has more than 2^64 bytes"))?;
        strides.push(stride);
    }
    Ok(strides)
}
