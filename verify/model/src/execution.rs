//! An execution, as far as it is decided: the derived relations, and whether the axioms hold.
//!
//! Every derived relation and every axiom is monotone: more decisions only add pairs and only forbid
//! more. So a partial execution that breaks an axiom has no consistent completion, and the search
//! can ask after each decision.

use crate::candidate::Candidate;
use crate::options::Clause;
use crate::relation::{Relation, meets};
use crate::synchronise::Edge;
use crate::{axioms, causality, coherence, limited, observation, synchronise};

/// What has been decided.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// For each read (in the candidate's order) which of its ways, if chosen.
    pub reads: Vec<Option<usize>>,
    /// Pairs of the Fence-SC order.
    pub fences: Vec<(usize, usize)>,
    /// Pairs of coherence order.
    pub writes: Vec<(usize, usize)>,
    /// Pairs of nodes that barriers order.
    pub meeting: Vec<(usize, usize)>,
    /// Whether votes meet other arrivals at a barrier.
    pub mixed: bool,
}

/// The relations that follow.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Reads-from: write to read.
    pub reads_from: Relation,
    /// The same, read to write.
    pub sources: Relation,
    /// Observation order.
    pub observation: Relation,
    /// Base causality, over nodes.
    pub base: Relation,
    /// Proxy-preserved base causality.
    pub preserved: Relation,
    /// Causality order.
    pub cause: Relation,
    /// Coherence order.
    pub coherence: Relation,
    /// From-reads.
    pub from_reads: Relation,
    /// Synchronises-with, as pairs of nodes: patterns and Fence-SC.
    pub synchronises: Vec<Edge>,
    scratch: Relation,
    narrow: Relation,
}

impl Execution {
    /// Derives everything from the decisions. Says whether the axioms hold so far.
    pub fn derive(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &Decisions,
    ) -> bool {
        let count = candidate.events.len();
        let clauses = candidate.options.clauses;
        self.reads_from.reset(count);
        self.sources.reset(count);
        for (index, way) in decisions.reads.iter().enumerate() {
            let (Some(way), read) = (way, candidate.reads[index]) else { continue };
            for (_, write) in &candidate.sources[index].ways[*way] {
                if let Some(write) = *write {
                    self.reads_from.add(write, read);
                    self.sources.add(read, write);
                }
            }
        }
        observation::derive(candidate, &self.reads_from, &mut self.observation);
        synchronise::derive(candidate, &self.observation, decisions, &mut self.synchronises);
        // What limited fences add counts for some pairs only.
        let plain: Vec<Edge>;
        let edges = if candidate.limited.is_empty() {
            &self.synchronises
        } else {
            plain = self.synchronises.iter().filter(|edge| edge.needs == 0).copied().collect();
            &plain
        };
        causality::close_base(candidate, graph, edges, &mut self.base);
        // Base causality is an order (8.9.5).
        if clauses.has(Clause::BaseAcyclic) && !self.base.is_irreflexive() {
            return false;
        }
        self.preserved.reset(count);
        causality::preserve(candidate, &self.base, None, &mut self.preserved);
        for class in &candidate.classes {
            limited::close(candidate, graph, &self.synchronises, class, &mut self.narrow);
            causality::preserve(candidate, &self.narrow, Some(&class.pairs), &mut self.preserved);
        }
        causality::cause(candidate, &self.observation, &self.preserved, &mut self.cause);
        if !coherence::derive(candidate, &self.cause, decisions, &mut self.coherence) {
            return false;
        }
        coherence::from_reads(candidate, decisions, &self.coherence, &mut self.from_reads);
        axioms::causality(candidate, self)
            && axioms::single_copy(candidate, self)
            && axioms::read_modify_write(candidate, self)
            && axioms::per_location(candidate, self)
    }

    /// A relation to work in.
    pub fn take_scratch(&mut self) -> Relation {
        std::mem::take(&mut self.scratch)
    }

    /// Gives it back.
    pub fn return_scratch(&mut self, scratch: Relation) {
        self.scratch = scratch;
    }

    /// Whether causality orders two memory operations, in any direction.
    pub fn causally_related(&self, a: usize, b: usize) -> bool {
        self.cause.has(a, b) || self.cause.has(b, a)
    }

    /// Whether base causality orders two operations.
    pub fn base(&self, candidate: &Candidate<'_>, a: usize, b: usize) -> bool {
        self.base.has(candidate.done[a], b)
    }

    /// Whether two sets of events meet.
    pub fn meet(a: &[u64], b: &[u64]) -> bool {
        meets(a, b)
    }
}
