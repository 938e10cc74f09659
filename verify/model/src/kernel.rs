//! Compiled kernels: the memory operations of each thread, from the PTX that the compiler emitted.
//!
//! A thread is an entry with arguments and a place. Its parameters are numbers or locations; the
//! address arithmetic in between is executed like all arithmetic, because registers may hold the
//! addresses of locations ([`Program::address`]), and branches are followed. What comes out is a
//! [`Program`], to be judged like one from a litmus file.
//!
//! An instruction that is not understood is an error with its PTX line, never ignored. Calls,
//! textures and local memory are not.

use std::collections::HashMap;

use baton_ptx::{Base, FunctionKind, Module, Operand as Ptx, Symbol};

use crate::litmus::{Condition, Term, compiled_instruction};
use crate::program::{
    Alu, Instruction, Memory, Op, Operand, Program, Proxy, Space, Thread, Type, View,
};
use crate::scope::Placement;

/// What a kernel parameter holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(u64),
    /// The address of a location, by its name.
    Location(String),
}

/// A thread to be.
#[derive(Clone, Debug)]
pub struct KernelThread {
    /// Its name, for conditions and pictures.
    pub name: String,
    /// Where it runs.
    pub place: Placement,
    /// The entry that it runs.
    pub entry: String,
    /// The entry's arguments.
    pub arguments: Vec<Argument>,
    /// Special registers that are not 0, such as `%tid.x`.
    pub special: Vec<(String, u64)>,
}

/// A location in memory.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name. The name of a shared variable of the module binds that variable.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// The type of one element.
    pub ty: Type,
    /// How many.
    pub elements: u32,
    /// The first value of each.
    pub init: u64,
}

/// Threads and the memory that they share.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Locations; two names of one memory are not offered here.
    pub locations: Vec<Location>,
    /// Threads.
    pub threads: Vec<KernelThread>,
    /// How often a backward branch may be taken.
    pub unroll: u32,
}

/// Why no program came out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The module has no such entry.
    #[error("{module} has no entry `{entry}`; it has {present}")]
    NoEntry {
        /// The module.
        module: String,
        /// What was asked for.
        entry: String,
        /// What there is.
        present: String,
    },
    /// The arguments do not fit the entry.
    #[error("entry `{entry}` takes {expected} arguments, not {found}")]
    Arguments {
        /// The entry.
        entry: String,
        /// Its parameters.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// An argument names a location that was not declared.
    #[error("entry `{entry}`: the argument `{location}` is no declared location")]
    NoLocation {
        /// The entry.
        entry: String,
        /// The name.
        location: String,
    },
    /// An instruction that the model does not understand.
    #[error("{module}:{line}: `{text}`: {why}")]
    Instruction {
        /// The module.
        module: String,
        /// PTX line.
        line: u32,
        /// The instruction.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The program that the threads of a setup execute.
pub fn extract(module: &Module, setup: &Setup) -> Result<Program, KernelError> {
    let mut program = Program { unroll: setup.unroll.max(1), ..Program::default() };
    for location in &setup.locations {
        let element = u128::from(location.init).to_le_bytes();
        let element = &element[..location.ty.bytes as usize];
        let index = program.memories.len();
        program.memories.push(Memory {
            name: location.name.clone(),
            space: location.space,
            ty: location.ty,
            init: element.repeat(location.elements as usize),
        });
        program.views.push(View {
            name: location.name.clone(),
            memory: index,
            address: index,
            proxy: if location.space == Space::Tensor { Proxy::Tensor } else { Proxy::Generic },
        });
    }
    for thread in &setup.threads {
        Translator::new(module, thread, &mut program)?.translate()?;
    }
    Ok(program)
}

/// A condition that a memory has a value at the end.
pub fn finally(program: &Program, location: &str, value: u64) -> Option<Condition> {
    let memory = program.memories.iter().position(|memory| memory.name == location)?;
    Some(Condition::Equal(Term::Memory(memory), Term::Number(u128::from(value)), false))
}

struct Translator<'a> {
    module: &'a Module,
    thread: &'a KernelThread,
    program: &'a mut Program,
    function: &'a baton_ptx::Function,
    arguments: Vec<u128>,
    special: HashMap<&'a str, u64>,
}

impl<'a> Translator<'a> {
    fn new(
        module: &'a Module,
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
        let mut arguments = vec![];
        for argument in &thread.arguments {
            arguments.push(match argument {
                Argument::Number(number) => u128::from(*number),
                Argument::Location(name) => {
                    let view = program.views.iter().position(|view| view.name == *name);
                    Program::address(view.ok_or_else(|| KernelError::NoLocation {
                        entry: thread.entry.clone(),
                        location: name.clone(),
                    })?)
                }
            });
        }
        let special = thread.special.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Ok(Self { module, thread, program, function, arguments, special })
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
        match opcode {
            "bra" => {
                let Some(Ptx::Label(label)) = instruction.operands.first() else {
                    return Err(self.error(instruction, "a branch to a label"));
                };
                let target = body.labels.get(label.0 as usize).map_or(0, |label| label.target);
                return Ok(Op::Branch(target));
            }
            "ret" | "exit" => return Ok(Op::Exit),
            "ld" if instruction.has("param") => return self.parameter(instruction),
            "bar" | "barrier" if instruction.has("warp") => {
                return Err(
                    self.error(instruction, "threads of one warp are not modelled together")
                );
            }
            "griddepcontrol" | "pragma" | "nanosleep" | "prefetch" | "setmaxnreg" => {
                return Ok(Op::Alu(Alu::Move, WORD, unused, [ZERO; 3]));
            }
            _ => {}
        }
        // Each modelled thread is alone in its warp.
        if let ("activemask", Some(Ptx::Register(to))) = (opcode, instruction.operands.first()) {
            let one = Operand::Immediate(1);
            return Ok(Op::Alu(Alu::Move, WORD, to.0 as usize, [one, ZERO, ZERO]));
        }
        if let Some(op) = self.arithmetic(instruction)? {
            return Ok(op);
        }
        // Everything that touches memory is written as in litmus files.
        let mut text = instruction.mnemonic.to_string();
        for (index, operand) in instruction.operands.iter().enumerate() {
            text += if index == 0 { " " } else { ", " };
            text += &self.operand_text(instruction, operand)?;
        }
        compiled_instruction(self.program, &text, &self.module.name, instruction.line as usize)
            .map_err(|error| self.error(instruction, format!("expected {}", error.expected)))
    }

    fn parameter(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let [Ptx::Register(to), Ptx::Address(address)] = &*instruction.operands else {
            return Err(self.error(instruction, "one register from one parameter"));
        };
        match &address.base {
            Base::Symbol(Symbol::Param(index)) if address.offset == 0 => {
                let value = self.arguments.get(*index as usize).copied().unwrap_or(0);
                let value = Operand::Immediate(value);
                Ok(Op::Alu(Alu::Move, DOUBLE, to.0 as usize, [value, ZERO, ZERO]))
            }
            _ => Err(self.error(instruction, "a scalar parameter as a whole")),
        }
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
            "setp" => {
                let compare = instruction.modifiers().find_map(crate::program::Compare::named);
                match compare {
                    Some(compare) => Alu::Compare(compare),
                    None => return Err(self.error(instruction, "a plain comparison")),
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
            Ptx::Int(number) => Operand::Immediate(i128::from(*number) as u128),
            Ptx::Special(name) => {
                let name = name.trim_start_matches('%');
                let given =
                    self.special.iter().find(|(known, _)| known.trim_start_matches('%') == name);
                Operand::Immediate(given.map_or(0, |(_, value)| u128::from(*value)))
            }
            Ptx::Symbol(Symbol::Global(name), offset) => {
                let view = self.program.views.iter().position(|view| *view.name == **name);
                let view = view.ok_or_else(|| {
                    self.error(instruction, format!("`{name}` is no declared location"))
                })?;
                Operand::Immediate(Program::address(view).wrapping_add(*offset as u128))
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
        operand: &Ptx,
    ) -> Result<String, KernelError> {
        Ok(match operand {
            Ptx::Sink => "_".to_owned(),
            Ptx::Vector(lanes) => {
                let lanes: Result<Vec<String>, _> =
                    lanes.iter().map(|lane| self.operand_text(instruction, lane)).collect();
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
                    if matches!(instruction.opcode(), "bar" | "barrier" | "cp") =>
                {
                    self.constant(register)
                        .map_or_else(|| format!("r{register}"), |n| n.to_string())
                }
                Operand::Register(register) => format!("r{register}"),
                Operand::Immediate(number) => format!("{}", number as i128),
            },
        })
    }
}

const ZERO: Operand = Operand::Immediate(0);
const WORD: Type = Type { bytes: 4, signed: false };
const DOUBLE: Type = Type { bytes: 8, signed: false };
