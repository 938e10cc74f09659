//! The kernel does what it should under every schedule, some schedules read the clock early, and the model says that the
//! wait promises nothing.

use baton_host::{Device, EmulatorOptions};
use baton_model::litmus::Test;
use try_wait_order::{KERNELS, runs};

#[test]
fn the_waiter_comes_first_and_leaves_behind_the_arrival() {
    for binary in KERNELS.binaries {
        let device = Device::emulator(EmulatorOptions::default().with_arch(binary.arch));
        let module = device.load(&KERNELS).expect("it loads");
        let (runs, hazards) = runs(&device, &module, 200, 100, 0).expect("it runs");
        assert!(hazards.is_empty(), "{}: {hazards:?}", binary.arch);
        for (seed, run) in runs.iter().enumerate() {
            assert!(run.is_valid(), "{}, seed {seed}: {run:?}", binary.arch);
        }
        let early = runs.iter().filter(|run| run.free.cycles < 0).count();
        assert!((20..180).contains(&early), "{}: {early} of 200 clocks are early", binary.arch);
    }
}

/// What a clock may do, a load may: the model has no clocks, but it says that a load behind a relaxed wait may see memory
/// from before the arrival, and behind an acquiring one may not.
#[test]
fn a_relaxed_wait_orders_nothing_behind_it() {
    let allowed = |file: &str, text: &str| {
        let test = Test::parse(text, file).expect("it is a litmus test");
        baton_model::judge(&test.program, &test.condition, &Default::default())
            .expect("it can be judged")
            .allowed
    };
    assert!(allowed("relaxed", include_str!("../../../tests/litmus/mbarrier/relaxed_wait.litmus")));
    assert!(!allowed("acquiring", include_str!("../../../tests/litmus/mbarrier/default.litmus")));
}
