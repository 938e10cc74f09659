//! A model of how fast a matrix product can be: what bounds it, in clocks, from the shape of its tiles.
//!
//! It is a model, not a measurement. It knows four rates of a machine (matrix instructions, bytes from L2, bytes of shared memory, bytes
//! from memory) and what a kernel needs of each for one k-block of its tile; the slowest decides. Power, clock rates under load, bank
//! conflicts and instruction issue are not in it, so that a real kernel stays below.
//!
//! ```
//! use baton_bench_model::{H200, Kernel, Square};
//!
//! let kernel = Kernel::new((128, 256)).multiplied_in_parts_of(64);
//! let estimate = kernel.on(&H200, Square(4096));
//! assert!(estimate.of_peak < 1.0);
//! ```

use std::fmt;

/// Columns of K that a stage holds, in the elements of two bytes that the model is about.
const K_BLOCK: u32 = 64;
/// Bytes of an element of A and B.
const ELEMENT: u32 = 2;
/// Clocks until the first stage is there.
const FILL: f64 = 2500.0;

/// What a machine does in a clock.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// What it is called.
    pub name: &'static str,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Operations of one of them with bf16, by matrix instructions.
    pub flops: f64,
    /// Bytes that one of them gets from L2.
    pub l2: f64,
    /// Bytes of shared memory that one of them reads or writes.
    pub shared: f64,
    /// Bytes from memory, for all of them.
    pub memory: f64,
    /// Clocks in a second.
    pub clock: f64,
}

/// Blackwell. The bytes from L2 are fitted to one published kernel.
pub const B200: Machine = Machine {
    name: "B200",
    sms: 148,
    flops: 8192.0,
    l2: 62.0,
    shared: 128.0,
    memory: 7.7e12 / 1.85e9,
    clock: 1.85e9,
};

/// Hopper.
pub const H200: Machine = Machine {
    name: "H200",
    sms: 132,
    flops: 4096.0,
    l2: 42.0,
    shared: 128.0,
    memory: 4.8e12 / 1.755e9,
    clock: 1.755e9,
};

impl Machine {
    /// Operations in a second.
    pub fn peak(&self) -> f64 {
        f64::from(self.sms) * self.flops * self.clock
    }
}

/// A product of three equal extents.
#[derive(Clone, Copy, Debug)]
pub struct Square(pub u32);

/// How a kernel computes a tile of C.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Rows and columns of C that `ctas` CTAs compute together.
    tile: (u32, u32),
    /// CTAs that multiply one tile: 2 for a pair.
    ctas: u32,
    /// CTAs that load A's rows for each other, and B's.
    share: (u32, u32),
    /// Rows of A that one instruction multiplies, which reads all of B for them.
    part: u32,
    /// Bytes of an element of C.
    output: u32,
    /// Clocks of an epilogue that the next tile's instructions do not overlap.
    epilogue: f64,
    /// Rows of tiles that are visited before the next column.
    group: u32,
}

impl Kernel {
    /// One CTA for a tile, all of whose rows one instruction multiplies; results of four bytes, stored while the next tile is multiplied.
    pub fn new((rows, columns): (usize, usize)) -> Self {
        let tile = (rows as u32, columns as u32);
        Kernel { tile, ctas: 1, share: (1, 1), part: tile.0, output: 4, epilogue: 0.0, group: 1 }
    }

    /// A pair of CTAs multiplies the tile: each loads half of A's rows and half of B's.
    pub fn by_a_pair(self) -> Self {
        Kernel { ctas: 2, part: self.tile.0 / 2, ..self }
    }

    /// So many CTAs load A's rows for each other, and B's.
    pub fn sharing(self, a: u32, b: u32) -> Self {
        Kernel { share: (a, b), ..self }
    }

    /// Instructions multiply so many rows at a time.
    pub fn multiplied_in_parts_of(self, part: u32) -> Self {
        Kernel { part, ..self }
    }

    /// Results of so many bytes.
    pub fn storing(self, output: u32) -> Self {
        Kernel { output, ..self }
    }

    /// Nothing is multiplied while a tile is stored, which takes so many clocks.
    pub fn waiting_for_its_epilogue(self, clocks: u32) -> Self {
        Kernel { epilogue: clocks.into(), ..self }
    }

    /// Tiles are visited in groups of so many rows of them.
    pub fn in_groups_of(self, group: u32) -> Self {
        Kernel { group, ..self }
    }

    /// What the model says.
    pub fn on(&self, machine: &Machine, Square(extent): Square) -> Estimate {
        let (m, n) = self.tile;
        let row = f64::from(K_BLOCK * ELEMENT);
        // Of one CTA, for one k-block.
        let (rows, columns) = (f64::from(m / self.ctas), f64::from(n / self.ctas));
        let multiply = f64::from(m) * f64::from(n) * 2.0 * f64::from(K_BLOCK)
            / (machine.flops * f64::from(self.ctas));
        let loaded = row * (rows / f64::from(self.share.0) + columns / f64::from(self.share.1));
        let parts = rows / f64::from(self.part);
        let touched = row * (rows + columns) + row * (rows + parts * columns);
        let needs = [
            (Bound::Multiply, multiply),
            (Bound::L2, loaded / machine.l2),
            (Bound::Shared, touched / machine.shared),
        ];
        // Of equal ones the first.
        let (bound, block) =
            needs.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).expect("three");

        let (tile_rows, tile_columns) = (extent.div_ceil(m), extent.div_ceil(n));
        let at_once = (machine.sms / self.ctas).max(1);
        let waves = (tile_rows * tile_columns).div_ceil(at_once);
        let blocks = f64::from(extent.div_ceil(K_BLOCK));
        let last = if self.epilogue > 0.0 { 0.0 } else { 900.0 };
        let clocks = f64::from(waves) * (blocks * block + self.epilogue) + FILL + last;

        // What a wave loads is a block of so many rows of tiles.
        let high = self.group.min(tile_rows).min(at_once);
        let wide = at_once.div_ceil(high).min(tile_columns);
        let of_a_wave = f64::from(high * m + wide * n) * f64::from(extent) * f64::from(ELEMENT);
        let stored = f64::from(extent) * f64::from(extent) * f64::from(self.output);
        let from_memory = (f64::from(waves) * of_a_wave + stored) / machine.memory;
        let (bound, clocks) =
            if from_memory > clocks { (Bound::Memory, from_memory) } else { (bound, clocks) };

        let operations = 2.0 * f64::from(extent).powi(3);
        let of_peak = operations / (clocks * f64::from(machine.sms) * machine.flops);
        Estimate { of_peak, tflops: of_peak * machine.peak() / 1e12, bound }
    }
}

/// What decides how fast a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Matrix instructions.
    Multiply,
    /// Bytes from L2.
    L2,
    /// Bytes of shared memory.
    Shared,
    /// Bytes from memory.
    Memory,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Multiply => "matrix instructions",
            Bound::L2 => "L2",
            Bound::Shared => "shared memory",
            Bound::Memory => "memory",
        })
    }
}

/// What the model says of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Of the operations that the machine could make in that time.
    pub of_peak: f64,
    /// Operations in a second, in 10¹².
    pub tflops: f64,
    /// What decided.
    pub bound: Bound,
}
