//! What is timed: a few kernels and the launch itself, each with the peer that one would use instead.
//!
//! Device work is given to a stream several times in a row, and the time from the first to the end of the last is
//! shared out: what a launch costs hides behind the work before it. Every batch gives one time; the median of the
//! batches is what is shown. On the emulator the numbers say how fast the emulator is.

use std::time::{Duration, Instant};

use baton::float::bf16;
use baton_host::{Buffer, Device, Error, Matrix, Stream, read, read_tiles, write, write_tiles};
use example_common::Outcome;
use gemm_hopper::Tiles;
use gemm_hopper_kernel::{cooperative, multicast};
use protocols::Protocol;
use reservation::{CTAS, plain};
use reservation_kernel::THREADS;

/// How much is done for each time.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Batches, each of which gives one time.
    pub batches: u32,
    /// Rows and columns of the matrix that is copied.
    pub copied: (u32, u32),
    /// M, N and K of the product.
    pub product: (u32, u32, u32),
    /// Launches of a batch, where a launch is what is timed.
    pub launches: u32,
    /// CTAs of a kernel that goes over many tiles.
    pub ctas: u32,
}

impl Size {
    /// For a GPU: large enough that a launch costs nothing beside the work.
    pub const GPU: Size = Size {
        batches: 9,
        copied: (8192, 8192),
        product: (4096, 4096, 4096),
        launches: 2000,
        ctas: 528,
    };
    /// For the emulator: as little as makes sense.
    pub const EMULATOR: Size =
        Size { batches: 3, copied: (128, 64), product: (64, 128, 64), launches: 20, ctas: 2 };
}

/// A rate or a time.
#[derive(Clone, Debug)]
pub struct Value {
    /// The median.
    pub median: f64,
    /// The best.
    pub best: f64,
}

/// One line of the result.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What was timed.
    pub name: &'static str,
    /// Of the numbers.
    pub unit: &'static str,
    /// Ours.
    pub ours: Value,
    /// What it is compared with, and its number; or why there is none.
    pub peer: Result<(&'static str, Value), &'static str>,
}

/// Everything.
pub fn all(device: &Device, size: Size) -> Result<Vec<Timed>, Box<dyn std::error::Error>> {
    Ok(vec![
        copy(device, size)?,
        product(device, size, Tiles::Narrow)?,
        product(device, size, Tiles::Cooperative)?,
        product(device, size, Tiles::Multicast)?,
        lock(device, size)?,
        launch(device, size)?,
    ])
}

/// The times of batches of `times` pieces of work, for one piece each.
fn batches(
    stream: &Stream,
    size: Size,
    times: u32,
    mut work: impl FnMut() -> Result<(), Error>,
) -> Result<Vec<Duration>, Error> {
    let mut batch = || {
        let start = Instant::now();
        (0..times).try_for_each(|_| work())?;
        drop(stream.synchronize()?);
        Ok(start.elapsed() / times)
    };
    // The first one warms up.
    batch()?;
    (0..size.batches).map(|_| batch()).collect()
}

/// Median and best of some times, as `value` makes of seconds.
fn summary(mut times: Vec<Duration>, value: impl Fn(f64) -> f64) -> Value {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| value(time.as_secs_f64()));
    Value { median: at(times.len() / 2), best: at(0) }
}

fn right(what: &str, outcome: &Outcome) -> Result<(), String> {
    match outcome.is_verified() {
        true => Ok(()),
        false => Err(format!("{what} is wrong, so it is not timed: {:?}", outcome.verdict.first)),
    }
}

fn copy(device: &Device, size: Size) -> Result<Timed, Box<dyn std::error::Error>> {
    let module = device.load(&bulk_copy::KERNELS)?;
    right("bulk-copy", &bulk_copy::run(device, &module, (300, 150), 3, 1)?)?;

    let stream = device.stream()?;
    let (rows, cols) = size.copied;
    let matrix = Matrix::new(rows.into(), cols.into());
    let elements = rows as usize * cols as usize;
    let from = Buffer::<f32>::zeroed(device, elements)?;
    let mut to = Buffer::<f32>::zeroed(device, elements)?;
    let (tile_rows, tile_cols) = (
        rows.div_ceil(bulk_copy_kernel::ROWS as u32),
        cols.div_ceil(bulk_copy_kernel::COLS as u32),
    );
    let ctas = size.ctas.min(tile_rows * tile_cols);
    let ours = batches(&stream, size, 10, || {
        let tiles = (read_tiles(&from, matrix)?, write_tiles(&mut to, matrix)?);
        let arguments = (tiles.0, tiles.1, tile_rows, tile_cols, 1.0);
        stream.launch(&module, ctas, bulk_copy_kernel::scale, arguments).map(drop)
    })?;
    let theirs = batches(&stream, size, 10, || stream.copy(&from, &mut to).map(drop))?;
    // Read once and written once.
    let rate = |seconds: f64| 2.0 * (elements * size_of::<f32>()) as f64 / seconds / 1e9;
    Ok(Timed {
        name: "bulk-copy",
        unit: "GB/s",
        ours: summary(ours, rate),
        peer: Ok(("the driver's copy", summary(theirs, rate))),
    })
}

fn product(
    device: &Device,
    size: Size,
    kernel: Tiles,
) -> Result<Timed, Box<dyn std::error::Error>> {
    let name = match kernel {
        Tiles::Narrow => "gemm-hopper, 64 × 128",
        Tiles::Cooperative => "gemm-hopper, 128 × 256",
        Tiles::Multicast => "gemm-hopper, 128 × 256 in clusters",
    };
    let module = device.load(&gemm_hopper::KERNELS)?;
    let small = gemm_hopper::Shape { m: 65, n: 127, k: 66 };
    right(name, &gemm_hopper::run(device, &module, kernel, small, 2, 1)?)?;

    let stream = device.stream()?;
    let (m, n, k) = size.product;
    let matrix = |rows: u32, cols: u32| Matrix::new(rows.into(), cols.into());
    let buffer = |rows: u32| Buffer::<bf16>::zeroed(device, rows as usize * k as usize);
    let (a, b) = (buffer(m)?, buffer(n)?);
    let mut c = Buffer::<f32>::zeroed(device, m as usize * n as usize)?;
    let tiles = |extent: u32, tile: usize| extent.div_ceil(tile as u32);
    let peers = if kernel == Tiles::Multicast { multicast::PEERS } else { 1 };
    let (tile_m, tile_n) = match kernel {
        Tiles::Narrow => (gemm_hopper_kernel::TILE_M, gemm_hopper_kernel::TILE_N),
        _ => (cooperative::TILE_M, cooperative::TILE_N),
    };
    let (rows, columns) = (tiles(m, tile_m).div_ceil(peers), tiles(n, tile_n));
    let steps = tiles(k, gemm_hopper_kernel::TILE_K);
    let ctas = (size.ctas / peers).max(1).min(rows * columns) * peers;
    let times = batches(&stream, size, 5, || {
        macro_rules! launch {
            ($kernel:path) => {{
                let a = read_tiles(&a, matrix(m, k))?;
                let b = read_tiles(&b, matrix(n, k))?;
                let c = write_tiles(&mut c, matrix(m, n))?;
                stream.launch(&module, ctas, $kernel, (a, b, c, rows, columns, steps)).map(drop)
            }};
        }
        match kernel {
            Tiles::Narrow => launch!(gemm_hopper_kernel::gemm),
            Tiles::Cooperative => launch!(cooperative::gemm_cooperative),
            Tiles::Multicast => launch!(multicast::gemm_multicast),
        }
    })?;
    let rate = |seconds| 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / seconds / 1e12;
    Ok(Timed {
        name,
        unit: "TFLOP/s",
        ours: summary(times, rate),
        peer: Err("no peer: a bundle carries no library of matrix products"),
    })
}

fn lock(device: &Device, size: Size) -> Result<Timed, Box<dyn std::error::Error>> {
    let module = device.load(&protocols::KERNELS)?;
    let rounds = if device.is_emulator() { 2 } else { 1000 };
    let turns = protocols::Size { ctas: 8, rounds, elements: 32 };
    let mut times = Vec::new();
    for seed in 0..size.batches {
        let outcome = protocols::run(Protocol::Spin, device, &module, turns, seed.into())?;
        right("the lock", &outcome)?;
        times.push(outcome.launch.elapsed / (turns.ctas * turns.rounds));
    }
    Ok(Timed {
        name: "spin lock, a turn",
        unit: "ns",
        ours: summary(times, |seconds| seconds * 1e9),
        peer: Err("no peer"),
    })
}

fn launch(device: &Device, size: Size) -> Result<Timed, Box<dyn std::error::Error>> {
    let module = device.load(&reservation::KERNELS)?;
    let stream = device.stream()?;
    let data = Buffer::<u32>::zeroed(device, 128)?;
    let mut wrong = Buffer::<u32>::zeroed(device, (CTAS * THREADS) as usize)?;
    let ours = batches(&stream, size, size.launches, || {
        let arguments = (read(&data), write(&mut wrong), 0, 0);
        stream.launch(&module, CTAS, reservation_kernel::read, arguments).map(drop)
    })?;
    let code = reservation::KERNELS.binary(module.arch());
    let value = |seconds: f64| seconds * 1e6;
    Ok(Timed {
        name: "launch, two buffers",
        unit: "us",
        ours: summary(ours, value),
        peer: match (device.gpu_index(), code) {
            (Some(gpu), Some(code)) => {
                let times = plain::launches(gpu, code, size.launches, size.batches)?;
                Ok(("cudarc 0.19.10", summary(times, value)))
            }
            _ => Err("no peer: cudarc needs a GPU"),
        },
    })
}
