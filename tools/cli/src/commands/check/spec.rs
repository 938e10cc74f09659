//! The launch description of `baton check`: a TOML file.
//!
//! ```toml
//! grid = 4                      # or [4, 1, 1]; what is left out is 1
//! block = 128
//! cluster = 2                   # left out: what the kernel requires
//! shared = 4096                 # bytes of dynamic shared memory
//! cooperative = true            # all CTAs run at once; false if left out
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
//! Several launches, one behind the other on the same buffers, each have a table instead of the keys above:
//!
//! ```toml
//! [[launch]]
//! kernel = "produce"
//! grid = 4
//! block = 128
//! arguments = [{ pointer = "out" }]
//!
//! [[launch]]
//! kernel = "consume"
//! dependent = true              # may begin before the launch before it has ended
//! grid = 4
//! block = 128
//! arguments = [{ pointer = "out" }]
//! ```
//!
//! [`Spec::parse`] knows the language and what can be said about a description alone; what a kernel
//! asks of it is in `setup`. Every error has its place in the file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};
use toml::Spanned;

use self::tensor_map::TensorMap;
use super::element::{Element, Number};

pub mod tensor_map;

/// Bytes that all buffers of a launch may have together: every schedule that runs has its own.
pub const MEMORY: u64 = 1 << 30;

/// Launches of a description at most.
const LAUNCHES: usize = 1000;

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
        Self { span, problem: bounded(&problem.into()), help: bounded(&help.into()) }
    }

    /// Line and column, both from 1; columns count characters.
    pub fn place(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (1 + before.matches('\n').count(), 1 + line.chars().count())
    }
}

/// Most characters of a name that a message repeats, and of a message.
const NAME: usize = 60;
const MESSAGE: usize = 800;

/// A message with long names and a long end left out: a description may hold anything.
fn bounded(message: &str) -> String {
    let pieces = message.split('`').enumerate().map(|(i, piece)| match i % 2 {
        1 => cut(piece, NAME),
        _ => piece.to_owned(),
    });
    cut(&pieces.collect::<Vec<_>>().join("`"), MESSAGE)
}

/// The first characters of a text.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// What the parser says about a value, in words of a description.
fn said(message: &str) -> String {
    let mut parts = message.split('`');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("invalid type: integer "), Some(number), Some(rest)) if rest.contains("128") => {
            format!("the integer `{number}` does not fit into 64 bits")
        }
        _ => message.lines().collect::<Vec<_>>().join("; "),
    }
}

/// What is launched, with which memory.
#[derive(Clone, Debug)]
pub struct Spec {
    /// One behind the other, at least one.
    pub launches: Vec<Launch>,
    /// Thread-instructions after which each launch is ended.
    pub steps: Option<Spanned<u64>>,
    /// By name.
    pub buffers: BTreeMap<String, Spanned<Buffer>>,
    /// By name.
    pub tensor_maps: BTreeMap<String, Spanned<TensorMap>>,
}

/// A launch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The kernel; left out: that of the command line, or the only one.
    pub kernel: Option<Spanned<String>>,
    /// It may begin before the launch before it has ended.
    pub dependent: Option<Spanned<bool>>,
    /// All its CTAs run at once, and may meet at the barrier of a grid.
    pub cooperative: Option<Spanned<bool>>,
    /// CTAs.
    pub grid: Spanned<Extent>,
    /// Threads of a CTA.
    pub block: Spanned<Extent>,
    /// CTAs of a cluster.
    pub cluster: Option<Spanned<Extent>>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<Spanned<u32>>,
    /// In the order of the kernel's parameters.
    #[serde(default)]
    pub arguments: Vec<Spanned<Argument>>,
}

/// The keys of a description. Those of a launch stand at its top, or in a table for each of several launches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    grid: Option<Spanned<Extent>>,
    block: Option<Spanned<Extent>>,
    cluster: Option<Spanned<Extent>>,
    shared: Option<Spanned<u32>>,
    cooperative: Option<Spanned<bool>>,
    steps: Option<Spanned<u64>>,
    arguments: Option<Spanned<Vec<Spanned<Argument>>>>,
    launch: Option<Spanned<Vec<Launch>>>,
    #[serde(default, rename = "buffer")]
    buffers: BTreeMap<String, Spanned<Buffer>>,
    #[serde(default, rename = "tensor_map")]
    tensor_maps: BTreeMap<String, Spanned<TensorMap>>,
}

impl Keys {
    fn launches(&self) -> Result<Vec<Launch>, SpecError> {
        let Some(several) = &self.launch else {
            let missing = |key: &str| {
                let problem = format!("missing field `{key}`");
                SpecError::new(
                    0..0,
                    problem,
                    "add it, or a table [[launch]] that has it for each launch",
                )
            };
            return Ok(vec![Launch {
                kernel: None,
                dependent: None,
                cooperative: self.cooperative.clone(),
                grid: self.grid.clone().ok_or_else(|| missing("grid"))?,
                block: self.block.clone().ok_or_else(|| missing("block"))?,
                cluster: self.cluster.clone(),
                shared: self.shared.clone(),
                arguments: self.arguments.clone().map_or_else(Vec::new, Spanned::into_inner),
            }]);
        };
        let spans = [
            ("grid", self.grid.as_ref().map(Spanned::span)),
            ("block", self.block.as_ref().map(Spanned::span)),
            ("cluster", self.cluster.as_ref().map(Spanned::span)),
            ("shared", self.shared.as_ref().map(Spanned::span)),
            ("cooperative", self.cooperative.as_ref().map(Spanned::span)),
            ("arguments", self.arguments.as_ref().map(Spanned::span)),
        ];
        if let Some((key, Some(span))) = spans.into_iter().find(|(_, span)| span.is_some()) {
            return Err(SpecError::new(
                span,
                format!("`{key}` stands outside of the launches"),
                "put it into the table [[launch]] that it belongs to",
            ));
        }
        let launches = several.get_ref();
        if launches.is_empty() || launches.len() > LAUNCHES {
            return Err(SpecError::new(
                several.span(),
                format!("{} launches", launches.len()),
                format!("give 1 to {LAUNCHES} of them"),
            ));
        }
        if let Some(dependent) = launches[0].dependent.as_ref().filter(|d| *d.get_ref()) {
            return Err(SpecError::new(
                dependent.span(),
                "the first launch is dependent, and nothing is launched before it",
                "leave `dependent` out, or put the launch that it depends on before it",
            ));
        }
        Ok(launches.clone())
    }
}

/// In all three directions; what is not given is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent([u32; 3]);

impl Extent {
    /// In all directions.
    pub fn get(self) -> [u32; 3] {
        self.0
    }

    /// How many in all.
    pub fn volume(self) -> u128 {
        self.0.iter().map(|&n| u128::from(n)).product()
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Extent, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Extent;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, or up to three in brackets, from 0 to 4294967295")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Extent, E> {
                let wrong = |_| E::invalid_value(Unexpected::Signed(value), &self);
                Ok(Extent([u32::try_from(value).map_err(wrong)?, 1, 1]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Extent, A::Error> {
                let (mut extent, mut count) = ([1; 3], 0);
                while let Some(value) = seq.next_element()? {
                    let place = extent.get_mut(count);
                    *place.ok_or_else(|| A::Error::invalid_length(count + 1, &self))? = value;
                    count += 1;
                }
                match count {
                    0 => Err(A::Error::invalid_length(0, &self)),
                    _ => Ok(Extent(extent)),
                }
            }
        }
        deserializer.deserialize_any(Any)
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
    /// The members of a structure, each aligned as C++ does: to its size, and a structure as its widest field.
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

impl Launch {
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
        Ok(())
    }
}

impl Spec {
    /// Reads a description.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let keys: Keys = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            SpecError::new(
                span,
                said(error.message()),
                "docs/emulator.md describes the keys and their values",
            )
        })?;
        let launches = keys.launches()?;
        let Keys { steps, buffers, tensor_maps, .. } = keys;
        let spec = Spec { launches, steps, buffers, tensor_maps };
        spec.launches.iter().try_for_each(Launch::check)?;
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
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
            let offset = map.get_ref().offset();
            if offset > MEMORY {
                return Err(SpecError::new(
                    map.get_ref().span(tensor_map::Key::Offset).unwrap_or(map.span()),
                    format!("the offset {offset} lies outside the buffer"),
                    "give the bytes from the start of the buffer to element 0",
                ));
            }
            // Any address with the largest alignment shows what is wrong with the rest.
            map.get_ref().desc((1 << 36) + offset).map_err(|error| error.at(map))?;
        }
        let mut arguments = self.launches.iter().flat_map(|launch| &launch.arguments);
        arguments.try_for_each(|argument| self.named(argument.get_ref(), &argument.span()))
    }

    /// Whether what an argument names is there.
    fn named(&self, argument: &Argument, span: &Range<usize>) -> Result<(), SpecError> {
        match argument {
            Argument::Pointer(pointer) => self.find(pointer.get().0, span.clone()).map(|_| ()),
            Argument::TensorMap(name) => self.tensor_map(name, span.clone()).map(|_| ()),
            Argument::Fields(fields) => {
                if fields.is_empty() {
                    return Err(SpecError::new(
                        span.clone(),
                        "a structure without fields",
                        "list its fields, which may be structures and tensor maps; one byte stands for an empty structure of C++",
                    ));
                }
                fields.iter().try_for_each(|field| self.named(field, span))
            }
            _ => Ok(()),
        }
    }

    /// The tensor map of this name, which `span` asks for.
    pub fn tensor_map(
        &self,
        name: &str,
        span: Range<usize>,
    ) -> Result<&Spanned<TensorMap>, SpecError> {
        self.tensor_maps
            .get(name)
            .ok_or_else(|| unknown("tensor map", "tensor_map", name, span, self.tensor_maps.keys()))
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
