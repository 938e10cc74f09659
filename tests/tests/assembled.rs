//! What ptxas makes of the example kernels: everything stays in registers, on old targets too.

use baton_builder::Arch;
use baton_tests::{examples, kernels};

#[test]
fn no_example_kernel_spills_or_needs_a_stack() {
    let examples = examples();
    assert!(!examples.is_empty(), "no manifest below examples/ names its targets");
    for example in examples {
        for arch in &example.targets {
            let built = kernels(&example.name, *arch);
            assert!(!built.binary.kernels.is_empty(), "{} has no kernel", example.name);
            for kernel in built.binary.kernels {
                let usage = kernel.usage.expect("ptxas was required");
                let place = format!("{} of {} for {arch}: {usage:?}", kernel.name, example.name);
                assert_eq!((usage.spill_bytes, usage.stack_bytes), (0, 0), "{place}");
            }
        }
    }
}

#[test]
fn messages_are_passed_on_the_oldest_targets() {
    // `fence.acquire` and `.release` need sm_90: what gives a witness of a fence is `fence.acq_rel` there.
    for arch in [Arch::Sm75, Arch::Sm80] {
        let built = kernels("message-passing", arch);
        assert!(built.binary.cubin.is_some(), "{arch}: not assembled");
        let fences: Vec<&str> =
            built.ptx.lines().map(str::trim).filter(|line| line.starts_with("fence.")).collect();
        assert_eq!(fences, ["fence.acq_rel.gpu;"; 2], "{arch}");
    }
}
