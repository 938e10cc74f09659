//! What registers and writes hold, said by the reads of the thread: expressions, and what is known of them
//! byte by byte.

use std::rc::Rc;

use crate::candidate::Candidate;
use crate::program::{Alu, Modify, Op, Operand, Type};

/// Bytes of a register.
pub const WIDTH: usize = 16;

/// A value.
#[derive(Debug)]
pub enum Expression {
    Number(u128),
    /// What an event reads, extended to a register.
    Read(usize, Type),
    /// Arithmetic on operands.
    Compute(Function, Type, [Rc<Expression>; 3]),
}

/// What is computed: an instruction's result, or what an atomic operation writes (of the old value and two
/// arguments).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Alu(Alu),
    Modify(Modify),
}

impl Function {
    pub fn compute(self, ty: Type, args: [u128; 3]) -> u128 {
        match self {
            Function::Alu(alu) => alu.compute(ty, args),
            Function::Modify(modify) => modify.apply(ty, args[0], [args[1], args[2]]),
        }
    }

    /// How bytes of the result follow from bytes of the operands.
    pub fn flow(self) -> Flow {
        match self {
            Function::Alu(Alu::Move) => Flow::Copy(0),
            Function::Modify(Modify::Exchange) => Flow::Copy(1),
            Function::Alu(Alu::Add) | Function::Modify(Modify::Add) => Flow::Sum,
            Function::Alu(Alu::Xor) | Function::Modify(Modify::Xor) => Flow::Bytewise(true),
            Function::Alu(Alu::And | Alu::Or) | Function::Modify(Modify::And | Modify::Or) => {
                Flow::Bytewise(false)
            }
            Function::Modify(Modify::CompareExchange) => Flow::Compare,
            Function::Alu(_) | Function::Modify(_) => Flow::Whole,
        }
    }
}

/// How bytes flow from operands to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// From the bytes of this operand.
    Copy(usize),
    /// From this byte and lower ones, of the first two operands.
    Sum,
    /// From this byte of the first two operands; whether one of them and the result tell the other.
    Bytewise(bool),
    /// The third operand if the first two are equal, else the first.
    Compare,
    /// From everything.
    Whole,
}

/// A value of which some bytes are known; the others are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    pub value: u128,
    pub known: u16,
}

impl Partial {
    pub const UNKNOWN: Self = Self { value: 0, known: 0 };

    pub fn whole(value: u128) -> Self {
        Self { value, known: u16::MAX }
    }

    pub fn is_whole(self) -> bool {
        self.known == u16::MAX
    }

    pub fn byte(self, at: usize) -> Option<u8> {
        (self.known >> at & 1 == 1).then_some((self.value >> (8 * at)) as u8)
    }

    pub fn set(&mut self, at: usize, byte: u8) {
        self.value |= u128::from(byte) << (8 * at);
        self.known |= 1 << at;
    }

    /// How many of the lowest bytes are known.
    pub fn prefix(self) -> usize {
        self.known.trailing_ones() as usize
    }

    /// The first `bytes` as a number; the rest left out.
    pub fn low(self, bytes: usize) -> u128 {
        if bytes >= WIDTH { self.value } else { self.value & ((1 << (8 * bytes)) - 1) }
    }

    /// Reduced to a type and extended again.
    fn wrap(self, ty: Type) -> Self {
        let bytes = ty.bytes as usize;
        let kept = if bytes >= WIDTH { u16::MAX } else { (1 << bytes) - 1 };
        let rest = if !ty.signed || self.byte(bytes - 1).is_some() { !kept } else { 0 };
        let value = ty.wrap(self.value);
        let value = if rest == 0 { Self { value, known: 0 }.low(bytes) } else { value };
        Self { value, known: self.known & kept | rest }
    }
}

impl Expression {
    /// What is known of it, given what is known of the reads.
    pub fn value(&self, reads: &[Partial]) -> Partial {
        match self {
            Expression::Number(number) => Partial::whole(*number),
            Expression::Read(event, ty) => reads[*event].wrap(*ty),
            Expression::Compute(function, ty, operands) => {
                let args = [0, 1, 2].map(|at| operands[at].value(reads));
                if args.iter().all(|arg| arg.is_whole()) {
                    return Partial::whole(function.compute(*ty, args.map(|arg| arg.value)));
                }
                let mut result = Partial::UNKNOWN;
                let [a, b, _] = args;
                match function.flow() {
                    Flow::Copy(from) => result = args[from],
                    Flow::Sum => {
                        let bytes = a.prefix().min(b.prefix());
                        let sum = Partial::whole(a.low(bytes).wrapping_add(b.low(bytes)));
                        let known = if bytes >= WIDTH { u16::MAX } else { (1 << bytes) - 1 };
                        result = Partial { value: sum.low(bytes), known };
                    }
                    Flow::Bytewise(_) => {
                        let value = function
                            .compute(Type { bytes: 16, signed: false }, [a.value, b.value, 0]);
                        for at in (0..WIDTH).filter(|at| a.known & b.known & 1 << at != 0) {
                            result.set(at, (value >> (8 * at)) as u8);
                        }
                    }
                    Flow::Compare | Flow::Whole => {}
                }
                result.wrap(*ty)
            }
        }
    }

    /// Adds the bytes of reads that decide its byte `at`.
    pub fn leaves(&self, at: usize, add: &mut impl FnMut(usize, usize)) {
        match self {
            Expression::Number(_) => {}
            Expression::Read(event, ty) => match (at < ty.bytes as usize, ty.signed) {
                (true, _) => add(*event, at),
                (false, true) => add(*event, ty.bytes as usize - 1),
                (false, false) => {}
            },
            Expression::Compute(function, ty, operands) => {
                let top = ty.bytes as usize - 1;
                if at > top && !ty.signed && !matches!(function.flow(), Flow::Whole) {
                    return;
                }
                let at = at.min(top);
                let [a, b, c] = operands;
                match function.flow() {
                    Flow::Copy(from) => operands[from].leaves(at, add),
                    Flow::Sum => (0..=at).for_each(|at| {
                        a.leaves(at, add);
                        b.leaves(at, add);
                    }),
                    Flow::Bytewise(_) => {
                        a.leaves(at, add);
                        b.leaves(at, add);
                    }
                    Flow::Compare => {
                        for at in 0..=top {
                            a.leaves(at, add);
                            b.leaves(at, add);
                        }
                        c.leaves(at, add);
                    }
                    Flow::Whole => {
                        for at in 0..WIDTH {
                            operands.iter().for_each(|operand| operand.leaves(at, add));
                        }
                    }
                }
            }
        }
    }
}

/// The values of all writes (by event), and of all registers at the end (by thread), of a program without
/// branches of which each read is an event of the candidate. `None` for other programs.
#[derive(Debug)]
pub struct Values {
    pub writes: Vec<Option<Rc<Expression>>>,
    pub registers: Vec<Vec<Rc<Expression>>>,
}

impl Values {
    pub fn new(candidate: &Candidate<'_>) -> Option<Self> {
        let mut writes: Vec<Option<Rc<Expression>>> = vec![None; candidate.events.len()];
        let mut all = vec![];
        for (thread, declared) in candidate.program.threads.iter().enumerate() {
            let mut registers: Vec<_> =
                declared.registers.iter().map(|_| Rc::new(Expression::Number(0))).collect();
            for (register, value) in &declared.initial {
                registers[*register] = Rc::new(Expression::Number(*value));
            }
            let end = candidate.starts.get(thread + 1).copied();
            let mut events = candidate.starts[thread]..end.unwrap_or(candidate.events.len());
            for instruction in &declared.code {
                if instruction.guard.is_some() {
                    return None;
                }
                let value = |registers: &[Rc<Expression>], operand: Operand| match operand {
                    Operand::Register(register) => Rc::clone(&registers[register]),
                    Operand::Immediate(number) => Rc::new(Expression::Number(number)),
                };
                match &instruction.op {
                    Op::Alu(alu, ty, to, operands) => {
                        let operands = operands.map(|operand| value(&registers, operand));
                        let result = Expression::Compute(Function::Alu(*alu), *ty, operands);
                        registers[*to] = Rc::new(result);
                    }
                    Op::Load(to, ty, ..) => {
                        for register in to {
                            let read = Expression::Read(events.next()?, *ty);
                            registers[*register] = Rc::new(read);
                        }
                    }
                    Op::Store(values, ..) => {
                        for operand in values {
                            writes[events.next()?] = Some(value(&registers, *operand));
                        }
                    }
                    Op::Rmw(rmw) => {
                        let old = Rc::new(Expression::Read(events.next()?, rmw.ty));
                        let [a, b] = rmw.args.map(|operand| value(&registers, operand));
                        let new = Function::Modify(rmw.modify);
                        let new = Expression::Compute(new, rmw.ty, [Rc::clone(&old), a, b]);
                        writes[events.next()?] = Some(Rc::new(new));
                        if let Some(to) = rmw.to {
                            registers[to] = old;
                        }
                    }
                    Op::Fence(..) => {
                        events.next()?;
                    }
                    Op::Exit => break,
                    _ => return None,
                }
            }
            if events.next().is_some() {
                return None;
            }
            all.push(registers);
        }
        Some(Self { writes, registers: all })
    }
}
