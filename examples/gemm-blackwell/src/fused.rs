//! What the host does for the product with more in its epilogue: C = gelu(A · Bᵀ + bias) + residual.

use baton::float::bf16;
use baton_host::{Buffer, Device, Error, Grid, Module};
use example_common::{Numbers, Outcome};
use gemm_blackwell_kernel::{fused, pair};

use crate::{Output, Problem, Product, Shape, UNIT_ROUNDOFF, half_ulp, matrix, upload};

/// The kernel's name.
pub const KERNEL: &str = "gemm_fused";

/// The kernel's tanh: its relative error.
const TANH: f64 = 1.0 / 2048.0;
/// A bound of the derivative of gelu.
const STEEPEST: f64 = 1.13;

/// A product, and what is added before and behind the activation.
pub struct Fused {
    problem: Problem,
    bias: Vec<f32>,
    residual: Vec<f64>,
}

impl Fused {
    /// Normally distributed inputs.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let problem = Problem::new(shape, seed);
        let mut numbers = Numbers::new(!seed);
        let bias = (0..shape.n).map(|_| numbers.normal() as f32).collect();
        let residual = (0..shape.m * shape.n)
            .map(|_| bf16::from_f32(8.0 * numbers.normal() as f32).to_f64())
            .collect();
        Fused { problem, bias, residual }
    }

    /// Computes it on the device, on so many pairs of CTAs, and compares every element.
    pub fn run(&self, device: &Device, module: &Module, pairs: u32) -> Result<Product, Error> {
        let Shape { m, n, k } = self.problem.shape;
        let (a, a_matrix) = upload(device, &self.problem.a, m, k)?;
        let (b, b_matrix) = upload(device, &self.problem.b, n, k)?;
        let (residual, residual_matrix) = upload(device, &self.residual, m, n)?;
        let c_matrix = matrix::<bf16>(m, n);
        let mut c = Buffer::<bf16>::poisoned(device, m * c_matrix.pitch as usize)?;
        let tiles = self.problem.shape.tiles_of_pairs();
        // An element for each column of the last tile too.
        let mut bias = self.bias.clone();
        bias.resize(tiles.columns as usize * pair::TILE_N, 0.0);
        let bias = Buffer::from_slice(device, &bias)?;

        let call = fused::gemm_fused(
            a.tensor_map(a_matrix)?,
            b.tensor_map(b_matrix)?,
            bias.as_arg(),
            residual.tensor_map(residual_matrix)?,
            c.tensor_map_mut(c_matrix)?,
            tiles.rows,
            tiles.columns,
            tiles.steps,
        );
        let launch = device.launch(module, Grid::from(pair::CTAS * pairs), call)?;

        let (verdict, largest_relative_error) =
            self.problem.compare_with(&c.to_vec()?, c_matrix.pitch as usize, |at, sum, of_sum| {
                self.element(at, sum, of_sum)
            });
        Ok(Product { outcome: Outcome { launch, verdict }, largest_relative_error })
    }

    /// What element `at` has to be and how far off it may be, where its sum is at most `of_sum` off: the kernel rounds in f32, its tanh is
    /// an approximation, and the result is rounded to bf16.
    fn element(&self, at: usize, sum: f64, of_sum: f64) -> (f64, f64) {
        let x = sum + f64::from(self.bias[at % self.problem.shape.n]);
        let residual = self.residual[at];
        let value = gelu(x) + residual;
        let in_f32 = 8.0 * UNIT_ROUNDOFF * (x.abs() + of_sum + residual.abs());
        let bound = STEEPEST * of_sum + x.abs() * TANH / 2.0 + in_f32;
        (value, bound + half_ulp::<bf16>(value.abs() + bound))
    }
}

/// In double precision.
fn gelu(x: f64) -> f64 {
    let scale = (2.0 / std::f64::consts::PI).sqrt();
    0.5 * x * (1.0 + (scale * (x + 0.044715 * x * x * x)).tanh())
}

#[cfg(test)]
mod tests {
    use super::{Fused, gelu};
    use crate::Shape;

    #[test]
    fn gelu_passes_large_numbers_and_stops_small_ones() {
        assert_eq!(gelu(0.0), 0.0);
        assert_eq!(gelu(20.0), 20.0);
        assert_eq!(gelu(-20.0), 0.0);
        assert!((gelu(1.0) - 0.841192).abs() < 1e-6);
    }

    #[test]
    fn each_of_its_parts_is_in_an_element() {
        let fused = Fused::new(Shape { m: 2, n: 3, k: 1 }, 1);
        let (value, bound) = fused.element(4, 0.25, 0.0);
        let x = 0.25 + f64::from(fused.bias[1]);
        assert_eq!(value, gelu(x) + fused.residual[4]);
        assert!(bound > 0.0 && bound < 0.1);
    }
}
