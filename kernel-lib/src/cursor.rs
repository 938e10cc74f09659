//! Where an endpoint stands in a ring: the stage and the parity of its phase (rules C3, C10).
//!
//! A barrier's phases alternate between parity 0 and 1; `try_wait.parity` with parity `p` is true when the
//! phase of that parity has completed, so a fresh barrier passes parity 1 at once (ISA 9.7.13.15.16). The
//! consumer waits for phase 0 first, the producer for the phase before it.

/// The position of one endpoint in a ring of `N` stages. Not `Copy`: an endpoint has one.
pub(crate) struct Cursor<const N: u32> {
    index: u32,
    phase: u32,
}

impl<const N: u32> Cursor<N> {
    /// Stage 0, phase 0.
    #[inline(always)]
    pub(crate) fn start() -> Self {
        Cursor { index: 0, phase: 0 }
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Parity of the phase that completes when this lap's hand-over to the consumer has happened.
    #[inline(always)]
    pub(crate) fn filled(&self) -> u32 {
        self.phase
    }

    /// Parity of the phase that completes when the previous lap's hand-over to the producer has happened; true
    /// at once on the first lap.
    #[inline(always)]
    pub(crate) fn emptied(&self) -> u32 {
        self.phase ^ 1
    }

    /// Goes on to the next stage. Two selects: the producer has the other parity at hand already, to wait for. Of two stages,
    /// the one that is left says whether the lap ends.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        if N == 2 {
            (self.index, self.phase) = (self.index ^ 1, self.phase ^ self.index);
            return;
        }
        let next = self.index + 1;
        (self.index, self.phase) = if next == N { (0, self.phase ^ 1) } else { (next, self.phase) };
    }

    /// Parity of the last fill of stage `index` by an endpoint that stands here; a stage never filled gives
    /// the parity that a fresh barrier passes.
    #[inline(always)]
    pub(crate) fn last_fill(&self, index: u32) -> u32 {
        if index < self.index { self.phase } else { self.phase ^ 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn parity_flips_on_each_lap() {
        let mut cursor = Cursor::<3>::start();
        let mut seen = [(0, 0); 7];
        for slot in &mut seen {
            *slot = (cursor.index(), cursor.filled());
            assert_eq!(cursor.emptied(), cursor.filled() ^ 1);
            cursor.advance();
        }
        assert_eq!(seen, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 0)]);
    }

    #[test]
    fn two_stages_flip_as_many_do() {
        let mut cursor = Cursor::<2>::start();
        let mut seen = [(0, 0); 6];
        for slot in &mut seen {
            *slot = (cursor.index(), cursor.filled());
            cursor.advance();
        }
        assert_eq!(seen, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)]);
    }

    #[test]
    fn last_fill_is_the_fresh_parity_for_stages_never_filled() {
        let mut cursor = Cursor::<2>::start();
        assert_eq!([cursor.last_fill(0), cursor.last_fill(1)], [1, 1]);
        cursor.advance();
        assert_eq!([cursor.last_fill(0), cursor.last_fill(1)], [0, 1]);
        cursor.advance();
        assert_eq!([cursor.last_fill(0), cursor.last_fill(1)], [0, 0]);
        cursor.advance();
        assert_eq!([cursor.last_fill(0), cursor.last_fill(1)], [1, 0]);
    }
}
