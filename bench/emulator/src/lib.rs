//! A matrix product through shared memory, as nvcc compiles it, on the emulator.
//!
//! It is what most kernels are like: loads, stores and barriers of threads, and no asynchronous operation.

use baton_emulator::{Error, Launch, Machine, Options, Program};

const TILE: u32 = 16;

/// Two matrices in the memory of a machine, and their product's place.
pub struct Matmul {
    program: Program,
    machine: Machine,
    launch: Launch,
    n: u32,
    /// Where the product goes.
    c: u64,
}

impl Matmul {
    /// Matrices of `n` × `n` small whole numbers; `n` is a multiple of 16. `unchecked` looks for no hazards.
    pub fn new(n: u32, unchecked: bool) -> Result<Self, Error> {
        let program = Program::load(include_str!("../cuda/matmul.ptx"), "matmul.ptx", None)?;
        let mut machine = Machine::new(Options { unchecked, ..Options::default() });
        let bytes = u64::from(n) * u64::from(n) * 4;
        let mut arrays = [0; 3];
        for array in &mut arrays {
            *array = machine.alloc(bytes, 256)?;
        }
        for (which, array) in arrays[..2].iter().enumerate() {
            let values = (0..n * n).flat_map(|at| element(which, at).to_le_bytes());
            machine.write(*array, &values.collect::<Vec<u8>>())?;
        }
        let mut params: Vec<Vec<u8>> = arrays.map(|array| array.to_le_bytes().into()).into();
        params.push(n.to_le_bytes().into());
        let launch = Launch {
            kernel: "matmul".into(),
            grid: [n / TILE, n / TILE, 1],
            block: [TILE * TILE, 1, 1],
            params,
            ..Launch::default()
        };
        Ok(Self { program, machine, launch, n, c: arrays[2] })
    }

    /// Multiplies; the thread-instructions that it took.
    pub fn run(&mut self) -> Result<u64, Error> {
        let report = self.machine.launch(&self.program, &self.launch)?;
        assert!(report.hazards.is_empty(), "the kernel is correct: {:?}", report.hazards);
        Ok(report.instructions)
    }

    /// An element of the product, as it is in memory.
    pub fn product(&self, row: u32, col: u32) -> Result<f32, Error> {
        let mut bytes = [0; 4];
        self.machine.read(self.c + 4 * u64::from(row * self.n + col), &mut bytes)?;
        Ok(f32::from_le_bytes(bytes))
    }
}

/// An element of the first or the second matrix: whole numbers whose sums are exact.
fn element(which: usize, at: u32) -> f32 {
    ((at.wrapping_mul(7 + 4 * which as u32) >> 3) % 5) as f32 - 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_right() {
        let n = 32;
        for unchecked in [false, true] {
            let mut matmul = Matmul::new(n, unchecked).expect("it loads");
            matmul.run().expect("it runs");
            for (row, col) in [(0, 0), (3, 17), (31, 31)] {
                let terms = (0..n).map(|k| element(0, row * n + k) * element(1, k * n + col));
                assert_eq!(matmul.product(row, col).expect("it is there"), terms.sum::<f32>());
            }
        }
    }

    #[test]
    fn the_work_grows_with_the_size() {
        let instructions = |n| Matmul::new(n, true).and_then(|mut m| m.run()).expect("it runs");
        let (small, large) = (instructions(32), instructions(64));
        // Eight times the products, four times what each thread does once.
        assert!((6 * small..8 * small).contains(&large), "{small}, {large}");
    }
}
