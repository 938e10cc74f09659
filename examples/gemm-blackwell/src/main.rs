//! The Blackwell GEMM: run it, check every element against double precision, report.

use std::error::Error;
use std::process::ExitCode;

use baton::float::bf16;
use clap::{CommandFactory, Parser, ValueEnum};
use example_common::{Options, Report, while_waiting};
use gemm_blackwell::{KERNELS, Output, Problem, Schedule, Shape, ctas};
use gemm_blackwell_kernel::{ACCUMULATORS, STAGES, pair};

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

    /// Element type of C
    #[arg(long, value_enum, default_value_t = OutputType::F32)]
    output: OutputType,

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
    Pairs,
}

/// Extents whose tiles a launch can count.
fn extent() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1 << 20)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.schedule == ScheduleKind::Dynamic && arguments.ctas.is_some() {
        let kind = clap::error::ErrorKind::ArgumentConflict;
        let why = "`--ctas` is for `--schedule strided` and `pairs`: a dynamic grid has a CTA for each tile";
        Arguments::command().error(kind, why).exit();
    }
    arguments.options.conclude(match arguments.output {
        OutputType::F32 => multiply::<f32>(&arguments),
        OutputType::Bf16 => multiply::<bf16>(&arguments),
    })
}

fn multiply<T: Output>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { m, n, k, options, .. } = arguments;
    let (device, module) = options.open(&KERNELS)?;
    let shape = Shape { m: *m as usize, n: *n as usize, k: *k as usize };
    let (kernel, schedule) = match arguments.schedule {
        ScheduleKind::Strided => {
            let ctas = arguments.ctas.unwrap_or_else(|| ctas(&device, shape));
            (T::KERNEL, Schedule::Strided(ctas))
        }
        ScheduleKind::Dynamic => (T::DYNAMIC, Schedule::Dynamic),
        ScheduleKind::Pairs => {
            let ctas = arguments.ctas.unwrap_or_else(|| ctas(&device, shape));
            (T::PAIR, Schedule::Pairs(ctas.div_ceil(2)))
        }
    };
    let tiles = shape.tiles();
    let ctas = match schedule {
        Schedule::Strided(ctas) => ctas,
        Schedule::Dynamic => tiles.rows * tiles.columns,
        Schedule::Pairs(pairs) => 2 * pairs,
    };

    let problem =
        while_waiting("multiplying in double precision", || Problem::new(shape, options.seed));
    let product =
        while_waiting("running the kernel", || problem.run_as::<T>(&device, &module, schedule))?;

    let mut report = Report::new(&device, &module, kernel);
    let size = format!("{m} x {n} x {k}, bf16 to {:?}", arguments.output).to_lowercase();
    report.row("problem size", size, vec![*m, *n, *k]);
    report.row("kernel", kernel, kernel);
    report.row("CTAs", ctas, ctas);
    let stages = if let Schedule::Pairs(_) = schedule { pair::STAGES } else { STAGES };
    let text = format!("{stages} of A and B, {ACCUMULATORS} accumulators");
    report.row("pipeline stages", text, stages);
    let error = product.largest_relative_error;
    report.row("largest relative error", format!("{error:.1e} of Σ|a||b|"), error);
    Ok(report.conclude(&product.outcome))
}
