//! Which collectives threads of one set may reach differently.
//!
//! Whether control comes to an instruction is decided by the branches that its block depends on, directly or through others.
//! If each of them goes one way for all threads of the set, they come together or not at all, as often as each other. Threads
//! that cannot come at all, because a branch on known numbers keeps them away, belong to no set here.

use baton_ptx::Instruction;

use super::code::mentioned;
use super::inline;
use super::rounds;
use super::site::{self, Set};
use super::solve::Solution;
use super::space::{Space, Value, WARP};
use super::ssa::Id;

/// The number of what is no barrier of a CTA.
const NO_BARRIER: u64 = u64::MAX;

/// What is wrong with a collective.
#[derive(Clone, Debug)]
pub(super) enum Problem {
    /// Threads of the set may go different ways at this block's end, or, where it is the collective's own, its guard differs.
    Differs { block: usize },
    /// The leader of the set, or its instruction, uses this for all of it, and threads have different ones.
    Chosen { id: Id },
    /// The barrier counts more threads than can ever come.
    TooFew { counted: u64, come: u64 },
}

/// A collective with what is wrong.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The instruction.
    pub index: usize,
    /// "warp" and the like.
    pub set: &'static str,
    pub problems: Vec<Problem>,
    /// Nobody knows whether it is wrong.
    pub doubt: Option<&'static str>,
    /// The set of each thread, as its problems see it, and which threads count.
    pub groups: Vec<u32>,
    pub among: Vec<bool>,
}

/// The threads that may come to each block.
pub(super) fn arrivals(space: &mut Space, solution: &Solution<'_>) -> Vec<Vec<bool>> {
    let graph = &solution.code.graph;
    let mut may = vec![vec![false; space.count]; graph.blocks.len()];
    may[0].fill(true);
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        let taken = taken(space, solution, block);
        for &to in &solution.regions.next[block] {
            let new = |&t: &usize| may[block][t] && !may[to][t] && taken(to, t);
            let come: Vec<usize> = (0..space.count).filter(new).collect();
            if !come.is_empty() {
                come.into_iter().for_each(|thread| may[to][thread] = true);
                work.push(to);
            }
        }
    }
    may
}

/// Whether a thread may go from a block to another.
fn taken(
    space: &mut Space,
    solution: &Solution<'_>,
    block: usize,
) -> Box<dyn Fn(usize, usize) -> bool> {
    let graph = &solution.code.graph;
    let index = graph.blocks[block].last();
    let known = match solution.decision(space, block) {
        Some((_, Some(Value::Known(numbers)))) => space.of(numbers),
        _ => return Box::new(|_, _| true),
    };
    let instruction = solution.code.instruction(index);
    let to: Vec<usize> = baton_ptx::flow::targets(&solution.code.body, index)
        .into_iter()
        .map(|target| graph.block_of[target])
        .collect();
    let behind = graph.block_of[index + 1];
    match instruction.guard {
        Some(guard) => Box::new(move |next, thread| {
            if (known[thread] != 0) != guard.negated { to.contains(&next) } else { next == behind }
        }),
        None => Box::new(move |next, thread| {
            to.get(known[thread] as usize).is_none_or(|&to| to == next)
        }),
    }
}

/// Every collective that is wrong, or of which nobody knows. `followed` says that no call may hide others.
pub(super) fn verdicts(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    followed: bool,
) -> Vec<Verdict> {
    let code = solution.code;
    let mut verdicts = Vec::new();
    for (index, instruction) in code.body.instructions.iter().enumerate() {
        let block = code.graph.block_of[index];
        let Some(set) = site::set(instruction).filter(|_| solution.regions.live[block]) else {
            continue;
        };
        if arrivals[block].contains(&true) {
            verdicts.extend(verdict(space, solution, arrivals, index, set));
        }
    }
    // Behind a call that is not followed there may be more of the cluster's barriers.
    for verdict in verdicts.iter_mut().filter(|verdict| followed && verdict.set == "cluster") {
        if rounds::differ(space, solution, arrivals, verdict.index) {
            verdict.doubt = None;
        }
    }
    verdicts
}

fn verdict(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    index: usize,
    set: Set<'_>,
) -> Option<Verdict> {
    let block = solution.code.graph.block_of[index];
    let here = &arrivals[block];
    let (cta, cluster) = (space.labels(space.by_cta).to_vec(), vec![0; space.count]);
    let warp = space.labels(space.by_warp).to_vec();
    let mut doubt = None;
    let mut counted = None;
    let (groups, among) = match set {
        Set::Warp(mask) => {
            let among = members(space, solution, index, mask, &warp, here);
            if let (Some(_), None) = (mask, &among) {
                doubt = Some("which lanes its member mask names is not known here");
            }
            let among = among.unwrap_or_else(|| whole(&warp, here));
            (warp, among)
        }
        Set::Warpgroup => {
            let group = space.by_group();
            let group = space.labels(group).to_vec();
            let among = whole(&group, here);
            (group, among)
        }
        Set::Cta => {
            let among = whole(&cta, here);
            (cta, among)
        }
        Set::Cluster => {
            // Inside a CTA as for its own barrier; that is an error, and the rest a warning.
            let among = whole(&cta, here);
            let inside = problems(space, solution, index, &cta, &among);
            if !inside.is_empty() {
                let set = Set::Cta.name();
                return Some(Verdict { index, set, problems: inside, doubt, groups: cta, among });
            }
            doubt = Some(
                "CTAs of a cluster often differ on purpose, as long as each comes equally often",
            );
            (cluster, vec![true; space.count])
        }
        Set::Counted { id, count, arrives } => {
            let number = solution.operand(space, index, count);
            let number = number.and_then(|value| space.one(value));
            let id = solution.operand(space, index, id);
            let ids = id.map_or(space.uniform, |value| space.label(value));
            counted = number;
            let by_id = space.both(space.by_cta, ids);
            let among = whole(&warp, here);
            // Whoever only arrives goes on, and warps may do so one by one; 32 threads are one warp.
            let group =
                if arrives || number == Some(32) { warp } else { space.labels(by_id).to_vec() };
            (group, among)
        }
    };
    // Beside the place where a set agrees stands a collective, which says whether the set comes.
    let agrees = inline::agrees(solution.code.instruction(index));
    let mut problems = match agrees {
        true => Vec::new(),
        false => problems(space, solution, index, &groups, &among),
    };
    problems.extend(chosen(space, solution, index, &groups, &among));
    if let (Some(counted), true) = (counted, problems.is_empty()) {
        problems.extend(too_few(space, solution, arrivals, index, counted));
    }
    let wrong = !problems.is_empty();
    wrong.then(|| Verdict { index, set: set.name(), problems, doubt, groups, among })
}

/// All threads of the sets of which some thread comes.
fn whole(groups: &[u32], here: &[bool]) -> Vec<bool> {
    let comes: std::collections::BTreeSet<u32> =
        groups.iter().zip(here).filter(|&(_, &here)| here).map(|(&group, _)| group).collect();
    groups.iter().map(|group| comes.contains(group)).collect()
}

/// The lanes that a member mask names; `None` if it is not known.
fn members(
    space: &mut Space,
    solution: &Solution<'_>,
    index: usize,
    mask: Option<&baton_ptx::Operand>,
    warp: &[u32],
    here: &[bool],
) -> Option<Vec<bool>> {
    let Some(mask) = mask else { return Some(whole(warp, here)) };
    let Some(Value::Known(masks)) = solution.operand(space, index, mask) else { return None };
    let masks = space.of(masks);
    let mut named = vec![0u64; space.count];
    for thread in (0..space.count).filter(|&t| here[t]) {
        named[warp[thread] as usize] |= masks[thread];
    }
    let among = |t: usize| named[warp[t] as usize] >> space.lane(t) & 1 == 1;
    Some((0..space.count).map(among).collect())
}

/// The branches, and the guard, by which threads of one set may differ.
fn problems(
    space: &mut Space,
    solution: &Solution<'_>,
    index: usize,
    groups: &[u32],
    among: &[bool],
) -> Vec<Problem> {
    let block = solution.code.graph.block_of[index];
    let mut found = Vec::new();
    for &branch in &solution.regions.decided_by[block] {
        let label = solution.branch_label(space, branch);
        if space.splits(label, groups, among) {
            found.push(Problem::Differs { block: branch });
        }
    }
    if splits_guard(space, solution, index, groups, among) {
        found.push(Problem::Differs { block });
    }
    found
}

/// What is used once for the set, where threads of the set hold different ones.
fn chosen(
    space: &mut Space,
    solution: &Solution<'_>,
    index: usize,
    groups: &[u32],
    among: &[bool],
) -> Vec<Problem> {
    let block = solution.code.graph.block_of[index];
    let mut found = Vec::new();
    let instruction = solution.code.instruction(index);
    for register in
        site::one_for_all(instruction).flat_map(|operand| mentioned(&solution.code.body, operand))
    {
        let Some(id) = solution.ssa.uses[index].read(register) else { continue };
        let Some(value) = solution.seen_from(space, id, block) else { continue };
        let label = space.label(value);
        if space.splits(label, groups, among) {
            found.push(Problem::Chosen { id });
        }
    }
    found
}

fn splits_guard(
    space: &mut Space,
    solution: &Solution<'_>,
    index: usize,
    groups: &[u32],
    among: &[bool],
) -> bool {
    let block = solution.code.graph.block_of[index];
    let guard = solution.ssa.uses[index].guard;
    let Some(value) = guard.and_then(|id| solution.seen_from(space, id, block)) else {
        return false;
    };
    let label = space.label(value);
    space.splits(label, groups, among)
}

/// Whether all threads that can ever come to a barrier are fewer than it counts. Other barriers of the same number count in,
/// and those whose number is not known.
fn too_few(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    index: usize,
    counted: u64,
) -> Option<Problem> {
    let number = |space: &mut Space, index: usize, instruction: &Instruction| {
        let first = instruction.modifiers().next();
        let barrier = matches!(instruction.opcode(), "bar" | "barrier");
        if !barrier || matches!(first, Some("warp" | "cluster")) {
            return Some(NO_BARRIER);
        }
        let id = instruction.operands.get(usize::from(instruction.has("red")))?;
        let value = solution.operand(space, index, id)?;
        space.one(value)
    };
    let code = solution.code;
    let own = number(space, index, code.instruction(index))?;
    let mut comes = vec![false; space.count];
    for (other, instruction) in code.body.instructions.iter().enumerate() {
        if number(space, other, instruction).is_none_or(|id| id == own) {
            let here = &arrivals[code.graph.block_of[other]];
            comes.iter_mut().zip(here).for_each(|(comes, &here)| *comes |= here);
        }
    }
    // A warp counts whole, and each CTA has barriers of its own.
    let comes = whole(&space.labels(space.by_warp), &comes);
    let here = &arrivals[code.graph.block_of[index]];
    (0..space.count / space.cta).find_map(|rank| {
        let threads = rank * space.cta..(rank + 1) * space.cta;
        let come = threads.clone().filter(|&t| comes[t]).count().next_multiple_of(WARP) as u64;
        let meets = here[threads].contains(&true);
        (meets && come < counted).then_some(Problem::TooFew { counted, come })
    })
}
