//! Values: arithmetic, operands, constants that are known before the thread runs.

use baton_ptx::{Base, Operand as Ptx, Symbol};

use super::super::KernelError;
use super::{DOUBLE, Translator, ZERO};
use crate::program::{Alu, Logic, Op, Operand, Program, Space, Type};

impl Translator<'_> {
    pub(super) fn arithmetic(
        &self,
        instruction: &baton_ptx::Instruction,
    ) -> Result<Option<Op>, KernelError> {
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

    pub(super) fn operand(
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
    pub(super) fn constant(&self, register: usize) -> Option<i64> {
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

    pub(super) fn operand_text(
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
