//! Findings that look like one mistake: one rule between the same lines of the source.
//!
//! An unrolled loop of loads behind one missing barrier is dozens of pairs of PTX instructions, and
//! one line to mend. Where no source line is known, the functions stand for the lines.

use std::collections::BTreeSet;

use baton_emulator::{Severity, Site};

use super::report::shown;
use super::search::{Entry, Finding, Outcome};

/// Entries with one likely cause.
pub struct Group<'a> {
    /// The one that is shown: of the first seed, and of these the first by place.
    pub shown: &'a Entry,
    /// The others.
    pub rest: Vec<&'a Entry>,
}

/// A line of a source file, or a function.
type Place<'a> = (&'a str, u32);

#[derive(PartialEq, Eq)]
struct Key<'a> {
    rule: String,
    severity: Severity,
    fix: &'static str,
    /// In no order: which access comes first depends on the schedule.
    places: BTreeSet<Place<'a>>,
    almost: Option<Place<'a>>,
}

/// What all findings of a mistake have in common; `None` for what is one by itself.
fn key(finding: &Finding) -> Option<Key<'_>> {
    let (rule, severity) = (finding.rule(), finding.severity());
    match finding {
        Finding::Hazard(hazard) => Some(Key {
            rule,
            severity,
            fix: hazard.fix,
            places: [Some(&hazard.site), hazard.other.as_ref()]
                .into_iter()
                .flatten()
                .map(place)
                .collect(),
            almost: hazard.almost.as_ref().map(place),
        }),
        Finding::Fault(failure) => Some(Key {
            rule,
            severity,
            fix: "",
            places: BTreeSet::from([place(&failure.site)]),
            almost: None,
        }),
        Finding::Deadlock(_) | Finding::Endless { .. } | Finding::Wrong(_) => None,
    }
}

fn place(site: &Site) -> Place<'_> {
    shown(site).map_or((&site.function, 0), |frame| (&frame.file, frame.line))
}

/// The entries of an outcome in groups, in the order of their first entries.
pub fn groups(outcome: &Outcome) -> Vec<Group<'_>> {
    let mut groups: Vec<(Option<Key>, Group)> = Vec::new();
    for entry in &outcome.entries {
        let key = key(&entry.finding);
        match groups.iter_mut().find(|(other, _)| key.is_some() && *other == key) {
            None => groups.push((key, Group { shown: entry, rest: Vec::new() })),
            Some((_, group)) if entry.seed < group.shown.seed => {
                group.rest.push(std::mem::replace(&mut group.shown, entry));
            }
            Some((_, group)) => group.rest.push(entry),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Group<'_> {
    /// What is said about the entries that are not shown, with up to `most` of their PTX lines.
    pub fn others(&self, most: usize) -> Option<String> {
        let count = self.rest.len();
        if count == 0 {
            return None;
        }
        let mut lines: Vec<(u32, u32)> = self.rest.iter().map(|e| lines(&e.finding)).collect();
        lines.sort_unstable();
        let list: Vec<String> = lines
            .iter()
            .take(most)
            .map(|&(here, other)| match other {
                0 => here.to_string(),
                other => format!("{here} after {other}"),
            })
            .collect();
        let more = if count > most { ", …" } else { "" };
        let places = if count == 1 { "place" } else { "places" };
        let line = if count == 1 { "line" } else { "lines" };
        Some(format!(
            "and {count} more {places} of the same kind: PTX {line} {}{more}",
            list.join(", ")
        ))
    }
}

fn lines(finding: &Finding) -> (u32, u32) {
    let (_, here, other) = finding.key();
    (here, other)
}
