//! `wmma`: matrices of one warp in fragments whose order PTX leaves open.
//!
//! A fragment here is its matrix in one order, dealt out in equal runs: lane 0 has the first elements, as many as its
//! registers hold. A and B are in the order of their memory, accumulators by rows. A fragment with more places than
//! elements begins again at its end; so do the halves of A and B on hardware, where each is held twice.
//!
//! Sums are those of [`crate::matrix`].

use crate::access::What;
use crate::error::Fault;
use crate::ir::*;
use crate::matrix::{Element, Terms};
use crate::warp::{Path, Warp};
use crate::world::{Flow, World, lanes_of};

/// Type of an element of a fragment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Of(Element),
    F32,
    S32,
}

impl Kind {
    pub fn bits(self) -> usize {
        match self {
            Kind::Of(element) => element.bits(),
            Kind::F32 | Kind::S32 => 32,
        }
    }
}

/// One matrix in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fragment {
    pub rows: usize,
    pub columns: usize,
    pub kind: Kind,
    /// In memory its rows follow one another, else its columns.
    pub by_rows: bool,
    pub accumulator: bool,
    pub registers: usize,
}

/// A place in memory and in a register.
struct Part {
    offset: u64,
    bytes: u8,
    shift: u32,
}

impl Fragment {
    /// Elements of a register.
    fn each(&self) -> usize {
        (32 / self.kind.bits()).max(1)
    }

    /// Whether a fragment of so many registers holds the matrix, once or several times.
    pub fn fits(&self) -> bool {
        let elements = self.rows * self.columns;
        let places = LANES * self.registers * self.each();
        places >= elements && places.is_multiple_of(elements)
    }

    /// Elements from one row or column to the next, if the instruction does not say it.
    pub fn least_stride(&self) -> u64 {
        if self.by_rows { self.columns as u64 } else { self.rows as u64 }
    }

    /// What a register of a lane has from memory. Of A and B that is one word.
    fn parts(&self, lane: usize, register: usize, stride: u64) -> Vec<Part> {
        let (bits, each) = (self.kind.bits(), self.each());
        let first = (lane * self.registers + register) * each;
        let part = |i: usize, bytes: usize| {
            let e = (first + i) % (self.rows * self.columns);
            let (line, at) = match (self.accumulator, self.by_rows) {
                (true, true) => (e / self.columns, e % self.columns),
                (true, false) => (e % self.columns, e / self.columns),
                (false, true) => (e / self.columns, e % self.columns),
                (false, false) => (e / self.rows, e % self.rows),
            };
            let offset = (line as u64).wrapping_mul(stride).wrapping_add(at as u64);
            let offset = offset.wrapping_mul(bits as u64) / 8;
            Part { offset, bytes: bytes as u8, shift: (i * bits) as u32 }
        };
        if self.accumulator {
            (0..each).map(|i| part(i, bits / 8)).collect()
        } else {
            vec![part(0, bits.max(32) / 8)]
        }
    }

    /// An element by its row and column: its register, its lane and its number within the register.
    fn place(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let e = if self.accumulator || self.by_rows {
            row * self.columns + column
        } else {
            column * self.rows + row
        };
        let word = e / self.each();
        (word % self.registers, word / self.registers, e % self.each())
    }
}

/// A `wmma.mma`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Product {
    pub of_a: Fragment,
    pub of_b: Fragment,
    pub of_c: Fragment,
    pub of_d: Fragment,
    pub terms: Terms,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WmmaOp {
    Load { fragment: Fragment, access: Access, stride: Option<Src>, d: Box<[Dst]> },
    Store { fragment: Fragment, access: Access, stride: Option<Src>, a: Box<[Src]> },
    Multiply(Product),
}

impl World<'_> {
    pub(crate) fn wmma(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &WmmaOp,
    ) -> Result<Flow, Fault> {
        self.aligned(warp, path, mask)?;
        let frame = path.frame;
        match op {
            WmmaOp::Load { fragment, access, stride, d } => {
                let (bases, strides) = self.tile_base(warp, path, access, *stride, fragment);
                for (register, d) in d.iter().enumerate() {
                    let mut value = [0u64; LANES];
                    for (parts, bytes) in columns(fragment, register, &strides) {
                        let at = std::array::from_fn(|l| bases[l].wrapping_add(parts[l].offset));
                        for lane in lanes_of(mask) {
                            let n = u64::from(bytes);
                            let place =
                                self.resolve(warp, lane, access.space, at[lane], n, n, false)?;
                            let mut word = [0; 8];
                            word[..usize::from(bytes)].copy_from_slice(self.view(
                                warp,
                                place,
                                bytes.into(),
                            ));
                            value[lane] |= u64::from_le_bytes(word) << parts[lane].shift;
                        }
                        self.track_part(warp, path, mask, access, &at, bytes, What::Load);
                    }
                    warp.regs.put64(&frame, *d, mask, &value);
                }
            }
            WmmaOp::Store { fragment, access, stride, a } => {
                let (bases, strides) = self.tile_base(warp, path, access, *stride, fragment);
                for (register, a) in a.iter().enumerate() {
                    let value = self.fetch64(warp, &frame, *a);
                    for (parts, bytes) in columns(fragment, register, &strides) {
                        let at = std::array::from_fn(|l| bases[l].wrapping_add(parts[l].offset));
                        for lane in lanes_of(mask) {
                            let n = u64::from(bytes);
                            let place =
                                self.resolve(warp, lane, access.space, at[lane], n, n, true)?;
                            let word = (value[lane] >> parts[lane].shift).to_le_bytes();
                            self.view_mut(warp, place, bytes.into())?
                                .copy_from_slice(&word[..usize::from(bytes)]);
                        }
                        let what = What::UNKNOWN_STORE;
                        self.track_part(warp, path, mask, access, &at, bytes, what);
                    }
                }
                path.spin.rounds = 0;
            }
            WmmaOp::Multiply(product) => {
                let terms = &product.terms;
                self.multiply(warp, &frame, mask, terms, |a, b, c| product.result(a, b, c));
            }
        }
        path.pc += 1;
        Ok(Flow::Next)
    }

    /// Where the matrix begins for each lane, and the elements between its lines.
    fn tile_base(
        &mut self,
        warp: &Warp,
        path: &Path,
        access: &Access,
        stride: Option<Src>,
        fragment: &Fragment,
    ) -> (Lanes64, Lanes64) {
        let bases = self.addresses(warp, &path.frame, &access.addr, access.space);
        let strides = match stride {
            Some(stride) => self.fetch32(warp, &path.frame, stride).map(u64::from),
            None => [fragment.least_stride(); LANES],
        };
        (bases, strides)
    }

    #[expect(clippy::too_many_arguments, reason = "what the detection has to know of an access")]
    fn track_part(
        &mut self,
        warp: &Warp,
        path: &Path,
        mask: u32,
        access: &Access,
        at: &Lanes64,
        bytes: u8,
        what: What,
    ) {
        if self.detect.is_some() {
            let access = Access { bytes, ..*access };
            self.track(warp, path, mask, &access, None, (at, bytes.into()), what);
        }
    }
}

/// The parts of one register, those of all lanes together, with their bytes.
fn columns(fragment: &Fragment, register: usize, strides: &Lanes64) -> Vec<(Vec<Part>, u8)> {
    let mut columns: Vec<(Vec<Part>, u8)> = Vec::new();
    for (lane, &stride) in strides.iter().enumerate() {
        for (i, part) in fragment.parts(lane, register, stride).into_iter().enumerate() {
            if columns.len() == i {
                columns.push((Vec::with_capacity(LANES), part.bytes));
            }
            columns[i].0.push(part);
        }
    }
    columns
}

impl Product {
    fn result(&self, a: &[Lanes64], b: &[Lanes64], c: &[Lanes64]) -> Vec<Lanes64> {
        let (Kind::Of(of_a), Kind::Of(of_b)) = (self.of_a.kind, self.of_b.kind) else {
            return Vec::new();
        };
        let (m, n, k) = (self.of_a.rows, self.of_b.columns, self.of_a.columns);
        let row = |m: usize| -> Vec<(u64, usize)> {
            let of = |k| self.of_a.place(m, k);
            (0..k).map(of).map(|(register, lane, i)| (a[register][lane], i)).collect()
        };
        let rows: Vec<_> = (0..m).map(row).collect();
        let column = |n: usize| -> Vec<(u64, usize)> {
            let of = |k| self.of_b.place(k, n);
            (0..k).map(of).map(|(register, lane, i)| (b[register][lane], i)).collect()
        };
        let columns: Vec<_> = (0..n).map(column).collect();
        let mut d = vec![[0u64; LANES]; self.terms.d.len()];
        let halves = |fragment: &Fragment| fragment.kind == Kind::Of(Element::F16);
        for (m, row) in rows.iter().enumerate() {
            for (n, column) in columns.iter().enumerate() {
                let (register, lane, i) = self.of_c.place(m, n);
                let old = c[register][lane] >> (i * self.of_c.kind.bits());
                let halves = (halves(&self.of_c), halves(&self.of_d));
                let value = self.terms.dot((of_a, of_b), row, column, old, halves);
                let (register, lane, i) = self.of_d.place(m, n);
                d[register][lane] |= value << (i * self.of_d.kind.bits());
            }
        }
        d
    }
}
