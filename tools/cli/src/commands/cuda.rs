//! `baton cuda PROGRAM`: a whole CUDA program, its host code included, on the emulator.
//!
//! The program was compiled by nvcc for a shared runtime (`-cudart shared`), and brings PTX. Instead of NVIDIA's runtime it
//! gets ours (`tools/cudart`), which runs its kernels on an emulated device inside the process and writes what it finds
//! into a file, an object a line ([`journal`]). When the program has ended, the findings are told here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use self::journal::{Line, Told};
use super::check::Policy;
use super::run::exit_code_of;
use crate::cargo;
use crate::workspace::Workspace;
use crate::{Failure, Result, exit_code, output};

pub mod journal;

/// The runtime that programs of the supported release ask for.
const RUNTIME: &str = "libcudart.so.13";

/// What our runtime is called where cargo builds it.
const LIBRARY: &str = "libbaton_cudart.so";

/// Reports that are shown; `--json` has all findings.
const SHOWN: usize = 20;

/// `baton cuda`.
#[derive(Debug, Args)]
#[command(after_help = "\
Compile the program so that it brings PTX and asks for the runtime as a library:
    nvcc -cudart shared -lineinfo -gencode arch=compute_90,code=compute_90 program.cu -o program
Exit codes: the program's own; if that is 0, 1 where errors were found and 2 where something is not supported.
docs/emulator.md says what is, and how to read a report.")]
pub struct Arguments {
    /// Runs of the program, each with another seed; what it prints is shown of the first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: u64,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Habits of the schedules
    #[arg(long, value_enum, default_value_t = Policy::Seeded)]
    policy: Policy,

    /// Points where practice and text disagree are errors rather than warnings
    #[arg(long)]
    strict: bool,

    /// Thread-instructions after which a launch is ended
    #[arg(long, value_name = "N", default_value_t = 20_000_000_000)]
    steps: u64,

    /// Write the program's PTX into this folder, by the names that reports use
    #[arg(long, value_name = "FOLDER")]
    ptx: Option<PathBuf>,

    /// One JSON object a line: each finding, then a summary; what the program prints goes to standard error
    #[arg(long)]
    json: bool,

    /// The program, then its own arguments
    #[arg(
        value_name = "PROGRAM [ARGUMENTS]",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}

/// What all runs of a program told.
#[derive(Default)]
struct Runs {
    findings: BTreeMap<Vec<String>, (Told, u64)>,
    launches: u64,
    instructions: u64,
    /// The program registered itself with our runtime.
    started: bool,
    /// What is not supported, in the order in which it was asked for.
    refused: Vec<(String, String)>,
}

impl Runs {
    fn add(&mut self, text: &str) -> Result<()> {
        let mut seen = Vec::new();
        for line in text.lines() {
            let line = Line::parse(line).map_err(|error| {
                Failure::new(exit_code::FILES, "what the runtime wrote cannot be read")
                    .because(error)
                    .help("was the library of another version of baton taken?")
            })?;
            match line {
                Line::Start => self.started = true,
                Line::Launch { instructions } => {
                    self.launches += 1;
                    self.instructions += instructions;
                }
                Line::Refused { what, help } => {
                    if !self.refused.iter().any(|(other, _)| *other == what) {
                        self.refused.push((what, help));
                    }
                }
                Line::Finding(told) => {
                    let first = !seen.contains(&told.key);
                    seen.push(told.key.clone());
                    let entry =
                        self.findings.entry(told.key.clone()).or_insert_with(|| (told.clone(), 0));
                    entry.1 += u64::from(first);
                    // An error is shown before a warning.
                    if told.is_error && !entry.0.is_error {
                        entry.0 = told;
                    }
                }
            }
        }
        Ok(())
    }

    fn errors(&self) -> usize {
        self.findings.values().filter(|(told, _)| told.is_error).count()
    }
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let program = self.program()?;
        let library = library()?;
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file("make a folder in", &std::env::temp_dir(), &error))?;
        let runtime = folder.path().join(RUNTIME);
        std::os::unix::fs::symlink(&library, &runtime)
            .map_err(|error| Failure::file("make the link", &runtime, &error))?;
        if let Some(ptx) = &self.ptx {
            fs::create_dir_all(ptx)
                .map_err(|error| Failure::file("make the folder", ptx, &error))?;
        }
        let mut runs = Runs::default();
        let mut code = exit_code::SUCCESS;
        for run in 0..self.schedules {
            let journal = folder.path().join("journal");
            fs::write(&journal, "").map_err(|error| Failure::file("write", &journal, &error))?;
            let mut command = Command::new(&program);
            command.args(&self.command[1..]);
            journal::Settings {
                file: journal.clone(),
                ptx: self.ptx.clone(),
                seed: self.seed.wrapping_add(run),
                policy: self.policy,
                strict: self.strict,
                steps: self.steps,
            }
            .hand_to(&mut command);
            command.env("LD_PRELOAD", joined(&runtime, "LD_PRELOAD"));
            command.env("LD_LIBRARY_PATH", joined(folder.path(), "LD_LIBRARY_PATH"));
            if run > 0 {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            } else if self.json {
                command.stdout(std::io::stderr());
            }
            let status =
                command.status().map_err(|error| Failure::file("start", &program, &error))?;
            if code == exit_code::SUCCESS {
                code = exit_code_of(status);
            }
            let text = fs::read_to_string(&journal)
                .map_err(|error| Failure::file("read", &journal, &error))?;
            runs.add(&text)?;
        }
        if !runs.started {
            return Err(self.not_ours(&program));
        }
        self.tell(&runs, code)
    }

    /// Where the program lies: named by its path, or found as a shell finds it.
    fn program(&self) -> Result<PathBuf> {
        let name = Path::new(&self.command[0]);
        let here = || name.is_file().then(|| name.to_owned());
        let found = match name.components().count() {
            1 => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
                places.find(|place| place.is_file())
            }
            _ => here(),
        };
        found.ok_or_else(|| {
            let failure = Failure::usage(format!("there is no program `{}`", name.display()));
            match here() {
                Some(_) => {
                    failure.help(format!("for that in this folder say ./{}", name.display()))
                }
                None => failure.help("give the path of a program that nvcc has made"),
            }
        })
    }

    /// Why the program did not come to our runtime.
    fn not_ours(&self, program: &Path) -> Failure {
        let bytes = fs::read(program).unwrap_or_default();
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        let failure =
            Failure::usage(format!("`{}` did not use the CUDA runtime", program.display()));
        let compile =
            "compile it with: nvcc -cudart shared -gencode arch=compute_90,code=compute_90";
        if has(b"libcudart.so.") && !has(RUNTIME.as_bytes()) {
            failure
                .because(format!("it asks for another release of the runtime than {RUNTIME}"))
                .help(format!("with nvcc of CUDA 13, {compile}"))
        } else if has(b"libcudart.so.") {
            failure
                .because("it ended before it registered a kernel, or its loader refuses preloaded libraries")
                .help("see what it says when it is run by itself")
        } else {
            failure.because("no shared runtime is linked into it").help(compile)
        }
    }

    fn tell(&self, runs: &Runs, code: u8) -> Result<u8> {
        let name = Path::new(&self.command[0]).file_name().unwrap_or(OsStr::new("program"));
        let name = name.to_string_lossy();
        let (errors, warnings) = (runs.errors(), runs.findings.len() - runs.errors());
        let mut findings: Vec<&(Told, u64)> = runs.findings.values().collect();
        findings.sort_by_key(|(told, _)| !told.is_error);
        if self.json {
            for (told, count) in findings {
                let mut object = told.object.clone();
                object["schedules"] = json!(count);
                output::line(object)?;
            }
            let refused =
                runs.refused.iter().map(|(what, help)| json!({ "what": what, "help": help }));
            output::line(json!({
                "type": "summary",
                "program": name,
                "schedules": self.schedules,
                "strict": self.strict,
                "launches": runs.launches,
                "thread_instructions": runs.instructions,
                "errors": errors,
                "warnings": warnings,
                "refused": refused.collect::<Vec<Value>>(),
                "program_code": code,
            }))?;
        } else {
            for (told, count) in findings.iter().take(SHOWN) {
                output::line(&told.text)?;
                match self.schedules {
                    1 => output::line("")?,
                    all => output::line(format_args!("   = note: in {count} of {all} runs\n"))?,
                }
            }
            if findings.len() > SHOWN {
                let more = findings.len() - SHOWN;
                output::line(format_args!("{more} more reports are not shown; --json has all\n"))?;
            }
            let runs_of = |n: u64, what: &str| {
                if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
            };
            let of = |n: usize, what: &str| match n {
                0 => format!("no {what}s"),
                n => runs_of(n as u64, what),
            };
            let launches = match runs.launches {
                1 => "1 launch".to_owned(),
                n => format!("{n} launches"),
            };
            output::line(format_args!(
                "{name}: {}{}, {launches}, {} thread-instructions: {}, {}",
                runs_of(self.schedules, "run"),
                if self.strict { ", strictly" } else { "" },
                runs.instructions,
                of(errors, "error"),
                of(warnings, "warning")
            ))?;
        }
        for (what, help) in &runs.refused {
            output::remark(Failure::usage(what).help(help));
        }
        Ok(match (code, errors) {
            (exit_code::SUCCESS, 0) if !runs.refused.is_empty() => exit_code::USAGE,
            (exit_code::SUCCESS, 0) => exit_code::SUCCESS,
            (exit_code::SUCCESS, _) => exit_code::FAILED,
            (code, _) => code,
        })
    }
}

/// A place before those that a variable has already.
fn joined(first: &Path, variable: &str) -> OsString {
    let mut all = first.as_os_str().to_owned();
    if let Some(more) = std::env::var_os(variable).filter(|more| !more.is_empty()) {
        all.push(":");
        all.push(more);
    }
    all
}

/// Our runtime: the one that `BATON_CUDART` names, the one that cargo builds in the repository, or the one beside this
/// program.
fn library() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("BATON_CUDART") {
        let named = PathBuf::from(named);
        return match named.canonicalize() {
            Ok(path) => Ok(path),
            Err(error) => Err(Failure::file("open", &named, &error).help("BATON_CUDART names it")),
        };
    }
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(LIBRARY));
    match Workspace::repository() {
        Some(repository) => cargo::library(&repository, "baton-cudart"),
        None => beside.filter(|file| file.is_file()).ok_or_else(|| {
            Failure::new(exit_code::MISSING, format!("there is no {LIBRARY} beside this program")).help(
                "build the package `baton-cudart`, and put the library there or name it by BATON_CUDART",
            )
        }),
    }
}
