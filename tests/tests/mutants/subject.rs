//! The kernels that are mutated, each with a way to run it that uses every part of it.

use std::sync::LazyLock;

use baton::float::bf16;
use baton_host::{Binary, Device, EmulatorOptions, Error, Image, Module};
use example_common::Outcome;
use gemm_blackwell::{Problem, Shape};
use protocols::{Protocol, Size};

/// A kernel and how it is run.
pub struct Subject {
    pub kernel: &'static str,
    pub image: &'static Image,
    /// Thread-instructions after which a run that makes no headway is given up.
    pub steps: u64,
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

/// Few CTAs; two CTAs and many rounds; one, and no more elements than threads.
const SIZES: [Size; 3] = [
    Size { ctas: 4, rounds: 3, elements: 150 },
    Size { ctas: 2, rounds: 6, elements: 400 },
    Size { ctas: 9, rounds: 1, elements: 5 },
];

/// All kernels of the examples that the emulator runs.
pub fn all() -> Vec<Subject> {
    let mut subjects = vec![
        Subject {
            kernel: "exchange",
            image: &message_passing::KERNELS,
            steps: 5_000_000,
            run: Box::new(|device, module, seed| {
                let elements = [300, 1000][seed as usize % 2];
                message_passing::run(device, module, elements, 1)
            }),
        },
        Subject {
            kernel: "reverse",
            image: &ring::KERNELS,
            steps: 5_000_000,
            run: Box::new(|device, module, _| ring::run(device, module, 2000, 1, 1)),
        },
        Subject {
            kernel: "scale",
            image: &bulk_copy::KERNELS,
            steps: 20_000_000,
            run: Box::new(|device, module, _| bulk_copy::run(device, module, (300, 150), 1, 1)),
        },
        Subject {
            kernel: "gemm_f32",
            image: &gemm_blackwell::KERNELS,
            steps: 20_000_000,
            run: Box::new(|device, module, seed| {
                // On one CTA, so that each accumulator and each stage is used again.
                let problem = &PRODUCTS[seed as usize % 2];
                problem.run::<f32>(device, module, 1).map(|product| product.outcome)
            }),
        },
        Subject {
            kernel: "gemm_bf16",
            image: &gemm_blackwell::KERNELS,
            steps: 20_000_000,
            run: Box::new(|device, module, seed| {
                let problem = &PRODUCTS[seed as usize % 2];
                problem.run::<bf16>(device, module, 1).map(|product| product.outcome)
            }),
        },
    ];
    subjects.extend(Protocol::ALL.map(|protocol| Subject {
        kernel: protocol.kernel(),
        image: &protocols::KERNELS,
        steps: 5_000_000,
        run: Box::new(move |device, module, seed| {
            let size = SIZES[seed as usize % SIZES.len()];
            protocols::run(protocol, device, module, size, seed)
        }),
    }));
    subjects
}

impl Subject {
    /// The code that is mutated.
    pub fn original(&self) -> &'static Binary {
        &self.image.binaries[0]
    }

    /// An emulator, strict, with this code in the place of the original's.
    pub fn load(&self, ptx: String) -> Result<(Device, Module), Error> {
        // An image is part of a program, and lives as long.
        let ptx: &'static str = ptx.leak();
        let binaries = Box::leak(Box::new([Binary { ptx, cubin: None, ..*self.original() }]));
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
