//! What it costs on the host to give a launch to a stream, beside cudarc's launch path, both on the stand-in for the
//! driver: so the driver's own time is the same small one, and what differs is the libraries'.
//!
//! Each launch reads one buffer and writes another, all readers and writers tracked. `cargo bench -p baton-host --bench
//! submit` prints the times and at the end their ratio.

#[path = "../tests/stand_in/mod.rs"]
mod stand_in;

use std::process::Command;
use std::time::{Duration, Instant};

use baton::launch::{Call, DeviceSlice, DeviceSliceMut, KernelParam, Params, Shape};
use baton_host::{Binary, Buffer, Device, Image, KernelInfo, read, write};
use criterion::Criterion;
use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use stand_in::{Driver, asked};

static KERNELS: Image = Image {
    name: "k",
    binaries: &[Binary {
        arch: "sm_90a",
        ptx: PTX,
        lines: "",
        cubin: None,
        kernels: &[KernelInfo {
            name: "scale",
            registers: None,
            spill_bytes: 0,
            stack_bytes: 0,
            static_shared: 0,
            declared: None,
        }],
    }],
};

const PTX: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n";

fn scale<'a>(
    input: DeviceSlice<'a, f32>,
    output: DeviceSliceMut<'a, f32>,
    factor: f32,
) -> Call<'a> {
    let shape = Shape { threads: [64, 1, 1], cluster: None, min_ctas: 1, dynamic_shared: 0 };
    let mut params = Params::new();
    params.push_slice(&input);
    params.push_slice_mut(&output);
    f32::push(factor, &mut params);
    // SAFETY: this is what the stand-in's `scale` takes; the slices' lifetime is the result's.
    unsafe { Call::new("scale", shape, params) }
}

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
    let input = Buffer::from_slice(&device, &[1.0f32; 4]).unwrap();
    let mut output = Buffer::<f32>::zeroed(&device, 4).unwrap();
    move |count| {
        let launch = || {
            let arguments = (read(&input), write(&mut output), 2.0);
            stream.launch(&module, 1, scale, arguments).unwrap();
        };
        timed(count, launch, || drop(stream.synchronize().unwrap()))
    }
}

fn theirs() -> impl FnMut(u64) -> Duration {
    let context = CudaContext::new(0).unwrap();
    // A second one, so that events are managed: with one stream alone cudarc tracks nothing.
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let kernel = context.load_module(Ptx::from_src(PTX)).unwrap().load_function("read_plain");
    let kernel = kernel.unwrap();
    let data = stream.alloc_zeros::<u32>(4).unwrap();
    let mut wrong = stream.alloc_zeros::<u32>(4).unwrap();
    let shape = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (64, 1, 1), shared_mem_bytes: 0 };
    move |count| {
        let _second = &other;
        let launch = || {
            let (len, round, pauses) = (4u64, 0u32, 0u32);
            let mut builder = stream.launch_builder(&kernel);
            builder.arg(&data).arg(&len).arg(&mut wrong).arg(&round).arg(&pauses);
            // SAFETY: these are the parameters that the stand-in reads.
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
    let mut group = criterion.benchmark_group("a launch of two buffers");
    group.bench_function("baton", |bencher| bencher.iter_custom(&mut ours));
    group.bench_function("cudarc", |bencher| bencher.iter_custom(&mut theirs));
    group.finish();
    // In turns, so that what else the machine does hits both.
    let mut ratios: Vec<f64> =
        (0..31).map(|_| ours(500).as_secs_f64() / theirs(500).as_secs_f64()).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    println!("baton's time is {:.2} of cudarc's (median of 31 turns)", ratios[15]);
}
