//! The Blackwell GEMM: run it, check every element against double precision, report.

use std::error::Error;
use std::process::ExitCode;

use baton::float::bf16;
use clap::{CommandFactory, Parser, ValueEnum};
use example_common::{Options, Report, while_waiting};
use gemm_blackwell::fused::{self, Fused};
use gemm_blackwell::{KERNELS, Output, Problem, Schedule, Shape, ctas};
use gemm_blackwell_kernel::{ACCUMULATORS, STAGES, fused as fused_kernel, pair};

/// C = A · Bᵀ on Blackwell's tensor cores: A is M × K, B is N × K, both bf16
///
/// Sizes need not be multiples of the tile (128 × 128 × 64).
#[derive(Debug, Parser)]
struct Arguments {
    /// Rows of A and of C
    #[arg(long, default_value_t = 256, value_parser = extent())]
    m: u32,

    /// Rows of B, columns of C
    #[arg(long, default_value_t = 256, value_parser = extent())]
    n: u32,

    /// Columns of A and of B
    #[arg(long, default_value_t = 512, value_parser = extent())]
    k: u32,

    /// Element type of C [default: f32, and bf16 with `--schedule fused`]
    #[arg(long, value_enum)]
    output: Option<OutputType>,

    /// Whether each CTA strides over the tiles, or takes over those of CTAs that have not started
    #[arg(long, value_enum, default_value_t = ScheduleKind::Strided)]
    schedule: ScheduleKind,

    /// CTAs that stride [default: as many as the device runs at once]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    ctas: Option<u32>,

    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutputType {
    F32,
    Bf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScheduleKind {
    Strided,
    Dynamic,
    /// Pairs of CTAs, which stride over larger tiles
    Pairs,
    /// Pairs that compute gelu(A · Bᵀ + bias) + residual, in bf16
    Fused,
}

/// Extents whose tiles a launch can count.
fn extent() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1 << 20)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.schedule == ScheduleKind::Dynamic && arguments.ctas.is_some() {
        let kind = clap::error::ErrorKind::ArgumentConflict;
        let why = "`--ctas` is for `--schedule strided`, `pairs` and `fused`: a dynamic grid has a CTA for each tile";
        Arguments::command().error(kind, why).exit();
    }
    let fused = arguments.schedule == ScheduleKind::Fused;
    if fused && matches!(arguments.output, Some(OutputType::F32)) {
        let kind = clap::error::ErrorKind::ArgumentConflict;
        let why = "`--schedule fused` makes bf16: leave `--output` out, or write `--output bf16`";
        Arguments::command().error(kind, why).exit();
    }
    arguments.options.conclude(match arguments.output {
        _ if fused => multiply::<bf16>(&arguments),
        Some(OutputType::Bf16) => multiply::<bf16>(&arguments),
        _ => multiply::<f32>(&arguments),
    })
}

fn multiply<T: Output>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { m, n, k, options, .. } = arguments;
    let (device, module) = options.open(&KERNELS)?;
    let shape = Shape { m: *m as usize, n: *n as usize, k: *k as usize };
    let strided = || arguments.ctas.unwrap_or_else(|| ctas(&device, shape));
    let (kernel, schedule) = match arguments.schedule {
        ScheduleKind::Strided => (T::KERNEL, Schedule::Strided(strided())),
        ScheduleKind::Dynamic => (T::DYNAMIC, Schedule::Dynamic),
        ScheduleKind::Pairs => (T::PAIR, Schedule::Pairs(strided().div_ceil(2))),
        ScheduleKind::Fused => (fused::KERNEL, Schedule::Pairs(strided().div_ceil(2))),
    };
    let tiles = shape.tiles();
    let ctas = match schedule {
        Schedule::Strided(ctas) => ctas,
        Schedule::Dynamic => tiles.rows * tiles.columns,
        Schedule::Pairs(pairs) => 2 * pairs,
    };

    let product = match (arguments.schedule, schedule) {
        (ScheduleKind::Fused, Schedule::Pairs(pairs)) => {
            let problem = while_waiting("multiplying in double precision", || {
                Fused::new(shape, options.seed)
            });
            while_waiting("running the kernel", || problem.run(&device, &module, pairs))?
        }
        _ => {
            let problem = while_waiting("multiplying in double precision", || {
                Problem::new(shape, options.seed)
            });
            while_waiting("running the kernel", || problem.run_as::<T>(&device, &module, schedule))?
        }
    };

    let mut report = Report::new(&device, &module, kernel);
    let size = format!("{m} x {n} x {k}, bf16 to {}", T::NAME);
    report.row("problem size", size, vec![*m, *n, *k]);
    report.row("kernel", kernel, kernel);
    report.row("CTAs", ctas, ctas);
    let stages = match arguments.schedule {
        ScheduleKind::Fused => fused_kernel::STAGES,
        ScheduleKind::Pairs => pair::STAGES,
        _ => STAGES,
    };
    let text = format!("{stages} of A and B, {ACCUMULATORS} accumulators");
    report.row("pipeline stages", text, stages);
    let error = product.largest_relative_error;
    report.row("largest relative error", format!("{error:.1e} of Σ|a||b|"), error);
    Ok(report.conclude(&product.outcome))
}
