//! Which registers of a kernel may be used before anything has written them, and what its instructions do with
//! registers that nothing has.
//!
//! Mostly there are none: every use stands behind a write on each way to it. Then nothing is remembered, and nothing is
//! asked when the kernel runs.

use super::*;
use crate::undefined::{Spread, Step, Undefined};

/// More bits than this are not kept: then only registers that no instruction writes are looked at.
const BITS: usize = 1 << 26;

/// What has to be watched while the kernel runs; none if every use is behind a write.
pub(super) fn of(body: &ptx::Body) -> Option<Box<Undefined>> {
    let steps: Vec<Step> = body.instructions.iter().map(step).collect();
    let suspects = suspects(body, &steps);
    if suspects.is_empty() {
        return None;
    }
    let names = body.registers.iter().map(|register| register.name.clone()).collect();
    Some(Box::new(Undefined { suspects, steps, names }))
}

/// Registers that are read on some way from the entry on which nothing has written them.
fn suspects(body: &ptx::Body, steps: &[Step]) -> Vec<u32> {
    let words = body.registers.len().div_ceil(64);
    let set =
        |bits: &mut [u64], register: u32| bits[register as usize / 64] |= 1 << (register % 64);
    let has =
        |bits: &[u64], register: u32| bits[register as usize / 64] >> (register % 64) & 1 == 1;
    let mut found = vec![0u64; words];
    let mut written = vec![0u64; words];
    for step in steps {
        step.writes.iter().for_each(|register| set(&mut written, *register));
    }
    let blocks = blocks(body);
    if blocks.is_empty() {
        return Vec::new();
    }
    let exact = blocks.len() * words * 64 <= BITS;
    // What is written on every way to a block; everything until a way is found.
    let mut before = vec![vec![u64::MAX; if exact { words } else { 0 }]; blocks.len()];
    if exact {
        before[0].fill(0);
    }
    let through = |block: &Block, bits: &mut Vec<u64>, found: &mut Vec<u64>| {
        for step in &steps[block.first..=block.last] {
            let reads = step.reads.iter().chain(&*step.needs).chain(&step.guard);
            for register in reads.filter(|register| !has(bits, **register)) {
                set(found, *register);
            }
            if step.guard.is_none() {
                step.writes.iter().for_each(|register| set(bits, *register));
            }
        }
    };
    if !exact {
        let mut bits = written;
        for block in &blocks {
            through(block, &mut bits, &mut found);
        }
    } else {
        let mut nothing = vec![0; words];
        let mut open: Vec<usize> = vec![0];
        let mut reached = vec![false; blocks.len()];
        while let Some(at) = open.pop() {
            reached[at] = true;
            let mut bits = before[at].clone();
            through(&blocks[at], &mut bits, &mut nothing);
            for &next in &blocks[at].next {
                let mut changed = !reached[next];
                for (there, here) in before[next].iter_mut().zip(&bits) {
                    changed |= *there & here != *there;
                    *there &= here;
                }
                if changed {
                    open.push(next);
                }
            }
        }
        for (block, mut bits) in blocks.iter().zip(before) {
            through(block, &mut bits, &mut found);
        }
    }
    (0..body.registers.len() as u32).filter(|register| has(&found, *register)).collect()
}

/// Instructions that are executed one after the other.
struct Block {
    first: usize,
    last: usize,
    next: Vec<usize>,
}

/// The blocks of a body, the entry first.
fn blocks(body: &ptx::Body) -> Vec<Block> {
    let code = &body.instructions;
    let place = |label: &ptx::LabelId| body.labels[label.0 as usize].target;
    let targets = |i: &ptx::Instruction| -> Vec<usize> {
        match (i.opcode(), &i.operands[..]) {
            ("bra", [Operand::Label(label)]) => vec![place(label)],
            ("brx", [_, Operand::Label(table)]) => {
                let tables = body.branch_targets.iter().filter(|known| known.0 == *table);
                tables.flat_map(|known| known.1.iter().map(place)).collect()
            }
            _ => Vec::new(),
        }
    };
    let ends = |i: &ptx::Instruction| matches!(i.opcode(), "bra" | "brx" | "ret" | "exit" | "trap");
    let mut starts = vec![false; code.len() + 1];
    starts[0] = true;
    for (at, i) in code.iter().enumerate() {
        targets(i).into_iter().for_each(|target| starts[target] = true);
        starts[at + 1] |= ends(i);
    }
    let firsts: Vec<usize> = (0..code.len()).filter(|at| starts[*at]).collect();
    let block_of = |at: usize| firsts.partition_point(|first| *first <= at) - 1;
    let block = |(number, &first): (usize, &usize)| {
        let last = firsts.get(number + 1).map_or(code.len(), |next| *next) - 1;
        let mut next = targets(&code[last]);
        if code[last].guard.is_some() || !ends(&code[last]) {
            next.push(last + 1);
        }
        next.retain(|at| *at < code.len());
        Block { first, last, next: next.into_iter().map(block_of).collect() }
    };
    firsts.iter().enumerate().map(block).collect()
}

/// What an instruction does with registers that may not have been written.
fn step(i: &ptx::Instruction) -> Step {
    let mut step = Step { guard: i.guard.map(|guard| guard.register.0), ..Step::default() };
    let mut reads = Vec::new();
    let mut needs = Vec::new();
    let mut writes = Vec::new();
    for operand in &i.operands {
        addresses(operand, &mut needs);
    }
    let opcode = i.opcode();
    let rest = match (opcode, &i.operands[..]) {
        ("st", [_, value, ..]) if !i.modifiers().any(|m| m == "async" || m == "bulk") => {
            // Of a vector, elements that pad a structure may be anything.
            if !matches!(value, Operand::Vector(_)) {
                values(value, &mut needs);
            }
            &[]
        }
        ("red", [_, value]) if !i.modifiers().any(|m| m == "async") => {
            if !matches!(value, Operand::Vector(_)) {
                values(value, &mut needs);
            }
            &[]
        }
        ("atom", [d, _, given @ ..]) => {
            values(d, &mut writes);
            let scalars = given.iter().filter(|given| !matches!(given, Operand::Vector(_)));
            scalars.for_each(|given| values(given, &mut needs));
            &[]
        }
        ("brx", [index, ..]) => {
            values(index, &mut needs);
            &[][..]
        }
        (_, [d, rest @ ..]) if computes(opcode) => {
            values(d, &mut writes);
            rest
        }
        // Whatever it is, it is taken to write what it names.
        (_, all) => {
            all.iter().for_each(|operand| values(operand, &mut writes));
            &[]
        }
    };
    rest.iter().for_each(|operand| values(operand, &mut reads));
    step.spread = match opcode {
        "selp" => match rest {
            [Operand::Register(a), Operand::Register(b), Operand::Register(p)] => {
                Spread::Select(a.0, b.0, p.0)
            }
            _ => Spread::All,
        },
        "xor" | "sub" if rest.len() == 2 && rest[0] == rest[1] => Spread::Nothing,
        _ if whole(opcode) && !i.modifiers().any(|m| m.ends_with("x2")) => Spread::Any,
        _ if computes(opcode) && !fetches(opcode) => Spread::All,
        _ => Spread::Nothing,
    };
    (step.reads, step.needs, step.writes) = (reads.into(), needs.into(), writes.into());
    step
}

/// The first operand is the destination, all others are sources.
fn computes(opcode: &str) -> bool {
    whole(opcode)
        || fetches(opcode)
        || matches!(
            opcode,
            "and"
                | "or"
                | "xor"
                | "shl"
                | "shr"
                | "shf"
                | "lop3"
                | "bfe"
                | "bfi"
                | "prmt"
                | "cvt"
                | "selp"
                | "slct"
                | "mov"
        )
}

/// The result is undefined if any of the sources is.
fn whole(opcode: &str) -> bool {
    matches!(
        opcode,
        "add"
            | "sub"
            | "mul"
            | "mad"
            | "fma"
            | "div"
            | "rem"
            | "neg"
            | "abs"
            | "not"
            | "cnot"
            | "sad"
            | "mul24"
            | "mad24"
            | "setp"
            | "set"
            | "popc"
            | "clz"
            | "brev"
            | "bfind"
            | "sqrt"
            | "rsqrt"
            | "rcp"
            | "ex2"
            | "lg2"
            | "sin"
            | "cos"
            | "tanh"
    )
}

/// The result comes from elsewhere.
fn fetches(opcode: &str) -> bool {
    matches!(opcode, "ld" | "ldu" | "cvta" | "isspacep" | "mapa" | "activemask")
}

/// Registers that an operand names as values.
fn values(operand: &Operand, found: &mut Vec<u32>) {
    match operand {
        Operand::Register(id)
        | Operand::Not(id)
        | Operand::Sum(id, _)
        | Operand::Component(id, _) => found.push(id.0),
        Operand::Vector(list) | Operand::List(list) => {
            list.iter().for_each(|item| values(item, found));
        }
        Operand::Pair(a, b) => {
            values(a, found);
            values(b, found);
        }
        _ => {}
    }
}

/// Registers of which it makes an address.
fn addresses(operand: &Operand, found: &mut Vec<u32>) {
    if let Operand::Address(address) = operand
        && let ptx::Base::Register(id) = address.base
    {
        found.push(id.0);
    }
}
