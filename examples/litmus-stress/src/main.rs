//! All tests one after the other: run them, compare with the model, report.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use example_common::{Options, Report, while_waiting};
use litmus_stress::{ALL, Allows, Count, KERNELS, Litmus, Size, Stress, run};
use serde_json::{Value, json};

/// Litmus tests on the device, correct and weakened, many times and under stress
#[derive(Debug, Parser)]
struct Arguments {
    /// Launches of each test [default: 2000; 4 on the emulator]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    launches: Option<u32>,

    /// Begin no further test after so many seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// Only these tests
    #[arg(value_name = "TEST", value_parser = ALL.iter().map(|test| test.name).collect::<Vec<_>>())]
    tests: Vec<String>,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(stress(&arguments))
}

fn stress(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { launches, seconds, tests, options } = arguments;
    let (device, module) = options.open(&KERNELS)?;
    let size = match device.is_emulator() {
        true => Size { launches: launches.unwrap_or(4), blocks: 1, disturbing: 1, stress: 16 },
        false => {
            Size { launches: launches.unwrap_or(2000), blocks: 32, disturbing: 64, stress: 256 }
        }
    };
    let mut report = Report::new(&device, &module, "mp");
    let chosen: Vec<&Stress> = ALL
        .iter()
        .filter(|test| tests.is_empty() || tests.iter().any(|name| name == test.name))
        .collect();

    let start = Instant::now();
    let (mut wrong, mut left_out) = (Vec::new(), Vec::new());
    for test in &chosen {
        if start.elapsed() >= Duration::from_secs(*seconds) {
            left_out.push(test.name);
            continue;
        }
        let go =
            || run(&device, &module, test, size, options.seed).map_err(|error| error.to_string());
        let count = while_waiting(test.name, go)?;
        let verdict = Litmus::read(test.litmus)?.verdict;
        if count.contradicts(verdict) {
            wrong.push(test.name);
        }
        report.row(test.name, shown(&count, verdict), value(&count, verdict));
    }
    if !left_out.is_empty() {
        report.row("left out", left_out.join(", "), Value::from(left_out.clone()));
    }
    report.row("time", format!("{:.3?}", start.elapsed()), start.elapsed().as_secs_f64());
    let ran = chosen.len() - left_out.len();
    Ok(match (wrong.as_slice(), ran) {
        ([], 0) => report.finish(false, "no: there was no time for any test"),
        ([], _) => report.finish(true, format!("yes, none of {ran} tests contradicts the model")),
        _ => report.finish(false, format!("no: {} did what the model forbids", wrong.join(", "))),
    })
}

fn shown(count: &Count, verdict: Allows) -> String {
    let mut text = format!("{verdict}, seen {} of {}", count.seen, count.runs);
    if !count.rules.is_empty() {
        let rules: Vec<&str> = count.rules.iter().copied().collect();
        text += &format!("; the emulator names {}", rules.join(", "));
    }
    text
}

fn value(count: &Count, verdict: Allows) -> Value {
    let outcomes: Vec<Value> = count
        .outcomes
        .iter()
        .map(|(results, times)| json!({ "results": results, "times": times }))
        .collect();
    json!({
        "model": verdict.to_string(),
        "runs": count.runs,
        "seen": count.seen,
        "outcomes": outcomes,
        "rules": count.rules.iter().collect::<Vec<_>>(),
    })
}
