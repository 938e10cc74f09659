//! The mbarrier object (PTX ISA, "Parallel Synchronization and Communication Instructions:
//! mbarrier").
//!
//! A phase completes when no arrival and no transaction byte is outstanding; then the next begins
//! with the expected count. The object itself is kept here, beside shared memory, whose eight
//! bytes stay as they were: PTX leaves them opaque, and nothing else may touch them.

/// Range of counts and of outstanding bytes.
const MAX: i64 = (1 << 20) - 1;

/// One live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals that a phase needs.
    pub expected: u32,
    /// Arrivals still missing in the current phase.
    pub pending: u32,
    /// Bytes expected and not yet arrived.
    pub tx: i64,
    /// Completed phases.
    pub phase: u64,
    /// Where it lies in the CTA's shared memory.
    offset: u32,
}

/// Misuse of an mbarrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum MbarrierError {
    #[error(
        "used, but not initialised; run `mbarrier.init`, its fence and a barrier first (rule C1)"
    )]
    NotInitialised,
    #[error("used behind its `mbarrier.inval`; initialise it again first (rule C2)")]
    Invalidated,
    #[error("initialised a second time while live; run `mbarrier.inval` first (rule C2)")]
    Reinitialised,
    #[error("count {count} is outside 1 to {MAX}")]
    Count { count: u32 },
    #[error(
        "arrival of {count} where {pending} of {expected} are missing: more arrivals in one phase than the count given at init (rule C9)"
    )]
    TooManyArrivals { count: u32, pending: u32, expected: u32 },
    #[error(
        "outstanding bytes would be {tx}, outside -{MAX} to {MAX}; the bytes expected and the bytes copied differ (rule C8)"
    )]
    Transactions { tx: i64 },
    #[error("arrive.noComplete completes the phase (rule C12)")]
    Completes,
    #[error("arrive_drop brings the expected count to zero")]
    DroppedAll,
    #[error(
        "state {state:#018x} is of phase {of}, the barrier is in phase {phase}: only the current and the preceding phase can be tested (rule C4)"
    )]
    StaleState { state: u64, of: u64, phase: u64 },
    #[error(
        "state {state:#018x} is of another barrier, or of none: a state belongs to the barrier on which its arrival was (rule C4)"
    )]
    ForeignState { state: u64 },
    #[error(
        "pending_count of a state that no `.noComplete` arrival gave: only of such a state the count is defined (rule C12)"
    )]
    CountOfOther,
}

/// A state token, from its lowest bit: the missing arrivals, the barrier's place in units of its size, whether the arrival
/// was `.noComplete`, the phase.
const PENDING_BITS: u32 = 20;
const PLACE_BITS: u32 = 16;
const NO_COMPLETE: u64 = 1 << (PENDING_BITS + PLACE_BITS);
const PHASE_AT: u32 = PENDING_BITS + PLACE_BITS + 1;

impl Mbarrier {
    pub fn new(offset: u32, count: u32) -> Result<Mbarrier, MbarrierError> {
        if count == 0 || i64::from(count) > MAX {
            return Err(MbarrierError::Count { count });
        }
        Ok(Mbarrier { expected: count, pending: count, tx: 0, phase: 0, offset })
    }

    /// The token that an arrival gets: the state before it.
    pub fn state(&self, no_complete: bool) -> u64 {
        let kind = if no_complete { NO_COMPLETE } else { 0 };
        self.phase << PHASE_AT | kind | self.place() | u64::from(self.pending)
    }

    fn place(&self) -> u64 {
        u64::from(self.offset / 8) << PENDING_BITS & (NO_COMPLETE - 1)
    }

    pub fn pending_count(state: u64) -> Result<u32, MbarrierError> {
        if state & NO_COMPLETE == 0 {
            return Err(MbarrierError::CountOfOther);
        }
        Ok((state & ((1 << PENDING_BITS) - 1)) as u32)
    }

    /// Arrives `count` times; true if that completed the phase.
    pub fn arrive(&mut self, count: u32) -> Result<bool, MbarrierError> {
        if count > self.pending {
            let Mbarrier { pending, expected, .. } = *self;
            return Err(MbarrierError::TooManyArrivals { count, pending, expected });
        }
        self.pending -= count;
        Ok(self.turn())
    }

    /// Arrives once and expects one arrival less in later phases.
    pub fn drop_one(&mut self, count: u32) -> Result<bool, MbarrierError> {
        if count >= self.expected {
            return Err(MbarrierError::DroppedAll);
        }
        self.expected -= count;
        self.arrive(count)
    }

    /// Expects (positive) or completes (negative) bytes; true if that completed the phase.
    pub fn transact(&mut self, bytes: i64) -> Result<bool, MbarrierError> {
        let tx = self.tx + bytes;
        if !(-MAX..=MAX).contains(&tx) {
            return Err(MbarrierError::Transactions { tx });
        }
        self.tx = tx;
        Ok(bytes < 0 && self.turn())
    }

    fn turn(&mut self) -> bool {
        let complete = self.pending == 0 && self.tx == 0;
        if complete {
            self.pending = self.expected;
            self.phase += 1;
        }
        complete
    }

    /// Whether the phase of this parity has completed: true unless it is the current one.
    pub fn passed_parity(&self, parity: u32) -> bool {
        self.phase & 1 != u64::from(parity & 1)
    }

    pub fn passed_state(&self, state: u64) -> Result<bool, MbarrierError> {
        if state & (NO_COMPLETE - (1 << PENDING_BITS)) != self.place() {
            return Err(MbarrierError::ForeignState { state });
        }
        let (of, phase) = (state >> PHASE_AT, self.phase & u64::MAX >> PHASE_AT);
        if of != phase && of + 1 != phase {
            return Err(MbarrierError::StaleState { state, of, phase });
        }
        Ok(of != phase)
    }
}

/// The live objects of a CTA's shared memory, by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarriers {
    live: Vec<(u32, Mbarrier)>,
    /// Where one was invalidated, for messages.
    invalidated: Vec<u32>,
}

impl Mbarriers {
    fn find(&self, offset: u32) -> Result<usize, usize> {
        self.live.binary_search_by_key(&offset, |b| b.0)
    }

    pub fn init(&mut self, offset: u32, count: u32) -> Result<(), MbarrierError> {
        let barrier = Mbarrier::new(offset, count)?;
        match self.find(offset) {
            Ok(_) => Err(MbarrierError::Reinitialised),
            Err(at) => {
                self.live.insert(at, (offset, barrier));
                Ok(())
            }
        }
    }

    pub fn inval(&mut self, offset: u32) -> Result<(), MbarrierError> {
        let at = self.find(offset).map_err(|_| self.missing(offset))?;
        self.live.remove(at);
        if !self.invalidated.contains(&offset) {
            self.invalidated.push(offset);
        }
        Ok(())
    }

    pub fn get(&mut self, offset: u32) -> Result<&mut Mbarrier, MbarrierError> {
        match self.find(offset) {
            Ok(at) => Ok(&mut self.live[at].1),
            Err(_) => Err(self.missing(offset)),
        }
    }

    /// Why there is none.
    fn missing(&self, offset: u32) -> MbarrierError {
        match self.invalidated.contains(&offset) {
            true => MbarrierError::Invalidated,
            false => MbarrierError::NotInitialised,
        }
    }

    /// A live object that overlaps these bytes.
    #[inline]
    pub fn overlapping(&self, offset: u32, bytes: u32) -> Option<u32> {
        if self.live.is_empty() {
            return None;
        }
        let at = self.live.partition_point(|b| b.0 + 8 <= offset);
        self.live.get(at).map(|b| b.0).filter(|&start| start < offset.saturating_add(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_needs_arrivals_and_bytes() {
        let mut b = Mbarrier::new(0, 2).unwrap();
        assert!(b.passed_parity(1) && !b.passed_parity(0));
        assert_eq!(b.transact(64), Ok(false));
        assert_eq!(b.arrive(2), Ok(false));
        assert_eq!(b.transact(-32), Ok(false));
        assert_eq!(b.transact(-32), Ok(true));
        assert_eq!((b.phase, b.pending), (1, 2));
        assert!(b.passed_parity(0) && !b.passed_parity(1));
    }

    #[test]
    fn bytes_may_arrive_before_they_are_expected() {
        let mut b = Mbarrier::new(0, 1).unwrap();
        assert_eq!(b.transact(-16), Ok(false));
        assert_eq!(b.transact(16), Ok(false));
        assert_eq!(b.arrive(1), Ok(true));
    }

    #[test]
    fn misuse_is_an_error() {
        let mut b = Mbarrier::new(0, 1).unwrap();
        b.transact(16).unwrap();
        b.arrive(1).unwrap();
        assert!(matches!(b.arrive(1), Err(MbarrierError::TooManyArrivals { pending: 0, .. })));
        assert!(matches!(b.transact(MAX), Err(MbarrierError::Transactions { .. })));
        assert_eq!(b.drop_one(1), Err(MbarrierError::DroppedAll));
        let mut all = Mbarriers::default();
        assert_eq!(all.get(8).err(), Some(MbarrierError::NotInitialised));
        all.init(8, 1).unwrap();
        assert_eq!(all.init(8, 1), Err(MbarrierError::Reinitialised));
        assert_eq!(all.init(16, 0), Err(MbarrierError::Count { count: 0 }));
        assert_eq!(all.overlapping(0, 8), None);
        assert_eq!(all.overlapping(15, 1), Some(8));
        assert_eq!(all.overlapping(4, 8), Some(8));
        all.inval(8).unwrap();
        assert_eq!(all.inval(8), Err(MbarrierError::Invalidated));
    }

    #[test]
    fn tokens_name_their_phase() {
        let mut b = Mbarrier::new(8, 3).unwrap();
        let token = b.state(false);
        assert_eq!(Mbarrier::pending_count(token), Err(MbarrierError::CountOfOther));
        assert_eq!(Mbarrier::pending_count(b.state(true)), Ok(3));
        assert_eq!(
            Mbarrier::new(16, 3).unwrap().passed_state(token),
            Err(MbarrierError::ForeignState { state: token })
        );
        assert_eq!(b.passed_state(token), Ok(false));
        b.arrive(3).unwrap();
        assert_eq!(b.passed_state(token), Ok(true));
        b.arrive(3).unwrap();
        assert!(b.passed_state(token).is_err());
    }
}
