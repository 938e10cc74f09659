//! The arithmetic of a `tcgen05.mma`: D = A·B, or D = A·B + D.
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
//! then wrap around or saturate. Block-scaled sums are f64 ones, rounded to f32 once.
//!
//! # Where D lies
//! Column n is n columns after the address, and row r is lane r of tensor memory, but:
//!
//! - With `.cta_group::2` each CTA has half of the rows, the even one the first.
//! - M = 64 of one CTA: lane 32·⌊r/16⌋ + r%16, plus the address's lane, 0 or 16.
//! - M = 128 of two CTAs, and M = 64 with `.ws`: lanes 64 and up hold the upper half of the columns.
//! - M = 32 with `.ws`: lanes 32 and up, 64 and up, 96 and up hold the next quarters of them.
//!
//! f16 results take the lower half of a cell, whose upper half becomes zero. A in tensor memory has
//! the same rows, with as many neighbouring k in a cell as fit; elements of 6 and 4 bits have a byte
//! each there. `.ashift` gives row r the elements of row r + 1, but for the last.
//!
//! # Factors of blocks
//! Row r of A has its factors in column r/32, column n of B in column n/32 after their addresses, in
//! lane r%32 or n%32 of each quarter of the lanes: a quarter of D uses those of its own quarter.
//! The factors of neighbouring blocks of K are neighbouring bytes, from the one that the instruction
//! descriptor names.

use std::ops::{AddAssign, Mul};

use super::descriptor::{DescriptorError, FromElement, Major, SharedDescriptor, SharedWindow};
use super::element::{ElementType, e2m1_to_f32, ue4m3_to_f64, ue8m0_to_f64};
use super::element::{f16_to_f32, f32_to_f16};
use super::idesc::{AccumulatorType, Form, InstructionDescriptor, Kind};
use super::tensor_memory::{LANES, TensorAddress, TensorMemory, TensorMemoryError};
use super::zeros::ZeroColumns;

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

/// One multiplication, of one CTA or two.
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
    /// Lanes of tensor memory that are not updated, one bit each (`disable-output-lane`); the second
    /// four words are of the odd CTA of a pair.
    pub disabled_lanes: [u32; 8],
    /// The rows of A in tensor memory are shifted by one (`.ashift`).
    pub shift_a: bool,
    /// The factors of a block-scaled kind.
    pub scales: Option<Scales>,
    /// Where the metadata of a sparse A are.
    pub metadata: TensorAddress,
    /// Which columns of B count as zero.
    pub zeros: ZeroColumns,
}

/// Where the factors of blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scales {
    /// Those of A.
    pub a: TensorAddress,
    /// Those of B.
    pub b: TensorAddress,
    /// Blocks of K that have one each: 1, 2 or 4.
    pub blocks: u32,
}

/// The values of A and B.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Floating-point kinds.
    Float(Panels<f32>),
    /// `kind::i8`.
    Integer(Panels<i32>),
    /// Block-scaled kinds.
    Scaled(Blocks),
}

/// A and B of a block-scaled multiplication, by rows, with their factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    a: Vec<f32>,
    b: Vec<f32>,
    /// By row and block.
    of_a: Vec<f64>,
    /// By CTA, quarter of the lanes, column and block.
    of_b: Vec<f64>,
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
        "A of tcgen05.mma with M = {m} is in tensor memory; the emulator has that with one CTA, and with M = 256 of two; \
         put A into shared memory"
    )]
    TensorA { m: u32 },
    #[error(
        "block-scaled tcgen05.mma with {blocks} block(s) of K, whose factors begin at byte {byte} of a cell; they must end \
         within it, and two begin at byte 0 or 2 (rule D14)"
    )]
    ScaleByte { blocks: u32, byte: u32 },
    #[error(
        "the sparsity metadata of tcgen05.mma.sp have {bits:#06b} in tensor memory lane {lane}, column {column}, which names \
         no elements; the numbers of two elements are different"
    )]
    Metadata { bits: u32, lane: u32, column: u32 },
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
            Self::ScaleByte { .. } | Self::Metadata { .. } => Some("D14"),
            Self::Unwritten { .. } | Self::TensorA { .. } => None,
        }
    }
}

/// Lane of tensor memory that holds a row of D, or of A, counted from the lane of the matrix's
/// address.
pub fn lane_of_row(m: u32, row: u32) -> u32 {
    if m == 64 { row / 16 * 32 + row % 16 } else { row }
}

impl InstructionDescriptor {
    /// Rows of D in one CTA.
    pub fn local_rows(&self) -> u32 {
        self.m / self.form.ctas()
    }

    /// Groups of columns of D that lie in different lanes.
    pub fn splits(&self) -> u32 {
        match (self.form, self.m) {
            (Form::Pair, 128) | (Form::WeightStationary, 64) => 2,
            (Form::WeightStationary, 32) => 4,
            _ => 1,
        }
    }

    /// Lane and column of D at a row of one CTA, counted from its address.
    pub fn cell(&self, row: u32, n: u32) -> (u32, u32) {
        let lane = if self.form == Form::One { lane_of_row(self.m, row) } else { row };
        let width = self.n / self.splits();
        (lane + n / width * (LANES / self.splits()), n % width)
    }
}

impl Mma {
    /// Reads A and B: of a pair of CTAs, each has half of both.
    pub fn read_operands(
        &self,
        shared: &[SharedWindow<'_>],
        tensor: &[&TensorMemory],
    ) -> Result<Operands, MmaError> {
        if let Some(scales) = self.scales {
            return Ok(Operands::Scaled(self.blocks(scales, shared, tensor)?));
        }
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
    /// multiplication gave, in the tensor memory of CTA number `half` of those that take part.
    pub fn write_result(
        &self,
        operands: &Operands,
        half: usize,
        tensor: &mut TensorMemory,
    ) -> Result<(), MmaError> {
        let InstructionDescriptor { d, saturate, .. } = self.idesc;
        if self.scale_input_d > 15 || self.scale_input_d > 0 && !self.scalable() {
            return Err(MmaError::Scale { scale: self.scale_input_d });
        }
        self.check_d(tensor)?;
        match operands {
            Operands::Float(panels) => {
                let scale = f32::from_bits((127 - self.scale_input_d) << 23);
                if d == AccumulatorType::F16 {
                    let start = |bits: u32| f16_to_f32(bits as u16) * scale;
                    self.update(panels, half, tensor, start, |sum, _| f32_to_f16(sum).into());
                } else {
                    let start = |bits| f32::from_bits(bits) * scale;
                    self.update(panels, half, tensor, start, |sum, _| sum.to_bits());
                }
            }
            Operands::Integer(panels) => {
                let add = |sum: i32, old: u32| {
                    let old = old as i32;
                    (if saturate { old.saturating_add(sum) } else { old.wrapping_add(sum) }) as u32
                };
                self.update(panels, half, tensor, |_| 0, add);
            }
            Operands::Scaled(blocks) => self.update_scaled(blocks, half, tensor),
        }
        Ok(())
    }

    /// Both steps at once, for one CTA.
    pub fn execute(
        &self,
        shared: &SharedWindow<'_>,
        tensor: &mut TensorMemory,
    ) -> Result<(), MmaError> {
        let operands = self.read_operands(&[*shared], &[tensor])?;
        self.write_result(&operands, 0, tensor)
    }

    fn is_disabled(&self, half: usize, lane: u32) -> bool {
        self.disabled_lanes[4 * half + lane as usize / 32] >> (lane % 32) & 1 == 1
    }

    /// The sums of every block of D, begun with `start` of the old cell and written as `finish` of
    /// the sum and the old cell. Without an input D the old cells count as zero.
    fn update<T: Number>(
        &self,
        panels: &Panels<T>,
        half: usize,
        tensor: &mut TensorMemory,
        start: impl Fn(u32) -> T,
        finish: impl Fn(T, u32) -> u32,
    ) {
        let depth = self.idesc.depth() as usize;
        let rows = self.idesc.local_rows();
        let TensorAddress { lane: base, column } = self.d;
        let panel = ROWS * depth;
        let rows_of_a = panels.a.chunks_exact(panel).skip(half * rows as usize / ROWS);
        for (first_row, a) in (0..rows).step_by(ROWS).zip(rows_of_a) {
            let columns_of_b = panels.b.chunks_exact(COLUMNS * depth);
            for (n, b) in (0..self.idesc.n).step_by(COLUMNS).zip(columns_of_b) {
                let cells: [(u32, u32); ROWS] =
                    std::array::from_fn(|i| self.idesc.cell(first_row + i as u32, n));
                let at = column + cells[0].1;
                let mut old = [[0; COLUMNS]; ROWS];
                if self.enable_input_d {
                    for (old, (lane, _)) in old.iter_mut().zip(cells) {
                        old.copy_from_slice(tensor.row(base + lane, at, COLUMNS as u32));
                    }
                }
                let mut sums = old.map(|row| row.map(&start));
                multiply(a, b, &mut sums);
                for ((sums, old), (lane, _)) in sums.iter().zip(&old).zip(cells) {
                    if self.is_disabled(half, base + lane) {
                        continue;
                    }
                    let cells = tensor.row_mut(base + lane, at, COLUMNS as u32);
                    for ((cell, &sum), &old) in cells.iter_mut().zip(sums).zip(old) {
                        *cell = finish(sum, old);
                    }
                }
            }
        }
    }

    fn update_scaled(&self, blocks: &Blocks, half: usize, tensor: &mut TensorMemory) {
        let InstructionDescriptor { n, negate_a, negate_b, .. } = self.idesc;
        let depth = self.idesc.depth() as usize;
        let rows = self.idesc.local_rows();
        let count = blocks.of_a.len() / self.idesc.m as usize;
        let sign = if negate_a != negate_b { -1.0 } else { 1.0 };
        for row in 0..rows {
            let of_row = half * rows as usize + row as usize;
            let a = &blocks.a[of_row * depth..][..depth];
            let of_a = &blocks.of_a[of_row * count..][..count];
            for column in 0..n {
                let (lane, at) = self.idesc.cell(row, column);
                if self.is_disabled(half, lane) {
                    continue;
                }
                let quarter = 4 * half + (lane / 32) as usize;
                let of_b =
                    &blocks.of_b[(quarter * n as usize + column as usize) * count..][..count];
                let b = &blocks.b[column as usize * depth..][..depth];
                let cell = &mut tensor.row_mut(lane, self.d.column + at, 1)[0];
                let mut sum =
                    if self.enable_input_d { f64::from(f32::from_bits(*cell)) } else { 0.0 };
                let length = depth / count;
                for (i, (x, y)) in of_a.iter().zip(of_b).enumerate() {
                    let range = i * length..(i + 1) * length;
                    let dot: f64 = a[range.clone()]
                        .iter()
                        .zip(&b[range])
                        .map(|(&a, &b)| f64::from(a) * f64::from(b))
                        .sum();
                    sum += sign * dot * x * y;
                }
                *cell = (sum as f32).to_bits();
            }
        }
    }

    fn panels<T: FromElement>(
        &self,
        shared: &[SharedWindow<'_>],
        tensor: &[&TensorMemory],
    ) -> Result<Panels<T>, MmaError> {
        let InstructionDescriptor { kind, a, b, a_major, b_major, .. } = self.idesc;
        let (stored, depth) = (kind.depth(), self.idesc.depth());
        let (rows, columns) = (self.idesc.local_rows(), self.idesc.n / self.idesc.form.ctas());
        let in_a = |source| MmaError::Shared { matrix: "A", source };
        let in_b = |source| MmaError::Shared { matrix: "B", source };
        let b_layout = self.b.layout(b_major, b.bits()).map_err(in_b)?;
        let mut panels = Panels { a: Vec::new(), b: Vec::new() };
        for (shared, tensor) in shared.iter().zip(tensor) {
            panels.a.extend(match self.a {
                OperandA::Shared(descriptor) if !self.idesc.sparse => {
                    let layout = descriptor.layout(a_major, a.bits()).map_err(in_a)?;
                    layout.gather::<T, ROWS>(a, rows, depth, shared).map_err(in_a)?
                }
                OperandA::Shared(descriptor) => {
                    let layout = descriptor.layout(a_major, a.bits()).map_err(in_a)?;
                    let by_rows = layout.gather::<T, 1>(a, rows, stored, shared).map_err(in_a)?;
                    in_panels::<T, ROWS>(&self.whole(by_rows, tensor)?, depth)
                }
                OperandA::Tensor(address) => {
                    let Some(decode) = T::decoder(a) else {
                        return Err(in_a(DescriptorError::Unsupported { element: a }));
                    };
                    let by_rows = self.tensor_a(address, tensor, |bytes| decode(bytes).to_vec())?;
                    in_panels::<T, ROWS>(&self.whole(by_rows, tensor)?, depth)
                }
            });
            panels.b.extend(if self.zeros.is_none() {
                b_layout.gather::<T, COLUMNS>(b, columns, depth, shared).map_err(in_b)?
            } else {
                let shift = self.zeros.shift();
                let all = b_layout.gather::<T, 1>(b, columns + shift, depth, shared);
                let mut by_columns = all.map_err(in_b)?.split_off((shift * depth) as usize);
                for (n, column) in by_columns.chunks_exact_mut(depth as usize).enumerate() {
                    if self.zeros.holds(&self.idesc, n as u32) {
                        column.fill(T::default());
                    }
                }
                in_panels::<T, COLUMNS>(&by_columns, depth)
            });
        }
        Ok(panels)
    }

    /// The rows of A with the zeros that a sparse one leaves out.
    fn whole<T: Copy + Default>(
        &self,
        stored: Vec<T>,
        tensor: &TensorMemory,
    ) -> Result<Vec<T>, MmaError> {
        if !self.idesc.sparse {
            return Ok(stored);
        }
        let (short, long) = (self.idesc.kind.depth() as usize, self.idesc.depth() as usize);
        let mut whole = vec![T::default(); stored.len() / short * long];
        let rows = stored.chunks_exact(short).zip(whole.chunks_exact_mut(long));
        for (row, (from, to)) in (0..).zip(rows) {
            for (&value, place) in from.iter().zip(self.idesc.places(self.metadata, tensor, row)?) {
                to[place] = value;
            }
        }
        Ok(whole)
    }

    fn blocks(
        &self,
        scales: Scales,
        shared: &[SharedWindow<'_>],
        tensor: &[&TensorMemory],
    ) -> Result<Blocks, MmaError> {
        let InstructionDescriptor { kind, a, b, a_major, b_major, n, form, scales: bytes, .. } =
            self.idesc;
        let (stored, depth) = (kind.depth(), self.idesc.depth());
        let (rows, columns) = (self.idesc.local_rows(), n / form.ctas());
        let in_a = |source| MmaError::Shared { matrix: "A", source };
        let in_b = |source| MmaError::Shared { matrix: "B", source };
        for byte in [bytes.a_byte, bytes.b_byte] {
            if byte + scales.blocks > 4 || scales.blocks == 2 && byte % 2 == 1 {
                return Err(MmaError::ScaleByte { blocks: scales.blocks, byte });
            }
        }
        type Rows = (u32, u32);
        let read =
            |descriptor: &SharedDescriptor, major, element: ElementType, size: Rows, shared| {
                let (rows, depth) = size;
                let layout = descriptor.layout(major, element.bits())?;
                match element {
                    ElementType::Packed4 => layout.gather_packed(rows, depth, shared),
                    element => layout.gather::<f32, 1>(element, rows, depth, shared),
                }
            };
        let mut blocks =
            Blocks { a: Vec::new(), b: Vec::new(), of_a: Vec::new(), of_b: Vec::new() };
        let factor = |memory: &TensorMemory, matrix, at: TensorAddress, byte: u32| {
            let TensorAddress { lane, column } = at;
            let cell = memory
                .check(at, 1, 1)
                .map_err(|source| MmaError::Tensor { matrix, source })
                .and_then(|()| {
                    memory.read(lane, column).ok_or(MmaError::Unwritten { matrix, lane, column })
                })?;
            let bits = (cell >> (8 * byte)) as u8;
            Ok(if bytes.ue4m3 { ue4m3_to_f64(bits) } else { ue8m0_to_f64(bits) })
        };
        for (shared, tensor) in shared.iter().zip(tensor) {
            let of_a = match &self.a {
                OperandA::Shared(descriptor) => {
                    read(descriptor, a_major, a, (rows, stored), shared).map_err(in_a)?
                }
                OperandA::Tensor(address) => self.tensor_a(*address, tensor, |bytes| {
                    // What `a` cannot be here is never asked for.
                    scaled_bytes(a, bytes)
                })?,
            };
            blocks.a.extend(self.whole(of_a, tensor)?);
            blocks.b.extend(read(&self.b, b_major, b, (columns, depth), shared).map_err(in_b)?);
            for row in 0..rows {
                let (lane, _) = self.idesc.cell(row, 0);
                let at = TensorAddress {
                    lane: scales.a.lane + lane / 32 * 32 + row % 32,
                    column: scales.a.column + row / 32,
                };
                for i in 0..scales.blocks {
                    blocks.of_a.push(factor(tensor, "of the factors of A", at, bytes.a_byte + i)?);
                }
            }
            for quarter in 0..4 {
                for column in 0..n {
                    let at = TensorAddress {
                        lane: scales.b.lane + 32 * quarter + column % 32,
                        column: scales.b.column + column / 32,
                    };
                    for i in 0..scales.blocks {
                        let byte = bytes.b_byte + i;
                        blocks.of_b.push(factor(tensor, "of the factors of B", at, byte)?);
                    }
                }
            }
        }
        Ok(blocks)
    }

    /// A of one CTA in tensor memory, by rows; `decode` reads 16 bytes.
    fn tensor_a<T: Copy>(
        &self,
        address: TensorAddress,
        tensor: &TensorMemory,
        decode: impl Fn([u8; 16]) -> Vec<T>,
    ) -> Result<Vec<T>, MmaError> {
        let InstructionDescriptor { kind, a, a_major, m, form, .. } = self.idesc;
        if a_major == Major::Mn {
            return Err(MmaError::TransposedTensorA);
        }
        if self.idesc.splits() != 1 {
            return Err(MmaError::TensorA { m });
        }
        let rows = self.idesc.local_rows();
        self.check_lane("A", address)?;
        self.check_part("A", address, A_COLUMNS, 0, true, tensor)?;
        let depth = kind.depth() as usize;
        let mut out = Vec::with_capacity(rows as usize * depth);
        for row in 0..rows {
            let row = if self.shift_a { (row + 1).min(rows - 1) } else { row };
            let lane = if form == Form::One { lane_of_row(m, row) } else { row };
            let cells = tensor.row(address.lane + lane, address.column, A_COLUMNS);
            // Every 4 cells are 16 bytes.
            for cells in cells.chunks_exact(4) {
                let bytes = std::array::from_fn(|i| cells[i / 4].to_le_bytes()[i % 4]);
                let values = match a {
                    ElementType::E2m3 | ElementType::E3m2 | ElementType::E2m1 => {
                        decode(packed_again(bytes, a))
                    }
                    _ => decode(bytes),
                };
                out.extend_from_slice(&values[..depth / 2]);
            }
        }
        Ok(out)
    }

    fn check_lane(&self, matrix: &'static str, at: TensorAddress) -> Result<(), MmaError> {
        let InstructionDescriptor { m, form, .. } = self.idesc;
        if !(at.lane == 0 || form == Form::One && m == 64 && at.lane == 16) {
            return Err(MmaError::Lane { matrix, m, lane: at.lane });
        }
        Ok(())
    }

    /// Checks D, and that all of it is written if it is read.
    fn check_d(&self, tensor: &TensorMemory) -> Result<(), MmaError> {
        self.check_lane("D", self.d)?;
        let InstructionDescriptor { n, .. } = self.idesc;
        let width = n / self.idesc.splits();
        (0..n).step_by(width as usize).try_for_each(|first| {
            self.check_part("D", self.d, width, first, self.enable_input_d, tensor)
        })
    }

    /// Checks `columns` columns of a matrix in tensor memory, in the lanes where column `first` of D
    /// is.
    fn check_part(
        &self,
        matrix: &'static str,
        at: TensorAddress,
        columns: u32,
        first: u32,
        is_read: bool,
        tensor: &TensorMemory,
    ) -> Result<(), MmaError> {
        let rows = self.idesc.local_rows();
        let lane = |row: u32| at.lane + self.idesc.cell(row, first).0;
        let from = TensorAddress { lane: lane(0), ..at };
        let lanes = lane(rows - 1) + 1 - from.lane;
        tensor.check(from, lanes, columns).map_err(|source| MmaError::Tensor { matrix, source })?;
        if is_read {
            for lane in (0..rows).map(lane) {
                if let Some(column) = tensor.first_unwritten(lane, at.column, columns) {
                    return Err(MmaError::Unwritten { matrix, lane, column });
                }
            }
        }
        Ok(())
    }

    fn scalable(&self) -> bool {
        matches!(self.idesc.kind, Kind::F16 | Kind::Tf32)
    }
}

/// Rows, one after the other, in panels of so many.
fn in_panels<T: Copy + Default, const PANEL: usize>(rows: &[T], depth: u32) -> Vec<T> {
    let depth = depth as usize;
    let mut panels = vec![T::default(); rows.len()];
    for (i, &value) in rows.iter().enumerate() {
        let (row, k) = (i / depth, i % depth);
        panels[(row / PANEL * depth + k) * PANEL + row % PANEL] = value;
    }
    panels
}

/// Sixteen bytes of tensor memory, each with a number of 6 or 4 bits, as shared memory holds them.
fn packed_again(bytes: [u8; 16], element: ElementType) -> [u8; 16] {
    let (width, shift) = if element == ElementType::E2m1 { (4, 2) } else { (6, 0) };
    let all = bytes.iter().enumerate().fold(0u128, |all, (i, &b)| {
        all | u128::from(b >> shift & ((1 << width) - 1)) << (width * i as u32)
    });
    all.to_le_bytes()
}

/// The elements of a block-scaled kind in 16 bytes.
fn scaled_bytes(element: ElementType, bytes: [u8; 16]) -> Vec<f32> {
    match element {
        ElementType::Packed4 => {
            bytes.iter().flat_map(|b| [b & 15, b >> 4]).map(e2m1_to_f32).collect()
        }
        element => <f32 as FromElement>::decoder(element)
            .map_or_else(Vec::new, |decode| decode(bytes).to_vec()),
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
