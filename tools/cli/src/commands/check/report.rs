//! What was found, for people and for programs.
//!
//! A finding is shown in the PTX and, where its lines are known, in the source that the PTX was made
//! of: the later access, the earlier one, and the synchronisation that was there and did not
//! suffice.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::IsTerminal;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use baton_emulator::{Severity, Site};
use baton_ptx::lines::Frame;
use serde_json::{Value, json};

use super::group::{self, groups};
use super::search::{Entry, Finding, Outcome};
use crate::workspace::Workspace;

/// Waiters of a deadlock that are shown in the source.
const WAITERS: usize = 6;

/// Reports that are shown; programs get all findings.
const SHOWN: usize = 20;

/// PTX lines that a report lists of the places that it stands for.
const LISTED: usize = 20;

/// Lines of the kernel's output that are shown.
const PRINTED: usize = 100;

/// An outcome with the texts that it is about.
pub struct Report<'a> {
    /// The PTX.
    pub file: &'a Path,
    ptx: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// What was found.
    pub outcome: &'a Outcome,
    strict: bool,
    /// The source files that frames name and that could be read.
    sources: BTreeMap<String, (PathBuf, String)>,
}

/// A place with what is said about it.
pub struct Mark<'a> {
    /// The instruction.
    pub site: &'a Site,
    /// What it did.
    pub label: String,
    /// Whether the finding is at this place.
    pub primary: bool,
}

impl<'a> Report<'a> {
    /// A report on a kernel of the PTX in `file`.
    pub fn new(
        file: &'a Path,
        ptx: &'a str,
        kernel: &'a str,
        outcome: &'a Outcome,
        strict: bool,
    ) -> Report<'a> {
        let mut report = Report { file, ptx, kernel, outcome, strict, sources: BTreeMap::new() };
        let mut names: Vec<String> = Vec::new();
        for entry in &outcome.entries {
            for mark in marks(&entry.finding) {
                names.extend(shown(mark.site).map(|frame| frame.file.to_string()));
            }
        }
        names.sort();
        names.dedup();
        let workspace = Workspace::find().ok();
        let here = std::env::current_dir().ok();
        for name in names {
            let beside = file.parent().unwrap_or(Path::new("")).join(&name);
            // Builds in this repository name files from its top.
            let top = workspace.as_ref().map(|workspace| workspace.root().join(&name));
            let found = [Some(PathBuf::from(&name)), Some(beside), top]
                .into_iter()
                .flatten()
                .find_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?)));
            if let Some((path, text)) = found {
                let path = here
                    .as_ref()
                    .and_then(|here| path.strip_prefix(here).ok())
                    .map_or(path.clone(), Path::to_owned);
                let found = (path, text);
                report.sources.insert(name, found);
            }
        }
        report
    }

    /// The first error, by seed.
    pub fn first(&self) -> Option<&Entry> {
        self.outcome.errors().min_by_key(|entry| entry.seed)
    }

    /// Where a frame's file lies, if it is there.
    pub fn source(&self, frame: &Frame) -> Option<&Path> {
        self.sources.get(&*frame.file).map(|source| source.0.as_path())
    }

    /// For people; `again` is the command that shows the first error again.
    pub fn text(&self, again: &str) -> String {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let mut text = String::new();
        text += &self.printed();
        let groups = groups(self.outcome);
        for group in groups.iter().take(SHOWN) {
            let _ = writeln!(text, "{}\n", self.group(&renderer, group));
        }
        if groups.len() > SHOWN {
            let _ = writeln!(
                text,
                "{} more reports are not shown; --json has all\n",
                groups.len() - SHOWN
            );
        }
        text + &self.summary(&groups, again)
    }

    /// The findings without colours and without a summary.
    pub fn plain(&self) -> String {
        let renderer = Renderer::plain();
        let all = groups(self.outcome).into_iter().map(|group| self.group(&renderer, &group));
        all.collect::<Vec<_>>().join("\n\n")
    }

    /// What the kernel printed, as it may be shown on a terminal.
    fn printed(&self) -> String {
        let printed = &self.outcome.printed;
        if printed.is_empty() {
            return String::new();
        }
        let mut text = String::from("printed by the kernel in the first schedule:\n");
        for line in printed.lines().take(PRINTED) {
            let plain = |c: char| if c.is_control() && c != '\t' { '\u{FFFD}' } else { c };
            let _ = writeln!(text, "    {}", line.chars().map(plain).collect::<String>());
        }
        let more = printed.lines().count().saturating_sub(PRINTED);
        if more != 0 {
            let _ = writeln!(text, "    … and {more} more lines; --json has all");
        }
        text + "\n"
    }

    fn group(&self, renderer: &Renderer, of: &group::Group) -> String {
        let entry = of.shown;
        let finding = &entry.finding;
        let level = match finding.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(message(finding)).id(finding.rule());
        let marks = marks(finding);
        let path = self.file.display().to_string();
        let mut group = Group::with_title(title);
        // PTX first, then each source file.
        let places =
            marks.iter().filter_map(|mark| Some((mark, line(self.ptx, mark.site.line, 0)?)));
        let places: Vec<(&Mark, Range<usize>)> = places.collect();
        if !places.is_empty() {
            group = group.element(snippet(&path, self.ptx, &places));
        }
        let mut files: Vec<&str> = Vec::new();
        for mark in &marks {
            let Some(frame) = shown(mark.site) else { continue };
            if !files.contains(&&*frame.file) {
                files.push(&frame.file);
            }
        }
        let paths: Vec<String> = files
            .iter()
            .map(|file| {
                self.sources.get(*file).map_or((*file).to_owned(), |s| s.0.display().to_string())
            })
            .collect();
        for (file, path) in files.iter().zip(&paths) {
            let framed = marks.iter().filter_map(|mark| {
                let frame = shown(mark.site).filter(|frame| *frame.file == **file)?;
                Some((mark, frame))
            });
            let framed: Vec<(&Mark, &Frame)> = framed.collect();
            let Some((_, text)) = self.sources.get(*file) else {
                for (mark, frame) in framed {
                    group = group.element(origin(frame));
                    group = group.element(Level::NOTE.message(mark.label.clone()));
                }
                continue;
            };
            let places: Vec<(&Mark, Range<usize>)> = framed
                .into_iter()
                .filter_map(|(mark, frame)| Some((mark, line(text, frame.line, frame.column)?)))
                .collect();
            if !places.is_empty() {
                group = group.element(snippet(path, text, &places));
            }
        }
        for note in notes(finding) {
            group = group.element(Level::NOTE.message(note));
        }
        let count = match (self.outcome.complete, self.outcome.schedules) {
            (Some(_), _) => "found by the exhaustive search".to_owned(),
            (None, 1) => format!("seed {}", entry.seed),
            (None, all) => {
                format!("in {} of {all} schedules, first with seed {}", entry.schedules, entry.seed)
            }
        };
        group = group.element(Level::NOTE.message(count));
        if let Some(others) = of.others(LISTED) {
            group = group.element(Level::NOTE.message(others));
        }
        if let Some(fix) = fix(finding) {
            group = group.element(Level::HELP.message(fix));
        }
        renderer.render(&[group])
    }

    fn summary(&self, groups: &[group::Group], again: &str) -> String {
        let outcome = self.outcome;
        let error = |group: &&group::Group| group.shown.finding.severity() == Severity::Error;
        let errors = groups.iter().filter(error).count();
        let warnings = groups.len() - errors;
        let places = match outcome.entries.len() {
            all if all == groups.len() => String::new(),
            all => format!(", in {all} places"),
        };
        let runs = match outcome.schedules {
            1 => "1 schedule".to_owned(),
            many => format!("{many} schedules"),
        };
        let strict = if self.strict { ", strictly" } else { "" };
        let mut text = format!(
            "{}: {runs}{strict}, {} thread-instructions: {}, {}{places}\n",
            self.kernel,
            outcome.instructions,
            counted(errors, "error"),
            counted(warnings, "warning")
        );
        match outcome.complete {
            Some(true) => text += "these were all schedules with so few deviations\n",
            Some(false) if errors == 0 => {
                let _ = writeln!(
                    text,
                    "these were not all: the search ended after {} schedules; raise --schedules for more",
                    outcome.schedules
                );
            }
            _ => {}
        }
        if errors != 0 {
            if let Some(least) = &outcome.log {
                let _ = writeln!(
                    text,
                    "the first error needs {} of the run's {} decisions",
                    least.log.deviations.len(),
                    least.of
                );
            }
            let _ = writeln!(text, "again: {again}");
        }
        text
    }

    /// For programs: an object for each finding, and a summary.
    pub fn json(&self) -> Vec<Value> {
        let outcome = self.outcome;
        let mut lines: Vec<Value> = outcome.entries.iter().map(entry_json).collect();
        let errors = outcome.errors().count();
        lines.push(json!({
            "type": "summary",
            "kernel": self.kernel,
            "schedules": outcome.schedules,
            "strict": self.strict,
            "thread_instructions": outcome.instructions,
            "errors": errors,
            "warnings": outcome.entries.len() - errors,
            "printed": outcome.printed,
            "complete": outcome.complete,
            "least": outcome.log.as_ref().map(|least| json!({
                "seed": least.log.seed,
                "deviations": least.log.deviations,
                "decisions": least.of,
            })),
        }));
        lines
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

fn entry_json(entry: &Entry) -> Value {
    let finding = &entry.finding;
    let (mut earlier, mut almost) = (None, None);
    if let Finding::Hazard(hazard) = finding {
        (earlier, almost) = (hazard.other.as_ref(), hazard.almost.as_ref());
    }
    let threads = match finding {
        Finding::Hazard(hazard) => Some(hazard.threads.to_string()),
        Finding::Fault(failure) => Some(failure.threads.to_string()),
        _ => None,
    };
    let waiters = match finding {
        Finding::Deadlock(deadlock) => deadlock
            .waiters
            .iter()
            .map(|waiter| {
                json!({
                    "threads": waiter.threads.to_string(),
                    "at": site_json(&waiter.site),
                    "waits_for": waiter.reason,
                })
            })
            .collect(),
        _ => Vec::new(),
    };
    json!({
        "type": "finding",
        "rule": finding.rule(),
        "severity": finding.severity().to_string(),
        "message": message(finding),
        "here": finding.site().map(site_json),
        "threads": threads,
        "earlier": earlier.map(site_json),
        "not_enough": almost.map(site_json),
        "waiters": waiters,
        "fix": fix(finding),
        "schedules": entry.schedules,
        "seed": entry.seed,
    })
}

fn site_json(site: &Site) -> Value {
    let frame = |frame: &Frame| {
        json!({
            "file": &*frame.file,
            "line": frame.line,
            "column": frame.column,
            "function": frame.function.as_deref(),
        })
    };
    json!({
        "function": site.function,
        "line": site.line,
        "text": site.text,
        "source": site.frames.iter().map(frame).collect::<Vec<_>>(),
    })
}

/// What is wrong, in a sentence.
pub fn message(finding: &Finding) -> String {
    match finding {
        Finding::Hazard(hazard) => hazard.message.clone(),
        Finding::Fault(failure) => failure.fault.to_string(),
        Finding::Deadlock(deadlock) => {
            let waiting = deadlock.waiters.len();
            format!("deadlock: nothing can run; {waiting} waiting")
        }
        Finding::Endless { steps } => {
            format!("a run made {steps} thread-instructions without ending")
        }
        Finding::Wrong(wrong) => format!(
            "buffer `{}`: element {} is {}, and was to be {}; {} of {} differ",
            wrong.buffer, wrong.index, wrong.got, wrong.expected, wrong.differ.0, wrong.differ.1
        ),
    }
}

/// What to do.
pub fn fix(finding: &Finding) -> Option<String> {
    match finding {
        Finding::Hazard(hazard) => Some(hazard.fix.to_owned()),
        Finding::Endless { .. } => Some(
            "look for a loop that does not end, or raise `steps` in the launch description".into(),
        ),
        _ => None,
    }
}

/// What does not fit to a place.
fn notes(finding: &Finding) -> Vec<String> {
    match finding {
        Finding::Deadlock(deadlock) => {
            let rest = deadlock.waiters.iter().skip(WAITERS);
            rest.take(18).map(|waiter| format!("{}: {}", waiter.threads, waiter.reason)).collect()
        }
        _ => Vec::new(),
    }
}

/// The places of a finding, the main one first.
pub fn marks(finding: &Finding) -> Vec<Mark<'_>> {
    let mark = |site, label: String, primary| Mark { site, label, primary };
    match finding {
        Finding::Hazard(hazard) => {
            let mut marks = vec![mark(&hazard.site, format!("here, by {}", hazard.threads), true)];
            marks.extend(
                hazard.other.iter().map(|site| mark(site, "the earlier one".into(), false)),
            );
            marks.extend(
                hazard.almost.iter().map(|site| mark(site, "this is not enough".into(), false)),
            );
            marks
        }
        Finding::Fault(failure) => {
            vec![mark(&failure.site, format!("executed by {}", failure.threads), true)]
        }
        Finding::Deadlock(deadlock) => {
            let waiters = deadlock.waiters.iter().take(WAITERS).enumerate();
            let label =
                |waiter: &baton_emulator::Waiter| format!("{}: {}", waiter.threads, waiter.reason);
            waiters.map(|(i, waiter)| mark(&waiter.site, label(waiter), i == 0)).collect()
        }
        Finding::Endless { .. } | Finding::Wrong(_) => Vec::new(),
    }
}

/// The bytes of a line from its first character, or from a column, to its last.
fn line(text: &str, number: u32, column: u32) -> Option<Range<usize>> {
    let mut start = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if i + 1 == number as usize {
            let indent = line.len() - line.trim_start().len();
            let mut first = indent;
            if column > 0
                && let Some((at, _)) = line.char_indices().nth(column as usize - 1)
                && at > indent
            {
                first = at;
            }
            let last = line.trim_end().len();
            return (first < last).then(|| start + first..start + last);
        }
        start += line.len();
    }
    None
}

/// Beginnings of the paths of libraries, as the builder writes them: the device library and `core`.
const LIBRARIES: [&str; 2] = ["kernel-lib/", "library/"];

/// The frame that is shown: the innermost outside of the libraries that every kernel uses.
pub fn shown(site: &Site) -> Option<&Frame> {
    let own = |frame: &&Frame| !LIBRARIES.iter().any(|library| frame.file.starts_with(library));
    site.frames.iter().find(own).or(site.frames.first())
}

/// Characters of an instruction that are marked.
const MARKED: usize = 100;

/// A piece of text with marks.
fn snippet<'a>(
    path: &str,
    text: &'a str,
    places: &[(&Mark, Range<usize>)],
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    // Only what lies between the marks: a text may have a million lines.
    let first = places.iter().map(|place| place.1.start).min().unwrap_or(0);
    let last = places.iter().map(|place| place.1.end).max().unwrap_or(text.len());
    let first = text[..first].rfind('\n').map_or(0, |at| at + 1);
    let last = text[last..].find('\n').map_or(text.len(), |at| last + at);
    let mut snippet = Snippet::source(&text[first..last])
        .line_start(1 + text[..first].matches('\n').count())
        .path(path.to_owned());
    for (mark, span) in places {
        let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        // A product may name 128 registers. The renderer cuts lines, but nothing that is marked.
        let end = text[span.clone()]
            .char_indices()
            .nth(MARKED)
            .map_or(span.end, |(at, _)| span.start + at);
        let span = span.start - first..end - first;
        snippet = snippet.annotation(kind.span(span).label(mark.label.clone()));
    }
    snippet
}

fn origin(frame: &Frame) -> Origin<'static> {
    let origin = Origin::path(frame.file.to_string()).line(frame.line as usize);
    if frame.column == 0 { origin } else { origin.char_column(frame.column as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_marked_without_its_indent() {
        let text = "one\n  two three  \n\n";
        let piece = |number, column| line(text, number, column).map(|range| &text[range]);
        assert_eq!(piece(1, 0), Some("one"));
        assert_eq!(piece(2, 0), Some("two three"));
        assert_eq!(piece(2, 7), Some("three"));
        assert_eq!(piece(2, 99), Some("two three"));
        assert_eq!(piece(3, 0), None);
        assert_eq!(piece(9, 0), None);
    }
}
