//! The state behind all calls.
//!
//! One emulated device with what a process has on it. Its methods take numbers and slices, and return a [`Code`] for what
//! the runtime would refuse; how C hands things over is in [`crate::abi`]. Host memory is touched in `unsafe` functions
//! whose callers got the pointer from the program.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use baton_cli::commands::check::search::Finding;
use baton_cli::commands::cuda::journal::{Journal, Line, Settings, Told};
use baton_emulator::{Error, Fault, Launch, Machine, Options, Program};
use baton_ptx::{Function, FunctionKind};

use crate::code::Code;
use crate::fatbin;
use crate::host::{self, PAGE, Pages};

/// Result of everything that a call does.
pub type Result<T> = std::result::Result<T, Code>;

/// Memory of the device.
pub const MEMORY: u64 = 16 << 30;

/// Multiprocessors that the device says it has, and CTAs of each: together as many as the emulator runs at once.
pub const MULTIPROCESSORS: u32 = 8;
/// See [`MULTIPROCESSORS`].
pub const CTAS: u32 = 8;

/// Shared memory of a CTA: what a launch has without asking, and at most.
pub const SHARED: u32 = 48 << 10;
/// See [`SHARED`].
pub const SHARED_OPT_IN: u32 = 227 << 10;

/// Nanoseconds of virtual time that a call takes beside its thread-instructions.
const CALL: u64 = 1000;

/// The handle of the stream that nobody makes.
pub const DEFAULT_STREAM: u64 = 0;
/// Handles that stand for it (`cudaStreamLegacy`, `cudaStreamPerThread`).
const DEFAULTS: std::ops::RangeInclusive<u64> = 0..=2;

/// The code of one source file.
#[derive(Debug)]
struct Module {
    /// How reports call its PTX.
    file: PathBuf,
    ptx: String,
    /// Or why it cannot be run.
    program: std::result::Result<Program, String>,
}

/// A kernel, as the host knows it.
#[derive(Clone, Debug)]
pub struct Kernel {
    module: usize,
    /// Its name in the PTX.
    pub name: String,
    /// Bytes of dynamic shared memory that it may have.
    pub dynamic: u32,
}

/// A variable of the device.
#[derive(Clone, Debug)]
struct Variable {
    module: usize,
    name: String,
    bytes: u64,
}

/// Whose memory an allocation is.
#[derive(Debug)]
enum Kind {
    /// The device's.
    Device,
    /// Both have it, at this address.
    Shared(Pages),
    /// The host's, which registered it at this address.
    Registered(u64),
}

#[derive(Debug)]
struct Allocation {
    bytes: u64,
    kind: Kind,
    managed: bool,
}

/// How a kernel is to be launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// CTAs of a cluster; zeros: what the kernel requires.
    pub cluster: [u32; 3],
    /// Bytes.
    pub dynamic_shared: u64,
    /// The stream.
    pub stream: u64,
    /// It may begin before the launch before it in the stream has ended.
    pub dependent: bool,
    /// All its CTAs run at once.
    pub cooperative: bool,
}

/// What a pointer of the program points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The host's own.
    Host,
    /// Pinned host memory, at this address of the device.
    Pinned(u64),
    /// The device's.
    Device,
    /// Managed.
    Managed,
}

/// A device and what the process has on it.
#[derive(Debug)]
pub struct Device {
    machine: Machine,
    settings: Settings,
    journal: Journal,
    modules: Vec<Module>,
    kernels: HashMap<u64, Kernel>,
    variables: HashMap<u64, Variable>,
    allocations: BTreeMap<u64, Allocation>,
    /// Launches that `<<<>>>` has announced.
    pub announced: Vec<Shape>,
    streams: HashSet<u64>,
    /// When each was recorded.
    events: HashMap<u64, Option<u64>>,
    handles: u64,
    /// Virtual time in nanoseconds.
    time: u64,
    launches: u64,
    /// The stream of the last operation, if that was a launch.
    launched: Option<u64>,
    told: HashSet<(Vec<String>, bool)>,
    last: i32,
    /// What no call gets past.
    broken: Option<Code>,
    /// The highest architecture of the program's PTX.
    arch: u32,
}

static DEVICE: Mutex<Option<Device>> = Mutex::new(None);

/// The process's device.
pub fn with<T>(act: impl FnOnce(&mut Device) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<Device>> =
        DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    act(guard.get_or_insert_with(|| Device::new(Settings::of_process())))
}

impl Device {
    /// An empty device.
    pub fn new(settings: Settings) -> Device {
        let options = Options {
            schedule: settings.policy.into(),
            strict: settings.strict,
            step_limit: Some(settings.steps),
            global_bytes: MEMORY,
            ..Options::default()
        };
        Device {
            machine: Machine::new(options),
            journal: Journal::open(&settings.file),
            settings,
            modules: Vec::new(),
            kernels: HashMap::new(),
            variables: HashMap::new(),
            allocations: BTreeMap::new(),
            announced: Vec::new(),
            streams: HashSet::new(),
            events: HashMap::new(),
            handles: 0x1000,
            time: 0,
            launches: 0,
            launched: None,
            told: HashSet::new(),
            last: 0,
            broken: None,
            arch: 90,
        }
    }

    // ---- errors ----

    /// What a call returns; it is remembered.
    pub fn returns(&mut self, result: Result<()>) -> i32 {
        let result = match self.broken {
            Some(code) => Err(code),
            None => result,
        };
        match result {
            Ok(()) => 0,
            // Not an error, and not remembered.
            Err(Code::NOT_READY) => Code::NOT_READY.0,
            Err(code) => {
                self.last = code.0;
                code.0
            }
        }
    }

    /// The last error; `clear` forgets it, unless nothing works any more.
    pub fn last(&mut self, clear: bool) -> i32 {
        let last = self.last;
        if clear && self.broken.is_none() {
            self.last = 0;
        }
        last
    }

    /// Tells the command what is not supported.
    pub fn refuse(&mut self, what: impl Into<String>, help: impl Into<String>) -> Code {
        let (what, help) = (what.into(), help.into());
        if self.told.insert((vec![what.clone()], true)) {
            self.journal.write(&Line::Refused { what, help });
        }
        Code::UNSUPPORTED
    }

    // ---- code ----

    /// Takes the code of a source file; its number.
    pub fn register(&mut self, container: &[u8]) -> usize {
        if self.modules.is_empty() {
            self.journal.write(&Line::Start);
        }
        let number = self.modules.len();
        let name = std::env::current_exe().ok();
        let name = name.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
        let file = PathBuf::from(format!("{name}.{number}.ptx"));
        let (ptx, program) = match code(container) {
            Err(problem) => (String::new(), Err(problem)),
            Ok(ptx) => {
                self.arch = self.arch.max(ptx.arch);
                let program = Program::load(&ptx.text, &file.display().to_string(), None);
                (ptx.text, program.map_err(|error| error.to_string()))
            }
        };
        if let Some(folder) = self.settings.ptx.as_ref().filter(|_| !ptx.is_empty()) {
            // Whoever asked for it sees that it is not there.
            let _ = fs::write(folder.join(&file), &ptx);
        }
        self.modules.push(Module { file, ptx, program });
        number
    }

    /// A kernel of a module, by the address of its host function.
    pub fn register_kernel(&mut self, module: usize, host: u64, name: &str) {
        self.kernels.insert(host, Kernel { module, name: name.to_owned(), dynamic: SHARED });
    }

    /// A variable of a module, by the address of its host shadow.
    pub fn register_variable(&mut self, module: usize, host: u64, name: &str, bytes: u64) {
        self.variables.insert(host, Variable { module, name: name.to_owned(), bytes });
    }

    /// A managed variable: memory that both have, with what the module says is in it.
    pub fn register_managed(&mut self, module: usize, name: &str, bytes: u64) -> Result<u64> {
        self.refuse(
            format!("the managed variable `{name}` of {bytes} bytes, in module {module}"),
            "use cudaMallocManaged, or a __device__ variable and cudaMemcpyToSymbol",
        );
        Err(Code::UNSUPPORTED)
    }

    /// A kernel that the host knows by this address.
    pub fn kernel(&self, host: u64) -> Result<&Kernel> {
        self.kernels.get(&host).ok_or(Code::FUNCTION)
    }

    /// Allows a kernel so much dynamic shared memory.
    pub fn allow_dynamic(&mut self, host: u64, bytes: u64) -> Result<()> {
        let fixed = self.static_shared(host)?;
        let bytes = u32::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
        if u64::from(bytes) + fixed > u64::from(SHARED_OPT_IN) {
            return Err(Code::INVALID_VALUE);
        }
        self.kernels.get_mut(&host).ok_or(Code::FUNCTION)?.dynamic = bytes;
        Ok(())
    }

    /// Bytes of static shared memory of a kernel.
    pub fn static_shared(&mut self, host: u64) -> Result<u64> {
        let kernel = self.kernel(host)?.clone();
        let program = self.program(kernel.module)?;
        program.static_shared(&kernel.name).ok_or(Code::FUNCTION)
    }

    /// The kernel in its PTX.
    pub fn entry(&mut self, host: u64) -> Result<&Function> {
        let Kernel { module, name, .. } = self.kernel(host)?.clone();
        let module = self.program(module)?.module();
        module.function(&name).filter(|f| f.kind == FunctionKind::Entry).ok_or(Code::FUNCTION)
    }

    fn program(&mut self, module: usize) -> Result<&Program> {
        let module_of = self.modules.get(module).ok_or(Code::FUNCTION)?;
        if let Err(problem) = &module_of.program {
            let what = format!("the program's kernels cannot be run: {problem}");
            self.refuse(
                what,
                "compile with -gencode arch=compute_90,code=compute_90 (the PTX has to be in the program), without -rdc=true",
            );
            return Err(Code::NO_IMAGE);
        }
        match &self.modules[module].program {
            Ok(program) => Ok(program),
            Err(_) => Err(Code::NO_IMAGE),
        }
    }

    /// Compute capability, ten times.
    pub fn arch(&self) -> u32 {
        self.arch
    }

    // ---- memory ----

    /// Memory of the device.
    pub fn alloc(&mut self, bytes: u64) -> Result<u64> {
        let address = self.machine.alloc(bytes.max(1), 256).map_err(|_| Code::MEMORY)?;
        self.allocations.insert(address, Allocation { bytes, kind: Kind::Device, managed: false });
        Ok(address)
    }

    /// Memory of host and device.
    pub fn alloc_shared(&mut self, bytes: u64, managed: bool) -> Result<u64> {
        let whole = bytes.max(1).next_multiple_of(PAGE);
        let address = self.machine.alloc(whole, PAGE).map_err(|_| Code::MEMORY)?;
        let Some(pages) = Pages::at(address, whole) else {
            let _ = self.machine.free(address);
            return Err(Code::MEMORY);
        };
        // Fresh pages are zero on both sides.
        let zeros = vec![0; whole as usize];
        self.machine.write(address, &zeros).map_err(|_| Code::MEMORY)?;
        self.allocations
            .insert(address, Allocation { bytes: whole, kind: Kind::Shared(pages), managed });
        Ok(address)
    }

    /// The device gets to know host memory; it has an address of its own there.
    pub fn register_host(&mut self, host: u64, bytes: u64) -> Result<()> {
        let address = self.machine.alloc(bytes.max(1), 256).map_err(|_| Code::MEMORY)?;
        self.allocations
            .insert(address, Allocation { bytes, kind: Kind::Registered(host), managed: false });
        Ok(())
    }

    /// The device forgets it.
    pub fn unregister_host(&mut self, host: u64) -> Result<()> {
        let of = |a: &Allocation| matches!(a.kind, Kind::Registered(at) if at == host);
        let found = self.allocations.iter().find(|(_, a)| of(a)).map(|(&address, _)| address);
        self.free(found.ok_or(Code::NOT_REGISTERED)?)
    }

    /// Ends an allocation.
    pub fn free(&mut self, address: u64) -> Result<()> {
        if address == 0 {
            return Ok(());
        }
        self.allocations.remove(&address).ok_or(Code::INVALID_VALUE)?;
        self.machine.free(address).map_err(|_| Code::INVALID_VALUE)
    }

    fn allocation(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (&start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes.max(1)).then_some((start, allocation))
    }

    /// What a pointer points to.
    pub fn memory(&self, address: u64) -> Memory {
        match self.allocation(address) {
            Some((_, Allocation { kind: Kind::Device, .. })) => Memory::Device,
            Some((_, Allocation { kind: Kind::Shared(_), managed: true, .. })) => Memory::Managed,
            Some((_, Allocation { kind: Kind::Shared(_), .. })) => Memory::Pinned(address),
            // What is registered has this address on the device only.
            Some((_, Allocation { kind: Kind::Registered(_), .. })) => Memory::Device,
            None => {
                let registered = self.allocations.iter().find_map(|(&at, a)| match a.kind {
                    Kind::Registered(host) if address.wrapping_sub(host) < a.bytes => {
                        Some(at + (address - host))
                    }
                    _ => None,
                });
                match registered {
                    Some(at) => Memory::Pinned(at),
                    None if self.is_variable(address) => Memory::Device,
                    None => Memory::Host,
                }
            }
        }
    }

    /// Whether it is the address of a device variable, which the program asked for.
    fn is_variable(&self, address: u64) -> bool {
        self.machine.read(address, &mut [0]).is_ok()
    }

    /// Free and total bytes.
    pub fn room(&self) -> (u64, u64) {
        let used: u64 = self.allocations.values().map(|allocation| allocation.bytes).sum();
        (MEMORY.saturating_sub(used), MEMORY)
    }

    /// Where a device variable lies, and its size.
    pub fn symbol(&mut self, host: u64) -> Result<(u64, u64)> {
        let Variable { module, name, bytes } =
            self.variables.get(&host).ok_or(Code::SYMBOL)?.clone();
        self.program(module)?;
        let Ok(program) = &self.modules[module].program else { return Err(Code::SYMBOL) };
        let found = self.machine.variable(program, &name).map_err(|_| Code::SYMBOL)?;
        // A variable that no kernel uses is not in the PTX.
        match found {
            Some((address, size)) => Ok((address, size.max(bytes))),
            None => Err(Code::SYMBOL),
        }
    }

    /// Reads memory of whoever has it.
    ///
    /// # Safety
    /// Where `from` is the host's, `bytes` bytes of it can be read.
    pub unsafe fn read(&mut self, from: u64, bytes: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
        if self.memory(from) == Memory::Device {
            let mut all = vec![0; length];
            self.machine.read(from, &mut all).map_err(|_| Code::INVALID_VALUE)?;
            return Ok(all);
        }
        // SAFETY: it is the host's, and the caller says that it can be read.
        Ok(unsafe { host::read(from, length) })
    }

    /// Writes memory of whoever has it.
    ///
    /// # Safety
    /// Where `to` is the host's, as many bytes of it can be written.
    pub unsafe fn write(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        if self.memory(to) == Memory::Device {
            return self.machine.write(to, bytes).map_err(|_| Code::INVALID_VALUE);
        }
        // SAFETY: it is the host's, and the caller says that it can be written.
        unsafe { host::write(to, bytes) };
        Ok(())
    }

    /// Copies `rows` rows of `width` bytes, whose beginnings are a pitch apart.
    ///
    /// # Safety
    /// What of both places is the host's can be read and written.
    pub unsafe fn copy(
        &mut self,
        (to, to_pitch): (u64, u64),
        (from, from_pitch): (u64, u64),
        (width, rows): (u64, u64),
        direction: u32,
    ) -> Result<()> {
        if width == 0 || rows == 0 {
            return Ok(());
        }
        if rows > 1 && (to_pitch < width || from_pitch < width) {
            return Err(Code::PITCH);
        }
        let device = |memory| matches!(memory, Memory::Device);
        let (source, target) = (self.memory(from), self.memory(to));
        // 0: host to host, 1: to the device, 2: to the host, 3: on the device, 4: as the pointers say.
        let fits = match direction {
            0 => !device(source) && !device(target),
            1 => !device(source) && target != Memory::Host,
            2 => source != Memory::Host && !device(target),
            3 => source != Memory::Host && target != Memory::Host,
            4 => true,
            _ => return Err(Code::DIRECTION),
        };
        if !fits || from == 0 || to == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.operation();
        for row in 0..rows {
            // SAFETY: the caller says so of all rows.
            let bytes = unsafe { self.read(from + row * from_pitch, width) }?;
            // SAFETY: as above.
            unsafe { self.write(to + row * to_pitch, &bytes) }?;
        }
        Ok(())
    }

    /// Sets rows to a byte.
    ///
    /// # Safety
    /// What is the host's can be written.
    pub unsafe fn fill(
        &mut self,
        (to, pitch): (u64, u64),
        value: u8,
        (width, rows): (u64, u64),
    ) -> Result<()> {
        if self.memory(to) == Memory::Host {
            return Err(Code::INVALID_VALUE);
        }
        self.operation();
        let row = vec![value; usize::try_from(width).map_err(|_| Code::INVALID_VALUE)?];
        for at in 0..rows {
            // SAFETY: the caller says so of all rows.
            unsafe { self.write(to + at * pitch, &row) }?;
        }
        Ok(())
    }

    // ---- streams and events ----

    /// Something that is no launch happens on the device.
    fn operation(&mut self) {
        self.time += CALL;
        self.launched = None;
    }

    /// A new stream.
    pub fn make_stream(&mut self) -> u64 {
        self.handles += 1;
        self.streams.insert(self.handles);
        self.handles
    }

    /// Whether there is such a stream; all that was put into it has happened.
    pub fn stream(&self, handle: u64) -> Result<()> {
        let known = DEFAULTS.contains(&handle) || self.streams.contains(&handle);
        if known { Ok(()) } else { Err(Code::HANDLE) }
    }

    /// Ends a stream.
    pub fn end_stream(&mut self, handle: u64) -> Result<()> {
        if self.streams.remove(&handle) { Ok(()) } else { Err(Code::HANDLE) }
    }

    /// A new event.
    pub fn make_event(&mut self) -> u64 {
        self.handles += 1;
        self.events.insert(self.handles, None);
        self.handles
    }

    /// An event happens now.
    pub fn record(&mut self, event: u64, stream: u64) -> Result<()> {
        self.stream(stream)?;
        self.time += CALL;
        let time = self.time;
        *self.events.get_mut(&event).ok_or(Code::HANDLE)? = Some(time);
        Ok(())
    }

    /// When an event happened, if it has been recorded.
    pub fn event(&self, event: u64) -> Result<Option<u64>> {
        self.events.get(&event).copied().ok_or(Code::HANDLE)
    }

    /// Ends an event.
    pub fn end_event(&mut self, event: u64) -> Result<()> {
        self.events.remove(&event).map(|_| ()).ok_or(Code::HANDLE)
    }

    // ---- launches ----

    /// Runs a kernel to its end. What it prints is returned.
    pub fn launch(&mut self, host: u64, shape: &Shape, params: Vec<Vec<u8>>) -> Result<String> {
        self.stream(shape.stream)?;
        let kernel = self.kernel(host)?.clone();
        let entry = self.entry(host)?;
        let clustered = entry.directive("reqnctapercluster").is_some();
        let dynamic_shared =
            u32::try_from(shape.dynamic_shared).map_err(|_| Code::CONFIGURATION)?;
        if dynamic_shared > kernel.dynamic {
            return Err(Code::INVALID_VALUE);
        }
        let launch = Launch {
            kernel: kernel.name.clone(),
            grid: shape.grid,
            block: shape.block,
            cluster: if clustered { [0; 3] } else { shape.cluster },
            dynamic_shared,
            params,
            dependent: shape.dependent && self.launched == Some(shape.stream),
            cooperative: shape.cooperative,
        };
        let shared = self.shared();
        for (device, host, bytes) in &shared {
            self.host_to_device(*device, *host, *bytes);
        }
        self.launches += 1;
        let seed = self.settings.seed.wrapping_add(self.launches.wrapping_mul(0x9E37_79B9));
        self.machine.set_seed(seed);
        let Ok(program) = &self.modules[kernel.module].program else { return Err(Code::NO_IMAGE) };
        let ran = self.machine.launch(program, &launch);
        let (hazards, printed, instructions, ended) = match ran {
            Ok(report) => (report.hazards, report.output, report.instructions, Ok(())),
            // It has not begun.
            Err(Error::Launch { .. }) => return Err(Code::CONFIGURATION),
            Err(error) => {
                let after = self.machine.after().clone();
                (after.hazards, after.output, after.instructions, Err(error))
            }
        };
        self.time += CALL + instructions;
        self.launched = Some(shape.stream);
        self.journal.write(&Line::Launch { instructions });
        for hazard in hazards {
            self.tell(&kernel, Finding::Hazard(hazard.into()));
        }
        for (device, host, bytes) in &shared {
            self.device_to_host(*device, *host, *bytes);
        }
        // The kernel has begun: nothing works after that.
        if let Err(error) = ended {
            let code = self.failed(&kernel, error);
            self.broken = Some(code);
            self.last = code.0;
        }
        Ok(printed)
    }

    fn failed(&mut self, kernel: &Kernel, error: Error) -> Code {
        match error {
            Error::Fault(failure) => {
                if let Fault::Unknown { text } = &failure.fault {
                    let line = failure.site.line;
                    let file = self.modules[kernel.module].file.display().to_string();
                    self.refuse(
                        format!("{file}:{line}: unknown instruction: {text}"),
                        "docs/emulator.md lists what the emulator does not execute",
                    );
                    return Code::PTX;
                }
                let code = match &failure.fault {
                    Fault::OutOfBounds { .. } | Fault::ReadOnly { .. } => Code::ADDRESS,
                    Fault::Misaligned { .. } => Code::MISALIGNED,
                    Fault::Assert { .. } => Code::ASSERT,
                    _ => Code::LAUNCH,
                };
                self.tell(kernel, Finding::Fault(failure));
                code
            }
            Error::Deadlock(deadlock) => {
                self.tell(kernel, Finding::Deadlock(deadlock));
                Code::TIMEOUT
            }
            Error::StepLimit { limit, .. } => {
                self.tell(kernel, Finding::Endless { steps: limit });
                Code::TIMEOUT
            }
            other => {
                self.refuse(other.to_string(), "see docs/emulator.md");
                Code::LAUNCH
            }
        }
    }

    fn tell(&mut self, kernel: &Kernel, finding: Finding) {
        let Module { file, ptx, .. } = &self.modules[kernel.module];
        let told = Told::new(finding, file, ptx, &kernel.name, &self.settings);
        if self.told.insert((told.key.clone(), told.is_error)) {
            self.journal.write(&Line::Finding(told));
        }
    }

    /// Memory that host and device share: address on the device, of the host, bytes.
    fn shared(&self) -> Vec<(u64, u64, u64)> {
        let of = |(&address, allocation): (&u64, &Allocation)| match &allocation.kind {
            Kind::Device => None,
            Kind::Shared(pages) => Some((address, pages.address(), allocation.bytes)),
            Kind::Registered(host) => Some((address, *host, allocation.bytes)),
        };
        self.allocations.iter().filter_map(of).collect()
    }

    /// The device gets what the host has stored: where it differs, so that what nobody wrote stays so.
    fn host_to_device(&mut self, device: u64, host: u64, bytes: u64) {
        for (at, bytes) in pieces(bytes) {
            // SAFETY: the host has these pages, ours or those that it registered, until it gives them back.
            let new = unsafe { host::read(host + at, bytes) };
            let mut old = vec![0; bytes];
            if self.machine.read(device + at, &mut old).is_ok() && old != new {
                // It is one allocation, which was read from just now.
                let _ = self.machine.write(device + at, &new);
            }
        }
    }

    fn device_to_host(&mut self, device: u64, host: u64, bytes: u64) {
        for (at, bytes) in pieces(bytes) {
            let mut new = vec![0; bytes];
            if self.machine.read(device + at, &mut new).is_err() {
                return;
            }
            // SAFETY: as in `host_to_device`.
            let old = unsafe { host::read(host + at, bytes) };
            if old != new {
                // SAFETY: as in `host_to_device`.
                unsafe { host::write(host + at, &new) };
            }
        }
    }
}

/// Bytes in pages: where each begins, and how long it is.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..bytes).step_by(PAGE as usize).map(move |at| (at, (bytes - at).min(PAGE) as usize))
}

/// The PTX of a container that the emulator runs: that of the highest architecture.
fn code(container: &[u8]) -> std::result::Result<fatbin::Ptx, String> {
    let contents = fatbin::parse(container).map_err(|error| error.to_string())?;
    let machine = contents.machine;
    contents.ptx.into_iter().max_by_key(|ptx| ptx.arch).ok_or_else(|| match &machine[..] {
        [] => "the program has no code for its kernels".to_owned(),
        archs => {
            let archs: Vec<String> = archs.iter().map(|arch| format!("sm_{arch}")).collect();
            format!("the program has machine code of {} and no PTX", archs.join(", "))
        }
    })
}
