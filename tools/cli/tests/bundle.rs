//! A bundle runs from another folder, without cargo, and its logs say what became of each run.

use std::fs;
use std::process::Command;

#[test]
fn a_bundle_runs_where_there_is_no_rust() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bundle = folder.path().join("bundle");
    let made = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["bundle", "--out"])
        .arg(&bundle)
        .output()
        .expect("baton starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bytes: u64 = fs::read_dir(bundle.join("bin"))
        .expect("programs")
        .map(|program| program.and_then(|program| program.metadata()).expect("a file").len())
        .sum();
    assert!(bytes < 60 << 20, "{bytes} bytes");

    let ran = Command::new(bundle.join("run.sh"))
        .arg("--tiny")
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("BATON_DEVICE", "emulator")
        .output()
        .expect("the script starts");
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{shown}{}", String::from_utf8_lossy(&ran.stderr));

    let results = bundle.join("results");
    let text = fs::read_to_string(results.join("results.txt")).expect("there is a log to read");
    let log = fs::read(results.join("results.json")).expect("there is a log for programs");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("the log is JSON");
    assert_eq!((log["failed"].as_u64(), log["tiny"].as_bool()), (Some(0), Some(true)), "{log:#}");
    let runs = log["runs"].as_array().expect("a list of runs");
    let status = |run: &serde_json::Value| run["status"].as_str().map(str::to_owned);
    for run in runs {
        if status(run).as_deref() == Some("passed") {
            assert_eq!(run["report"]["verified"], true, "{run:#}");
        }
    }
    let of = |program: &str| -> Vec<_> {
        runs.iter().filter(|run| run["program"] == program).filter_map(status).collect()
    };
    for program in [
        "device-checks",
        "reservation",
        "litmus-stress",
        "try-wait-order",
        "message-passing",
        "ring",
        "bulk-copy",
        "device-times",
    ] {
        assert_eq!(of(program), ["passed"], "{log:#}");
        assert!(text.contains(&format!("passed   {program} ")), "{program}:\n{text}");
    }
    // Once with each kind of tiles, and once into bf16.
    assert_eq!(of("gemm-hopper"), ["passed"; 4], "{log:#}");
    assert_eq!(of("protocols").len(), 11);
    // What needs a newer GPU is named.
    assert_eq!(of("gemm-blackwell"), ["skipped"], "{log:#}");
    assert!(text.contains("skipped  gemm-blackwell : needs a GPU of sm_100a"), "{text}");
    assert!(results.join("try-wait-order.svg").is_file());
}
