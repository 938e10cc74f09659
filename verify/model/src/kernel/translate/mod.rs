//! One thread of a compiled kernel: its PTX instructions as operations.
//!
//! What touches memory is written out and read as in litmus files; what those have no form for
//! ([addresses](address) in registers that name tiles, descriptors or peers, [values](value), and what
//! the threads of a [warp] do together) is put together here.

mod address;
mod value;
mod warp;

use std::collections::HashMap;

use baton_ptx::{Base, FunctionKind, Module, Operand as Ptx, Symbol};

use super::{Argument, KernelError, KernelThread, Setup, find};
use crate::litmus::compiled_instruction;
use crate::program::{Alu, Instruction, Op, Operand, Program, Register, Space, Thread, Type};

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
}

const ZERO: Operand = Operand::Immediate(0);
const BYTE: Type = Type { bytes: 1, signed: false };
const WORD: Type = Type { bytes: 4, signed: false };
const DOUBLE: Type = Type { bytes: 8, signed: false };
