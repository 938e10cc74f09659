//! The launch description of `baton check`: a TOML file.
//!
//! ```toml
//! grid = 4                      # or [4, 1, 1]
//! block = 128
//! cluster = 2                   # left out: what the kernel requires
//! shared = 4096                 # bytes of dynamic shared memory
//! steps = 10_000_000            # thread-instructions after which a run is ended
//! arguments = [
//!     { pointer = "in" },
//!     { pointer = { buffer = "out", offset = 64 } },
//!     { u32 = 7 },
//!     { fields = [{ pointer = "in" }, { u64 = 1024 }] },   # a structure, laid out as C does
//!     { tensor_map = "tiles" },
//! ]
//!
//! [buffer.in]
//! type = "f32"
//! elements = 1024
//! fill = "random"               # zero (the default), iota, random, none, a number, or a list
//! seed = 3                      # of random
//!
//! [buffer.out]
//! type = "f32"
//! elements = 1024
//! fill = "none"                 # reading it before it is written is reported
//! expect = "iota"               # zero, iota, a number or a list; or expect_file
//! tolerance = 1e-5
//!
//! [tensor_map.tiles]
//! buffer = "in"
//! type = "f32"
//! dims = [32, 32]
//! box = [32, 8]
//! swizzle = "128b"
//! ```
//!
//! [`Spec::parse`] knows the language and what can be said about a description alone; what a kernel
//! asks of it is in [`super::setup`]. Every error has its place in the file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use baton_emulator::tensor_map::{
    DataType, Im2col, Interleave, L2Promotion, MAX_SPATIAL, OobFill, Swizzle, TensorMapDesc,
    TensorMapError,
};
use serde::Deserialize;
use toml::Spanned;

use super::element::{Element, Number};

/// Bytes that all buffers of a launch may have together: every schedule that runs has its own.
pub const MEMORY: u64 = 1 << 30;

/// Most shared memory of a CTA.
const MAX_SHARED: u32 = 227 << 10;

/// A description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Bytes of the text that are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub help: String,
}

impl SpecError {
    /// An error at a place of the text.
    pub fn new(span: Range<usize>, problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self { span, problem: problem.into(), help: help.into() }
    }

    /// Line and column, both from 1; columns count characters.
    pub fn place(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (1 + before.matches('\n').count(), 1 + line.chars().count())
    }
}

/// A launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// CTAs.
    pub grid: Spanned<Extent>,
    /// Threads of a CTA.
    pub block: Spanned<Extent>,
    /// CTAs of a cluster.
    pub cluster: Option<Spanned<Extent>>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<Spanned<u32>>,
    /// Thread-instructions of a run.
    pub steps: Option<Spanned<u64>>,
    /// In the order of the kernel's parameters.
    #[serde(default)]
    pub arguments: Vec<Spanned<Argument>>,
    /// By name.
    #[serde(default, rename = "buffer")]
    pub buffers: BTreeMap<String, Spanned<Buffer>>,
    /// By name.
    #[serde(default, rename = "tensor_map")]
    pub tensor_maps: BTreeMap<String, Spanned<TensorMap>>,
}

/// One number, or three.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a number, or three in brackets, from 0 to 4294967295")]
pub enum Extent {
    /// In the first direction.
    Line(u32),
    /// In all.
    Box([u32; 3]),
}

impl Extent {
    /// In all directions.
    pub fn get(self) -> [u32; 3] {
        match self {
            Extent::Line(x) => [x, 1, 1],
            Extent::Box(extent) => extent,
        }
    }

    fn volume(self) -> u128 {
        self.get().iter().map(|&n| u128::from(n)).product()
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// A scalar of this type.
    U8(u8),
    /// A scalar of this type.
    U16(u16),
    /// A scalar of this type.
    U32(u32),
    /// A scalar of this type.
    U64(u64),
    /// A scalar of this type.
    I8(i8),
    /// A scalar of this type.
    I16(i16),
    /// A scalar of this type.
    I32(i32),
    /// A scalar of this type.
    I64(i64),
    /// A scalar of this type.
    F16(f64),
    /// A scalar of this type.
    Bf16(f64),
    /// A scalar of this type.
    F32(f64),
    /// A scalar of this type.
    F64(f64),
    /// These bytes.
    Bytes(Vec<u8>),
    /// The members of a structure, each aligned to its size.
    Fields(Vec<Argument>),
    /// The address of a buffer, or of a place in it.
    Pointer(Pointer),
    /// A tensor map: its 128 bytes, or its address if the parameter has eight.
    TensorMap(String),
}

/// A place in a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "the name of a buffer, or { buffer = NAME, offset = BYTES }")]
pub enum Pointer {
    /// Its start.
    Start(String),
    /// So many bytes behind.
    Inside(Inside),
}

/// A place behind the start of a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// Its name.
    pub buffer: String,
    /// In bytes.
    pub offset: u64,
}

impl Pointer {
    /// Name and bytes.
    pub fn get(&self) -> (&str, u64) {
        match self {
            Pointer::Start(buffer) => (buffer, 0),
            Pointer::Inside(inside) => (&inside.buffer, inside.offset),
        }
    }
}

/// Global memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Of its elements.
    #[serde(rename = "type")]
    pub element: Element,
    /// How many; of a file, as many as it holds.
    pub elements: Option<Spanned<u64>>,
    /// What it holds.
    pub fill: Option<Spanned<Fill>>,
    /// Of [`Word::Random`].
    pub seed: Option<Spanned<u64>>,
    /// What it holds instead, byte for byte.
    pub file: Option<Spanned<PathBuf>>,
    /// What it is to hold afterwards.
    pub expect: Option<Spanned<Fill>>,
    /// The same, byte for byte.
    pub expect_file: Option<Spanned<PathBuf>>,
    /// By how much a floating-point number may differ: the larger of this and this times the
    /// expected one.
    pub tolerance: Option<Spanned<f64>>,
}

/// What is in a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`zero`, `iota`, `random`, `none`, a number, or a list of numbers")]
pub enum Fill {
    /// By name.
    Word(Word),
    /// This in every element.
    Number(Number),
    /// One for each element.
    List(Vec<Number>),
}

/// Fills that have a name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// All bits.
    Zero,
    /// The index of each element, modulo the type's range.
    Iota,
    /// All values of an integer; floating-point numbers from -1 to 1.
    Random,
    /// Nothing has been written.
    None,
}

/// Arguments of `cuTensorMapEncodeTiled` or `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorMap {
    /// Whose memory.
    pub buffer: String,
    /// Bytes to element 0.
    #[serde(default)]
    pub offset: u64,
    /// Of an element.
    #[serde(rename = "type")]
    pub data_type: MapType,
    /// Elements in each dimension, innermost first.
    pub dims: Vec<u64>,
    /// Bytes from one index to the next in dimensions 1 and up; left out: without gaps.
    pub strides: Option<Vec<u64>>,
    /// Of a tile.
    #[serde(rename = "box")]
    pub tile: Option<Vec<u32>>,
    /// Of the map for `im2col` copies.
    pub im2col: Option<Column>,
    /// Every how many elements one is taken.
    pub element_strides: Option<Vec<u32>>,
    /// Of channels.
    #[serde(default)]
    pub interleave: MapInterleave,
    /// Of shared memory.
    #[serde(default)]
    pub swizzle: MapSwizzle,
    /// Without effect here.
    #[serde(default)]
    pub l2_promotion: MapPromotion,
    /// Of what lies outside.
    #[serde(default)]
    pub oob_fill: MapFill,
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

impl TensorMap {
    /// The description for the emulator, of a tensor at `address`.
    pub fn desc(&self, address: u64) -> Result<TensorMapDesc, String> {
        let data_type = DataType::from(self.data_type);
        let rank = self.dims.len();
        let strides = match &self.strides {
            Some(strides) => strides.clone(),
            None => packed(&self.dims, data_type.bytes())?,
        };
        let wrong = |error: TensorMapError| error.to_string();
        let mut desc = match (&self.tile, &self.im2col) {
            (Some(tile), None) => {
                TensorMapDesc::new(data_type, address, &self.dims, &strides, tile).map_err(wrong)?
            }
            (None, Some(column)) => {
                let corner = |given: &[i32]| -> Result<[i32; MAX_SPATIAL], String> {
                    if !(3..=5).contains(&rank) || given.len() != rank - 2 {
                        return Err(format!(
                            "a corner with {} numbers for {rank} dimensions; an im2col map has 3 \
                             to 5 dimensions, and a corner two numbers fewer",
                            given.len()
                        ));
                    }
                    Ok(std::array::from_fn(|i| given.get(i).copied().unwrap_or(0)))
                };
                let im2col = Im2col {
                    lower: corner(&column.lower)?,
                    upper: corner(&column.upper)?,
                    channels: column.channels,
                    pixels: column.pixels,
                };
                TensorMapDesc::new_im2col(data_type, address, &self.dims, &strides, im2col)
                    .map_err(wrong)?
            }
            _ => return Err("give either `box` or `im2col`".into()),
        };
        if let Some(steps) = &self.element_strides {
            if steps.len() != rank {
                return Err(format!("{} element_strides for {rank} dimensions", steps.len()));
            }
            desc.element_strides[..rank].copy_from_slice(steps);
        }
        desc.interleave = self.interleave.into();
        desc.swizzle = self.swizzle.into();
        desc.l2_promotion = self.l2_promotion.into();
        desc.oob_fill = self.oob_fill.into();
        desc.validate().map_err(wrong)?;
        Ok(desc)
    }
}

/// Strides of a tensor without gaps.
fn packed(dims: &[u64], element: u32) -> Result<Vec<u64>, String> {
    let mut stride = u64::from(element);
    let mut strides = Vec::new();
    for &dim in dims.iter().take(dims.len().saturating_sub(1)) {
        stride = stride.checked_mul(dim).ok_or("the tensor has more than 2^64 bytes")?;
        strides.push(stride);
    }
    Ok(strides)
}

impl Spec {
    /// Reads a description.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let spec: Spec = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let problem = error.message().lines().collect::<Vec<_>>().join("; ");
            SpecError::new(span, problem, "docs/emulator.md describes the keys and their values")
        })?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
        let extent = |given: &Spanned<Extent>, what, most: u128, limits: [u32; 3]| {
            let of = given.get_ref();
            let wrong = |problem: String, help: String| SpecError::new(given.span(), problem, help);
            if of.get().contains(&0) {
                return Err(wrong(
                    format!("{what} has a zero"),
                    "each extent is at least 1".into(),
                ));
            }
            if let Some(i) = (0..3).find(|&i| of.get()[i] > limits[i]) {
                return Err(wrong(
                    format!("{what} has {} in direction {i}", of.get()[i]),
                    format!("a GPU takes at most {limits:?}"),
                ));
            }
            if of.volume() > most {
                return Err(wrong(
                    format!("{what} has {} in all", of.volume()),
                    format!("use at most {most}"),
                ));
            }
            Ok(())
        };
        let grids = [i32::MAX as u32, 65_535, 65_535];
        extent(&self.grid, "the grid", u128::from(u32::MAX), grids)?;
        extent(&self.block, "the block", 1024, [1024, 1024, 64])?;
        if let Some(cluster) = &self.cluster {
            extent(cluster, "the cluster", 16, [16; 3])?;
            let (grid, shape) = (self.grid.get_ref().get(), cluster.get_ref().get());
            if (0..3).any(|i| !grid[i].is_multiple_of(shape[i])) {
                return Err(SpecError::new(
                    cluster.span(),
                    format!("the grid {grid:?} is not made of clusters {shape:?}"),
                    "make each extent of the grid a multiple of the cluster's",
                ));
            }
        }
        if let Some(shared) = self.shared.as_ref().filter(|s| *s.get_ref() > MAX_SHARED) {
            return Err(SpecError::new(
                shared.span(),
                format!("{} bytes of shared memory", shared.get_ref()),
                format!("a CTA has at most {MAX_SHARED}"),
            ));
        }
        if let Some(steps) = self.steps.as_ref().filter(|s| *s.get_ref() == 0) {
            return Err(SpecError::new(
                steps.span(),
                "no run has 0 steps",
                "give the thread-instructions after which a run is ended, or leave the key out",
            ));
        }
        let mut total = 0u64;
        for buffer in self.buffers.values() {
            let bytes = buffer.get_ref().check(buffer.span())?;
            total = total.saturating_add(bytes);
            if total > MEMORY {
                return Err(SpecError::new(
                    buffer.get_ref().elements.as_ref().map_or(buffer.span(), Spanned::span),
                    format!("with this buffer the launch has {total} bytes of global memory"),
                    format!("use at most {MEMORY}; each schedule that runs has its own memory"),
                ));
            }
        }
        for map in self.tensor_maps.values() {
            self.find(&map.get_ref().buffer, map.span())?;
            if map.get_ref().offset > MEMORY {
                return Err(SpecError::new(
                    map.span(),
                    format!("the offset {} lies outside the buffer", map.get_ref().offset),
                    "give the bytes from the start of the buffer to element 0",
                ));
            }
            // Any address with the largest alignment shows what is wrong with the rest.
            map.get_ref().desc((1 << 36) + map.get_ref().offset).map_err(|problem| {
                SpecError::new(
                    map.span(),
                    problem,
                    "the rules are those of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col",
                )
            })?;
        }
        self.arguments
            .iter()
            .try_for_each(|argument| self.named(argument.get_ref(), &argument.span()))
    }

    /// Whether what an argument names is there.
    fn named(&self, argument: &Argument, span: &Range<usize>) -> Result<(), SpecError> {
        match argument {
            Argument::Pointer(pointer) => self.find(pointer.get().0, span.clone()).map(|_| ()),
            Argument::TensorMap(name) if !self.tensor_maps.contains_key(name) => {
                let maps = self.tensor_maps.keys();
                Err(unknown("tensor map", "tensor_map", name, span.clone(), maps))
            }
            Argument::Fields(fields) => {
                let nested = |field: &&Argument| {
                    matches!(field, Argument::Fields(_) | Argument::TensorMap(_))
                };
                if fields.is_empty() || fields.iter().any(|field| nested(&field)) {
                    return Err(SpecError::new(
                        span.clone(),
                        "a structure without fields, or one of structures or tensor maps",
                        "list its scalars and pointers one after the other",
                    ));
                }
                fields.iter().try_for_each(|field| self.named(field, span))
            }
            _ => Ok(()),
        }
    }

    /// The buffer of this name, which `span` asks for.
    pub fn find(&self, name: &str, span: Range<usize>) -> Result<&Spanned<Buffer>, SpecError> {
        self.buffers
            .get(name)
            .ok_or_else(|| unknown("buffer", "buffer", name, span, self.buffers.keys()))
    }
}

fn unknown<'a>(
    what: &str,
    key: &str,
    name: &str,
    span: Range<usize>,
    names: impl Iterator<Item = &'a String>,
) -> SpecError {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let help = match &names[..] {
        [] => format!("describe it in a table [{key}.{name}]"),
        names => format!("there is {}; or add a table [{key}.{name}]", names.join(", ")),
    };
    SpecError::new(span, format!("no {what} is called `{name}`"), help)
}

impl Buffer {
    /// Bytes, as far as they are known without files.
    fn check(&self, span: Range<usize>) -> Result<u64, SpecError> {
        let fill = self.fill.as_ref();
        if let (Some(fill), Some(_)) = (fill, &self.file) {
            return Err(SpecError::new(
                fill.span(),
                "a buffer has both `fill` and `file`",
                "leave one of them out",
            ));
        }
        if let (Some(expect), Some(_)) = (&self.expect, &self.expect_file) {
            return Err(SpecError::new(
                expect.span(),
                "a buffer has both `expect` and `expect_file`",
                "leave one of them out",
            ));
        }
        if let Some(expect) = &self.expect
            && matches!(expect.get_ref(), Fill::Word(Word::Random | Word::None))
        {
            return Err(SpecError::new(
                expect.span(),
                "an expectation cannot be `random` or `none`",
                "use zero, iota, a number, a list, or expect_file",
            ));
        }
        let random = fill.is_some_and(|f| matches!(f.get_ref(), Fill::Word(Word::Random)));
        if let Some(seed) = self.seed.as_ref().filter(|_| !random) {
            return Err(SpecError::new(
                seed.span(),
                "a seed, and nothing is random",
                "add fill = \"random\", or leave the seed out",
            ));
        }
        if let Some(tolerance) = &self.tolerance {
            let value = *tolerance.get_ref();
            let help = "a tolerance belongs to `expect` or `expect_file` of a floating-point type, and is at least 0";
            let wanted = self.expect.is_some() || self.expect_file.is_some();
            if !(value >= 0.0 && value.is_finite() && self.element.is_float() && wanted) {
                let problem = format!("the tolerance {value} has no meaning here");
                return Err(SpecError::new(tolerance.span(), problem, help));
            }
        }
        let listed = [fill, self.expect.as_ref()].into_iter().flatten();
        let lists = listed.filter_map(|fill| match fill.get_ref() {
            Fill::List(list) => Some((fill.span(), list.len() as u64)),
            _ => None,
        });
        let mut elements = self.elements.as_ref().map(|e| *e.get_ref());
        for (span, count) in lists {
            if elements.is_some_and(|elements| elements != count) {
                return Err(SpecError::new(
                    span,
                    format!("a list of {count} for {} elements", elements.unwrap_or(0)),
                    "give one number for each element, or a single number for all",
                ));
            }
            elements = Some(count);
        }
        for fill in [fill, self.expect.as_ref()].into_iter().flatten() {
            let numbers = match fill.get_ref() {
                Fill::Word(_) => &[],
                Fill::Number(number) => std::slice::from_ref(number),
                Fill::List(list) => &list[..],
            };
            for &number in numbers {
                self.element.encode(number).map_err(|problem| {
                    SpecError::new(fill.span(), problem, "use a number that the type can hold")
                })?;
            }
        }
        let Some(elements) = elements else {
            if self.file.is_some() {
                return Ok(0);
            }
            return Err(SpecError::new(
                span,
                "how many elements the buffer has is not said",
                "add `elements`, a file, or a list",
            ));
        };
        elements.checked_mul(self.element.bytes() as u64).ok_or_else(|| {
            SpecError::new(
                self.elements.as_ref().map_or(span, Spanned::span),
                format!("{elements} elements have more than 2^64 bytes"),
                format!("use at most {MEMORY} bytes"),
            )
        })
    }

    /// How many elements, from the description alone.
    pub fn count(&self) -> Option<u64> {
        let list = |fill: &Option<Spanned<Fill>>| match fill.as_ref().map(Spanned::get_ref) {
            Some(Fill::List(list)) => Some(list.len() as u64),
            _ => None,
        };
        let elements = self.elements.as_ref().map(|e| *e.get_ref());
        elements.or_else(|| list(&self.fill)).or_else(|| list(&self.expect))
    }
}

#[cfg(test)]
mod tests;
