//! Times are taken of all there is, and they are times.

use baton_host::{Device, EmulatorOptions};
use device_times::{Size, all};

#[test]
fn everything_has_a_time() {
    let device = Device::emulator(EmulatorOptions::default());
    let timed = all(&device, Size { batches: 2, ..Size::EMULATOR }).expect("it runs");
    let names: Vec<_> = timed.iter().map(|line| line.name).collect();
    let expected = [
        "bulk-copy",
        "gemm-hopper, 64 × 128",
        "gemm-hopper, 128 × 256",
        "gemm-hopper, 128 × 256 in clusters",
        "spin lock, a turn",
        "launch, two buffers",
    ];
    assert_eq!(names, expected);
    for line in timed {
        assert!(line.ours.median > 0.0 && line.ours.median.is_finite(), "{line:?}");
    }
}
