//! What is said of a collective that threads may reach differently: it, the branch, where the difference comes from, and what
//! to do.

use baton_ptx::lines::LineTable;
use baton_ptx::{Instruction, Operand};

use super::super::{Finding, Note};
use super::inline;
use super::judge::{Problem, Verdict};
use super::solve::Solution;
use super::space::Space;
use super::ssa::{Definition, Id};

/// A verdict in words.
pub(super) fn finding(
    space: &mut Space,
    solution: &Solution<'_>,
    verdict: &Verdict,
    lines: &LineTable,
) -> Finding {
    let instruction = solution.code.instruction(verdict.index);
    // What a comment says is called as its author called it.
    let name = instruction.mnemonic.trim_start_matches("baton.");
    let set = verdict.set;
    let mut finding = match verdict.problems.first() {
        Some(Problem::TooFew { counted, come }) => Finding::at(
            format!(
                "rule F4: this `{name}` waits for {counted} threads, and at most {come} ever come to a barrier of its number: \
                 let the whole set come, or none of it"
            ),
            instruction.line,
            lines,
        ),
        Some(Problem::Chosen { .. }) if !inline::agrees(instruction) => Finding::at(
            format!(
                "rule F4: this `{name}` is one instruction of a whole {set} and takes an address, or a descriptor, that has to be the \
                 same in all its threads; they may have different ones: {}",
                remedy(set)
            ),
            instruction.line,
            lines,
        ),
        Some(Problem::Chosen { .. }) => Finding::at(
            format!(
                "rule F4: the leader of this {set} acts for all of it at one place (the barrier of a stage, a lock), and its \
                 threads may have chosen different ones: {}",
                remedy(set)
            ),
            instruction.line,
            lines,
        ),
        _ => Finding::at(
            format!(
                "rule F4: threads of one {set} may not come to this `{name}` together: whether, or how often, they do is \
                 decided by what may differ between them; {}",
                remedy(set)
            ),
            instruction.line,
            lines,
        ),
    };
    if let Some(doubt) = verdict.doubt {
        finding.message += &format!(" (a warning only: {doubt})");
        finding = finding.into_warning();
    }
    match verdict.problems.first() {
        Some(Problem::Differs { block }) => {
            finding.notes.extend(notes(space, solution, verdict, *block, lines));
        }
        Some(Problem::Chosen { id }) => {
            let at = solution.code.graph.block_of[verdict.index];
            finding.notes.extend(origin(space, solution, verdict, (*id, at), lines));
        }
        Some(Problem::TooFew { .. }) | None => {}
    }
    finding
}

fn remedy(set: &str) -> &'static str {
    match set {
        "warp" => {
            "take it from a kernel parameter or from one lane for all (`shfl`), or say by `same` that it is one value, if \
             only a protocol makes it so"
        }
        _ => {
            "take it from a kernel parameter or from shared memory behind a barrier (what `shfl` and votes answer is of one \
             warp), or say by `same` that it is one value, if only a protocol makes it so"
        }
    }
}

/// The branch, and the origin of the difference.
fn notes(
    space: &mut Space,
    solution: &Solution<'_>,
    verdict: &Verdict,
    block: usize,
    lines: &LineTable,
) -> Vec<Note> {
    let code = solution.code;
    let own = code.graph.block_of[verdict.index];
    let (index, decision) = if block == own && solution.ssa.uses[verdict.index].guard.is_some() {
        (verdict.index, solution.ssa.uses[verdict.index].guard)
    } else {
        let decision = solution.decision(space, block).map(|(id, _)| id);
        (code.graph.blocks[block].last(), decision)
    };
    let what = if index == verdict.index { "its own guard decides" } else { "this branch decides" };
    let mut notes = vec![Note::at(what, code.instruction(index).line, lines)];
    if let Some(decision) = decision {
        let at = code.graph.block_of[index];
        notes.extend(origin(space, solution, verdict, (decision, at), lines));
    }
    notes
}

/// Where the difference in a definition comes from, as it is seen in a block.
fn origin(
    space: &mut Space,
    solution: &Solution<'_>,
    verdict: &Verdict,
    (id, block): (Id, usize),
    lines: &LineTable,
) -> Option<Note> {
    let mut walk = Walk { solution, verdict, seen: Vec::new() };
    let instruction = solution.code.instruction(walk.origin(space, id, block)?);
    let what = format!("the difference comes from here: {}", origin_of(instruction, verdict));
    Some(Note::at(what, instruction.line, lines))
}

/// The way back from a decision to where its difference comes from.
struct Walk<'a, 'b> {
    solution: &'a Solution<'b>,
    verdict: &'a Verdict,
    seen: Vec<Id>,
}

impl Walk<'_, '_> {
    fn splits(&self, space: &mut Space, id: Id, block: usize) -> bool {
        let Some(value) = self.solution.seen_from(space, id, block) else { return false };
        let label = space.label(value);
        space.splits(label, &self.verdict.groups, &self.verdict.among)
    }

    /// The instruction where the difference begins.
    fn origin(&mut self, space: &mut Space, mut id: Id, mut block: usize) -> Option<usize> {
        let code = self.solution.code;
        let mut last = None;
        while !self.seen.contains(&id) {
            self.seen.push(id);
            if let Definition::Result { instruction, .. } = self.solution.ssa.definitions[id]
                && self.alone_splits(space, id)
            {
                last = Some(instruction);
                if is_origin(code.instruction(instruction)) {
                    return last;
                }
            }
            let Some((next, at)) = self.before(space, id, block) else { return last };
            (id, block) = (next, at);
        }
        last
    }

    /// Whether a definition differs where it is made, not only behind a loop.
    fn alone_splits(&self, space: &mut Space, id: Id) -> bool {
        let Some(value) = self.solution.value(id) else { return false };
        let label = space.label(value);
        space.splits(label, &self.verdict.groups, &self.verdict.among)
    }

    /// A definition that brings the difference into this one, and the block where it is seen.
    fn before(&self, space: &mut Space, id: Id, block: usize) -> Option<(Id, usize)> {
        let solution = self.solution;
        if !self.alone_splits(space, id) {
            // It differs because threads left a loop in different rounds.
            let mut exits = solution.exits_between(id, block).into_iter();
            return exits.find_map(|exit| self.decision(space, exit));
        }
        match &solution.ssa.definitions[id] {
            Definition::Result { instruction, .. } => {
                let at = solution.code.graph.block_of[*instruction];
                let uses: Vec<Id> = solution.ssa.uses[*instruction].all().collect();
                let fresh = |id: &Id| !self.seen.contains(id);
                let found = uses.into_iter().filter(fresh).find(|&id| self.splits(space, id, at));
                found.map(|id| (id, at))
            }
            Definition::Phi { block, from } => {
                let mut fresh = from.iter().filter(|(_, id)| !self.seen.contains(id));
                let found = fresh.find(|&&(before, id)| self.splits(space, id, before));
                if let Some(&(before, id)) = found {
                    return Some((id, before));
                }
                let branches = solution.regions.meetings[*block].iter().map(|m| m.branch);
                branches.into_iter().find_map(|branch| self.decision(space, branch))
            }
            Definition::Unset => None,
        }
    }

    /// What decides at a branch, if that differs.
    fn decision(&self, space: &mut Space, block: usize) -> Option<(Id, usize)> {
        let (id, _) = self.solution.decision(space, block)?;
        (!self.seen.contains(&id) && self.splits(space, id, block)).then_some((id, block))
    }
}

/// Whether a difference begins with this instruction, whatever its operands are.
fn is_origin(instruction: &Instruction) -> bool {
    let loads = matches!(instruction.opcode(), "ld" | "ldu") && !instruction.has("param");
    loads
        || matches!(
            instruction.opcode(),
            "atom"
                | "mbarrier"
                | "shfl"
                | "vote"
                | "match"
                | "redux"
                | "elect"
                | "activemask"
                | "call"
        )
}

fn origin_of(instruction: &Instruction, verdict: &Verdict) -> String {
    let strong = ["volatile", "relaxed", "acquire", "mmio"].iter().any(|m| instruction.has(m));
    let special = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Special(name) => Some(name),
        _ => None,
    });
    match instruction.opcode() {
        "ld" | "ldu" if strong => {
            "a strong load may answer each thread otherwise, as others may write in between".into()
        }
        "ld" | "ldu" => "threads load from different addresses".into(),
        "atom" => "an atomic answers each thread for itself".into(),
        "mbarrier" => "a test of a barrier answers each thread for itself".into(),
        "call" => "the result of a call that is not followed".into(),
        "shfl" | "vote" | "match" | "redux" | "activemask" if verdict.set != "warp" => {
            "each warp has its own answer".into()
        }
        "shfl" => "each lane receives the value of another".into(),
        "elect" => "one lane is elected".into(),
        _ => match special {
            Some(name) => format!("`{name}` differs"),
            None => format!("`{}`", instruction.mnemonic),
        },
    }
}
