//! What a thread can do by itself: every control-flow path with every value its reads could return.
//!
//! A thread is run again and again, each time with another sequence of answers to its reads, until
//! all sequences are used up. The answers come from [`Domain`], the values that some write in some
//! execution of some thread could have put there: a least fixed point over all threads, so that a
//! value that nobody can produce without assuming it is never guessed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::Error;
use crate::event::{Access, Barrier, Event, Kind, Object};
use crate::options::{Clause, Clauses, Options, Tcgen05Fence};
use crate::program::{
    Address, Completion, Mbarrier, Modify, Op, Operand, Order, Phase, Program, Proxy, Register,
    Rmw, Semantics, Tcgen05, Thread, Type,
};
use crate::scope::Scope;
use crate::strong;

/// One way in which a thread can run to its end.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its operations.
    pub events: Vec<Event>,
    /// Base causality that asynchronous operations add, between moments of the events.
    pub edges: Vec<(Moment, Moment)>,
    /// For each event the reads (as bits) on which its value or existence may depend.
    pub depends: Vec<u128>,
    /// Registers at the end.
    pub registers: Vec<u128>,
}

/// A set of known writes: a chain of atomic operations, each of which happens once in an execution.
/// Writes past the 128th are not followed.
type Origin = u128;

/// A moment of an event: asynchronous operations have three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// What must come before it points here; ordinary events have only this.
    Start(usize),
    /// It is ordered before what this points to, complete or not. Of a tcgen05 fence: what it orders
    /// is tcgen05 operations only.
    Ordered(usize),
    /// It is complete.
    Done(usize),
}

/// More answers than this for one read cannot be enumerated.
const VALUES: usize = 4096;
/// More ways of one thread than this cannot be enumerated.
const WAYS: usize = 1 << 16;

/// The values that writes can put into memory.
#[derive(Clone, Debug)]
pub struct Domain<'a> {
    program: &'a Program,
    options: &'a Options,
    writes: Vec<KnownWrite>,
    seeds: Vec<u128>,
    /// Answers that were worked out since something was learnt.
    answers: RefCell<HashMap<Question, Rc<[u128]>>>,
    chains: RefCell<HashMap<(Question, u128), Chains>>,
}

/// The minimal chains behind one value.
type Chains = Rc<[Origin]>;

/// All that the answers to a read depend on: thread, instruction, occurrence, memory, address, first
/// byte, whether it is asynchronous, whether an own write hides the initial value.
type Question = (usize, usize, u32, usize, usize, u32, bool, bool);

fn question(read: &Event, access: &Access, overwritten: bool) -> Question {
    let Event { thread, instruction, occurrence, asynchronous, .. } = *read;
    let Access { memory, address, offset, .. } = *access;
    (thread, instruction, occurrence, memory, address, offset, asynchronous, overwritten)
}

/// A write that some thread can execute, and its values.
#[derive(Clone, Debug)]
struct KnownWrite {
    event: Event,
    /// Each value with the smallest chains that lead to it.
    values: BTreeMap<u128, Vec<Origin>>,
}

/// Adds a set to those that are minimal. Says whether that changed them.
fn add_minimal(sets: &mut Vec<Origin>, set: Origin) -> bool {
    if sets.iter().any(|known| known & set == *known) {
        return false;
    }
    sets.retain(|known| known & set != set);
    sets.push(set);
    true
}

impl<'a> Domain<'a> {
    /// The initial values only.
    pub fn new(program: &'a Program, options: &'a Options) -> Self {
        // Without the axiom, a value may come out of nowhere: any constant of the program will do.
        let mut seeds = vec![];
        if !options.clauses.has(Clause::NoThinAir) {
            for instruction in program.threads.iter().flat_map(|thread| &thread.code) {
                let operands: &[Operand] = match &instruction.op {
                    Op::Alu(_, _, _, operands) => operands,
                    Op::Store(operands, ..) => operands,
                    Op::Rmw(rmw) => &rmw.args,
                    _ => &[],
                };
                seeds.extend(operands.iter().filter_map(|operand| match operand {
                    Operand::Immediate(value) => Some(*value),
                    Operand::Register(_) => None,
                }));
            }
            seeds.push(1);
            seeds.sort_unstable();
            seeds.dedup();
        }
        Self {
            program,
            options,
            writes: vec![],
            seeds,
            answers: RefCell::default(),
            chains: RefCell::default(),
        }
    }

    /// Adds the writes of a run, complete or not. Says whether anything is new.
    fn learn(&mut self, events: &[Event], origins: &[Chains]) -> bool {
        let mut new = false;
        for (event, origins) in events.iter().zip(origins) {
            let Kind::Write(access) = &event.kind else { continue };
            let at = self.find(event, access).unwrap_or_else(|| {
                self.writes.push(KnownWrite { event: event.clone(), values: BTreeMap::new() });
                self.writes.len() - 1
            });
            let own: Origin = 1u128.checked_shl(at as u32).unwrap_or(0);
            let sets = self.writes[at].values.entry(access.value).or_default();
            for origin in origins.iter() {
                new |= add_minimal(sets, origin | own);
            }
        }
        new
    }

    fn find(&self, event: &Event, access: &Access) -> Option<usize> {
        self.writes.iter().position(|known| {
            known.event.thread == event.thread
                && known.event.instruction == event.instruction
                && known.event.occurrence == event.occurrence
                && known.event.access().is_some_and(|a| a.overlaps_completely(access))
        })
    }

    /// The chains behind a value that an atomic operation read, without those that contain its own
    /// write: an operation does not feed itself.
    fn origins(&self, read: &Event, value: u128) -> Chains {
        let Some(access) = read.access() else { return Rc::new([0]) };
        let question = (question(read, access, false), value);
        if let Some(known) = self.chains.borrow().get(&question) {
            return Rc::clone(known);
        }
        let chains: Chains = self.find_origins(read, access, value).into();
        self.chains.borrow_mut().insert(question, Rc::clone(&chains));
        chains
    }

    fn find_origins(&self, read: &Event, access: &Access, value: u128) -> Vec<Origin> {
        let own = self.find(read, access).and_then(|at| 1u128.checked_shl(at as u32)).unwrap_or(0);
        let mut sets = vec![];
        let init = &self.program.memories[access.memory].init;
        let range = access.offset as usize..(access.offset + access.bytes) as usize;
        let mut whole = true;
        if init.get(range).map(number) == Some(value) {
            add_minimal(&mut sets, 0);
        }
        for write in &self.writes {
            let Some(a) = write.event.access() else { continue };
            if a.memory == access.memory && a.offset == access.offset && a.bytes == access.bytes {
                for origin in write.values.get(&value).into_iter().flatten() {
                    if origin & own == 0 {
                        add_minimal(&mut sets, *origin);
                    }
                }
            } else if a.meets(access) {
                whole = false;
            }
        }
        let torn = access.object == Object::None && (!whole || !self.program_is_whole(read));
        if torn || !self.seeds.is_empty() {
            add_minimal(&mut sets, 0);
        }
        sets
    }

    /// Whether the read returns one write's value as it is.
    fn program_is_whole(&self, read: &Event) -> bool {
        let Some(access) = read.access() else { return false };
        let near: Vec<&KnownWrite> = self
            .writes
            .iter()
            .filter(|w| w.event.access().is_some_and(|a| a.meets(access)))
            .collect();
        self.whole(read, access, &near)
    }

    /// What a read could return, after the operations `before` of its own thread.
    fn values(&self, read: &Event, before: &[Event]) -> Result<Rc<[u128]>, Error> {
        let Some(access) = read.access() else { return Ok(Rc::new([])) };
        // The initial value is out of reach behind an own write of the same place (8.10.6).
        let overwritten = self.options.clauses == Clauses::default()
            && !read.asynchronous
            && before.iter().any(|event| {
                event.is_write()
                    && event.precedes(read)
                    && event.access().is_some_and(|own| {
                        own.overlaps_completely(access) && own.proxy == access.proxy
                    })
            });
        let question = question(read, access, overwritten);
        if let Some(known) = self.answers.borrow().get(&question) {
            return Ok(Rc::clone(known));
        }
        let values: Rc<[u128]> = self.find_values(read, access, overwritten)?.into();
        self.answers.borrow_mut().insert(question, Rc::clone(&values));
        Ok(values)
    }

    fn find_values(
        &self,
        read: &Event,
        access: &Access,
        overwritten: bool,
    ) -> Result<Vec<u128>, Error> {
        let init = &self.program.memories[access.memory].init;
        let range = access.offset as usize..(access.offset + access.bytes) as usize;
        let Some(init) = init.get(range) else { return Ok(vec![]) };
        let near: Vec<&KnownWrite> = self
            .writes
            .iter()
            .filter(|w| w.event.access().is_some_and(|a| a.meets(access)))
            .collect();
        if self.whole(read, access, &near) {
            let mut values: BTreeSet<u128> =
                near.iter().flat_map(|w| w.values.keys()).copied().collect();
            if !overwritten {
                values.insert(number(init));
            }
            let ty = Type { bytes: access.bytes, signed: false };
            values.extend(self.seeds.iter().map(|seed| ty.wrap(*seed)));
            return Ok(values.into_iter().collect());
        }
        // Each byte from wherever it can come.
        let mut values = BTreeSet::from([0u128]);
        for (index, first) in init.iter().enumerate() {
            let at = access.offset + index as u32;
            let mut bytes = BTreeSet::new();
            if !overwritten {
                bytes.insert(*first);
            }
            for write in &near {
                let Some(a) = write.event.access() else { continue };
                if (a.offset..a.offset + a.bytes).contains(&at) {
                    bytes.extend(write.values.keys().map(|v| (v >> (8 * (at - a.offset))) as u8));
                }
            }
            bytes.extend(self.seeds.iter().map(|seed| (seed >> (8 * index)) as u8));
            values = values
                .iter()
                .flat_map(|value| bytes.iter().map(move |b| value | u128::from(*b) << (8 * index)))
                .collect();
            if values.len() > VALUES {
                return Err(Error::TooManyValues(
                    self.program.memories[access.memory].name.clone(),
                ));
            }
        }
        Ok(values.into_iter().collect())
    }

    /// Whether the read can only take all its bytes from one write: every write that it meets is
    /// morally strong with it and with every other (section 8.10.3), or it is an mbarrier object,
    /// which instructions see as a whole.
    fn whole(&self, read: &Event, access: &Access, near: &[&KnownWrite]) -> bool {
        if access.object != Object::None {
            return true;
        }
        let same = |w: &&KnownWrite| {
            w.event.access().is_some_and(|a| a.offset == access.offset && a.bytes == access.bytes)
        };
        if access.bytes == 1 {
            return near.iter().all(same);
        }
        self.options.clauses.has(Clause::SingleCopyAtomicity)
            && near.iter().enumerate().all(|(index, a)| {
                same(a)
                    && strong::morally_strong(self.options, read, &a.event)
                    && near[..index]
                        .iter()
                        .all(|b| strong::morally_strong(self.options, &a.event, &b.event))
            })
    }
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// All ways of all threads, with every value that can be reached.
pub fn all(program: &Program, options: &Options) -> Result<Vec<Vec<Local>>, Error> {
    let mut domain = Domain::new(program, options);
    let mut rounds = 0;
    loop {
        let mut locals = vec![];
        let mut learnt = domain.clone();
        let mut new = false;
        // A chain of values is no longer than one execution has writes.
        let mut bound = 0;
        for thread in 0..program.threads.len() {
            let mut longest = 0;
            locals.push(ways(&domain, thread, |run| {
                new |= learnt.learn(&run.events, &run.origins);
                longest = longest.max(run.events.iter().filter(|event| event.is_write()).count());
            })?);
            bound += longest;
        }
        domain = learnt;
        domain.answers.get_mut().clear();
        domain.chains.get_mut().clear();
        rounds += 1;
        if !new || rounds > bound + 1 {
            return Ok(locals);
        }
    }
}

/// All ways of one thread. `each` sees every run, also those that are cut off.
fn ways(
    domain: &Domain<'_>,
    thread: usize,
    mut each: impl FnMut(&Run<'_>),
) -> Result<Vec<Local>, Error> {
    let mut path = vec![];
    let mut found = vec![];
    let mut runs = 0;
    loop {
        let mut run = Run::new(domain, thread, std::mem::take(&mut path));
        let end = run.execute()?;
        each(&run);
        path = std::mem::take(&mut run.path);
        path.truncate(run.asked);
        if end == End::Complete {
            let Run { events, edges, depends, registers, .. } = run;
            found.push(Local { events, edges, depends, registers });
        }
        runs += 1;
        if runs > WAYS {
            return Err(Error::TooManyPaths(domain.program.threads[thread].name.clone()));
        }
        // The next sequence of answers, as an odometer counts.
        while path.last().is_some_and(|(answer, answers)| answer + 1 == *answers) {
            path.pop();
        }
        match path.last_mut() {
            Some((answer, _)) => *answer += 1,
            None => return Ok(found),
        }
    }
}

#[derive(PartialEq, Eq)]
enum End {
    Complete,
    /// A read has no value yet, or a loop was cut off.
    Cut,
}

/// An asynchronous tcgen05 operation that was issued.
struct Issued {
    events: Vec<usize>,
    kind: Work,
    complete: bool,
    ordered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Load,
    Store,
    /// `mma` and `cp`
    Matrix,
}

/// One run of a thread.
struct Run<'a> {
    domain: &'a Domain<'a>,
    program: &'a Program,
    code: &'a Thread,
    thread: usize,
    path: Vec<(usize, usize)>,
    asked: usize,
    step: u32,
    counter: usize,
    times: Vec<u32>,
    registers: Vec<u128>,
    /// The reads that each register depends on.
    sources: Vec<u128>,
    control: u128,
    events: Vec<Event>,
    edges: Vec<(Moment, Moment)>,
    depends: Vec<u128>,
    origins: Vec<Chains>,
    /// Events of bulk copies since the last commit_group, and of the groups before; reads flagged.
    open_group: Vec<(usize, bool)>,
    groups: Vec<Vec<(usize, bool)>>,
    issued: Vec<Issued>,
    after: Option<usize>,
}

impl<'a> Run<'a> {
    fn new(domain: &'a Domain<'a>, thread: usize, path: Vec<(usize, usize)>) -> Self {
        let code = &domain.program.threads[thread];
        let mut registers = vec![0; code.registers.len()];
        for (register, value) in &code.initial {
            registers[*register] = *value;
        }
        Self {
            domain,
            program: domain.program,
            code,
            thread,
            path,
            asked: 0,
            step: 0,
            counter: 0,
            times: vec![0; code.code.len()],
            sources: vec![0; registers.len()],
            registers,
            control: 0,
            events: vec![],
            edges: vec![],
            depends: vec![],
            origins: vec![],
            open_group: vec![],
            groups: vec![],
            issued: vec![],
            after: None,
        }
    }

    fn execute(&mut self) -> Result<End, Error> {
        let code = &self.code.code;
        while let Some(instruction) = code.get(self.counter) {
            let at = self.counter;
            self.counter += 1;
            if let Some((register, negated)) = instruction.guard {
                self.control |= self.sources[register];
                if (self.registers[register] != 0) == negated {
                    continue;
                }
            }
            self.times[at] += 1;
            match &instruction.op {
                Op::Branch(target) => {
                    if *target <= at && self.times[at] > self.program.unroll {
                        return Ok(End::Cut);
                    }
                    self.counter = *target;
                }
                Op::Exit => break,
                op => {
                    if self.perform(op, at)? == End::Cut {
                        return Ok(End::Cut);
                    }
                }
            }
        }
        Ok(End::Complete)
    }

    fn value(&self, operand: Operand) -> u128 {
        match operand {
            Operand::Register(register) => self.registers[register],
            Operand::Immediate(value) => value,
        }
    }

    fn source(&self, operand: Operand) -> u128 {
        match operand {
            Operand::Register(register) => self.sources[register],
            Operand::Immediate(_) => 0,
        }
    }

    fn set(&mut self, register: Register, value: u128, sources: u128) {
        self.registers[register] = value;
        self.sources[register] = sources;
    }

    /// Memory operation at `address` plus `skip`, not yet part of the run.
    fn access(
        &mut self,
        address: Address,
        skip: u32,
        bytes: u32,
        order: Order,
        proxy: Proxy,
    ) -> Result<Access, Error> {
        let (view, offset) = match address {
            Address::Named(view, offset) => (view, offset),
            Address::Register(register, offset) => {
                self.control |= self.sources[register];
                let number = self.registers[register].wrapping_add(offset as u128);
                self.program.view_at(number & u128::from(u64::MAX)).ok_or_else(|| self.outside())?
            }
        };
        let place = &self.program.views[view];
        let offset = offset + i64::from(skip);
        let size = self.program.memories[place.memory].init.len() as i64;
        if offset < 0 || offset + i64::from(bytes) > size {
            return Err(self.outside());
        }
        // A name that stands for another proxy is reached through it whatever the instruction.
        let proxy = if place.proxy == Proxy::Generic { proxy } else { place.proxy };
        Ok(Access {
            memory: place.memory,
            address: place.address,
            offset: offset as u32,
            bytes,
            value: 0,
            order,
            proxy,
            partner: None,
            reduction: false,
            object: Object::None,
        })
    }

    fn outside(&self) -> Error {
        let line = self.counter.checked_sub(1).and_then(|at| self.code.code.get(at));
        Error::OutOfBounds { thread: self.code.name.clone(), line: line.map_or(0, |i| i.line) }
    }

    fn push(&mut self, kind: Kind, at: usize, asynchronous: bool, depends: u128) -> usize {
        self.events.push(Event {
            thread: self.thread,
            place: self.code.place,
            instruction: at,
            occurrence: self.times[at],
            step: self.step,
            asynchronous,
            kind,
        });
        self.depends.push(depends | self.control);
        self.origins.push(Rc::new([0]));
        self.events.len() - 1
    }

    /// Adds a read and lets it return one of its values.
    fn read(
        &mut self,
        access: Access,
        at: usize,
        asynchronous: bool,
    ) -> Result<Option<(usize, u128)>, Error> {
        let event = self.push(Kind::Read(access), at, asynchronous, 0);
        let values = self.domain.values(&self.events[event], &self.events[..event])?;
        if values.is_empty() {
            return Ok(None);
        }
        if self.asked == self.path.len() {
            self.path.push((0, values.len()));
        }
        let value = values[self.path[self.asked].0];
        self.asked += 1;
        if let Some(access) = self.events[event].access_mut() {
            access.value = value;
        }
        Ok(Some((event, value)))
    }

    /// The bit of a read in dependency sets; past 127 reads they share the last one.
    fn bit(event: usize) -> u128 {
        1 << event.min(127)
    }

    /// A synchronous or asynchronous read-modify-write: positions of its read and write, and the old value.
    fn modify(
        &mut self,
        access: Access,
        at: usize,
        asynchronous: bool,
        sources: u128,
        injective: bool,
        new: impl Fn(u128) -> u128,
    ) -> Result<Option<(usize, usize, u128)>, Error> {
        let order = access.order;
        let mut reading = access.clone();
        reading.order = order.of_read();
        let Some((read, old)) = self.read(reading, at, asynchronous)? else { return Ok(None) };
        // Where the new value tells the old one (and on mbarrier objects, whose operations are ordered
        // one after the other), an operation cannot have fed itself: values stay few.
        let chained = injective || access.object != Object::None;
        let origins =
            if chained { self.domain.origins(&self.events[read], old) } else { Rc::new([0]) };
        if origins.is_empty() {
            return Ok(None);
        }
        self.step += 1;
        let writing = Access {
            value: Type { bytes: access.bytes, signed: false }.wrap(new(old)),
            order: order.of_write(),
            partner: Some(read),
            ..access
        };
        let write = self.push(Kind::Write(writing), at, asynchronous, sources | Self::bit(read));
        if let Some(access) = self.events[read].access_mut() {
            access.partner = Some(write);
        }
        self.origins[write] = origins;
        if asynchronous {
            self.edges.push((Moment::Done(read), Moment::Start(write)));
        }
        Ok(Some((read, write, old)))
    }

    fn perform(&mut self, op: &Op, at: usize) -> Result<End, Error> {
        self.step += 1;
        match op {
            Op::Alu(alu, ty, to, operands) => {
                let result = alu.compute(*ty, operands.map(|operand| self.value(operand)));
                // x ^ x and x - x do not depend on x.
                let cancels = matches!(alu, crate::program::Alu::Xor | crate::program::Alu::Sub)
                    && operands[0] == operands[1];
                let sources = operands.iter().fold(0, |all, operand| all | self.source(*operand));
                self.set(*to, result, if cancels { 0 } else { sources });
            }
            Op::Load(to, ty, order, proxy, address) => {
                for (lane, register) in to.iter().enumerate() {
                    let access =
                        self.access(*address, lane as u32 * ty.bytes, ty.bytes, *order, *proxy)?;
                    let Some((event, value)) = self.read(access, at, false)? else {
                        return Ok(End::Cut);
                    };
                    self.set(*register, ty.wrap(value), Self::bit(event));
                }
            }
            Op::Store(values, ty, order, proxy, address) => {
                for (lane, operand) in values.iter().enumerate() {
                    let mut access =
                        self.access(*address, lane as u32 * ty.bytes, ty.bytes, *order, *proxy)?;
                    let unsigned = Type { signed: false, ..*ty };
                    access.value = unsigned.wrap(self.value(*operand));
                    self.push(Kind::Write(access), at, false, self.source(*operand));
                }
            }
            Op::Rmw(rmw) => return self.atomic(rmw, at),
            Op::Fence(order, restricted) => {
                self.push(Kind::Fence(*order, *restricted), at, false, 0);
            }
            Op::ProxyFence(fence) => {
                self.push(Kind::ProxyFence(*fence), at, false, 0);
            }
            Op::InitFence => {
                self.push(Kind::InitFence, at, false, 0);
            }
            Op::Barrier { id, count, waits } => {
                let barrier = Barrier::Block(*id, *count);
                self.push(Kind::Arrive(barrier), at, false, 0);
                if *waits {
                    self.step += 1;
                    self.push(Kind::Wait(barrier), at, false, 0);
                }
            }
            Op::ClusterArrive(releases) => {
                self.push(Kind::Arrive(Barrier::Cluster(*releases)), at, false, 0);
            }
            Op::ClusterWait => {
                self.push(Kind::Wait(Barrier::Cluster(true)), at, false, 0);
            }
            Op::Mbarrier(operation, order, address) => {
                return self.mbarrier(operation, *order, *address, at);
            }
            Op::Bulk { to, from, bytes, completion, map, reduce, order } => {
                let copy = Copy {
                    to: *to,
                    from: Some(*from),
                    value: 0,
                    bytes: *bytes,
                    map: *map,
                    reduce: *reduce,
                    order: *order,
                };
                return self.copy(copy, Some(*completion), at);
            }
            Op::StoreAsync { to, value, ty, reduce, mbarrier, order } => {
                let copy = Copy {
                    to: *to,
                    from: None,
                    value: ty.wrap(self.value(*value)),
                    bytes: ty.bytes,
                    map: None,
                    reduce: *reduce,
                    order: *order,
                };
                return self.copy(copy, mbarrier.map(Completion::Mbarrier), at);
            }
            Op::CommitGroup => {
                let group = std::mem::take(&mut self.open_group);
                self.groups.push(group);
            }
            Op::WaitGroup(stay, reads_only) => {
                let wait = self.push(Kind::Local, at, false, 0);
                let reads_only =
                    *reads_only && self.domain.options.clauses.has(Clause::WaitGroupRead);
                let done = self.groups.len().saturating_sub(*stay as usize);
                for (event, is_read) in self.groups[..done].iter().flatten() {
                    if *is_read || !reads_only {
                        self.edges.push((Moment::Done(*event), Moment::Start(wait)));
                    }
                }
            }
            Op::ReplaceTensorMap(address, value) => {
                let mut access = self.access(*address, 0, 4, Order::WEAK, Proxy::Generic)?;
                access.value = Type { bytes: 4, signed: false }.wrap(self.value(*value));
                self.push(Kind::Write(access), at, false, self.source(*value));
            }
            Op::Tcgen05(operation) => return self.tcgen05(operation, at),
            Op::Branch(_) | Op::Exit => {}
        }
        Ok(End::Complete)
    }

    fn atomic(&mut self, rmw: &Rmw, at: usize) -> Result<End, Error> {
        let Rmw { modify, ty, order, .. } = *rmw;
        let mut access = self.access(rmw.at, 0, ty.bytes, order, Proxy::Generic)?;
        access.reduction = rmw.reduction;
        let args = rmw.args.map(|operand| self.value(operand));
        let sources = rmw.args.iter().fold(0, |all, operand| all | self.source(*operand));
        let new = |old| modify.apply(ty, ty.wrap(old), args);
        let Some((read, _, old)) =
            self.modify(access, at, false, sources, is_injective(modify), new)?
        else {
            return Ok(End::Cut);
        };
        if let Some(to) = rmw.to {
            self.set(to, ty.wrap(old), Self::bit(read));
        }
        Ok(End::Complete)
    }

    fn mbarrier(
        &mut self,
        operation: &Mbarrier,
        order: Order,
        address: Address,
        at: usize,
    ) -> Result<End, Error> {
        let mut access = self.access(address, 0, 8, order, Proxy::Generic)?;
        access.object = Object::Update;
        match operation {
            Mbarrier::Init(count) => {
                access.object = Object::Init;
                access.value = State::new(self.value(*count)).pack();
                self.push(Kind::Write(access), at, false, self.source(*count));
            }
            Mbarrier::Arrive { state, count, expect } => {
                let [count, expect] = [*count, *expect].map(|operand| self.value(operand));
                let new =
                    |old| State::unpack(old).expect(expect as i64).arrive(count as i64).pack();
                let Some((read, _, old)) = self.modify(access, at, false, 0, true, new)? else {
                    return Ok(End::Cut);
                };
                if let Some(register) = state {
                    self.set(*register, old, Self::bit(read));
                }
            }
            Mbarrier::ExpectTx(bytes) => {
                let bytes = self.value(*bytes) as i64;
                let new = |old| State::unpack(old).expect(bytes).pack();
                if self.modify(access, at, false, 0, true, new)?.is_none() {
                    return Ok(End::Cut);
                }
            }
            Mbarrier::CompleteTx(bytes) => {
                let bytes = self.value(*bytes) as i64;
                let new = |old| State::unpack(old).complete(bytes).pack();
                if self.modify(access, at, false, 0, true, new)?.is_none() {
                    return Ok(End::Cut);
                }
            }
            Mbarrier::Wait { done, phase } => {
                access.object = Object::Passed;
                let Some((event, value)) = self.read(access, at, false)? else {
                    return Ok(End::Cut);
                };
                let state = State::unpack(value);
                let mut sources = Self::bit(event);
                let passed = match phase {
                    Phase::Parity(operand) => {
                        sources |= self.source(*operand);
                        state.is_live() && state.phase % 2 != (self.value(*operand) % 2) as u64
                    }
                    Phase::State(operand) => {
                        sources |= self.source(*operand);
                        state.is_live() && state.phase != State::unpack(self.value(*operand)).phase
                    }
                };
                // A wait acquires only if it says that the phase is over.
                if !passed && let Some(access) = self.events[event].access_mut() {
                    access.object = Object::Pending;
                    if self.domain.options.clauses.has(Clause::WaitAcquiresOnTrue) {
                        access.order.semantics = Semantics::Relaxed;
                    }
                }
                self.set(*done, u128::from(passed), sources);
            }
        }
        Ok(End::Complete)
    }

    /// The arrival of an asynchronous operation on an mbarrier: `first` is the operation's first
    /// event, `own` its accesses, which alone it orders (section 8.9.1.1).
    fn completes(
        &mut self,
        mbarrier: Address,
        first: usize,
        own: &[Moment],
        new: impl Fn(State) -> State,
        at: usize,
    ) -> Result<End, Error> {
        let order = Order { semantics: Semantics::Release, scope: Scope::Cluster };
        let mut access = self.access(mbarrier, 0, 8, order, Proxy::Generic)?;
        access.object = Object::Complete(first);
        let new = |old| new(State::unpack(old)).pack();
        let Some((read, write, _)) = self.modify(access, at, true, 0, true, new)? else {
            return Ok(End::Cut);
        };
        for moment in own {
            self.edges.push((*moment, Moment::Start(read)));
            self.edges.push((*moment, Moment::Done(read)));
            self.edges.push((*moment, Moment::Done(write)));
        }
        if !self.domain.options.clauses.has(Clause::CompleteTxOwnOnly) {
            self.edges.push((Moment::Start(write), Moment::Done(write)));
        }
        Ok(End::Complete)
    }

    /// A bulk copy or an asynchronous store, element by element.
    fn copy(
        &mut self,
        copy: Copy,
        completion: Option<Completion>,
        at: usize,
    ) -> Result<End, Error> {
        let first = self.events.len();
        let mut own = vec![];
        let unit = self.unit(&copy)?;
        let mut map_read = None;
        if let Some(map) = copy.map {
            let access = self.access(map, 0, 4, Order::WEAK, Proxy::TensorMap)?;
            let Some((event, _)) = self.read(access, at, true)? else { return Ok(End::Cut) };
            map_read = Some(event);
            own.push((event, true));
        }
        for skip in (0..copy.bytes).step_by(unit as usize) {
            let mut value = copy.value >> (8 * skip).min(127);
            let mut sources = 0;
            let mut before = map_read;
            match (copy.from, map_read) {
                // A tensor map without data of its own: what is copied is what the map says.
                (Some(_), Some(event)) if copy.map == copy.from => {
                    value = self.events[event].access().map_or(0, |access| access.value);
                    sources = Self::bit(event);
                }
                (Some(from), _) => {
                    let access = self.access(from, skip, unit, copy.order, Proxy::Async)?;
                    let Some((event, read)) = self.read(access, at, true)? else {
                        return Ok(End::Cut);
                    };
                    if let Some(map) = map_read {
                        self.edges.push((Moment::Done(map), Moment::Start(event)));
                    }
                    own.push((event, true));
                    value = read;
                    sources = Self::bit(event);
                    before = Some(event);
                }
                (None, _) => {}
            }
            let mut access = self.access(copy.to, skip, unit, copy.order, Proxy::Async)?;
            let write = match copy.reduce {
                Some(modify) => {
                    let ty = Type { bytes: unit, signed: false };
                    if !access.order.is_strong() {
                        access.order = Order { semantics: Semantics::Relaxed, scope: Scope::Gpu };
                    }
                    access.reduction = true;
                    let new = |old| modify.apply(ty, old, [value, 0]);
                    let Some((read, write, _)) =
                        self.modify(access, at, true, sources, is_injective(modify), new)?
                    else {
                        return Ok(End::Cut);
                    };
                    own.push((read, true));
                    if let Some(before) = before {
                        self.edges.push((Moment::Done(before), Moment::Start(read)));
                    }
                    write
                }
                None => {
                    access.value = Type { bytes: unit, signed: false }.wrap(value);
                    self.push(Kind::Write(access), at, true, sources)
                }
            };
            if let Some(before) = before
                && self.domain.options.clauses.has(Clause::AsyncReadThenWrite)
            {
                self.edges.push((Moment::Done(before), Moment::Start(write)));
            }
            if copy.order.semantics.releases()
                && self.domain.options.clauses.has(Clause::ReleaseAsync)
            {
                self.edges.push((Moment::Start(write), Moment::Done(write)));
            }
            own.push((write, false));
        }
        match completion {
            Some(Completion::Mbarrier(mbarrier)) => {
                let moments: Vec<Moment> =
                    own.iter().map(|(event, _)| Moment::Done(*event)).collect();
                let bytes = i64::from(copy.bytes);
                self.completes(mbarrier, first, &moments, |state| state.complete(bytes), at)
            }
            Some(Completion::Group) => {
                self.open_group.extend(own);
                Ok(End::Complete)
            }
            None => Ok(End::Complete),
        }
    }

    /// The size of the scalar operations that a copy is made of: the smaller of the two types.
    fn unit(&self, copy: &Copy) -> Result<u32, Error> {
        if copy.from.is_none() {
            return Ok(copy.bytes);
        }
        let size = |address: Address| match address {
            Address::Named(view, _) => {
                self.program.memories[self.program.views[view].memory].ty.bytes
            }
            Address::Register(..) => 4,
        };
        let unit = copy.from.map_or(copy.bytes, size).min(size(copy.to)).min(copy.bytes);
        if copy.bytes.is_multiple_of(unit) { Ok(unit) } else { Err(self.outside()) }
    }

    fn tcgen05(&mut self, operation: &Tcgen05, at: usize) -> Result<End, Error> {
        let word = Type { bytes: 4, signed: false };
        let tensor = Proxy::Tensor;
        match *operation {
            Tcgen05::Load(to, address) => {
                let access = self.access(address, 0, 4, Order::WEAK, tensor)?;
                let Some((event, value)) = self.read(access, at, true)? else {
                    return Ok(End::Cut);
                };
                self.set(to, value, Self::bit(event));
                self.issue(vec![event], Work::Load);
            }
            Tcgen05::Store(address, value) => {
                let mut access = self.access(address, 0, 4, Order::WEAK, tensor)?;
                access.value = word.wrap(self.value(value));
                let event = self.push(Kind::Write(access), at, true, self.source(value));
                self.issue(vec![event], Work::Store);
            }
            Tcgen05::Mma { d, a, b, accumulate } => {
                let mut factors = [0; 2];
                let mut operands = vec![];
                let mut sources = self.source(accumulate);
                for (factor, address) in factors.iter_mut().zip([a, b]) {
                    let access = self.access(address, 0, 4, Order::WEAK, Proxy::Async)?;
                    let Some((event, value)) = self.read(access, at, true)? else {
                        return Ok(End::Cut);
                    };
                    *factor = value;
                    sources |= Self::bit(event);
                    operands.push(event);
                }
                let mut own = vec![];
                let mut origins: Chains = Rc::new([0]);
                let mut value = word.wrap(factors[0].wrapping_mul(factors[1]));
                if self.value(accumulate) != 0 {
                    let access = self.access(d, 0, 4, Order::WEAK, tensor)?;
                    let Some((event, old)) = self.read(access, at, true)? else {
                        return Ok(End::Cut);
                    };
                    value = word.wrap(value.wrapping_add(old));
                    sources |= Self::bit(event);
                    own.push(event);
                    origins = self.domain.origins(&self.events[event], old);
                    if origins.is_empty() {
                        return Ok(End::Cut);
                    }
                }
                let mut access = self.access(d, 0, 4, Order::WEAK, tensor)?;
                access.value = value;
                let write = self.push(Kind::Write(access), at, true, sources);
                self.origins[write] = origins;
                for event in operands.iter().chain(&own) {
                    self.edges.push((Moment::Done(*event), Moment::Start(write)));
                }
                own.push(write);
                self.issue(own, Work::Matrix);
                self.issued.push(Issued {
                    events: operands,
                    kind: Work::Matrix,
                    complete: false,
                    ordered: false,
                });
            }
            Tcgen05::Copy(to, from) => {
                let access = self.access(from, 0, 4, Order::WEAK, Proxy::Async)?;
                let Some((read, value)) = self.read(access, at, true)? else { return Ok(End::Cut) };
                let mut access = self.access(to, 0, 4, Order::WEAK, tensor)?;
                access.value = value;
                let write = self.push(Kind::Write(access), at, true, Self::bit(read));
                self.edges.push((Moment::Done(read), Moment::Start(write)));
                self.issue(vec![write], Work::Matrix);
                self.issued.push(Issued {
                    events: vec![read],
                    kind: Work::Matrix,
                    complete: false,
                    ordered: false,
                });
            }
            Tcgen05::Commit(mbarrier) => {
                let mut own = vec![];
                if self.domain.options.clauses.has(Clause::Tcgen05Commit) {
                    for work in &self.issued {
                        let done = work.complete || work.kind == Work::Matrix;
                        own.extend(work.events.iter().map(|event| match done {
                            true => Moment::Done(*event),
                            false => Moment::Ordered(*event),
                        }));
                    }
                }
                let first = self.events.len();
                return self.completes(mbarrier, first, &own, |state| state.arrive(1), at);
            }
            Tcgen05::WaitLoad | Tcgen05::WaitStore => {
                let kind = if *operation == Tcgen05::WaitLoad { Work::Load } else { Work::Store };
                let wait = self.push(Kind::Local, at, false, 0);
                let ordered =
                    self.domain.options.choices.tcgen05_fence == Tcgen05Fence::Uncompleted;
                for work in self.issued.iter_mut().filter(|work| work.kind == kind) {
                    work.complete = true;
                    if ordered {
                        let done = work.events.iter().map(|event| Moment::Done(*event));
                        self.edges.extend(done.map(|done| (done, Moment::Start(wait))));
                    }
                }
            }
            Tcgen05::Before => {
                let fence = self.push(Kind::Before, at, false, 0);
                let orders = Moment::Ordered(fence);
                self.edges.push((orders, Moment::Start(fence)));
                // A relay: what an after_thread_sync of this thread received is passed on.
                self.edges.extend(self.after.map(|after| (Moment::Ordered(after), orders)));
                if self.domain.options.clauses.has(Clause::Tcgen05Before) {
                    for work in &mut self.issued {
                        work.ordered = true;
                        for event in &work.events {
                            self.edges.push((Moment::Ordered(*event), orders));
                            if work.complete {
                                self.edges.push((Moment::Done(*event), orders));
                            }
                        }
                    }
                }
            }
            Tcgen05::After => {
                let fence = self.push(Kind::After, at, false, 0);
                let orders = Moment::Ordered(fence);
                self.edges.push((Moment::Start(fence), orders));
                self.edges.extend(self.after.map(|after| (Moment::Ordered(after), orders)));
                for event in self.issued.iter().flat_map(|work| &work.events) {
                    self.edges.push((Moment::Ordered(*event), orders));
                }
                self.after = Some(fence);
            }
        }
        Ok(End::Complete)
    }

    /// Orders new accesses to tensor memory after what precedes them (facts of the tcgen05 model):
    /// the last after_thread_sync, and this thread's work that is complete or was fenced. What is a
    /// pipelined pair is decided where the two are compared.
    fn issue(&mut self, events: Vec<usize>, kind: Work) {
        for event in &events {
            if let Some(fence) = self.after {
                self.edges.push((Moment::Ordered(fence), Moment::Start(*event)));
            }
            for work in &self.issued {
                for earlier in &work.events {
                    if work.complete {
                        self.edges.push((Moment::Done(*earlier), Moment::Start(*event)));
                    }
                    if work.ordered || work.kind == Work::Matrix && kind == Work::Matrix {
                        self.edges.push((Moment::Ordered(*earlier), Moment::Start(*event)));
                    }
                }
            }
        }
        self.issued.push(Issued { events, kind, complete: false, ordered: false });
    }
}

/// Whether different old values give different new ones.
fn is_injective(modify: Modify) -> bool {
    matches!(modify, Modify::Add | Modify::Xor)
}

/// What a bulk copy or an asynchronous store does.
struct Copy {
    to: Address,
    from: Option<Address>,
    value: u128,
    bytes: u32,
    map: Option<Address>,
    reduce: Option<Modify>,
    order: Order,
}

/// The state of an mbarrier object, as it is kept in its eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    phase: u64,
    pending: i64,
    expected: i64,
    /// Bytes still to come.
    bytes: i64,
}

impl State {
    fn new(count: u128) -> Self {
        let count = (count & 0xffff) as i64;
        Self { phase: 0, pending: count, expected: count, bytes: 0 }
    }

    fn pack(self) -> u128 {
        let bits = self.pending as u64 & 0xffff
            | (self.expected as u64 & 0xffff) << 16
            | (self.bytes as u64 & 0xff_ffff) << 32
            | (self.phase & 0xff) << 56;
        u128::from(bits)
    }

    fn unpack(value: u128) -> Self {
        let bits = value as u64;
        Self {
            phase: bits >> 56,
            pending: (bits & 0xffff) as i64,
            expected: (bits >> 16 & 0xffff) as i64,
            bytes: (bits << 8) as i64 >> 40,
        }
    }

    /// Whether there is an object.
    fn is_live(self) -> bool {
        self.expected != 0
    }

    fn expect(mut self, bytes: i64) -> Self {
        self.bytes += bytes;
        self
    }

    fn arrive(mut self, count: i64) -> Self {
        self.pending -= count;
        self.end_phase()
    }

    fn complete(mut self, bytes: i64) -> Self {
        self.bytes -= bytes;
        self.end_phase()
    }

    fn end_phase(mut self) -> Self {
        if !self.is_live() {
            return State::unpack(0);
        }
        if self.pending == 0 && self.bytes == 0 {
            self.phase = (self.phase + 1) & 0xff;
            self.pending = self.expected;
        }
        self
    }
}
