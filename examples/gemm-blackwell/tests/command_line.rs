//! What a user of the program meets: the table, JSON, and one clear message for what cannot be.

use std::process::{Command, Output};

fn gemm(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gemm-blackwell"))
        .args(arguments)
        .env_remove("BATON_DEVICE")
        .output()
        .expect("the program starts")
}

/// What the program says when it refuses these arguments with this code.
fn refusal(arguments: &[&str], code: i32) -> String {
    let output = gemm(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_table_ends_with_the_verdict() {
    let shape = ["--device", "emulator", "--m", "100", "--n", "36", "--k", "70", "--seed", "9"];
    let output = gemm(&shape);
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{table}");
    for label in [
        "device",
        "target",
        "registers",
        "problem size",
        "pipeline stages",
        "largest relative error",
        "time",
    ] {
        assert!(table.lines().any(|line| line.starts_with(label)), "no {label} in\n{table}");
    }
    assert!(table.ends_with("yes, all 3600 elements\n"), "{table}");
}

#[test]
fn json_is_one_line_that_says_whether_the_result_is_right() {
    let output = gemm(&["--device", "emulator", "--output", "bf16", "--json"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().last().expect("a last line");
    assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
    assert!(line.contains("\"verified\":true"), "{line}");
    assert!(line.contains("\"problem_size\":[256,256,512]"), "{line}");
}

#[test]
fn tiles_are_taken_as_they_come() {
    let output = gemm(&["--device", "emulator", "--schedule", "dynamic", "--n", "300"]);
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{table}");
    assert!(table.contains("gemm_dynamic_f32"), "{table}");
    assert!(table.ends_with("yes, all 76800 elements\n"), "{table}");
}

#[test]
fn the_epilogue_adds_and_activates() {
    let output = gemm(&["--device", "emulator", "--schedule", "fused", "--n", "300"]);
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{table}");
    assert!(table.contains("gemm_fused") && table.contains("bf16 to bf16"), "{table}");
    assert!(table.ends_with("yes, all 76800 elements\n"), "{table}");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let fused = ["--schedule", "fused", "--output", "f32"];
    assert!(refusal(&fused, 2).contains("`--schedule fused` makes bf16"));
    let dynamic = ["--schedule", "dynamic", "--ctas", "3"];
    assert!(refusal(&dynamic, 2).contains("`--ctas` is for `--schedule strided`"));
    assert!(refusal(&["--m", "0"], 2).contains("0 is not in 1..=1048576"));
    assert!(refusal(&["--k", "4000000000"], 2).contains("4000000000 is not in"));
    assert!(refusal(&["--output", "f64"], 2).contains("f32, bf16"));
    assert!(refusal(&["--device", "cpu"], 2).contains("`cpu` is no device"));
    let arch = refusal(&["--arch", "sm_90a"], 1);
    assert!(arch.contains("not built for sm_90a, only for sm_100a"), "{arch}");
}
