//! CTAs take over each other's tiles: run it, check every number, report.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use example_common::{Options, Report, while_waiting};
use takeover::{KERNELS, run};
use takeover_kernel::ROW;

/// CTAs take over the tiles of CTAs that have not started
#[derive(Debug, Parser)]
struct Arguments {
    /// Tiles, for each of which the grid has a CTA
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tiles: u32,

    /// Rows of 32 numbers in each tile
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rows: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(stir(&arguments))
}

fn stir(Arguments { tiles, rows, options }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (device, module) = options.open(&KERNELS)?;
    let elements = *tiles as usize * *rows as usize * ROW;
    let run = || run(&device, &module, elements, *tiles, options.seed);
    let taken = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, "tiles");
    report.row("tiles", format!("{tiles} of {rows} rows"), *tiles);
    report.row("taken over", taken.tiles, taken.tiles);
    Ok(report.conclude(&taken.outcome))
}
