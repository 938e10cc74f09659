//! From a launch description to memory and parameters: what a kernel and the files say about it.
//!
//! Files are read once; each schedule then gets a device of its own with the same contents, so that
//! addresses are the same in all of them.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use baton_emulator::tensor_map::{TENSOR_MAP_BYTES, encode};
use baton_emulator::{Error, Launch, Machine, RESIDENT};
use baton_ptx::{FunctionKind, Module, Param};
use half::{bf16, f16};
use toml::Spanned;

use super::element::Element;
use super::spec::tensor_map::{Key, TensorMap};
use super::spec::{self, Argument, Buffer, Fill, MEMORY, Spec, SpecError, Word};

/// Alignment of buffers, as `cudaMalloc` has it.
const ALIGNMENT: u64 = 256;

/// CTAs of a launch at most.
const CTAS: u128 = 1 << 22;

/// Launches, ready for any number of devices.
#[derive(Debug)]
pub struct Setup {
    /// One behind the other.
    launches: Vec<Prepared>,
    /// Whether each of them names its kernel in the description.
    pub names_kernels: bool,
    /// Ends a launch.
    pub steps: Option<u64>,
    /// In the order of their addresses.
    pub buffers: Vec<Contents>,
}

/// A launch but for addresses.
#[derive(Debug)]
struct Prepared {
    /// All but the parameters.
    launch: Launch,
    parameters: Vec<Parameter>,
}

/// A buffer.
#[derive(Debug)]
pub struct Contents {
    /// Its name.
    pub name: String,
    /// Of its elements.
    pub element: Element,
    /// Its size.
    pub bytes: u64,
    /// What it holds at first, unless nothing was written.
    initial: Option<Vec<u8>>,
    /// What it is to hold, and how nearly.
    pub expected: Option<(Vec<u8>, f64)>,
}

#[derive(Debug)]
enum Parameter {
    Bytes(Vec<u8>),
    /// A place in a buffer.
    Address(usize, u64),
    /// A structure: where each field lies, all its bytes, and its alignment.
    Fields {
        placed: Vec<(usize, Parameter)>,
        bytes: usize,
        align: usize,
    },
    /// A map of a buffer: by value, or its address.
    Map {
        map: Box<TensorMap>,
        buffer: usize,
        by_address: bool,
    },
}

impl Setup {
    /// Checks a description against its kernels, of which `kernel` is the one where a launch names none, and reads the
    /// files that it names.
    pub fn new(
        spec: &Spec,
        files: &Files,
        module: &Module,
        kernel: &str,
    ) -> Result<Setup, SpecError> {
        spec.launches.iter().try_for_each(|launch| bounded(spec, launch))?;
        let mut buffers = Vec::new();
        let mut total = 0;
        for (name, buffer) in &spec.buffers {
            let contents = contents(name, buffer, files)?;
            total += contents.bytes;
            if total > MEMORY {
                return Err(SpecError::new(
                    buffer.span(),
                    format!("with this buffer the launch has {total} bytes of global memory"),
                    format!("use at most {MEMORY}; each schedule that runs has its own memory"),
                ));
            }
            buffers.push(contents);
        }
        let prepared = |launch| Prepared::new(spec, launch, &buffers, module, kernel);
        let launches = spec.launches.iter().map(prepared).collect::<Result<_, _>>()?;
        let steps = spec.steps.as_ref().map(|steps| *steps.get_ref());
        let names_kernels = spec.launches.iter().all(|launch| launch.kernel.is_some());
        Ok(Setup { launches, names_kernels, steps, buffers })
    }

    /// The kernels, one for each launch.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().map(|prepared| prepared.launch.kernel.as_str())
    }

    /// With this many bytes of dynamic shared memory instead of those that the description says.
    pub fn with_shared(mut self, bytes: u32) -> Setup {
        for prepared in &mut self.launches {
            prepared.launch.dynamic_shared = bytes;
        }
        self
    }

    /// Fills a new device; gives the launches, and the addresses of the buffers.
    pub fn prepare(&self, machine: &mut Machine) -> Result<(Vec<Launch>, Vec<u64>), Error> {
        let mut addresses = Vec::new();
        for buffer in &self.buffers {
            let address = machine.alloc(buffer.bytes, ALIGNMENT)?;
            if let Some(initial) = &buffer.initial {
                machine.write(address, initial)?;
            }
            addresses.push(address);
        }
        let mut launches = Vec::new();
        for prepared in &self.launches {
            let mut launch = prepared.launch.clone();
            for parameter in &prepared.parameters {
                launch.params.push(parameter.value(machine, &addresses)?);
            }
            launches.push(launch);
        }
        Ok((launches, addresses))
    }
}

impl Prepared {
    fn new(
        spec: &Spec,
        launch: &spec::Launch,
        buffers: &[Contents],
        module: &Module,
        kernel: &str,
    ) -> Result<Prepared, SpecError> {
        let kernel = launch.kernel.as_ref().map_or(kernel, |kernel| kernel.get_ref());
        let entry = module.function(kernel).filter(|f| f.kind == FunctionKind::Entry);
        let declared: &[Param] = entry.map_or(&[], |entry| &entry.params);
        let arguments = &launch.arguments;
        if declared.len() != arguments.len() {
            let (wanted, given) = (declared.len(), arguments.len());
            let named = || launch.kernel.as_ref().map_or(0..0, Spanned::span);
            let span = arguments.last().map_or_else(named, Spanned::span);
            let list: Vec<String> = declared.iter().map(shown).collect();
            return Err(SpecError::new(
                span,
                format!("{given} arguments, and `{kernel}` takes {wanted}"),
                match &list[..] {
                    [] => "leave `arguments` out".to_owned(),
                    list => format!("give one for each parameter: {}", list.join(", ")),
                },
            ));
        }
        let mut parameters = Vec::new();
        for (argument, declared) in arguments.iter().zip(declared) {
            let given = Given { spec, buffers, span: argument.span() };
            let by_address = declared.bytes == 8;
            let parameter = given.parameter(argument.get_ref(), by_address)?;
            let given = parameter.bytes() as u64;
            if given != declared.bytes {
                return Err(SpecError::new(
                    argument.span(),
                    format!("{given} bytes for the parameter {}", shown(declared)),
                    format!("give an argument of {} bytes", declared.bytes),
                ));
            }
            parameters.push(parameter);
        }
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: launch.grid.get_ref().get(),
            block: launch.block.get_ref().get(),
            cluster: launch.cluster.as_ref().map_or([0; 3], |cluster| cluster.get_ref().get()),
            dynamic_shared: launch.shared.as_ref().map_or(0, |shared| *shared.get_ref()),
            params: Vec::new(),
            dependent: launch.dependent.as_ref().is_some_and(|dependent| *dependent.get_ref()),
            cooperative: is_cooperative(launch),
        };
        Ok(Prepared { launch, parameters })
    }
}

fn is_cooperative(launch: &spec::Launch) -> bool {
    launch.cooperative.as_ref().is_some_and(|cooperative| *cooperative.get_ref())
}

/// Refuses a grid that no run could get through.
fn bounded(spec: &Spec, launch: &spec::Launch) -> Result<(), SpecError> {
    let wrong = |problem, help| Err(SpecError::new(launch.grid.span(), problem, help));
    let (ctas, threads) = (launch.grid.get_ref().volume(), launch.block.get_ref().volume());
    if ctas > CTAS {
        return wrong(
            format!("the grid has {ctas} CTAs"),
            format!("use at most {CTAS}; the emulator keeps a record of each that has run"),
        );
    }
    if is_cooperative(launch) && ctas > RESIDENT as u128 {
        return wrong(
            format!("the launch is cooperative, and its grid has {ctas} CTAs"),
            format!("use at most {RESIDENT}, which run at once here, or leave `cooperative` out"),
        );
    }
    let limit = spec.steps.as_ref().map_or(super::STEPS, |steps| *steps.get_ref());
    if ctas * threads > limit.into() {
        return wrong(
            format!(
                "the launch has {} threads, and a run is ended after {limit} thread-instructions",
                ctas * threads
            ),
            "use a smaller grid, or raise `steps`".to_owned(),
        );
    }
    Ok(())
}

impl Parameter {
    fn bytes(&self) -> usize {
        match self {
            Parameter::Bytes(bytes) => bytes.len(),
            Parameter::Fields { bytes, .. } => *bytes,
            Parameter::Map { by_address: false, .. } => TENSOR_MAP_BYTES,
            Parameter::Address(..) | Parameter::Map { .. } => 8,
        }
    }

    /// What it is once the buffers have addresses.
    fn value(&self, machine: &mut Machine, addresses: &[u64]) -> Result<Vec<u8>, Error> {
        Ok(match self {
            Parameter::Bytes(bytes) => bytes.clone(),
            Parameter::Address(buffer, offset) => {
                (addresses[*buffer] + offset).to_le_bytes().to_vec()
            }
            Parameter::Fields { placed, bytes, .. } => {
                let mut all = vec![0; *bytes];
                for (at, field) in placed {
                    let value = field.value(machine, addresses)?;
                    all[*at..at + value.len()].copy_from_slice(&value);
                }
                all
            }
            Parameter::Map { map, buffer, by_address } => {
                let desc = map
                    .desc(addresses[*buffer] + map.offset())
                    .map_err(|error| Error::Host(error.problem))?;
                let bytes = encode(&desc).map_err(|error| Error::Host(error.to_string()))?;
                if *by_address {
                    let address = machine.alloc(TENSOR_MAP_BYTES as u64, ALIGNMENT)?;
                    machine.write(address, &bytes)?;
                    address.to_le_bytes().to_vec()
                } else {
                    bytes.to_vec()
                }
            }
        })
    }

    /// How it is aligned in a structure. C++ aligns a tensor map to its size.
    fn align(&self, argument: &Argument) -> usize {
        match (self, argument) {
            (_, Argument::Bytes(_)) => 1,
            (Parameter::Fields { align, .. }, _) => *align,
            _ => self.bytes(),
        }
    }
}

/// An argument of a description, and what it may name.
struct Given<'a> {
    spec: &'a Spec,
    buffers: &'a [Contents],
    span: Range<usize>,
}

impl Given<'_> {
    fn buffer(&self, name: &str) -> usize {
        self.buffers.iter().position(|b| b.name == name).unwrap_or_default()
    }

    /// An argument, or a field of one; a tensor map `by_address` is eight bytes.
    fn parameter(&self, argument: &Argument, by_address: bool) -> Result<Parameter, SpecError> {
        match argument {
            Argument::Pointer(pointer) => {
                let (name, offset) = pointer.get();
                let buffer = self.buffer(name);
                let bytes = self.buffers[buffer].bytes;
                if offset > bytes {
                    return Err(SpecError::new(
                        self.span.clone(),
                        format!("the offset {offset} lies outside of `{name}`"),
                        format!("`{name}` has {bytes} bytes"),
                    ));
                }
                Ok(Parameter::Address(buffer, offset))
            }
            Argument::TensorMap(name) => {
                let map = self.spec.tensor_map(name, self.span.clone())?;
                let buffer = self.buffer(&map.get_ref().buffer);
                inside(map, &self.buffers[buffer])?;
                let map = Box::new(map.get_ref().clone());
                Ok(Parameter::Map { map, buffer, by_address })
            }
            Argument::Fields(fields) => {
                let (mut at, mut widest, mut placed) = (0usize, 1, Vec::new());
                for field in fields {
                    let value = self.parameter(field, false)?;
                    let align = value.align(field);
                    at = at.next_multiple_of(align);
                    widest = widest.max(align);
                    let bytes = value.bytes();
                    placed.push((at, value));
                    at += bytes;
                }
                Ok(Parameter::Fields { placed, bytes: at.next_multiple_of(widest), align: widest })
            }
            scalar => Ok(Parameter::Bytes(bytes(scalar))),
        }
    }
}

/// A parameter as messages name it.
fn shown(param: &Param) -> String {
    format!("`{}` ({} bytes)", param.name, param.bytes)
}

fn bytes(scalar: &Argument) -> Vec<u8> {
    match scalar {
        Argument::U8(value) => value.to_le_bytes().to_vec(),
        Argument::U16(value) => value.to_le_bytes().to_vec(),
        Argument::U32(value) => value.to_le_bytes().to_vec(),
        Argument::U64(value) => value.to_le_bytes().to_vec(),
        Argument::I8(value) => value.to_le_bytes().to_vec(),
        Argument::I16(value) => value.to_le_bytes().to_vec(),
        Argument::I32(value) => value.to_le_bytes().to_vec(),
        Argument::I64(value) => value.to_le_bytes().to_vec(),
        Argument::F16(value) => f16::from_f64(*value).to_le_bytes().to_vec(),
        Argument::Bf16(value) => bf16::from_f64(*value).to_le_bytes().to_vec(),
        Argument::F32(value) => (*value as f32).to_le_bytes().to_vec(),
        Argument::F64(value) => value.to_le_bytes().to_vec(),
        Argument::Bytes(bytes) => bytes.clone(),
        Argument::Pointer(_) | Argument::TensorMap(_) | Argument::Fields(_) => Vec::new(),
    }
}

/// Whether the tensor lies inside its buffer, which the driver cannot know and does not check.
fn inside(map: &Spanned<TensorMap>, buffer: &Contents) -> Result<(), SpecError> {
    let given = map.get_ref();
    let desc = given.desc((1 << 36) + given.offset()).map_err(|error| error.at(map))?;
    let rank = desc.rank as usize;
    // Validated: far below 2^128.
    let inner = u128::from(desc.global_dims[0]) * u128::from(desc.data_type.bytes());
    let outer: u128 = (1..rank)
        .map(|i| u128::from(desc.global_dims[i] - 1) * u128::from(desc.global_strides[i - 1]))
        .sum();
    let end = u128::from(given.offset()) + inner + outer;
    if end > u128::from(buffer.bytes) {
        return Err(SpecError::new(
            given.span(Key::Dims).unwrap_or(map.span()),
            format!(
                "the tensor ends {end} bytes behind the start of `{}`, which has {}",
                buffer.name, buffer.bytes
            ),
            "make the buffer larger or the tensor smaller",
        ));
    }
    Ok(())
}

/// A file's bytes, and where it is named.
type File = (Vec<u8>, Range<usize>);

fn contents(name: &str, given: &Spanned<Buffer>, files: &Files) -> Result<Contents, SpecError> {
    let buffer = given.get_ref();
    let (element, size) = (buffer.element, buffer.element.bytes());
    let of_file = |file: &Option<Spanned<PathBuf>>| -> Result<Option<File>, SpecError> {
        let Some(file) = file else { return Ok(None) };
        Ok(Some((files.read(file.get_ref(), file.span())?, file.span())))
    };
    let (initial, expected) = (of_file(&buffer.file)?, of_file(&buffer.expect_file)?);
    let count = match buffer.count() {
        Some(count) => count as usize,
        None => initial.as_ref().map_or(0, |(bytes, _)| bytes.len() / size),
    };
    for (bytes, span) in [&initial, &expected].into_iter().flatten() {
        if bytes.len() != count * size {
            return Err(SpecError::new(
                span.clone(),
                format!("the file has {} bytes, the buffer `{name}` {}", bytes.len(), count * size),
                "make them agree: the file holds the elements one after the other, little endian",
            ));
        }
    }
    let filled = |fill: &Fill| fill_bytes(fill, element, count, buffer);
    let initial = match (initial, buffer.fill.as_ref().map(Spanned::get_ref)) {
        (Some((bytes, _)), _) => Some(bytes),
        (None, Some(Fill::Word(Word::None))) => None,
        (None, Some(fill)) => Some(filled(fill)),
        (None, None) => Some(vec![0; count * size]),
    };
    let expected = expected.map(|(bytes, _)| bytes);
    let expected = expected.or_else(|| buffer.expect.as_ref().map(|fill| filled(fill.get_ref())));
    let tolerance = buffer.tolerance.as_ref().map_or(0.0, |tolerance| *tolerance.get_ref());
    Ok(Contents {
        name: name.to_owned(),
        element,
        bytes: (count * size) as u64,
        initial,
        expected: expected.map(|bytes| (bytes, tolerance)),
    })
}

fn fill_bytes(fill: &Fill, element: Element, count: usize, buffer: &Buffer) -> Vec<u8> {
    let size = element.bytes();
    let mut state = buffer.seed.as_ref().map_or(0, |seed| *seed.get_ref());
    // Numbers were tried when the description was read.
    let number = |number| element.encode(number).unwrap_or_default();
    let mut bytes = Vec::with_capacity(count * size);
    for i in 0..count {
        let word = match fill {
            Fill::Word(Word::Zero | Word::None) => [0; 8],
            Fill::Word(Word::Iota) => element.index(i as u64),
            Fill::Word(Word::Random) => element.random(next(&mut state)),
            Fill::Number(value) => number(*value),
            Fill::List(list) => list.get(i).map_or([0; 8], |&value| number(value)),
        };
        bytes.extend(&word[..size]);
    }
    bytes
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Which files a description may name: of a stranger's, none but those that came with it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The folder of the description.
    pub folder: PathBuf,
    /// Whether they may lie elsewhere.
    pub anywhere: bool,
}

impl Files {
    fn read(&self, name: &Path, span: Range<usize>) -> Result<Vec<u8>, SpecError> {
        let path = self.folder.join(name);
        let refuse = |problem: String, help: &str| {
            SpecError::new(
                span.clone(),
                format!("cannot read `{}`: {problem}", path.display()),
                help,
            )
        };
        let wrong =
            |problem: String| refuse(problem, "paths are taken from the folder of the description");
        let about = fs::metadata(&path).map_err(|error| wrong(error.to_string()))?;
        if !about.is_file() {
            return Err(wrong("it is no file".into()));
        }
        if !self.anywhere && !self.holds(&path).map_err(|error| wrong(error.to_string()))? {
            return Err(refuse(
                "it lies outside of the folder of the description".into(),
                "move it there, or give --files-anywhere if the description may read it",
            ));
        }
        if about.len() > MEMORY {
            let bytes = about.len();
            return Err(wrong(format!("it has {bytes} bytes, and a launch at most {MEMORY}")));
        }
        fs::read(&path).map_err(|error| wrong(error.to_string()))
    }

    /// Whether a file lies in the folder, or in one below it, wherever links lead.
    fn holds(&self, path: &Path) -> io::Result<bool> {
        let folder: &Path = match self.folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => &self.folder,
        };
        Ok(fs::canonicalize(path)?.starts_with(fs::canonicalize(folder)?))
    }
}
