//! Matrix instructions of one warp: `mma.sync`, `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA
//! 9.7.14).
//!
//! A fragment of A or B is rows of words: lane l holds word l%4, and every fourth one behind it, of
//! row l/4 of A (and of row l/4 + 8, if there are 16) and of column l/4 of B. A word has 4 bytes,
//! with double precision 8. Accumulators are those of [`crate::fragment`].
//!
//! Sums start with C and add the products in the order of k: in f32, exactly for integers, fused for
//! double precision. An f16 result is rounded once, at the end. Sparse and block-scaled forms are
//! left out.

use crate::access::What;
use crate::detect::Order;
use crate::error::Fault;
use crate::fragment::cell_of_d;
use crate::ir::*;
use crate::tcgen05::element::{
    self, bf16_to_f32, e2m1_to_f32, e2m3_to_f32, e3m2_to_f32, e4m3_to_f32, e5m2_to_f32, f16_to_f32,
    f32_to_f16, tf32_to_f32,
};
use crate::warp::{Frame, Path, Warp};
use crate::world::{Flow, World};

/// Type of an element of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    /// Bits and signedness.
    Int(u8, bool),
    B1,
}

impl Element {
    pub fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::Int(bits, _) => bits.into(),
            Element::B1 => 1,
            _ => 8,
        }
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Element::Int(..) | Element::B1)
    }

    fn float(self, word: u32, i: usize) -> f32 {
        let half = || (word >> (16 * i)) as u16;
        let byte = || (word >> (8 * i)) as u8;
        match self {
            Element::F16 => f16_to_f32(half()),
            Element::Bf16 => bf16_to_f32(half()),
            Element::Tf32 => tf32_to_f32(word),
            Element::E4m3 => e4m3_to_f32(byte()),
            Element::E5m2 => e5m2_to_f32(byte()),
            Element::E2m3 => e2m3_to_f32(byte() & 63),
            Element::E3m2 => e3m2_to_f32(byte() & 63),
            // Four bits above two zeros.
            _ => e2m1_to_f32(byte() >> 2 & 15),
        }
    }

    fn integer(self, word: u32, i: usize) -> i64 {
        let bits = self.bits() as u32;
        let part = i64::from(word >> (bits * i as u32) & (((1u64 << bits) - 1) as u32));
        match self {
            Element::Int(_, true) if part >> (bits - 1) & 1 == 1 => part - (1 << bits),
            _ => part,
        }
    }
}

/// What single bits are combined by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitFn {
    Xor,
    And,
}

/// What `mma` and `wmma.mma` have in common: D = A · B + C, in registers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub d: Box<[Dst]>,
    pub a: Box<[Src]>,
    pub b: Box<[Src]>,
    pub c: Box<[Src]>,
    /// Integers do not wrap.
    pub saturate: bool,
    pub bits: BitFn,
}

/// A `mma.sync`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mma {
    pub m: usize,
    pub k: usize,
    pub a_type: Element,
    pub b_type: Element,
    /// D and C are halves, two in a register.
    pub halves: bool,
    pub terms: Terms,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MatrixOp {
    Mma(Mma),
    /// `unpack`: groups of sixteen numbers of so many bits become bytes.
    Load {
        access: Access,
        transpose: bool,
        unpack: Option<u32>,
        d: Box<[Dst]>,
    },
    Store {
        access: Access,
        transpose: bool,
        a: Box<[Src]>,
    },
    Move {
        d: Dst,
        a: Src,
    },
}

/// Columns of D.
const N: usize = 8;

impl Mma {
    /// Registers of A, B and of C and D.
    pub fn registers(&self) -> [usize; 3] {
        let word = if self.a_type == Element::F64 { 64 } else { 32 };
        let row = self.k * self.a_type.bits() / word / 4;
        let d = self.m * N / LANES / if self.halves { 2 } else { 1 };
        [row * (self.m / 8), row, d]
    }
}

/// Words of the rows of a fragment: `parts` rows of each lane, eight apart.
fn rows(registers: &[Lanes64], parts: usize) -> Vec<Vec<u64>> {
    let words = registers.len() / parts * 4;
    let mut rows = vec![vec![0; words]; 8 * parts];
    for (r, register) in registers.iter().enumerate() {
        for (lane, &value) in register.iter().enumerate() {
            rows[lane / 4 + 8 * (r % parts)][lane % 4 + 4 * (r / parts)] = value;
        }
    }
    rows
}

impl World<'_> {
    pub(crate) fn matrix(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &MatrixOp,
    ) -> Result<Flow, Fault> {
        self.aligned(warp, path, mask)?;
        let frame = path.frame;
        match op {
            MatrixOp::Mma(mma) => {
                self.multiply(warp, &frame, mask, &mma.terms, |a, b, c| multiply(mma, a, b, c));
            }
            MatrixOp::Load { access, transpose, unpack, d } => {
                let addresses = self.addresses(warp, &frame, &access.addr, access.space);
                let lanes = 8 * d.len();
                let mut rows = Vec::with_capacity(lanes);
                for (lane, &address) in addresses.iter().enumerate().take(lanes) {
                    let place = self.resolve(warp, lane, access.space, address, 16, 16, false)?;
                    let mut row = [0; 16];
                    row.copy_from_slice(self.view(warp, place, 16));
                    if let Some(width) = unpack {
                        row = element::containers(row, *width);
                    }
                    rows.push(row);
                }
                self.track_rows(warp, path, access, &addresses, lanes, What::Load);
                for (matrix, d) in rows.chunks(8).zip(d) {
                    let value = std::array::from_fn(|lane| {
                        let half = |row: usize, column: usize| {
                            u16::from_le_bytes([
                                matrix[row][2 * column],
                                matrix[row][2 * column + 1],
                            ])
                        };
                        let [low, high] = cells(lane, *transpose).map(|(r, c)| half(r, c));
                        u32::from(low) | u32::from(high) << 16
                    });
                    warp.regs.put32(&frame, *d, mask, &value);
                }
            }
            MatrixOp::Store { access, transpose, a } => {
                let addresses = self.addresses(warp, &frame, &access.addr, access.space);
                let lanes = 8 * a.len();
                let mut rows = vec![[0u8; 16]; lanes];
                for (matrix, a) in a.iter().enumerate() {
                    let value = self.fetch32(warp, &frame, *a);
                    for (lane, word) in value.iter().enumerate() {
                        for (i, (row, column)) in cells(lane, *transpose).into_iter().enumerate() {
                            let half = (word >> (16 * i)) as u16;
                            rows[8 * matrix + row][2 * column..][..2]
                                .copy_from_slice(&half.to_le_bytes());
                        }
                    }
                }
                for (lane, row) in rows.iter().enumerate() {
                    let at = addresses[lane];
                    let place = self.resolve(warp, lane, access.space, at, 16, 16, true)?;
                    self.view_mut(warp, place, 16)?.copy_from_slice(row);
                }
                self.track_rows(warp, path, access, &addresses, lanes, What::UNKNOWN_STORE);
                path.spin.rounds = 0;
            }
            MatrixOp::Move { d, a } => {
                let a = self.fetch32(warp, &frame, *a);
                let value = std::array::from_fn(|lane| {
                    let [low, high] = cells(lane, true).map(|(row, column)| {
                        a[4 * row + column / 2] >> (16 * (column % 2)) & 0xFFFF
                    });
                    low | high << 16
                });
                warp.regs.put32(&frame, *d, mask, &value);
            }
        }
        path.pc += 1;
        Ok(Flow::Next)
    }

    /// Executes a product, of which `result` makes D out of A, B and C.
    pub(crate) fn multiply(
        &self,
        warp: &mut Warp,
        frame: &Frame,
        mask: u32,
        terms: &Terms,
        result: impl FnOnce(&[Lanes64], &[Lanes64], &[Lanes64]) -> Vec<Lanes64>,
    ) {
        let fetch = |list: &[Src]| -> Vec<Lanes64> {
            list.iter().map(|source| self.fetch64(warp, frame, *source)).collect()
        };
        let value = result(&fetch(&terms.a), &fetch(&terms.b), &fetch(&terms.c));
        for (d, value) in terms.d.iter().zip(value) {
            warp.regs.put64(frame, *d, mask, &value);
        }
    }

    /// Tells the detection of the rows that the first lanes point to.
    fn track_rows(
        &mut self,
        warp: &Warp,
        path: &Path,
        access: &Access,
        addresses: &Lanes64,
        lanes: usize,
        what: What,
    ) {
        if self.detect.is_some() {
            let mask = u32::MAX >> (LANES - lanes);
            self.track(warp, path, mask, access, None, (addresses, 16), what);
        }
    }
}

/// Row and column of the two halves of a lane in a matrix of 8 × 8.
fn cells(lane: usize, transpose: bool) -> [(usize, usize); 2] {
    [0, 1].map(|i| {
        let cell = (lane / 4, 2 * (lane % 4) + i);
        if transpose { (cell.1, cell.0) } else { cell }
    })
}

/// An access of rows of 16 bytes.
pub(crate) fn row_access(space: MemSpace, addr: Addr) -> Access {
    Access {
        space,
        bytes: 16,
        signed: false,
        strong: false,
        order: Order::Weak,
        scope: Scope::Gpu,
        constant: false,
        addr,
    }
}

fn multiply(mma: &Mma, a: &[Lanes64], b: &[Lanes64], c: &[Lanes64]) -> Vec<Lanes64> {
    let parts = mma.m / 8;
    let each = if mma.a_type == Element::F64 { 1 } else { 32 / mma.a_type.bits() };
    let elements = |registers: &[Lanes64], parts| -> Vec<Vec<(u64, usize)>> {
        let of = |words: Vec<u64>| (0..mma.k).map(|k| (words[k / each], k % each)).collect();
        rows(registers, parts).into_iter().map(of).collect()
    };
    let (a, b) = (elements(a, parts), elements(b, 1));
    let per = if mma.halves { 2 } else { 1 };
    let mut d = vec![[0u64; LANES]; c.len()];
    for lane in 0..LANES {
        for i in 0..mma.m * N / LANES {
            let (row, column) = cell_of_d(lane, i);
            let (register, shift) = (i / per, 16 * (i % per) as u32);
            let old = c[register][lane] >> shift;
            let halves = (mma.halves, mma.halves);
            let of = (mma.a_type, mma.b_type);
            let value = mma.terms.dot(of, &a[row], &b[column], old, halves);
            d[register][lane] |= value << shift;
        }
    }
    d
}

impl Terms {
    /// An element of D, in its bits: `old`, and the product of a row of A and a column of B, of which each element is given by
    /// its word and its number within it. C and D may be halves.
    pub(crate) fn dot(
        &self,
        (of_a, of_b): (Element, Element),
        a: &[(u64, usize)],
        b: &[(u64, usize)],
        old: u64,
        (from_half, to_half): (bool, bool),
    ) -> u64 {
        let pairs = a.iter().zip(b);
        if of_a == Element::F64 {
            let sum = pairs.fold(f64::from_bits(old), |sum, (x, y)| {
                f64::from_bits(x.0).mul_add(f64::from_bits(y.0), sum)
            });
            return sum.to_bits();
        }
        if of_a.is_integer() {
            let sum = pairs.fold(i64::from(old as i32), |sum, (&(x, i), &(y, j))| {
                let (x, y) = (of_a.integer(x as u32, i), of_b.integer(y as u32, j));
                sum + match (of_a, self.bits) {
                    (Element::B1, BitFn::Xor) => x ^ y,
                    _ => x * y,
                }
            });
            let limits = (i64::from(i32::MIN), i64::from(i32::MAX));
            return u64::from(
                if self.saturate { sum.clamp(limits.0, limits.1) } else { sum } as u32
            );
        }
        let start = if from_half { f16_to_f32(old as u16) } else { f32::from_bits(old as u32) };
        let sum = pairs.fold(start, |sum, (&(x, i), &(y, j))| {
            sum + of_a.float(x as u32, i) * of_b.float(y as u32, j)
        });
        if to_half { f32_to_f16(sum).into() } else { sum.to_bits().into() }
    }
}
