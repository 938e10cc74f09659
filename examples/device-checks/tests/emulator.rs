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
