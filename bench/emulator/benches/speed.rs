//! Thread-instructions in a second, with hazards looked for and without, at sizes of which each is eight times the work
//! of the one before; and a product of 1024³ on tensor cores.
//!
//! `cargo bench -p baton-bench-emulator`. One core is used: a launch is one thread.

use std::time::Duration;

use baton_bench_emulator::Matmul;
use baton_host::{Device, EmulatorOptions};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gemm_blackwell::{KERNELS, Problem, Shape, ctas};

const MODES: [(&str, bool); 2] = [("checked", false), ("unchecked", true)];

fn through_shared_memory(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matmul");
    group.sample_size(10);
    for n in [64, 128, 256] {
        for (mode, unchecked) in MODES {
            let mut matmul = Matmul::new(n, unchecked).expect("it loads");
            let instructions = matmul.run().expect("it runs");
            group.throughput(Throughput::Elements(instructions));
            group.bench_function(BenchmarkId::new(mode, n), |bencher| {
                bencher.iter(|| matmul.run().expect("it runs"));
            });
        }
    }
}

fn on_tensor_cores(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gemm-blackwell");
    group.sample_size(10).measurement_time(Duration::from_secs(30));
    for n in [256, 512, 1024] {
        let shape = Shape { m: n, n, k: n };
        let problem = Problem::new(shape, 0);
        for (mode, unchecked) in MODES {
            let options = EmulatorOptions::default().with_arch("sm_100a").with_unchecked(unchecked);
            let device = Device::emulator(options);
            let module = device.load(&KERNELS).expect("it loads");
            let ctas = ctas(&device, shape);
            // With the transfers and the comparison of every element.
            group.bench_function(BenchmarkId::new(mode, n), |bencher| {
                bencher.iter(|| problem.run::<f32>(&device, &module, ctas).expect("it runs"));
            });
        }
    }
}

criterion_group!(speed, through_shared_memory, on_tensor_cores);
criterion_main!(speed);
