//! The verdicts are the model's, and on the emulator no correct test contradicts it.

use baton_host::{Device, EmulatorOptions};
use baton_model::litmus::Test;
use litmus_stress::{ALL, Allows, KERNELS, Litmus, Size, run};

#[test]
fn each_verdict_is_the_models() {
    for stress in ALL {
        let name = stress.name;
        let litmus = Litmus::read(stress.litmus).unwrap_or_else(|error| panic!("{name}: {error}"));
        let test = Test::parse(stress.litmus, name).unwrap_or_else(|error| panic!("{error}"));
        let judged = baton_model::judge(&test.program, &test.condition, &Default::default());
        let allowed = judged.unwrap_or_else(|error| panic!("{name}: {error}")).allowed;
        assert_eq!(litmus.verdict == Allows::Maybe, allowed, "{name}");
    }
}

#[test]
fn every_weakened_test_stands_behind_a_correct_one() {
    let verdict =
        |test: &litmus_stress::Stress| Litmus::read(test.litmus).expect("read above").verdict;
    let mut family = "";
    let mut weakened = 0;
    for test in ALL {
        let prefix = test.name.split('_').next().expect("there is one part at least");
        match verdict(test) {
            Allows::Never => family = prefix,
            Allows::Maybe => {
                assert_eq!(prefix, family, "{} weakens nothing", test.name);
                weakened += 1;
            }
        }
    }
    assert!(weakened >= 7, "only {weakened}");
}

#[test]
fn the_emulator_does_nothing_that_is_forbidden() {
    let size = Size { launches: 6, blocks: 1, disturbing: 1, stress: 8 };
    for binary in KERNELS.binaries {
        let device = Device::emulator(EmulatorOptions::default().with_arch(binary.arch));
        let module = device.load(&KERNELS).expect("it loads");
        for test in ALL {
            let place = format!("{} for {}", test.name, binary.arch);
            let count = run(&device, &module, test, size, 1);
            let count = count.unwrap_or_else(|error| panic!("{place}: {error}"));
            let litmus = Litmus::read(test.litmus).expect("read above");
            assert!(!count.contradicts(litmus.verdict), "{place}: {count:?}");
            assert_eq!(count.outcomes.values().sum::<u64>(), count.runs, "{place}");
            // Where the emulator looks for the reason: ordinary accesses that the weakened test leaves unordered.
            let named: &[&str] = match test.name {
                "mp_relaxed" => &["A3", "A4"],
                "mp_cta" => &["A5"],
                "mbarrier_relaxed" => &["C6", "A4"],
                "proxy_none" => &["B1"],
                "proxy_read" => &["B7"],
                _ => &[],
            };
            let found = named.is_empty() || named.iter().any(|rule| count.rules.contains(rule));
            assert!(found, "{place}: {count:?}");
        }
    }
}

#[test]
fn both_orders_of_message_passing_are_seen() {
    let size = Size { launches: 20, blocks: 1, disturbing: 0, stress: 0 };
    let device = Device::emulator(EmulatorOptions::default());
    let module = device.load(&KERNELS).expect("it loads");
    let mp = ALL.iter().find(|test| test.name == "mp").expect("it is there");
    let count = run(&device, &module, mp, size, 3).expect("it runs");
    // Threads of an instance do take turns: the flag is seen by some and missed by others.
    let flags: Vec<u32> = count.outcomes.keys().map(|results| results[0]).collect();
    assert!(flags.contains(&0) && flags.contains(&1), "{count:?}");
}
