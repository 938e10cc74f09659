//! Cooperative launches: all CTAs of a grid meet, as nvcc compiles `sync()` of a grid of cooperative groups.

use std::fs;
use std::process::Command;

const PTX: &str = include_str!("cooperative/meet.ptx");
const LAUNCH: &str = include_str!("cooperative/meet.toml");

/// The exit code and what is printed.
fn check(ptx: &str, launch: &str) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("meet.ptx"), ptx).expect("a writable folder");
    fs::write(folder.path().join("meet.toml"), launch).expect("a writable folder");
    let output = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["check", "meet.ptx", "--launch", "meet.toml", "--schedules", "20", "--strict"])
        .current_dir(folder.path())
        .output()
        .expect("baton starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

#[track_caller]
fn with(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

#[test]
fn ctas_that_meet_are_right() {
    let (code, said) = check(PTX, LAUNCH);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no errors, no warnings"), "{said}");
    // The barrier of the grid is used again, and is another one for launches that overlap.
    let (launch, buffers) = LAUNCH.split_once("\n[buffer.from]").expect("buffers");
    let twice = format!("[[launch]]\n{launch}\n[[launch]]\n{launch}\n[buffer.from]{buffers}");
    let (code, said) = check(PTX, &twice);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn what_is_missing_at_the_meeting_is_said() {
    let relaxed = [("atom.add.release", "A4"), ("ld.acquire", "A3")];
    for (from, rule) in relaxed {
        let to = from.replace("release", "relaxed").replace("acquire", "relaxed");
        let (code, said) = check(&with(PTX, from, &to), LAUNCH);
        assert!(code == 1 && said.contains(&format!("error[{rule}]")), "{from}: {said}");
    }
    let (code, said) = check(&with(PTX, "@%p4 bra \t$L__BB0_4;", ""), LAUNCH);
    assert!(code == 1 && said.contains("error[A"), "{said}");
    // Not all CTAs come.
    let leaves = "setp.ne.s64 \t%p1, %rd1, 0;";
    let leave = format!("setp.eq.u32 %p1, %r5, 2;\n@%p1 exit;\n{leaves}");
    let (code, said) = check(&with(PTX, leaves, &leave), LAUNCH);
    assert!(code == 1 && said.contains("error[deadlock]"), "{said}");
}

#[test]
fn launches_that_are_not_cooperative_or_too_large_are_said() {
    let (code, said) = check(PTX, &with(LAUNCH, "cooperative = true\n", ""));
    assert!(code == 1 && said.contains("trap"), "{said}");
    let (code, said) = check(PTX, &with(LAUNCH, "grid = 4", "grid = [5, 13]"));
    assert_eq!(code, 2, "{said}");
    let wanted = "meet.toml:1:8: the launch is cooperative, and its grid has 65 CTAs";
    assert!(said.contains(wanted) && said.contains("use at most 64"), "{said}");
    let (code, said) = check(PTX, &with(LAUNCH, "cooperative = true", "cooperative = 1"));
    assert!(code == 2 && said.contains("meet.toml:3:15"), "{said}");
}
