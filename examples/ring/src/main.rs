//! Two warps share a ring: run it, check every number, report.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use example_common::{Options, Report, while_waiting};
use ring::{KERNELS, run};

/// Two warps share a ring of stages in shared memory
#[derive(Debug, Parser)]
struct Arguments {
    /// Numbers that go through the rings
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    elements: u32,

    /// CTAs, each with a ring of its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=65535))]
    blocks: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(reverse(&arguments))
}

fn reverse(Arguments { elements, blocks, options }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (device, module) = options.open(&KERNELS)?;
    let run = || run(&device, &module, *elements as usize, *blocks, options.seed);
    let outcome = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, "reverse");
    report.row("numbers", format!("{elements} through {blocks} rings"), *elements);
    report.row("stages", ring_kernel::STAGES, ring_kernel::STAGES);
    Ok(report.conclude(&outcome))
}
