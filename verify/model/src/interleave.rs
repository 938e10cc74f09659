//! Programs that plain interleaving answers.
//!
//! One operation after the other, each read returning what was written last: such an execution is always
//! consistent, for every constraint of the model forbids a cycle, and here all relations follow the order of
//! time. So an outcome that interleaving reaches is allowed.
//!
//! The converse holds where all that threads share is one location, and their operations there overlap
//! completely and are morally strong. Then program order and communication at that location have no cycle
//! (8.10.5), and everything else is of one thread only, so that the operations of a consistent execution can
//! be put into one order; writes are related pairwise, and atomic operations have nothing between their
//! halves (8.10.3). An outcome that interleaving does not reach is forbidden. This answers what makes the
//! search count: many atomic operations on one location, of which there are as many orders as there are
//! permutations, but few states (how far each thread is, the value, and registers that still matter).

use std::collections::HashSet;

use crate::litmus::{Condition, Term};
use crate::options::Options;
use crate::program::{
    Address, Instruction, Op, Operand, Order, Program, Proxy, Register, Thread, Type,
};
use crate::symmetry::alike;

/// More states than this are not looked at where interleaving has the last word.
const STATES: usize = 1 << 17;
/// Nor more than this where it can only help.
const HELPFUL: usize = 1 << 12;
/// The bounds are for so many threads; with more of them each state is larger, and fewer are looked at.
const THREADS: usize = 12;
/// Programs of more instructions are left out: a way takes a step for each.
const INSTRUCTIONS: usize = 256;

/// What interleaving says.
pub(crate) enum Answer {
    /// It reaches the condition; what each thread's reads return then.
    Reached(Vec<Vec<u128>>),
    /// It does not, and nothing else does.
    Forbidden,
}

/// The answer, if there is one, and whether the program is one of those that cannot race.
pub(crate) fn answer(
    program: &Program,
    condition: &Condition,
    options: &Options,
) -> Option<(Answer, bool)> {
    let instructions: usize = program.threads.iter().map(|thread| thread.code.len()).sum();
    if instructions > INSTRUCTIONS || !is_plain(program) {
        return None;
    }
    let exact = is_one_location(program);
    let most = if exact { STATES } else { HELPFUL };
    let mut walk = Walk {
        program,
        condition,
        threads: program
            .threads
            .iter()
            .enumerate()
            .map(|(t, c)| Facts::new(t, c, condition))
            .collect(),
        twins: alike(program, condition),
        seen: HashSet::new(),
        most: most * THREADS / program.threads.len().max(THREADS),
        options,
        full: false,
    };
    let mut state = State::new(program);
    (0..program.threads.len()).for_each(|thread| walk.settle(&mut state, thread));
    match walk.go(&state) {
        Some(answers) => Some((Answer::Reached(answers), exact)),
        None if exact && !walk.full => Some((Answer::Forbidden, true)),
        None => None,
    }
}

/// Whether there is nothing but arithmetic, forward branches, fences and accesses in the generic proxy,
/// under one address each. Such a program always comes to its end.
pub(crate) fn is_plain(program: &Program) -> bool {
    let plain_view = |view: usize| {
        let this = &program.views[view];
        let same = |other: &crate::program::View| {
            other.memory != this.memory
                || other.address == this.address && other.proxy == this.proxy
        };
        this.proxy == Proxy::Generic && program.views.iter().all(same)
    };
    program.threads.iter().all(|thread| {
        thread.registers.len() <= 128
            && thread.code.iter().enumerate().all(|(at, instruction)| match &instruction.op {
                Op::Alu(..) | Op::Exit | Op::Fence(_, None) => true,
                Op::Branch(target) => *target > at,
                Op::Load(_, _, _, Proxy::Generic, Address::Named(view, _))
                | Op::Store(_, _, _, Proxy::Generic, Address::Named(view, _)) => plain_view(*view),
                Op::Rmw(rmw) => matches!(rmw.at, Address::Named(view, _) if plain_view(view)),
                _ => false,
            })
    })
}

/// A scalar access: whether it writes, its semantics, memory, first byte, how many.
type Access = (bool, Order, usize, i64, u32);

fn accesses(program: &Program, thread: &Thread) -> Vec<Access> {
    let mut all = vec![];
    for instruction in &thread.code {
        let (writes, order, address, ty, lanes) = match &instruction.op {
            Op::Load(to, ty, order, _, address) => (false, *order, *address, *ty, to.len()),
            Op::Store(values, ty, order, _, address) => (true, *order, *address, *ty, values.len()),
            Op::Rmw(rmw) => (true, rmw.order, rmw.at, rmw.ty, 1),
            _ => continue,
        };
        let Address::Named(view, offset) = address else { continue };
        let memory = program.views[view].memory;
        let lane =
            |lane| (writes, order, memory, offset + lane as i64 * i64::from(ty.bytes), ty.bytes);
        all.extend((0..lanes).map(lane));
    }
    all
}

/// Whether threads share one location at most, with complete overlaps and moral strength (section 8.7).
fn is_one_location(program: &Program) -> bool {
    let all: Vec<_> =
        program.threads.iter().map(|thread| (thread.place, accesses(program, thread))).collect();
    let mut shared = None;
    all.iter().enumerate().all(|(index, (here, own))| {
        all[..index].iter().all(|(there, other)| {
            own.iter().all(|x| {
                other.iter().all(|y| {
                    let meet =
                        x.2 == y.2 && x.3 < y.3 + i64::from(y.4) && y.3 < x.3 + i64::from(x.4);
                    if !meet || !x.0 && !y.0 {
                        return true;
                    }
                    let place = (x.2, x.3, x.4);
                    place == (y.2, y.3, y.4)
                        && *shared.get_or_insert(place) == place
                        && x.1.is_strong()
                        && y.1.is_strong()
                        && x.1.scope.contains(*here, *there)
                        && y.1.scope.contains(*there, *here)
                })
            })
        })
    })
}

/// What is known about a thread's registers at each of its instructions, as bits.
struct Facts {
    /// Registers whose contents matter from here on.
    live: Vec<u128>,
    /// Registers that may be set from here on.
    open: Vec<u128>,
}

impl Facts {
    fn new(thread: usize, code: &Thread, condition: &Condition) -> Self {
        let count = code.code.len();
        let mut asked = 0;
        condition.terms(&mut |term| {
            if let Term::Register(of, register) = term
                && of == thread
            {
                asked |= 1 << register;
            }
        });
        let (mut live, mut open) = (vec![asked; count + 1], vec![0; count + 1]);
        for (at, instruction) in code.code.iter().enumerate().rev() {
            let (sets, uses) = registers(instruction);
            let (mut after, mut later) = (live[at + 1], open[at + 1]);
            match instruction.op {
                Op::Branch(target) => {
                    after |= live[target];
                    later |= open[target];
                }
                Op::Exit => after |= asked,
                _ => {}
            }
            let kept = if instruction.guard.is_some() { after } else { after & !sets };
            live[at] = kept | uses;
            open[at] = later | sets;
        }
        Self { live, open }
    }
}

/// The registers that an instruction sets and those that it uses.
fn registers(instruction: &Instruction) -> (u128, u128) {
    let bits = |all: &mut dyn Iterator<Item = Register>| all.fold(0, |bits, r| bits | 1u128 << r);
    let used = |operands: &[Operand]| {
        bits(&mut operands.iter().filter_map(|operand| match operand {
            Operand::Register(register) => Some(*register),
            Operand::Immediate(_) => None,
        }))
    };
    let (sets, uses) = match &instruction.op {
        Op::Alu(_, _, to, operands) => (1 << *to, used(operands)),
        Op::Load(to, ..) => (bits(&mut to.iter().copied()), 0),
        Op::Store(values, ..) => (0, used(values)),
        Op::Rmw(rmw) => (bits(&mut rmw.to.into_iter()), used(&rmw.args)),
        _ => (0, 0),
    };
    (sets, uses | bits(&mut instruction.guard.map(|(register, _)| register).into_iter()))
}

/// Everything between two operations. What no longer matters is zero.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    counters: Vec<usize>,
    registers: Vec<Vec<u128>>,
    memory: Vec<Vec<u8>>,
}

impl State {
    fn new(program: &Program) -> Self {
        let registers = |thread: &Thread| {
            let mut registers = vec![0; thread.registers.len()];
            for (register, value) in &thread.initial {
                registers[*register] = *value;
            }
            registers
        };
        Self {
            counters: vec![0; program.threads.len()],
            registers: program.threads.iter().map(registers).collect(),
            memory: program.memories.iter().map(|memory| memory.init.clone()).collect(),
        }
    }

    fn load(&self, memory: usize, at: usize, ty: Type) -> u128 {
        let bytes = &self.memory[memory][at..at + ty.bytes as usize];
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    fn store(&mut self, memory: usize, at: usize, ty: Type, value: u128) {
        let bytes = &mut self.memory[memory][at..at + ty.bytes as usize];
        bytes.copy_from_slice(&value.to_le_bytes()[..ty.bytes as usize]);
    }
}

struct Walk<'a> {
    program: &'a Program,
    condition: &'a Condition,
    options: &'a Options,
    threads: Vec<Facts>,
    /// For each thread an earlier one that it can be interchanged with.
    twins: Vec<Option<usize>>,
    seen: HashSet<State>,
    most: usize,
    /// There were too many states.
    full: bool,
}

impl Walk<'_> {
    /// The reads' answers on the rest of a way that reaches the condition, thread by thread.
    fn go(&mut self, state: &State) -> Option<Vec<Vec<u128>>> {
        let known = |term| self.known(state, term);
        if self.condition.evaluate(&known) == Some(false) {
            return None;
        }
        self.full |=
            self.seen.len() >= self.most || self.seen.len() % 256 == 255 && self.options.is_late();
        if self.full || !self.seen.insert(self.canonical(state)) {
            return None;
        }
        let threads = &self.program.threads;
        let running = |thread: &usize| state.counters[*thread] < threads[*thread].code.len();
        let mut running = (0..threads.len()).filter(running).peekable();
        if running.peek().is_none() {
            return Some(vec![vec![]; threads.len()]);
        }
        for thread in running {
            // Of interchangeable threads that stand at the same point one is enough.
            let like = |other: usize| {
                state.counters[other] == state.counters[thread]
                    && state.registers[other] == state.registers[thread]
            };
            if self.earlier(thread).any(like) {
                continue;
            }
            let mut next = state.clone();
            let read = self.step(&mut next, thread);
            self.settle(&mut next, thread);
            if let Some(mut answers) = self.go(&next) {
                answers[thread].splice(0..0, read);
                return Some(answers);
            }
        }
        None
    }

    /// The earlier threads that a thread can be interchanged with.
    fn earlier(&self, thread: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.twins[thread], |twin| self.twins[*twin])
    }

    /// The state with interchangeable threads in order, as one of those that come to the same.
    fn canonical(&self, state: &State) -> State {
        let mut state = state.clone();
        // Insertion, thread by thread; mostly they are in order.
        for thread in 0..self.twins.len() {
            let mut here = thread;
            while let Some(twin) = self.twins[here]
                && (state.counters[here], &state.registers[here])
                    < (state.counters[twin], &state.registers[twin])
            {
                state.counters.swap(here, twin);
                state.registers.swap(here, twin);
                here = twin;
            }
        }
        state
    }

    /// What is known of a value at the end: registers that nothing sets any more, and all once all threads are
    /// through.
    fn known(&self, state: &State, term: Term) -> Option<u128> {
        match term {
            Term::Number(number) => Some(number),
            Term::Register(thread, register) => {
                let open = self.threads[thread].open[state.counters[thread]];
                (open >> register & 1 == 0).then(|| state.registers[thread][register])
            }
            Term::Memory(memory) => {
                let mut threads = self.program.threads.iter().zip(&state.counters);
                let done = threads.all(|(thread, counter)| *counter == thread.code.len());
                let declared = &self.program.memories[memory];
                let bytes = declared.init.len().min(16) as u32;
                let whole = if declared.ty.bytes == bytes {
                    declared.ty
                } else {
                    Type { bytes, signed: false }
                };
                done.then(|| whole.wrap(state.load(memory, 0, Type { bytes, signed: false })))
            }
        }
    }

    /// Runs a thread up to its next access to memory, and forgets what no longer matters.
    fn settle(&self, state: &mut State, thread: usize) {
        let code = &self.program.threads[thread].code;
        while let Some(instruction) = code.get(state.counters[thread]) {
            if let Some((register, negated)) = instruction.guard
                && (state.registers[thread][register] != 0) == negated
            {
                state.counters[thread] += 1;
                continue;
            }
            match &instruction.op {
                Op::Load(..) | Op::Store(..) | Op::Rmw(_) => break,
                Op::Branch(target) => state.counters[thread] = *target,
                Op::Exit => state.counters[thread] = code.len(),
                Op::Alu(alu, ty, to, operands) => {
                    let value = operands.map(|operand| value(state, thread, operand));
                    state.registers[thread][*to] = alu.compute(*ty, value);
                    state.counters[thread] += 1;
                }
                _ => state.counters[thread] += 1,
            }
        }
        let live = self.threads[thread].live[state.counters[thread]];
        for (register, value) in state.registers[thread].iter_mut().enumerate() {
            if live >> register & 1 == 0 {
                *value = 0;
            }
        }
    }

    /// Executes an access to memory. What it reads.
    fn step(&self, state: &mut State, thread: usize) -> Vec<u128> {
        let instruction = &self.program.threads[thread].code[state.counters[thread]];
        state.counters[thread] += 1;
        let place = |address: &Address| match address {
            Address::Named(view, offset) => (self.program.views[*view].memory, *offset as usize),
            _ => (0, 0),
        };
        let mut read = vec![];
        match &instruction.op {
            Op::Load(to, ty, _, _, address) => {
                let (memory, at) = place(address);
                for (lane, register) in to.iter().enumerate() {
                    let found = state.load(memory, at + lane * ty.bytes as usize, *ty);
                    state.registers[thread][*register] = ty.wrap(found);
                    read.push(found);
                }
            }
            Op::Store(values, ty, _, _, address) => {
                let (memory, at) = place(address);
                for (lane, operand) in values.iter().enumerate() {
                    let value = value(state, thread, *operand);
                    state.store(memory, at + lane * ty.bytes as usize, *ty, value);
                }
            }
            Op::Rmw(rmw) => {
                let (memory, at) = place(&rmw.at);
                let old = state.load(memory, at, rmw.ty);
                let args = rmw.args.map(|operand| value(state, thread, operand));
                let new = rmw.modify.apply(rmw.ty, rmw.ty.wrap(old), args);
                state.store(memory, at, rmw.ty, new);
                if let Some(to) = rmw.to {
                    state.registers[thread][to] = rmw.ty.wrap(old);
                }
                read.push(old);
            }
            _ => {}
        }
        read
    }
}

fn value(state: &State, thread: usize, operand: Operand) -> u128 {
    match operand {
        Operand::Register(register) => state.registers[thread][register],
        Operand::Immediate(value) => value,
    }
}
