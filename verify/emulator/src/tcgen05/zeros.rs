//! The last operand of `tcgen05.mma.ws`: columns of B that count as zero, whatever they hold.
//!
//! | bits | field |
//! |---|---|
//! | 0-7, 8-15, 16-23, 24-31 | bits of the pattern that are skipped, for each part of the columns |
//! | 32, 33, 34, 35 | the pattern begins with zeros, for each part |
//! | 39 | there is a pattern |
//! | 40-47 | columns in a row that count as zero, less one |
//! | 48-55 | columns in a row that are used, less one |
//! | 56-61 | B begins this many columns later |
//!
//! The columns have one part with M = 128, two with 64, four with 32. Of the two spans the text says the reverse in its
//! table; its four examples, and the names that it gives them, are as here.

use super::idesc::InstructionDescriptor;

/// A descriptor of columns that count as zero; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ZeroColumns(pub u64);

impl ZeroColumns {
    fn field(self, low: u32, width: u32) -> u32 {
        (self.0 >> low) as u32 & ((1 << width) - 1)
    }

    /// Whether B is taken as it is.
    pub fn is_none(self) -> bool {
        self.field(39, 1) == 0 && self.shift() == 0
    }

    /// Columns of B before the first that is used.
    pub fn shift(self) -> u32 {
        self.field(56, 6)
    }

    /// Whether a column counts as zero.
    pub fn holds(self, idesc: &InstructionDescriptor, column: u32) -> bool {
        if self.field(39, 1) == 0 {
            return false;
        }
        let width = idesc.n / (128 / idesc.m).max(1);
        let part = column / width;
        let (skip, used) = (self.field(40, 8) + 1, self.field(48, 8) + 1);
        let at = (column % width + self.field(8 * part, 8)) % (skip + used);
        if self.field(32 + part, 1) == 1 { at < skip } else { at >= used }
    }
}
