//! The bytes that writes can put into memory, more of them rather than fewer: each byte by itself, sums with
//! every carry that there can be.
//!
//! A justified value (8.10.4) has a derivation without a cycle, no longer than there are writes; so as many
//! rounds find all.

use super::expression::{Expression, Flow, Function, Partial, Values, WIDTH};
use crate::candidate::Candidate;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes([u64; 4]);

impl Bytes {
    const ALL: Self = Self([u64::MAX; 4]);

    pub fn one(byte: u8) -> Self {
        let mut set = Self::default();
        set.add(byte);
        set
    }

    pub fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub fn union(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }

    pub fn each(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    /// The only one.
    pub fn single(&self) -> Option<u8> {
        let mut all = self.each();
        all.next().filter(|_| all.next().is_none())
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn intersect(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
    }

    pub fn map(&self, of: impl Fn(u8) -> u8) -> Self {
        let mut set = Self::default();
        self.each().for_each(|byte| set.add(of(byte)));
        set
    }

    /// Every combination of two.
    fn pairs(&self, other: &Self, of: impl Fn(u8, u8) -> Self) -> Self {
        let mut set = Self::default();
        for a in self.each() {
            for b in other.each() {
                set.union(of(a, b));
                if set == Self::ALL {
                    return set;
                }
            }
        }
        set
    }
}

/// The bytes of a register.
pub type Sets = [Bytes; WIDTH];

/// The bytes of what each write writes; none if there is no time for them.
pub fn writes(candidate: &Candidate<'_>, values: &Values) -> Option<Vec<Sets>> {
    let count = candidate.events.len();
    let mut written = vec![[Bytes::default(); WIDTH]; count];
    for _ in 0..=candidate.writes.len() {
        if candidate.options.is_late() {
            return None;
        }
        let read = reads(candidate, &written);
        let before = written.clone();
        for &write in &candidate.writes {
            if let Some(value) = &values.writes[write] {
                written[write] = of(value, &read);
            }
        }
        if written == before {
            break;
        }
    }
    Some(written)
}

/// The bytes that each read can return, in memory's order.
pub fn reads(candidate: &Candidate<'_>, written: &[Sets]) -> Vec<Sets> {
    let mut read = vec![[Bytes::default(); WIDTH]; candidate.events.len()];
    for &event in &candidate.reads {
        let Some(access) = candidate.events[event].access() else { continue };
        for (set, place) in read[event].iter_mut().zip(access.offset..access.offset + access.bytes)
        {
            set.add(candidate.program.memories[access.memory].init[place as usize]);
            for &write in &candidate.writes {
                let Some(w) = candidate.events[write].access() else { continue };
                let covers = w.memory == access.memory
                    && (w.offset..w.offset + w.bytes).contains(&place)
                    && access.partner != Some(write);
                if covers {
                    set.union(written[write][(place - w.offset) as usize]);
                }
            }
        }
    }
    read
}

/// What each read returns in any case: bytes of which there is one only.
pub fn certain(candidate: &Candidate<'_>, written: &[Sets]) -> Vec<Partial> {
    let all = reads(candidate, written).into_iter().map(|sets| {
        let mut known = Partial::UNKNOWN;
        for (at, set) in sets.iter().enumerate() {
            if let Some(byte) = set.single() {
                known.set(at, byte);
            }
        }
        known
    });
    all.collect()
}

/// The bytes of a value, given those of the reads.
pub fn of(value: &Expression, reads: &[Sets]) -> Sets {
    let (mut sets, ty) = match value {
        Expression::Number(number) => return number.to_le_bytes().map(Bytes::one),
        Expression::Read(event, ty) => (reads[*event], *ty),
        Expression::Compute(function, ty, operands) => {
            let args = [0, 1, 2].map(|at| of(&operands[at], reads));
            if args.iter().flatten().any(|set| *set == Bytes::default()) {
                // Nothing feeds it yet.
                return [Bytes::default(); WIDTH];
            }
            let whole = ty.bytes as usize;
            match computed(*function, whole, &args) {
                Some(sets) => (sets, *ty),
                None => {
                    let number = |sets: Sets| {
                        let mut bytes = [0; WIDTH];
                        for (byte, set) in bytes.iter_mut().zip(sets) {
                            *byte = set.single()?;
                        }
                        Some(u128::from_le_bytes(bytes))
                    };
                    let all = [number(args[0]), number(args[1]), number(args[2])];
                    let [Some(a), Some(b), Some(c)] = all else { return [Bytes::ALL; WIDTH] };
                    return function.compute(*ty, [a, b, c]).to_le_bytes().map(Bytes::one);
                }
            }
        }
    };
    let top = sets[ty.bytes as usize - 1];
    let mut rest = Bytes::default();
    if ty.signed && top.each().any(|byte| byte >= 0x80) {
        rest.add(0xff);
    }
    if top != Bytes::default() && (!ty.signed || top.each().any(|byte| byte < 0x80)) {
        rest.add(0);
    }
    sets[ty.bytes as usize..].fill(rest);
    sets
}

/// The low bytes of a result, where bytes are computed from bytes.
fn computed(function: Function, bytes: usize, args: &[Sets; 3]) -> Option<Sets> {
    let mut sets = [Bytes::default(); WIDTH];
    let [a, b, c] = args;
    match function.flow() {
        Flow::Copy(from) => sets = args[from],
        Flow::Sum => {
            let mut carries = vec![0u16];
            for at in 0..bytes {
                let mut next = vec![];
                for x in a[at].each() {
                    for y in b[at].each() {
                        for carry in &carries {
                            let sum = u16::from(x) + u16::from(y) + carry;
                            sets[at].add(sum as u8);
                            if !next.contains(&(sum >> 8)) {
                                next.push(sum >> 8);
                            }
                        }
                    }
                }
                carries = next;
            }
        }
        Flow::Bytewise(_) => {
            let byte = crate::program::Type { bytes: 1, signed: false };
            for at in 0..bytes {
                sets[at] = a[at].pairs(&b[at], |x, y| {
                    Bytes::one(function.compute(byte, [x.into(), y.into(), 0]) as u8)
                });
            }
        }
        Flow::Compare => {
            sets = *a;
            // Equality is possible only if it is byte by byte.
            let equal = (0..bytes).all(|at| a[at].each().any(|byte| b[at].has(byte)));
            if equal {
                sets.iter_mut().zip(c).for_each(|(set, new)| set.union(*new));
            }
        }
        Flow::Whole => return None,
    }
    Some(sets)
}
