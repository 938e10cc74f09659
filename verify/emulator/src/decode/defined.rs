//! Which registers of a function may be used before anything has written them, and what its instructions do with
//! registers that nothing has. What it hands to others and gets from them counts as registers do, byte by byte.
//!
//! Mostly there are none: every use stands behind a write on each way to it. Then nothing is remembered, and nothing is
//! asked when the kernel runs.

use super::*;
use crate::undefined::{Handed, Part, Place, Spread, Step, Undefined};
use std::collections::HashSet;

/// More bits than this are not kept: then only registers that no instruction writes are looked at.
const BITS: usize = 1 << 26;

/// What has to be watched while a function runs. Its calls have been decoded.
pub(super) fn of(
    function: &ptx::Function,
    body: &ptx::Body,
    func: &Func,
    locals: &[Local],
) -> Box<Undefined> {
    let scope = Scope::of(function, body, func, locals);
    let code = body.instructions.iter().zip(&func.code);
    let steps: Vec<Step> = code.map(|(i, inst)| step(i, inst, &scope)).collect();
    let suspects = suspects(body, &steps, &scope);
    let names = body.registers.iter().map(|register| register.name.clone()).collect();
    let Scope { places, taken, given, entry, .. } = scope;
    Box::new(Undefined { suspects, steps, names, places, is_called: !entry, taken, given })
}

/// The cells of a function: its registers, and the bytes of parameters by which it is called and calls.
struct Scope<'a> {
    func: &'a Func,
    locals: &'a [Local],
    entry: bool,
    /// Where followed bytes lie in the frame, each with the cell of its first.
    places: Vec<(Place, u32)>,
    /// All cells.
    count: usize,
    taken: Vec<(u32, Place)>,
    given: Vec<(u32, Place)>,
}

impl<'a> Scope<'a> {
    fn of(function: &ptx::Function, body: &ptx::Body, func: &'a Func, locals: &'a [Local]) -> Self {
        let entry = function.kind == ptx::FunctionKind::Entry;
        let mut scope = Scope {
            func,
            locals,
            entry,
            places: Vec::new(),
            count: body.registers.len(),
            taken: Vec::new(),
            given: Vec::new(),
        };
        let mut all: Vec<Place> = Vec::new();
        if !entry {
            all.extend(func.returns.iter().chain(&func.params));
        }
        for (variable, local) in body.variables.iter().zip(locals) {
            if let (ptx::Space::Param, Local::Frame(place)) = (variable.space, local) {
                all.push(*place);
            }
        }
        for inst in &func.code {
            let Op::Call(call) = &inst.op else { continue };
            all.extend(call.stored.iter().map(|(_, place)| *place));
            all.extend(call.loaded.iter().map(|(_, place)| *place));
        }
        // Those whose address is taken may be written in other ways.
        let mut taken = Vec::new();
        for i in &body.instructions {
            match (i.opcode(), &i.operands[..]) {
                ("call", _) => {}
                (_, operands) => operands.iter().for_each(|o| scope.named(o, &mut taken)),
            }
        }
        all.retain(|place| !taken.contains(place));
        all.sort_unstable();
        all.dedup();
        for place in all {
            scope.places.push((place, scope.count as u32));
            scope.count += place.1 as usize;
        }
        let mut next = 0;
        let mut registers = |all: &[ptx::Param], places: &[Place]| {
            let mut found = Vec::new();
            for (param, place) in all.iter().zip(places) {
                if param.space == ptx::Space::Reg {
                    found.push((next, *place));
                    next += 1;
                }
            }
            found
        };
        scope.given = registers(&function.returns, &func.returns);
        scope.taken = registers(&function.params, &func.params);
        scope
    }

    /// Where a variable of parameters lies.
    fn place(&self, symbol: &Symbol) -> Option<Place> {
        match symbol {
            Symbol::Param(_) if self.entry => None,
            Symbol::Param(i) => self.func.params.get(*i as usize).copied(),
            Symbol::Return(i) => self.func.returns.get(*i as usize).copied(),
            Symbol::Local(id) => match self.locals[id.0 as usize] {
                Local::Frame(place) => Some(place),
                Local::Module(_) => None,
            },
            Symbol::Global(_) => None,
        }
    }

    /// Variables that an operand names as values.
    fn named(&self, operand: &Operand, found: &mut Vec<Place>) {
        match operand {
            Operand::Symbol(symbol, _) => found.extend(self.place(symbol)),
            Operand::Vector(list) | Operand::List(list) => {
                list.iter().for_each(|item| self.named(item, found));
            }
            _ => {}
        }
    }

    fn cell(&self, at: u32) -> Option<u32> {
        let next = self.places.partition_point(|((first, _), _)| *first <= at);
        let ((first, bytes), cell) = *self.places.get(next.checked_sub(1)?)?;
        (at - first < bytes).then_some(cell + at - first)
    }

    fn cells(&self, (at, bytes): Place) -> Vec<u32> {
        (0..bytes).filter_map(|byte| self.cell(at + byte)).collect()
    }

    /// The place at an address of a parameter that is followed.
    fn at(&self, operand: &Operand) -> Option<u32> {
        let Operand::Address(address) = operand else { return None };
        let ptx::Base::Symbol(symbol) = &address.base else { return None };
        let at = self.place(symbol)?.0.checked_add_signed(i32::try_from(address.offset).ok()?)?;
        self.cell(at).map(|_| at)
    }
}

/// Registers that are read on some way from the entry on which nothing has written them.
fn suspects(body: &ptx::Body, steps: &[Step], scope: &Scope<'_>) -> Vec<u32> {
    let words = scope.count.div_ceil(64);
    let set =
        |bits: &mut [u64], register: u32| bits[register as usize / 64] |= 1 << (register % 64);
    let has =
        |bits: &[u64], register: u32| bits[register as usize / 64] >> (register % 64) & 1 == 1;
    let mut found = vec![0u64; words];
    let mut written = vec![0u64; words];
    for step in steps {
        step.writes().for_each(|cell| set(&mut written, cell));
    }
    // Of what a call takes, bytes that pad a structure are never written; a variable that is not written at all is missed.
    let padding: HashSet<u32> = scope
        .places
        .iter()
        .map(|(place, _)| scope.cells(*place))
        .filter(|cells| cells.iter().any(|cell| has(&written, *cell)))
        .flatten()
        .filter(|cell| !has(&written, *cell))
        .collect();
    let mut parameters = Vec::new();
    if !scope.entry {
        scope.func.params.iter().for_each(|place| parameters.extend(scope.cells(*place)));
        parameters.extend(scope.taken.iter().map(|(register, _)| *register));
    }
    let mut results = Vec::new();
    if !scope.entry {
        let in_memory = |place: &&Place| !scope.given.iter().any(|(_, of)| of == *place);
        let bytes = scope.func.returns.iter().filter(in_memory);
        bytes.for_each(|place| results.extend(scope.cells(*place)));
        results.retain(|cell| !padding.contains(cell));
        results.extend(scope.given.iter().map(|(register, _)| *register));
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
        parameters.iter().for_each(|cell| set(&mut before[0], *cell));
    }
    let through = |block: &Block, bits: &mut Vec<u64>, found: &mut Vec<u64>| {
        for step in &steps[block.first..=block.last] {
            let reads = step.reads().filter(|cell| !padding.contains(cell));
            reads
                .filter(|cell| !has(bits, *cell))
                .collect::<Vec<_>>()
                .iter()
                .for_each(|cell| set(found, *cell));
            if step.guard.is_none() {
                step.writes().for_each(|cell| set(bits, cell));
            }
        }
        if block.returns {
            results.iter().filter(|cell| !has(bits, **cell)).for_each(|cell| set(found, *cell));
        }
    };
    if !exact {
        let mut bits = written;
        parameters.iter().for_each(|cell| set(&mut bits, *cell));
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
    (0..scope.count as u32).filter(|cell| has(&found, *cell)).collect()
}

/// Instructions that are executed one after the other.
struct Block {
    first: usize,
    last: usize,
    next: Vec<usize>,
    /// Whether a function ends with it.
    returns: bool,
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
        // Behind the last instruction the function returns as well.
        let returns = code[last].opcode() == "ret" || next.contains(&code.len());
        next.retain(|at| *at < code.len());
        Block { first, last, next: next.into_iter().map(block_of).collect(), returns }
    };
    firsts.iter().enumerate().map(block).collect()
}

/// What an instruction does with cells that may not have been written.
fn step(i: &ptx::Instruction, inst: &Inst, scope: &Scope<'_>) -> Step {
    let mut step = Step { guard: i.guard.map(|guard| guard.register.0), ..Step::default() };
    if let Op::Call(call) = &inst.op {
        return of_call(step, i, call, scope);
    }
    if let Some(parts) = of_parameter(i, scope) {
        step.parts = parts;
        return step;
    }
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
    let spread = match opcode {
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
    step.needs = needs.into();
    step.parts = Box::new([Part { reads: reads.into(), writes: writes.into(), spread }]);
    step
}

/// A load or a store of a parameter that is followed.
fn of_parameter(i: &ptx::Instruction, scope: &Scope<'_>) -> Option<Box<[Part]>> {
    let (stores, value, address) = match (i.opcode(), &i.operands[..]) {
        ("ld", [value, address]) => (false, value, address),
        ("st", [address, value]) => (true, value, address),
        _ => return None,
    };
    let mut at = scope.at(address)?;
    let bits = i.modifiers().last()?.trim_start_matches(|c: char| !c.is_ascii_digit());
    let bytes = bits.parse::<u32>().ok()?.div_ceil(8);
    let elements = match value {
        Operand::Vector(list) => &list[..],
        other => std::slice::from_ref(other),
    };
    let mut parts = Vec::new();
    for element in elements {
        let mut registers = Vec::new();
        values(element, &mut registers);
        let (registers, cells) = (registers.into(), scope.cells((at, bytes)).into());
        parts.push(match stores {
            true => Part { reads: registers, writes: cells, spread: Spread::Any },
            // Of a structure that is loaded whole, bytes that pad it may be anything.
            false => Part { reads: cells, writes: registers, spread: Spread::All },
        });
        at += bytes;
    }
    Some(parts.into())
}

/// A call: what stands in its list goes by the frame, as parameters do.
fn of_call(mut step: Step, i: &ptx::Instruction, call: &Call, scope: &Scope<'_>) -> Step {
    let (returns, rest) = match &i.operands[..] {
        [Operand::List(returns), rest @ ..] => (&returns[..], rest),
        rest => (&[][..], rest),
    };
    let (target, arguments) = match rest {
        [target, Operand::List(arguments), ..] => (Some(target), &arguments[..]),
        rest => (rest.first(), &[][..]),
    };
    let mut needs = Vec::new();
    target.into_iter().for_each(|target| values(target, &mut needs));
    step.needs = needs.into();
    let by_place = |o: &&Operand| !matches!(o, Operand::Symbol(Symbol::Local(_), 0));
    let stored = arguments.iter().filter(by_place).zip(&call.stored).map(|(value, (_, place))| {
        let mut reads = Vec::new();
        values(value, &mut reads);
        let writes = scope.cells(*place).into();
        Part { reads: reads.into(), writes, spread: Spread::Any }
    });
    step.parts = stored.collect();
    let mut loaded = Vec::new();
    for (result, (_, place)) in returns.iter().filter(by_place).zip(&call.loaded) {
        let mut registers = Vec::new();
        values(result, &mut registers);
        loaded.extend(registers.into_iter().map(|register| (register, *place)));
    }
    let mut gives: Vec<u32> = loaded.iter().map(|(register, _)| *register).collect();
    call.returns.iter().for_each(|place| gives.extend(scope.cells(*place)));
    let takes = call.args.iter().flat_map(|place| scope.cells(*place)).collect();
    let gives = gives.into();
    step.call = Some(Box::new(Handed { takes, gives, loaded: loaded.into() }));
    step
}

impl Step {
    /// All cells that it reads.
    fn reads(&self) -> impl Iterator<Item = u32> {
        let parts = self.parts.iter().flat_map(|part| &part.reads);
        // What a call is given in its list has just been written.
        let own = |cell: &&u32| !self.parts.iter().any(|part| part.writes.contains(cell));
        let takes = self.call.iter().flat_map(|call| &call.takes).filter(own);
        parts.chain(&self.needs).chain(&self.guard).chain(takes).copied()
    }

    /// All cells that it writes.
    fn writes(&self) -> impl Iterator<Item = u32> {
        let parts = self.parts.iter().flat_map(|part| &part.writes);
        parts.chain(self.call.iter().flat_map(|call| &call.gives)).copied()
    }
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
