//! What is known of every definition of a kernel: the greatest knowledge that agrees with itself.
//!
//! All definitions begin with nothing known against them and lose what their operands lose, round after round, until nothing
//! changes. Two things beside the operands count. Where ways of a branch bring *different* definitions together, threads that
//! took different ways may hold different values: the label of the branch is added. And a value that changes from round to
//! round of a loop differs behind it between threads that left in different rounds: the labels of the exits are added.

use baton_ptx::{Address, Base, Operand, RegId, Symbol};

use super::alike;
use super::code::Code;
use super::fold::operand_type;
use super::region::{Meeting, Regions, Way};
use super::space::{Part, Space, Value};
use super::ssa::{Definition, Id, Ssa};
use super::transfer::{self, Place, Scope, Stack, is_pure};

/// Rounds before the analysis gives up; a handful suffices for what compilers make.
const ROUNDS: usize = 400;

pub(super) struct Solution<'a> {
    pub code: &'a Code,
    pub ssa: &'a Ssa,
    pub regions: &'a Regions,
    values: Vec<Option<Value>>,
    /// Which definitions may be addresses of the stack.
    local: Vec<bool>,
    stack: Stack,
    /// For each loop the definitions that change in it.
    changing: Vec<Vec<bool>>,
    /// The loops around each block.
    around: Vec<Vec<usize>>,
    /// The block of each definition.
    block: Vec<Option<usize>>,
    /// Of each definition, the first one that is computed in the same way.
    first_alike: Vec<Id>,
}

impl<'a> Solution<'a> {
    /// `None` if the rounds did not suffice.
    pub fn of(
        space: &mut Space,
        code: &'a Code,
        ssa: &'a Ssa,
        regions: &'a Regions,
    ) -> Option<Solution<'a>> {
        let count = ssa.definitions.len();
        let block: Vec<_> = (0..count).map(|id| ssa.block(code, id)).collect();
        let around = (0..code.graph.blocks.len())
            .map(|b| (0..regions.loops.len()).filter(|&l| regions.loops[l].body[b]).collect())
            .collect();
        let changing = regions.loops.iter().map(|l| changing(code, ssa, &block, &l.body));
        let mut solution = Solution {
            values: vec![None; count],
            local: Vec::new(),
            stack: Stack { contents: space.uniform, escapes: false },
            changing: changing.collect(),
            around,
            block,
            first_alike: alike::first_alike(code, ssa, regions),
            code,
            ssa,
            regions,
        };
        solution.local = solution.stack_addresses();
        solution.stack.escapes = solution.escapes();
        solution.settle(space).then_some(solution)
    }

    fn settle(&mut self, space: &mut Space) -> bool {
        let mut place = vec![usize::MAX; self.code.graph.blocks.len()];
        self.regions.order.iter().enumerate().for_each(|(i, &b)| place[b] = i);
        let mut order: Vec<Id> = (0..self.values.len())
            .filter(|&id| self.block[id].is_some_and(|b| place[b] != usize::MAX))
            .collect();
        order.sort_by_key(|&id| {
            let within = match self.ssa.definitions[id] {
                Definition::Result { instruction, .. } => instruction + 1,
                _ => 0,
            };
            (self.block[id].map(|b| place[b]), within)
        });
        (0..ROUNDS).any(|_| {
            let mut changed = false;
            for &id in &order {
                changed |= self.update(space, id);
            }
            changed |= self.update_stack(space);
            !changed
        })
    }

    fn update(&mut self, space: &mut Space, id: Id) -> bool {
        let new = match &self.ssa.definitions[id] {
            Definition::Phi { block, from } => self.phi(space, id, *block, from),
            Definition::Result { instruction, register } => {
                self.result(space, *instruction, *register)
            }
            Definition::Unset => None,
        };
        let (Some(new), old) = (new, self.values[id]) else { return false };
        if Some(new) == old {
            return false;
        }
        // Knowledge only shrinks, so that the rounds end.
        let merged = match old {
            None => new,
            Some(old) => {
                let (old, new) = (space.label(old), space.label(new));
                Value::Label(space.both(old, new))
            }
        };
        self.values[id] = Some(merged);
        Some(merged) != old
    }

    fn result(&self, space: &mut Space, index: usize, register: u32) -> Option<Value> {
        let instruction = self.code.instruction(index);
        let uses = &self.ssa.uses[index];
        let block = self.code.graph.block_of[index];
        let seen = |space: &mut Space, id| self.seen_from(space, id, block);
        let scope = Scope { code: self.code, ssa: self.ssa, uses, seen: &seen };
        let second = uses.writes.first().is_some_and(|&(first, _)| first != register);
        let (stack, local) = (self.stack, &self.local[..]);
        let new = transfer::transfer(space, &scope, instruction, second, stack, local)?;
        let new = self.as_marked(space, index, new);
        let Some(&(_, kept)) = uses.kept.iter().find(|&&(kept, _)| kept == register) else {
            return Some(new);
        };
        let kept = self.seen_from(space, kept, block);
        let guard = match uses.guard {
            Some(guard) => Some(self.seen_from(space, guard, block)?),
            None => None,
        };
        if let (Some(Value::Known(guard)), Value::Known(new), Some(Value::Known(kept))) =
            (guard, new, kept)
        {
            let negated = instruction.guard.is_some_and(|guard| guard.negated);
            let (guard, new, kept) = (space.of(guard), space.of(new), space.of(kept));
            return Some(space.value(
                |t| {
                    if (guard[t] != 0) != negated { new[t] } else { kept[t] }
                },
            ));
        }
        let mut part = space.label(new);
        for other in kept.into_iter().chain(guard.filter(|_| kept.is_some())) {
            let label = space.label(other);
            part = space.both(part, label);
        }
        Some(Value::Label(part))
    }

    /// What the author says of a value, if it says more than what is known.
    fn as_marked(&self, space: &mut Space, index: usize, value: Value) -> Value {
        let part = match self.code.marked(index) {
            Some("warp") => space.by_warp,
            Some("group") => space.by_group(),
            Some("cta") => space.by_cta,
            _ => return value,
        };
        let (label, groups) = (space.label(value), space.labels(part));
        let all = vec![true; space.count];
        if space.splits(label, &groups, &all) { Value::Label(part) } else { value }
    }

    fn phi(&self, space: &mut Space, id: Id, block: usize, from: &[(usize, Id)]) -> Option<Value> {
        let mut values = Vec::new();
        for &(before, other) in
            from.iter().filter(|&&(before, other)| other != id && self.regions.live[before])
        {
            values.extend(self.seen_from(space, other, before));
        }
        let &first = values.first()?;
        let mut others = from.iter().map(|&(_, other)| other).filter(|&other| other != id);
        let alike = |a: Id, b: Id| self.first_alike[a] == self.first_alike[b];
        let one = others.next().is_none_or(|one| others.all(|other| alike(one, other)));
        let equal = values.iter().all(|&value| value == first);
        if equal && (one || matches!(first, Value::Known(_))) {
            return Some(first);
        }
        let mut part = space.uniform;
        for value in values {
            let label = space.label(value);
            part = space.both(part, label);
        }
        for meeting in &self.regions.meetings[block] {
            if self.brings_different(meeting, id, from) {
                let label = self.branch_label(space, meeting.branch);
                part = space.both(part, label);
            }
        }
        Some(Value::Label(part))
    }

    /// Whether the ways of a branch bring different definitions to a phi.
    fn brings_different(&self, meeting: &Meeting, id: Id, from: &[(usize, Id)]) -> bool {
        // One number is one number, whoever writes it.
        #[derive(PartialEq)]
        enum What {
            Number(Value),
            Definition(Id),
        }
        let mut ways: Vec<Way> = Vec::new();
        let mut whats: Vec<What> = Vec::new();
        for &(before, other) in from {
            let Some(&(_, way)) = meeting.ways.iter().find(|(block, _)| *block == before) else {
                continue;
            };
            let what = match self.values[other] {
                Some(value @ Value::Known(_)) => What::Number(value),
                // Copies of one definition are one, on whichever way they are made, and so is what both ways compute alike.
                Some(_) => What::Definition(self.first_alike[self.through(other)]),
                None if other == id => What::Definition(other),
                None => continue,
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
            if !whats.contains(&what) {
                whats.push(what);
            }
        }
        ways.len() > 1 && whats.len() > 1
    }

    /// What is known of a definition in a block, which may lie behind a loop that it changes in.
    pub fn seen_from(&self, space: &mut Space, id: Id, block: usize) -> Option<Value> {
        let value = self.values[id]?;
        let mut exits: Option<Part> = None;
        for exit in self.exits_between(id, block) {
            let label = self.branch_label(space, exit);
            if label != space.uniform {
                exits = Some(exits.map_or(label, |part| space.both(part, label)));
            }
        }
        let Some(exits) = exits else { return Some(value) };
        let label = space.label(value);
        Some(Value::Label(space.both(label, exits)))
    }

    /// The exits of loops that a definition changes in and that lie between it and a block.
    pub fn exits_between(&self, id: Id, block: usize) -> Vec<usize> {
        let Some(home) = self.block[id].filter(|&home| home != block) else { return Vec::new() };
        let loops = self.around[home].iter().copied();
        let left = loops.filter(|&l| !self.regions.loops[l].body[block] && self.changing[l][id]);
        left.flat_map(|l| self.regions.loops[l].exits.iter().copied()).collect()
    }

    /// What decides at the end of a block where a thread goes: the definition, and what is known of it. `None` where control
    /// does not part.
    pub fn decision(&self, space: &mut Space, block: usize) -> Option<(Id, Option<Value>)> {
        let index = self.code.graph.blocks[block].last();
        let instruction = self.code.body.instructions.get(index)?;
        let uses = &self.ssa.uses[index];
        let id = match (uses.guard, instruction.opcode()) {
            (Some(guard), _) => guard,
            (None, "brx") => match instruction.operands.first() {
                Some(Operand::Register(register)) => uses.read(register.0)?,
                _ => return None,
            },
            _ => return None,
        };
        Some((id, self.seen_from(space, id, block)))
    }

    /// Which threads go the same way at the end of a block.
    pub fn branch_label(&self, space: &mut Space, block: usize) -> Part {
        let index = self.code.graph.blocks[block].last();
        let guarded_table = self.code.body.instructions.get(index).is_some_and(|instruction| {
            instruction.opcode() == "brx" && instruction.guard.is_some()
        });
        if guarded_table {
            return space.varying;
        }
        match self.decision(space, block) {
            Some((_, Some(value))) => space.label(value),
            _ => space.uniform,
        }
    }

    /// What is known of a definition where it is made.
    pub fn value(&self, id: Id) -> Option<Value> {
        self.values[id]
    }

    fn scope<'s>(
        &'s self,
        index: usize,
        seen: &'s dyn Fn(&mut Space, Id) -> Option<Value>,
    ) -> Scope<'s> {
        Scope { code: self.code, ssa: self.ssa, uses: &self.ssa.uses[index], seen }
    }

    /// What is known of an operand of an instruction.
    pub fn operand(&self, space: &mut Space, index: usize, operand: &Operand) -> Option<Value> {
        let block = self.code.graph.block_of[index];
        let seen = |space: &mut Space, id| self.seen_from(space, id, block);
        self.scope(index, &seen).operand(space, operand)
    }

    /// The definition that a chain of moves begins with.
    pub fn through(&self, id: Id) -> Id {
        self.scope(0, &|_: &mut Space, _: Id| None).through(id)
    }

    /// The parameter of the kernel, and the byte of it, that an operand of an instruction was read from.
    pub fn parameter(&self, index: usize, operand: &Operand) -> Option<(u32, i64)> {
        let Operand::Register(register) = operand else { return None };
        let unknown = |_: &mut Space, _: Id| None;
        let scope = self.scope(index, &unknown);
        self.parameter_of(scope.through(self.ssa.uses[index].read(register.0)?))
    }

    /// The same for a definition.
    pub fn parameter_of(&self, id: Id) -> Option<(u32, i64)> {
        let Definition::Result { instruction, register } = self.ssa.definitions[id] else {
            return None;
        };
        let load = self.code.instruction(instruction);
        let [
            to,
            Operand::Address(Address { base: Base::Symbol(Symbol::Param(number)), offset, .. }),
        ] = &load.operands[..]
        else {
            return None;
        };
        let parts = match to {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let part = parts.iter().position(|part| *part == Operand::Register(RegId(register)))?;
        let bytes = operand_type(load)?.bytes();
        Some((*number, offset + part as i64 * i64::from(bytes)))
    }

    // ---- the stack ----

    /// Definitions that may be addresses of the stack: its variables, and what is computed from them.
    fn stack_addresses(&self) -> Vec<bool> {
        let unknown = |_: &mut Space, _: Id| None;
        let mut local = vec![false; self.values.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for id in 0..local.len() {
                let found = !local[id]
                    && match &self.ssa.definitions[id] {
                        Definition::Phi { from, .. } => from.iter().any(|&(_, id)| local[id]),
                        Definition::Result { instruction: index, .. } => {
                            let instruction = self.code.instruction(*index);
                            let scope = self.scope(*index, &unknown);
                            is_pure(instruction)
                                && (instruction.has("local") && instruction.opcode() == "cvta"
                                    || instruction
                                        .operands
                                        .iter()
                                        .any(|o| scope.is_local(&local, o)))
                        }
                        Definition::Unset => false,
                    };
                local[id] |= found;
                changed |= found;
            }
        }
        local
    }

    /// Whether an address of the stack goes where it is not followed: to memory, or to a function.
    fn escapes(&self) -> bool {
        let unknown = |_: &mut Space, _: Id| None;
        self.code.body.instructions.iter().enumerate().any(|(index, instruction)| {
            let scope = self.scope(index, &unknown);
            let data = instruction.operands.iter().filter(|operand| {
                let address = matches!(operand, Operand::Address(_));
                !(address && matches!(instruction.opcode(), "ld" | "st" | "ldu"))
            });
            !is_pure(instruction) && data.into_iter().any(|o| scope.is_local(&self.local, o))
        })
    }

    /// What the contents of the stack depend on: what is stored, where, and whether.
    fn update_stack(&mut self, space: &mut Space) -> bool {
        let mut contents = self.stack.contents;
        for (index, instruction) in self.code.body.instructions.iter().enumerate() {
            let block = self.code.graph.block_of[index];
            if !self.regions.live[block] {
                continue;
            }
            let seen = |space: &mut Space, id| self.seen_from(space, id, block);
            let scope = self.scope(index, &seen);
            let writes = match instruction.opcode() {
                "st" => match scope.place(&self.local, instruction) {
                    Place::Stack => true,
                    Place::Anywhere => self.stack.escapes,
                    Place::Elsewhere => false,
                },
                "call" | "atom" | "red" if self.stack.escapes => {
                    contents = space.varying;
                    false
                }
                _ => false,
            };
            if !writes {
                continue;
            }
            for operand in &instruction.operands {
                if let Some(value) = scope.operand(space, operand) {
                    let label = space.label(value);
                    contents = space.both(contents, label);
                }
            }
            let guard = self.ssa.uses[index].guard.and_then(|id| seen(space, id));
            if let Some(guard) = guard {
                let label = space.label(guard);
                contents = space.both(contents, label);
            }
            for &branch in &self.regions.decided_by[block] {
                let label = self.branch_label(space, branch);
                contents = space.both(contents, label);
            }
        }
        std::mem::replace(&mut self.stack.contents, contents) != contents
    }
}

/// The definitions in a loop whose values may change from round to round.
fn changing(code: &Code, ssa: &Ssa, block: &[Option<usize>], body: &[bool]) -> Vec<bool> {
    let inside = |id: Id| block[id].is_some_and(|b| body[b]);
    let mut users: Vec<Vec<Id>> = vec![Vec::new(); ssa.definitions.len()];
    let mut work = Vec::new();
    for id in (0..ssa.definitions.len()).filter(|&id| inside(id)) {
        match &ssa.definitions[id] {
            Definition::Phi { from, .. } => {
                let mut others = from.iter().map(|&(_, other)| other).filter(|&other| other != id);
                let first = others.next();
                let several = others.any(|other| Some(other) != first);
                if several {
                    work.push(id);
                }
                from.iter().for_each(|&(_, other)| users[other].push(id));
            }
            Definition::Result { instruction: index, .. } => {
                if !is_pure(code.instruction(*index)) || reads_a_clock(code, *index) {
                    work.push(id);
                }
                ssa.uses[*index].all().for_each(|other| users[other].push(id));
            }
            Definition::Unset => {}
        }
    }
    let mut changing = vec![false; ssa.definitions.len()];
    while let Some(id) = work.pop() {
        if !std::mem::replace(&mut changing[id], true) {
            work.extend(users[id].iter().copied().filter(|&user| inside(user)));
        }
    }
    changing
}

/// Whether an instruction reads a special register that changes by itself.
fn reads_a_clock(code: &Code, index: usize) -> bool {
    let inputs = code.inputs(code.instruction(index));
    inputs.iter().any(|operand| match operand {
        Operand::Special(name) => {
            ["clock", "globaltimer", "pm"].iter().any(|clock| name[1..].starts_with(clock))
        }
        _ => false,
    })
}
