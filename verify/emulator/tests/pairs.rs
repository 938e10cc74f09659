//! What others' race detectors test, in own programs: the pairs of the suites of Triton's ConSan (`pairs/consan`: stages,
//! barriers, copies, products) and of ScoR (`pairs/scor`: scopes and fences in flags, locks, counters, queues).
//!
//! The header of a program says what it is about and how it is launched. Each `says` is a rule with the labels of its
//! instructions (`// @label` behind them): `A after B` for the later and the earlier access, `A with B` where either may be
//! the later one, or the place alone. Under some schedules all of them have to be reported, and under none anything else.
//! With the replacements of `fix` nothing may be said, strictly.

use baton_emulator::{Error, Launch, Machine, Options, Program, Severity, Site};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const SEEDS: u64 = 40;

/// Rule, place, and place of the earlier access.
type Said = (String, String, Option<String>);

struct Case {
    name: String,
    says: Vec<String>,
    launch: Launch,
    wrong: String,
    right: String,
}

impl Case {
    fn read(path: &Path) -> Case {
        let text = fs::read_to_string(path).expect("the corpus is readable");
        let header = |key: &str| {
            let prefix = format!("// {key}: ");
            let lines = text.lines().filter_map(|line| line.strip_prefix(&*prefix));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let launch = header("launch").concat();
        let number = |key: &str| {
            let of = |part: &str| part.strip_prefix(key)?.strip_prefix('=')?.parse().ok();
            launch.split(' ').find_map(of).unwrap_or(0)
        };
        let mut right = text.clone();
        for fix in header("fix") {
            let (from, to) = fix.split_once("=>").expect("fix: FROM => TO");
            // The header has it as well.
            let body = right.find(".version").expect("a module");
            let (head, body) = right.split_at(body);
            assert!(body.contains(from.trim()), "{}: {from}", path.display());
            right = head.to_owned() + &body.replace(from.trim(), to.trim());
        }
        let cluster = if number("cluster") == 0 { [0; 3] } else { [number("cluster"), 1, 1] };
        assert_eq!(header("asks").len(), 1, "{}", path.display());
        Case {
            name: path.display().to_string(),
            says: header("says"),
            launch: Launch {
                kernel: "k".into(),
                grid: [number("grid"), 1, 1],
                block: [number("block"), 1, 1],
                cluster,
                ..Launch::default()
            },
            wrong: text,
            right,
        }
    }

    /// What is said under a seed, each with whether it is an error.
    fn said(&self, text: &str, seed: u64, strict: bool) -> Vec<(Said, bool)> {
        let label = |site: &Site| {
            let line = text.lines().nth(site.line as usize - 1).unwrap_or_default();
            line.split_once("// @").map_or(format!("line {}", site.line), |(_, at)| at.to_owned())
        };
        let program = Program::load(text, &self.name, None).unwrap_or_else(|e| panic!("{e}"));
        let step_limit = Some(1 << 21);
        let mut machine = Machine::new(Options { seed, strict, step_limit, ..Options::default() });
        let address = machine.alloc(4096, 256).expect("memory");
        machine.write(address, &[0; 4096]).expect("memory");
        let launch = Launch { params: vec![address.to_le_bytes().to_vec()], ..self.launch.clone() };
        let (hazards, error) = match machine.launch(&program, &launch) {
            Ok(report) => (report.hazards, None),
            Err(error) => (machine.after().hazards.clone(), Some(error)),
        };
        let mut said: Vec<(Said, bool)> = hazards
            .iter()
            .map(|h| {
                let pair = (h.rule.to_owned(), label(&h.site), h.other.as_ref().map(label));
                (pair, h.severity == Severity::Error)
            })
            .collect();
        match error {
            None => {}
            Some(Error::Fault(failure)) => {
                let told = failure.fault.to_string();
                let rule = told.split("(rule ").nth(1).and_then(|rest| rest.split(')').next());
                let rule = rule.unwrap_or("fault").to_owned();
                said.push(((rule, label(&failure.site), None), true));
            }
            Some(Error::Deadlock(deadlock)) => {
                let rule = deadlock.rule().unwrap_or("deadlock");
                let sites = deadlock.waiters.iter().map(|waiter| label(&waiter.site));
                let sites: BTreeSet<String> = sites.collect();
                said.extend(sites.into_iter().map(|site| ((rule.to_owned(), site, None), true)));
            }
            Some(other) => panic!("{}: {other}", self.name),
        }
        said
    }
}

/// Whether something that was said is what a line of the header says.
fn is(line: &str, (rule, here, earlier): &Said) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    let pair = earlier.as_deref().map(|earlier| (here.as_str(), earlier));
    match words[..] {
        [of, at] => of == rule && at == here && pair.is_none(),
        [of, later, "after", first] => of == rule && pair == Some((later, first)),
        [of, one, "with", other] => {
            of == rule && (pair == Some((one, other)) || pair == Some((other, one)))
        }
        _ => panic!("says: {line}"),
    }
}

fn all(suite: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pairs").join(suite);
    let entries = fs::read_dir(folder).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[track_caller]
fn judged(suite: &str, least: usize) {
    let paths = all(suite);
    assert!(paths.len() >= least, "{} programs", paths.len());
    let mut problems = Vec::new();
    for path in paths {
        let case = Case::read(&path);
        let mut found = BTreeSet::new();
        for seed in 0..SEEDS {
            for (said, is_error) in case.said(&case.wrong, seed, false) {
                // Whether a copy has come by then is chance; that it was not awaited is the error.
                if !is_error && said.0 != "uninitialised" {
                    problems.push(format!("{}: only a warning: {said:?}", case.name));
                }
                found.insert(said);
            }
        }
        let missing = case.says.iter().filter(|line| !found.iter().any(|said| is(line, said)));
        problems.extend(missing.map(|line| format!("{}: not reported: {line}", case.name)));
        let more = found.iter().filter(|said| !case.says.iter().any(|line| is(line, said)));
        problems.extend(more.map(|said| format!("{}: reported as well: {said:?}", case.name)));
        for seed in 0..SEEDS {
            let said = case.said(&case.right, seed, true);
            if let Some(first) = said.first() {
                problems.push(format!("{}, corrected, seed {seed}: {first:?}", case.name));
                break;
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn stages_barriers_copies_and_products_as_consan_tests_them() {
    judged("consan", 35);
}

#[test]
fn scopes_and_fences_as_scor_tests_them() {
    judged("scor", 20);
}
