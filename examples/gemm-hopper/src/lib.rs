//! What the host does for the kernel: inputs, the launch on tiles, and what every element has to be.
//!
//! The inputs are small whole numbers, so that every sum is exact in f32, in any order.

use baton::float::bf16;
use baton_host::{Buffer, Device, Error, Image, Matrix, Module};
use clap::ValueEnum;
use example_common::{Numbers, Outcome, Verdict};
use gemm_hopper_kernel::{TILE_K, TILE_M, TILE_N, cooperative};

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
    pub fn kernel(self) -> &'static str {
        match self {
            Tiles::Narrow => "gemm",
            Tiles::Cooperative => "gemm_cooperative",
            Tiles::Multicast => "gemm_multicast",
        }
    }
}

/// Multiplies two matrices of this shape on `ctas` CTAs, or so many more that clusters are whole.
pub fn run(
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
    let c_pitch = stride(n, 4);
    let mut c = Buffer::<f32>::poisoned(device, m * c_pitch)?;

    let factor = |rows: usize| Matrix::new(rows as u64, k as u64).with_pitch(pitch as u64);
    let product = Matrix::new(m as u64, n as u64).with_pitch(c_pitch as u64);
    let tiles_of = |extent: usize, tile: usize| extent.div_ceil(tile) as u32;
    let steps = tiles_of(k, TILE_K);
    let launch = match tiles {
        Tiles::Narrow => {
            let call = gemm_hopper_kernel::gemm(
                a_buffer.tensor_map(factor(m))?,
                b_buffer.tensor_map(factor(n))?,
                c.tensor_map_mut(product)?,
                tiles_of(m, TILE_M),
                tiles_of(n, TILE_N),
                steps,
            );
            device.launch(module, ctas, call)?
        }
        Tiles::Cooperative => {
            let call = cooperative::gemm_cooperative(
                a_buffer.tensor_map(factor(m))?,
                b_buffer.tensor_map(factor(n))?,
                c.tensor_map_mut(product)?,
                tiles_of(m, cooperative::TILE_M),
                tiles_of(n, cooperative::TILE_N),
                steps,
            );
            device.launch(module, ctas, call)?
        }
        Tiles::Multicast => {
            let peers = cooperative::PEERS;
            let call = cooperative::gemm_multicast(
                a_buffer.tensor_map(factor(m))?,
                b_buffer.tensor_map(factor(n))?,
                c.tensor_map_mut(product)?,
                tiles_of(m, cooperative::TILE_M).div_ceil(peers),
                tiles_of(n, cooperative::TILE_N),
                steps,
            );
            device.launch(module, ctas.next_multiple_of(peers), call)?
        }
    };

    let found: Vec<f32> = c.to_vec()?.chunks(c_pitch).flat_map(|row| row[..n].to_vec()).collect();
    let mut expected = Vec::with_capacity(m * n);
    for row in a.chunks(k) {
        expected.extend(
            b.chunks(k).map(|column| row.iter().zip(column).map(|(a, b)| a * b).sum::<f32>()),
        );
    }
    Ok(Outcome { launch, verdict: Verdict::exact(&expected, &found) })
}
