//! `tcgen05.ld` and `tcgen05.st`: which tensor-memory cell each register of each lane of a warp is.
//!
//! | shape | cell of register `r` of thread `t`, as (lane, column) from the address |
//! |---|---|
//! | `.32x32b` | (t, r) |
//! | `.16x64b` | (t/4 + 8·(t%2), t/2%2 + 2·r) |
//! | `.16x128b` | (t/4 + 8·(r%2), t%4 + 4·(r/2)) |
//! | `.16x256b` | (t/4 + 8·(r/2%2), 2·(t%4) + r%2 + 8·(r/4)) |
//! | `.16x32bx2` | (t%16, r), plus the split offset in columns for t ≥ 16 |
//!
//! With `.pack::16b` (`.unpack::16b` for stores) a register is two neighbouring columns, of which
//! it holds the lower halves, the first column in its low half.

use super::tensor_memory::{TensorAddress, TensorMemory, TensorMemoryError};

/// Shape of one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name is the qualifier")]
pub enum Shape {
    Lanes32x32b,
    Lanes16x64b,
    Lanes16x128b,
    Lanes16x256b,
    /// `split` is the immediate: columns between what lanes 0 to 15 and lanes 16 to 31 of the warp
    /// access.
    Lanes16x32bx2 {
        split: u32,
    },
}

impl Shape {
    /// The qualifier as PTX writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Lanes32x32b => ".32x32b",
            Shape::Lanes16x64b => ".16x64b",
            Shape::Lanes16x128b => ".16x128b",
            Shape::Lanes16x256b => ".16x256b",
            Shape::Lanes16x32bx2 { .. } => ".16x32bx2",
        }
    }

    /// Registers of one repetition.
    const fn registers(self) -> u32 {
        match self {
            Shape::Lanes32x32b | Shape::Lanes16x64b | Shape::Lanes16x32bx2 { .. } => 1,
            Shape::Lanes16x128b => 2,
            Shape::Lanes16x256b => 4,
        }
    }

    /// Columns of one repetition.
    const fn columns(self) -> u32 {
        match self {
            Shape::Lanes32x32b | Shape::Lanes16x32bx2 { .. } => 1,
            Shape::Lanes16x64b => 2,
            Shape::Lanes16x128b => 4,
            Shape::Lanes16x256b => 8,
        }
    }

    /// Lanes of tensor memory that it touches.
    pub const fn lanes(self) -> u32 {
        match self {
            Shape::Lanes32x32b => 32,
            _ => 16,
        }
    }
}

/// The form of a `tcgen05.ld` or `tcgen05.st`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    shape: Shape,
    repeat: u32,
    packed: bool,
}

/// A `tcgen05.ld` or `tcgen05.st` that tensor memory cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum AccessError {
    #[error(
        "tcgen05.ld/st {}.x{repeat} does not exist; use a power of two up to x{}",
        shape.name(), 128 / shape.registers()
    )]
    Repeat { shape: Shape, repeat: u32 },
    #[error(
        "tcgen05.ld/st with {found} register(s) where the form has {expected}; list {expected}"
    )]
    Registers { expected: u32, found: usize },
    #[error(
        "warp {warp} accesses tensor memory lanes {first} to {last}; a warp reaches only the quarter of its number \
         modulo 4, here lanes {} to {}: let the right warp do it, or put the warp's quarter into bits 16 to 31 of the \
         address (rule D12)",
        warp % 4 * 32, warp % 4 * 32 + 31
    )]
    Quarter { warp: u32, first: u32, last: u32 },
    #[error("tcgen05.ld/st {} at lane {lane}; use a lane that is a multiple of 16 (rule D12)", shape.name())]
    LaneAlignment { shape: Shape, lane: u32 },
    #[error(transparent)]
    Memory(#[from] TensorMemoryError),
}

impl AccessError {
    /// The rule that was broken, if it is one of the list.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::Repeat { .. } | Self::Registers { .. } => None,
            Self::Quarter { .. } | Self::LaneAlignment { .. } => Some("D12"),
            Self::Memory(error) => Some(error.rule()),
        }
    }
}

impl Access {
    /// The form with this shape, `.x<repeat>`, and with `.pack::16b` or `.unpack::16b` if `packed`.
    pub fn new(shape: Shape, repeat: u32, packed: bool) -> Result<Self, AccessError> {
        if !repeat.is_power_of_two() || repeat > 128 / shape.registers() {
            return Err(AccessError::Repeat { shape, repeat });
        }
        Ok(Access { shape, repeat, packed })
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Registers of each thread.
    pub fn registers(&self) -> u32 {
        self.repeat * self.shape.registers()
    }

    /// Columns from the first to the last that it touches; for `.16x32bx2`, of each half.
    pub fn columns(&self) -> u32 {
        self.repeat * self.shape.columns() * self.cells_per_register()
    }

    /// Neighbouring cells of one register: 2 if packed, else 1.
    pub fn cells_per_register(&self) -> u32 {
        if self.packed { 2 } else { 1 }
    }

    /// The first cell of a register, as lane and column counted from the address of the
    /// instruction.
    pub fn cell(&self, thread: u32, register: u32) -> TensorAddress {
        let (t, r) = (thread, register);
        let (lane, column, split) = match self.shape {
            Shape::Lanes32x32b => (t, r, 0),
            Shape::Lanes16x64b => (t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * r, 0),
            Shape::Lanes16x128b => (t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2), 0),
            Shape::Lanes16x256b => (t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4), 0),
            Shape::Lanes16x32bx2 { split } => (t % 16, r, t / 16 * split),
        };
        TensorAddress { lane, column: column * self.cells_per_register() + split }
    }

    /// Checks that this warp may do it at this address.
    pub fn check(
        &self,
        memory: &TensorMemory,
        warp: u32,
        address: TensorAddress,
    ) -> Result<(), AccessError> {
        let lanes = self.shape.lanes();
        let quarter = warp % 4 * 32;
        if address.lane < quarter || address.lane.saturating_add(lanes) > quarter + 32 {
            let last = address.lane.saturating_add(lanes - 1);
            return Err(AccessError::Quarter { warp, first: address.lane, last });
        }
        if !address.lane.is_multiple_of(16) {
            return Err(AccessError::LaneAlignment { shape: self.shape, lane: address.lane });
        }
        memory.check(address, lanes, self.columns())?;
        if let Shape::Lanes16x32bx2 { split } = self.shape {
            let upper = TensorAddress { column: address.column.saturating_add(split), ..address };
            memory.check(upper, lanes, self.columns())?;
        }
        Ok(())
    }

    /// `tcgen05.ld` by a warp: fills `registers`, each of which has one entry for a thread of the
    /// warp.
    ///
    /// Gives the first cell that it read although nothing had been written there.
    pub fn load(
        &self,
        memory: &TensorMemory,
        warp: u32,
        address: TensorAddress,
        registers: &mut [[u32; 32]],
    ) -> Result<Option<TensorAddress>, AccessError> {
        self.check_registers(registers.len())?;
        self.check(memory, warp, address)?;
        let mut unwritten = None;
        let mut read = |lane, column| match memory.read(lane, column) {
            Some(value) => value,
            None => {
                unwritten.get_or_insert(TensorAddress { lane, column });
                memory.row(lane, column, 1)[0]
            }
        };
        for (r, register) in registers.iter_mut().enumerate() {
            for (t, value) in register.iter_mut().enumerate() {
                let cell = self.cell(t as u32, r as u32);
                let (lane, column) = (address.lane + cell.lane, address.column + cell.column);
                *value = if self.packed {
                    read(lane, column) & 0xffff | read(lane, column + 1) << 16
                } else {
                    read(lane, column)
                };
            }
        }
        Ok(unwritten)
    }

    /// `tcgen05.st` by a warp. Unpacking writes zero into the upper halves of the cells.
    pub fn store(
        &self,
        memory: &mut TensorMemory,
        warp: u32,
        address: TensorAddress,
        registers: &[[u32; 32]],
    ) -> Result<(), AccessError> {
        self.check_registers(registers.len())?;
        self.check(memory, warp, address)?;
        for (r, register) in registers.iter().enumerate() {
            for (t, &value) in register.iter().enumerate() {
                let cell = self.cell(t as u32, r as u32);
                let (lane, column) = (address.lane + cell.lane, address.column + cell.column);
                if self.packed {
                    memory.write(lane, column, value & 0xffff);
                    memory.write(lane, column + 1, value >> 16);
                } else {
                    memory.write(lane, column, value);
                }
            }
        }
        Ok(())
    }

    fn check_registers(&self, found: usize) -> Result<(), AccessError> {
        let expected = self.registers();
        if found == expected as usize {
            return Ok(());
        }
        Err(AccessError::Registers { expected, found })
    }
}
