//! `baton test`: the whole test suite, and what it came to.
//!
//! `cargo test` runs once over the workspace, doc tests included; its output passes through, and
//! the sections in it (one for each test program) are added up into the closing table. Release
//! code is tested: it is what `baton run` uses, and the time limits in the tests are meant for it.
//! Tests with too many cases to run each time write down how many they ran: a second table.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use baton_builder::Backend;
use baton_campaign::{NotAnOutcome, Outcome};
use clap::Args;
use tempfile::NamedTempFile;
use time::OffsetDateTime;

use crate::commands::doctor;
use crate::commands::run::exit_code_of;
use crate::workspace::Workspace;
use crate::{Failure, Result, cargo, exit_code, output};

/// `baton test`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Run each campaign (schedules, mutants, random programs) in full instead of a sample: it takes long
    #[arg(long)]
    long: bool,

    /// The seed of what is random in the campaigns [default: 1; with --long one from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Also write the closing tables to this file, with the date and what was run
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Who makes the kernels' PTX: llvm, or nvvm [default: what BATON_BACKEND says, else llvm]
    #[arg(long)]
    backend: Option<Backend>,

    /// Test unoptimised code with overflow checks
    #[arg(long)]
    dev: bool,

    /// Only these packages
    #[arg(short, long, value_name = "PACKAGE")]
    package: Vec<String>,

    /// Only tests whose names contain one of these
    filter: Vec<String>,
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let workspace = Workspace::find()?.with_backend(self.backend);
        doctor::provision(&workspace)?;

        let (from_cargo, to_cargo) = pipe().map_err(|error| cargo::lost(&error))?;
        let clone = |end: &std::io::PipeWriter| end.try_clone().map_err(|e| cargo::lost(&e));
        let campaigns = NamedTempFile::new()
            .map_err(|error| Failure::file("write", &std::env::temp_dir(), &error))?;
        let mut command = self.cargo_test(&workspace);
        command.env(baton_campaign::RECORD, campaigns.path());
        command.stdin(Stdio::null()).stdout(clone(&to_cargo)?).stderr(to_cargo);
        let mut child = command.spawn().map_err(|error| cargo::not_started(&error))?;
        // The command holds the pipe's ends for writing; reading ends when they are gone.
        drop(command);

        let mut record = Record::default();
        for line in BufReader::new(from_cargo).split(b'\n') {
            let line = line.map_err(|error| cargo::lost(&error))?;
            let line = String::from_utf8_lossy(&line);
            output::line(&line)?;
            record.line(&line, Instant::now());
        }
        let status = child.wait().map_err(|error| cargo::lost(&error))?;

        let summary = record.summary() + &campaigns_table(&outcomes(campaigns.path())?);
        output::text(&summary)?;
        if let Some(file) = &self.report {
            let report = self.report(&workspace, &summary);
            output::file(file, report.as_bytes())?;
        }
        if status.success() && record.passed() == 0 && record.failed() == 0 {
            return Err(no_test_ran(&self.filter));
        }
        Ok(match exit_code_of(status) {
            exit_code::SUCCESS => exit_code::SUCCESS,
            _ if record.failed() == 0 => exit_code::BUILD,
            _ => exit_code::FAILED,
        })
    }

    fn cargo_test(&self, workspace: &Workspace) -> std::process::Command {
        let mut command = cargo::command(workspace);
        let color = if std::io::stdout().is_terminal() { "always" } else { "never" };
        command.args(["test", "--no-fail-fast", "--color", color]);
        if !self.dev {
            command.arg("--release");
        }
        if self.package.is_empty() {
            command.arg("--workspace");
        }
        for package in &self.package {
            command.args(["--package", package]);
        }
        command.arg("--").args(&self.filter);
        if self.long {
            command.env(baton_campaign::LONG, "1");
        }
        let seed = self.seed.or_else(|| {
            // Different programs each time, of which the table says which they were.
            let seconds = OffsetDateTime::now_utc().unix_timestamp();
            self.long.then(|| u64::try_from(seconds).unwrap_or_default())
        });
        if let Some(seed) = seed {
            command.env(baton_campaign::SEED, seed.to_string());
        }
        command
    }

    /// The closing table as a page that can be kept.
    fn report(&self, workspace: &Workspace, summary: &str) -> String {
        let date = OffsetDateTime::now_utc().date();
        let commit = Command::new("git")
            .args(["describe", "--always", "--dirty", "--abbrev=12"])
            .current_dir(workspace.root())
            .output();
        let commit = match commit {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            }
            _ => "unknown".to_owned(),
        };
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let extent = if self.long { "every campaign in full" } else { "a sample of each campaign" };
        format!(
            "# Report of the tests\n\n{date}, commit {commit}, {extent}, {cores} cores. Schedules have the \
             seeds from 0 up; what else is random has the seed in the last table.\n\n```text{summary}```\n"
        )
    }
}

/// What the campaigns wrote down.
fn outcomes(record: &Path) -> Result<Vec<Outcome>> {
    let text = fs::read_to_string(record).map_err(|error| Failure::file("read", record, &error))?;
    let outcome = |line: &str| {
        line.parse().map_err(|error: NotAnOutcome| {
            Failure::new(exit_code::FILES, format!("{}: {error}", record.display()))
        })
    };
    text.lines().map(outcome).collect()
}

/// How much of each campaign ran.
fn campaigns_table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    if !outcomes.is_empty() {
        text += "\ncampaigns:\n";
    }
    for outcome in outcomes {
        let _ = writeln!(text, "  {outcome}");
    }
    text
}

fn no_test_ran(filter: &[String]) -> Failure {
    let failure = Failure::new(exit_code::FAILED, "no test ran");
    match filter {
        [] => failure,
        names => failure
            .because(format!("no test's name contains {}", names.join(" or ")))
            .help("`baton test` without a filter runs them all"),
    }
}

/// What `cargo test` printed, added up.
#[derive(Debug, Default)]
struct Record {
    sections: Vec<Section>,
    failures: Vec<String>,
}

/// One test program, or the doc tests of one crate.
#[derive(Debug)]
struct Section {
    name: String,
    start: Instant,
    time: Duration,
    passed: u64,
    failed: u64,
    ignored: u64,
    finished: bool,
}

impl Record {
    fn line(&mut self, line: &str, now: Instant) {
        let line = without_colors(line);
        if let Some(name) = section_name(&line) {
            self.sections.push(Section {
                name,
                start: now,
                time: Duration::ZERO,
                passed: 0,
                failed: 0,
                ignored: 0,
                finished: false,
            });
        }
        let Some(section) = self.sections.last_mut() else { return };
        section.time = now - section.start;
        if let Some(counts) = line.strip_prefix("test result: ") {
            // One crate's doc tests may come in several groups, each with its result.
            section.passed += count(counts, "passed");
            section.failed += count(counts, "failed");
            section.ignored += count(counts, "ignored");
            section.finished = true;
        } else if let Some(test) = failed_test(&line) {
            self.failures.push(format!("{}: {test}", section.name));
        }
    }

    fn passed(&self) -> u64 {
        self.sections.iter().map(|section| section.passed).sum()
    }

    /// Failed tests; a program that ended without a result counts as one.
    fn failed(&self) -> u64 {
        self.sections.iter().map(|s| if s.finished { s.failed } else { 1 }).sum()
    }

    fn summary(&self) -> String {
        let mut text = String::from("\n");
        let shown: Vec<&Section> = self
            .sections
            .iter()
            .filter(|s| !s.finished || s.passed + s.failed + s.ignored > 0)
            .collect();
        let width = shown.iter().map(|section| section.name.len()).max().unwrap_or(0);
        for section in shown {
            let _ = write!(text, "{:width$}  {:>6.1} s", section.name, section.time.as_secs_f64());
            let _ = write!(text, "  {:>4} passed", section.passed);
            for (number, label) in [(section.failed, "failed"), (section.ignored, "ignored")] {
                if number > 0 {
                    let _ = write!(text, ", {number} {label}");
                }
            }
            text += if section.finished { "\n" } else { ", ended without a result\n" };
        }
        if !self.failures.is_empty() {
            text += "\nfailed:\n";
        }
        for failure in &self.failures {
            let _ = writeln!(text, "  {failure}");
        }
        let ignored: u64 = self.sections.iter().map(|section| section.ignored).sum();
        let _ = write!(text, "\n{} passed, {} failed", self.passed(), self.failed());
        if ignored > 0 {
            let _ = write!(text, ", {ignored} skipped");
        }
        text + "\n"
    }
}

/// `Running tests/rules.rs (target/release/deps/rules-0123)` or `Doc-tests baton`.
fn section_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{} (examples in the docs)", name.trim()));
    }
    let (source, program) = line.strip_prefix("Running ")?.split_once(" (")?;
    let program = program.strip_suffix(')')?.rsplit('/').next()?;
    let (name, _hash) = program.rsplit_once('-')?;
    Some(match source.strip_prefix("unittests ") {
        Some("src/lib.rs") => format!("{name} (unit tests)"),
        Some(file) => format!("{name} (unit tests, {file})"),
        None => format!("{name} ({source})"),
    })
}

/// The name in a line like `test path::of::test ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The number before a word, as in `3 passed`.
fn count(text: &str, word: &str) -> u64 {
    let mut before = "";
    for part in text.split_whitespace() {
        if part.trim_end_matches(';') == word {
            return before.parse().unwrap_or(0);
        }
        before = part;
    }
    0
}

/// The line without terminal escapes (`ESC [ … m`).
fn without_colors(line: &str) -> String {
    let mut pieces = line.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain += piece.split_once('m').map_or(piece, |(_code, text)| text);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
\u{1b}[1m\u{1b}[32m     Running\u{1b}[0m unittests src/lib.rs (target/release/deps/baton_ptx-00ff)
running 2 tests
test module::tests::entry ... ok
test module::tests::labels ... FAILED

test result: FAILED. 1 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.02s

     Running tests/rules.rs (target/release/deps/rules-0123)
running 1 test
error: test failed, to rerun pass `-p baton-tests --test rules`
   Doc-tests baton
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s
";

    fn record_of(output: &str) -> Record {
        let mut record = Record::default();
        output.lines().for_each(|line| record.line(line, Instant::now()));
        record
    }

    #[test]
    fn sections_are_added_up_and_a_program_that_died_is_a_failure() {
        let record = record_of(OUTPUT);
        assert_eq!((record.passed(), record.failed()), (5, 2));
        let summary = record.summary();
        assert!(summary.ends_with("\n5 passed, 2 failed, 3 skipped\n"), "{summary}");
        assert!(summary.contains("baton_ptx (unit tests): module::tests::labels"), "{summary}");
        assert!(summary.contains("rules (tests/rules.rs)"), "{summary}");
        assert!(summary.contains("ended without a result"), "{summary}");
    }

    #[test]
    fn campaigns_say_how_much_of_them_ran() {
        let record = NamedTempFile::new().expect("a file");
        assert_eq!(campaigns_table(&outcomes(record.path()).expect("none ran")), "");
        fs::write(&record, "mutants\t23\t275\t1\t1250\ttrue\n").expect("written");
        let table = campaigns_table(&outcomes(record.path()).expect("one line"));
        assert_eq!(table, "\ncampaigns:\n  mutants: 23 of 275, seed 1, 1.2 s\n");
        fs::write(&record, "half a li").expect("written");
        assert!(outcomes(record.path()).is_err());
    }

    #[test]
    fn nothing_but_compiler_output_is_no_section() {
        let record = record_of("   Compiling baton v0.1.0\nerror[E0308]: mismatched types\n");
        assert_eq!((record.passed(), record.failed()), (0, 0));
        assert_eq!(record.summary(), "\n\n0 passed, 0 failed\n");
    }
}
