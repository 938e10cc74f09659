//! Two CTAs exchange messages: run it, check every word, report.

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use example_common::{Options, Report, while_waiting};
use message_passing::{KERNELS, run};

/// Two CTAs exchange messages through global memory
#[derive(Debug, Parser)]
struct Arguments {
    /// Words in each message
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    elements: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let Arguments { elements, options } = Arguments::parse();
    options.conclude(exchange(&options, elements))
}

fn exchange(options: &Options, elements: u32) -> Result<Report, Box<dyn Error>> {
    let (device, module) = options.open(&KERNELS)?;
    let run = || run(&device, &module, elements as usize, options.seed as u32);
    let outcome = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, "exchange");
    report.row("message", format!("{elements} words each way"), elements);
    Ok(report.conclude(&outcome))
}
