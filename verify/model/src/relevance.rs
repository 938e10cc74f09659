//! Which values matter: to the condition, to the way that a thread takes, to where it accesses memory.
//!
//! A weak read of four bytes that races can return every mixture of the bytes that were written. Mostly
//! nobody asks for it: the register is written again, or goes to memory that nobody asks for either. Then
//! what counts is from where the read reads, and not what. Such a read returns *any* value: it has one way
//! instead of hundreds. Values come back only in witnesses, where they are worked out from the sources.
//!
//! It is a liveness analysis of registers, thread by thread, and a least fixed point over memories: a
//! memory matters if the condition names it or some value that matters is read from it.
//!
//! One thing needs more: whether values justify themselves (8.10.4). Where an execution has a cycle of
//! reads-from and dependencies, the search starts again with every memory, so that every value that flows
//! into a store is known.

use crate::litmus::{Condition, Term};
use crate::program::{
    Address, Completion, Mbarrier, Modify, Op, Operand, Phase, Program, Register, Tcgen05, Thread,
};

/// How much matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What the condition asks for, and what threads decide by.
    Asked,
    /// That, and all that flows into memory.
    Stored,
    /// Everything.
    All,
}

/// For each instruction of each thread whether the value that it reads matters.
#[derive(Clone, Debug)]
pub struct Relevance {
    reads: Vec<Vec<bool>>,
}

impl Relevance {
    /// What matters to a condition.
    pub fn new(program: &Program, condition: &Condition, depth: Depth) -> Self {
        if depth == Depth::All {
            let all = |thread: &Thread| vec![true; thread.code.len()];
            return Self { reads: program.threads.iter().map(all).collect() };
        }
        Self { reads: Self::reach(program, condition, depth).1 }
    }

    /// The memories that matter, and the reads.
    fn reach(
        program: &Program,
        condition: &Condition,
        depth: Depth,
    ) -> (Vec<bool>, Vec<Vec<bool>>) {
        let mut memories = vec![depth == Depth::Stored; program.memories.len()];
        let mut finals: Vec<Vec<Register>> = vec![vec![]; program.threads.len()];
        condition.terms(&mut |term| match term {
            Term::Memory(memory) => memories[memory] = true,
            Term::Register(thread, register) => finals[thread].push(register),
            Term::Number(_) => {}
        });
        let code = || program.threads.iter().flat_map(|thread| &thread.code);
        for flow in code().map(|instruction| Flow::of(&instruction.op, program)) {
            if flow.elsewhere {
                memories.fill(true);
            }
            for memory in flow.known {
                memories[memory] = true;
            }
        }
        loop {
            let before = memories.clone();
            let mut reads = vec![];
            for (thread, finals) in program.threads.iter().zip(&finals) {
                reads.push(thread_reads(program, thread, finals, &mut memories));
            }
            if memories == before {
                return (memories, reads);
            }
        }
    }

    /// What matters to memories and to the ways of threads, of what matters to a condition: without the registers
    /// that it names.
    pub fn to_memory(program: &Program, condition: &Condition, depth: Depth) -> Self {
        let (mut memories, _) = Self::reach(program, condition, depth);
        let reads = |thread| thread_reads(program, thread, &[], &mut memories);
        Self { reads: program.threads.iter().map(reads).collect() }
    }

    /// Whether the value that an instruction reads matters.
    pub fn matters(&self, thread: usize, instruction: usize) -> bool {
        self.reads[thread].get(instruction).copied().unwrap_or(true)
    }
}

/// The instructions of a thread whose reads matter, given the memories that do; adds those that they read.
fn thread_reads(
    program: &Program,
    thread: &Thread,
    finals: &[Register],
    memories: &mut [bool],
) -> Vec<bool> {
    let mut end = vec![false; thread.registers.len()];
    for register in finals {
        end[*register] = true;
    }
    let flows: Vec<Flow> = thread.code.iter().map(|i| Flow::of(&i.op, program)).collect();
    // Live registers before each instruction.
    let mut before: Vec<Vec<bool>> = vec![vec![false; end.len()]; flows.len()];
    let mut reads = vec![false; flows.len()];
    loop {
        let mut grown = false;
        for at in (0..flows.len()).rev() {
            let flow = &flows[at];
            let next = |at: usize| before.get(at).unwrap_or(&end);
            let mut live = if flow.ends { end.clone() } else { next(at + 1).clone() };
            for target in &flow.targets {
                for (live, there) in live.iter_mut().zip(next(*target)) {
                    *live |= there;
                }
            }
            let wanted = flow.to.iter().any(|to| live[*to]);
            if thread.code[at].guard.is_none() {
                for to in &flow.to {
                    live[*to] = false;
                }
            }
            let stored = flow.elsewhere || flow.stores.is_some_and(|memory| memories[memory]);
            reads[at] = flow.is_special || wanted || stored && flow.keeps;
            if let (true, Some(memory)) = (wanted, flow.loads) {
                grown |= !memories[memory];
                memories[memory] = true;
            }
            let guard = thread.code[at].guard.map(|(register, _)| register);
            let mut used: Vec<Register> = flow.always.iter().copied().chain(guard).collect();
            if wanted {
                used.extend(&flow.if_wanted);
            }
            if stored {
                used.extend(&flow.if_stored);
            }
            for register in used {
                live[register] = true;
            }
            grown |= live != before[at];
            before[at] = live;
        }
        if !grown {
            return reads;
        }
    }
}

/// The registers that an instruction sets.
pub fn sets(op: &Op, program: &Program) -> Vec<Register> {
    Flow::of(op, program).to
}

/// How values flow through an instruction.
#[derive(Clone, Debug, Default)]
struct Flow {
    to: Vec<Register>,
    /// Operands that decide what happens, where or when.
    always: Vec<Register>,
    /// Operands of the result.
    if_wanted: Vec<Register>,
    /// Operands of what is stored.
    if_stored: Vec<Register>,
    loads: Option<usize>,
    stores: Option<usize>,
    /// What is stored depends on what was there.
    keeps: bool,
    /// Its reads always matter.
    is_special: bool,
    /// Memories that it makes matter.
    known: Vec<usize>,
    /// Its addresses are in registers: it may access every memory.
    elsewhere: bool,
    /// Where it may branch to.
    targets: Vec<usize>,
    /// The thread may end here.
    ends: bool,
}

impl Flow {
    fn of(op: &Op, program: &Program) -> Self {
        let mut flow = Flow::default();
        match op {
            Op::Alu(_, _, to, operands) => {
                flow.to.push(*to);
                flow.if_wanted.extend(registers(operands));
            }
            Op::Load(to, _, _, _, address) => {
                flow.to.extend(to);
                flow.loads = flow.at(*address, program);
            }
            Op::Store(values, _, _, _, address) => {
                flow.stores = flow.at(*address, program);
                flow.if_stored.extend(registers(values));
            }
            Op::Rmw(rmw) => {
                flow.to.extend(rmw.to);
                flow.loads = flow.at(rmw.at, program);
                flow.stores = flow.loads;
                flow.keeps = rmw.modify != Modify::Exchange;
                flow.if_stored.extend(registers(&rmw.args));
            }
            Op::Branch(target) => flow.targets.push(*target),
            Op::BranchIndexed(index, targets) => {
                flow.always.extend(registers(&[*index]));
                flow.targets.extend(targets);
            }
            Op::Exit | Op::Trap => flow.ends = true,
            Op::Fence(..) | Op::InitFence | Op::ClusterArrive(_) | Op::ClusterWait => {}
            Op::CommitGroup(_) | Op::WaitGroup { .. } => {}
            Op::ProxyFence(_, about) => {
                if let Some(address) = about {
                    flow.at(*address, program);
                }
            }
            Op::Barrier { id, vote, .. } => {
                flow.always.extend(registers(&[*id]));
                if let Some(vote) = vote {
                    flow.to.push(vote.to);
                    flow.always.push(vote.own.0);
                }
            }
            other => flow.special(other, program),
        }
        flow
    }

    /// Asynchronous operations and mbarriers: everything about them matters.
    fn special(&mut self, op: &Op, program: &Program) {
        self.is_special = true;
        let mut addresses = vec![];
        match op {
            Op::PeerAddress { to, address, rank, .. } => {
                self.to.push(*to);
                self.always.extend(registers(&[*address, *rank]));
            }
            Op::Mbarrier(operation, _, address) => {
                addresses.push(*address);
                match operation {
                    Mbarrier::Invalidate => {}
                    Mbarrier::Init(a) | Mbarrier::ExpectTx(a) | Mbarrier::CompleteTx(a) => {
                        self.always.extend(registers(&[*a]));
                    }
                    Mbarrier::Arrive { state, count, expect, .. } => {
                        self.to.extend(*state);
                        self.always.extend(registers(&[*count, *expect]));
                    }
                    Mbarrier::Wait { done, phase: Phase::Parity(a) | Phase::State(a) } => {
                        self.to.push(*done);
                        self.always.extend(registers(&[*a]));
                    }
                }
            }
            Op::Bulk { to, from, completion, map, .. } => {
                addresses.extend([*to, *from]);
                addresses.extend(*map);
                if let Completion::Mbarrier(mbarrier) = completion {
                    addresses.push(*mbarrier);
                }
            }
            Op::StoreAsync { to, value, mbarrier, .. } => {
                addresses.push(*to);
                addresses.extend(*mbarrier);
                self.always.extend(registers(&[*value]));
            }
            Op::CopyArrive(mbarrier, _) => addresses.push(*mbarrier),
            Op::ReplaceTensorMap(map, value) => {
                addresses.push(*map);
                self.always.extend(registers(&[*value]));
            }
            Op::Tcgen05(operation) => match operation {
                Tcgen05::Load(to, address) => {
                    self.to.extend(to);
                    addresses.push(*address);
                }
                Tcgen05::Store(address, values) => {
                    addresses.push(*address);
                    self.always.extend(registers(values));
                }
                Tcgen05::Mma { d, a, b, accumulate } => {
                    addresses.extend([*d, *a, *b]);
                    self.always.extend(registers(&[*accumulate]));
                }
                Tcgen05::Copy(to, from) => addresses.extend([*to, *from]),
                Tcgen05::Commit(mbarrier) => addresses.push(*mbarrier),
                Tcgen05::WaitLoad | Tcgen05::WaitStore | Tcgen05::Before | Tcgen05::After => {}
            },
            _ => {}
        }
        for address in addresses {
            let memory = self.at(address, program);
            self.known.extend(memory);
        }
    }

    /// The memory at an address, if its name says it.
    fn at(&mut self, address: Address, program: &Program) -> Option<usize> {
        match address {
            Address::Named(view, _) => return Some(program.views[view].memory),
            Address::Register(register, _) => self.always.push(register),
            Address::Tile(register, coordinates) => {
                self.always.push(register);
                self.always.extend(registers(&coordinates));
            }
            Address::Descriptor(_, register) => self.always.push(register),
        }
        self.elsewhere = true;
        None
    }
}

fn registers(operands: &[Operand]) -> impl Iterator<Item = Register> {
    operands.iter().filter_map(|operand| match operand {
        Operand::Register(register) => Some(*register),
        Operand::Immediate(_) => None,
    })
}
