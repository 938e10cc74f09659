//! What it costs on the host to give a launch to a stream, beside cudarc's launch path, both on the stand-in for the
//! driver: so the driver's own time is the same small one, and what differs is the libraries'.
//!
//! Each launch reads two buffers and writes a third, all readers and writers tracked. `cargo bench -p baton-host --bench
//! submit` prints the times and at the end their ratio.

#[path = "../tests/fixture/mod.rs"]
mod fixture;
#[path = "../tests/stand_in/mod.rs"]
mod stand_in;

use std::process::Command;
use std::time::{Duration, Instant};

use baton::launch::{Call, DeviceSlice, DeviceSliceMut, Params};
use baton_host::{Binary, Buffer, Device, Image, read, write};
use criterion::Criterion;
use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use fixture::{SHAPE, kernel};
use stand_in::{Driver, asked};

/// The stand-in's kernel of three buffers, as the attribute would declare it.
fn add<'a>(
    a: DeviceSlice<'a, f32>,
    b: DeviceSlice<'a, f32>,
    sum: DeviceSliceMut<'a, f32>,
) -> Call<'a> {
    let mut params = Params::new();
    params.push_slice(&a);
    params.push_slice(&b);
    params.push_slice_mut(&sum);
    // SAFETY: this is what the stand-in's `add` takes; the slices' lifetime is the result's.
    unsafe { Call::new("add", SHAPE, params) }
}

static KERNELS: Image = Image {
    name: "k",
    binaries: &[Binary { kernels: &[kernel("add")], ..fixture::KERNELS.binaries[0] }],
};

/// The time of so many launches, in batches after each of which the stand-in does its work, which does not count.
fn timed(count: u64, mut launch: impl FnMut(), mut finish: impl FnMut()) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let batch = left.min(500);
        asked(|| {
            let start = Instant::now();
            (0..batch).for_each(|_| launch());
            total += start.elapsed();
        });
        finish();
        left -= batch;
    }
    total
}

fn ours() -> impl FnMut(u64) -> Duration {
    let device = Device::gpu(0).unwrap();
    let module = device.load(&KERNELS).unwrap();
    let stream = device.stream().unwrap();
    let [a, b] = [1.0f32, 2.0].map(|value| Buffer::from_slice(&device, &[value; 4]).unwrap());
    let mut sum = Buffer::<f32>::zeroed(&device, 4).unwrap();
    move |count| {
        let launch = || {
            let arguments = (read(&a), read(&b), write(&mut sum));
            stream.launch(&module, 1, add, arguments).unwrap();
        };
        timed(count, launch, || drop(stream.synchronize().unwrap()))
    }
}

fn theirs() -> impl FnMut(u64) -> Duration {
    let context = CudaContext::new(0).unwrap();
    // A second one, so that events are managed: with one stream alone cudarc tracks nothing.
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let kernel = context.load_module(Ptx::from_src(KERNELS.binaries[0].ptx)).unwrap();
    let kernel = kernel.load_function("add").unwrap();
    let [a, b, mut sum] = [(); 3].map(|()| stream.alloc_zeros::<f32>(4).unwrap());
    let shape = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (4, 1, 1), shared_mem_bytes: 0 };
    move |count| {
        let _second = &other;
        let launch = || {
            let mut builder = stream.launch_builder(&kernel);
            builder.arg(&a).arg(&b).arg(&mut sum);
            // SAFETY: the stand-in reads no parameters of `add`.
            unsafe { builder.launch(shape) }.unwrap();
        };
        timed(count, launch, || stream.synchronize().unwrap())
    }
}

fn main() {
    const INSIDE: &str = "BATON_BENCH_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // Which driver a process has is settled before it starts.
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(std::env::args_os().skip(1))
            .env("LD_LIBRARY_PATH", Driver::StandIn.folder())
            .env(INSIDE, "1")
            .status()
            .unwrap();
        assert!(ended.success(), "the measuring process failed");
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    let (mut ours, mut theirs) = (ours(), theirs());
    let mut group = criterion.benchmark_group("a launch of three buffers");
    group.bench_function("baton", |bencher| bencher.iter_custom(&mut ours));
    group.bench_function("cudarc", |bencher| bencher.iter_custom(&mut theirs));
    group.finish();
    // In turns, so that what else the machine does hits both.
    let mut ratios: Vec<f64> =
        (0..31).map(|_| ours(500).as_secs_f64() / theirs(500).as_secs_f64()).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    println!("baton's time is {:.2} of cudarc's (median of 31 turns)", ratios[15]);
}
