//! Tensor memory: 128 lanes by 512 columns of 32-bit cells, allocated by columns.
//!
//! A cell that nothing has written since its columns were allocated reads as `0xffff_ffff`, a NaN,
//! and can be asked about. Only allocated columns can be touched at all.

/// Lanes of tensor memory.
pub const LANES: u32 = 128;

/// Columns of tensor memory.
pub const COLUMNS: u32 = 512;

/// Smallest allocation, and the unit in which columns are handed out.
pub const ALLOCATION_UNIT: u32 = 32;

const POISON: u32 = 0xffff_ffff;
const WORDS: usize = COLUMNS as usize / 64;

/// A tensor-memory address: lane in the upper, column in the lower 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorAddress {
    /// Lane, 0 to 127 where legal.
    pub lane: u32,
    /// Column, 0 to 511 where legal.
    pub column: u32,
}

impl TensorAddress {
    /// Splits the 32-bit form.
    pub const fn from_bits(bits: u32) -> Self {
        TensorAddress { lane: bits >> 16, column: bits & 0xffff }
    }

    /// The 32-bit form.
    pub const fn to_bits(self) -> u32 {
        self.lane << 16 | self.column
    }
}

/// Columns that a CTA holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// The CTA, by a number that the caller chose.
    pub owner: u32,
    /// First column.
    pub column: u32,
    /// Number of columns.
    pub columns: u32,
}

/// What a CTA's allocations have established for the next.
#[derive(Clone, Copy, Debug)]
struct Permit {
    owner: u32,
    last_columns: u32,
    relinquished: bool,
}

/// The tensor memory of one multiprocessor.
#[derive(Clone, Debug)]
pub struct TensorMemory {
    cells: Vec<u32>,
    written: Vec<[u64; WORDS]>,
    allocations: Vec<Allocation>,
    permits: Vec<Permit>,
}

/// Misuse of tensor memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum TensorMemoryError {
    #[error(
        "tcgen05.alloc or dealloc of {columns} columns; use a power of two from 32 to 512 (rule D9)"
    )]
    Columns { columns: u32 },
    #[error(
        "tcgen05.alloc after tcgen05.relinquish_alloc_permit in the same CTA; allocate before relinquishing (rule D9)"
    )]
    Relinquished,
    #[error(
        "tcgen05.alloc of {columns} columns after an allocation of {before} in the same CTA; allocate the largest first, \
         or all at once (rule D9)"
    )]
    Growing { before: u32, columns: u32 },
    #[error(
        "tcgen05.dealloc of {columns} columns at {address:#010x}, which this CTA has not allocated; pass the address that \
         alloc stored, with the same column count, once (rule D8)"
    )]
    NotAllocated { address: u32, columns: u32 },
    #[error(
        "tensor memory lanes {lane} to {}, columns {column} to {}, are outside its 128 lanes and 512 columns; check the \
         address {:#010x} (rule D8)",
        lane.saturating_add(lanes - 1), column.saturating_add(columns - 1), lane << 16 | column
    )]
    Outside { lane: u32, lanes: u32, column: u32, columns: u32 },
    #[error(
        "tensor memory column {column} is not allocated; use it only between tcgen05.alloc, whose address was read behind \
         a barrier, and tcgen05.dealloc (rule D8)"
    )]
    Unallocated { column: u32 },
}

impl TensorMemoryError {
    /// The rule that was broken.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Columns { .. } | Self::Relinquished | Self::Growing { .. } => "D9",
            Self::NotAllocated { .. } | Self::Outside { .. } | Self::Unallocated { .. } => "D8",
        }
    }
}

impl Default for TensorMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl TensorMemory {
    /// Empty tensor memory, nothing allocated.
    pub fn new() -> Self {
        TensorMemory {
            cells: vec![POISON; (LANES * COLUMNS) as usize],
            written: vec![[0; WORDS]; LANES as usize],
            allocations: Vec::new(),
            permits: Vec::new(),
        }
    }

    /// `tcgen05.alloc`: the lowest run of free columns, or none if there is no such run now and the
    /// CTA has to wait.
    pub fn alloc(
        &mut self,
        owner: u32,
        columns: u32,
    ) -> Result<Option<TensorAddress>, TensorMemoryError> {
        check_columns(columns)?;
        let permit = self.permits.iter().position(|p| p.owner == owner);
        if let Some(permit) = permit.map(|i| self.permits[i]) {
            if permit.relinquished {
                return Err(TensorMemoryError::Relinquished);
            }
            if columns > permit.last_columns {
                return Err(TensorMemoryError::Growing { before: permit.last_columns, columns });
            }
        }
        let Some(column) = (0..=COLUMNS - columns)
            .step_by(ALLOCATION_UNIT as usize)
            .find(|&start| self.allocations.iter().all(|a| !overlaps(a, start, columns)))
        else {
            return Ok(None);
        };
        match permit {
            Some(i) => self.permits[i].last_columns = columns,
            None => {
                self.permits.push(Permit { owner, last_columns: columns, relinquished: false });
            }
        }
        self.allocations.push(Allocation { owner, column, columns });
        self.forget(TensorAddress { lane: 0, column }, LANES, columns);
        Ok(Some(TensorAddress { lane: 0, column }))
    }

    /// `tcgen05.relinquish_alloc_permit`.
    pub fn relinquish(&mut self, owner: u32) {
        match self.permits.iter_mut().find(|p| p.owner == owner) {
            Some(permit) => permit.relinquished = true,
            None => {
                self.permits.push(Permit { owner, last_columns: COLUMNS, relinquished: true });
            }
        }
    }

    /// `tcgen05.dealloc`.
    pub fn dealloc(
        &mut self,
        owner: u32,
        address: TensorAddress,
        columns: u32,
    ) -> Result<(), TensorMemoryError> {
        check_columns(columns)?;
        let held = Allocation { owner, column: address.column, columns };
        let found = self.allocations.iter().position(|a| address.lane == 0 && *a == held);
        let Some(i) = found else {
            return Err(TensorMemoryError::NotAllocated { address: address.to_bits(), columns });
        };
        self.allocations.swap_remove(i);
        Ok(())
    }

    /// What a CTA holds. At its exit, anything is a leak (rule D8).
    pub fn allocations(&self, owner: u32) -> impl Iterator<Item = Allocation> + '_ {
        self.allocations.iter().copied().filter(move |a| a.owner == owner)
    }

    /// A CTA has exited: its permit state ends, and what it still held is freed and returned.
    pub fn exit(&mut self, owner: u32) -> Vec<Allocation> {
        let leaked = self.allocations(owner).collect();
        self.allocations.retain(|a| a.owner != owner);
        self.permits.retain(|p| p.owner != owner);
        leaked
    }

    /// Checks that a rectangle lies inside tensor memory and in allocated columns.
    pub fn check(
        &self,
        at: TensorAddress,
        lanes: u32,
        columns: u32,
    ) -> Result<(), TensorMemoryError> {
        let TensorAddress { lane, column } = at;
        if lane.saturating_add(lanes) > LANES || column.saturating_add(columns) > COLUMNS {
            return Err(TensorMemoryError::Outside { lane, lanes, column, columns });
        }
        let mut next = column;
        while next < column + columns {
            match self.allocations.iter().find(|a| overlaps(a, next, 1)) {
                Some(allocation) => next = allocation.column + allocation.columns,
                None => return Err(TensorMemoryError::Unallocated { column: next }),
            }
        }
        Ok(())
    }

    /// The content of a cell, none if nothing was written there since the allocation.
    ///
    /// # Panics
    /// Like everything below, if the cell lies outside tensor memory; see [`check`](Self::check).
    pub fn read(&self, lane: u32, column: u32) -> Option<u32> {
        let written = self.written[lane as usize][column as usize / 64] >> (column % 64) & 1 == 1;
        written.then(|| self.row(lane, column, 1)[0])
    }

    /// Writes a cell.
    pub fn write(&mut self, lane: u32, column: u32, value: u32) {
        self.cells[start(lane, column)] = value;
        self.written[lane as usize][column as usize / 64] |= 1 << (column % 64);
    }

    /// Neighbouring cells of a lane, whether written or not.
    pub fn row(&self, lane: u32, column: u32, columns: u32) -> &[u32] {
        &self.cells[start(lane, column)..][..columns as usize]
    }

    /// Neighbouring cells of a lane, to be overwritten. All of them count as written.
    pub fn row_mut(&mut self, lane: u32, column: u32, columns: u32) -> &mut [u32] {
        for (word, mask) in masks(column, columns) {
            self.written[lane as usize][word] |= mask;
        }
        &mut self.cells[start(lane, column)..][..columns as usize]
    }

    /// The first of some neighbouring cells of a lane that was never written.
    pub fn first_unwritten(&self, lane: u32, column: u32, columns: u32) -> Option<u32> {
        masks(column, columns).find_map(|(word, mask)| {
            let missing = mask & !self.written[lane as usize][word];
            (missing != 0).then(|| word as u32 * 64 + missing.trailing_zeros())
        })
    }

    /// From now on all of it counts as written, with what it holds.
    pub fn take_as_written(&mut self) {
        self.written.iter_mut().for_each(|words| words.fill(u64::MAX));
    }

    /// Makes a rectangle unwritten, for content that is in flight.
    pub fn forget(&mut self, at: TensorAddress, lanes: u32, columns: u32) {
        for lane in at.lane..at.lane + lanes {
            self.cells[start(lane, at.column)..][..columns as usize].fill(POISON);
            for (word, mask) in masks(at.column, columns) {
                self.written[lane as usize][word] &= !mask;
            }
        }
    }
}

fn start(lane: u32, column: u32) -> usize {
    (lane * COLUMNS + column) as usize
}

/// The words of a lane's bitmap that hold these columns, with the bits.
fn masks(column: u32, columns: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = column + columns;
    (column / 64..end.div_ceil(64)).map(move |word| {
        let low = column.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word as usize, u64::MAX << low & u64::MAX >> (64 - high))
    })
}

fn overlaps(allocation: &Allocation, column: u32, columns: u32) -> bool {
    column < allocation.column + allocation.columns && allocation.column < column + columns
}

fn check_columns(columns: u32) -> Result<(), TensorMemoryError> {
    let legal = columns.is_power_of_two() && (ALLOCATION_UNIT..=COLUMNS).contains(&columns);
    legal.then_some(()).ok_or(TensorMemoryError::Columns { columns })
}
