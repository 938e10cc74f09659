//! Sparse A: which elements of a row are there, of `tcgen05.mma.sp`.
//!
//! Of each group of neighbouring elements of a row, half are zero and not stored. Four bits for a group say which ones
//! are: of two tf32 elements one; of four 16- or 8-bit elements two, by two numbers of two bits; of eight packed 4-bit
//! elements two pairs, by the numbers of the pairs.
//!
//! They lie in tensor memory, in the rows of one CTA (M = 128, or half of 256), least significant bits first:
//!
//! - of 8- and 4-bit elements, the bits of row r are two columns of lane r;
//! - of 32- and 16-bit elements they are one column, the one of the two from the address on that the selector of the
//!   instruction descriptor names. Its lane r%8 + 16·(r/16) holds the first half of the groups of rows r and r + 8, in its
//!   lower and its upper half, and the eighth lane behind it the second half of them.
//!
//! The text gives this in figures; it was taken from what public kernels lay out for the hardware.

use super::idesc::{InstructionDescriptor, Kind};
use super::mma::MmaError;
use super::tensor_memory::{TensorAddress, TensorMemory};

/// Columns of tensor memory in which the metadata of a multiplication lie.
pub const METADATA_COLUMNS: u32 = 2;

/// Groups of a row whose bits share a column.
const OF_COLUMN: u32 = 8;

const MATRIX: &str = "of the sparsity metadata";

impl InstructionDescriptor {
    /// Elements of a row of A that stand in for a group, and those of the group.
    fn group(&self) -> (u32, u32) {
        match self.kind {
            Kind::Tf32 => (1, 2),
            Kind::Mxf4 | Kind::Mxf4nvf4 => (4, 8),
            _ => (2, 4),
        }
    }

    /// For each stored element of a row of A, its place in the whole row.
    pub(super) fn places(
        &self,
        metadata: TensorAddress,
        tensor: &TensorMemory,
        row: u32,
    ) -> Result<Vec<usize>, MmaError> {
        let (stored, whole) = self.group();
        let groups = self.kind.depth() / stored;
        let spread = matches!(self.kind, Kind::Tf32 | Kind::F16);
        let mut places = Vec::with_capacity(self.kind.depth() as usize);
        for group in 0..groups {
            let (lane, column, bit) = if spread {
                let half = OF_COLUMN / 2;
                let lane = row % 8 + row / 16 * 16 + group / half * 8;
                (lane, self.selector, row / 8 % 2 * 16 + group % half * 4)
            } else {
                (row, group / OF_COLUMN, group % OF_COLUMN * 4)
            };
            let at = TensorAddress { lane: metadata.lane + lane, column: metadata.column + column };
            tensor.check(at, 1, 1).map_err(|source| MmaError::Tensor { matrix: MATRIX, source })?;
            let TensorAddress { lane, column } = at;
            let cell = tensor.read(lane, column);
            let cell = cell.ok_or(MmaError::Unwritten { matrix: MATRIX, lane, column })?;
            let bits = cell >> bit & 15;
            let [first, second] = [bits & 3, bits >> 2];
            let start = group * whole;
            match self.kind {
                Kind::Tf32 if matches!(bits, 0b0100 | 0b1110) => {
                    places.push(start + u32::from(bits == 0b1110));
                }
                Kind::Tf32 => return Err(MmaError::Metadata { bits, lane, column }),
                _ if first == second || first > second && bits != 0b0110 => {
                    return Err(MmaError::Metadata { bits, lane, column });
                }
                Kind::Mxf4 | Kind::Mxf4nvf4 => {
                    let pair = |number: u32| [start + 2 * number, start + 2 * number + 1];
                    places.extend(pair(first).into_iter().chain(pair(second)));
                }
                _ => places.extend([start + first, start + second]),
            }
        }
        Ok(places.into_iter().map(|place| place as usize).collect())
    }
}
