//! tcgen05: asynchronous accesses to tensor memory, ordered by its own fences and waits.

use std::rc::Rc;

use super::Moment;
use super::domain::Chains;
use super::mbarrier::Effect;
use super::run::{End, Run};
use crate::Error;
use crate::event::Kind;
use crate::options::{Clause, Tcgen05Fence};
use crate::program::{Order, Proxy, Space, Tcgen05, Type};

/// An asynchronous tcgen05 operation that was issued.
pub(super) struct Issued {
    pub(super) events: Vec<usize>,
    kind: Work,
    complete: bool,
    ordered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Load,
    Store,
    /// `mma` and `cp`
    Matrix,
}
impl Run<'_> {
    pub(super) fn tcgen05(&mut self, operation: &Tcgen05, at: usize) -> Result<End, Error> {
        let word = Type { bytes: 4, signed: false };
        let tensor = Proxy::Tensor;
        match operation {
            Tcgen05::Load(registers, address) => {
                let mut events = vec![];
                for (column, register) in registers.iter().enumerate() {
                    let access =
                        self.access(*address, 4 * column as u32, 4, Order::WEAK, tensor)?;
                    let Some((event, value)) = self.read(access, at, true)? else {
                        return Ok(End::Cut);
                    };
                    self.set(*register, value, Self::bit(event));
                    events.push(event);
                }
                self.issue(events, Work::Load);
            }
            Tcgen05::Store(address, values) => {
                let mut events = vec![];
                for (column, value) in values.iter().enumerate() {
                    let mut access =
                        self.access(*address, 4 * column as u32, 4, Order::WEAK, tensor)?;
                    access.value = word.wrap(self.value(*value));
                    events.push(self.push(Kind::Write(access), at, true, self.source(*value)));
                }
                self.issue(events, Work::Store);
            }
            &Tcgen05::Mma { d, a, b, accumulate } => {
                let mut factors = [0; 2];
                let mut operands = vec![];
                let mut sources = self.source(accumulate);
                let mut own = vec![];
                for (factor, address) in factors.iter_mut().zip([a, b]) {
                    let mut access = self.access(address, 0, 4, Order::WEAK, Proxy::Async)?;
                    // A may be in tensor memory, which is read as the accumulator is.
                    let memory = &self.program.memories[access.memory];
                    let in_tensor_memory = matches!(memory.space, Space::Tensor);
                    if in_tensor_memory {
                        access.proxy = tensor;
                    }
                    let Some((event, value)) = self.read(access, at, true)? else {
                        return Ok(End::Cut);
                    };
                    *factor = value;
                    sources |= Self::bit(event);
                    if in_tensor_memory {
                        own.push(event)
                    } else {
                        operands.push(event)
                    };
                }
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
                    if self.given.is_none() {
                        origins = self.domain.origins(&self.events[event], old);
                    }
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
            &Tcgen05::Copy(to, from) => {
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
            &Tcgen05::Commit(mbarrier) => {
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
                return self.completes(mbarrier, first, &own, Effect::Arrival, at);
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
