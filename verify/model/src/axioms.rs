//! The axioms that forbid (section 8.10). Coherence (8.10.1) and Fence-SC (8.10.2) are built into
//! the orders themselves; No-thin-air (8.10.4) has a module of its own.

use crate::candidate::Candidate;
use crate::execution::Execution;
use crate::options::Clause;
use crate::relation::meets;

/// Causality (8.10.6): communication does not contradict causality.
pub fn causality(candidate: &Candidate<'_>, execution: &Execution) -> bool {
    let clauses = candidate.options.clauses;
    candidate.reads.iter().all(|&read| {
        // 1. A read does not read from a write that it precedes.
        let future = clauses.has(Clause::CausalityRead)
            && meets(execution.cause.row(read), execution.sources.row(read));
        // 2. A read does not miss a write that precedes it.
        let past = clauses.has(Clause::CausalityFromRead)
            && execution.from_reads.successors(read).any(|write| execution.cause.has(write, read));
        !future && !past
    })
}

/// Single-copy atomicity (8.10.3): a read and a morally strong write; the read does not take one
/// byte from the write and another, which both cover, from an older one.
pub fn single_copy(candidate: &Candidate<'_>, execution: &Execution) -> bool {
    if !candidate.options.clauses.has(Clause::SingleCopyAtomicity) {
        return true;
    }
    candidate.reads.iter().all(|&read| {
        execution
            .from_reads
            .successors(read)
            .all(|write| !execution.sources.has(read, write) || !candidate.strong.has(read, write))
    })
}

/// Atomicity of read-modify-write operations (8.10.3), with the mixed-size rule of 8.7.2.
pub fn read_modify_write(candidate: &Candidate<'_>, execution: &Execution) -> bool {
    if !candidate.options.clauses.has(Clause::RmwAtomicity) {
        return true;
    }
    candidate.reads.iter().all(|&read| {
        let partner = candidate.events[read].access().and_then(|access| access.partner);
        let Some(own) = partner else { return true };
        let excludes = |write: usize| {
            candidate.strong.has(read, write)
                || candidate.strong.has(own, write)
                || candidate.exclusive.has(own, write)
        };
        let between = execution
            .from_reads
            .successors(read)
            .any(|write| write != own && excludes(write) && execution.coherence.has(write, own));
        let later = execution.sources.successors(read).any(|write| {
            candidate.exclusive.has(own, write) && execution.coherence.has(own, write)
        });
        !between && !later
    })
}

/// SC per location (8.10.5): program order between overlapping operations, and communication between
/// morally strong ones, form no cycle.
pub fn per_location(candidate: &Candidate<'_>, execution: &mut Execution) -> bool {
    if !candidate.options.clauses.has(Clause::ScPerLocation) {
        return true;
    }
    let mut graph = execution.take_scratch();
    graph.copy_from(&candidate.order_at);
    for &event in &candidate.memory {
        let strong = candidate.strong.row(event);
        let rows = [
            execution.reads_from.row(event),
            execution.coherence.row(event),
            execution.from_reads.row(event),
        ];
        for (k, word) in graph.row_mut(event).iter_mut().enumerate() {
            *word |= strong[k] & (rows[0][k] | rows[1][k] | rows[2][k]);
        }
    }
    let acyclic = graph.is_acyclic();
    execution.return_scratch(graph);
    acyclic
}
