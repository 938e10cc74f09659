//! The arithmetic of a dense `tcgen05.mma.cta_group::1`: D = A·B, or D = A·B + D.
//!
//! Two steps, because on hardware they happen at different times: [`Mma::read_operands`] takes A
//! and B out of shared and tensor memory, [`Mma::write_result`] updates D.
//!
//! # Rounding
//! PTX leaves the order and the rounding of the sum open. Here the sum starts with D (or zero) and
//! adds the products in the order of k, each addition rounded to nearest even in f32. Products of
//! f16, bf16, tf32 and 8-bit elements are exact in f32 unless they leave its range. An f16
//! accumulator is widened before and rounded once after. So the result is within K·2⁻²⁴·Σ|aᵢ||bᵢ|
//! (plus the terms of D) of the true one, and is the same on every machine. Integer sums are exact,
//! then wrap around or saturate.
//!
//! # Where D lies
//! Row r of D is lane r of tensor memory for M = 128, and lane 32·⌊r/16⌋ + r%16 for M = 64 (plus
//! the address's lane, 0 or 16); column n is n columns after the address. f16 results take the
//! lower half of a cell, whose upper half becomes zero. A in tensor memory has the same rows, with
//! as many neighbouring k in a cell as fit.

use std::ops::{AddAssign, Mul};

use super::descriptor::{DescriptorError, FromElement, Major, SharedDescriptor, SharedWindow};
use super::element::{f16_to_f32, f32_to_f16};
use super::idesc::{AccumulatorType, InstructionDescriptor};
use super::tensor_memory::{TensorAddress, TensorMemory, TensorMemoryError};

/// Rows and columns of D that are computed together: small enough for the registers of any machine.
pub(crate) const ROWS: usize = 4;
pub(crate) const COLUMNS: usize = 8;

/// Columns of A in tensor memory: K is 32 bytes for every kind.
const A_COLUMNS: u32 = 8;

/// Where A comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandA {
    /// Shared memory.
    Shared(SharedDescriptor),
    /// Tensor memory.
    Tensor(TensorAddress),
}

/// One dense multiplication of one CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mma {
    /// Types and shape.
    pub idesc: InstructionDescriptor,
    /// Matrix A, M × K.
    pub a: OperandA,
    /// Matrix B, K × N.
    pub b: SharedDescriptor,
    /// Matrix D, M × N.
    pub d: TensorAddress,
    /// Add to D rather than overwrite it.
    pub enable_input_d: bool,
    /// D counts 2 to the minus this many times in the sum (`scale-input-d`), 0 to 15.
    pub scale_input_d: u32,
    /// Lanes of tensor memory that are not updated, one bit each (`disable-output-lane`).
    pub disabled_lanes: [u32; 4],
}

/// The values of A and B.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Floating-point kinds.
    Float(Panels<f32>),
    /// `kind::i8`.
    Integer(Panels<i32>),
}

/// A and B in the order in which the multiplication walks them; see [`OperandLayout::gather`].
///
/// [`OperandLayout::gather`]: super::OperandLayout::gather
#[derive(Clone, Debug, PartialEq)]
pub struct Panels<T> {
    a: Vec<T>,
    b: Vec<T>,
}

/// A multiplication that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum MmaError {
    #[error("matrix {matrix} of tcgen05.mma: {source}")]
    Shared { matrix: &'static str, source: DescriptorError },
    #[error("matrix {matrix} of tcgen05.mma: {source}")]
    Tensor { matrix: &'static str, source: TensorMemoryError },
    #[error(
        "matrix {matrix} of tcgen05.mma with M = {m} at tensor memory lane {lane}; use lane 0, or with M = 64 also 16 \
         (rule D14)"
    )]
    Lane { matrix: &'static str, m: u32, lane: u32 },
    #[error(
        "A is in tensor memory and MN-major (bit 15 of the instruction descriptor); clear the bit (rule D14)"
    )]
    TransposedTensorA,
    #[error(
        "tcgen05.mma scales its input D by 2^-{scale}; use 0 to 15, with kind::f16 or kind::tf32 (rule D14)"
    )]
    Scale { scale: u32 },
    #[error(
        "matrix {matrix} of tcgen05.mma reads tensor memory lane {lane}, column {column}, which nothing has written; \
         clear enable-input-d for the first product into an accumulator, or store A first"
    )]
    Unwritten { matrix: &'static str, lane: u32, column: u32 },
}

impl MmaError {
    /// The rule that was broken, if it is one of the list.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Shared { source, .. } => source.rule(),
            Self::Tensor { source, .. } => Some(source.rule()),
            Self::Lane { .. } | Self::TransposedTensorA | Self::Scale { .. } => Some("D14"),
            Self::Unwritten { .. } => None,
        }
    }
}

/// Lane of tensor memory that holds a row of D, or of A, counted from the lane of the matrix's
/// address.
pub fn lane_of_row(m: u32, row: u32) -> u32 {
    if m == 64 { row / 16 * 32 + row % 16 } else { row }
}

impl Mma {
    /// Reads A and B.
    pub fn read_operands(
        &self,
        shared: &SharedWindow<'_>,
        tensor: &TensorMemory,
    ) -> Result<Operands, MmaError> {
        Ok(if self.idesc.d == AccumulatorType::S32 {
            Operands::Integer(self.panels(shared, tensor)?)
        } else {
            let mut panels: Panels<f32> = self.panels(shared, tensor)?;
            let mut negate = |flag: bool, values: fn(&mut Panels<f32>) -> &mut Vec<f32>| {
                if flag {
                    values(&mut panels).iter_mut().for_each(|value| *value = -*value);
                }
            };
            negate(self.idesc.negate_a, |p| &mut p.a);
            negate(self.idesc.negate_b, |p| &mut p.b);
            Operands::Float(panels)
        })
    }

    /// Updates D from operands that [`read_operands`](Self::read_operands) of the same
    /// multiplication gave.
    pub fn write_result(
        &self,
        operands: &Operands,
        tensor: &mut TensorMemory,
    ) -> Result<(), MmaError> {
        let InstructionDescriptor { n, d, saturate, .. } = self.idesc;
        if self.scale_input_d > 15 || self.scale_input_d > 0 && !self.scalable() {
            return Err(MmaError::Scale { scale: self.scale_input_d });
        }
        self.check_tensor("D", self.d, n, self.enable_input_d, tensor)?;
        match operands {
            Operands::Float(panels) => {
                let scale = f32::from_bits((127 - self.scale_input_d) << 23);
                if d == AccumulatorType::F16 {
                    let start = |bits: u32| f16_to_f32(bits as u16) * scale;
                    self.update(panels, tensor, start, |sum, _| f32_to_f16(sum).into());
                } else {
                    let start = |bits| f32::from_bits(bits) * scale;
                    self.update(panels, tensor, start, |sum, _| sum.to_bits());
                }
            }
            Operands::Integer(panels) => {
                let add = |sum: i32, old: u32| {
                    let old = old as i32;
                    (if saturate { old.saturating_add(sum) } else { old.wrapping_add(sum) }) as u32
                };
                self.update(panels, tensor, |_| 0, add);
            }
        }
        Ok(())
    }

    /// Both steps at once.
    pub fn execute(
        &self,
        shared: &SharedWindow<'_>,
        tensor: &mut TensorMemory,
    ) -> Result<(), MmaError> {
        let operands = self.read_operands(shared, tensor)?;
        self.write_result(&operands, tensor)
    }

    /// The sums of every block of D, begun with `start` of the old cell and written as `finish` of
    /// the sum and the old cell. Without an input D the old cells count as zero.
    fn update<T: Number>(
        &self,
        panels: &Panels<T>,
        tensor: &mut TensorMemory,
        start: impl Fn(u32) -> T,
        finish: impl Fn(T, u32) -> u32,
    ) {
        let InstructionDescriptor { kind, m, n, .. } = self.idesc;
        let depth = kind.depth() as usize;
        let TensorAddress { lane: base, column } = self.d;
        let rows_of_a = panels.a.chunks_exact(ROWS * depth);
        for (first_row, a) in (0..m).step_by(ROWS).zip(rows_of_a) {
            let lanes: [u32; ROWS] =
                std::array::from_fn(|i| base + lane_of_row(m, first_row + i as u32));
            let columns_of_b = panels.b.chunks_exact(COLUMNS * depth);
            for (at, b) in (column..column + n).step_by(COLUMNS).zip(columns_of_b) {
                let mut old = [[0; COLUMNS]; ROWS];
                if self.enable_input_d {
                    for (old, lane) in old.iter_mut().zip(lanes) {
                        old.copy_from_slice(tensor.row(lane, at, COLUMNS as u32));
                    }
                }
                let mut sums = old.map(|row| row.map(&start));
                multiply(a, b, &mut sums);
                for ((sums, old), lane) in sums.iter().zip(&old).zip(lanes) {
                    if self.disabled_lanes[lane as usize / 32] >> (lane % 32) & 1 == 1 {
                        continue;
                    }
                    let cells = tensor.row_mut(lane, at, COLUMNS as u32);
                    for ((cell, &sum), &old) in cells.iter_mut().zip(sums).zip(old) {
                        *cell = finish(sum, old);
                    }
                }
            }
        }
    }

    fn panels<T: FromElement>(
        &self,
        shared: &SharedWindow<'_>,
        tensor: &TensorMemory,
    ) -> Result<Panels<T>, MmaError> {
        let InstructionDescriptor { kind, a, b, a_major, b_major, m, n, .. } = self.idesc;
        let depth = kind.depth();
        let in_a = |source| MmaError::Shared { matrix: "A", source };
        let in_b = |source| MmaError::Shared { matrix: "B", source };
        let b_layout = self.b.layout(b_major, b.bits()).map_err(in_b)?;
        let a = match self.a {
            OperandA::Shared(descriptor) => {
                let layout = descriptor.layout(a_major, a.bits()).map_err(in_a)?;
                layout.gather::<T, ROWS>(a, m, depth, shared).map_err(in_a)?
            }
            OperandA::Tensor(address) => self.tensor_a(address, tensor)?,
        };
        let b = b_layout.gather::<T, COLUMNS>(b, n, depth, shared).map_err(in_b)?;
        Ok(Panels { a, b })
    }

    fn tensor_a<T: FromElement>(
        &self,
        address: TensorAddress,
        tensor: &TensorMemory,
    ) -> Result<Vec<T>, MmaError> {
        let InstructionDescriptor { kind, a: element, a_major, m, .. } = self.idesc;
        if a_major == Major::Mn {
            return Err(MmaError::TransposedTensorA);
        }
        self.check_tensor("A", address, A_COLUMNS, true, tensor)?;
        let Some(decode) = T::decoder(element) else {
            let source = DescriptorError::Unsupported { element };
            return Err(MmaError::Shared { matrix: "A", source });
        };
        let depth = kind.depth() as usize;
        let mut out = vec![T::default(); m as usize * depth];
        for row in 0..m as usize {
            let lane = address.lane + lane_of_row(m, row as u32);
            let cells = tensor.row(lane, address.column, A_COLUMNS);
            // Every 4 cells are 16 bytes.
            for (half, cells) in cells.chunks_exact(4).enumerate() {
                let values = decode(std::array::from_fn(|i| cells[i / 4].to_le_bytes()[i % 4]));
                for (i, &value) in values[..depth / 2].iter().enumerate() {
                    let k = half * depth / 2 + i;
                    out[(row / ROWS * depth + k) * ROWS + row % ROWS] = value;
                }
            }
        }
        Ok(out)
    }

    /// Checks a matrix in tensor memory, and that all of it is written if it `is_read`.
    fn check_tensor(
        &self,
        matrix: &'static str,
        at: TensorAddress,
        columns: u32,
        is_read: bool,
        tensor: &TensorMemory,
    ) -> Result<(), MmaError> {
        let m = self.idesc.m;
        if !(at.lane == 0 || m == 64 && at.lane == 16) {
            return Err(MmaError::Lane { matrix, m, lane: at.lane });
        }
        let lanes = lane_of_row(m, m - 1) + 1;
        tensor.check(at, lanes, columns).map_err(|source| MmaError::Tensor { matrix, source })?;
        if is_read {
            for lane in (0..m).map(|row| at.lane + lane_of_row(m, row)) {
                if let Some(column) = tensor.first_unwritten(lane, at.column, columns) {
                    return Err(MmaError::Unwritten { matrix, lane, column });
                }
            }
        }
        Ok(())
    }

    fn scalable(&self) -> bool {
        use super::idesc::Kind;
        matches!(self.idesc.kind, Kind::F16 | Kind::Tf32)
    }
}

/// What the inner loop needs of a number.
pub(crate) trait Number: Copy + Mul<Output = Self> + AddAssign {}
impl Number for f32 {}
impl Number for i32 {}

/// Adds the product of `ROWS` rows of A and `COLUMNS` columns of B. The sums stay in vector
/// registers.
#[inline(always)]
pub(crate) fn multiply<T: Number>(a: &[T], b: &[T], sums: &mut [[T; COLUMNS]; ROWS]) {
    let mut local = *sums;
    for (a, b) in a.chunks_exact(ROWS).zip(b.chunks_exact(COLUMNS)) {
        for (sums, &a) in local.iter_mut().zip(a) {
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    }
    *sums = local;
}
