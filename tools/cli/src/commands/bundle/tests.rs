use serde_json::Value;

use super::*;
use crate::workspace::BundledRun;

#[test]
fn a_target_is_recognised_in_full() {
    assert!(has_kernels_for(b"\x7fELF.. .version 8.0\n.target sm_90a\n", Arch::Sm90a));
    assert!(!has_kernels_for(b".target sm_90a\n", Arch::Sm100a));
    assert!(has_kernels_for(b".target sm_90a\n.target sm_80\n", Arch::Sm100a));
    assert!(!has_kernels_for(b"no kernels", Arch::Sm90a));
}

/// Without building it: that the whole bundle runs is tested in `tests/bundle.rs`, in minutes.
#[test]
fn the_checks_of_the_host_are_in_the_bundle() {
    let examples = Workspace::find().unwrap().examples().unwrap();
    for name in ["device-checks", "reservation"] {
        let found = examples.iter().find(|example| example.name == name).unwrap();
        assert!(runs_on(found, Arch::Sm90a) && !found.runs.is_empty(), "{name} is not packed");
    }
}

#[test]
fn the_newest_c_library_counts() {
    let program: &[u8] = b"GLIBC_2.9\0GLIBC_2.34\0GLIBC_PRIVATE\0";
    assert_eq!(c_library([program].into_iter()), Some((2, 34)));
}

fn example(name: &str, runs: &[(&str, &str, u64)]) -> Example {
    let run = |(arguments, tiny, seconds): &(&str, &str, u64)| BundledRun {
        arguments: (*arguments).into(),
        tiny: (*tiny).into(),
        seconds: *seconds,
    };
    Example {
        name: name.into(),
        description: format!("what {name} shows"),
        targets: vec!["sm_100a".into()],
        kernels: None,
        rank: 0,
        runs: runs.iter().map(run).collect(),
    }
}

/// A shell script in a program's place.
fn packed(name: &str, runs: &[(&str, &str, u64)], script: &str) -> Packed {
    Packed { example: example(name, runs), program: format!("#!/bin/sh\n{script}\n").into_bytes() }
}

/// Behaves like an example: prints its arguments, and writes a report where it is told to.
const GOOD: &str = r#"echo "hello $*"
while [ "$1" != --report ]; do shift; done
echo '{"verified": true}' >"$2""#;

/// Prints what JSON has to escape, and fails.
const BAD: &str = r#"printf 'tab\there "quoted" back\\slash\n' >&2; exit 3"#;

fn run_script(bundle: &Path, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let out = bundle.with_extension("results");
    let output = std::process::Command::new(bundle.join("run.sh"))
        .args(["--out".as_ref(), out.as_os_str()])
        .args(arguments)
        .env("BATON_DEVICE", "emulator")
        .output()
        .unwrap();
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let text = read("results.json");
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    (output.status.code(), json, read("results.txt"))
}

#[test]
fn the_script_logs_every_run_and_fails_when_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/bundle");
    let programs = [
        packed("a-good", &[("--size 9", "--size 1", 5), ("", "", 5)], GOOD),
        packed("b-bad", &[("", "", 5)], BAD),
    ];
    write_bundle(&out, Arch::Sm90a, &programs, &[example("c-new", &[])]).unwrap();

    let (status, log, text) = run_script(&out, &["--tiny", "--seed", "4"]);
    assert_eq!(status, Some(1));
    assert_eq!(
        (&log["passed"], &log["failed"], &log["skipped"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(log["bundle"]["target"], json!("sm_90a"));
    let [skipped, small, plain, bad] = log["runs"].as_array().unwrap().as_slice() else {
        panic!("{log:#}")
    };
    assert_eq!((&skipped["program"], &skipped["status"]), (&json!("c-new"), &json!("skipped")));
    assert_eq!(skipped["errors"], json!("needs a GPU of sm_100a"));
    assert_eq!((&small["status"], &small["arguments"]), (&json!("passed"), &json!("--size 1")));
    assert_eq!(small["report"], json!({"verified": true}));
    let said = small["output"].as_str().unwrap();
    assert!(said.starts_with("hello --size 1 --device emulator --report "), "{said}");
    assert!(said.ends_with(" --seed 4"), "{said}");
    assert_eq!(plain["arguments"], json!(""));
    assert_eq!((&bad["exit_code"], &bad["report"]), (&json!(3), &json!(null)));
    assert_eq!(bad["errors"], json!("tab\there \"quoted\" back\\slash"));
    for line in
        ["skipped  c-new : needs a GPU of sm_100a", "passed   a-good --size 1", "failed   b-bad"]
    {
        assert!(text.contains(line), "{line}:\n{text}");
    }

    let (_, log, _) = run_script(&out, &[]);
    assert_eq!(log["runs"][1]["arguments"], json!("--size 9"));

    let out = folder.path().join("all-good");
    write_bundle(&out, Arch::Sm90a, &programs[..1], &[]).unwrap();
    assert_eq!(run_script(&out, &[]).0, Some(0));
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn time_runs_out_for_a_run_and_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("slow");
    let programs =
        [packed("a-slow", &[("", "", 1)], "exec sleep 60"), packed("b-good", &[("", "", 5)], GOOD)];
    write_bundle(&out, Arch::Sm90a, &programs, &[]).unwrap();
    let (status, log, _) = run_script(&out, &[]);
    assert_eq!(status, Some(1));
    assert_eq!(log["runs"][0]["exit_code"], json!(124));
    assert_eq!(log["runs"][0]["errors"], json!("ended after 1 seconds"));
    assert_eq!(log["runs"][1]["status"], json!("passed"));

    let (status, log, _) = run_script(&out, &["--budget", "0"]);
    assert_eq!((status, &log["skipped"]), (Some(0), &json!(2)));
    assert_eq!(log["runs"][1]["errors"], json!("the budget of 0 seconds is used up"));
}

#[test]
fn what_would_break_the_plan_is_refused() {
    let programs = [packed("a", &[("--x 1|2", "", 5)], GOOD)];
    assert!(plan(&programs, &[]).unwrap_err().to_string().contains("`a`"));
}
