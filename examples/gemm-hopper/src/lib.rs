//! What the host does for the kernel: inputs, the launch on tiles, and what every element has to be.
//!
//! The inputs are small whole numbers, so that every sum is exact in f32, in any order, and rounded once where C is bf16.

use std::fmt::Debug;

use baton::float::bf16;
use baton::global::Store;
use baton::launch::{Call, DeviceValue, TensorMap};
use baton_host::{Buffer, Device, Error, Image, Matrix, Module};
use clap::ValueEnum;
use example_common::{Numbers, Outcome, Verdict};
use gemm_hopper_kernel::{
    self as kernel, TILE_K, TILE_M, TILE_N, TileA, TileB, TileC, cooperative, multicast,
};

/// The kernel, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("gemm_hopper_kernel");

/// Extents: C is `m` × `n`, and each of its elements is a sum of `k` products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A and of C.
    pub m: usize,
    /// Rows of B and columns of C.
    pub n: usize,
    /// Columns of A and of B.
    pub k: usize,
}

/// The tensor unit wants rows to begin at multiples of 16 bytes: `columns` of `size` bytes, rounded up to that.
fn stride(columns: usize, size: usize) -> usize {
    columns.next_multiple_of(16 / size)
}

/// Which kernel multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tiles {
    /// 64 × 128 of C at a time, by one warpgroup.
    Narrow,
    /// 128 × 256 of C at a time, by two warpgroups that drain one ring.
    Cooperative,
    /// The same in clusters of two, whose CTAs load B for each other.
    Multicast,
}

impl Tiles {
    /// All of them.
    pub const ALL: [Tiles; 3] = [Tiles::Narrow, Tiles::Cooperative, Tiles::Multicast];

    /// The kernel's name.
    pub fn kernel<T: Output>(self) -> &'static str {
        T::KERNELS[self as usize]
    }
}

/// An element type of C and the kernels that make it.
pub trait Output: kernel::Output + DeviceValue + PartialEq + Debug {
    /// The names of the kernels, in the order of [`Tiles`].
    const KERNELS: [&'static str; 3];

    /// What stands in C for a sum.
    fn of(sum: f32) -> Self;

    /// A call of `gemm`: `rows` × `columns` tiles of C, `steps` of K.
    fn narrow<'a>(
        a: Factor<'a, TileA>,
        b: Factor<'a, TileB>,
        c: Product<'a, TileC<Self>>,
        counts: [u32; 3],
    ) -> Call<'a>;

    /// The same of `gemm_cooperative`.
    fn cooperative<'a>(
        a: Factor<'a, cooperative::TileA>,
        b: Factor<'a, cooperative::TileB>,
        c: Product<'a, cooperative::Piece<Self>>,
        counts: [u32; 3],
    ) -> Call<'a>;

    /// The same of `gemm_multicast`, `rows` of pairs of tiles.
    fn multicast<'a>(
        a: Factor<'a, cooperative::TileA>,
        b: Factor<'a, multicast::ShareB>,
        c: Product<'a, cooperative::Piece<Self>>,
        counts: [u32; 3],
    ) -> Call<'a>;
}

/// What a kernel takes of A or B.
pub type Factor<'a, T> = TensorMap<'a, T>;
/// What a kernel takes of C.
pub type Product<'a, T> = TensorMap<'a, T, Store>;

macro_rules! outputs {
    ($($t:ty: $of:expr, $narrow:ident $cooperative:ident $multicast:ident;)*) => {$(
        impl Output for $t {
            const KERNELS: [&'static str; 3] =
                [stringify!($narrow), stringify!($cooperative), stringify!($multicast)];

            fn of(sum: f32) -> Self {
                $of(sum)
            }

            fn narrow<'a>(
                a: Factor<'a, TileA>,
                b: Factor<'a, TileB>,
                c: Product<'a, TileC<Self>>,
                [rows, columns, steps]: [u32; 3],
            ) -> Call<'a> {
                kernel::$narrow(a, b, c, rows, columns, steps)
            }

            fn cooperative<'a>(
                a: Factor<'a, cooperative::TileA>,
                b: Factor<'a, cooperative::TileB>,
                c: Product<'a, cooperative::Piece<Self>>,
                [rows, columns, steps]: [u32; 3],
            ) -> Call<'a> {
                cooperative::$cooperative(a, b, c, rows, columns, steps)
            }

            fn multicast<'a>(
                a: Factor<'a, cooperative::TileA>,
                b: Factor<'a, multicast::ShareB>,
                c: Product<'a, cooperative::Piece<Self>>,
                [rows, columns, steps]: [u32; 3],
            ) -> Call<'a> {
                multicast::$multicast(a, b, c, rows, columns, steps)
            }
        }
    )*};
}
outputs! {
    f32: |sum| sum, gemm gemm_cooperative gemm_multicast;
    bf16: bf16::from_f32, gemm_bf16 gemm_cooperative_bf16 gemm_multicast_bf16;
}

/// Multiplies two matrices of this shape on `ctas` CTAs, or so many more that clusters are whole, into f32.
pub fn run(
    device: &Device,
    module: &Module,
    tiles: Tiles,
    shape: Shape,
    ctas: u32,
    seed: u64,
) -> Result<Outcome, Error> {
    run_as::<f32>(device, module, tiles, shape, ctas, seed)
}

/// The same, into elements of type `T`.
pub fn run_as<T: Output>(
    device: &Device,
    module: &Module,
    tiles: Tiles,
    shape: Shape,
    ctas: u32,
    seed: u64,
) -> Result<Outcome, Error> {
    let Shape { m, n, k } = shape;
    let mut numbers = Numbers::new(seed);
    // From -4 to 3.
    let mut matrix = |rows: usize| -> Vec<f32> {
        (0..rows * k).map(|_| (numbers.bits() % 8) as f32 - 4.0).collect()
    };
    let (a, b) = (matrix(m), matrix(n));
    let pitch = stride(k, 2);
    let upload = |values: &[f32]| {
        let mut padded = Vec::with_capacity(values.len() / k * pitch);
        for row in values.chunks(k) {
            padded.extend(row.iter().map(|&value| bf16::from_f32(value)));
            padded.resize(padded.len().next_multiple_of(pitch), bf16::from_f32(0.0));
        }
        Buffer::from_slice(device, &padded)
    };
    let (a_buffer, b_buffer) = (upload(&a)?, upload(&b)?);
    let c_pitch = stride(n, size_of::<T>());
    let mut c = Buffer::<T>::poisoned(device, m * c_pitch)?;

    let factor = |rows: usize| Matrix::new(rows as u64, k as u64).with_pitch(pitch as u64);
    let product = Matrix::new(m as u64, n as u64).with_pitch(c_pitch as u64);
    let tiles_of = |extent: usize, tile: usize| extent.div_ceil(tile) as u32;
    let steps = tiles_of(k, TILE_K);
    let (ctas, call) = match tiles {
        Tiles::Narrow => {
            let counts = [tiles_of(m, TILE_M), tiles_of(n, TILE_N), steps];
            let maps = (a_buffer.tensor_map(factor(m))?, b_buffer.tensor_map(factor(n))?);
            (ctas, T::narrow(maps.0, maps.1, c.tensor_map_mut(product)?, counts))
        }
        Tiles::Cooperative => {
            let rows = tiles_of(m, cooperative::TILE_M);
            let counts = [rows, tiles_of(n, cooperative::TILE_N), steps];
            let maps = (a_buffer.tensor_map(factor(m))?, b_buffer.tensor_map(factor(n))?);
            (ctas, T::cooperative(maps.0, maps.1, c.tensor_map_mut(product)?, counts))
        }
        Tiles::Multicast => {
            let peers = multicast::PEERS;
            let rows = tiles_of(m, cooperative::TILE_M).div_ceil(peers);
            let counts = [rows, tiles_of(n, cooperative::TILE_N), steps];
            let maps = (a_buffer.tensor_map(factor(m))?, b_buffer.tensor_map(factor(n))?);
            let call = T::multicast(maps.0, maps.1, c.tensor_map_mut(product)?, counts);
            (ctas.next_multiple_of(peers), call)
        }
    };
    let launch = device.launch(module, ctas, call)?;

    let found: Vec<T> = c.to_vec()?.chunks(c_pitch).flat_map(|row| row[..n].to_vec()).collect();
    let mut expected = Vec::with_capacity(m * n);
    for row in a.chunks(k) {
        expected.extend(
            b.chunks(k).map(|column| T::of(row.iter().zip(column).map(|(a, b)| a * b).sum())),
        );
    }
    Ok(Outcome { launch, verdict: Verdict::exact(&expected, &found) })
}
