//! What must hold of values where control comes to a block: the way that each branch before it has gone.
//!
//! A value is named by how it is computed, so that two branches that ask the same of a kernel parameter, each for itself, speak of
//! one value. Branches inside loops say nothing here, because they may go another way the next time; nor does what a loop changes.

use baton_ptx::Operand;

use super::solve::Solution;
use super::ssa::{Definition, Id};
use super::transfer::is_pure;

/// How deep computations are compared.
const DEPTH: u32 = 12;

/// A value, and the numbers that it may have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fact {
    value: String,
    /// From and to, as bits without a sign.
    numbers: Vec<(u64, u64)>,
}

impl Fact {
    /// Whether both cannot hold.
    pub fn contradicts(&self, other: &Fact) -> bool {
        let meet = |a: &(u64, u64), b: &(u64, u64)| a.0 <= b.1 && b.0 <= a.1;
        self.value == other.value
            && !self.numbers.iter().any(|a| other.numbers.iter().any(|b| meet(a, b)))
    }
}

/// What the branches of which `counts` holds say on the way to a block.
pub(super) fn on_the_way(
    solution: &Solution<'_>,
    block: usize,
    mut counts: impl FnMut(usize) -> bool,
) -> Vec<Fact> {
    let regions = solution.regions;
    let branches = regions.decided_by[block].iter().copied();
    let branches = branches.filter(|&b| !regions.loops.iter().any(|l| l.body[b]) && counts(b));
    branches.filter_map(|branch| Names { solution }.fact(branch, block)).collect()
}

/// The blocks that control comes to from one, without another.
fn reached(next: &[Vec<usize>], from: usize, without: usize) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if block != without && !std::mem::replace(&mut reached[block], true) {
            work.extend(&next[block]);
        }
    }
    reached
}

struct Names<'a, 'b> {
    solution: &'a Solution<'b>,
}

impl Names<'_, '_> {
    /// What a branch has decided where control has come from it to a block.
    fn fact(&self, branch: usize, block: usize) -> Option<Fact> {
        let (code, regions) = (self.solution.code, self.solution.regions);
        let index = code.graph.blocks[branch].last();
        let instruction = code.body.instructions.get(index)?;
        let uses = &self.solution.ssa.uses[index];
        let leads = |target: usize| {
            let way = code.graph.block_of[target];
            regions.next[branch].contains(&way) && reached(&regions.next, way, branch)[block]
        };
        let targets = baton_ptx::flow::targets(&code.body, index);
        match (uses.guard, instruction.opcode()) {
            (Some(guard), "bra" | "ret" | "exit") => {
                let negated = instruction.guard?.negated;
                match (targets.iter().any(|&target| leads(target)), leads(index + 1)) {
                    (true, false) => self.predicate(guard, !negated, DEPTH),
                    (false, true) => self.predicate(guard, negated, DEPTH),
                    _ => None,
                }
            }
            (None, "brx") => {
                let Operand::Register(register) = instruction.operands.first()? else {
                    return None;
                };
                let value = self.name(uses.read(register.0)?, DEPTH)?;
                let numbers = (0..).zip(&targets).filter(|&(_, &target)| leads(target));
                Some(Fact { value, numbers: numbers.map(|(number, _)| (number, number)).collect() })
            }
            _ => None,
        }
    }

    /// What it says that a predicate is true, or false.
    fn predicate(&self, id: Id, truth: bool, depth: u32) -> Option<Fact> {
        let depth = depth.checked_sub(1)?;
        let itself = || {
            let number = u64::from(truth);
            Some(Fact { value: self.name(id, depth)?, numbers: vec![(number, number)] })
        };
        let Definition::Result { instruction: index, .. } = self.solution.ssa.definitions[id]
        else {
            return itself();
        };
        let instruction = self.solution.code.instruction(index);
        let uses = &self.solution.ssa.uses[index];
        let read = |operand: &Operand| match operand {
            Operand::Register(register) => uses.read(register.0),
            _ => None,
        };
        let words: Vec<&str> = instruction.mnemonic.split('.').collect();
        match (&words[..], &instruction.operands[..]) {
            _ if instruction.guard.is_some() => itself(),
            (["mov", "pred"], [_, from]) => self.predicate(read(from)?, truth, depth),
            (["not", "pred"], [_, from]) => self.predicate(read(from)?, !truth, depth),
            // Of floating-point numbers one may be no number, and then neither a comparison holds nor its opposite.
            (["setp", compare, ty], [Operand::Register(_), left, right])
                if ty.starts_with(['u', 's', 'b']) =>
            {
                let (base, truth) = match *compare {
                    "ge" | "hs" => ("lt", !truth),
                    "le" | "ls" => ("gt", !truth),
                    "ne" => ("eq", !truth),
                    "lo" => ("lt", truth),
                    "hi" => ("gt", truth),
                    other => (other, truth),
                };
                let (left, right, base) = match (left, right, base) {
                    (Operand::Int(_), right, "lt") => (right, left, "gt"),
                    (Operand::Int(_), right, "gt") => (right, left, "lt"),
                    _ => (left, right, base),
                };
                if let Some(numbers) = numbers(base, ty, right, truth) {
                    return Some(Fact { value: self.name(read(left)?, depth)?, numbers });
                }
                let of = |operand: &Operand| self.operand(read(operand), operand, depth);
                let value = format!("{base}.{ty}({},{})", of(left)?, of(right)?);
                let number = u64::from(truth);
                Some(Fact { value, numbers: vec![(number, number)] })
            }
            _ => itself(),
        }
    }

    fn operand(&self, id: Option<Id>, operand: &Operand, depth: u32) -> Option<String> {
        match operand {
            Operand::Register(_) => self.name(id?, depth),
            Operand::Int(number) => Some(number.to_string()),
            // What changes by itself is no value of its own.
            Operand::Special(name) if !name.contains("clock") && !name.contains("timer") => {
                Some(name.to_string())
            }
            _ => None,
        }
    }

    /// How a value is computed.
    fn name(&self, id: Id, depth: u32) -> Option<String> {
        let solution = self.solution;
        let itself = || {
            let home = solution.ssa.block(solution.code, id)?;
            let inside = solution.regions.loops.iter().any(|l| l.body[home]);
            (!inside).then(|| format!("#{id}"))
        };
        let Definition::Result { instruction: index, .. } = solution.ssa.definitions[id] else {
            return itself();
        };
        if let Some((number, byte)) = solution.parameter_of(id) {
            return Some(format!("param{number}+{byte}"));
        }
        let instruction = solution.code.instruction(index);
        let uses = &solution.ssa.uses[index];
        let single = matches!(instruction.operands.first(), Some(Operand::Register(_)));
        if !is_pure(instruction) || instruction.guard.is_some() || !single || depth == 0 {
            return itself();
        }
        let operands = instruction.operands[1..].iter().map(|operand| {
            let id = match operand {
                Operand::Register(register) => uses.read(register.0),
                _ => None,
            };
            self.operand(id, operand, depth - 1)
        });
        match operands.collect::<Option<Vec<String>>>() {
            Some(operands) => Some(match (instruction.opcode(), &operands[..]) {
                ("mov", [one]) => one.clone(),
                _ => format!("{}({})", instruction.mnemonic, operands.join(",")),
            }),
            None => itself(),
        }
    }
}

/// The numbers that compare so with a number, or do not.
fn numbers(compare: &str, ty: &str, with: &Operand, holds: bool) -> Option<Vec<(u64, u64)>> {
    let Operand::Int(with) = with else { return None };
    let bits: u32 = ty.get(1..)?.parse().ok()?;
    let top = u64::MAX >> 64u32.checked_sub(bits)?;
    let signed = ty.starts_with('s');
    // From here on in the order of the comparison, which begins at the least number.
    let least = if signed { 1u64 << (bits - 1) } else { 0 };
    let place = |number: u64| number.wrapping_sub(least) & top;
    let at = place(*with as u64 & top);
    let ordered = match compare {
        "eq" => vec![(at, at)],
        "lt" => at.checked_sub(1).map(|last| (0, last)).into_iter().collect(),
        "gt" => (at < top).then(|| (at + 1, top)).into_iter().collect(),
        _ => return None,
    };
    let ordered = if holds { ordered } else { others(&ordered, top) };
    // The upper half of the order begins at 0 again.
    let halves = ordered.into_iter().flat_map(|(from, to)| {
        let half = top / 2;
        if signed && from <= half && to > half {
            vec![(from, half), (half + 1, to)]
        } else {
            vec![(from, to)]
        }
    });
    Some(
        halves
            .map(|(from, to)| (from.wrapping_add(least) & top, to.wrapping_add(least) & top))
            .collect(),
    )
}

/// The numbers up to `top` that are not in a list of at most one range.
fn others(ranges: &[(u64, u64)], top: u64) -> Vec<(u64, u64)> {
    let Some(&(from, to)) = ranges.first() else { return vec![(0, top)] };
    let before = from.checked_sub(1).map(|last| (0, last));
    let behind = (to < top).then(|| (to + 1, top));
    before.into_iter().chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_says_which_numbers_are_left() {
        let of =
            |compare, ty, with, holds| numbers(compare, ty, &Operand::Int(with), holds).unwrap();
        let top = u64::from(u32::MAX);
        assert_eq!(of("lt", "u32", 6, true), [(0, 5)]);
        assert_eq!(of("gt", "u32", 5, true), [(6, top)]);
        assert_eq!(of("gt", "u32", 5, false), [(0, 5)]);
        assert_eq!(of("eq", "b32", 0, false), [(1, top)]);
        assert_eq!(of("lt", "s32", 0, true), [(1 << 31, top)]);
        assert_eq!(of("gt", "s32", -1, true), [(0, top / 2)]);
        assert_eq!(of("gt", "s32", -2, true), [(top, top), (0, top / 2)]);
        assert_eq!(of("lt", "u32", 0, true), []);
        assert_eq!(of("lt", "u32", 0, false), [(0, top)]);
    }
}
