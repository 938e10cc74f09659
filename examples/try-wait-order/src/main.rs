//! Which clock is earlier: run it many times, show the distribution, report.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use example_common::{Options, Report, while_waiting};
use try_wait_order::plot::{Series, histograms};
use try_wait_order::{Difference, KERNELS, Run, Spread, runs};

/// Does a clock behind try_wait run before the arrival that it waits for?
#[derive(Debug, Parser)]
struct Arguments {
    /// Runs
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Cycles between the wait and the arrival [default: 1000000; 500 on the emulator]
    #[arg(long)]
    delay: Option<u32>,

    /// Draw the distribution to this file (SVG)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(measure(&arguments))
}

fn measure(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let (device, module) = arguments.options.open(&KERNELS)?;
    let delay = arguments.delay.unwrap_or(if device.is_emulator() { 500 } else { 1_000_000 });
    let go = || runs(&device, &module, arguments.runs, delay, arguments.options.seed);
    let (runs, hazards) = while_waiting("waiting and arriving", go)?;

    let mut report = Report::new(&device, &module, "order");
    report.row("runs", runs.len(), runs.len());
    // The emulator's clocks count instructions.
    let (unit, of): (_, fn(&Difference) -> i64) = if device.is_emulator() {
        ("instructions", |d| d.cycles)
    } else {
        ("ns", |d| d.nanoseconds)
    };
    let free: Vec<i64> = runs.iter().map(|run| of(&run.free)).collect();
    let after: Vec<i64> = runs.iter().map(|run| of(&run.after)).collect();
    spread(&mut report, "clock in the wait", unit, free.iter().copied());
    if !device.is_emulator() {
        let cycles = runs.iter().map(|run| run.free.cycles);
        spread(&mut report, "clock in the wait, cycles", "cycles", cycles);
    }
    spread(&mut report, "clock behind the loop", unit, after.iter().copied());
    let turns = runs.iter().map(|run| i64::try_from(run.turns).unwrap_or(i64::MAX));
    if let Some(turns) = Spread::of(turns) {
        let Spread { min, median, max, .. } = turns;
        report.row("turns", format!("{min} to {max}, median {median}"), median);
    }
    let early = free.iter().filter(|difference| **difference < 0).count();
    let finding = match early {
        0 => "none here; nothing promises that".into(),
        _ => format!("{early} of {}: the wait held back nothing", runs.len()),
    };
    report.row("early clocks", finding, early);
    if let Some(file) = &arguments.plot {
        let series = [
            Series { name: "clock in the last turn of the wait", colour: "#c0392b", values: &free },
            Series { name: "clock behind the loop", colour: "#2471a3", values: &after },
        ];
        let title = format!("The waiter's clocks, {}, {} runs", device.name(), runs.len());
        fs::write(file, histograms(&title, unit, &series))
            .map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
        report.row("plot", file.display(), file.display().to_string());
    }
    report.hazards(&hazards);
    let wrong = runs.iter().filter(|run| !run.is_valid()).count();
    Ok(match runs.iter().find(|run| !run.is_valid()) {
        None => report.finish(true, format!("yes, all {} runs are valid", runs.len())),
        Some(Run { after, was_open, .. }) => report.finish(
            false,
            format!(
                "no: {wrong} runs are invalid; in the first the phase was open: {was_open}, and the loop was left {} \
                 cycles behind the producer's clock",
                after.cycles
            ),
        ),
    })
}

fn spread(report: &mut Report, label: &'static str, unit: &str, values: impl Iterator<Item = i64>) {
    if let Some(Spread { min, median, max, negative }) = Spread::of(values) {
        let shown = format!("{min} to {max} {unit}, median {median}; {negative} negative");
        let value = serde_json::json!({
            "min": min, "median": median, "max": max, "negative": negative, "unit": unit,
        });
        report.row(label, shown, value);
    }
}
