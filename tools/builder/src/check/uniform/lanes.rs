//! What the lanes of a warp, or the threads of a CTA, compute from each other's values.

use baton_ptx::{Instruction, Operand};

use super::space::{Part, Space, Value, WARP};
use super::transfer::Scope;

/// What is known of one result of an instruction that threads execute together, or of a sum of two lanes' values; `None`
/// for other instructions.
pub(super) fn transfer(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    values: &[Value],
    second: bool,
) -> Option<Value> {
    let of_the_warp = |space: &mut Space, value: Option<&Value>| {
        let part = value.map_or(space.varying, |&value| space.label(value));
        space.of_the_warp(part)
    };
    Some(Value::Label(match instruction.opcode() {
        "shfl" => return Some(shuffle(space, instruction, values, second)),
        "vote" | "redux" => of_the_warp(space, values.first()),
        "match" => {
            let own = values.first().map_or(space.varying, |&value| space.label(value));
            let tuple = space.of_the_warp(own);
            space.both(tuple, own)
        }
        "activemask" => space.by_warp,
        // Which lane it is, is one value; whether one is it, is not.
        "elect" => {
            if second {
                space.varying
            } else {
                space.by_warp
            }
        }
        "bar" | "barrier" => barrier(space, instruction, values),
        _ => return butterfly(space, scope, instruction, values),
    }))
}

/// `bar.red`: one value in the CTA, or for each number of a barrier.
fn barrier(space: &mut Space, instruction: &Instruction, values: &[Value]) -> Part {
    match values.first() {
        Some(&id) if instruction.has("red") => {
            let id = space.label(id);
            space.both(space.by_cta, id)
        }
        _ => space.varying,
    }
}

fn shuffle(space: &mut Space, instruction: &Instruction, values: &[Value], second: bool) -> Value {
    let [value, lane, clamp, ..] = *values else { return Value::Label(space.varying) };
    let up = instruction.has("up");
    let (agreed, warp) = (space.label(value), space.by_warp);
    let from = space.label(lane);
    // All lanes of a warp may be read, and a lane out of reach leaves the own value.
    let whole = space.one(clamp) == Some(if up { 0 } else { 31 });
    if second {
        let own = space.partition(|t| (t % WARP) as u64);
        let lanes = if instruction.has("idx") && whole { space.uniform } else { own };
        return Value::Label(space.both(lanes, from));
    }
    if let (Value::Known(lanes), true) = (lane, whole) {
        let lanes = space.of(lanes);
        let sources: Vec<usize> = (0..space.count)
            .map(|t| {
                let (own, by) = (space.lane(t), lanes[t] as usize % WARP);
                let source = if instruction.has("idx") {
                    by
                } else if instruction.has("bfly") {
                    own ^ by
                } else if up {
                    own.checked_sub(by).unwrap_or(own)
                } else {
                    Some(own + by).filter(|&lane| lane < WARP).unwrap_or(own)
                };
                space.in_lane(t, source)
            })
            .collect();
        return space.from(value, |t| sources[t]);
    }
    let tuple = space.of_the_warp(agreed);
    Value::Label(if instruction.has("idx") && whole {
        space.both(tuple, from)
    } else if agreed == space.uniform {
        agreed
    } else if space.both(agreed, warp) == warp {
        // Whatever lane it is, it is one of this warp.
        agreed
    } else {
        space.varying
    })
}

/// `v + shfl.bfly(v)`: both lanes add the same two values, in one order or the other.
fn butterfly(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    values: &[Value],
) -> Option<Value> {
    let commutes =
        matches!(instruction.opcode(), "add" | "mul" | "min" | "max" | "and" | "or" | "xor");
    let inputs = scope.code.inputs(instruction);
    if !commutes || inputs.len() != 2 {
        return None;
    }
    let id = |operand: &Operand| match operand {
        Operand::Register(register) => scope.uses.read(register.0).map(|id| scope.through(id)),
        _ => None,
    };
    for (own, other) in [(0, 1), (1, 0)] {
        let Some(index) = scope.origin(&inputs[other]) else { continue };
        let exchange = scope.code.instruction(index);
        let uses = &scope.ssa.uses[index];
        if exchange.opcode() != "shfl" || !exchange.has("bfly") || exchange.guard.is_some() {
            continue;
        }
        let received = id(&inputs[other]);
        if uses.writes.first().map(|&(_, id)| id) != received {
            continue;
        }
        let there = Scope { uses, ..*scope };
        let [value, lane, clamp, ..] = scope.code.inputs(exchange) else { continue };
        let Operand::Register(sent) = value else { continue };
        if uses.read(sent.0).map(|sent| scope.through(sent)) != id(&inputs[own]) {
            continue;
        }
        let lane = there.operand(space, lane)?;
        let clamp = there.operand(space, clamp)?;
        let (Some(by), Some(31)) = (space.one(lane), space.one(clamp)) else { continue };
        let part = space.label(values[own]);
        let labels = space.labels(part);
        let pair = |t: usize| {
            let partner = space.in_lane(t, space.lane(t) ^ (by as usize % WARP));
            let (a, b) = (labels[t], labels[partner]);
            u64::from(a.min(b)) << 32 | u64::from(a.max(b))
        };
        let pairs: Vec<u64> = (0..space.count).map(pair).collect();
        return Some(Value::Label(space.partition(|t| pairs[t])));
    }
    None
}
