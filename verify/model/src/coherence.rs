//! Coherence order and what follows from it (sections 8.9.6 and 8.9.7).
//!
//! Coherence is partial: writes that race stay unrelated. The initial writes come before all others
//! and are no events; a read from one is from-read-before every write that covers those bytes.

use crate::candidate::Candidate;
use crate::execution::Decisions;
use crate::options::Clause;
use crate::relation::Relation;

/// Coherence order: what was decided, what causality forces (the axiom Coherence, 8.10.1), and what
/// follows by transitivity. Says whether it is an order.
pub fn derive(
    candidate: &Candidate<'_>,
    cause: &Relation,
    decisions: &Decisions,
    coherence: &mut Relation,
) -> bool {
    let clauses = candidate.options.clauses;
    coherence.reset(candidate.events.len());
    for (a, b) in &decisions.writes {
        coherence.add(*a, *b);
    }
    if clauses.has(Clause::Coherence) {
        for &write in &candidate.writes {
            let meeting = candidate.meeting.row(write);
            for ((word, cause), meeting) in
                coherence.row_mut(write).iter_mut().zip(cause.row(write)).zip(meeting)
            {
                *word |= cause & meeting;
            }
        }
    }
    if clauses.has(Clause::CoherenceTransitive) {
        coherence.close();
        coherence.is_irreflexive()
    } else {
        (0..coherence.len()).all(|a| coherence.successors(a).all(|b| !coherence.has(b, a)))
    }
}

/// From-reads: a read before the writes that overwrite any byte it returned.
pub fn from_reads(
    candidate: &Candidate<'_>,
    decisions: &Decisions,
    coherence: &Relation,
    from_reads: &mut Relation,
) {
    from_reads.reset(candidate.events.len());
    for (index, way) in decisions.reads.iter().enumerate() {
        let (Some(way), read) = (way, candidate.reads[index]) else { continue };
        let choice = &candidate.sources[index];
        for (granule, source) in &choice.ways[*way] {
            for &write in &choice.granules[*granule] {
                if source.is_none_or(|source| coherence.has(source, write)) {
                    from_reads.add(read, write);
                }
            }
        }
    }
}
