//! CTAs of a cluster that certainly do not come to its barrier equally often.
//!
//! CTAs often differ on purpose: each arrives in an arm of its own, or loops as often as the others by another way. So only two
//! things are certain. In the one, a CTA never comes to any of the barriers to which CTAs may come differently, and another does. In
//! the other, all of these stand in one loop whose rounds are counted up to, or from, a number that is another in each CTA.

use baton_ptx::{Instruction, Operand};

use super::solve::Solution;
use super::space::{Space, Value};
use super::ssa::{Definition, Id};

/// How deep a number is followed to where it comes from.
const DEPTH: u32 = 12;

/// Whether the CTAs of a cluster come unequally often to the barrier at `index`, to which they may come differently.
pub(super) fn differ(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    index: usize,
) -> bool {
    let code = solution.code;
    let arrives = code.instruction(index).has("arrive");
    // Those without `.aligned` count too, though each thread may come to them alone.
    let same = |instruction: &Instruction| {
        instruction.opcode() == "barrier"
            && instruction.has("cluster")
            && instruction.has("arrive") == arrives
    };
    let all = 0..code.body.instructions.len();
    let blocks = all.filter(|&i| same(code.instruction(i))).map(|i| code.graph.block_of[i]);
    let mut sites: Vec<usize> = blocks.filter(|&b| arrivals[b].contains(&true)).collect();
    sites.dedup();
    sites.retain(|&block| !parting(space, solution, block).is_empty());
    let own = code.graph.block_of[index];
    never(space, solution, arrivals, own, &sites) || unequal_rounds(space, solution, own, &sites)
}

/// The branches at which CTAs of a cluster may part before a block.
fn parting(space: &mut Space, solution: &Solution<'_>, block: usize) -> Vec<usize> {
    let branches = solution.regions.decided_by[block].iter().copied();
    let parts = |&branch: &usize| {
        let label = solution.branch_label(space, branch);
        splits_cluster(space, label)
    };
    branches.filter(parts).collect()
}

fn splits_cluster(space: &Space, label: super::space::Part) -> bool {
    space.splits(label, &vec![0; space.count], &vec![true; space.count])
}

/// Whether a CTA comes to none of the sites, and another to this one, as known numbers decide.
fn never(
    space: &mut Space,
    solution: &Solution<'_>,
    arrivals: &[Vec<bool>],
    own: usize,
    sites: &[usize],
) -> bool {
    let decided = parting(space, solution, own)
        .into_iter()
        .all(|branch| matches!(solution.decision(space, branch), Some((_, Some(Value::Known(_))))));
    let ctas = 0..space.count / space.cta;
    let comes = |cta: usize, block: usize| {
        arrivals[block][cta * space.cta..(cta + 1) * space.cta].contains(&true)
    };
    decided
        && ctas.clone().any(|cta| comes(cta, own))
        && ctas.clone().any(|cta| sites.iter().all(|&site| !comes(cta, site)))
}

/// Whether all sites stand in one loop that each CTA goes through another number of times.
fn unequal_rounds(space: &mut Space, solution: &Solution<'_>, own: usize, sites: &[usize]) -> bool {
    let parts = parting(space, solution, own);
    let alike = sites.iter().all(|&site| parting(space, solution, site) == parts);
    let loops = solution.regions.loops.iter().filter(|l| alike && l.body[own]);
    for around in loops {
        let [exit] = around.exits[..] else { continue };
        if !parts.contains(&exit) || !sites.iter().all(|&site| around.body[site]) {
            continue;
        }
        let Some(counter) = counted(solution, exit, &around.body) else { continue };
        // What keeps a CTA from the loop at all has to be that it has no rounds to go.
        let guards = || parts.iter().copied().filter(|&branch| branch != exit);
        let guarded = |of: &dyn Fn([Side; 2]) -> bool| {
            guards().all(|branch| {
                compares(solution, branch)
                    .is_some_and(|(order, pair)| order == Order::Equal && of(pair))
            })
        };
        let Counter { start, bound, .. } = counter;
        let unequal = match counter.first {
            // Until they are equal: so often as start and bound are apart.
            None => {
                let numbers = [start, bound].map(|side| side.number(space, solution));
                let other = match numbers {
                    [Number::One, Number::Other] => Some(bound),
                    [Number::Other, Number::One] => Some(start),
                    _ => None,
                };
                other.is_some_and(|other| guarded(&|pair: [Side; 2]| pair.contains(&other)))
            }
            // While the counter is below: the first round is gone in any case, but for who is kept away.
            Some(first) => {
                let none =
                    |pair: [Side; 2]| pair.contains(&bound) && pair.contains(&Side::Constant(0));
                let kept_away = first == 0 || first == 1 && guards().next().is_some();
                bound.number(space, solution) == Number::Other && kept_away && guarded(&none)
            }
        };
        if unequal {
            return true;
        }
    }
    false
}

/// What a number is in the CTAs of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// The same in all.
    One,
    /// Another in some of them, whatever it is.
    Other,
    Unknown,
}

fn number(space: &mut Space, solution: &Solution<'_>, id: Id, depth: u32) -> Number {
    let value = solution.value(id);
    if let Some(value) = value {
        let label = space.label(value);
        if !splits_cluster(space, label) {
            return Number::One;
        }
    }
    if let Some(Value::Known(numbers)) = value {
        let numbers = space.of(numbers);
        let of_ctas: Vec<&[u64]> = numbers.chunks(space.cta).collect();
        let one = of_ctas.iter().all(|cta| cta.iter().all(|number| *number == cta[0]));
        let other = of_ctas.iter().any(|cta| cta[0] != of_ctas[0][0]);
        return if one && other { Number::Other } else { Number::Unknown };
    }
    let Definition::Result { instruction: index, .. } = solution.ssa.definitions[id] else {
        return Number::Unknown;
    };
    let instruction = solution.code.instruction(index);
    if depth == 0 || instruction.guard.is_some() {
        return Number::Unknown;
    }
    let cluster = space.launch.cluster;
    let mut of = |operand: &Operand| match operand {
        Operand::Int(_) => Number::One,
        Operand::Special(name) => {
            let axes = ["%ctaid.x", "%ctaid.y", "%ctaid.z"];
            let along = axes.iter().position(|axis| **axis == **name);
            along.filter(|&axis| cluster[axis] > 1).map_or(Number::Unknown, |_| Number::Other)
        }
        Operand::Register(register) => match solution.ssa.uses[index].read(register.0) {
            Some(id) => number(space, solution, id, depth - 1),
            None => Number::Unknown,
        },
        _ => Number::Unknown,
    };
    match (instruction.opcode(), &instruction.operands[..]) {
        ("mov", [Operand::Register(_), from]) => of(from),
        ("neg" | "not", [_, from]) => of(from),
        // To more bits.
        ("cvt", [_, from]) if widens(instruction) => of(from),
        ("add" | "sub", [_, a, b]) if !instruction.has("cc") => match (of(a), of(b)) {
            (Number::One, Number::One) => Number::One,
            (Number::One, Number::Other) | (Number::Other, Number::One) => Number::Other,
            _ => Number::Unknown,
        },
        _ => Number::Unknown,
    }
}

fn widens(instruction: &Instruction) -> bool {
    let bits = |ty: &str| ty.strip_prefix(['u', 's', 'b']).and_then(|n| n.parse::<u32>().ok());
    let types: Vec<u32> = instruction.modifiers().filter_map(bits).collect();
    matches!(types[..], [to, from] if to >= from)
}

/// What a comparison compares: a number of the program, or one that is written there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Value(Id),
    Constant(i64),
}

impl Side {
    /// What a definition stands for, through moves.
    fn of(solution: &Solution<'_>, id: Id) -> Side {
        let id = solution.through(id);
        if let Definition::Result { instruction, .. } = solution.ssa.definitions[id] {
            let instruction = solution.code.instruction(instruction);
            if let ("mov", [_, Operand::Int(number)]) =
                (instruction.opcode(), &instruction.operands[..])
            {
                return Side::Constant(*number);
            }
        }
        Side::Value(id)
    }

    fn number(self, space: &mut Space, solution: &Solution<'_>) -> Number {
        match self {
            Side::Value(id) => number(space, solution, id, DEPTH),
            Side::Constant(_) => Number::One,
        }
    }
}

/// How a branch compares two numbers, whichever way it then goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Equal,
    /// Whether the first is less than the second, without signs.
    Below,
}

/// What a branch compares.
fn compares(solution: &Solution<'_>, branch: usize) -> Option<(Order, [Side; 2])> {
    let index = solution.code.graph.blocks[branch].last();
    let mut id = solution.ssa.uses[index].guard?;
    loop {
        let Definition::Result { instruction: index, .. } = solution.ssa.definitions[id] else {
            return None;
        };
        let instruction = solution.code.instruction(index);
        let uses = &solution.ssa.uses[index];
        match (instruction.opcode(), &instruction.operands[..]) {
            ("not" | "mov", [_, Operand::Register(from)]) => id = uses.read(from.0)?,
            ("setp", [Operand::Register(_), a, b]) => {
                let side = |operand: &Operand| match operand {
                    Operand::Register(register) => Some(Side::of(solution, uses.read(register.0)?)),
                    Operand::Int(number) => Some(Side::Constant(*number)),
                    _ => None,
                };
                let (a, b) = (side(a)?, side(b)?);
                let unsigned = instruction.modifiers().any(|ty| matches!(ty, "u32" | "u64"));
                return match instruction.modifiers().next()? {
                    "eq" | "ne" => Some((Order::Equal, [a, b])),
                    "lt" | "ge" if unsigned => Some((Order::Below, [a, b])),
                    "gt" | "le" if unsigned => Some((Order::Below, [b, a])),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
}

/// How a loop counts its rounds.
struct Counter {
    start: Side,
    bound: Side,
    /// Where it goes on while the counter is below its bound: what is compared in the first round.
    first: Option<i64>,
}

/// How a loop that is left at `exit` counts.
fn counted(solution: &Solution<'_>, exit: usize, body: &[bool]) -> Option<Counter> {
    let (order, [a, b]) = compares(solution, exit)?;
    let outside = |side: Side| match side {
        Side::Value(id) => solution.ssa.block(solution.code, id).is_some_and(|block| !body[block]),
        Side::Constant(_) => true,
    };
    let up_or_down = |side: Side| match side {
        Side::Value(id) => start(solution, id, body),
        Side::Constant(_) => None,
    };
    match (order, up_or_down(a), up_or_down(b)) {
        (Order::Equal, Some((start, ..)), None) if outside(b) => {
            Some(Counter { start, bound: b, first: None })
        }
        (Order::Equal, None, Some((start, ..))) if outside(a) => {
            Some(Counter { start, bound: a, first: None })
        }
        (Order::Below, Some((Side::Constant(start), 1, stepped)), None) if outside(b) => {
            let first = start + i64::from(stepped);
            Some(Counter { start: Side::Constant(start), bound: b, first: Some(first) })
        }
        _ => None,
    }
}

/// Where a counter begins that goes up or down by one constant in each round, the constant, and whether `id` is what it is behind the
/// step.
fn start(solution: &Solution<'_>, id: Id, body: &[bool]) -> Option<(Side, i64, bool)> {
    let stepped = |id: Id| {
        let Definition::Result { instruction: index, .. } = solution.ssa.definitions[id] else {
            return None;
        };
        let instruction = solution.code.instruction(index);
        match (instruction.opcode(), &instruction.operands[..]) {
            ("add", [_, Operand::Register(from), Operand::Int(step)]) if *step != 0 => {
                Some((solution.through(solution.ssa.uses[index].read(from.0)?), *step))
            }
            _ => None,
        }
    };
    let (counter, behind) = match solution.ssa.definitions[id] {
        Definition::Phi { .. } => (id, false),
        _ => (stepped(id)?.0, true),
    };
    let Definition::Phi { block, from } = &solution.ssa.definitions[counter] else { return None };
    if !body[*block] {
        return None;
    }
    let (mut begins, mut by) = (None, None);
    for &(before, value) in from {
        let value = solution.through(value);
        if body[before] {
            let (of, step) = stepped(value)?;
            if of != counter || by.is_some_and(|by| by != step) {
                return None;
            }
            by = Some(step);
        } else {
            let side = Side::of(solution, value);
            if begins.is_some_and(|known| known != side) {
                return None;
            }
            begins = Some(side);
        }
    }
    Some((begins?, by?, behind))
}
