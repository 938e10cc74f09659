//! A product on Hopper's tensor cores: run it, check every element, report.

use std::error::Error;
use std::process::ExitCode;

use baton::float::bf16;
use clap::{Parser, ValueEnum};
use example_common::{Options, Report, while_waiting};
use gemm_hopper::{KERNELS, Output, Shape, Tiles, run_as};

/// C = A · Bᵀ on Hopper's tensor cores: A is M × K, B is N × K, both bf16
///
/// Sizes need not be multiples of the tile (64 × 128 × 64, or 128 × 256 × 64).
#[derive(Debug, Parser)]
struct Arguments {
    /// Rows of A and of C
    #[arg(short, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    m: u32,

    /// Rows of B, columns of C
    #[arg(short, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,

    /// Columns of A and of B
    #[arg(short, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    k: u32,

    /// CTAs, which share the tiles of C
    #[arg(long, default_value_t = 132, value_parser = clap::value_parser!(u32).range(1..))]
    ctas: u32,

    /// Which kernel multiplies
    #[arg(long, value_enum, default_value_t = Tiles::Narrow)]
    tiles: Tiles,

    /// Element type of C
    #[arg(long, value_enum, default_value_t = OutputType::F32)]
    output: OutputType,

    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutputType {
    F32,
    Bf16,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(match arguments.output {
        OutputType::F32 => multiply::<f32>(&arguments),
        OutputType::Bf16 => multiply::<bf16>(&arguments),
    })
}

fn multiply<T: Output>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { m, n, k, ctas, tiles, options, .. } = arguments;
    let (device, module) = options.open(&KERNELS)?;
    let shape = Shape { m: *m as usize, n: *n as usize, k: *k as usize };
    let run = || run_as::<T>(&device, &module, *tiles, shape, *ctas, options.seed);
    let outcome = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, tiles.kernel::<T>());
    report.row("product", format!("{m} x {n}, sums of {k}"), format!("{m}x{n}x{k}"));
    Ok(report.conclude(&outcome))
}
