//! What the host does for the kernel: matrices, tensor maps, the launch, and what every element has to be.

use baton_host::{Buffer, Device, Error, Image, Matrix, Module};
use bulk_copy_kernel::{COLS, ROWS};
use example_common::{Numbers, Outcome, Verdict};

/// The kernel, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("bulk_copy_kernel");

/// What the matrix is multiplied by.
const FACTOR: f32 = -1.5;

/// The tensor unit wants rows to begin at multiples of 16 bytes.
const PITCH: usize = 16 / size_of::<f32>();

/// Scales a matrix of `rows` × `cols` on at most `blocks` CTAs.
pub fn run(
    device: &Device,
    module: &Module,
    (rows, cols): (usize, usize),
    blocks: u32,
    seed: u64,
) -> Result<Outcome, Error> {
    let pitch = cols.next_multiple_of(PITCH);
    let mut numbers = Numbers::new(seed);
    // What lies between the rows is not a number: it would show if it were read.
    let values: Vec<f32> = (0..rows * pitch)
        .map(|at| if at % pitch < cols { numbers.normal() as f32 } else { f32::NAN })
        .collect();
    let matrix = Matrix::new(rows as u64, cols as u64).with_pitch(pitch as u64);
    let input = Buffer::from_slice(device, &values)?;
    let mut output = Buffer::<f32>::poisoned(device, values.len())?;
    let poison = output.to_vec()?;

    let (tile_rows, tile_cols) = (rows.div_ceil(ROWS) as u32, cols.div_ceil(COLS) as u32);
    let call = bulk_copy_kernel::scale(
        input.tensor_map(matrix)?,
        output.tensor_map_mut(matrix)?,
        tile_rows,
        tile_cols,
        FACTOR,
    );
    let launch = device.launch(module, blocks.min(tile_rows * tile_cols), call)?;

    // Between the rows nothing is written.
    let bits = |value: f32| value.to_bits();
    let expected: Vec<u32> = values
        .iter()
        .zip(poison)
        .enumerate()
        .map(|(at, (&value, poison))| bits(if at % pitch < cols { FACTOR * value } else { poison }))
        .collect();
    let found: Vec<u32> = output.to_vec()?.into_iter().map(bits).collect();
    Ok(Outcome { launch, verdict: Verdict::exact(&expected, &found) })
}
