//! What an instruction's result is known to be, from what its operands are known to be.
//!
//! A load gives threads with one address one value, if it is not *strong*: this assumes that nobody writes there at the same
//! time, which others look for. Strong loads, atomics and tests of barriers may answer each thread otherwise. What a warp
//! computes together is in `lanes`; the rest are functions of their operands, of which integers are followed as numbers
//! ([`super::fold`], [`super::multiple`]).

use baton_ptx::{Address, Base, Instruction, Operand, Symbol};

use super::code::{Code, mentioned};
use super::fold::fold;
use super::space::{Part, Space, Value};
use super::ssa::{Definition, Id, Ssa, Uses};
use super::{lanes, multiple, special};

/// What is known of the definitions that one instruction sees.
pub(super) struct Scope<'a> {
    pub code: &'a Code,
    pub ssa: &'a Ssa,
    pub uses: &'a Uses,
    /// The definition of each use, as it is seen here; `None` for what nothing is known of yet.
    pub seen: &'a dyn Fn(&mut Space, Id) -> Option<Value>,
}

/// Memory that each thread has for itself, as one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    /// What its contents depend on.
    pub contents: Part,
    /// Whether addresses of it may come from memory.
    pub escapes: bool,
}

/// Where a memory instruction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stack,
    /// Perhaps the stack.
    Anywhere,
    /// Not the stack.
    Elsewhere,
}

/// Functions of their operands.
const PURE: [&str; 70] = [
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "getctarank",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "vabsdiff",
    "vadd",
    "vmad",
    "vmax",
    "vmin",
    "vset",
    "vshl",
    "vshr",
    "vsub",
    "xor",
    "ld.param",
    "st.param",
];

/// Whether an instruction gives the same operands the same result.
pub(super) fn is_pure(instruction: &Instruction) -> bool {
    let opcode = instruction.opcode();
    PURE.contains(&opcode) || moves_argument(instruction)
}

/// Whether it moves an argument or a result of a call, or reads a parameter of the kernel.
fn moves_argument(instruction: &Instruction) -> bool {
    matches!(instruction.opcode(), "ld" | "st") && instruction.modifiers().next() == Some("param")
}

impl Scope<'_> {
    /// What is known of an operand. Outer `None`: nothing yet.
    pub fn operand(&self, space: &mut Space, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Int(number) => Some(space.value(|_| *number as u64)),
            Operand::F32(bits) => Some(space.value(|_| u64::from(*bits))),
            Operand::F64(bits) => Some(space.value(|_| *bits)),
            Operand::Special(name) if &**name == "WARP_SZ" => Some(space.value(|_| 32)),
            Operand::Special(name) => {
                let varying = Value::Label(space.varying);
                Some(special::value(space, name).unwrap_or(varying))
            }
            Operand::Not(_) => {
                let value = self.register(space, operand)?;
                let Value::Known(numbers) = value else { return Some(value) };
                let numbers = space.of(numbers);
                Some(space.value(|t| u64::from(numbers[t] == 0)))
            }
            Operand::Register(_) => self.register(space, operand),
            // What the address of an argument's variable leads to is not followed.
            Operand::Symbol(..) if !mentioned(&self.code.body, operand).is_empty() => {
                Some(Value::Label(space.varying))
            }
            Operand::Symbol(..) | Operand::Label(_) | Operand::Sink => {
                Some(Value::Label(space.uniform))
            }
            _ => self.parts(space, operand),
        }
    }

    fn register(&self, space: &mut Space, operand: &Operand) -> Option<Value> {
        let register = mentioned(&self.code.body, operand).first().copied()?;
        (self.seen)(space, self.uses.read(register)?)
    }

    /// Which threads agree in all registers of an operand of several parts.
    fn parts(&self, space: &mut Space, operand: &Operand) -> Option<Value> {
        let mut part = space.uniform;
        for register in mentioned(&self.code.body, operand) {
            let Some(id) = self.uses.read(register) else { continue };
            let value = (self.seen)(space, id)?;
            let label = space.label(value);
            part = space.both(part, label);
        }
        let items = match operand {
            Operand::Vector(items) | Operand::List(items) => &items[..],
            Operand::Address(Address { items, .. }) => &items[..],
            _ => &[],
        };
        for item in items.iter().filter(|item| matches!(item, Operand::Special(_))) {
            let value = self.operand(space, item)?;
            let label = space.label(value);
            part = space.both(part, label);
        }
        Some(Value::Label(part))
    }

    /// The instruction whose result an operand is, through moves.
    pub fn origin(&self, operand: &Operand) -> Option<usize> {
        let Operand::Register(register) = operand else { return None };
        self.made_by(self.uses.read(register.0)?)
    }

    /// The instruction that makes a value, through moves.
    fn made_by(&self, id: Id) -> Option<usize> {
        let Definition::Result { instruction, .. } = self.ssa.definitions[self.through(id)] else {
            return None;
        };
        Some(instruction)
    }

    /// The definition that a chain of moves begins with.
    pub fn through(&self, mut id: Id) -> Id {
        while let Definition::Result { instruction: index, .. } = self.ssa.definitions[id] {
            let instruction = self.code.instruction(index);
            let plain = instruction.opcode() == "mov" && instruction.guard.is_none();
            let [Operand::Register(_), Operand::Register(from)] = &instruction.operands[..] else {
                break;
            };
            match self.ssa.uses[index].read(from.0).filter(|_| plain) {
                Some(next) => id = next,
                None => break,
            }
        }
        id
    }

    /// Whether an operand may hold an address of the stack. `local` says it of each definition.
    pub fn is_local(&self, local: &[bool], operand: &Operand) -> bool {
        let declared = |symbol: &Symbol| match symbol {
            Symbol::Local(id) => {
                self.code.body.variables[id.0 as usize].space == baton_ptx::Space::Local
            }
            _ => false,
        };
        let named = match operand {
            Operand::Symbol(symbol, _) => declared(symbol),
            Operand::Address(Address { base: Base::Symbol(symbol), .. }) => declared(symbol),
            _ => false,
        };
        let registers = mentioned(&self.code.body, operand);
        let mut read = registers.into_iter().filter_map(|register| self.uses.read(register));
        named || read.any(|id| local[id])
    }

    /// Where a load or store goes.
    pub fn place(&self, local: &[bool], instruction: &Instruction) -> Place {
        let address = instruction.operands.iter().find(|o| matches!(o, Operand::Address(_)));
        if instruction.has("local") || address.is_some_and(|o| self.is_local(local, o)) {
            return Place::Stack;
        }
        let named = instruction.modifiers().any(|m| {
            matches!(m, "global" | "const" | "param") || m == "shared" || m.starts_with("shared::")
        });
        if named { Place::Elsewhere } else { Place::Anywhere }
    }
}

/// What is known of one result of an instruction; `None` if too little is known of its operands yet.
pub(super) fn transfer(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    second: bool,
    stack: Stack,
    local: &[bool],
) -> Option<Value> {
    let inputs = scope.code.inputs(instruction);
    if instruction.opcode() == "call" {
        return Some(Value::Label(space.varying));
    }
    if moves_argument(instruction) {
        return argument(space, scope, instruction);
    }
    let values: Vec<Value> =
        inputs.iter().map(|operand| scope.operand(space, operand)).collect::<Option<_>>()?;
    if let Some(value) = lanes::transfer(space, scope, instruction, &values, second) {
        return Some(value);
    }
    let agreed = agreement(space, &values);
    let agreed =
        if instruction.has("cc") || matches!(instruction.opcode(), "addc" | "subc" | "madc") {
            // The carry is a register too, which no operand names.
            let hidden = scope.uses.read(scope.code.carry());
            match hidden.map(|id| (scope.seen)(space, id)) {
                Some(None) => return None,
                Some(Some(carry)) => {
                    let carry = space.label(carry);
                    space.both(agreed, carry)
                }
                None => agreed,
            }
        } else {
            agreed
        };
    if matches!(instruction.opcode(), "ld" | "ldu") {
        return Some(Value::Label(loaded(space, scope, instruction, agreed, stack, local)));
    }
    if matches!(instruction.opcode(), "clusterlaunchcontrol" | "tex") {
        return Some(Value::Label(agreed));
    }
    if !is_pure(instruction) {
        return Some(Value::Label(space.varying));
    }
    Some(pure(space, scope, instruction, &values, second).unwrap_or(Value::Label(agreed)))
}

/// Threads that agree in all values.
fn agreement(space: &mut Space, values: &[Value]) -> Part {
    let mut part = space.uniform;
    for &value in values {
        let label = space.label(value);
        part = space.both(part, label);
    }
    part
}

/// A parameter of the kernel is the same for all threads; a variable of a call holds what was stored to it.
fn argument(space: &mut Space, scope: &Scope<'_>, instruction: &Instruction) -> Option<Value> {
    let whole = scope.code.moves_all(instruction);
    if instruction.opcode() == "st" {
        let value = scope.operand(space, instruction.operands.get(1)?)?;
        return Some(if whole { value } else { Value::Label(space.label(value)) });
    }
    let value = scope.parts(space, instruction.operands.get(1)?)?;
    let carrier = scope.code.carried(instruction).and_then(|register| scope.uses.read(register));
    match carrier {
        Some(id) if whole => (scope.seen)(space, id),
        _ => Some(value),
    }
}

fn loaded(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    address: Part,
    stack: Stack,
    local: &[bool],
) -> Part {
    let strong = ["volatile", "relaxed", "acquire", "mmio"].iter().any(|m| instruction.has(m));
    match scope.place(local, instruction) {
        Place::Stack => return space.both(address, stack.contents),
        Place::Anywhere if stack.escapes => {
            let both = space.both(address, stack.contents);
            return if strong { space.varying } else { both };
        }
        _ => {}
    }
    let shared = instruction.modifiers().any(|m| matches!(m, "shared" | "shared::cta"));
    if strong {
        space.varying
    } else if shared {
        // One address, another memory in each CTA.
        space.both(address, space.by_cta)
    } else {
        address
    }
}

/// Arithmetic; `None` where only the agreement of the operands is known.
fn pure(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    values: &[Value],
    second: bool,
) -> Option<Value> {
    // Parts of a register are not followed as numbers.
    if !matches!(instruction.operands.first(), Some(Operand::Register(_) | Operand::Pair(..))) {
        return None;
    }
    let known = |value: &Value| match value {
        Value::Known(numbers) => Some(space.of(*numbers)),
        _ => None,
    };
    if let Some(lists) = values.iter().map(known).collect::<Option<Vec<_>>>() {
        let in_thread = |t: usize| {
            let values: Vec<u64> = lists.iter().map(|list| list[t]).collect();
            fold(instruction, &values, second)
        };
        let numbers = (0..space.count).map(in_thread).collect::<Option<Vec<u64>>>();
        return numbers.map(|numbers| space.value(|t| numbers[t]));
    }
    if instruction.opcode() == "and" || instruction.opcode() == "mul" {
        let zero = Value::Known(space.zero);
        if values.contains(&zero) {
            return Some(zero);
        }
    }
    if second {
        return None;
    }
    multiple::transfer(space, instruction, values)
        .or_else(|| cluster_number(space, scope, instruction, values))
}

/// The number of a cluster, from that of a CTA: `%ctaid / %cluster_nctaid`.
fn cluster_number(
    space: &mut Space,
    scope: &Scope<'_>,
    instruction: &Instruction,
    values: &[Value],
) -> Option<Value> {
    let by = space.one(*values.get(1)?)?;
    let by = match instruction.opcode() {
        "shr" => 1u64.checked_shl(by as u32)?,
        "div" if by != 0 => by,
        _ => return None,
    };
    let origin = scope.code.instruction(scope.origin(&instruction.operands[1])?);
    let axis = match (origin.opcode(), &origin.operands[..]) {
        ("mov", [_, Operand::Special(name)]) => match &**name {
            "%ctaid.x" => 0,
            "%ctaid.y" => 1,
            "%ctaid.z" => 2,
            _ => return None,
        },
        _ => return None,
    };
    let ctas = u64::from(space.launch.cluster[axis].max(1));
    by.is_multiple_of(ctas).then_some(Value::Label(space.uniform))
}
