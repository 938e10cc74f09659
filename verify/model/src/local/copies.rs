//! Asynchronous copies and stores: operations of their own, outside program order.

use super::Moment;
use super::mbarrier::{Effect, State};
use super::run::{End, Run, is_injective};
use crate::Error;
use crate::event::{Kind, Object};
use crate::options::Clause;
use crate::program::{Address, Completion, Group, Modify, Order, Proxy, Semantics, Type};
use crate::scope::Scope;

/// What a bulk copy or an asynchronous store does.
pub(super) struct Copy {
    pub(super) to: Address,
    pub(super) from: Option<Address>,
    pub(super) value: u128,
    pub(super) bytes: u32,
    /// How many of the last bytes have no source.
    pub(super) zeros: u32,
    pub(super) map: Option<Address>,
    pub(super) reduce: Option<Modify>,
    pub(super) order: Order,
    pub(super) proxy: Proxy,
}

/// A thread's groups of one kind: events of its copies, reads flagged.
#[derive(Default)]
pub(super) struct Groups {
    /// Since the last commit_group.
    pub(super) open: Vec<(usize, bool)>,
    /// The groups before, oldest first.
    pub(super) committed: Vec<Vec<(usize, bool)>>,
}

impl Groups {
    pub(super) fn commit(&mut self) {
        let group = std::mem::take(&mut self.open);
        self.committed.push(group);
    }
}

impl Run<'_> {
    /// A bulk copy or an asynchronous store, element by element.
    pub(super) fn copy(
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
            let from = copy.from.filter(|_| skip < copy.bytes - copy.zeros);
            match (from, map_read) {
                // A tensor map without data of its own: what is copied is what the map says.
                (Some(from), Some(event)) if self.has_no_data(copy.map, from) => {
                    value = self.events[event].access().map_or(0, |access| access.value);
                    sources = Self::bit(event);
                }
                (Some(from), _) => {
                    let access = self.access(from, skip, unit, copy.order, copy.proxy)?;
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
            let mut access = self.access(copy.to, skip, unit, copy.order, copy.proxy)?;
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
                let bytes = i64::from(self.tile_bytes(&copy).unwrap_or(copy.bytes));
                self.completes(mbarrier, first, &moments, Effect::Bytes(bytes), at)
            }
            Some(Completion::Group(group)) => {
                // `wait_all` waits for copies that no commit_group has covered.
                self.groups_of(group).open.extend(own);
                Ok(End::Complete)
            }
            None => Ok(End::Complete),
        }
    }

    /// The arrival of all earlier `cp.async` of the thread. It is ordered after their accesses, and after
    /// nothing else that the thread did (section 8.9.1.1).
    pub(super) fn copies_arrive(
        &mut self,
        mbarrier: Address,
        raises: bool,
        at: usize,
    ) -> Result<End, Error> {
        if raises {
            let order = Order { semantics: Semantics::Relaxed, scope: Scope::Cta };
            let mut access = self.access(mbarrier, 0, 8, order, Proxy::Generic)?;
            access.object = Object::Update;
            let new = |old| State::unpack(old).raise().pack();
            let Some((_, _, old)) = self.modify(access, at, false, 0, true, new)? else {
                return Ok(End::Cut);
            };
            self.is_there(State::unpack(old));
        }
        let first = self.events.len();
        let groups = self.groups_of(Group::Threads);
        let copies = groups.committed.iter().flatten().chain(&groups.open);
        let mut own: Vec<Moment> = copies.map(|(event, _)| Moment::Done(*event)).collect();
        if !self.domain.options.clauses.has(Clause::CopyArrives) {
            own.clear();
        }
        self.completes(mbarrier, first, &own, Effect::Arrival, at)
    }

    /// The tensor map whose address a register holds.
    fn map_in_register(&self, map: Option<Address>) -> Option<usize> {
        let Some(Address::Register(register, _)) = map else { return None };
        self.program.view_at(self.registers[register]).map(|(view, _)| view)
    }

    /// Whether a copy through the map has nothing but the map itself to read.
    fn has_no_data(&self, map: Option<Address>, from: Address) -> bool {
        let alone = |view| self.described(view).is_none();
        map == Some(from)
            || matches!(from, Address::Tile(..)) && self.map_in_register(map).is_some_and(alone)
    }

    /// How many bytes the copy of a whole tile completes: those that the map describes.
    fn tile_bytes(&self, copy: &Copy) -> Option<u32> {
        let map = self.map_in_register(copy.map)?;
        Some(self.program.memories[self.program.views[map].memory].init.len() as u32)
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
            Address::Register(..) | Address::Tile(..) | Address::Descriptor(..) => 4,
        };
        let mut unit = copy.from.map_or(copy.bytes, size).min(size(copy.to)).min(copy.bytes);
        if copy.zeros > 0 {
            unit = unit.min(1 << copy.zeros.trailing_zeros());
        }
        if copy.bytes.is_multiple_of(unit) { Ok(unit) } else { Err(self.outside()) }
    }
}
