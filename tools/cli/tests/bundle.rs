//! A bundle runs from another folder, without cargo, and its log is JSON.

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

    let log = folder.path().join("log.json");
    let ran = Command::new(bundle.join("run.sh"))
        .arg("--log")
        .arg(&log)
        .args(["--device", "emulator"])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("the script starts");
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{shown}{}", String::from_utf8_lossy(&ran.stderr));

    let log = fs::read(&log).expect("there is a log");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("the log is JSON");
    assert_eq!(log["passed"], 3, "{log:#}");
    for run in log["runs"].as_array().expect("a list of runs") {
        assert!(run["report"].is_object(), "{run:#}");
    }
}
