//! Definitions that hold one value in each thread because they are computed in the same way.
//!
//! LLVM writes one computation into both arms of a branch, where it finds room for it. What meets behind the branch is one value all the
//! same, whichever way a thread came. Two definitions are alike if the same instruction makes them of operands that are alike. That
//! holds outside of loops only, where a thread comes to each of them once; inside, a definition is like itself alone.

use std::collections::HashMap;

use baton_ptx::{Instruction, Operand};

use super::code::Code;
use super::region::Regions;
use super::ssa::{Definition, Id, Ssa};

/// Instructions that make one number of their operands and of nothing else.
const COMPUTES: [&str; 17] = [
    "add", "and", "cvt", "cvta", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "selp",
    "shl", "shr", "sub", "xor",
];

/// Special registers that never change in a thread.
const CONSTANT: [&str; 6] = ["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%cluster"];

/// An operand, the same for all that are alike.
#[derive(PartialEq, Eq, Hash)]
enum Part {
    Definition(Id),
    Written(String),
}

/// Of each definition, the first one that is like it.
pub(super) fn first_alike(code: &Code, ssa: &Ssa, regions: &Regions) -> Vec<Id> {
    let mut first: Vec<Id> = (0..ssa.definitions.len()).collect();
    let mut known: HashMap<(&str, Vec<Part>), Id> = HashMap::new();
    let mut results: Vec<(usize, Id)> = Vec::new();
    for (id, definition) in ssa.definitions.iter().enumerate() {
        if let Definition::Result { instruction, .. } = *definition {
            results.push((instruction, id));
        }
    }
    // In the order of the text: an operand that comes later is taken for itself.
    results.sort_unstable();
    for (index, id) in results {
        let block = code.graph.block_of[index];
        if regions.loops.iter().any(|l| l.body[block]) {
            continue;
        }
        let instruction = code.instruction(index);
        let read = |operand: &Operand| match operand {
            Operand::Register(register) => ssa.uses[index].read(register.0).map(|id| first[id]),
            _ => None,
        };
        if let Some(parts) = parts(instruction, read) {
            first[id] = *known.entry((&instruction.mnemonic, parts)).or_insert(id);
        }
    }
    first
}

/// The operands of an instruction that computes.
fn parts(instruction: &Instruction, read: impl Fn(&Operand) -> Option<Id>) -> Option<Vec<Part>> {
    // What is done to the carry is no operand.
    let computes = COMPUTES.contains(&instruction.opcode()) && !instruction.has("cc");
    let [Operand::Register(_), operands @ ..] = &instruction.operands[..] else { return None };
    if !computes || instruction.guard.is_some() {
        return None;
    }
    let part = |operand: &Operand| match operand {
        Operand::Register(_) => read(operand).map(Part::Definition),
        Operand::Int(_) | Operand::Symbol(..) => Some(Part::Written(format!("{operand:?}"))),
        Operand::Special(name) if CONSTANT.iter().any(|constant| name.starts_with(constant)) => {
            Some(Part::Written(name.to_string()))
        }
        _ => None,
    };
    operands.iter().map(part).collect()
}
