//! The short table at the end of a run, or the same as JSON.

use std::fmt;

use baton_host::baton_emulator::Hazard;
use baton_host::baton_emulator::trace::Trace;
use baton_host::{Code, Device, Module};
use serde_json::{Map, Value, json};

use crate::Outcome;

/// What a run came to: named values, in the order in which they are shown.
#[derive(Debug)]
pub struct Report {
    rows: Vec<(&'static str, String)>,
    json: Map<String, Value>,
    /// What the emulator found, each in several lines.
    hazards: Vec<String>,
    /// The kernel's name.
    pub(crate) kernel: String,
    /// What ran when, if that was recorded.
    pub(crate) trace: Option<Box<Trace>>,
    verified: bool,
}

impl Report {
    /// Begins with the device and what the build knows of the kernel.
    pub fn new(device: &Device, module: &Module, kernel: &str) -> Self {
        let mut report = Self {
            rows: Vec::new(),
            json: Map::new(),
            hazards: Vec::new(),
            kernel: kernel.to_owned(),
            trace: None,
            verified: false,
        };
        let name = match device.fallback() {
            Some(reason) => format!("{} ({})", device.name(), fact(&reason.to_string())),
            None => device.name().to_owned(),
        };
        report.row("device", name, device.name());
        let code = match module.code() {
            Code::Cubin => "machine code from ptxas",
            Code::DriverCompiled => "PTX, compiled by the driver",
            Code::EmulatedPtx => "PTX",
        };
        report.row("target", format!("{} ({code})", module.arch()), module.arch());
        let usage = module.kernel(kernel).and_then(|kernel| {
            kernel.registers.map(|registers| (registers, kernel.spill_bytes, kernel.stack_bytes))
        });
        match usage {
            Some((registers, spills, stack)) => {
                report.row("registers", format!("{registers}, {spills} bytes spilled"), registers);
                report.json("spill_bytes", spills);
                report.json("stack_bytes", stack);
            }
            None => report.row("registers", "not known (no ptxas)", Value::Null),
        }
        report
    }

    /// Adds a value: as it is shown, and as programs read it.
    pub fn row(&mut self, label: &'static str, shown: impl ToString, value: impl Into<Value>) {
        self.rows.push((label, shown.to_string()));
        self.json(label, value);
    }

    /// Adds a value that only programs read.
    pub fn json(&mut self, label: &str, value: impl Into<Value>) {
        self.json.insert(label.replace(' ', "_"), value.into());
    }

    /// Ends the report with the time and the verdict.
    pub fn conclude(mut self, outcome: &Outcome) -> Self {
        let Outcome { launch, verdict } = outcome;
        let seconds = launch.elapsed.as_secs_f64();
        let instructions = launch.instructions.map(|count| format!(", {count} instructions"));
        let time = format!("{:.3?}{}", launch.elapsed, instructions.unwrap_or_default());
        self.row("time", time, seconds);
        self.json("instructions", launch.instructions);
        self.hazards(&launch.hazards);
        self.trace.clone_from(&launch.trace);

        let shown = match &verdict.first {
            Some(first) => {
                format!("no: {} of {} elements are wrong; {first}", verdict.wrong, verdict.elements)
            }
            None if outcome.is_verified() => format!("yes, all {} elements", verdict.elements),
            None => format!("no: {} hazards, see above", launch.hazards.len()),
        };
        self.json("elements", verdict.elements);
        self.json("wrong", verdict.wrong);
        self.finish(outcome.is_verified(), shown)
    }

    /// Adds what the emulator found.
    pub fn hazards(&mut self, hazards: &[Hazard]) {
        self.hazards = hazards.iter().map(ToString::to_string).collect();
        self.json("hazards", self.hazards.clone());
    }

    /// Ends the report of a program that has compared its results itself.
    pub fn finish(mut self, verified: bool, shown: impl ToString) -> Self {
        self.verified = verified;
        self.row("verified", shown, verified);
        self
    }

    /// Whether the results were right.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// One line of JSON.
    pub fn json_line(&self) -> String {
        json!(self.json).to_string()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hazards.iter().try_for_each(|hazard| writeln!(f, "{hazard}\n"))?;
        let width = self.rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        self.rows.iter().try_for_each(|(label, shown)| writeln!(f, "{label:width$}  {shown}"))
    }
}

/// What an error says, without its advice.
fn fact(text: &str) -> &str {
    text.split([';', '\n']).next().unwrap_or_default()
}
