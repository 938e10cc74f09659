//! With reservations no schedule of the streams lets a reader see another round; without, the count says so.

use baton_host::{Device, EmulatorOptions};
use reservation::{KERNELS, Order, Size, run};

const SIZE: Size = Size { rounds: 24, elements: 300, pauses: 1 };

#[test]
fn a_forgotten_reader_shows_in_the_count_and_only_there() {
    for binary in KERNELS.binaries {
        let mut corrupted = 0;
        for seed in 0..30 {
            let options = EmulatorOptions::default().with_arch(binary.arch).with_seed(seed);
            let device = Device::emulator(options);
            let module = device.load(&KERNELS).expect("it loads");
            let ours = run(&device, &module, SIZE, Order::Reservations).expect("it runs");
            assert!(ours.is_right(), "{}, seed {seed}: {ours:?}", binary.arch);
            let forgotten = run(&device, &module, SIZE, Order::LastReader).expect("it runs");
            // A round's array is wrong as a whole or not at all: a kernel runs from its start to its end.
            assert_eq!(forgotten.wrong % SIZE.elements as u64, 0, "seed {seed}: {forgotten:?}");
            corrupted += u32::from(forgotten.wrong > 0);
        }
        assert!(corrupted >= 20, "{}: only {corrupted} of 30 schedules show it", binary.arch);
    }
}
