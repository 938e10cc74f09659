//! All checks one after the other, and a report that names what failed.

use std::process::ExitCode;

use clap::Parser;
use device_checks::{ALL, Skipped};
use example_common::{Options, Report};
use reservation::KERNELS;

/// What the host does with a device, piece by piece
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let Arguments { options } = Arguments::parse();
    options.conclude(check(&options))
}

fn check(options: &Options) -> Result<Report, Box<dyn std::error::Error>> {
    let (device, module) = options.open(&KERNELS)?;
    let mut report = Report::new(&device, &module, "read");
    let (mut failed, mut skipped) = (0, 0);
    for check in ALL {
        match check.run(&device) {
            Ok(()) => report.row(check.name, "ok", true),
            Err(error) if error.is::<Skipped>() => {
                skipped += 1;
                report.row(check.name, format!("skipped: {error}"), error.to_string());
            }
            Err(error) => {
                failed += 1;
                report.row(check.name, format!("FAILED: {error}"), error.to_string());
            }
        }
    }
    Ok(match failed {
        0 if skipped == 0 => report.finish(true, format!("yes, all {} checks", ALL.len())),
        0 => report.finish(true, format!("yes, {} checks; {skipped} skipped", ALL.len() - skipped)),
        _ => report.finish(false, format!("no: {failed} of {} checks failed", ALL.len())),
    })
}
