//! The verdicts are the model's, and on the emulator no correct test contradicts it.

use baton_host::{Device, EmulatorOptions};
use baton_model::kernel::{Argument, KernelThread, Location, Setup, extract};
use baton_model::litmus::{Condition, Term, Test};
use baton_model::program::{Space, Type};
use baton_model::scope::{Cluster, Placement};
use litmus_stress::{ALL, Allows, KERNELS, Litmus, Size, run};
use litmus_stress_kernel::{LOCATIONS, SCRATCH, SLOTS, STRIDE, THREADS};

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

/// The threads of one instance of a test whose threads are in different CTAs, alone on the device.
fn instance(entry: &str, roles: u32) -> Setup {
    let array = |name: &str, elements, bytes| Location {
        name: name.into(),
        space: Space::Global,
        ty: Type { bytes, signed: false },
        elements,
        init: vec![],
    };
    let place = |name: &str, len| {
        Argument::Structure(vec![Argument::Location(name.into()), Argument::Number(len)])
    };
    let (memory, results) = (THREADS * LOCATIONS * STRIDE, THREADS * SLOTS);
    let sizes = [("memory", memory), ("results", results), ("scratch", SCRATCH)];
    let mut arguments: Vec<_> = sizes.map(|(name, len)| place(name, u64::from(len))).into();
    // One block, nothing shuffled, nobody disturbs.
    arguments.extend([1, 0, 0].map(Argument::Number));
    let thread = |role: u32| KernelThread {
        name: format!("role {role}"),
        place: Placement { gpu: 0, cluster: Cluster::Own(role), cta: role },
        entry: entry.into(),
        arguments: arguments.clone(),
        special: vec![("%tid.x".into(), 0), ("%ctaid.x".into(), role.into())],
    };
    Setup {
        // The slots of an instance are one value.
        locations: vec![
            array("memory", memory, 4),
            array("results", THREADS, 16),
            array("scratch", SCRATCH, 4),
        ],
        threads: (0..roles).map(thread).collect(),
        ..Setup::default()
    }
}

/// The verdict holds for what the compiler made of the test, not only for its litmus file.
#[test]
fn each_verdict_holds_for_the_compiled_kernel() {
    for binary in KERNELS.binaries {
        let module = baton_ptx::Module::parse(binary.ptx, binary.arch).expect("it is PTX");
        for stress in ALL.iter().filter(|stress| stress.ctas() > 1) {
            let place = format!("{} for {}", stress.name, binary.arch);
            let litmus = Litmus::read(stress.litmus).expect("read above");
            let program = extract(&module, &instance(stress.name, stress.ctas()));
            let program = program.unwrap_or_else(|error| panic!("{place}: {error}"));
            let slots = litmus.outcome.iter().rev();
            let slots = slots.fold(0, |slots, value| slots << 32 | u128::from(*value));
            let results = program.memories.iter().position(|memory| memory.name == "results");
            let results = Term::Memory(results.expect("it is one of the locations"));
            let outcome = Condition::Equal(results, Term::Number(slots), false);
            let judged = baton_model::judge(&program, &outcome, &Default::default());
            let allowed = judged.unwrap_or_else(|error| panic!("{place}: {error}")).allowed;
            assert_eq!(allowed, litmus.verdict == Allows::Maybe, "{place}");
        }
    }
}
