//! `baton litmus`: judges litmus tests by the memory model.
//!
//! Files and folders are read, the tests run in parallel, and a table says for each what the model
//! answers, what the file expects, and whether some execution has a data race.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_model::litmus::{Expect, LitmusError, Test};
use baton_model::{Options, Verdict, judge};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::json;

use crate::{Failure, Result, exit_code, output};

/// `baton litmus`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Litmus files, and folders that are searched for *.litmus
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// One JSON object a line instead of the table, each as soon as its test is judged; with --witness, an execution in it
    #[arg(long)]
    json: bool,

    /// Show an execution for each test: with the outcome if it is allowed, else with a race
    #[arg(long, value_enum, value_name = "FORM")]
    witness: Option<Form>,

    /// A test without a verdict after this time ends with an error
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,

    /// Only mismatches and the totals
    #[arg(short, long)]
    quiet: bool,
}

/// How an execution is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Events by thread, then the relations
    Text,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
}

/// What became of one file.
struct Judged {
    file: PathBuf,
    milliseconds: f64,
    answer: Answer,
}

enum Answer {
    /// The file could not be read.
    Unreadable(std::io::Error),
    /// The file is no litmus test.
    Malformed(LitmusError),
    /// The model gave no verdict.
    Unjudged(Box<Test>, baton_model::Error),
    /// The model's verdict.
    Verdict(Box<Test>, Box<Verdict>),
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let mut files = vec![];
        for path in &self.files {
            collect(path, &mut files)?;
        }
        if files.is_empty() {
            return Err(Failure::usage("there is no *.litmus file there")
                .help("tests/litmus has several hundred; shared/litmus-format.md describes them"));
        }
        let patience = Duration::from_secs(self.seconds);
        let judged = judge_all(&files, patience, |one| match self.json {
            true => output::line(one.json(self.witness)),
            false => Ok(()),
        })?;

        let mut code = exit_code::SUCCESS;
        let mut rows = vec![];
        for one in &judged {
            match &one.answer {
                Answer::Unreadable(_) | Answer::Malformed(_) => code = exit_code::FILES,
                _ if one.mismatch() && code == exit_code::SUCCESS => code = exit_code::FAILED,
                _ => {}
            }
            if !self.json && (!self.quiet || one.mismatch()) {
                rows.push(one.row());
            }
            if let (Some(form), false, Answer::Verdict(test, verdict)) =
                (self.witness, self.json, &one.answer)
            {
                let shown = verdict.witness.as_ref().or(verdict.racing.as_ref());
                match (shown, form) {
                    (Some(witness), Form::Text) => output::text(witness)?,
                    (Some(witness), Form::Dot) => output::text(witness.dot())?,
                    (Some(witness), Form::Svg) => output::text(witness.svg())?,
                    (None, Form::Text) => output::line(nothing_to_show(test, verdict))?,
                    // What was to be drawn is not there.
                    (None, Form::Dot | Form::Svg) => {
                        output::remark(format_args!("error: {}", nothing_to_show(test, verdict)));
                        code = code.max(exit_code::FAILED);
                    }
                }
            }
        }
        // A drawing of one test goes to a file as it is.
        let drawing = matches!(self.witness, Some(Form::Dot | Form::Svg));
        if !self.json && !drawing {
            output::text(table(&rows))?;
            let wrong = judged.iter().filter(|one| one.mismatch()).count();
            output::line(format_args!(
                "{} tests, {wrong} differ from what they expect",
                judged.len()
            ))?;
        }
        for one in &judged {
            match &one.answer {
                Answer::Malformed(error) => output::remark(format_args!("error: {error}")),
                Answer::Unreadable(error) => {
                    output::remark(Failure::file("read", &one.file, error));
                }
                _ => {}
            }
        }
        Ok(code)
    }
}

/// Judges files side by side. `each` is told of each as soon as it is judged, and can end it all.
fn judge_all(
    files: &[PathBuf],
    patience: Duration,
    each: impl Fn(&Judged) -> Result<()> + Sync,
) -> Result<Vec<Judged>> {
    let judge = |file: &PathBuf| {
        let judged = judge_file(file, patience);
        each(&judged).map(|()| judged)
    };
    files.par_iter().map(judge).collect()
}

/// The files below `path`, in the order of their names.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failure = |error: std::io::Error| Failure::file("read", path, &error);
    if !path.is_dir() {
        fs::metadata(path).map_err(failure)?;
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = vec![];
    for entry in fs::read_dir(path).map_err(failure)? {
        entries.push(entry.map_err(failure)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            // A link to a folder may lead back up.
            if !entry.is_symlink() {
                collect(&entry, files)?;
            }
        } else if entry.extension().is_some_and(|extension| extension == "litmus") {
            files.push(entry);
        }
    }
    Ok(())
}

fn judge_file(file: &Path, patience: Duration) -> Judged {
    let start = Instant::now();
    let options = Options { until: start.checked_add(patience), ..Options::default() };
    let answer = match fs::read(file) {
        Err(error) => Answer::Unreadable(error),
        Ok(bytes) => match parse(&bytes, file) {
            Err(error) => Answer::Malformed(error),
            Ok(test) => match judge(&test.program, &test.condition, &options) {
                Err(error) => Answer::Unjudged(Box::new(test), error),
                Ok(verdict) => Answer::Verdict(Box::new(test), Box::new(verdict)),
            },
        },
    };
    Judged { file: file.to_owned(), milliseconds: start.elapsed().as_secs_f64() * 1e3, answer }
}

fn parse(bytes: &[u8], file: &Path) -> Result<Test, LitmusError> {
    let file = file.display().to_string();
    let text = str::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        let before = String::from_utf8_lossy(valid);
        let line = before.rsplit('\n').next().unwrap_or("");
        LitmusError {
            file: file.clone(),
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
            found: rest.first().map_or(String::new(), |byte| format!("the byte {byte:#04x}")),
            expected: "text in UTF-8".to_owned(),
        }
    })?;
    Test::parse(text, &file)
}

/// What the model says in the word of the format.
fn word(verdict: &Verdict) -> Expect {
    if verdict.allowed { Expect::Allowed } else { Expect::Forbidden }
}

/// Why there is no execution to look at.
fn nothing_to_show(test: &Test, verdict: &Verdict) -> String {
    let why = match &verdict.incomplete {
        Some(incomplete) => incomplete.to_string(),
        None if verdict.allowed => "it is allowed, but too large to show".to_owned(),
        None => "it is forbidden, and no execution with a race is known".to_owned(),
    };
    format!("{}: no execution to show: {why}", test.name)
}

impl Judged {
    /// Whether the answer is not what the file expects.
    fn mismatch(&self) -> bool {
        match &self.answer {
            Answer::Verdict(test, verdict) => {
                test.expect.is_some_and(|expect| expect != word(verdict))
                    || test.race.is_some_and(|race| verdict.race != Some(race))
            }
            _ => true,
        }
    }

    fn note(&self) -> String {
        let (test, verdict) = match &self.answer {
            Answer::Unreadable(error) => return error.to_string(),
            Answer::Malformed(error) => return error.to_string(),
            Answer::Unjudged(_, error) => return error.to_string(),
            Answer::Verdict(test, verdict) => (test, verdict),
        };
        let mut notes = vec![];
        if self.mismatch() {
            let expect = test.expect.map(|expect| format!("expected {expect}"));
            let race =
                test.race.map(|race| if race { "expected a race" } else { "expected no race" });
            notes.extend(expect.into_iter().chain(race.map(str::to_owned)));
        }
        if verdict.mixed_size {
            notes.push("mixed-size race: the axioms do not apply".to_owned());
        }
        notes.extend(verdict.incomplete.as_ref().map(ToString::to_string));
        notes.extend(verdict.undefined.iter().map(|reason| format!("undefined: {reason}")));
        if test.hypothetical {
            notes.push("hypothetical proxies".to_owned());
        }
        notes.join("; ")
    }

    fn json(&self, form: Option<Form>) -> serde_json::Value {
        let file = self.file.display().to_string();
        let (name, expect) = match &self.answer {
            Answer::Verdict(test, _) | Answer::Unjudged(test, _) => {
                (Some(test.name.clone()), test.expect.map(|expect| expect.to_string()))
            }
            _ => (None, None),
        };
        let verdict = match &self.answer {
            Answer::Verdict(_, verdict) => Some(verdict),
            _ => None,
        };
        let mut object = json!({
            "name": name,
            "file": file,
            "verdict": verdict.map_or("error".to_owned(), |verdict| word(verdict).to_string()),
            "expect": expect,
            "race": verdict.and_then(|verdict| verdict.race),
            "executions": verdict.and_then(|verdict| verdict.executions),
            "ms": (self.milliseconds * 1e3).round() / 1e3,
            "note": self.note(),
        });
        if let Some(form) = form {
            let shown = verdict.and_then(|v| v.witness.as_ref().or(v.racing.as_ref()));
            object["witness"] = json!(shown.map(|witness| match form {
                Form::Text => witness.to_string(),
                Form::Dot => witness.dot().to_string(),
                Form::Svg => witness.svg().to_string(),
            }));
        }
        object
    }

    fn row(&self) -> [String; 6] {
        let (name, verdict, race, executions) = match &self.answer {
            Answer::Verdict(test, verdict) => (
                test.name.clone(),
                word(verdict).to_string(),
                match verdict.race {
                    Some(true) => "race",
                    Some(false) => "no race",
                    None => "race unknown",
                },
                verdict.executions.map_or("-".to_owned(), |count| count.to_string()),
            ),
            Answer::Unjudged(test, _) => (test.name.clone(), "error".to_owned(), "", String::new()),
            _ => (self.file.display().to_string(), "error".to_owned(), "", String::new()),
        };
        let time = format!("{:.1}", self.milliseconds);
        [name, verdict, race.to_owned(), executions, time, self.note()]
    }
}

/// The rows under a headline, columns aligned.
fn table(rows: &[[String; 6]]) -> String {
    let head = ["test", "verdict", "race", "executions", "ms", ""].map(str::to_owned);
    let all: Vec<&[String; 6]> = std::iter::once(&head).chain(rows).collect();
    let width =
        |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in all {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = match column {
                3 | 4 => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:<width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_told_of_as_soon_as_it_is_judged() {
        let folder = std::env::temp_dir().join(format!("baton-litmus-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let files: Vec<PathBuf> = ["a", "b"].map(|name| folder.join(name)).into();
        for file in &files {
            fs::write(file, "thread T0 cta=0:\nexists: true\n").expect("a file");
        }
        let told = std::sync::Mutex::new(vec![]);
        let judged = judge_all(&files, Duration::from_secs(60), |one| {
            told.lock().expect("no panic").push(one.file.clone());
            Ok(())
        });
        assert_eq!(judged.expect("no error").len(), 2);
        let mut told = told.into_inner().expect("no panic");
        told.sort();
        assert_eq!(told, files);
        let stopped = judge_all(&files, Duration::from_secs(60), |_| Err(Failure::usage("enough")));
        assert!(stopped.is_err());
        fs::remove_dir_all(&folder).expect("the folder is gone");
    }

    #[test]
    fn a_test_that_takes_too_long_ends_with_an_error() {
        let file = std::env::temp_dir().join(format!("baton-late-{}.litmus", std::process::id()));
        // The last of twelve sees what the first has written before it counted.
        let count = "atom.acq_rel.gpu.add.u32 r0, [c], 1\nld.weak.u32 r1, [d]\n";
        let thread = |n: u32| {
            let first = if n == 0 { "st.weak.u32 [d], 1\n" } else { "" };
            format!("thread T{n} cta={n}:\n{first}{count}")
        };
        let threads: String = (0..12).map(thread).collect();
        let text = format!(
            "location c global u32 = 0\nlocation d global u32 = 0\n{threads}\
             exists: T11:r0 == 11 && T11:r1 == 0\n"
        );
        fs::write(&file, text).expect("a file");
        let late = judge_file(&file, Duration::from_millis(50));
        assert!(matches!(late.answer, Answer::Unjudged(..)), "{}", late.note());
        assert!(late.milliseconds < 20_000.0, "{} ms", late.milliseconds);
        fs::remove_file(&file).expect("the file is gone");
    }

    #[test]
    fn an_object_has_the_execution_that_was_asked_for() {
        let text =
            "location x global u32 = 0\nthread T0 cta=0:\nst.weak.u32 [x], 1\nexists: x == 1\n";
        let file = std::env::temp_dir().join(format!("baton-shown-{}.litmus", std::process::id()));
        fs::write(&file, text).expect("a file");
        let judged = judge_file(&file, Duration::from_secs(60));
        assert!(judged.json(Some(Form::Text))["witness"].as_str().is_some_and(|w| !w.is_empty()));
        assert!(
            judged.json(Some(Form::Svg))["witness"].as_str().is_some_and(|w| w.contains("<svg"))
        );
        assert!(judged.json(None).get("witness").is_none());
        fs::remove_file(&file).expect("the file is gone");
    }

    #[test]
    fn a_verdict_says_what_it_rests_on() {
        let judged = |code: &str| {
            let text = format!("name: t\nlocation b shared u64 = 0\nthread T0 cta=0:\n{code}\n");
            let test = Test::parse(&text, "t").unwrap_or_else(|error| panic!("{error}"));
            let verdict = judge(&test.program, &test.condition, &Options::default());
            let verdict = verdict.unwrap_or_else(|error| panic!("{error}"));
            let shown = nothing_to_show(&test, &verdict);
            let answer = Answer::Verdict(Box::new(test), Box::new(verdict));
            (Judged { file: PathBuf::from("t"), milliseconds: 0.0, answer }.note(), shown)
        };
        let (note, shown) = judged("bar.sync 0, 2\nexists: true");
        assert_eq!(note, "no execution completes: threads wait at a barrier for ever");
        assert_eq!(shown, format!("t: no execution to show: {note}"));
        let (note, shown) = judged("st.weak.u64 [b], 1\nexists: b == 0");
        assert_eq!(note, "");
        assert!(shown.ends_with("it is forbidden, and no execution with a race is known"));
        let (note, _) = judged("mbarrier.arrive.shared.b64 r0, [b]\nexists: true");
        assert_eq!(note, "undefined: uses an mbarrier that is not initialised");
    }

    #[test]
    fn what_is_no_text_is_an_error_with_its_place() {
        let error = parse(b"name: a\nlocation \xe2\x82\xac\xff", Path::new("a.litmus"));
        let error = error.expect_err("no text").to_string();
        assert_eq!(error, "a.litmus:2:11: found the byte 0xff, expected text in UTF-8");
    }
}
