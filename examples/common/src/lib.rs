//! What the host programs of the examples have in common, so that each holds only its own subject: the options
//! that choose a device, the comparison of a result with what it should be, the report, and seeded numbers.

mod numbers;
mod report;
mod verdict;
mod waiting;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use baton_host::{Choice, Device, EmulatorOptions, Image, Module};
use clap::Args;

pub use numbers::Numbers;
pub use report::Report;
pub use verdict::{Outcome, Verdict};
pub use waiting::while_waiting;

/// The options that all examples take.
#[derive(Debug, Args)]
pub struct Options {
    /// Where to run: auto, gpu, gpu:N or emulator
    #[arg(long, default_value_t)]
    device: Choice,

    /// GPU target of the code to run, e.g. sm_90a [default: the one that fits the device best]
    #[arg(long)]
    arch: Option<String>,

    /// Seed of the inputs and of the emulator's schedule
    #[arg(long, default_value_t = 0)]
    pub seed: u64,

    /// Emulator: hazards that practice and the text disagree on are errors, too
    #[arg(long)]
    strict: bool,

    /// Emulator: do not look for hazards
    #[arg(long, conflicts_with = "strict")]
    unchecked: bool,

    /// Emulator: write a trace of the run, for Perfetto or Chrome
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Emulator: write a page with a picture of the run
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    /// End with one line of JSON instead of a table
    #[arg(long)]
    json: bool,

    /// Write the line of JSON to this file too
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Options {
    /// The device that the options name, and the kernels loaded on it.
    pub fn open(&self, image: &Image) -> Result<(Device, Module), baton_host::Error> {
        let mut image = *image;
        let mut emulator = EmulatorOptions::default()
            .with_seed(self.seed)
            .with_strict(self.strict)
            .with_unchecked(self.unchecked)
            .with_trace(self.trace.is_some() || self.timeline.is_some());
        if let Some(arch) = &self.arch {
            // The emulator says which targets there are when this is none of them.
            emulator = emulator.with_arch(arch);
            if let Some(at) = image.binaries.iter().position(|binary| binary.arch == arch) {
                image.binaries = &image.binaries[at..=at];
            } else {
                Device::emulator(emulator.clone()).load(&image)?;
            }
        }
        let device = Device::open(self.device, &image, emulator)?;
        let module = device.load(&image)?;
        Ok((device, module))
    }

    /// The files that are asked for, with their contents.
    fn files(&self, report: &Report) -> Vec<(&Path, String)> {
        let mut files = Vec::new();
        if let Some(file) = &self.report {
            files.push((file.as_path(), report.json_line() + "\n"));
        }
        let Some(trace) = &report.trace else {
            if self.trace.is_some() || self.timeline.is_some() {
                eprintln!("note: only a run on the emulator has a trace: --device emulator");
            }
            return files;
        };
        if let Some(file) = &self.trace {
            files.push((file, trace.chrome()));
        }
        if let Some(file) = &self.timeline {
            let about = format!("The kernel on the emulator, seed {}.", self.seed);
            files.push((file, trace.timeline(&report.kernel, &about)));
        }
        files
    }

    /// Prints what came of the run; the exit code says whether it was right.
    pub fn conclude(&self, result: Result<Report, Box<dyn Error>>) -> ExitCode {
        let report = match result {
            Ok(report) => report,
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        };
        for (file, text) in self.files(&report) {
            if let Err(error) = fs::write(file, text) {
                eprintln!("error: `{}` cannot be written: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        if self.json {
            println!("{}", report.json_line());
        } else {
            print!("{report}");
        }
        if report.is_verified() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
