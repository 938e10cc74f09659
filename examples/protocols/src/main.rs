//! CTAs meet in several ways: run one, check every element, report.

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use example_common::{Options, Report, while_waiting};
use protocols::{KERNELS, Protocol, Size, run};

/// CTAs of a grid take turns, elect the last, wait for each other
#[derive(Debug, Parser)]
struct Arguments {
    /// How the CTAs meet
    #[arg(long, value_enum, default_value_t = Protocol::Spin)]
    protocol: Protocol,

    /// CTAs
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    ctas: u32,

    /// How often each of them does what it does
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,

    /// Elements that they share
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    elements: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(meet(&arguments))
}

fn meet(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { protocol, ctas, rounds, elements, options } = arguments;
    let (device, module) = options.open(&KERNELS)?;
    let size = Size { ctas: *ctas, rounds: *rounds, elements: *elements as usize };
    let run = || run(*protocol, &device, &module, size, options.seed);
    let outcome = while_waiting("running the kernel", run)?;
    let mut report = Report::new(&device, &module, protocol.kernel());
    let name = protocol.to_possible_value().map_or_else(String::new, |p| p.get_name().to_owned());
    report.row("protocol", &name, name.clone());
    report.row("CTAs", ctas, *ctas);
    Ok(report.conclude(&outcome))
}
