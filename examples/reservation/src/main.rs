//! A writer and two readers on three streams: run it ordered and not, count what the readers found, report.

use std::error::Error;
use std::process::ExitCode;

use baton_host::{Device, Module};
use clap::Parser;
use example_common::{Options, Report, while_waiting};
use reservation::{KERNELS, Order, Size, Tally, plain, run};
use serde_json::Value;

/// Two streams read what a third writes: reservations beside cudarc's events
#[derive(Debug, Parser)]
struct Arguments {
    /// How often the array is written [default: 10000; 50 on the emulator]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Words of the array
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    elements: u32,

    /// About how many microseconds the slow reader sleeps before it reads
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pauses: u32,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(compare(&arguments))
}

fn compare(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (device, module) = arguments.options.open(&KERNELS)?;
    let rounds = arguments.rounds.unwrap_or(if device.is_emulator() { 50 } else { 10_000 });
    let size = Size { rounds, elements: arguments.elements as usize, pauses: arguments.pauses };
    let go = |order| run(&device, &module, size, order);
    let ours = while_waiting("reading in order", || go(Order::Reservations))?;
    let forgotten = while_waiting("reading out of order", || go(Order::LastReader))?;
    let theirs = theirs(&device, &module, size)?;

    let mut report = Report::new(&device, &module, "read");
    let rounds = format!("{} of {} words", size.rounds, size.elements);
    report.row("rounds", rounds, size.rounds);
    report.row("reservations", shown(&ours, size), ours.wrong);
    report.row("last reader only", shown(&forgotten, size), forgotten.wrong);
    match theirs {
        Some(tally) => report.row("cudarc 0.19.10", shown(&tally, size), tally.wrong),
        None => report.row("cudarc 0.19.10", "not run: it needs a GPU", Value::Null),
    }
    report.row("time", format!("{:.3?}", ours.elapsed), ours.elapsed.as_secs_f64());
    report.hazards(&ours.hazards);
    let verdict = match ours.is_right() {
        true => "yes, with reservations no word was wrong".into(),
        false => format!("no: with reservations {} words were wrong", ours.wrong),
    };
    Ok(report.finish(ours.is_right(), verdict))
}

/// The twin, where there is a GPU.
fn theirs(device: &Device, module: &Module, size: Size) -> Result<Option<Tally>, Box<dyn Error>> {
    let (Some(gpu), Some(code)) = (device.gpu_index(), KERNELS.binary(module.arch())) else {
        return Ok(None);
    };
    Ok(Some(while_waiting("reading with cudarc", || plain::run(gpu, code, size))?))
}

fn shown(tally: &Tally, size: Size) -> String {
    format!("{} of {} words wrong", tally.wrong, size.reads())
}
