//! One access, in the twelve bytes in which a cell remembers it.
//!
//! When it was and who made it is different for each; what it was is the same for all accesses of an instruction. So
//! that is a number into a table ([`Kinds`]).

use crate::detect::clock::Stamp;
use crate::ir::Scope;
use std::collections::HashMap;

/// Who makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Class {
    /// A thread.
    Thread,
    /// `tcgen05.alloc`, for the address that it stores.
    Alloc,
    /// `cp.async`.
    Small,
    /// `st.async` or `red.async`.
    Store,
    /// A bulk copy into shared memory.
    In,
    /// A bulk copy out of shared memory.
    Out,
    Mma,
    /// A product in registers.
    Wgmma,
    Ld,
    St,
    Dealloc,
    /// A load through the cache of constant data.
    Constant,
    /// A copy, of the tensor map that it uses.
    Map,
}

const CLASSES: [Class; 13] = [
    Class::Thread,
    Class::Alloc,
    Class::Small,
    Class::Store,
    Class::In,
    Class::Out,
    Class::Mma,
    Class::Wgmma,
    Class::Ld,
    Class::St,
    Class::Dealloc,
    Class::Constant,
    Class::Map,
];

/// What accesses of an instruction have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::detect) struct Kind {
    pub site: u32,
    pub class: Class,
    /// Scope and bytes of a strong access.
    pub strong: Option<(Scope, u32)>,
    /// What tells pipelined multiplications from others.
    pub tag: u16,
    pub write: bool,
}

impl Kind {
    pub fn new(site: u32, class: Class) -> Kind {
        Kind { site, class, strong: None, tag: 0, write: false }
    }
}

/// The kinds of access that there were, numbered.
#[derive(Debug)]
pub(in crate::detect) struct Kinds {
    kinds: Vec<Kind>,
    numbers: HashMap<Kind, u32>,
    /// The last number asked for, by site: mostly it is asked for again.
    last: [u32; Kinds::RECENT],
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds { kinds: Vec::new(), numbers: HashMap::new(), last: [0; Kinds::RECENT] }
    }
}

impl Kinds {
    const RECENT: usize = 64;

    /// An access of this kind, at no time and of no bytes.
    #[inline]
    pub fn entry(&mut self, kind: Kind) -> Entry {
        let recent = kind.site as usize % Kinds::RECENT;
        let mut number = self.last[recent];
        if self.kinds.get(number as usize) != Some(&kind) {
            number = self.number(kind);
            self.last[recent] = number;
        }
        let strong = if kind.strong.is_some() { STRONG } else { 0 };
        let word = number << NUMBER | strong | (kind.class as u32) << CLASS;
        Entry { stamp: Stamp::default(), word }
    }

    #[inline(never)]
    fn number(&mut self, kind: Kind) -> u32 {
        *self.numbers.entry(kind).or_insert_with(|| {
            // What is beyond the last number is reported as the one that has it.
            if self.kinds.len() <= LAST as usize {
                self.kinds.push(kind);
            }
            self.kinds.len() as u32 - 1
        })
    }

    /// What an access was.
    pub fn of(&self, entry: &Entry) -> Kind {
        self.kinds[entry.number() as usize]
    }
}

/// Parts of [`Entry::word`]: its bytes, the class, whether it is strong, the number of the kind.
const BYTES: u32 = 15;
const CLASS: u32 = 4;
const STRONG: u32 = 1 << 8;
const NUMBER: u32 = 9;
const LAST: u32 = u32::MAX >> NUMBER;

/// One access, as a cell remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::detect) struct Entry {
    pub stamp: Stamp,
    word: u32,
}

impl Entry {
    pub fn at(self, stamp: Stamp) -> Entry {
        Entry { stamp, ..self }
    }

    /// An access of the kind with this number.
    #[cfg(test)]
    pub fn numbered(number: u32, stamp: Stamp) -> Entry {
        Entry { stamp, word: number << NUMBER }
    }

    pub fn with_bytes(self, mask: u8) -> Entry {
        Entry { word: self.word & !BYTES | u32::from(mask) & BYTES, ..self }
    }

    pub fn with_id(self, id: u32) -> Entry {
        Entry { stamp: Stamp { id, ..self.stamp }, ..self }
    }

    /// Whether it is of all bytes of the cell.
    #[inline(always)]
    pub(super) fn is_whole(self) -> bool {
        self.word & BYTES == BYTES
    }

    pub fn bytes(self) -> u8 {
        (self.word & BYTES) as u8
    }

    pub fn class(self) -> Class {
        CLASSES[(self.word >> CLASS & 15) as usize % CLASSES.len()]
    }

    /// A load of constant data, which nothing orders with a write.
    #[inline(always)]
    pub fn is_constant(self) -> bool {
        self.word >> CLASS & 15 == Class::Constant as u32
    }

    /// Whether [`Kind::strong`] is there.
    pub fn is_strong(self) -> bool {
        self.word & STRONG != 0
    }

    pub(in crate::detect) fn number(self) -> u32 {
        self.word >> NUMBER
    }

    pub(super) fn is_some(self) -> bool {
        self.word & BYTES != 0
    }

    /// The same, but for the bytes.
    #[inline(always)]
    pub fn is_part_of(self, other: Entry) -> bool {
        self.stamp == other.stamp && (self.word ^ other.word) & !BYTES == 0
    }

    /// The same, but for the time and who made it.
    #[inline(always)]
    pub(super) fn is_like(self, other: Entry) -> bool {
        self.word == other.word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_again() {
        let mut kinds = Kinds::default();
        // Sites that fall together among the last ones, and one of two classes.
        let all = [(1, Class::Thread), (65, Class::In), (1, Class::Map), (2, Class::Mma)];
        let all = all.map(|(site, class)| Kind { tag: site as u16, ..Kind::new(site, class) });
        let entries = all.map(|kind| kinds.entry(kind).with_bytes(6));
        for (kind, entry) in all.into_iter().zip(entries) {
            assert_eq!(kinds.entry(kind).with_bytes(6), entry);
            assert_eq!((kinds.of(&entry), entry.class(), entry.bytes()), (kind, kind.class, 6));
            assert!(!entry.is_strong());
        }
        assert!(kinds.entry(Kind { strong: Some((Scope::Gpu, 4)), ..all[0] }).is_strong());
        assert_eq!(kinds.kinds.len(), 5);
    }
}
