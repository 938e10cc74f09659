//! What each instruction of a kernel reads and writes, as far as registers tell.
//!
//! A variable in `.param` space inside a body carries an argument or a result of a call. It counts as a register here: what
//! is stored to it is what the call, or the code behind the call, reads.

use baton_ptx::flow::Graph;
use baton_ptx::{Address, Base, Body, Instruction, Operand, Space, Symbol};

use super::fold::operand_type;
use super::inline::Marks;

/// A register of the body, or a variable that carries an argument.
pub(super) type Reg = u32;

/// Registers of one instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Access {
    /// What it reads, each once, without its guard.
    pub reads: Vec<Reg>,
    /// What it writes.
    pub writes: Vec<Reg>,
    /// The predicate that guards it, and whether it is negated.
    pub guard: Option<(Reg, bool)>,
    /// What it writes keeps a part of what was there.
    pub partial: bool,
}

/// A body with what its instructions access.
pub(super) struct Code {
    pub body: Body,
    pub graph: Graph,
    pub access: Vec<Access>,
    /// How many registers there are.
    pub registers: usize,
    pub marks: Marks,
}

impl Code {
    pub fn new(body: Body, marks: Marks, ends: impl Fn(&Instruction) -> bool) -> Code {
        let graph = Graph::of_ending(&body, |index| ends(&body.instructions[index]));
        let access = body.instructions.iter().map(|i| access(&body, i)).collect();
        let registers = carry(&body) as usize + 1;
        Code { body, graph, access, registers, marks }
    }

    /// The set for which an instruction moves one value, by its mark.
    pub fn marked(&self, index: usize) -> Option<&str> {
        let at = self.marks.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        Some(&self.marks[at].1)
    }

    pub fn instruction(&self, index: usize) -> &Instruction {
        &self.body.instructions[index]
    }

    /// The carry flag, which no operand names.
    pub fn carry(&self) -> Reg {
        carry(&self.body)
    }

    /// The variable that a load or store of an argument names.
    pub fn carried(&self, instruction: &Instruction) -> Option<Reg> {
        let address = instruction.operands.iter().find(|o| matches!(o, Operand::Address(_)))?;
        match address {
            Operand::Address(Address { base: Base::Symbol(symbol), .. }) => {
                carrier(&self.body, symbol)
            }
            _ => None,
        }
    }

    /// Whether a load or store of an argument moves all of it.
    pub fn moves_all(&self, instruction: &Instruction) -> bool {
        moves_all(&self.body, instruction)
    }

    /// The operands that it reads, in their order.
    pub fn inputs<'a>(&self, instruction: &'a Instruction) -> &'a [Operand] {
        match has_result(instruction) {
            true => &instruction.operands[1..],
            false => &instruction.operands,
        }
    }
}

/// The variable of a body that a symbol names, if it carries arguments.
fn carrier(body: &Body, symbol: &Symbol) -> Option<Reg> {
    match symbol {
        Symbol::Local(id) if body.variables[id.0 as usize].space == Space::Param => {
            Some(body.registers.len() as Reg + id.0)
        }
        _ => None,
    }
}

fn carry(body: &Body) -> Reg {
    (body.registers.len() + body.variables.len()) as Reg
}

fn moves_all(body: &Body, instruction: &Instruction) -> bool {
    let address = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Address(Address { base: Base::Symbol(Symbol::Local(id)), offset: 0, .. }) => {
            Some(*id)
        }
        _ => None,
    });
    let bytes = operand_type(instruction).map(|ty| u64::from(ty.bytes()));
    let vector = instruction.operands.iter().any(|o| matches!(o, Operand::Vector(_)));
    address.is_some_and(|id| !vector && body.variables[id.0 as usize].bytes == bytes)
}

/// The registers that an operand mentions.
pub(super) fn mentioned(body: &Body, operand: &Operand) -> Vec<Reg> {
    let mut found = Vec::new();
    operand.registers(&mut |id| found.push(id.0));
    let parts = match operand {
        Operand::List(parts) | Operand::Vector(parts) => &parts[..],
        other => std::slice::from_ref(other),
    };
    for part in parts {
        let symbol = match part {
            Operand::Symbol(symbol, _) => Some(symbol),
            Operand::Address(address) => match &address.base {
                Base::Symbol(symbol) => Some(symbol),
                _ => None,
            },
            _ => None,
        };
        found.extend(symbol.and_then(|symbol| carrier(body, symbol)));
    }
    found
}

fn access(body: &Body, instruction: &Instruction) -> Access {
    let mut access = Access {
        guard: instruction.guard.map(|guard| (guard.register.0, guard.negated)),
        partial: instruction.guard.is_some(),
        ..Access::default()
    };
    let operands = &instruction.operands;
    let (opcode, first) = (instruction.opcode(), instruction.modifiers().next().unwrap_or(""));
    let mut read = |operand: &Operand| {
        for register in mentioned(body, operand) {
            if !access.reads.contains(&register) {
                access.reads.push(register);
            }
        }
    };
    match (opcode, first) {
        // Of the lists of a call, the one before the callee is what comes back.
        ("call", _) => {
            let callee = operands.iter().position(|o| !matches!(o, Operand::List(_)));
            let (returns, rest) = operands.split_at(callee.unwrap_or(0));
            rest.iter().for_each(&mut read);
            access.writes = returns.iter().flat_map(|o| mentioned(body, o)).collect();
        }
        ("st", "param") => {
            operands.iter().for_each(&mut read);
            access.writes = operands.first().map_or_else(Vec::new, |o| mentioned(body, o));
            access.reads.retain(|register| !access.writes.contains(register));
            access.partial |= !moves_all(body, instruction);
        }
        _ if has_result(instruction) => {
            operands[1..].iter().for_each(&mut read);
            // The accumulators of a product.
            if opcode == "wgmma" {
                read(&operands[0]);
            }
            access.partial |= matches!(operands[0], Operand::Component(..));
            access.writes = mentioned(body, &operands[0]);
            access.writes.dedup();
        }
        _ => operands.iter().for_each(&mut read),
    }
    if instruction.has("cc") {
        access.writes.push(carry(body));
    }
    if matches!(opcode, "addc" | "subc" | "madc") {
        access.reads.push(carry(body));
    }
    access
}

/// Whether the first operand is where the result goes.
fn has_result(instruction: &Instruction) -> bool {
    let first = instruction.modifiers().next().unwrap_or("");
    match (instruction.opcode(), instruction.operands.first()) {
        (_, None | Some(Operand::Address(_))) => false,
        (
            "st" | "red" | "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "fence"
            | "membar" | "cp" | "prefetch" | "prefetchu" | "discard" | "applypriority"
            | "tensormap" | "stmatrix" | "setmaxnreg" | "nanosleep" | "griddepcontrol" | "pmevent"
            | "sust" | "sured" | "stackrestore",
            _,
        ) => false,
        ("bar" | "barrier", _) => instruction.has("red"),
        ("mbarrier", _) => !matches!(first, "init" | "inval" | "expect_tx" | "complete_tx"),
        ("wgmma", _) => first == "mma_async",
        ("tcgen05", _) => first == "ld",
        ("clusterlaunchcontrol", _) => first != "try_cancel",
        // What a comment says.
        ("baton", _) => false,
        ("multimem", _) => first == "ld_reduce",
        ("wmma", _) => first != "store",
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    /// Names that the last instruction reads and writes.
    fn registers(text: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(
            ".func g(.param .b32 x) {{ ret; }} .func f() {{ .reg .pred p, q; .reg .b32 a, b, c, d; \
             .reg .b64 e; .param .b32 in; .param .b32 out; {text} }}"
        );
        let module = Module::parse(&text, "t").unwrap();
        let body = module.function("f").unwrap().body.clone().unwrap();
        let code = Code::new(body, Vec::new(), |_| false);
        let name = |&r: &Reg| match code.body.registers.get(r as usize) {
            Some(register) => register.name.to_string(),
            None => code.body.variables[r as usize - code.body.registers.len()].name.to_string(),
        };
        let access = code.access.last().unwrap();
        (access.reads.iter().map(name).collect(), access.writes.iter().map(name).collect())
    }

    #[test]
    fn each_instruction_reads_and_writes_what_it_says() {
        let of = |reads: &[&str], writes: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
            (owned(reads), owned(writes))
        };
        assert_eq!(registers("add.u32 a, b, b;"), of(&["b"], &["a"]));
        assert_eq!(registers("setp.lt.u32 p|q, a, b;"), of(&["a", "b"], &["p", "q"]));
        assert_eq!(registers("st.global.u32 [e], a;"), of(&["e", "a"], &[]));
        assert_eq!(registers("ld.global.v2.u32 {a, b}, [e+8];"), of(&["e"], &["a", "b"]));
        assert_eq!(registers("shfl.sync.idx.b32 a|p, b, c, 31, -1;"), of(&["b", "c"], &["a", "p"]));
        assert_eq!(registers("bar.sync a, 64;"), of(&["a"], &[]));
        assert_eq!(registers("bar.red.or.pred p, 0, q;"), of(&["q"], &["p"]));
        assert_eq!(registers("mbarrier.arrive.shared.b64 e, [a];"), of(&["a"], &["e"]));
        assert_eq!(
            registers("tcgen05.ld.sync.aligned.32x32b.x2.b32 {a, b}, [c];"),
            of(&["c"], &["a", "b"])
        );
        assert_eq!(registers("st.param.b32 [in], a;"), of(&["a"], &["in"]));
        assert_eq!(registers("ld.param.b32 a, [out];"), of(&["out"], &["a"]));
        assert_eq!(registers("call.uni (out), g, (in);"), of(&["in"], &["out"]));
    }

    #[test]
    fn a_guarded_instruction_keeps_what_was_there() {
        let text = ".func f() { .reg .pred p; .reg .b32 a; @!p mov.u32 a, 1; }";
        let body = Module::parse(text, "t").unwrap().functions[0].body.clone().unwrap();
        let code = Code::new(body, Vec::new(), |_| false);
        assert!(code.access[0].partial);
        assert_eq!(code.access[0].guard.map(|(_, negated)| negated), Some(true));
    }
}
