//! How matrices are spread over the registers of a warp.
//!
//! The matrix instructions of all generations share these fragments. A warp holds 16 rows of A and
//! of D; lane l holds parts of rows l/4 and l/4 + 8. A row of A is 32 bytes whatever the elements:
//! register r of lane l is bytes 4·(l%4) + 16·(r/2) of row l/4 + 8·(r%2). Element i of D is at row
//! l/4 + 8·(i/2%2), column 8·(i/4) + 2·(l%4) + i%2.

use crate::ir::{LANES, Lanes32};

/// Rows of a fragment.
pub(crate) const ROWS: usize = 16;

/// The bytes of a row of A.
pub(crate) const ROW_BYTES: usize = 32;

/// The rows of A in four registers.
pub(crate) fn rows_of_a(registers: &[Lanes32; 4]) -> [[u8; ROW_BYTES]; ROWS] {
    let mut rows = [[0; ROW_BYTES]; ROWS];
    for (r, register) in registers.iter().enumerate() {
        for (lane, word) in register.iter().enumerate() {
            let at = 4 * (lane % 4) + 16 * (r / 2);
            rows[lane / 4 + 8 * (r % 2)][at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
    }
    rows
}

/// Row and column of element `i` of D in `lane`.
pub(crate) fn cell_of_d(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2)
}

/// How many elements of D share a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// One of 32 bits.
    Word,
    /// Two halves.
    Halves,
}

impl Packing {
    fn elements(self) -> usize {
        match self {
            Packing::Word => 1,
            Packing::Halves => 2,
        }
    }

    /// Registers of a lane for 16 rows of `n` columns.
    pub fn registers(self, n: usize) -> usize {
        n / 2 / self.elements()
    }

    /// Element (row, column), in the low bits, of D in registers.
    pub fn matrix(self, registers: &[Lanes32], n: usize) -> Vec<u32> {
        let mut matrix = vec![0; ROWS * n];
        self.walk(registers.len(), |register, lane, shift, (row, column)| {
            let word = registers[register][lane] >> shift;
            matrix[row * n + column] = if self == Packing::Halves { word & 0xFFFF } else { word };
        });
        matrix
    }

    /// The reverse of [`matrix`](Self::matrix).
    pub fn registers_of(self, matrix: &[u32], n: usize) -> Vec<Lanes32> {
        let mut registers = vec![[0; LANES]; self.registers(n)];
        self.walk(registers.len(), |register, lane, shift, (row, column)| {
            registers[register][lane] |= matrix[row * n + column] << shift;
        });
        registers
    }

    fn walk(self, registers: usize, mut visit: impl FnMut(usize, usize, u32, (usize, usize))) {
        let elements = self.elements();
        for register in 0..registers {
            for lane in 0..LANES {
                for part in 0..elements {
                    let cell = cell_of_d(lane, register * elements + part);
                    visit(register, lane, 16 * part as u32, cell);
                }
            }
        }
    }
}
