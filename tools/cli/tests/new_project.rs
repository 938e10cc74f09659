//! A project made by `baton new` works with plain cargo, on a machine without a GPU.

use std::path::Path;
use std::process::{Command, Output};

fn output_of(command: &mut Command) -> Output {
    let output = command.output().expect("the command starts");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    output
}

#[test]
fn a_new_project_runs_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = output_of(
        Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(["new", "first-kernels", "--path"])
            .arg(folder.path()),
    );
    assert!(String::from_utf8_lossy(&made.stdout).contains("cargo run"));

    // Dependencies are built once for all runs of this test, and never with what cargo tells tests.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-project");
    let ran = output_of(
        Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--offline"])
            .current_dir(folder.path().join("first-kernels"))
            .env("CARGO_TARGET_DIR", target)
            .env("BATON_DEVICE", "emulator"),
    );
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("10000 elements scaled by 2.5, 0 wrong"), "{text}");
}
