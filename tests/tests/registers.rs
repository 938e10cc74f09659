//! What a kernel keeps in local memory is found when it is built, at the line of its author.

use std::fs;

use baton_builder::{Arch, Builder, Error, Output, Ptxas, Severity};
use baton_host::{Binary, Buffer, Device, EmulatorOptions, Image, KernelInfo};
use baton_tests::root;
use registers_kernel::{IDENTITY, after};

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

#[test]
fn sets_reduce_and_scan_in_the_order_of_their_threads() {
    let output = build(&[]).unwrap_or_else(|error| panic!("{error}"));
    let ptx: &'static str =
        fs::read_to_string(&output.binaries[0].ptx).expect("the builder wrote it").leak();
    const KERNELS: &[KernelInfo] = &[KernelInfo {
        name: "together",
        registers: None,
        spill_bytes: 0,
        stack_bytes: 0,
        static_shared: 0,
        declared: None,
    }];
    let binary = Binary { arch: "sm_90a", ptx, lines: "", cubin: None, kernels: KERNELS };
    let device = Device::emulator(EmulatorOptions::default());
    // An image is part of a program, and lives as long.
    let binaries: &'static [Binary] = Box::leak(Box::new([binary]));
    let module = device.load(&Image { name: "registers", binaries }).expect("the kernels load");

    let values: Vec<u32> = (0..128u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ 0x0001_0001).collect();
    let fold = |values: &[u32]| values.iter().fold(IDENTITY, |all, &value| after(all, value));
    let input = Buffer::from_slice(&device, &values).expect("memory");
    for seed in 0..40 {
        device.set_seed(seed);
        let mut output = Buffer::<u32>::poisoned(&device, 8 * 128).expect("memory");
        let call = registers_kernel::together(input.as_arg(), output.as_arg_mut());
        drop(
            device.launch(&module, 1, call).unwrap_or_else(|error| panic!("seed {seed}: {error}")),
        );
        let found = output.to_vec().expect("memory");
        for thread in 0..128 {
            let (lane, warp) = (thread % 32, &values[thread / 32 * 32..][..32]);
            let chosen = |values: &[u32]| {
                values.iter().filter(|value| value.is_multiple_of(3)).count() as u32
            };
            let expected = [
                fold(warp),
                fold(&warp[..=lane]),
                fold(&warp[..lane]),
                chosen(&warp[..lane]),
                chosen(warp),
                *warp.iter().min().expect("a warp"),
                warp.iter().map(|&value| value as i32).max().expect("a warp") as u32,
                fold(&values),
            ];
            let its: Vec<u32> = (0..8).map(|k| found[128 * k + thread]).collect();
            assert_eq!(its, expected, "thread {thread}, seed {seed}");
        }
    }
}
