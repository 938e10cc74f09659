//! All times, each beside its peer.

use std::process::ExitCode;

use clap::Parser;
use device_times::{Size, Value, all};
use example_common::{Options, Report, while_waiting};
use reservation::KERNELS;
use serde_json::json;

/// How fast kernels and launches are on a device, each beside its peer where there is one
#[derive(Debug, Parser)]
struct Arguments {
    /// Batches, each of which gives one time
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    batches: Option<u32>,

    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.options.conclude(time(&arguments))
}

fn time(arguments: &Arguments) -> Result<Report, Box<dyn std::error::Error>> {
    let (device, module) = arguments.options.open(&KERNELS)?;
    let size = if device.is_emulator() { Size::EMULATOR } else { Size::GPU };
    let size = Size { batches: arguments.batches.unwrap_or(size.batches), ..size };
    let go = || all(&device, size).map_err(|error| error.to_string());
    let timed = while_waiting("taking times", go)?;

    let mut report = Report::new(&device, &module, "read");
    for line in &timed {
        let shown = |value: &Value| format!("{:.4} (best {:.4})", value.median, value.best);
        let number = |value: &Value| json!({ "median": value.median, "best": value.best });
        let (peer, peer_value) = match &line.peer {
            Ok((name, value)) => (
                format!("{name} {}", shown(value)),
                json!({ "name": name, "value": number(value) }),
            ),
            Err(why) => ((*why).to_owned(), json!({ "none": why })),
        };
        report.row(
            line.name,
            format!("{} {}; {peer}", shown(&line.ours), line.unit),
            json!({ "unit": line.unit, "ours": number(&line.ours), "peer": peer_value }),
        );
    }
    Ok(report.finish(true, "yes, everything was checked before it was timed"))
}
