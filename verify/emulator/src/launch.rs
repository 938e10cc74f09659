//! Devices and launches.

use crate::detect::{Detector, Hazard, InFlight};
use crate::error::{Error, Failure, Fault, Threads};
use crate::memory::{FRESH, LOCAL_LIMIT, LOCAL_TOTAL, MAX_SHARED, MULTIMEM, Memory, SHARED_BASE};
use crate::program::Program;
use crate::rng::{Decision, Rng};
use crate::schedule::{Grid, Settings};
use crate::trace::Trace;
use crate::world::World;
use baton_ptx as ptx;
use ptx::Space;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// CTAs that are resident together at most; a larger grid starts the next when one exits.
pub const RESIDENT: usize = 64;

/// Thread-instructions of a launch by default: minutes, and more than any test needs.
const STEPS: u64 = 20_000_000_000;

/// How a [`Machine`] behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides every choice of the scheduler; the same seed replays the same run.
    pub seed: u64,
    /// Which habits the runs may have.
    pub schedule: Schedule,
    /// Ends a launch with an error after this many thread-instructions; 20 billion by default.
    pub step_limit: Option<u64>,
    /// Size of global memory.
    pub global_bytes: u64,
    /// Leaves out the search for hazards, which costs time and memory.
    pub unchecked: bool,
    /// Decisions to repeat instead of the seed's; behind the last, all are plain.
    pub replay: Option<Vec<u32>>,
    /// Keeps the decisions of each launch, for [`Machine::after`].
    pub record: bool,
    /// Points where practice and text disagree are errors rather than warnings.
    pub strict: bool,
    /// Records what ran when, for [`Machine::after`].
    pub trace: bool,
    /// Raised by the thread-instructions of each launch, a million at a time while it runs and by the rest at its end: for
    /// who looks on from another thread. Machines may share it.
    pub counter: Option<Arc<AtomicU64>>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            schedule: Schedule::Seeded,
            step_limit: Some(STEPS),
            global_bytes: 16 << 30,
            replay: None,
            record: false,
            unchecked: false,
            strict: false,
            trace: false,
            counter: None,
        }
    }
}

/// Which habits a run may have; within them the seed decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The seed chooses among all habits.
    #[default]
    Seeded,
    /// Warps are chosen uniformly, no kind of asynchronous operation is held back.
    Uniform,
    /// Warps have priorities, which change at a few random places.
    Priorities,
    /// One warp, and one kind of asynchronous operation, go on when nothing else can.
    Starving,
    /// Asynchronous operations take effect as soon as possible.
    Early,
    /// They take effect only when nothing else can run.
    Late,
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The kernel.
    pub kernel: String,
    /// CTAs in each direction.
    pub grid: [u32; 3],
    /// Threads of a CTA in each direction.
    pub block: [u32; 3],
    /// CTAs of a cluster in each direction; zeros: what the kernel requires, else none.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, each in its own bytes, little endian.
    pub params: Vec<Vec<u8>>,
    /// It may begin before the launch before it has ended (programmatic stream serialisation). It is run behind that all
    /// the same; an access to what that touched is reported if no `griddepcontrol.wait` is before it (rule F6).
    pub dependent: bool,
    /// All its CTAs run at once, and `sync()` of a grid of cooperative groups finds its barrier (`%envreg1`, `%envreg2`).
    pub cooperative: bool,
}

/// Bytes that a cooperative launch has for its grid barrier.
const WORKSPACE: u64 = 64;

impl Launch {
    pub(crate) fn cluster_shape(&self) -> [u32; 3] {
        if self.cluster == [0; 3] { [1; 3] } else { self.cluster }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Thread-instructions executed.
    pub instructions: u64,
    /// What the device printed.
    pub output: String,
    /// Hazards that did not end the run.
    pub hazards: Vec<Hazard>,
}

/// What a launch leaves behind, also one that failed.
#[derive(Clone, Debug, Default)]
pub struct After {
    /// Hazards that were found before a run failed; those of one that did not are in its report.
    pub hazards: Vec<Hazard>,
    /// Thread-instructions executed.
    pub instructions: u64,
    /// What the device printed before a run failed; of one that did not it is in its report.
    pub output: String,
    /// What it decided, if that was to be kept.
    pub decisions: Vec<Decision>,
    /// What ran when, if that was to be recorded.
    pub trace: Option<Trace>,
}

/// A device: global memory that outlives launches.
#[derive(Debug)]
pub struct Machine {
    options: Options,
    memory: Memory,
    /// What kernels have allocated: it outlives them.
    heap: Vec<u64>,
    /// Programs whose variables are in memory, with their addresses.
    loaded: Vec<(u64, Vec<u64>)>,
    after: After,
    /// Where the grid barrier of a cooperative launch lies, once there was one.
    workspace: Option<u64>,
    /// Launches that a dependent one may overlap, the latest first, where hazards are looked for.
    in_flight: Vec<InFlight>,
}

impl Machine {
    /// A device with empty memory.
    pub fn new(options: Options) -> Machine {
        let memory = Memory::new(options.global_bytes, !options.unchecked);
        Machine {
            options,
            memory,
            heap: Vec::new(),
            loaded: Vec::new(),
            after: After::default(),
            workspace: None,
            in_flight: Vec::new(),
        }
    }

    /// The seed of the launches to come.
    pub fn set_seed(&mut self, seed: u64) {
        self.options.seed = seed;
    }

    /// The decisions of the launches to come, instead of the seed's.
    pub fn set_replay(&mut self, decisions: Option<Vec<u32>>) {
        self.options.replay = decisions;
    }

    /// What the last launch left.
    pub fn after(&self) -> &After {
        &self.after
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Allocates global memory. Its bytes are 0xFF, so that what nobody wrote reads as NaN.
    pub fn alloc(&mut self, bytes: u64, align: u64) -> Result<u64, Error> {
        self.memory.alloc(bytes, align).map_err(|e| Error::Host(format!("allocation: {e}")))
    }

    /// Frees an allocation.
    pub fn free(&mut self, address: u64) -> Result<(), Error> {
        self.memory.free(address).map_err(|e| Error::Host(format!("free: {e}")))
    }

    /// The multimem address of global memory at `address`. Only multimem instructions may use it; on this one device they
    /// reach one replica, the memory itself.
    pub fn multimem(&self, address: u64) -> u64 {
        address | MULTIMEM
    }

    /// Copies device memory to the host.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        let at = self.memory.host(address, out.len() as u64)?;
        if !out.is_empty() {
            out.copy_from_slice(self.memory.slice(at, out.len()));
        }
        Ok(())
    }

    /// Copies from the host to device memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let at = self.memory.host(address, bytes.len() as u64)?;
        if !bytes.is_empty() {
            self.memory.slice_mut(at, bytes.len()).copy_from_slice(bytes);
            self.memory.mark(at, bytes.len());
        }
        Ok(())
    }

    /// Where a global or constant variable of a program lies, and its size; the program's variables are put into memory
    /// where they are not.
    pub fn variable(&mut self, program: &Program, name: &str) -> Result<Option<(u64, u64)>, Error> {
        let symbols = self.load(program)?;
        let at = program
            .vars
            .iter()
            .position(|v| *v.name == *name && matches!(v.space, Space::Global | Space::Const));
        Ok(at.map(|at| (symbols[at], program.vars[at].bytes.unwrap_or(0))))
    }

    /// Runs a kernel to its end.
    pub fn launch(&mut self, program: &Program, launch: &Launch) -> Result<Report, Error> {
        let refuse = |problem: String| Error::Launch { kernel: launch.kernel.clone(), problem };
        let entry = program
            .sources
            .iter()
            .position(|&i| {
                let f = &program.module.functions[i];
                f.kind == ptx::FunctionKind::Entry && *f.name == *launch.kernel
            })
            .ok_or_else(|| {
                let names: Vec<&str> = program.kernels().collect();
                refuse(format!(
                    "module `{}` has no such kernel; it has {}",
                    program.module.name,
                    if names.is_empty() { "none".into() } else { names.join(", ") }
                ))
            })? as u32;
        let mut launch = launch.clone();
        check(program, entry, &mut launch).map_err(refuse)?;
        let params = params(program, entry, &launch)
            .map_err(|p| Error::Launch { kernel: launch.kernel.clone(), problem: p })?;
        let mut symbols = self.load(program)?;
        // Shared variables that this kernel can reach, then the dynamic part.
        let mut shared = 0u32;
        let mut dynamic = Vec::new();
        for f in program.reachable(entry) {
            for &v in &program.functions[f as usize].shared {
                let var = &program.vars[v as usize];
                match var.bytes {
                    None => dynamic.push(v),
                    Some(_) if symbols[v as usize] != 0 => {}
                    Some(bytes) => {
                        let at = (SHARED_BASE + shared).next_multiple_of(var.align.max(1));
                        symbols[v as usize] = at.into();
                        shared = (u64::from(at - SHARED_BASE) + bytes).min(u32::MAX.into()) as u32;
                    }
                }
            }
        }
        let align = dynamic.iter().map(|&v| program.vars[v as usize].align).max().unwrap_or(16);
        let at = (SHARED_BASE + shared).next_multiple_of(align.max(16));
        for v in dynamic {
            symbols[v as usize] = at.into();
        }
        let static_shared = at - SHARED_BASE;
        let total = static_shared.saturating_add(launch.dynamic_shared);
        if total > MAX_SHARED {
            return Err(Error::Launch {
                kernel: launch.kernel.clone(),
                problem: format!(
                    "{shared} bytes of static and {} of dynamic shared memory; a CTA has \
                     {MAX_SHARED}",
                    launch.dynamic_shared
                ),
            });
        }
        let frame = u64::from(program.functions[entry as usize].local);
        let warps = u64::from(launch.block.iter().product::<u32>().div_ceil(32));
        let ctas = launch.grid.iter().map(|&n| u64::from(n)).product::<u64>().min(RESIDENT as u64);
        let local = ctas * warps * 32 * frame;
        if frame > LOCAL_LIMIT || local > LOCAL_TOTAL {
            return Err(refuse(format!(
                "{frame} bytes of local memory in each thread, {local} in the threads that run at once; a thread has \
                 at most {LOCAL_LIMIT}, all together {LOCAL_TOTAL}"
            )));
        }
        let workspace = if launch.cooperative { self.workspace(launch.dependent)? } else { 0 };
        let settings = Settings::new(&self.options);
        let mut opaque = Rng::new(!self.options.seed);
        let world = World {
            program,
            launch: &launch,
            memory: &mut self.memory,
            symbols,
            params,
            static_shared,
            workspace,
            ctas: Vec::new(),
            clusters: Vec::new(),
            agents: Vec::new(),
            issued: 0,
            next_cluster: 0,
            cluster_count: 0,
            gathering: Vec::new(),
            accumulators: HashMap::new(),
            events: Vec::new(),
            watches: Vec::new(),
            rng: Rng::new(self.options.seed)
                .replaying(self.options.replay.clone())
                .recording(self.options.record),
            current: 0,
            instructions: 0,
            output: String::new(),
            heap: &mut self.heap,
            opaque: [0; 2].map(|_: u64| opaque.below(usize::MAX) as u64),
            culprits: 0,
            local: 0,
            trace: self.options.trace.then(Box::default),
            detect: (!self.options.unchecked).then(|| {
                let mut previous = std::mem::take(&mut self.in_flight);
                if !launch.dependent {
                    previous.clear();
                }
                let detector = Detector::new(self.options.strict, settings.stale);
                Box::new(detector.follows(program.id, previous))
            }),
        };
        let mut grid = Grid::new(world, entry, settings, self.options.counter.clone());
        let result = grid.run();
        let after = grid.end();
        self.in_flight = grid.into_in_flight();
        self.after = after;
        result
    }

    /// An empty grid barrier. A launch that may overlap the one before has its own.
    fn workspace(&mut self, dependent: bool) -> Result<u64, Error> {
        let at = match self.workspace.filter(|_| !dependent) {
            Some(at) => at,
            None => self.alloc(WORKSPACE, WORKSPACE)?,
        };
        self.workspace = Some(at);
        self.write(at, &[0; WORKSPACE as usize])?;
        Ok(at)
    }

    /// Puts the variables of a program into memory, once.
    fn load(&mut self, program: &Program) -> Result<Vec<u64>, Error> {
        if let Some(loaded) = self.loaded.iter().find(|l| l.0 == program.id) {
            return Ok(loaded.1.clone());
        }
        let fail = |problem: String| Error::Load { module: program.module.name.clone(), problem };
        let mut symbols = vec![0; program.vars.len()];
        for (i, v) in program.vars.iter().enumerate() {
            if matches!(v.space, Space::Global | Space::Const) {
                if v.undefined {
                    return Err(fail(format!(
                        "variable `{}` is extern, and nothing defines it",
                        v.name
                    )));
                }
                let bytes = v.bytes.unwrap_or(0);
                symbols[i] = self.memory.alloc(bytes, v.align.into()).map_err(fail)?;
            }
        }
        for (i, v) in program.vars.iter().enumerate() {
            if !matches!(v.space, Space::Global | Space::Const) {
                continue;
            }
            let bytes = v.bytes.unwrap_or(0) as usize;
            // What has no initialiser is zero.
            let mut data = vec![0u8; bytes];
            let element = v.ty.bytes() as usize;
            for (k, init) in v.init.iter().enumerate() {
                let value = match init {
                    ptx::Initial::Bits(bits) => *bits,
                    ptx::Initial::Address { symbol, offset, mask, .. } => {
                        let address = self.address(program, &symbols, symbol).ok_or_else(|| {
                            fail(format!(
                                "`{}` points to `{symbol}`, which nothing defines",
                                v.name
                            ))
                        })?;
                        let address = address.wrapping_add(*offset as u64);
                        match mask {
                            Some(mask) if *mask != 0 => (address & mask) >> mask.trailing_zeros(),
                            _ => address,
                        }
                    }
                };
                if let Some(to) = data.get_mut(k * element..(k + 1) * element) {
                    to.copy_from_slice(&value.to_le_bytes()[..element.min(8)]);
                }
            }
            let at = self.memory.host(symbols[i], bytes as u64)?;
            if bytes != 0 {
                self.memory.slice_mut(at, bytes).copy_from_slice(&data);
                self.memory.mark(at, bytes);
            }
            if v.space == Space::Const {
                self.memory.protect(symbols[i]);
            }
        }
        self.loaded.push((program.id, symbols.clone()));
        Ok(symbols)
    }

    fn address(&self, program: &Program, symbols: &[u64], name: &str) -> Option<u64> {
        if let Some(i) = program.vars.iter().position(|v| *v.name == *name) {
            return Some(symbols[i]);
        }
        let f = program.functions.iter().position(|f| *f.name == *name)?;
        Some(crate::memory::FUNCTION_WINDOW << 32 | f as u64)
    }
}

/// Checks the shape of a launch against the kernel, and takes over what the kernel requires.
fn check(program: &Program, entry: u32, launch: &mut Launch) -> Result<(), String> {
    let kernel = program.source(entry);
    let fill = |args: &[u64]| -> [u32; 3] {
        std::array::from_fn(|i| args.get(i).map_or(1, |&n| n as u32))
    };
    if launch.grid.contains(&0) || launch.block.contains(&0) {
        return Err(format!("grid {:?} or block {:?} has a zero", launch.grid, launch.block));
    }
    let volume = |v: [u32; 3]| v.iter().map(|&n| u64::from(n)).product::<u64>();
    if volume(launch.block) > 1024 {
        return Err(format!("block {:?} has more than 1024 threads", launch.block));
    }
    if let Some(required) = kernel.directive("reqntid").map(fill)
        && required != launch.block
    {
        return Err(format!("block {:?}; the kernel requires {required:?}", launch.block));
    }
    if let Some(most) = kernel.directive("maxntid").map(fill)
        && volume(launch.block) > volume(most)
    {
        return Err(format!("block {:?}; the kernel allows at most {most:?}", launch.block));
    }
    if let Some(required) = kernel.directive("reqnctapercluster").map(fill) {
        if launch.cluster == [0; 3] {
            launch.cluster = required;
        } else if launch.cluster != required {
            return Err(format!("cluster {:?}; the kernel requires {required:?}", launch.cluster));
        }
    }
    let shape = launch.cluster_shape();
    if shape.contains(&0) || volume(shape) > 16 {
        return Err(format!("cluster {shape:?}; a cluster has 1 to 16 CTAs"));
    }
    if launch.cooperative && volume(launch.grid) > RESIDENT as u64 {
        return Err(format!(
            "grid {:?} in a cooperative launch, whose CTAs all run at once; here {RESIDENT} do at most",
            launch.grid
        ));
    }
    if (0..3).any(|i| !launch.grid[i].is_multiple_of(shape[i])) {
        return Err(format!("grid {:?} is not a multiple of the cluster {shape:?}", launch.grid));
    }
    Ok(())
}

/// Lays the parameters out as the kernel declares them.
fn params(program: &Program, entry: u32, launch: &Launch) -> Result<Vec<u8>, String> {
    let declared = &program.source(entry).params;
    if declared.len() != launch.params.len() {
        return Err(format!(
            "{} parameters; the kernel takes {}",
            launch.params.len(),
            declared.len()
        ));
    }
    let slots = &program.functions[entry as usize].params;
    let size = slots.last().map_or(0, |&(at, bytes)| at + bytes);
    let mut data = vec![FRESH; size as usize];
    for (i, (given, &(at, bytes))) in launch.params.iter().zip(slots).enumerate() {
        if given.len() != bytes as usize {
            return Err(format!(
                "parameter {i} (`{}`) has {} bytes; the kernel takes {bytes}",
                declared[i].name,
                given.len()
            ));
        }
        data[at as usize..(at + bytes) as usize].copy_from_slice(given);
    }
    Ok(data)
}

/// A fault with its place, the calls that led there (innermost first), and its threads.
pub(crate) fn failure(
    world: &World,
    fault: Fault,
    (func, pc): (u32, u32),
    callers: impl IntoIterator<Item = (u32, u32)>,
    threads: Threads,
    seed: u64,
) -> Error {
    let mut site = world.program.site(func, pc);
    for (func, pc) in callers {
        site.frames.extend(world.program.site(func, pc).frames);
    }
    let kernel = world.launch.kernel.clone();
    Box::new(Failure { kernel, fault, site, threads, seed }).into()
}
