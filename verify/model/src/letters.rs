//! Bytes that are only copied and compared.
//!
//! What a program does with most values is to move them, and to ask whether they equal a number. Then bytes that
//! occur in no such number cannot be told apart, and one letter is enough for all of them: a racing read of
//! eight bytes returns a few words instead of thousands. Memories and registers between which values are
//! moved form a group; arithmetic, an order, or a comparison of two registers keeps a group's bytes as they
//! are. Zero always has its own letter. The true bytes come back in witnesses.
//!
//! Which reads are justified (8.10.4) can depend on bytes that nobody asks for, so where that is in question
//! the search starts again without.

use crate::litmus::{Condition, Term};
use crate::program::{Alu, Compare, Modify, Op, Operand, Program, Type};

/// For each memory the letters of its bytes.
#[derive(Clone, Debug, Default)]
pub struct Letters {
    tables: Vec<Option<[u8; 256]>>,
}

impl Letters {
    /// The letters that tell apart what the program and the condition do.
    pub fn new(program: &Program, condition: &Condition) -> Self {
        let mut groups = Groups::new(program);
        for (thread, declared) in program.threads.iter().enumerate() {
            for instruction in &declared.code {
                if !groups.add(program, thread, &instruction.op) {
                    return Self::default();
                }
            }
        }
        groups.ask(program, condition);
        let tables = (0..program.memories.len()).map(|memory| groups.table(memory)).collect();
        Self { tables }
    }

    /// Whether some bytes share a letter.
    pub fn is_active(&self) -> bool {
        self.tables.iter().any(Option::is_some)
    }

    /// The program with letters for its first contents.
    pub fn spell(&self, program: &Program) -> Program {
        let mut program = program.clone();
        for (memory, table) in program.memories.iter_mut().zip(&self.tables) {
            if let Some(table) = table {
                for byte in &mut memory.init {
                    *byte = table[usize::from(*byte)];
                }
            }
        }
        program
    }

    /// A value of so many bytes as the memory spells it.
    pub fn value(&self, memory: usize, bytes: u32, value: u128) -> u128 {
        let Some(Some(table)) = self.tables.get(memory) else { return value };
        let mut letters = value.to_le_bytes();
        for letter in &mut letters[..bytes as usize] {
            *letter = table[usize::from(*letter)];
        }
        u128::from_le_bytes(letters)
    }
}

/// Memories, then the registers of all threads: those between which values are moved share a group.
struct Groups {
    parent: Vec<usize>,
    /// Bytes that count, by group.
    asked: Vec<[bool; 256]>,
    /// Every byte counts.
    whole: Vec<bool>,
    first_register: Vec<usize>,
}

impl Groups {
    fn new(program: &Program) -> Self {
        let mut size = program.memories.len();
        let mut first_register = vec![];
        for thread in &program.threads {
            first_register.push(size);
            size += thread.registers.len();
        }
        let mut asked = [false; 256];
        asked[0] = true;
        Self {
            parent: (0..size).collect(),
            asked: vec![asked; size],
            whole: vec![false; size],
            first_register,
        }
    }

    fn find(&self, mut node: usize) -> usize {
        while self.parent[node] != node {
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        self.parent[b] = a;
        self.whole[a] |= self.whole[b];
        let asked = self.asked[b];
        for (byte, also) in self.asked[a].iter_mut().zip(asked) {
            *byte |= also;
        }
    }

    fn keep_whole(&mut self, node: usize) {
        let group = self.find(node);
        self.whole[group] = true;
    }

    /// Equality with a number is asked for.
    fn ask_number(&mut self, node: usize, number: u128) {
        let group = self.find(node);
        for byte in number.to_le_bytes() {
            self.asked[group][usize::from(byte)] = true;
        }
    }

    fn register(&self, thread: usize, operand: Operand) -> Option<usize> {
        match operand {
            Operand::Register(register) => Some(self.first_register[thread] + register),
            Operand::Immediate(_) => None,
        }
    }

    fn table(&self, memory: usize) -> Option<[u8; 256]> {
        let group = self.find(memory);
        if self.whole[group] {
            return None;
        }
        let asked = &self.asked[group];
        let other = (0..=u8::MAX).find(|byte| !asked[usize::from(*byte)])?;
        let letter = |byte: usize| if asked[byte] { byte as u8 } else { other };
        Some(std::array::from_fn(letter))
    }

    /// What an instruction does with values. `false` if it is none of those that move them plainly.
    fn add(&mut self, program: &Program, thread: usize, op: &Op) -> bool {
        use crate::program::Address;
        let own = |register: &usize| self.first_register[thread] + register;
        match op {
            Op::Alu(alu, _, to, [a, b, c]) => {
                let to = own(to);
                let sources = [a, b, c].map(|operand| self.register(thread, *operand));
                match (alu, sources) {
                    (Alu::Move, [Some(from), ..]) => self.join(to, from),
                    (Alu::Move, _) => {}
                    (Alu::Compare(Compare::Eq | Compare::Ne), [x, y, _]) => {
                        match (x.zip(number(*b)), y.zip(number(*a))) {
                            (Some((node, value)), _) | (_, Some((node, value))) => {
                                self.ask_number(node, value);
                            }
                            _ => x.into_iter().chain(y).for_each(|node| self.keep_whole(node)),
                        }
                    }
                    _ => sources.into_iter().flatten().for_each(|node| self.keep_whole(node)),
                }
            }
            Op::Load(to, ty, _, _, Address::Named(view, _)) => {
                let memory = program.views[*view].memory;
                let to: Vec<usize> = to.iter().map(own).collect();
                to.into_iter().for_each(|to| self.join(memory, to));
                self.signed(memory, *ty);
            }
            Op::Store(values, _, _, _, Address::Named(view, _)) => {
                let memory = program.views[*view].memory;
                for value in values {
                    if let Some(from) = self.register(thread, *value) {
                        self.join(memory, from);
                    }
                }
            }
            Op::Rmw(rmw) => {
                let Address::Named(view, _) = rmw.at else { return false };
                let memory = program.views[view].memory;
                if let Some(to) = rmw.to {
                    self.join(memory, self.first_register[thread] + to);
                }
                self.signed(memory, rmw.ty);
                let [a, b] = rmw.args.map(|operand| self.register(thread, operand));
                match (rmw.modify, number(rmw.args[0])) {
                    (Modify::Exchange, _) => a.into_iter().for_each(|a| self.join(memory, a)),
                    (Modify::CompareExchange, Some(compared)) => {
                        self.ask_number(memory, compared);
                        b.into_iter().for_each(|b| self.join(memory, b));
                    }
                    _ => {
                        self.keep_whole(memory);
                        a.into_iter().chain(b).for_each(|node| self.keep_whole(node));
                    }
                }
            }
            Op::Branch(_) | Op::Exit | Op::Trap | Op::Fence(..) | Op::InitFence => {}
            Op::ProxyFence(_, None) | Op::ClusterArrive(_) | Op::ClusterWait => {}
            Op::Barrier { id: Operand::Immediate(_), .. } => {}
            _ => return false,
        }
        true
    }

    /// Signs are extended: that is arithmetic.
    fn signed(&mut self, memory: usize, ty: Type) {
        if ty.signed {
            self.keep_whole(memory);
        }
    }

    /// What a condition asks for.
    fn ask(&mut self, program: &Program, condition: &Condition) {
        let node = |groups: &Self, term: Term| match term {
            Term::Number(_) => None,
            Term::Register(thread, register) => Some(groups.first_register[thread] + register),
            Term::Memory(memory) => Some(memory),
        };
        match condition {
            Condition::True => {}
            Condition::Equal(a, b, _) | Condition::Less(a, b) => {
                let equal = matches!(condition, Condition::Equal(..));
                for (term, other) in [(*a, *b), (*b, *a)] {
                    let Some(at) = node(self, term) else { continue };
                    let signed = matches!(term, Term::Memory(m) if program.memories[m].ty.signed);
                    match other {
                        Term::Number(number) if equal && !signed => self.ask_number(at, number),
                        _ => self.keep_whole(at),
                    }
                }
            }
            Condition::Not(inner) => self.ask(program, inner),
            Condition::And(all) | Condition::Or(all) => {
                all.iter().for_each(|inner| self.ask(program, inner));
            }
        }
    }
}

fn number(operand: Operand) -> Option<u128> {
    match operand {
        Operand::Immediate(number) => Some(number),
        Operand::Register(_) => None,
    }
}
