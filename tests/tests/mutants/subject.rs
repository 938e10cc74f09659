//! The kernels that are mutated, and their twins in CUDA C++, each with a way to run it that uses every part of it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use baton::float::bf16;
use baton_builder::{Arch, Backend};
use baton_host::{Binary, Device, EmulatorOptions, Error, Image, Module};
use baton_tests::{kernels_by, root};
use example_common::Outcome;
use gemm_blackwell::fused::Fused;
use gemm_blackwell::{Problem, Schedule, Shape};
use protocols::{Protocol, Size};

/// A kernel and how it is run.
pub struct Subject {
    pub kernel: &'static str,
    /// The code that is mutated.
    pub ptx: String,
    image: &'static Image,
    /// What the code is for.
    arch: &'static str,
    /// Thread-instructions after which a run that makes no headway is given up.
    steps: u64,
    run: Box<Run>,
}

/// A run with a seed.
type Run = dyn Fn(&Device, &Module, u64) -> Result<Outcome, Error> + Sync;

/// One column of tiles or two; an odd number of steps, which runs every copy of an unrolled loop; and a single step,
/// which brings the ends of the accumulators' ring as near to each other as they come.
static PRODUCTS: LazyLock<[Problem; 2]> = LazyLock::new(|| {
    let shapes = [Shape { m: 256, n: 256, k: 448 }, Shape { m: 512, n: 256, k: 64 }];
    shapes.map(|shape| Problem::new(shape, 1))
});

/// The same for a pair, whose tiles are 256 by 256.
const OF_PAIRS: [Shape; 2] = [Shape { m: 300, n: 200, k: 448 }, Shape { m: 600, n: 250, k: 64 }];
static PRODUCTS_OF_PAIRS: LazyLock<[Problem; 2]> =
    LazyLock::new(|| OF_PAIRS.map(|shape| Problem::new(shape, 1)));
static FUSED: LazyLock<[Fused; 2]> = LazyLock::new(|| OF_PAIRS.map(|shape| Fused::new(shape, 1)));

/// Few CTAs; two CTAs and many rounds; one, and no more elements than threads.
const SIZES: [Size; 3] = [
    Size { ctas: 4, rounds: 3, elements: 150 },
    Size { ctas: 2, rounds: 6, elements: 400 },
    Size { ctas: 9, rounds: 1, elements: 5 },
];

/// All kernels of the examples that the emulator runs.
pub fn all() -> Vec<Subject> {
    let mut subjects = vec![
        Subject::new("exchange", &message_passing::KERNELS, SHORT, |device, module, seed| {
            let elements = [300, 1000][seed as usize % 2];
            message_passing::run(device, module, elements, 1)
        }),
        Subject::new("reverse", &ring::KERNELS, SHORT, |device, module, _| {
            ring::run(device, module, 2000, 1, 1)
        }),
        Subject::new("scale", &bulk_copy::KERNELS, LONG, |device, module, _| {
            bulk_copy::run(device, module, (300, 150), 1, 1)
        }),
        // On one CTA, so that each accumulator and each stage is used again.
        Subject::new("gemm_f32", &gemm_blackwell::KERNELS, LONG, |device, module, seed| {
            let problem = &PRODUCTS[seed as usize % 2];
            problem.run::<f32>(device, module, 1).map(|product| product.outcome)
        }),
        Subject::new("gemm_bf16", &gemm_blackwell::KERNELS, LONG, |device, module, seed| {
            let problem = &PRODUCTS[seed as usize % 2];
            problem.run::<bf16>(device, module, 1).map(|product| product.outcome)
        }),
        Subject::new("gemm_dynamic_f32", &gemm_blackwell::KERNELS, LONG, |device, module, seed| {
            let problem = &PRODUCTS[seed as usize % 2];
            problem.run_as::<f32>(device, module, Schedule::Dynamic).map(|product| product.outcome)
        }),
        Subject::new("gemm_pair_f32", &gemm_blackwell::KERNELS, LONG, |device, module, seed| {
            let problem = &PRODUCTS_OF_PAIRS[seed as usize % 2];
            problem.run_as::<f32>(device, module, Schedule::Pairs(1)).map(|product| product.outcome)
        }),
        Subject::new("gemm_fused", &gemm_blackwell::KERNELS, LONG, |device, module, seed| {
            let fused = &FUSED[seed as usize % 2];
            fused.run(device, module, 1).map(|product| product.outcome)
        }),
        Subject::new("gemm", &gemm_hopper::KERNELS, LONG, |device, module, seed| {
            // Two tiles on one CTA: every stage of the ring twice, and a single step.
            let (m, n, k) = [(100, 70, 448), (128, 128, 40)][seed as usize % 2];
            gemm_hopper::run(
                device,
                module,
                gemm_hopper::Tiles::Narrow,
                gemm_hopper::Shape { m, n, k },
                1,
                1,
            )
        }),
        Subject::new("gemm_cooperative", &gemm_hopper::KERNELS, LONG, |device, module, seed| {
            // Two tiles on one CTA: every stage of the ring twice, and a single step.
            let (m, n, k) = [(200, 140, 328), (200, 256, 40)][seed as usize % 2];
            let shape = gemm_hopper::Shape { m, n, k };
            gemm_hopper::run(device, module, gemm_hopper::Tiles::Cooperative, shape, 1, 1)
        }),
        Subject::new("gemm_multicast", &gemm_hopper::KERNELS, LONG, |device, module, seed| {
            // Two tiles on each CTA of a cluster, as above.
            let (m, n, k) = [(400, 140, 328), (400, 256, 40)][seed as usize % 2];
            let shape = gemm_hopper::Shape { m, n, k };
            gemm_hopper::run(device, module, gemm_hopper::Tiles::Multicast, shape, 2, 1)
        }),
        Subject::new("tiles", &takeover::KERNELS, SHORT, |device, module, seed| {
            takeover::run(device, module, 2000, 25, seed).map(|taken| taken.outcome)
        }),
        Subject::new("in_pairs", &takeover::KERNELS, SHORT, |device, module, seed| {
            takeover::run_in_pairs(device, module, 2000, 15, seed)
        }),
    ];
    subjects.extend(Protocol::ALL.map(|protocol| {
        let run = move |device: &Device, module: &Module, seed| {
            let size = SIZES[seed as usize % SIZES.len()];
            protocols::run(protocol, device, module, size, seed)
        };
        Subject::new(protocol.kernel(), &protocols::KERNELS, SHORT, run)
    }));
    subjects
}

/// The files of `bench/sass/ptx`, which nvcc has made of the twins in CUDA C++, by the crate of the kernels.
const TWINS: [(&str, &str); 7] = [
    ("message_passing_kernel", "message_passing"),
    ("ring_kernel", "ring"),
    ("bulk_copy_kernel", "bulk_copy"),
    ("protocols_kernel", "protocols"),
    ("gemm_hopper_kernel", "gemm_hopper"),
    ("gemm_blackwell_kernel", "gemm_blackwell"),
    ("takeover_kernel", "takeover"),
];

/// The twins in CUDA C++ of those kernels that have one, run in the same ways.
pub fn twins() -> Vec<Subject> {
    let twin = |subject: Subject| {
        let (_, file) = TWINS.iter().find(|(image, _)| *image == subject.image.name)?;
        let path = root().join("bench/sass/ptx").join(file).with_extension("ptx");
        let ptx = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let entry = format!(".entry {}(", subject.kernel);
        ptx.contains(&entry).then_some(Subject { ptx, ..subject })
    };
    all().into_iter().filter_map(twin).collect()
}

/// The kernels as libNVVM compiles them, run in the same ways; for sm_100a, since it reads rustc's IR for that. What multiplies in
/// registers is for Hopper alone.
pub fn by_libnvvm() -> Vec<Subject> {
    let mut built = BTreeMap::new();
    let compiled = |subject: Subject| {
        let name = subject.image.name;
        let example = name.strip_suffix("_kernel")?.replace('_', "-");
        let ptx = (name != gemm_hopper::KERNELS.name).then(|| {
            let of = || kernels_by(&example, Arch::Sm100a, Backend::Nvvm).ptx;
            built.entry(name).or_insert_with(of).clone()
        })?;
        Some(Subject { ptx, arch: Arch::Sm100a.name(), ..subject })
    };
    all().into_iter().filter_map(compiled).collect()
}

/// Steps of the kernels on ordinary memory, and of those that copy or multiply tiles.
const SHORT: u64 = 5_000_000;
const LONG: u64 = 20_000_000;

impl Subject {
    fn new(
        kernel: &'static str,
        image: &'static Image,
        steps: u64,
        run: impl Fn(&Device, &Module, u64) -> Result<Outcome, Error> + Sync + 'static,
    ) -> Self {
        let Binary { ptx, arch, .. } = image.binaries[0];
        Self { kernel, ptx: ptx.to_owned(), image, arch, steps, run: Box::new(run) }
    }

    /// An emulator, strict, with this code in the place of the original's.
    pub fn load(&self, ptx: String) -> Result<(Device, Module), Error> {
        // An image is part of a program, and lives as long.
        let ptx: &'static str = ptx.leak();
        let binaries = Box::leak(Box::new([Binary {
            ptx,
            arch: self.arch,
            cubin: None,
            ..self.image.binaries[0]
        }]));
        let mut options = EmulatorOptions::default().with_strict(true);
        options.machine.step_limit = Some(self.steps);
        let device = Device::emulator(options);
        let module = device.load(&Image { name: self.image.name, binaries })?;
        Ok((device, module))
    }

    /// What is wrong with the run of one seed.
    pub fn wrong(&self, (device, module): &(Device, Module), seed: u64) -> Option<String> {
        device.set_seed(seed);
        match (self.run)(device, module, seed) {
            Err(error) => Some(error.to_string()),
            Ok(outcome) => {
                let hazard = outcome.launch.hazards.first().map(ToString::to_string);
                hazard.or(outcome.verdict.first)
            }
        }
    }
}
