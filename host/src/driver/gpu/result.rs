//! What the driver's result codes mean.

use std::ffi::c_uint;
use std::fmt;

/// A code that is not success.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(c_uint);

/// What matters about a code here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The work has not ended.
    NotReady,
    /// No memory is left.
    OutOfMemory,
    /// A value that the driver does not take.
    InvalidValue,
    /// The grid does not fit the device at once.
    NotCoResident,
    /// What was captured has another shape than the graph.
    OtherShape,
    /// Nothing of this process works on the GPU any more, so whatever was running has ended.
    Lost,
    /// Another one, of any driver.
    Unknown(c_uint),
}

impl Code {
    pub(super) fn check(code: c_uint) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }

    pub(super) fn meaning(self) -> Meaning {
        match self.0 {
            1 => Meaning::InvalidValue,
            2 => Meaning::OutOfMemory,
            600 => Meaning::NotReady,
            720 => Meaning::NotCoResident,
            910 => Meaning::OtherShape,
            // `cuda.h` says of each that the context, or the process, must be left: deinitialised; memory, link and
            // contained errors; addresses, time-outs, asserts, instructions, stacks; tensor memory that was not freed;
            // other devices; MPS that has ended its clients; and what the driver cannot name.
            4
            | 214
            | 220
            | 226
            | 700
            | 702
            | 709
            | 710
            | 714..=719
            | 721
            | 806
            | 810
            | 911
            | 999 => Meaning::Lost,
            other => Meaning::Unknown(other),
        }
    }

    pub(super) fn is_stub(self) -> bool {
        self.0 == 34
    }

    pub(super) fn number(self) -> c_uint {
        self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.0, self.meaning())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_newer_drivers_are_numbers() {
        for code in [917, 98765, c_uint::MAX] {
            assert_eq!(Code(code).meaning(), Meaning::Unknown(code));
        }
        // A launch that asks for too much, and captures that were spoiled, leave the device as it was.
        for code in [701, 900, 901, 34] {
            assert_ne!(Code(code).meaning(), Meaning::Lost);
        }
        for code in [226, 719, 721, 999] {
            assert_eq!(Code(code).meaning(), Meaning::Lost);
        }
    }
}
