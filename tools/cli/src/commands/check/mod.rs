//! `baton check`: a kernel of any PTX, under many schedules.
//!
//! A launch description ([`spec`]) says with what the kernel is launched and what is to come out.
//! Every schedule runs on an emulated device of its own (`search`); what they find is told for
//! people (`report`), for programs (`--json`, an object a line) and for code hosts (`sarif`). With `--lint` nothing runs
//! (`lint`).

pub mod element;
mod group;
mod lint;
pub(super) mod report;
mod sarif;
pub mod search;
pub mod setup;
pub mod spec;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use baton_emulator::explore::Log;
use baton_emulator::{Error, Fault, Options, Program, Schedule};
use baton_ptx::Module;
use baton_ptx::lines::LineTable;
use clap::{Args, ValueEnum};

use self::report::Report;
use self::search::{Case, Least};
use self::setup::{Files, Setup};
use self::spec::{Spec, SpecError, cut};
use crate::progress::Progress;
use crate::{Failure, Result, exit_code, output};

/// Thread-instructions of a run unless the description says otherwise: about a quarter of a minute.
pub(super) const STEPS: u64 = 1_000_000_000;

/// Runs of an exhaustive search at most, unless `--schedules` says otherwise.
const EXHAUSTIVE: u64 = 100_000;

/// Bytes of PTX, of a description and of what else is read as text: several times what a compiler was seen to emit.
const LARGEST: u64 = 256 << 20;

/// Characters of a line of a description that a message repeats.
const QUOTED: usize = 120;

/// `baton check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no error was found (warnings may be), 1 errors were found, 2 the command line, the \
PTX or the launch description cannot be used, 5 a file cannot be read or written.\n\
docs/emulator.md describes launch descriptions and how to read a report.")]
pub struct Arguments {
    /// PTX, from any compiler
    file: PathBuf,

    /// The kernel, where the file has several
    #[arg(long)]
    kernel: Option<String>,

    /// The launch description, a TOML file; with --lint only its block and only for kernels without .reqntid
    #[arg(long, value_name = "SPEC", required_unless_present = "lint")]
    launch: Option<PathBuf>,

    /// Run nothing: warn of collectives that threads of their set may reach differently (rule F4)
    #[arg(long, conflicts_with_all = ["schedules", "seed", "policy", "strict", "exhaust", "log", "replay", "trace", "timeline", "sarif", "files_anywhere"])]
    lint: bool,

    /// Schedules to run [default: 100; with --exhaust: at most 100000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    schedules: Option<u64>,

    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Habits of the schedules
    #[arg(long, value_enum, default_value_t = Policy::Seeded)]
    policy: Policy,

    /// Points where practice and text disagree are errors rather than warnings
    #[arg(long)]
    strict: bool,

    /// Run every schedule that differs from the plain one in at most so many decisions
    #[arg(long, value_name = "DECISIONS", conflicts_with = "replay")]
    exhaust: Option<usize>,

    /// Write the decisions of the first failing schedule, reduced to as few as a short search finds
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Run once: with this seed, or with the decisions of this log
    #[arg(long, value_name = "SEED|LOG", conflicts_with_all = ["schedules", "seed"])]
    replay: Option<String>,

    /// The description may name files anywhere, and not only in its own folder
    #[arg(long)]
    files_anywhere: bool,

    /// Source lines of the PTX [default: FILE with the ending .lines, where there is one]
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,

    /// Write a trace of one schedule, the first that fails or the first: for Perfetto or Chrome
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Write the same as a page with a picture of time
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    /// One JSON object a line: each finding, then a summary
    #[arg(long)]
    json: bool,

    /// Write the findings as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

/// [`Schedule`], as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// The seed chooses one of the others, and how strongly
    Seeded,
    /// Warps are chosen uniformly
    Random,
    /// Warps have priorities that change a few times (PCT)
    Pct,
    /// One warp and one kind of asynchronous operation go on when nothing else can
    Starving,
    /// Asynchronous operations take effect as soon as possible
    Early,
    /// They take effect when nothing else can run
    Late,
}

impl From<Policy> for Schedule {
    fn from(policy: Policy) -> Schedule {
        match policy {
            Policy::Seeded => Schedule::Seeded,
            Policy::Random => Schedule::Uniform,
            Policy::Pct => Schedule::Priorities,
            Policy::Starving => Schedule::Starving,
            Policy::Early => Schedule::Early,
            Policy::Late => Schedule::Late,
        }
    }
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let ptx = text(&self.file)?;
        if self.lint {
            return self.warn(&ptx);
        }
        let (case, kernel) = self.case(&ptx)?;
        let mut options = Options {
            seed: self.seed,
            schedule: self.policy.into(),
            strict: self.strict,
            step_limit: Some(case.setup.steps.unwrap_or(STEPS)),
            ..Options::default()
        };
        if let Some(replay) = &self.replay {
            match replay.parse() {
                Ok(seed) => options.seed = seed,
                Err(_) => {
                    let log = log(Path::new(replay))?;
                    options.seed = log.seed;
                    options.replay = Some(log.decisions());
                }
            }
        }
        let outcome = self.search(&case, &kernel, &options)?;
        if let (Some(file), Some(least)) = (&self.log, &outcome.log) {
            write(file, &least.log.to_string())?;
        }
        let report = Report::new(&self.file, &ptx, &kernel, &outcome, options.strict);
        if let Some(file) = &self.sarif {
            write(file, &format!("{:#}\n", sarif::log(&report)))?;
        }
        self.draw(&case, &report, options)?;
        if self.json {
            report.json().iter().try_for_each(output::line)?;
        } else {
            let kernel = (!case.setup.names_kernels).then_some(&*kernel);
            let kernel = self.kernel.as_deref().or(kernel);
            output::text(report.text(&self.again(&report, kernel)))?;
        }
        let failed = outcome.errors().next().is_some();
        Ok(if failed { exit_code::FAILED } else { exit_code::SUCCESS })
    }

    /// Traces the first schedule that failed, or the first.
    fn draw(&self, case: &Case, report: &Report, options: Options) -> Result<()> {
        if self.trace.is_none() && self.timeline.is_none() {
            return Ok(());
        }
        let mut options = options;
        if self.exhaust.is_some() {
            // Nothing but the plain choices, or what failed.
            options.replay =
                Some(report.outcome.log.as_ref().map_or_else(Vec::new, |l| l.log.decisions()));
        } else if let Some(first) = report.first() {
            options.seed = first.seed;
        }
        let seed = options.seed;
        let run = case
            .run(Options { trace: true, ..options })
            .map_err(|error| cannot_run(&self.file, Some(case.program.module()), &error))?;
        let Some(trace) = run.trace else { return Ok(()) };
        if let Some(file) = &self.trace {
            write(file, &trace.chrome())?;
        }
        if let Some(file) = &self.timeline {
            let said = match run.findings.first() {
                None => "Nothing was found in it.".to_owned(),
                Some(first) => format!("It shows: {}.", report::message(first)),
            };
            let title = format!("{}, seed {seed}", report.kernel);
            write(file, &trace.timeline(&title, &said))?;
        }
        Ok(())
    }

    fn search(&self, case: &Case, kernel: &str, options: &Options) -> Result<search::Outcome> {
        let module = case.program.module();
        let cannot = |error: Error| cannot_run(&self.file, Some(module), &error);
        let counter = Arc::<AtomicU64>::default();
        let options = &Options { counter: Some(Arc::clone(&counter)), ..options.clone() };
        if self.replay.is_some() {
            let _progress = Progress::start(format!("running {kernel}")).with_instructions(counter);
            return search::replay(case, options).map_err(cannot);
        }
        let task = format!("checking {kernel}");
        let waiting = format!(
            "each is ended after {} thread-instructions at the latest",
            options.step_limit.unwrap_or(STEPS)
        );
        if let Some(deviations) = self.exhaust {
            let most = self.schedules.unwrap_or(EXHAUSTIVE);
            let progress = Progress::counted(task, most).with_instructions(counter);
            progress.step(&waiting);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            return search::exhaust(case, options, deviations, most, &progress).map_err(cannot);
        }
        let count = self.schedules.unwrap_or(100);
        let progress = Progress::counted(task, count).with_instructions(counter);
        progress.step(waiting);
        let mut outcome = search::schedules(case, options, count, &progress).map_err(cannot)?;
        let first = outcome.errors().min_by_key(|entry| entry.seed).cloned();
        if let Some(first) = first {
            progress.step("looking for the fewest decisions that show it");
            outcome.log = search::minimise(case, options, &first).map_err(cannot)?;
        }
        Ok(outcome)
    }

    /// The program with its launch, and the name of the kernel.
    fn case(&self, ptx: &str) -> Result<(Case, String)> {
        let name = self.file.display().to_string();
        let program = Program::load(ptx, &name, self.lines()?)
            .map_err(|error| cannot_run(&self.file, None, &error))?;
        once_each(&name, program.module())?;
        let kernels: Vec<String> = program.kernels().map(str::to_owned).collect();
        match (&self.kernel, &kernels[..]) {
            (_, []) => {
                let last = ptx.lines().count().max(1);
                return Err(Failure::usage(format!(
                    "{name}:{last}:1: the text ends here and has no kernel"
                ))
                .help("a kernel is an `.entry` with a body; was the file written to its end?"));
            }
            (Some(kernel), all) if !all.contains(kernel) => {
                return Err(Failure::usage(format!("`{name}` has no kernel `{kernel}`"))
                    .help(all_of(all, kernel)));
            }
            _ => {}
        }
        let file = self.launch.as_deref().unwrap_or(Path::new(""));
        let source = text(file)?;
        let wrong = |error: SpecError| not_a_spec(file, &source, &error);
        let spec = Spec::parse(&source).map_err(wrong)?;
        let named = spec.launches.iter().filter_map(|launch| launch.kernel.as_ref());
        for kernel in named {
            let (kernel, span) = (kernel.get_ref(), kernel.span());
            if !kernels.contains(kernel) {
                let problem = format!("`{name}` has no kernel `{kernel}`");
                return Err(wrong(SpecError::new(span, problem, all_of(&kernels, kernel))));
            }
        }
        let all_named = spec.launches.iter().all(|launch| launch.kernel.is_some());
        let kernel = match (&self.kernel, &kernels[..]) {
            (Some(_), _) if all_named => {
                return Err(Failure::usage("--kernel, and each launch names its kernel").help(
                    "leave --kernel out, or `kernel` in the launches that it is to choose for",
                ));
            }
            (Some(kernel), _) | (None, [kernel]) => kernel.clone(),
            (None, _) if all_named => String::new(),
            (None, all) => {
                let many = format!("`{name}` has {} kernels", all.len());
                let several =
                    if spec.launches.len() > 1 { ", or by `kernel` in each launch" } else { "" };
                return Err(Failure::usage(many)
                    .help(format!("choose one by --kernel{several}: {}", list(all))));
            }
        };
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let files = Files { folder, anywhere: self.files_anywhere };
        let setup = Setup::new(&spec, &files, program.module(), &kernel).map_err(wrong)?;
        let mut names: Vec<&str> = setup.kernels().collect();
        names.dedup();
        let names = names.join(", ");
        Ok((Case { program: Arc::new(program), setup }, names))
    }

    fn lines(&self) -> Result<Option<LineTable>> {
        let beside = self.file.with_extension("lines");
        let file = match &self.lines {
            Some(file) => file,
            None if beside.is_file() => &beside,
            None => return Ok(None),
        };
        let table = LineTable::parse(&text(file)?).map_err(|error| {
            Failure::usage(format!("`{}` cannot be used", file.display())).because(error)
        })?;
        Ok(Some(table))
    }

    /// The command that shows the first error again; the launches may name their kernels themselves.
    fn again(&self, report: &Report, kernel: Option<&str>) -> String {
        let mut command = format!("baton check {}", self.file.display());
        if let Some(kernel) = kernel {
            command += &format!(" --kernel {kernel}");
        }
        let launch = self.launch.as_deref().unwrap_or(Path::new(""));
        command += &format!(" --launch {}", launch.display());
        if self.strict {
            command += " --strict";
        }
        if self.policy != Policy::Seeded
            && let Some(policy) = self.policy.to_possible_value()
        {
            command += &format!(" --policy {}", policy.get_name());
        }
        if self.files_anywhere {
            command += " --files-anywhere";
        }
        match (&self.log, &report.outcome.log, report.first()) {
            (Some(file), Some(_), _) => command + &format!(" --replay {}", file.display()),
            (None, Some(Least { log, .. }), _) if self.exhaust.is_some() => {
                command + &format!(" --exhaust {}", log.deviations.len())
            }
            (_, _, Some(entry)) => command + &format!(" --replay {}", entry.seed),
            _ => command,
        }
    }
}

/// Refuses functions that have two bodies.
fn once_each(file: &str, module: &Module) -> Result<()> {
    let mut lines = HashMap::new();
    for function in module.functions.iter().filter(|function| function.body.is_some()) {
        let (name, line) = (&function.name, function.line);
        if let Some(first) = lines.insert(name, line) {
            let column = module.column(line, name);
            return Err(Failure::usage(format!(
                "{file}:{line}:{column}: a second body of `{name}`"
            ))
            .because(format!("the first is in line {first}"))
            .help("a module has one function of a name; rename or remove one of them"));
        }
    }
    Ok(())
}

/// The kernels of a file, and which of them was meant.
fn all_of(kernels: &[String], meant: &str) -> String {
    let near = kernels
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(a, meant).total_cmp(&strsim::jaro_winkler(b, meant)));
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`?\n"));
    format!("{near}all of them: {}", list(kernels))
}

fn list(kernels: &[String]) -> String {
    kernels.join(", ")
}

fn text(file: &Path) -> Result<String> {
    let failed = |error: io::Error| Failure::file("read", file, &error);
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(failed)?;
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::usage(format!("`{}` is too large", file.display()))
            .because(format!("it has more than {} MiB", LARGEST >> 20))
            .help(
                "is it the file that was meant? Of a large module, keep the kernel that is checked",
            ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let (before, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let before = String::from_utf8_lossy(before);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        let help = match error.as_bytes() {
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "this begins as UTF-16 does; save it as UTF-8",
            [0x7F, b'E', b'L', b'F', ..] | [0x50, 0xED, 0x55, 0xBA, ..] => {
                "this is compiled code; `cuobjdump -ptx` prints the PTX in it, where there is some"
            }
            _ => "save it as UTF-8",
        };
        let byte = rest.first().copied().unwrap_or_default();
        Failure::usage(format!("{}:{line}:{column}: this is no text", file.display()))
            .because(format!("the byte {byte:#04x} is not part of a character in UTF-8"))
            .help(help)
    })
}

fn write(file: &Path, text: &str) -> Result<()> {
    output::file(file, text.as_bytes())
}

fn log(file: &Path) -> Result<Log> {
    text(file)?.parse().map_err(|error| {
        Failure::usage(format!("`{}` is no log of decisions", file.display()))
            .because(error)
            .help("give a seed, or a file that --log wrote")
    })
}

/// A description that cannot be used: file, line, column, the line itself, and what to do.
fn not_a_spec(file: &Path, source: &str, error: &SpecError) -> Failure {
    let (line, column) = error.place(source);
    let place = format!("{}:{line}:{column}", file.display());
    let failure = Failure::usage(format!("{place}: {}", error.problem)).help(&error.help);
    match source.lines().nth(line - 1) {
        Some(text) if !text.trim().is_empty() => {
            let near = text.chars().skip(column.saturating_sub(QUOTED / 2));
            let near = cut(&near.collect::<String>(), QUOTED);
            failure.because(format!("it says `{}`", near.trim()))
        }
        _ => failure,
    }
}

/// What is no finding about the kernel.
fn cannot_run(file: &Path, module: Option<&Module>, error: &Error) -> Failure {
    let name = file.display();
    match error {
        Error::Parse(error) => Failure::usage(error.to_string()),
        Error::Fault(failed) if matches!(failed.fault, Fault::Unknown { .. }) => {
            let site = &failed.site;
            let first = site.text.split(' ').next().unwrap_or_default();
            let column = module.map_or(1, |module| module.column(site.line, first));
            Failure::usage(format!("{name}:{}:{column}: {}", site.line, failed.fault))
                .because(format!("{} executed it in `{}`", failed.threads, site.function))
                .help("docs/emulator.md lists what the emulator does not execute")
        }
        Error::Launch { .. } => Failure::usage(format!("`{name}` cannot be run"))
            .because(error)
            .help("change the launch description"),
        _ => Failure::usage(format!("`{name}` cannot be run")).because(error),
    }
}
