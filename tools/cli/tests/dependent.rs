//! Launches that may overlap (programmatic dependent launch): `[[launch]]` of a description, and rule F6 with the pair of
//! instructions that no `griddepcontrol.wait` orders.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const PTX: &str = include_str!("dependent/chain.ptx");
const LAUNCH: &str = include_str!("dependent/chain.toml");

fn check(ptx: &str, launch: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("chain.ptx"), ptx).expect("a writable folder");
    fs::write(folder.path().join("chain.toml"), launch).expect("a writable folder");
    Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["check", "chain.ptx", "--launch", "chain.toml", "--schedules", "20"])
        .args(more)
        .current_dir(folder.path())
        .output()
        .expect("baton starts")
}

/// What a comment at the end of a PTX line calls it.
fn label<'a>(ptx: &'a str, site: &Value) -> &'a str {
    let line = site["line"].as_u64().expect("a line") as usize;
    ptx.lines().nth(line - 1).and_then(|text| text.split("// ").nth(1)).unwrap_or("?")
}

/// The pairs of instructions that are reported, all of rule F6 and all errors.
#[track_caller]
fn pairs(ptx: &str, launch: &str) -> BTreeSet<String> {
    let output = check(ptx, launch, &["--strict", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = text.lines().map(|line| serde_json::from_str(line).expect("an object a line"));
    let all: Vec<Value> = all.collect();
    let findings = all.iter().filter(|object| object["type"] == "finding");
    let pairs: BTreeSet<String> = findings
        .map(|finding| {
            assert_eq!(
                (&finding["rule"], &finding["severity"]),
                (&"F6".into(), &"error".into()),
                "{finding}"
            );
            format!("{} before {}", label(ptx, &finding["here"]), label(ptx, &finding["earlier"]))
        })
        .collect();
    assert_eq!(output.status.code(), Some(i32::from(!pairs.is_empty())), "{text}");
    pairs
}

fn set(pairs: &[&str]) -> BTreeSet<String> {
    pairs.iter().map(|pair| (*pair).to_owned()).collect()
}

/// The program with lines moved, each `from => to`.
#[track_caller]
fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(PTX.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

const SCALE_WAITS: &str = "griddepcontrol.wait; // scale waits";
const TOTAL_WAITS: &str = "griddepcontrol.wait; // total waits";
const EARLY: (&str, &str) = ("// (early trigger)", "griddepcontrol.launch_dependents;");
const LATE: (&str, &str) = ("// (late trigger)", "griddepcontrol.launch_dependents;");

#[test]
fn three_launches_that_wait_are_silent_wherever_they_let_the_next_begin() {
    // `produce` lets it begin before its stores: what counts is the wait.
    assert_eq!(pairs(PTX, LAUNCH), set(&[]));
    assert_eq!(pairs(&with(&[EARLY]), LAUNCH), set(&[]));
    assert_eq!(pairs(&with(&[LATE]), LAUNCH), set(&[]));
}

#[test]
fn a_missing_wait_is_reported_with_both_instructions() {
    // `scale` may then end before `produce`, whose end the wait of `total` does not cover.
    let found = pairs(&with(&[(SCALE_WAITS, "")]), LAUNCH);
    let expected = [
        "scale loads before produce stores",
        "scale stores before produce stores",
        "total loads before produce stores",
    ];
    assert_eq!(found, set(&expected));
}

#[test]
fn a_wait_behind_the_access_is_too_late_for_it() {
    let found =
        pairs(&with(&[(SCALE_WAITS, ""), ("// (late wait)", "griddepcontrol.wait;")]), LAUNCH);
    // It is in time for `total`, which waits for `scale`.
    let expected = ["scale loads before produce stores", "scale stores before produce stores"];
    assert_eq!(found, set(&expected));
}

#[test]
fn how_far_back_a_launch_may_overlap_depends_on_where_the_one_between_lets_it_begin() {
    // Behind its wait: `produce` has ended when `total` begins.
    let found = pairs(&with(&[LATE, (TOTAL_WAITS, "")]), LAUNCH);
    assert_eq!(found, set(&["total loads before scale stores"]));
    // By itself `scale` lets it begin at its end, which is behind its wait, too.
    let found = pairs(&with(&[(TOTAL_WAITS, "")]), LAUNCH);
    assert_eq!(found, set(&["total loads before scale stores"]));
    // Before it: `produce` may still be storing.
    let found = pairs(&with(&[EARLY, (TOTAL_WAITS, "")]), LAUNCH);
    let expected = ["total loads before scale stores", "total loads before produce stores"];
    assert_eq!(found, set(&expected));
}

#[test]
fn what_the_launch_before_reads_is_not_overwritten_under_it() {
    let mut launches: Vec<&str> = LAUNCH.split("[[launch]]").collect();
    let again = format!("{}dependent = true\n\n", launches[1].trim_end().to_owned() + "\n");
    launches[2] = "";
    launches.retain(|launch| !launch.is_empty());
    let [produce, total] = [launches[0], launches[1]];
    let (total, rest) = total.split_once("[buffer").expect("buffers");
    let rest = rest.replace("expect = 4032", "expect = 2016");
    let text = format!("[[launch]]{produce}[[launch]]{total}[[launch]]{again}[buffer{rest}");
    assert_eq!(pairs(PTX, &text), set(&["produce stores before total loads"]));
}

#[test]
fn one_thread_waits_for_its_cta_ahead_of_a_barrier() {
    let barrier = "setp.ne.u32 %p0, %r0, 0;\n@!%p0 griddepcontrol.wait;\nbar.sync 0;";
    assert_eq!(pairs(&with(&[(SCALE_WAITS, barrier)]), LAUNCH), set(&[]));
    // Without the barrier its wait is not the others'.
    let alone = barrier.replace("bar.sync 0;", "");
    let found = pairs(&with(&[(SCALE_WAITS, &alone)]), LAUNCH);
    let expected = ["scale loads before produce stores", "scale stores before produce stores"];
    assert_eq!(found, set(&expected));
}

#[test]
fn a_launch_that_is_not_dependent_begins_behind_the_end_of_the_one_before() {
    let launch = LAUNCH.replace("dependent = true", "dependent = false");
    assert_eq!(pairs(&with(&[(SCALE_WAITS, ""), (TOTAL_WAITS, "")]), &launch), set(&[]));
}

#[test]
fn the_report_shows_the_pair_and_the_command_that_shows_it_again() {
    let output = check(&with(&[(TOTAL_WAITS, "")]), LAUNCH, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("error[F6]: global address 0x1000000000 is read here and was written by `scale`, which may not have ended"), "{text}");
    assert!(text.contains("// scale stores\n   |     ---"), "{text}");
    assert!(
        text.ends_with("again: baton check chain.ptx --launch chain.toml --replay 0\n"),
        "{text}"
    );
}

#[test]
fn launches_name_kernels_of_the_file() {
    let refused = |launch: &str, more: &[&str], words: &str| {
        let output = check(PTX, launch, more);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(words), "{text}");
    };
    refused(&LAUNCH.replace("\"scale\"", "\"scales\""), &[], "did you mean `scale`?");
    refused(&LAUNCH.replace("\"scale\"", "\"scales\""), &[], "chain.toml:8:10");
    refused(LAUNCH, &["--kernel", "scale"], "each launch names its kernel");
    let unnamed = LAUNCH.replace("kernel = \"total\"\n", "");
    refused(&unnamed, &[], "choose one by --kernel, or by `kernel` in each launch");
    assert_eq!(check(PTX, &unnamed, &["--kernel", "total"]).status.code(), Some(0));
}

#[test]
fn the_decisions_of_several_launches_are_one_list() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let log = log.to_str().expect("a name in UTF-8");
    // A race inside the third launch: a decision in it, behind those of the others.
    let racy = PTX.replace("red.global.add.u32 [%d2], %r3;", "ld.volatile.global.b32 %r4, [%d2]; add.u32 %r4, %r4, %r3; st.volatile.global.b32 [%d2], %r4;");
    let output = check(&racy, LAUNCH, &["--json", "--log", log]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(Path::new(log).exists(), "{text}");
    let again = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["check", "chain.ptx", "--launch", "chain.toml", "--replay", log])
        .current_dir({
            fs::write(folder.path().join("chain.ptx"), &racy).expect("a writable folder");
            fs::write(folder.path().join("chain.toml"), LAUNCH).expect("a writable folder");
            folder.path()
        })
        .output()
        .expect("baton starts");
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stdout));
}
