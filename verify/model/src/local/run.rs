//! One run of one thread: its registers, and the operations that it has executed.

use std::rc::Rc;

use super::Moment;
use super::copies::{Copy, Groups};
use super::domain::{Chains, Domain};
use super::finals::Finals;
use super::tensor::Issued;
use crate::Error;
use crate::event::{Access, Ballot, Barrier, Event, Kind, Object};
use crate::options::{Clause, StoreAsync};
use crate::program::{
    Address, Completion, Group, Modify, Op, Operand, Order, Poll, Program, Proxy, Register, Rmw,
    Space, Thread, Type, Vote, Window,
};
use crate::undefined::Undefined;

#[derive(PartialEq, Eq)]
/// How a run ended.
pub enum End {
    Complete,
    /// A read has no value yet, or a loop was cut off.
    Cut,
}
/// One run of a thread.
pub struct Run<'a> {
    pub(super) domain: &'a Domain<'a>,
    pub(super) program: &'a Program,
    pub(super) code: &'a Thread,
    pub(super) thread: usize,
    pub(super) path: Vec<(usize, usize)>,
    pub(super) asked: usize,
    pub(super) step: u32,
    pub(super) counter: usize,
    times: Vec<u32>,
    pub(super) registers: Vec<u128>,
    /// The reads that each register depends on.
    sources: Vec<u128>,
    control: u128,
    pub(super) events: Vec<Event>,
    pub(super) edges: Vec<(Moment, Moment)>,
    pub(super) depends: Vec<u128>,
    pub(super) origins: Vec<Chains>,
    bulk_groups: Groups,
    copy_groups: Groups,
    pub(super) issued: Vec<Issued>,
    pub(super) after: Option<usize>,
    pub(super) undefined: Vec<Undefined>,
    /// The answers to all reads and votes, if they are known.
    pub(super) given: Option<std::vec::IntoIter<u128>>,
    /// What the condition says: a run that it excludes is cut off.
    pub(super) finals: Option<&'a Finals<'a>>,
}

impl<'a> Run<'a> {
    pub fn new(domain: &'a Domain<'a>, thread: usize, path: Vec<(usize, usize)>) -> Self {
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
            bulk_groups: Groups::default(),
            copy_groups: Groups::default(),
            issued: vec![],
            after: None,
            undefined: vec![],
            given: None,
            finals: None,
        }
    }

    pub fn execute(&mut self) -> Result<End, Error> {
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
            let target = match &instruction.op {
                Op::Branch(target) => Some(*target),
                Op::BranchIndexed(index, targets) => {
                    self.control |= self.source(*index);
                    let target = usize::try_from(self.value(*index)).ok();
                    match target.and_then(|index| targets.get(index)) {
                        Some(target) => Some(*target),
                        None => return Ok(End::Cut),
                    }
                }
                _ => None,
            };
            if let Some(target) = target {
                if target <= at && self.times[at] > self.program.unroll {
                    return Ok(End::Cut);
                }
                self.counter = target;
                continue;
            }
            match &instruction.op {
                Op::Exit => break,
                Op::Trap => return Ok(End::Cut),
                op => {
                    if self.perform(op, at)? == End::Cut || self.is_excluded(at) {
                        return Ok(End::Cut);
                    }
                }
            }
        }
        Ok(End::Complete)
    }

    /// Whether the condition cannot hold any more, as what the instruction has set is final.
    fn is_excluded(&self, at: usize) -> bool {
        self.finals.is_some_and(|finals| {
            finals.decides(self.thread, at)
                && finals.contradict(self.thread, self.counter, &self.registers)
        })
    }

    pub(super) fn value(&self, operand: Operand) -> u128 {
        match operand {
            Operand::Register(register) => self.registers[register],
            Operand::Immediate(value) => value,
        }
    }

    pub(super) fn source(&self, operand: Operand) -> u128 {
        match operand {
            Operand::Register(register) => self.sources[register],
            Operand::Immediate(_) => 0,
        }
    }

    pub(super) fn set(&mut self, register: Register, value: u128, sources: u128) {
        self.registers[register] = value;
        self.sources[register] = sources;
    }

    /// Memory operation at `address` plus `skip`, not yet part of the run.
    pub(super) fn access(
        &mut self,
        address: Address,
        skip: u32,
        bytes: u32,
        order: Order,
        proxy: Proxy,
    ) -> Result<Access, Error> {
        let (view, offset) = self.place(address).ok_or_else(|| self.outside())?;
        let place = &self.program.views[view];
        let offset = offset + i64::from(skip);
        let size = self.program.memories[place.memory].init.len() as i64;
        if offset < 0 || offset + i64::from(bytes) > size {
            return Err(self.outside());
        }
        let shared = matches!(self.program.memories[place.memory].space, Space::Shared(_));
        if shared && !self.program.reaches(Window::SharedCluster, self.code.place, place.memory) {
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
            any: false,
        })
    }

    /// The view and the offset that an address means.
    fn place(&mut self, address: Address) -> Option<(usize, i64)> {
        match address {
            Address::Named(view, offset) => Some((view, offset)),
            Address::Register(register, offset) => {
                self.control |= self.sources[register];
                let number = self.registers[register].wrapping_add(offset as u128);
                let (view, offset) = self.program.view_at(number & u128::from(u64::MAX))?;
                let column = if self.program.views[view].proxy == Proxy::Tensor { 4 } else { 1 };
                Some((view, offset * column))
            }
            Address::Tile(register, coordinates) => {
                self.control |= self.sources[register];
                let (map, _) = self.program.view_at(self.registers[register])?;
                let data = self.described(map)?;
                let sum: u128 = coordinates.iter().map(|operand| self.value(*operand)).sum();
                Some((data, i64::try_from(4 * sum).ok()?))
            }
            Address::Descriptor(view, register) => {
                self.control |= self.sources[register];
                Some((view, (self.registers[register] as i64 & 0x3fff) << 4))
            }
        }
    }

    /// The view that a tensor map describes.
    pub(super) fn described(&self, map: usize) -> Option<usize> {
        let map = self.program.views[map].memory;
        self.program.tiles.iter().find(|(known, _)| *known == map).map(|(_, data)| *data)
    }

    /// The address of what lies at `address`, in the CTA of that rank.
    fn peer(&self, address: u128, rank: u128, ctas: &[u32]) -> Option<u128> {
        let (view, offset) = self.program.view_at(address)?;
        let cta = *ctas.get(usize::try_from(rank).ok()?)?;
        let name = &self.program.views[view].name;
        let there = self.program.views.iter().position(|view| {
            let memory = &self.program.memories[view.memory];
            view.name == *name && memory.space == Space::Shared(Some(cta))
        })?;
        Some(Program::address(there).wrapping_add(offset as u128))
    }

    /// This thread's groups of a kind.
    pub(super) fn groups_of(&mut self, group: Group) -> &mut Groups {
        match group {
            Group::Bulk => &mut self.bulk_groups,
            Group::Threads => &mut self.copy_groups,
        }
    }

    pub(super) fn outside(&self) -> Error {
        let line = self.counter.checked_sub(1).and_then(|at| self.code.code.get(at));
        Error::OutOfBounds { thread: self.code.name.clone(), line: line.map_or(0, |i| i.line) }
    }

    pub(super) fn push(
        &mut self,
        kind: Kind,
        at: usize,
        asynchronous: bool,
        depends: u128,
    ) -> usize {
        let mut kind = kind;
        if let Kind::Write(access) = &mut kind {
            let letters = self.domain.letters;
            access.value = letters.value(access.memory, access.bytes, access.value);
        }
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
    pub(super) fn read(
        &mut self,
        access: Access,
        at: usize,
        asynchronous: bool,
    ) -> Result<Option<(usize, u128)>, Error> {
        let mut access = access;
        access.any =
            access.object == Object::None && !self.domain.relevance.matters(self.thread, at);
        let any = access.any;
        let event = self.push(Kind::Read(access), at, asynchronous, 0);
        if let Some(answer) = self.given.as_mut().map(|given| given.next().unwrap_or(0)) {
            if let Some(access) = self.events[event].access_mut() {
                access.value = answer;
            }
            return Ok(Some((event, answer)));
        }
        if any {
            return Ok(Some((event, 0)));
        }
        let mut values = self.domain.values(&self.events[event], &self.events[..event])?;
        if let Some(known) = self.state_before(event) {
            values = values.iter().copied().filter(|value| known.may_become(*value)).collect();
        }
        if values.is_empty() {
            return Ok(None);
        }
        let value = values[self.choose(values.len())];
        if let Some(access) = self.events[event].access_mut() {
            access.value = value;
        }
        Ok(Some((event, value)))
    }

    /// One of so many possibilities; the next run takes the next one.
    fn choose(&mut self, possibilities: usize) -> usize {
        if self.asked == self.path.len() {
            self.path.push((0, possibilities));
        }
        self.asked += 1;
        self.path[self.asked - 1].0
    }

    /// The own vote, and a result that the votes of others could lead to. Whether they do is known
    /// when the threads meet.
    fn ballot(&mut self, vote: Vote, count: Option<u32>) -> Ballot {
        let own = (self.registers[vote.own.0] != 0) != vote.own.1;
        let members = self.program.threads.iter().filter(|t| t.place.cta == self.code.place.cta);
        let others = count.unwrap_or(members.count() as u32).saturating_sub(1);
        if let Some(answer) = self.given.as_mut().map(|given| given.next().unwrap_or(0)) {
            return Ballot { op: vote.op, own, result: answer as u32 };
        }
        let yes = u32::from(own);
        let (least, most) = match vote.op {
            Poll::And => (if others == 0 { yes } else { 0 }, yes),
            Poll::Or => (yes, if others == 0 { yes } else { 1 }),
            Poll::Popc => (yes, yes + others),
        };
        let result = least + self.choose((most - least + 1) as usize) as u32;
        Ballot { op: vote.op, own, result }
    }

    /// The bit of a read in dependency sets; past 127 reads they share the last one.
    pub(super) fn bit(event: usize) -> u128 {
        1 << event.min(127)
    }

    /// A synchronous or asynchronous read-modify-write: positions of its read and write, and the old value.
    pub(super) fn modify(
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
        let chained = chained
            && self.given.is_none()
            && self.events[read].access().is_some_and(|access| !access.any);
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
            any: false,
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
            Op::ProxyFence(fence, about) => {
                let about = match about {
                    Some(address) => {
                        Some(self.access(*address, 0, 4, Order::WEAK, Proxy::Generic)?.memory)
                    }
                    None => None,
                };
                self.push(Kind::ProxyFence(*fence, about), at, false, 0);
            }
            Op::InitFence => {
                self.push(Kind::InitFence, at, false, 0);
            }
            Op::Barrier { id, count, waits, vote } => {
                let barrier = Barrier::Block(self.value(*id) as u32, *count);
                let ballot = vote.map(|vote| self.ballot(vote, *count));
                let sources = vote.map_or(0, |vote| self.sources[vote.own.0]);
                self.push(Kind::Arrive(barrier, ballot), at, false, sources);
                if *waits {
                    self.step += 1;
                    let wait = self.push(Kind::Wait(barrier, ballot), at, false, 0);
                    if let (Some(vote), Some(ballot)) = (vote, ballot) {
                        self.set(vote.to, ballot.result.into(), Self::bit(wait));
                    }
                }
            }
            Op::ClusterArrive(releases) => {
                self.push(Kind::Arrive(Barrier::Cluster(*releases), None), at, false, 0);
            }
            Op::ClusterWait => {
                self.push(Kind::Wait(Barrier::Cluster(true), None), at, false, 0);
            }
            Op::Mbarrier(operation, order, address) => {
                return self.mbarrier(operation, *order, *address, at);
            }
            Op::Bulk { to, from, bytes, zeros, completion, map, reduce, order } => {
                let copy = Copy {
                    to: *to,
                    from: Some(*from),
                    value: 0,
                    bytes: *bytes,
                    zeros: *zeros,
                    map: *map,
                    reduce: *reduce,
                    order: *order,
                    proxy: match completion {
                        Completion::Group(Group::Threads)
                            if self.domain.options.clauses.has(Clause::CopyGeneric) =>
                        {
                            Proxy::Generic
                        }
                        _ => Proxy::Async,
                    },
                };
                return self.copy(copy, Some(*completion), at);
            }
            Op::StoreAsync { to, value, ty, reduce, mbarrier, order } => {
                let copy = Copy {
                    to: *to,
                    from: None,
                    value: ty.wrap(self.value(*value)),
                    bytes: ty.bytes,
                    zeros: 0,
                    map: None,
                    reduce: *reduce,
                    order: *order,
                    proxy: match self.domain.options.choices.store_async {
                        StoreAsync::Async => Proxy::Async,
                        StoreAsync::Generic => Proxy::Generic,
                    },
                };
                return self.copy(copy, mbarrier.map(Completion::Mbarrier), at);
            }
            Op::CopyArrive(mbarrier, raises) => return self.copies_arrive(*mbarrier, *raises, at),
            Op::CommitGroup(group) => self.groups_of(*group).commit(),
            Op::WaitGroup { group, stay, read } => {
                let wait = self.push(Kind::Local, at, false, 0);
                let reads_only = *read && self.domain.options.clauses.has(Clause::WaitGroupRead);
                if stay.is_none() {
                    self.groups_of(*group).commit();
                }
                let groups = self.groups_of(*group).committed.clone();
                let done = groups.len().saturating_sub(stay.unwrap_or(0) as usize);
                for (event, is_read) in groups[..done].iter().flatten() {
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
            Op::PeerAddress { to, address, rank, ctas } => {
                let sources = self.source(*address) | self.source(*rank);
                let peer = self.peer(self.value(*address), self.value(*rank), ctas);
                self.set(*to, peer.ok_or_else(|| self.outside())?, sources);
            }
            Op::Branch(_) | Op::BranchIndexed(..) | Op::Exit | Op::Trap => {}
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
}

/// Whether different old values give different new ones.
pub(super) fn is_injective(modify: Modify) -> bool {
    matches!(modify, Modify::Add | Modify::Xor)
}
