//! The rounds in plain cudarc: its streams, its buffers and its launches, which order what its events say.
//!
//! The launches are `unsafe` as all of cudarc's are, because nobody compares the arguments with the kernel. Order is no
//! part of that: the events are kept so that the caller need not think of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_host::Binary;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use reservation_kernel::THREADS;

use crate::{CTAS, Size, Tally};

/// Every launch has this shape.
const SHAPE: LaunchConfig =
    LaunchConfig { grid_dim: (CTAS, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };

/// Goes through the rounds on the GPU of that number, with the code that was compiled for it.
///
/// There has to be a driver: without, cudarc panics.
pub fn run(gpu: usize, code: &Binary, size: Size) -> Result<Tally, DriverError> {
    let context = CudaContext::new(gpu)?;
    let [write, read] = kernels(&context, code)?;
    rounds(&context, &write, &read, size)
}

/// What a launch of the reader costs: for each of `batches`, the time of `launches` on one stream, for one of them.
pub fn launches(
    gpu: usize,
    code: &Binary,
    launches: u32,
    batches: u32,
) -> Result<Vec<Duration>, DriverError> {
    let context = CudaContext::new(gpu)?;
    let [_, read] = kernels(&context, code)?;
    let stream = context.new_stream()?;
    let data = stream.alloc_zeros::<u32>(128)?;
    let mut wrong = stream.alloc_zeros::<u32>((CTAS * THREADS) as usize)?;
    let mut batch = || {
        let start = Instant::now();
        (0..launches).try_for_each(|_| look(&stream, &read, &data, &mut wrong, 0, 0))?;
        stream.synchronize()?;
        Ok(start.elapsed() / launches)
    };
    // The first one warms up.
    batch()?;
    (0..batches).map(|_| batch()).collect()
}

fn kernels(context: &Arc<CudaContext>, code: &Binary) -> Result<[CudaFunction; 2], DriverError> {
    let module = context.load_module(match code.cubin {
        Some(cubin) => Ptx::from_binary(cubin.to_vec()),
        None => Ptx::from_src(code.ptx),
    })?;
    Ok([module.load_function("write_plain")?, module.load_function("read_plain")?])
}

fn rounds(
    context: &Arc<CudaContext>,
    write: &CudaFunction,
    read: &CudaFunction,
    size: Size,
) -> Result<Tally, DriverError> {
    let [writer, slow, quick] =
        [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let mut data = writer.alloc_zeros::<u32>(size.elements)?;
    let counters = |stream: &Arc<CudaStream>| stream.alloc_zeros::<u32>((CTAS * THREADS) as usize);
    let [mut slow_wrong, mut quick_wrong] = [counters(&slow)?, counters(&quick)?];

    let start = Instant::now();
    for round in 0..size.rounds {
        set(&writer, write, &mut data, round)?;
        look(&slow, read, &data, &mut slow_wrong, round, size.pauses)?;
        look(&quick, read, &data, &mut quick_wrong, round, 0)?;
    }
    for stream in [&writer, &slow, &quick] {
        stream.synchronize()?;
    }
    let elapsed = start.elapsed();

    let mut wrong = 0;
    for (stream, counter) in [(&slow, slow_wrong), (&quick, quick_wrong)] {
        let counts = stream.clone_dtoh(&counter)?;
        // The driver's documents leave open whether a copy to ordinary memory has ended when its call returns.
        stream.synchronize()?;
        wrong += counts.into_iter().map(u64::from).sum::<u64>();
    }
    Ok(Tally { wrong, elapsed, hazards: Vec::new() })
}

fn set(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    data: &mut CudaSlice<u32>,
    round: u32,
) -> Result<(), DriverError> {
    let len = data.len() as u64;
    let mut launch = stream.launch_builder(kernel);
    launch.arg(data).arg(&len).arg(&round);
    // SAFETY: the arguments are those of `write_plain`.
    unsafe { launch.launch(SHAPE) }.map(drop)
}

fn look(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    data: &CudaSlice<u32>,
    wrong: &mut CudaSlice<u32>,
    round: u32,
    pauses: u32,
) -> Result<(), DriverError> {
    let len = data.len() as u64;
    let mut launch = stream.launch_builder(kernel);
    launch.arg(data).arg(&len).arg(wrong).arg(&round).arg(&pauses);
    // SAFETY: the arguments are those of `read_plain`.
    unsafe { launch.launch(SHAPE) }.map(drop)
}
