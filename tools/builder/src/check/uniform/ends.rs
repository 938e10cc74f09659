//! Parts that two sets of threads may hold, each in threads of its own.
//!
//! Each thread of a CTA owns its copy of a part until a role takes it apart. A choice by the thread's number, made before the roles,
//! can give the copies to different roles: within each of them all threads agree, and yet two sets hold one end of a ring.
//! The device library says where a part becomes a set's (`//@baton end`, `//@baton opened`), and in one run of a kernel each end
//! has one set. Two sets may stand in the text only where threads of one CTA cannot part between them: both are reached by all of
//! the CTA or none, or what is one value for all of them (a kernel parameter) says that only one of both is reached ([`facts`]).
//!
//! *Reported although it may be right*: a choice that all threads make alike, by something that is not computed in the same way at both
//! places.

use baton_ptx::lines::LineTable;
use baton_ptx::{Instruction, Operand};

use super::super::{Finding, Note};
use super::facts;
use super::solve::Solution;
use super::space::Space;

/// What a set holds.
#[derive(Clone, Debug, PartialEq)]
enum What {
    /// An end of a field of the layout.
    End { field: i64, end: i64 },
    /// A parameter of the kernel, by the place that it was read from, where that is known.
    Parameter { kind: String, from: Option<(u32, i64)> },
}

impl What {
    /// Whether both may be the same.
    fn meets(&self, other: &What) -> bool {
        match (self, other) {
            (What::Parameter { kind, from }, What::Parameter { kind: of, from: other }) => {
                kind == of && (from.is_none() || other.is_none() || from == other)
            }
            _ => self == other,
        }
    }

    /// Whether both are of one part.
    fn belongs_with(&self, other: &What) -> bool {
        match (self, other) {
            (What::End { field, .. }, What::End { field: of, .. }) => field == of,
            _ => self.meets(other),
        }
    }

    fn name(&self) -> String {
        match self {
            What::End { field, .. } => {
                format!("an end of the layout's field at place {field} (the first is 0)")
            }
            What::Parameter { kind, .. } => format!("a parameter (`{kind}`)"),
        }
    }
}

/// A place where something becomes a set's.
struct Taken {
    what: What,
    holder: i64,
    line: u32,
    /// Its block; `None` in functions that are not followed.
    block: Option<usize>,
}

/// What two sets may hold at once.
pub(super) fn findings(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    unplaced: &[Instruction],
    lines: &LineTable,
) -> Vec<Finding> {
    let code = solution.code;
    let mut taken = Vec::new();
    for (index, instruction) in code.body.instructions.iter().enumerate() {
        let block = code.graph.block_of[index];
        if solution.regions.live[block] && arrivals[block].contains(&true) {
            let from = |operand: &Operand| solution.parameter(index, operand);
            taken
                .extend(says(instruction, from).map(|taken| Taken { block: Some(block), ..taken }));
        }
    }
    taken.extend(unplaced.iter().filter_map(|instruction| says(instruction, |_| None)));
    let mut findings = Vec::new();
    let mut told: Vec<&What> = Vec::new();
    for (i, first) in taken.iter().enumerate() {
        let other = |other: &&Taken| other.holder != first.holder && other.what.meets(&first.what);
        let Some(second) =
            taken[i + 1..].iter().filter(other).find(|other| !apart(space, solution, first, other))
        else {
            continue;
        };
        // Of the ends of one field one is enough.
        if !told.iter().any(|what| what.belongs_with(&first.what)) {
            told.push(&first.what);
            let (first, second) =
                if first.holder < second.holder { (first, second) } else { (second, first) };
            findings.push(finding(first, second, lines));
        }
    }
    findings
}

/// What an instruction that a comment became says.
fn says(instruction: &Instruction, from: impl Fn(&Operand) -> Option<(u32, i64)>) -> Option<Taken> {
    let mut words = instruction.mnemonic.split('.');
    let (what, holder) = match (words.next()?, words.next()?, &*instruction.operands) {
        ("baton", "end", &[Operand::Int(field), Operand::Int(end), Operand::Int(holder)]) => {
            (What::End { field, end }, holder)
        }
        ("baton", "opened", [at, Operand::Int(holder)]) => {
            let kind = words.next().unwrap_or_default().to_owned();
            (What::Parameter { kind, from: from(at) }, *holder)
        }
        _ => return None,
    };
    Some(Taken { what, holder, line: instruction.line, block: None })
}

/// Whether no two threads of one CTA can come to both places, one to each.
fn apart(space: &mut Space, solution: &Solution<'_>, a: &Taken, b: &Taken) -> bool {
    let (Some(a), Some(b)) = (a.block, b.block) else { return false };
    let regions = solution.regions;
    let together = |space: &mut Space, branch: usize| {
        let label = solution.branch_label(space, branch);
        let ctas = space.labels(space.by_cta);
        let all = vec![true; space.count];
        !space.splits(label, &ctas, &all)
    };
    // Each thread takes a part apart once: where all come to both places, they do it at the same.
    let all = |space: &mut Space, block: usize| {
        regions.decided_by[block].iter().all(|&branch| together(space, branch))
    };
    if all(space, a) && all(space, b) {
        return true;
    }
    let here = facts::on_the_way(solution, a, |branch| together(space, branch));
    let there = facts::on_the_way(solution, b, |branch| together(space, branch));
    here.iter().any(|fact| there.iter().any(|other| fact.contradicts(other)))
}

fn finding(first: &Taken, second: &Taken, lines: &LineTable) -> Finding {
    let message = format!(
        "rule F4: two sets of threads may hold {}: here it becomes that of {}, and elsewhere that of {}, as threads chose by what \
         differs between them which role gets it; then two sets arrive where one is counted, and write where one may (rules C2, C9, \
         A9); move the part into the closure of one role, whatever the thread, or choose the role by a kernel parameter",
        first.what.name(),
        holder(first.holder),
        holder(second.holder),
    );
    let mut finding = Finding::at(message, first.line, lines);
    let elsewhere = format!("here it becomes that of {}", holder(second.holder));
    finding.notes.push(Note::at(elsewhere, second.line, lines));
    finding
}

/// The set of a number, as the device library numbers them.
fn holder(number: i64) -> String {
    let role = (number - 2) / 3;
    match number {
        0 => "the CTA".into(),
        1 => "the joined CTA".into(),
        _ => match (number - 2) % 3 {
            0 => format!("the warpgroup of role {role}"),
            1 => format!("the warp of role {role}"),
            _ => format!("the thread that role {role} elected"),
        },
    }
}
