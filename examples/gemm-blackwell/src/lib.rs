//! What the host does for the kernel: inputs, the launch on tiles, and a reference in double precision that every
//! element is held against.

pub mod fused;

use std::num::NonZero;
use std::thread;

use baton::float::bf16;
use baton::global::Store;
use baton::launch::{Call, DeviceValue, TensorMap};
use baton_host::{Buffer, Device, Error, Grid, Image, Matrix, Module, POISON};
use example_common::{Numbers, Outcome, Verdict};
use gemm_blackwell_kernel::{
    self as kernel, TILE_K, TILE_M, TILE_N, TileA, TileB, TileC, dynamic, pair,
};

/// The kernels, compiled by the build script.
pub static KERNELS: Image = baton_host::image!("gemm_blackwell_kernel");

/// The tensor unit wants rows to begin at multiples of so many bytes.
const ROW_ALIGNMENT: usize = 16;

/// An element type of C and the kernels that make it.
pub trait Output: kernel::Output + DeviceValue {
    /// Its name.
    const NAME: &'static str;
    /// The name of the kernel whose CTAs stride over the tiles.
    const KERNEL: &'static str;
    /// The name of the kernel whose CTAs take tiles as they come.
    const DYNAMIC: &'static str;
    /// The name of the kernel whose CTAs multiply in pairs.
    const PAIR: &'static str;
    /// Bits of the significand, the hidden one included.
    const SIGNIFICAND: i32;
    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32 = -126;

    /// The same value.
    fn to_f64(self) -> f64;

    /// Its bit pattern.
    fn bits(self) -> u64;

    /// A call of the kernel: `rows` × `columns` tiles of C, `steps` of K.
    fn call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<Self>, Store>,
        tiles: Tiles,
    ) -> Call<'a>;

    /// A call of the kernel that takes tiles as they come, from a grid of all of them: `steps` of K.
    fn dynamic_call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<Self>, Store>,
        steps: u32,
    ) -> Call<'a>;

    /// A call of the kernel of pairs: `rows` × `columns` of its tiles of C, `steps` of K.
    fn pair_call<'a>(
        a: TensorMap<'a, pair::HalfA>,
        b: TensorMap<'a, pair::HalfB>,
        c: TensorMap<'a, pair::Piece<Self>, Store>,
        tiles: Tiles,
    ) -> Call<'a>;
}

impl Output for f32 {
    const NAME: &'static str = "f32";
    const KERNEL: &'static str = "gemm_f32";
    const DYNAMIC: &'static str = "gemm_dynamic_f32";
    const PAIR: &'static str = "gemm_pair_f32";
    const SIGNIFICAND: i32 = 24;

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<f32>, Store>,
        Tiles { rows, columns, steps }: Tiles,
    ) -> Call<'a> {
        kernel::gemm_f32(a, b, c, rows, columns, steps)
    }

    fn dynamic_call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<f32>, Store>,
        steps: u32,
    ) -> Call<'a> {
        dynamic::gemm_dynamic_f32(a, b, c, steps)
    }

    fn pair_call<'a>(
        a: TensorMap<'a, pair::HalfA>,
        b: TensorMap<'a, pair::HalfB>,
        c: TensorMap<'a, pair::Piece<f32>, Store>,
        Tiles { rows, columns, steps }: Tiles,
    ) -> Call<'a> {
        pair::gemm_pair_f32(a, b, c, rows, columns, steps)
    }
}

impl Output for bf16 {
    const NAME: &'static str = "bf16";
    const KERNEL: &'static str = "gemm_bf16";
    const DYNAMIC: &'static str = "gemm_dynamic_bf16";
    const PAIR: &'static str = "gemm_pair_bf16";
    const SIGNIFICAND: i32 = 8;

    fn to_f64(self) -> f64 {
        self.to_f32().into()
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<bf16>, Store>,
        Tiles { rows, columns, steps }: Tiles,
    ) -> Call<'a> {
        kernel::gemm_bf16(a, b, c, rows, columns, steps)
    }

    fn dynamic_call<'a>(
        a: TensorMap<'a, TileA>,
        b: TensorMap<'a, TileB>,
        c: TensorMap<'a, TileC<bf16>, Store>,
        steps: u32,
    ) -> Call<'a> {
        dynamic::gemm_dynamic_bf16(a, b, c, steps)
    }

    fn pair_call<'a>(
        a: TensorMap<'a, pair::HalfA>,
        b: TensorMap<'a, pair::HalfB>,
        c: TensorMap<'a, pair::Piece<bf16>, Store>,
        Tiles { rows, columns, steps }: Tiles,
    ) -> Call<'a> {
        pair::gemm_pair_bf16(a, b, c, rows, columns, steps)
    }
}

/// How many tiles cover a problem; the last in each direction may hang over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Tiles of C from top to bottom.
    pub rows: u32,
    /// Tiles of C from left to right.
    pub columns: u32,
    /// Steps of K.
    pub steps: u32,
}

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

impl Shape {
    /// The tiles that cover it.
    pub fn tiles(self) -> Tiles {
        self.tiles_of(TILE_M, TILE_N)
    }

    /// The tiles of a pair of CTAs that cover it.
    pub fn tiles_of_pairs(self) -> Tiles {
        self.tiles_of(pair::TILE_M, pair::TILE_N)
    }

    fn tiles_of(self, rows: usize, columns: usize) -> Tiles {
        Tiles {
            rows: self.m.div_ceil(rows) as u32,
            columns: self.n.div_ceil(columns) as u32,
            steps: self.k.div_ceil(TILE_K) as u32,
        }
    }
}

/// CTAs that share the tiles of C. More than there are tiles would have nothing to do; on the emulator, half as
/// many, so that each accumulator is used and handed back.
pub fn ctas(device: &Device, shape: Shape) -> u32 {
    // Multiprocessors of the largest Blackwell; any number is right, since each CTA strides over the tiles.
    const MULTIPROCESSORS: u32 = 160;
    let Tiles { rows, columns, .. } = shape.tiles();
    let tiles = rows * columns;
    if device.is_emulator() { tiles.div_ceil(2) } else { tiles.min(MULTIPROCESSORS) }
}

/// Who does which tiles of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// So many CTAs, each of which strides over the tiles.
    Strided(u32),
    /// A CTA for each tile; those that run take over the tiles of those that have not started.
    Dynamic,
    /// So many pairs of CTAs, each of which strides over larger tiles.
    Pairs(u32),
}

/// Inputs, and what their product has to be.
pub struct Problem {
    shape: Shape,
    a: Vec<f64>,
    b: Vec<f64>,
    reference: Vec<Reference>,
}

/// One element of the product in double precision.
#[derive(Clone, Copy, Debug, Default)]
struct Reference {
    value: f64,
    /// Sum of the products' magnitudes, which bounds the rounding of any order of summation.
    magnitude: f64,
}

/// An outcome, and how far the elements were off.
pub struct Product {
    /// The launch and the verdict.
    pub outcome: Outcome,
    /// The largest |c − reference| / Σ|aᵢ||bᵢ|: relative to what was summed, because a sum may cancel to nothing.
    pub largest_relative_error: f64,
}

impl Problem {
    /// Normally distributed inputs, rounded to bf16, and their product.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let mut numbers = Numbers::new(seed);
        let mut draw = |count| -> Vec<f64> {
            (0..count).map(|_| bf16::from_f32(numbers.normal() as f32).to_f64()).collect()
        };
        let (a, b) = (draw(shape.m * shape.k), draw(shape.n * shape.k));
        let reference = multiply(shape, &a, &b);
        Self { shape, a, b, reference }
    }

    /// The extents.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Computes the product on the device, on so many CTAs, and compares every element.
    pub fn run<T: Output>(
        &self,
        device: &Device,
        module: &Module,
        ctas: u32,
    ) -> Result<Product, Error> {
        self.run_as::<T>(device, module, Schedule::Strided(ctas))
    }

    /// Computes the product on the device and compares every element.
    pub fn run_as<T: Output>(
        &self,
        device: &Device,
        module: &Module,
        schedule: Schedule,
    ) -> Result<Product, Error> {
        let Shape { m, n, k } = self.shape;
        let (a, a_matrix) = upload(device, &self.a, m, k)?;
        let (b, b_matrix) = upload(device, &self.b, n, k)?;
        let c_matrix = matrix::<T>(m, n);
        let mut c = Buffer::<T>::poisoned(device, m * c_matrix.pitch as usize)?;

        let tiles = self.shape.tiles();
        macro_rules! maps {
            ($call:expr) => {
                $call(a.tensor_map(a_matrix)?, b.tensor_map(b_matrix)?, c.tensor_map_mut(c_matrix)?)
            };
        }
        let (grid, call) = match schedule {
            Schedule::Strided(ctas) => (Grid::from(ctas), maps!(|a, b, c| T::call(a, b, c, tiles))),
            Schedule::Dynamic => {
                let call = maps!(|a, b, c| T::dynamic_call(a, b, c, tiles.steps));
                (Grid::from([tiles.columns, tiles.rows]), call)
            }
            Schedule::Pairs(pairs) => {
                let tiles = self.shape.tiles_of_pairs();
                (Grid::from(pair::CTAS * pairs), maps!(|a, b, c| T::pair_call(a, b, c, tiles)))
            }
        };
        let launch = device.launch(module, grid, call)?;

        let (verdict, largest_relative_error) = self.compare(&c.to_vec()?, c_matrix.pitch as usize);
        Ok(Product { outcome: Outcome { launch, verdict }, largest_relative_error })
    }

    /// Holds each element against the reference: the sum may be rounded once for each product and its addition, in
    /// any order, and the result to the output's type.
    fn compare<T: Output>(&self, found: &[T], pitch: usize) -> (Verdict, f64) {
        self.compare_with(found, pitch, |_, sum, of_sum| {
            (sum, of_sum + half_ulp::<T>(sum.abs() + of_sum))
        })
    }

    /// The same, of what `element` makes of the number of an element, its sum, and how far that may be off: its value, and how far it may be
    /// off.
    fn compare_with<T: Output>(
        &self,
        found: &[T],
        pitch: usize,
        element: impl Fn(usize, f64, f64) -> (f64, f64),
    ) -> (Verdict, f64) {
        let Shape { n, k, .. } = self.shape;
        let mut verdict = Verdict::default();
        let mut worst: f64 = 0.0;
        for (row, found) in found.chunks(pitch).enumerate() {
            let (elements, gap) = found.split_at(n);
            for (col, found) in elements.iter().map(|c| c.to_f64()).enumerate() {
                let Reference { value, magnitude } = self.reference[row * n + col];
                let of_sum = 2.0 * k as f64 * UNIT_ROUNDOFF * magnitude;
                let (value, bound) = element(row * n + col, value, of_sum);
                let error = (found - value).abs();
                // What is not a number, as the poison is, compares with nothing and is wrong.
                verdict.element(error <= bound, || {
                    format!("C[{row}][{col}] is {found:e} and should be {value:e} ± {bound:.1e}")
                });
                if magnitude != 0.0 {
                    worst = worst.max(error / magnitude);
                }
            }
            if gap.iter().any(|c| c.bits() != poison::<T>()) {
                verdict.element(false, || format!("row {row} of C is written beyond its end"));
            }
        }
        (verdict, worst)
    }
}

/// 2⁻²⁴: what one rounding to f32 can change, relatively.
const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

/// Half the distance between the values of `T` around `x`.
fn half_ulp<T: Output>(x: f64) -> f64 {
    let exponent = (x.log2().floor() as i32).max(T::MIN_EXPONENT);
    2f64.powi(exponent - T::SIGNIFICAND)
}

/// The bits of an element that was never written.
fn poison<T>() -> u64 {
    u64::from_le_bytes([POISON; 8]) >> (64 - 8 * size_of::<T>())
}

/// A matrix whose rows begin where the tensor unit wants them.
fn matrix<T>(rows: usize, cols: usize) -> Matrix {
    let pitch = cols.next_multiple_of(ROW_ALIGNMENT / size_of::<T>());
    Matrix::new(rows as u64, cols as u64).with_pitch(pitch as u64)
}

/// Copies an operand to the device. Between its rows lies poison, which would show in every sum that read it.
fn upload(
    device: &Device,
    values: &[f64],
    rows: usize,
    cols: usize,
) -> Result<(Buffer<bf16>, Matrix), Error> {
    let matrix = matrix::<bf16>(rows, cols);
    let gap = matrix.pitch as usize - cols;
    let poison = bf16::from_bits(u16::from_le_bytes([POISON; 2]));
    let padded: Vec<bf16> = values
        .chunks(cols)
        .flat_map(|row| {
            let row = row.iter().map(|&value| bf16::from_f32(value as f32));
            row.chain(std::iter::repeat_n(poison, gap))
        })
        .collect();
    Ok((Buffer::from_slice(device, &padded)?, matrix))
}

/// A · Bᵀ in double precision, on all cores.
fn multiply(shape: Shape, a: &[f64], b: &[f64]) -> Vec<Reference> {
    let Shape { m, n, k } = shape;
    let mut product = vec![Reference::default(); m * n];
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let band = m.div_ceil(cores);
    thread::scope(|scope| {
        for (a, product) in a.chunks(band * k).zip(product.chunks_mut(band * n)) {
            scope.spawn(move || multiply_band(n, k, a, b, product));
        }
    });
    product
}

/// Some rows of A against all of B, a few rows of B at a time so that they stay in the cache.
fn multiply_band(n: usize, k: usize, a: &[f64], b: &[f64], product: &mut [Reference]) {
    const BLOCK: usize = 16;
    for (block, b) in b.chunks(BLOCK * k).enumerate() {
        for (a, product) in a.chunks(k).zip(product.chunks_mut(n)) {
            for (b, element) in b.chunks(k).zip(&mut product[block * BLOCK..]) {
                *element = dot(a, b);
            }
        }
    }
}

/// Sums in eight lanes, which the compiler can keep in vectors.
fn dot(a: &[f64], b: &[f64]) -> Reference {
    const LANES: usize = 8;
    let (mut values, mut magnitudes) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |a: &[f64], b: &[f64]| {
        for (lane, (a, b)) in a.iter().zip(b).enumerate() {
            let product = a * b;
            values[lane] += product;
            magnitudes[lane] += product.abs();
        }
    };
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = (a.remainder(), b.remainder());
    a.zip(b).for_each(|(a, b)| add(a, b));
    add(rest.0, rest.1);
    Reference { value: values.iter().sum(), magnitude: magnitudes.iter().sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_ulp_is_what_rounding_can_change() {
        assert_eq!(half_ulp::<f32>(1.0), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(half_ulp::<f32>(1.999), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(half_ulp::<bf16>(2.0), 2f64.powi(-7));
        // Numbers below the normal ones are equally far apart, down to zero.
        assert_eq!(half_ulp::<f32>(0.0), 2f64.powi(-150));
    }

    #[test]
    fn the_reference_is_the_product() {
        // 3 × 2 with sums of 11: lanes, remainder and a block that is not full.
        let shape = Shape { m: 3, n: 2, k: 11 };
        let a: Vec<f64> = (0..33).map(f64::from).collect();
        let b: Vec<f64> = (0..22).map(|x| f64::from(x) - 10.0).collect();
        let product = multiply(shape, &a, &b);
        for row in 0..3 {
            for col in 0..2 {
                let products = (0..11).map(|i| a[row * 11 + i] * b[col * 11 + i]);
                let Reference { value, magnitude } = product[row * 2 + col];
                assert_eq!(value, products.clone().sum::<f64>());
                assert_eq!(magnitude, products.map(f64::abs).sum::<f64>());
            }
        }
    }

    #[test]
    fn wrong_missing_and_misplaced_elements_are_found() {
        let problem = Problem::new(Shape { m: 4, n: 3, k: 5 }, 1);
        let gap = f32::from_bits(u32::MAX);
        let right: Vec<f32> = problem
            .reference
            .chunks(3)
            .flat_map(|row| row.iter().map(|r| r.value as f32).chain([gap]))
            .collect();
        let verdict = |change: &dyn Fn(&mut [f32])| {
            let mut found = right.clone();
            change(&mut found);
            problem.compare(&found, 4).0
        };
        assert!(verdict(&|_| {}).is_right());
        assert_eq!(verdict(&|_| {}).elements, 12);
        assert_eq!(verdict(&|c| c[5] *= 1.001).wrong, 1);
        assert_eq!(verdict(&|c| c[10] = gap).wrong, 1);
        assert_eq!(verdict(&|c| c[7] = 0.0).wrong, 1);
        assert_eq!(verdict(&|c| c.swap(0, 1)).wrong, 2);
    }
}
