//! One thread of a compiled kernel: its PTX instructions as operations.
//!
//! What touches memory is written out and read as in litmus files; what those have no form for
//! (addresses in registers that name tiles, descriptors or peers) is put together here.

use std::collections::HashMap;

use baton_ptx::{Address as PtxAddress, Base, FunctionKind, Module, Operand as Ptx, Symbol};

use super::{Argument, KernelError, KernelThread, Setup, find};
use crate::litmus::compiled_instruction;
use crate::program::{
    Address, Alu, Completion, Group, Instruction, Logic, Op, Operand, Order, Poll, Program, Proxy,
    Register, Space, Tcgen05, Thread, Type, Vote,
};

/// Adds a thread to the program.
pub fn thread(
    module: &Module,
    setup: &Setup,
    thread: &KernelThread,
    program: &mut Program,
) -> Result<(), KernelError> {
    Translator::new(module, setup, thread, program)?.translate()
}

/// Turns the instructions of one thread into operations.
struct Translator<'a> {
    module: &'a Module,
    setup: &'a Setup,
    thread: &'a KernelThread,
    program: &'a mut Program,
    function: &'a baton_ptx::Function,
    /// The contents of the parameters, eight bytes at a time.
    arguments: HashMap<(u32, i64), u128>,
    /// The views that names mean in this thread's CTA.
    names: HashMap<String, usize>,
    special: HashMap<&'a str, u64>,
}

impl<'a> Translator<'a> {
    fn new(
        module: &'a Module,
        setup: &'a Setup,
        thread: &'a KernelThread,
        program: &'a mut Program,
    ) -> Result<Self, KernelError> {
        let entries = || {
            module.functions.iter().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
        };
        let function =
            entries().find(|function| *function.name == thread.entry).ok_or_else(|| {
                let present: Vec<&str> = entries().map(|function| &*function.name).collect();
                KernelError::NoEntry {
                    module: module.name.clone(),
                    entry: thread.entry.clone(),
                    present: if present.is_empty() { "none".into() } else { present.join(", ") },
                }
            })?;
        if function.params.len() != thread.arguments.len() {
            return Err(KernelError::Arguments {
                entry: thread.entry.clone(),
                expected: function.params.len(),
                found: thread.arguments.len(),
            });
        }
        let mut arguments = HashMap::new();
        for (index, argument) in thread.arguments.iter().enumerate() {
            let fields = match argument {
                Argument::Structure(fields) => fields.as_slice(),
                single => std::slice::from_ref(single),
            };
            for (field, argument) in fields.iter().enumerate() {
                let value = match argument {
                    Argument::Number(number) => u128::from(*number),
                    Argument::Location(name) => Program::address(find(program, name)?),
                    Argument::Structure(_) => {
                        return Err(KernelError::Nested { entry: thread.entry.clone() });
                    }
                };
                arguments.insert((index as u32, 8 * field as i64), value);
            }
        }
        let mut names = HashMap::new();
        for (index, view) in program.views.iter().enumerate() {
            let own = program.memories[view.memory].space == Space::Shared(Some(thread.place.cta));
            if own || !names.contains_key(&view.name) {
                names.insert(view.name.clone(), index);
            }
        }
        let special = thread.special.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Ok(Self { module, setup, thread, program, function, arguments, names, special })
    }

    fn error(&self, instruction: &baton_ptx::Instruction, why: impl Into<String>) -> KernelError {
        KernelError::Instruction {
            module: self.module.name.clone(),
            line: instruction.line,
            text: self.module.text(instruction),
            why: why.into(),
        }
    }

    fn translate(mut self) -> Result<(), KernelError> {
        let Some(body) = &self.function.body else { return Ok(()) };
        // Registers keep their dense numbers; the last one takes what nobody wants.
        let registers = (0..=body.registers.len()).map(|register| format!("r{register}")).collect();
        self.program.threads.push(Thread {
            name: self.thread.name.clone(),
            place: self.thread.place,
            registers,
            initial: vec![],
            code: vec![],
        });
        for instruction in &body.instructions {
            let op = self.instruction(instruction, body)?;
            let guard = instruction.guard.map(|guard| (guard.register.0 as usize, guard.negated));
            let text = self.module.text(instruction);
            let line = instruction.line as usize;
            if let Some(thread) = self.program.threads.last_mut() {
                thread.code.push(Instruction { guard, op, line, text });
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        instruction: &baton_ptx::Instruction,
        body: &baton_ptx::Body,
    ) -> Result<Op, KernelError> {
        let opcode = instruction.opcode();
        let unused = body.registers.len();
        let nothing = Op::Alu(Alu::Move, WORD, unused, [ZERO; 3]);
        match opcode {
            "bra" => {
                let Some(Ptx::Label(label)) = instruction.operands.first() else {
                    return Err(self.error(instruction, "a branch to a label"));
                };
                let target = body.labels.get(label.0 as usize).map_or(0, |label| label.target);
                return Ok(Op::Branch(target));
            }
            "brx" => {
                let [index, Ptx::Label(table)] = &*instruction.operands else {
                    return Err(self.error(instruction, "an index and a list of targets"));
                };
                let Some((_, labels)) = body.branch_targets.iter().find(|list| list.0 == *table)
                else {
                    return Err(self.error(instruction, "the label of a `.branchtargets` list"));
                };
                let position = |label: &baton_ptx::LabelId| {
                    body.labels.get(label.0 as usize).map_or(0, |label| label.target)
                };
                let targets = labels.iter().map(position).collect();
                return Ok(Op::BranchIndexed(self.operand(instruction, index)?, targets));
            }
            "ret" | "exit" => return Ok(Op::Exit),
            "trap" => return Ok(Op::Trap),
            "call" if self.never_returns(instruction) => return Ok(Op::Trap),
            "ld" if instruction.has("param") => return self.parameter(instruction),
            "bar" if instruction.has("warp") => return self.warp_barrier(instruction, nothing),
            "griddepcontrol" | "pragma" | "nanosleep" | "prefetch" | "setmaxnreg" => {
                return Ok(nothing);
            }
            "activemask" => {
                if self.warp().1.len() > 1 {
                    return Err(self.error(instruction, "one modelled thread of the warp"));
                }
                let one = Operand::Immediate(1);
                return Ok(Op::Alu(Alu::Move, WORD, self.result(instruction)?, [one, ZERO, ZERO]));
            }
            "elect" => {
                let elected = Operand::Immediate(u128::from(self.is_elected()));
                let to = self.result(instruction)?;
                return Ok(Op::Alu(Alu::Move, BYTE, to, [elected, ZERO, ZERO]));
            }
            "bar" | "barrier" if instruction.has("red") => return self.vote(instruction),
            "mapa" => return self.peer_address(instruction),
            "cp" if instruction.has("tensor") => return self.tensor_copy(instruction),
            "tcgen05" => {
                if let Some(op) = self.tensor_memory(instruction, &nothing)? {
                    return Ok(op);
                }
            }
            _ => {}
        }
        if let Some(op) = self.arithmetic(instruction)? {
            return Ok(op);
        }
        // Everything that touches memory is written as in litmus files.
        let mut text = instruction.mnemonic.to_string();
        for (index, operand) in instruction.operands.iter().enumerate() {
            text += if index == 0 { " " } else { ", " };
            text += &self.operand_text(instruction, index, operand)?;
        }
        let line = instruction.line as usize;
        compiled_instruction(self.program, &self.names, &text, &self.module.name, line)
            .map_err(|error| self.error(instruction, format!("expected {}", error.expected)))
    }

    fn parameter(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let [Ptx::Register(to), Ptx::Address(address)] = &*instruction.operands else {
            return Err(self.error(instruction, "one register from one parameter"));
        };
        let Base::Symbol(Symbol::Param(index)) = &address.base else {
            return Err(self.error(instruction, "a parameter of the entry"));
        };
        let value = self.arguments.get(&(*index, address.offset));
        let value = *value.ok_or_else(|| {
            self.error(instruction, format!("no argument for byte {} was given", address.offset))
        })?;
        Ok(Op::Alu(Alu::Move, DOUBLE, to.0 as usize, [Operand::Immediate(value), ZERO, ZERO]))
    }

    /// The register that an instruction sets: the last of several, as in `_|p`.
    fn result(&self, instruction: &baton_ptx::Instruction) -> Result<Register, KernelError> {
        let mut operand = instruction.operands.first();
        while let Some(Ptx::Pair(_, last)) = operand {
            operand = Some(last);
        }
        match operand {
            Some(Ptx::Register(register)) => Ok(register.0 as usize),
            _ => Err(self.error(instruction, "a register for the result")),
        }
    }

    fn register(
        &self,
        instruction: &baton_ptx::Instruction,
        at: usize,
    ) -> Result<Register, KernelError> {
        match instruction.operands.get(at) {
            Some(Ptx::Register(register)) => Ok(register.0 as usize),
            _ => Err(self.error(instruction, format!("a register as operand {}", at + 1))),
        }
    }

    /// Whether a call only ends the kernel: the callee says so.
    fn never_returns(&self, instruction: &baton_ptx::Instruction) -> bool {
        instruction.operands.iter().any(|operand| match operand {
            Ptx::Symbol(Symbol::Global(name), _) => self
                .module
                .functions
                .iter()
                .any(|f| f.name == *name && f.directive("noreturn").is_some()),
            _ => false,
        })
    }

    /// The modelled threads of this thread's warp, itself among them.
    fn warp(&self) -> (u64, Vec<&KernelThread>) {
        let tid = |thread: &KernelThread| {
            let tid =
                thread.special.iter().find(|(name, _)| name.trim_start_matches('%') == "tid.x");
            tid.map_or(0, |(_, tid)| *tid)
        };
        let warp = |thread: &KernelThread| (thread.place.cta, tid(thread) / 32);
        let mut mates: Vec<&KernelThread> =
            self.setup.threads.iter().filter(|other| warp(other) == warp(self.thread)).collect();
        mates.sort_by_key(|mate| tid(mate));
        (tid(self.thread) / 32, mates)
    }

    /// Whether this is the thread of its warp that `elect.sync` elects: the first modelled one.
    fn is_elected(&self) -> bool {
        let (_, mates) = self.warp();
        mates.first().is_none_or(|first| std::ptr::eq(*first, self.thread))
    }

    /// `bar.warp.sync`: a barrier of the modelled threads of the warp, all of which must take part.
    fn warp_barrier(
        &self,
        instruction: &baton_ptx::Instruction,
        nothing: Op,
    ) -> Result<Op, KernelError> {
        let (warp, mates) = self.warp();
        if mates.len() <= 1 {
            return Ok(nothing);
        }
        let mask = match instruction.operands.first() {
            Some(Ptx::Register(register)) => self.constant(register.0 as usize),
            Some(Ptx::Int(mask)) => Some(*mask),
            _ => None,
        };
        if mask.is_none_or(|mask| mask as u32 != u32::MAX) {
            return Err(self.error(instruction, "the mask of a whole warp, -1"));
        }
        Ok(Op::Barrier {
            id: Operand::Immediate(u128::from(WARPS + warp)),
            count: Some(mates.len() as u32),
            waits: true,
            vote: None,
        })
    }

    /// A number of threads, as the modelled ones are.
    fn modelled(&self, instruction: &baton_ptx::Instruction, position: usize, count: i64) -> i64 {
        let counts = position == 1 && instruction.opcode() != "cp";
        let known = self.setup.counts.iter().find(|(from, _)| counts && i64::from(*from) == count);
        known.map_or(count, |(_, to)| i64::from(*to))
    }

    /// `bar.red` over the modelled threads of a CTA. How many of all threads say yes is not known.
    fn vote(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let op = match (instruction.has("and"), instruction.has("or")) {
            (true, false) => Poll::And,
            (false, true) => Poll::Or,
            _ => return Err(self.error(instruction, "a vote by `.and` or `.or`")),
        };
        let (id, count, own) = match &*instruction.operands {
            [_, id, own] => (id, None, own),
            [_, id, count, own] => (id, Some(count), own),
            _ => return Err(self.error(instruction, "the barrier's number and a predicate")),
        };
        let id = self.operand(instruction, id)?;
        let count = match count.map(|count| self.operand(instruction, count)).transpose()? {
            None => None,
            Some(Operand::Immediate(count)) => Some(count as i64),
            Some(Operand::Register(register)) => {
                let known = self.constant(register);
                Some(known.ok_or_else(|| self.error(instruction, "a constant count of threads"))?)
            }
        };
        let known = |count: i64| {
            let given = self.setup.counts.iter().find(|(from, _)| i64::from(*from) == count);
            given.map_or(count as u32, |(_, to)| *to)
        };
        let own = match own {
            Ptx::Register(register) => (register.0 as usize, false),
            Ptx::Not(register) => (register.0 as usize, true),
            _ => return Err(self.error(instruction, "a predicate to vote with")),
        };
        let vote = Some(Vote { op, to: self.result(instruction)?, own });
        Ok(Op::Barrier { id, count: count.map(known), waits: true, vote })
    }

    fn peer_address(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let [_, address, rank] = &*instruction.operands else {
            return Err(self.error(instruction, "an address and a rank"));
        };
        let cluster = self.thread.place.cluster;
        let same = self.setup.threads.iter().filter(|thread| thread.place.cluster == cluster);
        let mut ctas: Vec<u32> = same.map(|thread| thread.place.cta).collect();
        ctas.sort_unstable();
        ctas.dedup();
        Ok(Op::PeerAddress {
            to: self.result(instruction)?,
            address: self.operand(instruction, address)?,
            rank: self.operand(instruction, rank)?,
            ctas,
        })
    }

    /// An address in a register.
    fn address(
        &self,
        instruction: &baton_ptx::Instruction,
        operand: Option<&Ptx>,
    ) -> Result<Address, KernelError> {
        match operand {
            Some(Ptx::Address(PtxAddress { base: Base::Register(register), offset, .. })) => {
                Ok(Address::Register(register.0 as usize, *offset))
            }
            _ => Err(self.error(instruction, "an address in a register")),
        }
    }

    /// `[map, {x, y}]`: the map, and the tile.
    fn tile(
        &self,
        instruction: &baton_ptx::Instruction,
        operand: Option<&Ptx>,
    ) -> Result<(Address, Address), KernelError> {
        if let Some(Ptx::Address(PtxAddress { base: Base::Register(map), offset: 0, items })) =
            operand
            && let [Ptx::Vector(coordinates)] = items.as_slice()
            && coordinates.len() <= 2
        {
            let mut numbers = [ZERO; 2];
            for (number, coordinate) in numbers.iter_mut().zip(coordinates) {
                *number = self.operand(instruction, coordinate)?;
            }
            let map = map.0 as usize;
            return Ok((Address::Register(map, 0), Address::Tile(map, numbers)));
        }
        Err(self.error(instruction, "a tensor map in a register with one or two coordinates"))
    }

    /// A bulk copy of a tile, in either direction.
    fn tensor_copy(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let (first, second) = (instruction.operands.first(), instruction.operands.get(1));
        let plain = !instruction.has("reduce")
            && !instruction.has("prefetch")
            && !instruction.has("multicast::cluster");
        let (to, from, map, completion) = if plain && instruction.has("bulk_group") {
            let (map, tile) = self.tile(instruction, first)?;
            (tile, self.address(instruction, second)?, map, Completion::Group(Group::Bulk))
        } else if plain && instruction.has("mbarrier::complete_tx::bytes") {
            let (map, tile) = self.tile(instruction, second)?;
            let barrier = self.address(instruction, instruction.operands.get(2))?;
            (self.address(instruction, first)?, tile, map, Completion::Mbarrier(barrier))
        } else {
            return Err(self.error(instruction, "a plain copy between a tile and shared memory"));
        };
        let map = Some(map);
        Ok(Op::Bulk {
            to,
            from,
            bytes: 4,
            zeros: 0,
            completion,
            map,
            reduce: None,
            order: Order::WEAK,
        })
    }

    /// What a matrix descriptor names: a place in the CTA's only shared memory.
    fn descriptor(
        &self,
        instruction: &baton_ptx::Instruction,
        at: usize,
    ) -> Result<Address, KernelError> {
        let register = self.register(instruction, at)?;
        let own = Space::Shared(Some(self.thread.place.cta));
        let mut shared = (0..self.program.views.len())
            .filter(|view| self.program.memories[self.program.views[*view].memory].space == own);
        match (shared.next(), shared.next()) {
            (Some(view), None) => Ok(Address::Descriptor(view, register)),
            _ => {
                Err(self
                    .error(instruction, "descriptors need one location in the CTA's shared memory"))
            }
        }
    }

    /// Those tcgen05 instructions that litmus files write in another way.
    fn tensor_memory(
        &self,
        instruction: &baton_ptx::Instruction,
        nothing: &Op,
    ) -> Result<Option<Op>, KernelError> {
        let lanes = |operand: Option<&Ptx>| match operand {
            Some(Ptx::Vector(lanes)) => lanes.clone(),
            Some(single) => vec![single.clone()],
            None => vec![],
        };
        let (first, second) = (instruction.operands.first(), instruction.operands.get(1));
        Ok(Some(match instruction.modifiers().next() {
            // The address of the one tensor memory is written by an ordinary weak store.
            Some("alloc") => {
                let to = self.address(instruction, first)?;
                let tensor = |view: &usize| {
                    self.program.memories[self.program.views[*view].memory].space == Space::Tensor
                };
                let view = (0..self.program.views.len()).find(tensor);
                let view =
                    view.ok_or_else(|| self.error(instruction, "a location in tensor memory"))?;
                let value = vec![Operand::Immediate(Program::address(view))];
                Op::Store(value, WORD, Order::WEAK, Proxy::Generic, to)
            }
            Some("dealloc" | "relinquish_alloc_permit") => nothing.clone(),
            Some("ld") if !instruction.has("red") => {
                let registers = lanes(first).into_iter().map(|lane| match lane {
                    Ptx::Register(register) => Ok(register.0 as usize),
                    _ => Err(self.error(instruction, "registers")),
                });
                let registers = registers.collect::<Result<_, _>>()?;
                Op::Tcgen05(Tcgen05::Load(registers, self.address(instruction, second)?))
            }
            Some("st") => {
                let values = lanes(second);
                let values = values.iter().map(|lane| self.operand(instruction, lane));
                let values = values.collect::<Result<_, _>>()?;
                Op::Tcgen05(Tcgen05::Store(self.address(instruction, first)?, values))
            }
            Some("mma") if !instruction.has("sp") && !instruction.has("ws") => {
                let accumulate = Operand::Register(self.register(instruction, 4)?);
                Op::Tcgen05(Tcgen05::Mma {
                    d: self.address(instruction, first)?,
                    a: self.descriptor(instruction, 1)?,
                    b: self.descriptor(instruction, 2)?,
                    accumulate,
                })
            }
            Some("cp") => Op::Tcgen05(Tcgen05::Copy(
                self.address(instruction, first)?,
                self.descriptor(instruction, 1)?,
            )),
            _ => return Ok(None),
        }))
    }

    fn arithmetic(&self, instruction: &baton_ptx::Instruction) -> Result<Option<Op>, KernelError> {
        let opcode = instruction.opcode();
        let wide = instruction.has("wide");
        let types: Vec<Type> = instruction.modifiers().filter_map(Type::named).collect();
        let predicate = instruction.has("pred");
        let alu = match opcode {
            "mov" | "cvt" | "cvta" => Alu::Move,
            "add" => Alu::Add,
            "sub" => Alu::Sub,
            "mul" if instruction.has("hi") => Alu::MulHigh,
            "mul" => Alu::Mul,
            "mad" if !instruction.has("hi") => Alu::Mad,
            "and" => Alu::And,
            "or" => Alu::Or,
            "xor" => Alu::Xor,
            "not" if predicate => Alu::Compare(crate::program::Compare::Eq),
            "not" => Alu::Not,
            "neg" => Alu::Neg,
            "shl" => Alu::Shl,
            "shr" => Alu::Shr,
            "min" => Alu::Min,
            "max" => Alu::Max,
            "div" => Alu::Div,
            "rem" => Alu::Rem,
            "selp" => Alu::Select,
            "bfe" => Alu::BitField,
            "setp" => {
                let compare = instruction.modifiers().find_map(crate::program::Compare::named);
                let with = instruction.modifiers().find_map(Logic::named);
                let negated = matches!(instruction.operands.last(), Some(Ptx::Not(_)));
                match (compare, with, &*instruction.operands) {
                    (Some(compare), None, [_, _, _]) => Alu::Compare(compare),
                    (Some(compare), Some(logic), [_, _, _, _]) => {
                        Alu::CompareWith(compare, logic, negated)
                    }
                    _ => return Err(self.error(instruction, "a plain comparison")),
                }
            }
            _ => return Ok(None),
        };
        if instruction
            .modifiers()
            .any(|m| matches!(m, "f16" | "f32" | "f64" | "bf16" | "rn" | "f16x2"))
            && alu != Alu::Move
        {
            return Err(self.error(instruction, "integer arithmetic only"));
        }
        let Some((to, sources)) = instruction.operands.split_first() else {
            return Err(self.error(instruction, "a destination"));
        };
        let to = match to {
            Ptx::Register(register) => register.0 as usize,
            _ => return Err(self.error(instruction, "one register as destination")),
        };
        let mut operands = [ZERO; 3];
        if sources.len() > operands.len() {
            return Err(self.error(instruction, "at most three operands"));
        }
        for (operand, source) in operands.iter_mut().zip(sources) {
            *operand = self.operand(instruction, source)?;
        }
        // A conversion takes its source's type; a wide product twice the width of its factors.
        let ty = match (alu, types.as_slice()) {
            (Alu::Move, [_, from]) if opcode == "cvt" => *from,
            (_, [ty, ..]) if wide => Type { bytes: 2 * ty.bytes, ..*ty },
            (_, [ty, ..]) => *ty,
            (_, []) if predicate => Type { bytes: 1, signed: false },
            (_, []) => DOUBLE,
        };
        Ok(Some(Op::Alu(alu, ty, to, operands)))
    }

    fn operand(
        &self,
        instruction: &baton_ptx::Instruction,
        operand: &Ptx,
    ) -> Result<Operand, KernelError> {
        Ok(match operand {
            Ptx::Register(register) => Operand::Register(register.0 as usize),
            Ptx::Not(register) if instruction.opcode() == "setp" => {
                Operand::Register(register.0 as usize)
            }
            Ptx::Int(number) => Operand::Immediate(i128::from(*number) as u128),
            Ptx::Special(name) => {
                let name = name.trim_start_matches('%');
                let given =
                    self.special.iter().find(|(known, _)| known.trim_start_matches('%') == name);
                Operand::Immediate(given.map_or(0, |(_, value)| u128::from(*value)))
            }
            Ptx::Symbol(Symbol::Global(name), offset) => {
                let view = self.names.get(&**name).ok_or_else(|| {
                    self.error(instruction, format!("`{name}` is no declared location"))
                })?;
                Operand::Immediate(Program::address(*view).wrapping_add(*offset as u128))
            }
            // The address of a tensor map is that of the parameter that holds it.
            Ptx::Symbol(Symbol::Param(index), 0) => {
                let value = self.arguments.get(&(*index, 0)).copied();
                let map =
                    value.and_then(|value| self.program.view_at(value)).filter(|(view, _)| {
                        let memory = self.program.views[*view].memory;
                        self.program.memories[memory].space == Space::TensorMap
                    });
                if map.is_none() {
                    return Err(self.error(instruction, "the address of a tensor map's parameter"));
                }
                Operand::Immediate(value.unwrap_or(0))
            }
            _ => return Err(self.error(instruction, "registers, numbers and declared locations")),
        })
    }

    /// The number that a register holds, if a single instruction sets it and sets it to one.
    fn constant(&self, register: usize) -> Option<i64> {
        let body = self.function.body.as_ref()?;
        let sets = |instruction: &&baton_ptx::Instruction| {
            matches!(instruction.operands.first(), Some(Ptx::Register(to)) if to.0 as usize == register)
                && !matches!(instruction.opcode(), "st" | "red" | "bar")
        };
        let mut setting = body.instructions.iter().filter(sets);
        match (setting.next(), setting.next()) {
            (Some(only), None) if only.opcode() == "mov" && only.guard.is_none() => {
                match only.operands.get(1) {
                    Some(Ptx::Int(number)) => Some(*number),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn operand_text(
        &self,
        instruction: &baton_ptx::Instruction,
        position: usize,
        operand: &Ptx,
    ) -> Result<String, KernelError> {
        Ok(match operand {
            Ptx::Sink => "_".to_owned(),
            Ptx::Vector(lanes) => {
                let lanes: Result<Vec<String>, _> = lanes
                    .iter()
                    .map(|lane| self.operand_text(instruction, position, lane))
                    .collect();
                format!("{{{}}}", lanes?.join(", "))
            }
            Ptx::Address(address) => {
                let base = match &address.base {
                    Base::Register(register) => format!("r{}", register.0),
                    Base::Symbol(Symbol::Global(name)) => name.to_string(),
                    _ => return Err(self.error(instruction, "an address in a register")),
                };
                let mut text = format!("[{base}");
                if address.offset != 0 {
                    text += &format!("+{}", address.offset);
                }
                text + "]"
            }
            other => match self.operand(instruction, other)? {
                // Numbers of barriers and of bytes stand in registers that are set once.
                Operand::Register(register)
                    if matches!(instruction.opcode(), "bar" | "barrier" | "cp")
                        || instruction.has("init") =>
                {
                    self.constant(register).map_or_else(
                        || format!("r{register}"),
                        |n| self.modelled(instruction, position, n).to_string(),
                    )
                }
                Operand::Register(register) => format!("r{register}"),
                Operand::Immediate(number) => format!("{}", number as i128),
            },
        })
    }
}

/// Numbers of the barriers of warps: past all that a thread block has.
const WARPS: u64 = 1 << 16;
const ZERO: Operand = Operand::Immediate(0);
const BYTE: Type = Type { bytes: 1, signed: false };
const WORD: Type = Type { bytes: 4, signed: false };
const DOUBLE: Type = Type { bytes: 8, signed: false };
