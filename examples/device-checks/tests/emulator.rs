//! The checks pass on the emulator under several schedules.

use baton_host::{Device, EmulatorOptions};
use device_checks::ALL;

#[test]
fn every_check_passes() {
    for seed in 0..3 {
        let device = Device::emulator(EmulatorOptions::default().with_seed(seed));
        for check in ALL {
            let checked = check.run(&device);
            assert!(checked.is_ok(), "{}, seed {seed}: {}", check.name, checked.unwrap_err());
        }
    }
}

#[test]
fn every_check_is_in_the_list_that_a_bundle_runs() {
    let list = include_str!("../src/lib.rs");
    let modules = [
        ("memory", include_str!("../src/memory.rs")),
        ("streams", include_str!("../src/streams.rs")),
        ("kernels", include_str!("../src/kernels.rs")),
    ];
    let mut count = 0;
    for (module, source) in modules {
        for line in source.lines().filter_map(|line| line.strip_prefix("pub fn ")) {
            let (name, _) = line.split_once('(').unwrap();
            let entry = format!("run: {module}::{name} }}");
            assert!(list.contains(&entry), "{module}::{name} is not in `ALL`");
            count += 1;
        }
    }
    assert_eq!(count, ALL.len());
}
