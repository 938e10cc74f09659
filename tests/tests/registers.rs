//! What a kernel keeps in local memory is found when it is built, at the line of its author.

use std::fs;

use baton_builder::{Arch, Builder, Error, Output, Ptxas, Severity};
use baton_tests::root;

fn build(features: &[&str]) -> Result<Output, Error> {
    Builder::new(root().join("tests/kernels/registers"))
        .arch(Arch::Sm90a)
        .features(features.iter().copied())
        .ptxas(Ptxas::Required)
        .out_dir(root().join("target/baton-tests/registers"))
        .build()
}

/// The line of the kernels' source that holds this text.
fn line(text: &str) -> u32 {
    let source =
        fs::read_to_string(root().join("tests/kernels/registers/src/lib.rs")).expect("it is there");
    let line =
        source.lines().position(|line| line.contains(text)).expect("the source has the text");
    line as u32 + 1
}

#[test]
fn local_memory_is_a_warning_with_its_line_and_an_error_under_no_stack() {
    let output = build(&[]).unwrap_or_else(|error| panic!("{error}"));
    let [binary] = &*output.binaries else { panic!("one target") };
    let [warning] = &*binary.warnings else { panic!("{:?}", binary.warnings) };
    assert_eq!(warning.severity, Severity::Warning);
    assert!(
        warning.message.contains("kernel `rolled` keeps 96 bytes in local memory"),
        "{warning}"
    );
    let place = |place: Option<&baton_ptx::lines::Frame>| place.map(|frame| frame.line);
    let told: Vec<_> = [place(warning.place())]
        .into_iter()
        .chain(warning.notes.iter().map(|note| place(note.place())))
        .collect();
    assert!(told.contains(&Some(line("values[(i + count as usize) % CHUNK]"))), "{warning}");

    let unrolled =
        binary.kernels.iter().find(|kernel| kernel.name == "unrolled").expect("it is there");
    let usage = unrolled.usage.expect("ptxas was there");
    assert_eq!((usage.stack_bytes, usage.spill_bytes), (0, 0));

    let error = build(&["refused"]).expect_err("a kernel that says `no_stack` has a stack");
    let Error::Checks { findings, .. } = &error else { panic!("{error}") };
    let refused: Vec<_> =
        findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let [finding] = &*refused else { panic!("{error}") };
    assert!(finding.message.contains("`mistaken` says `no_stack`"), "{finding}");
    let told = place(finding.place());
    let all: Vec<_> =
        [told].into_iter().chain(finding.notes.iter().map(|note| place(note.place()))).collect();
    assert!(all.contains(&Some(line("mine.put(0, values[at as usize % CHUNK]);"))), "{finding}");
}
