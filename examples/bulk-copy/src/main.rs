//! A matrix is scaled tile by tile: run it, check every element, report.

use std::error::Error;
use std::process::ExitCode;

use bulk_copy::{KERNELS, run};
use clap::Parser;
use example_common::{Options, Report, while_waiting};

/// A matrix is scaled tile by tile, with bulk tensor copies in and out
#[derive(Debug, Parser)]
struct Arguments {
    /// Rows of the matrix
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    rows: u32,

    /// Columns of the matrix
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    cols: u32,

    /// CTAs at most
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(scale(&arguments))
}

fn scale(Arguments { rows, cols, blocks, options }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (device, module) = options.open(&KERNELS)?;
    let shape = (*rows as usize, *cols as usize);
    let run = || run(&device, &module, shape, *blocks, options.seed);
    let outcome = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, "scale");
    report.row("matrix", format!("{rows} x {cols}"), vec![*rows, *cols]);
    report.row("stages", bulk_copy_kernel::STAGES, bulk_copy_kernel::STAGES);
    Ok(report.conclude(&outcome))
}
