//! Relations over events as bit matrices.
//!
//! A row is a set of events in 64-bit words, so that unions, intersections and the step of the
//! transitive closure work on 64 pairs at a time. Programs of litmus size need one word a row.

/// A binary relation over `0..len`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    len: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The empty relation over `0..len`.
    pub fn new(len: usize) -> Self {
        let words = len.div_ceil(64).max(1);
        Self { len, words, bits: vec![0; len * words] }
    }

    /// Becomes the empty relation over `0..len`, keeping its memory.
    pub fn reset(&mut self, len: usize) {
        self.len = len;
        self.words = len.div_ceil(64).max(1);
        self.bits.clear();
        self.bits.resize(len * self.words, 0);
    }

    /// Becomes a copy of `other`, keeping its memory.
    pub fn copy_from(&mut self, other: &Relation) {
        self.len = other.len;
        self.words = other.words;
        self.bits.clear();
        self.bits.extend_from_slice(&other.bits);
    }

    /// How many things are related.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no pair is related.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }

    /// Relates `a` to `b`.
    #[inline]
    pub fn add(&mut self, a: usize, b: usize) {
        self.bits[a * self.words + b / 64] |= 1 << (b % 64);
    }

    /// Takes the pair `a`, `b` out.
    #[inline]
    pub fn remove(&mut self, a: usize, b: usize) {
        self.bits[a * self.words + b / 64] &= !(1 << (b % 64));
    }

    /// Whether `a` is related to `b`.
    #[inline]
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.bits[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// The words of the set of everything that `a` is related to.
    #[inline]
    pub fn row(&self, a: usize) -> &[u64] {
        &self.bits[a * self.words..(a + 1) * self.words]
    }

    /// The same, to be changed.
    #[inline]
    pub fn row_mut(&mut self, a: usize) -> &mut [u64] {
        &mut self.bits[a * self.words..(a + 1) * self.words]
    }

    /// Everything that `a` is related to.
    #[inline]
    pub fn successors(&self, a: usize) -> Bits<'_> {
        bits(self.row(a))
    }

    /// All pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.len).flat_map(|a| self.successors(a).map(move |b| (a, b)))
    }

    /// Adds all pairs of `other`, which is over as many things.
    pub fn union(&mut self, other: &Relation) {
        for (word, more) in self.bits.iter_mut().zip(&other.bits) {
            *word |= more;
        }
    }

    /// Adds the row of `from` to the row of `to`.
    #[inline]
    pub fn absorb(&mut self, to: usize, from: usize) {
        let words = self.words;
        if to == from {
            return;
        }
        for k in 0..words {
            let word = self.bits[from * words + k];
            self.bits[to * words + k] |= word;
        }
    }

    /// The smallest transitive relation that holds all pairs.
    pub fn close(&mut self) {
        if self.words == 1 {
            for middle in 0..self.len {
                let through = self.bits[middle];
                if through == 0 {
                    continue;
                }
                for row in &mut self.bits {
                    *row |= through & (*row >> middle & 1).wrapping_neg();
                }
            }
            return;
        }
        let mut through = vec![0; self.words];
        for middle in 0..self.len {
            through.copy_from_slice(self.row(middle));
            if through.iter().all(|word| *word == 0) {
                continue;
            }
            for row in self.bits.chunks_exact_mut(self.words) {
                if row[middle / 64] >> (middle % 64) & 1 == 1 {
                    row.iter_mut().zip(&through).for_each(|(word, more)| *word |= more);
                }
            }
        }
    }

    /// Whether nothing is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.len).all(|a| !self.has(a, a))
    }

    /// Whether the pairs form no cycle. Takes away, until nothing changes, what leads nowhere.
    pub fn is_acyclic(&self) -> bool {
        let mut alive = vec![u64::MAX; self.words];
        let mut remaining = self.len;
        loop {
            let before = remaining;
            for a in 0..self.len {
                let live = alive[a / 64] >> (a % 64) & 1 == 1;
                if live && !meets(self.row(a), &alive) {
                    alive[a / 64] &= !(1 << (a % 64));
                    remaining -= 1;
                }
            }
            if remaining == 0 {
                return true;
            }
            if remaining == before {
                return false;
            }
        }
    }
}

/// Whether two sets have something in common.
#[inline]
pub fn meets(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// The members of a set.
#[inline]
pub fn bits(words: &[u64]) -> Bits<'_> {
    Bits { words, next: 1, word: words.first().copied().unwrap_or(0), base: 0 }
}

/// Iterator over the members of a set; see [`bits`].
#[derive(Clone, Debug)]
pub struct Bits<'a> {
    words: &'a [u64],
    next: usize,
    word: u64,
    base: usize,
}

impl Iterator for Bits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = *self.words.get(self.next)?;
            self.base = self.next * 64;
            self.next += 1;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.base + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(len: usize, pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::new(len);
        for &(a, b) in pairs {
            relation.add(a, b);
        }
        relation
    }

    #[test]
    fn closure_and_cycles_in_one_word_and_in_several() {
        for len in [5, 64, 130] {
            let mut chain = of(len, &[(0, 1), (1, len - 2), (len - 2, len - 1)]);
            assert!(chain.is_acyclic());
            chain.close();
            assert!(chain.has(0, len - 1) && chain.is_irreflexive() && chain.is_acyclic());
            assert_eq!(chain.pairs().count(), 6);
            chain.add(len - 1, 0);
            assert!(!chain.is_acyclic());
            chain.close();
            assert!(chain.has(len - 2, len - 2) && !chain.has(2, 2));
        }
    }

    #[test]
    fn members_come_in_order() {
        let relation = of(200, &[(7, 3), (7, 63), (7, 64), (7, 199)]);
        assert_eq!(relation.successors(7).collect::<Vec<_>>(), [3, 63, 64, 199]);
        assert_eq!(relation.successors(8).count(), 0);
    }
}
