//! What ptxas makes of the example kernels: everything stays in registers.

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
