//! Data races (section 8.7.1) and mixed-size races (8.7.2).

use crate::candidate::Candidate;
use crate::execution::Execution;
use crate::options::Clause;

/// Two operations that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The first.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// They overlap partially: the axioms do not apply to the program.
    pub mixed_size: bool,
    /// One of them is asynchronous: its effect is undefined before its end is observed.
    pub asynchronous: bool,
}

/// Pairs that could race: they conflict and are not morally strong.
pub fn conflicts<'c>(candidate: &'c Candidate<'_>) -> impl Iterator<Item = Race> + 'c {
    let clauses = candidate.options.clauses;
    candidate.memory.iter().enumerate().flat_map(move |(index, &a)| {
        candidate.memory[index + 1..].iter().filter_map(move |&b| {
            let (x, y) = (&candidate.events[a], &candidate.events[b]);
            let (p, q) = (x.access()?, y.access()?);
            let writes = x.is_write() || y.is_write() || !clauses.has(Clause::RaceWrite);
            let conflict = p.overlaps(q) && writes && p.partner != Some(b);
            let strong = clauses.has(Clause::RaceStrong) && candidate.strong.has(a, b);
            (conflict && !strong).then_some(Race {
                a,
                b,
                mixed_size: !p.overlaps_completely(q),
                asynchronous: x.asynchronous || y.asynchronous,
            })
        })
    })
}

/// The races of an execution.
pub fn races<'c>(
    candidate: &'c Candidate<'_>,
    execution: &'c Execution,
) -> impl Iterator<Item = Race> + 'c {
    let clauses = candidate.options.clauses;
    candidate.conflicts.iter().copied().filter(move |race| {
        !clauses.has(Clause::RaceCausality) || !is_ordered(candidate, execution, *race)
    })
}

/// Whether causality orders two operations, of which an atomic one has two halves.
fn is_ordered(candidate: &Candidate<'_>, execution: &Execution, race: Race) -> bool {
    let is_one = candidate.options.clauses.has(Clause::RaceAtomicIsOne);
    let halves = |event: usize| {
        let partner = candidate.events[event].access().and_then(|access| access.partner);
        [Some(event), partner.filter(|_| is_one)].into_iter().flatten()
    };
    halves(race.a).any(|a| halves(race.b).any(|b| execution.causally_related(a, b)))
}
