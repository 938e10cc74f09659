//! A project made by `baton new` works with plain cargo, on a machine without a GPU.

use std::fs;
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
    let project = folder.path().join("first-kernels");
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--quiet", "--offline"]).current_dir(&project);
        cargo.env("CARGO_TARGET_DIR", &target).env("BATON_DEVICE", "emulator");
        cargo
    };
    let ran = output_of(&mut cargo("run"));
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("10000 elements scaled by 2.5, 0 wrong"), "{text}");
    let tested = output_of(&mut cargo("test"));
    let text = String::from_utf8_lossy(&tested.stdout);
    assert!(text.contains("1 passed"), "{text}");

    // Every thread stores into one element besides: of whatever value, nothing orders that.
    let file = project.join("kernel/src/lib.rs");
    let kernel = fs::read_to_string(&file).expect("the kernel");
    let race =
        "unsafe { baton::ptx::st_weak(place_of_all, factor) };\n    let (cta, ()) = cta.claim();";
    let broken = kernel.replace("let (cta, ()) = cta.claim();", race).replace(
        "    for mut place",
        "    let place_of_all = output.address();\n    for mut place",
    );
    assert_ne!(kernel, broken);
    fs::write(&file, broken).expect("a writable project");
    let failed = cargo("test").output().expect("cargo starts");
    assert!(!failed.status.success());
    let text = String::from_utf8_lossy(&failed.stdout);
    assert!(text.contains("seed 0:\nerror: global address") && text.contains("(rule A"), "{text}");
}
