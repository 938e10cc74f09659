//! Findings in the format that code hosts show: SARIF 2.1.0 (OASIS).
//!
//! A finding's place is the source line where that is known and readable, else the PTX line. All
//! other places are related locations.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Component, Path};

use baton_emulator::{Severity, Site};
use serde_json::{Map, Value, json};

use super::report::{Mark, Report, fix, marks, message, shown};
use super::search::Entry;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of one run of the tool.
pub fn log(report: &Report) -> Value {
    let mut rules: Vec<String> =
        report.outcome.entries.iter().map(|entry| entry.finding.rule()).collect();
    rules.sort();
    rules.dedup();
    let results: Vec<Value> =
        report.outcome.entries.iter().map(|entry| result(report, entry, &rules)).collect();
    let descriptors: Vec<Value> = rules.iter().map(|rule| descriptor(report, rule)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "baton check",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": descriptors,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true }],
            "results": results,
        }],
    })
}

fn descriptor(report: &Report, rule: &str) -> Value {
    let of_rule = report.outcome.entries.iter().find(|entry| entry.finding.rule() == rule);
    let (short, full) = match (word(rule), text(rule)) {
        (Some((short, full)), _) => (short.to_owned(), full.to_owned()),
        (None, Some(text)) => (format!("Rule {rule} of docs/rules.md"), text),
        (None, None) => (format!("Rule {rule}"), format!("Rule {rule}")),
    };
    let mut descriptor = json!({
        "id": rule,
        "shortDescription": { "text": short },
        "fullDescription": { "text": full },
    });
    if let Some(help) = of_rule.and_then(|entry| fix(&entry.finding)) {
        descriptor["help"] = json!({ "text": help });
    }
    descriptor
}

/// What a word means that stands for a rule.
fn word(rule: &str) -> Option<(&'static str, &'static str)> {
    Some(match rule {
        "deadlock" => (
            "Nothing can run any more",
            "Every thread that has not ended waits for something that none of the others can do.",
        ),
        "endless" => (
            "A run does not end",
            "A run reached the limit of thread-instructions that its launch description sets.",
        ),
        "wrong-result" => (
            "A result differs from what was expected",
            "A buffer does not hold what the launch description expects behind the launch.",
        ),
        "uninitialised" => (
            "Memory is read that nothing wrote",
            "A thread read bytes that neither the host nor any thread had written.",
        ),
        "out-of-bounds" => (
            "An access lies outside of its memory",
            "An instruction addressed bytes that no allocation, variable or window holds.",
        ),
        "misaligned" => (
            "An address is not aligned",
            "An instruction needs an address that is a multiple of the size of its access.",
        ),
        "trap" => ("The kernel stopped itself", "The kernel executed `trap` or `brkpt`."),
        "assertion" => ("The kernel stopped itself", "A device assertion failed."),
        "fault" => (
            "An instruction did what it must not",
            "An instruction was executed in a way that PTX does not allow; the run ended there.",
        ),
        _ => return None,
    })
}

/// The table of all rules.
const RULES: &str = include_str!("rules.md");

/// The text of a rule in the table.
fn text(rule: &str) -> Option<String> {
    RULES.lines().find_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|');
        let text = (cells.next()?.trim() == rule).then(|| cells.next())??;
        Some(text.trim().to_owned())
    })
}

fn result(report: &Report, entry: &Entry, rules: &[String]) -> Value {
    let finding = &entry.finding;
    let rule = finding.rule();
    let marks = marks(finding);
    let mut locations = Vec::new();
    let mut related = Vec::new();
    for mark in &marks {
        let source = source_location(report, mark.site);
        let ptx = ptx_location(report, mark.site);
        if mark.primary && locations.is_empty() {
            if let Some(source) = source {
                locations.push(source);
                related.push(labelled(ptx, mark, related.len()));
            } else {
                locations.push(ptx);
            }
        } else {
            related.push(labelled(source.unwrap_or(ptx), mark, related.len()));
        }
    }
    if locations.is_empty() {
        // A wrong result has no instruction; hosts show only what has a place.
        locations.push(json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(report.file) },
            "region": { "startLine": 1 },
        }}));
    }
    let mut said = message(finding);
    if let Some(fix) = fix(finding) {
        said += &format!(". Fix: {fix}");
    }
    let mut hash = DefaultHasher::new();
    (finding.key(), finding.site().map(|site| &site.text)).hash(&mut hash);
    json!({
        "ruleId": rule,
        "ruleIndex": rules.iter().position(|other| *other == rule),
        "level": match finding.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": { "text": said },
        "locations": locations,
        "relatedLocations": related,
        "partialFingerprints": { "batonFinding/v1": format!("{:016x}", hash.finish()) },
        "properties": { "kernel": report.kernel, "schedules": entry.schedules, "seed": entry.seed },
    })
}

fn labelled(location: Value, mark: &Mark, id: usize) -> Value {
    let mut location = location;
    location["id"] = json!(id);
    location["message"] = json!({ "text": format!("{}: {}", mark.label, mark.site.text) });
    location
}

fn ptx_location(report: &Report, site: &Site) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(report.file) },
        "region": { "startLine": site.line.max(1) },
    }})
}

fn source_location(report: &Report, site: &Site) -> Option<Value> {
    let frame = shown(site)?;
    let path = report.source(frame)?;
    let mut region = Map::new();
    region.insert("startLine".into(), json!(frame.line.max(1)));
    if frame.column != 0 {
        region.insert("startColumn".into(), json!(frame.column));
    }
    Some(json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(path) },
        "region": region,
    }}))
}

/// A path as a URI: relative where it lies below the current folder, so that hosts find it in the
/// repository.
fn uri(path: &Path) -> String {
    let here = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = here.as_deref().and_then(|here| real.strip_prefix(here).ok());
    let (prefix, path) = match below {
        Some(below) => ("", below),
        None if real.is_absolute() => ("file://", real.as_path()),
        None => ("", real.as_path()),
    };
    let mut uri = String::from(prefix);
    for component in path.components() {
        match component {
            Component::RootDir => {}
            component => {
                if prefix == "file://" || !uri.is_empty() {
                    uri.push('/');
                }
                uri += &escaped(&component.as_os_str().to_string_lossy());
            }
        }
    }
    uri
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@+,=".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_the_table_has_its_text() {
        let rows = RULES.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
        let rules: Vec<&str> = rows
            .filter(|name| name.len() > 1 && name[1..].bytes().all(|c| c.is_ascii_digit()))
            .collect();
        assert!(rules.len() > 60, "{rules:?}");
        for rule in rules {
            assert!(text(rule).is_some_and(|text| text.len() > 20), "{rule}");
        }
        assert_eq!(text("A99"), None);
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(
            uri(Path::new("no such/file with blanks.ptx")),
            "no%20such/file%20with%20blanks.ptx"
        );
        assert_eq!(uri(Path::new("/no-such/a%b.ptx")), "file:///no-such/a%25b.ptx");
    }
}
