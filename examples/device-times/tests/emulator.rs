//! Times are taken of all there is, and they are times.

use baton_host::{Device, EmulatorOptions};
use device_times::{Size, all};

#[test]
fn everything_has_a_time() {
    let device = Device::emulator(EmulatorOptions::default());
    let timed = all(&device, Size { batches: 2, ..Size::EMULATOR }).expect("it runs");
    let names: Vec<_> = timed.iter().map(|line| line.name).collect();
    assert_eq!(names, ["bulk-copy", "gemm-hopper", "spin lock, a turn", "launch, two buffers"]);
    for line in timed {
        assert!(line.ours.median > 0.0 && line.ours.median.is_finite(), "{line:?}");
    }
}
