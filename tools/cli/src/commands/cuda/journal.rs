//! What the command and the runtime inside the program tell each other: settings by variables of the environment, findings
//! by a file with an object a line, which is complete up to the moment at which a program crashes.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::commands::check::report::Report;
use crate::commands::check::search::{Entry, Finding, Outcome};
use crate::commands::check::{Policy, STEPS};

const FILE: &str = "BATON_CUDA_JOURNAL";
const PTX: &str = "BATON_CUDA_PTX";
const SEED: &str = "BATON_CUDA_SEED";
const POLICY: &str = "BATON_CUDA_POLICY";
const STRICT: &str = "BATON_CUDA_STRICT";
const LIMIT: &str = "BATON_CUDA_STEPS";

/// How the runtime is to run kernels.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where findings go.
    pub file: PathBuf,
    /// Where the program's PTX goes, if somebody wants it.
    pub ptx: Option<PathBuf>,
    /// Of the schedules.
    pub seed: u64,
    /// Their habits.
    pub policy: Policy,
    /// Disputed points are errors.
    pub strict: bool,
    /// Ends a launch.
    pub steps: u64,
}

impl Settings {
    /// Puts them into the environment of a program.
    pub fn hand_to(&self, command: &mut Command) {
        command.env(FILE, &self.file).env(SEED, self.seed.to_string());
        command.env(LIMIT, self.steps.to_string()).env(STRICT, u8::from(self.strict).to_string());
        if let Some(policy) = self.policy.to_possible_value() {
            command.env(POLICY, policy.get_name());
        }
        match &self.ptx {
            Some(folder) => command.env(PTX, folder),
            None => command.env_remove(PTX),
        };
    }

    /// Those of this process; without a file where it was not started by the command.
    pub fn of_process() -> Settings {
        let get = |name: &str| std::env::var(name).ok();
        let file = std::env::var_os(FILE).unwrap_or_else(|| OsString::from("/dev/null"));
        Settings {
            file: file.into(),
            ptx: std::env::var_os(PTX).map(PathBuf::from),
            seed: get(SEED).and_then(|seed| seed.parse().ok()).unwrap_or(0),
            policy: get(POLICY)
                .and_then(|name| Policy::from_str(&name, false).ok())
                .unwrap_or(Policy::Seeded),
            strict: get(STRICT).is_some_and(|strict| strict == "1"),
            steps: get(LIMIT).and_then(|steps| steps.parse().ok()).unwrap_or(STEPS),
        }
    }
}

/// A finding, ready to be shown.
#[derive(Clone, Debug)]
pub struct Told {
    /// What makes it the same as another.
    pub key: Vec<String>,
    /// Whether it makes the command fail.
    pub is_error: bool,
    /// For people.
    pub text: String,
    /// For programs.
    pub object: Value,
}

impl Told {
    /// A finding in a kernel of the PTX in `file`.
    pub fn new(
        finding: Finding,
        file: &Path,
        ptx: &str,
        kernel: &str,
        settings: &Settings,
    ) -> Told {
        let (rule, here, other) = finding.key();
        let key = vec![
            file.display().to_string(),
            kernel.to_owned(),
            rule,
            here.to_string(),
            other.to_string(),
        ];
        let is_error = finding.severity() == baton_emulator::Severity::Error;
        let entry = Entry { finding, schedules: 1, seed: settings.seed };
        let outcome = Outcome { entries: vec![entry], schedules: 1, ..Outcome::default() };
        let report = Report::new(file, ptx, kernel, &outcome, settings.strict);
        let mut object = report.json().swap_remove(0);
        object["kernel"] = json!(kernel);
        object["ptx"] = json!(file.display().to_string());
        Told { key, is_error, text: report.plain(), object }
    }
}

/// One line of the journal.
#[derive(Clone, Debug)]
pub enum Line {
    /// The program has registered its kernels.
    Start,
    /// A kernel ran.
    Launch {
        /// Thread-instructions.
        instructions: u64,
    },
    /// Something was found.
    Finding(Told),
    /// The program asked for what is not supported.
    Refused {
        /// What.
        what: String,
        /// What to do.
        help: String,
    },
}

impl Line {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Line, String> {
        let object: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        match object["line"].as_str() {
            Some("start") => Ok(Line::Start),
            Some("launch") => {
                Ok(Line::Launch { instructions: object["instructions"].as_u64().unwrap_or(0) })
            }
            Some("refused") => Ok(Line::Refused { what: text("what"), help: text("help") }),
            Some("finding") => Ok(Line::Finding(Told {
                key: object["key"].as_array().into_iter().flatten().map(Value::to_string).collect(),
                is_error: object["is_error"].as_bool().unwrap_or(true),
                text: text("text"),
                object: object["finding"].clone(),
            })),
            _ => Err(format!("`{line}` is no line of a journal")),
        }
    }

    fn object(&self) -> Value {
        match self {
            Line::Start => json!({ "line": "start" }),
            Line::Launch { instructions } => {
                json!({ "line": "launch", "instructions": instructions })
            }
            Line::Refused { what, help } => {
                json!({ "line": "refused", "what": what, "help": help })
            }
            Line::Finding(told) => json!({
                "line": "finding",
                "key": told.key,
                "is_error": told.is_error,
                "text": told.text,
                "finding": told.object,
            }),
        }
    }
}

/// The file that the runtime writes.
#[derive(Debug)]
pub struct Journal(Option<File>);

impl Journal {
    /// Opens it; what cannot be written is lost, and the program runs on.
    pub fn open(file: &Path) -> Journal {
        Journal(OpenOptions::new().append(true).open(file).ok())
    }

    /// Adds a line.
    pub fn write(&mut self, line: &Line) {
        if let Some(file) = &mut self.0 {
            // One write for a line: child processes may share the file.
            let _ = file.write_all(format!("{}\n", line.object()).as_bytes());
        }
    }
}
