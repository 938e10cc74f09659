//! Observation order (section 8.9.2): from a write to the reads that see it, through any number of
//! atomic operations.

use crate::candidate::Candidate;
use crate::options::Clause;
use crate::relation::Relation;

/// `(strong ∩ reads-from) ; (rmw ; (strong ∩ reads-from))*`, write to read.
///
/// Both ends matter: closing `(strong ∩ reads-from) ∪ rmw` instead would begin at reads and end at
/// writes, which is wrong inside causality.
pub fn derive(candidate: &Candidate<'_>, reads_from: &Relation, observation: &mut Relation) {
    let clauses = candidate.options.clauses;
    observation.copy_from(reads_from);
    if clauses.has(Clause::ObservationStrong) {
        for &write in &candidate.writes {
            for (word, strong) in
                observation.row_mut(write).iter_mut().zip(candidate.strong.row(write))
            {
                *word &= strong;
            }
        }
    }
    if !clauses.has(Clause::ObservationChain) {
        return;
    }
    loop {
        let mut grown = false;
        for &read in &candidate.reads {
            let partner = candidate.events[read].access().and_then(|access| access.partner);
            let Some(partner) = partner else { continue };
            for &write in &candidate.writes {
                if observation.has(write, read) && write != partner {
                    let before = observation.row(write).to_vec();
                    observation.absorb(write, partner);
                    grown |= before != observation.row(write);
                }
            }
        }
        if !grown {
            return;
        }
    }
}
