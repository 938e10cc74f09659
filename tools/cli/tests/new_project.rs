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

/// What `baton` prints in the project.
fn baton(project: &Path, target: &Path, arguments: &[&str]) -> String {
    let output = output_of(
        Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(arguments)
            .current_dir(project)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
            .env("BATON_DEVICE", "emulator"),
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_new_project_runs_at_once_and_baton_works_in_it() {
    // A fixed place, so that a second run of this test builds nothing twice.
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-kernels");
    if project.exists() {
        std::fs::remove_dir_all(&project).expect("the last run's project");
    }
    let made = output_of(Command::new(env!("CARGO_BIN_EXE_baton")).arg("new").arg(&project));
    assert!(String::from_utf8_lossy(&made.stdout).contains("cargo run"));

    // Where this test was built itself: what both need is there already.
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").to_owned();
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--release", "--quiet", "--offline"]).current_dir(&project);
        cargo.env("CARGO_TARGET_DIR", &target).env("BATON_DEVICE", "emulator");
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
        cargo
    };
    let ran = output_of(&mut cargo("run"));
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(text.contains("10000 elements scaled by 2.5, 0 wrong"), "{text}");

    // The same, without a name: there is one program, and one crate of kernels.
    let baton = |arguments: &[&str]| baton(&project, &target, arguments);
    let list = baton(&["run", "--list"]);
    assert!(
        list.starts_with("first-kernels ") && list.contains("kernels: first-kernels-kernel"),
        "{list}"
    );
    assert!(baton(&["run"]).contains("0 wrong"));
    let built = baton(&["build", "--arch", "sm_90", "-o", "scale.ptx"]);
    assert!(
        built.contains("first-kernels-kernel for sm_90") && built.contains("scale:"),
        "{built}"
    );
    assert!(project.join("scale.ptx").is_file());

    let tested = output_of(&mut cargo("test"));
    let text = String::from_utf8_lossy(&tested.stdout);
    assert!(text.contains("1 passed"), "{text}");

    // Every thread stores into one element besides: of whatever value, nothing orders that.
    let file = project.join("kernel/src/lib.rs");
    let kernel = fs::read_to_string(&file).expect("the kernel");
    let race = "unsafe { baton::ptx::st::st_weak(place_of_all, factor) };\n    let (cta, ()) = cta.claim();";
    let broken = kernel.replace("let (cta, ()) = cta.claim();", race).replace(
        "    for mut place",
        "    let place_of_all = output.address();\n    for mut place",
    );
    assert_ne!(kernel, broken);
    fs::write(&file, broken).expect("a writable project");
    let failed = cargo("test").output().expect("cargo starts");
    let words = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success());
    let text = String::from_utf8_lossy(&failed.stdout);
    assert!(
        text.contains("seed 0:\nerror: global address") && text.contains("(rule A"),
        "{text}{words}"
    );
}
