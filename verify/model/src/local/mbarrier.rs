//! mbarrier objects: eight bytes that hold a phase, the arrivals still to come and the bytes still to come.

use super::Moment;
use super::run::{End, Run};
use crate::Error;
use crate::event::{Kind, Object};
use crate::options::{Clause, Clauses};
use crate::program::{Address, Mbarrier, Op, Order, Phase, Proxy, Semantics};
use crate::scope::Scope;
use crate::undefined::Undefined;

impl Run<'_> {
    /// What this thread's last atomic operation left in the mbarrier object, if a read of the object cannot
    /// return anything from before it. The one `init` came before, because the state tells of it; all
    /// other writes are atomic and ordered (8.9.6), and the read comes after the thread's own (8.10.5).
    pub(super) fn state_before(&self, read: usize) -> Option<State> {
        let read = &self.events[read];
        let access = read.access().filter(|access| access.object != Object::None)?;
        if self.domain.options.clauses != Clauses::default() || !self.domain.is_made_once(access) {
            return None;
        }
        // Where arrivals to come can be raised, they do not only get fewer.
        let raises = |op: &Op| matches!(op, Op::CopyArrive(_, true));
        if self.program.threads.iter().flat_map(|t| &t.code).any(|i| raises(&i.op)) {
            return None;
        }
        let own = self.events.iter().rev().find(|event| {
            !event.asynchronous
                && event.is_write()
                && event.access().is_some_and(|a| a.is_atomic() && a.overlaps_completely(access))
                && event.step < read.step
        })?;
        own.access().map(|access| State::unpack(access.value)).filter(|state| state.is_live())
    }

    pub(super) fn mbarrier(
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
                let state = State::new(self.value(*count));
                if !state.is_live() {
                    self.undefined.push(Undefined::NoArrivals);
                }
                access.value = state.pack();
                self.push(Kind::Write(access), at, false, self.source(*count));
            }
            Mbarrier::Invalidate => {
                access.object = Object::End;
                self.push(Kind::Write(access), at, false, 0);
            }
            Mbarrier::Arrive { state, count, expect, drops, completes } => {
                let [count, expect] = [*count, *expect].map(|operand| self.value(operand) as i64);
                let dropped = if *drops { count } else { 0 };
                let after =
                    |old: u128| State::unpack(old).expect(expect).lower(dropped).arrive(count);
                let new = |old| after(old).pack();
                let Some((read, _, old)) = self.modify(access, at, false, 0, true, new)? else {
                    return Ok(End::Cut);
                };
                self.arrives(State::unpack(old), count);
                if !completes && after(old).phase != State::unpack(old).phase {
                    self.undefined.push(Undefined::Completes);
                }
                if let Some(register) = state {
                    self.set(*register, old, Self::bit(read));
                }
            }
            Mbarrier::ExpectTx(bytes) => {
                let bytes = self.value(*bytes) as i64;
                let new = |old| State::unpack(old).expect(bytes).pack();
                let Some((_, _, old)) = self.modify(access, at, false, 0, true, new)? else {
                    return Ok(End::Cut);
                };
                self.is_there(State::unpack(old));
            }
            Mbarrier::CompleteTx(bytes) => {
                let bytes = self.value(*bytes) as i64;
                let new = |old| State::unpack(old).complete(bytes).pack();
                let Some((_, _, old)) = self.modify(access, at, false, 0, true, new)? else {
                    return Ok(End::Cut);
                };
                self.is_there(State::unpack(old));
            }
            Mbarrier::Wait { done, phase } => {
                access.object = Object::Passed;
                let Some((event, value)) = self.read(access, at, false)? else {
                    return Ok(End::Cut);
                };
                let state = State::unpack(value);
                self.is_there(state);
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

    /// Notes if there is no object to work on.
    pub(super) fn is_there(&mut self, state: State) {
        if !state.is_live() {
            self.undefined.push(Undefined::NoObject);
        }
    }

    /// Notes if so many arrivals are too many for the object.
    fn arrives(&mut self, state: State, count: i64) {
        self.is_there(state);
        if state.is_live() && !(1..=state.pending).contains(&count) {
            self.undefined.push(Undefined::Arrivals);
        }
    }

    /// What the end of an asynchronous operation does to an mbarrier: `first` is the operation's first
    /// event, `own` its accesses, which alone it orders (section 8.9.1.1).
    pub(super) fn completes(
        &mut self,
        mbarrier: Address,
        first: usize,
        own: &[Moment],
        effect: Effect,
        at: usize,
    ) -> Result<End, Error> {
        let order = Order { semantics: Semantics::Release, scope: Scope::Cluster };
        let mut access = self.access(mbarrier, 0, 8, order, Proxy::Generic)?;
        access.object = Object::Complete(first);
        let new = |old| {
            let state = State::unpack(old);
            match effect {
                Effect::Bytes(bytes) => state.complete(bytes).pack(),
                Effect::Arrival => state.arrive(1).pack(),
            }
        };
        let Some((read, write, old)) = self.modify(access, at, true, 0, true, new)? else {
            return Ok(End::Cut);
        };
        match effect {
            Effect::Bytes(_) => self.is_there(State::unpack(old)),
            Effect::Arrival => self.arrives(State::unpack(old), 1),
        }
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
}

/// What the end of an asynchronous operation does to an mbarrier object.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// So many bytes are there.
    Bytes(i64),
    /// One arrival.
    Arrival,
}

/// The state of an mbarrier object, as it is kept in its eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    phase: u64,
    pending: i64,
    expected: i64,
    /// Bytes still to come.
    bytes: i64,
    /// Whether there is an object. Mostly the expected arrivals tell, but all may have dropped out.
    live: bool,
}

/// Phases are counted in seven bits.
const PHASES: u64 = 0x7f;

impl State {
    pub(super) fn new(count: u128) -> Self {
        let count = (count & 0xffff) as i64;
        Self { phase: 0, pending: count, expected: count, bytes: 0, live: count != 0 }
    }

    pub(super) fn pack(self) -> u128 {
        let bits = self.pending as u64 & 0xffff
            | (self.expected as u64 & 0xffff) << 16
            | (self.bytes as u64 & 0xff_ffff) << 32
            | (self.phase & PHASES) << 56
            | u64::from(self.live && self.expected == 0) << 63;
        u128::from(bits)
    }

    pub(super) fn unpack(value: u128) -> Self {
        let bits = value as u64;
        Self {
            live: bits >> 63 == 1 || bits >> 16 & 0xffff != 0,
            phase: bits >> 56 & PHASES,
            pending: (bits & 0xffff) as i64,
            expected: (bits >> 16 & 0xffff) as i64,
            bytes: (bits << 8) as i64 >> 40,
        }
    }

    /// Whether the object, once in this state, can still come into that one: phases only go on, and within
    /// one the arrivals to come only get fewer.
    pub(super) fn may_become(self, value: u128) -> bool {
        let later = State::unpack(value);
        // Past half of what seven bits hold, phases may have wrapped.
        self.phase > PHASES / 2
            || later.phase > self.phase
            || later.phase == self.phase && later.pending <= self.pending && later.is_live()
    }

    /// Whether there is an object.
    pub(super) fn is_live(self) -> bool {
        self.live
    }

    pub(super) fn expect(mut self, bytes: i64) -> Self {
        self.bytes += bytes;
        self
    }

    /// One more arrival is to come in this phase.
    pub(super) fn raise(mut self) -> Self {
        self.pending += 1;
        self
    }

    /// So many arrivals fewer are to come in later phases.
    pub(super) fn lower(mut self, count: i64) -> Self {
        self.expected -= count;
        self
    }

    pub(super) fn arrive(mut self, count: i64) -> Self {
        self.pending -= count;
        self.end_phase()
    }

    pub(super) fn complete(mut self, bytes: i64) -> Self {
        self.bytes -= bytes;
        self.end_phase()
    }

    pub(super) fn end_phase(mut self) -> Self {
        if !self.is_live() {
            return State::unpack(0);
        }
        if self.pending == 0 && self.bytes == 0 {
            self.phase = (self.phase + 1) & PHASES;
            self.pending = self.expected;
        }
        self
    }
}
