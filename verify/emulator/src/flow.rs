//! Where diverged lanes meet again.
//!
//! Lanes that part at a branch meet where [`Graph::meeting_points`] says: the first instruction that
//! every way from the branch passes. Ways that end otherwise than in the return that most ways
//! take do not count: their lanes leave the warp, and the others do not wait for them.

use crate::ir::NO_JOIN;
use baton_ptx::Body;
use baton_ptx::flow::Graph;

/// Reconvergence points of a function, by instruction.
pub(crate) struct Joins {
    /// Where the lanes that part at this branch meet.
    pub of_branch: Vec<u32>,
    /// Whether some branch's lanes meet here; one longer than the body.
    pub is_join: Vec<bool>,
}

pub(crate) fn reconvergence(body: &Body) -> Joins {
    let n = body.instructions.len();
    let mut joins = Joins { of_branch: vec![NO_JOIN; n], is_join: vec![false; n + 1] };
    let graph = Graph::of(body);
    for (block, point) in graph.blocks.iter().zip(graph.meeting_points()) {
        if let Some(point) = point.filter(|_| block.next.len() > 1) {
            let at = graph.blocks[point].first;
            joins.of_branch[block.last()] = at as u32;
            joins.is_join[at] = true;
        }
    }
    joins
}
