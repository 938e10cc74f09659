//! Events: the operations of one execution (sections 8.2 and 8.4).
//!
//! A read-modify-write operation is a read and a write; a vector or a bulk copy is one operation for
//! each element. `bar.sync` is an arrival and a wait, so that the two directions in which it
//! synchronises do not make an operation precede itself.

use std::fmt;

use crate::program::{Order, Poll, Proxy, ProxyFence, Semantics, Window};
use crate::scope::Placement;

/// One operation of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Position of the thread that executes or issued it.
    pub thread: usize,
    /// Where that thread runs.
    pub place: Placement,
    /// Position of the instruction in the thread's code.
    pub instruction: usize,
    /// How often that instruction ran before.
    pub occurrence: u32,
    /// Its place in program order: smaller steps come first, equal ones are not ordered.
    pub step: u32,
    /// Asynchronous operations are not part of program order (section 8.9.1.1).
    pub asynchronous: bool,
    /// What it does.
    pub kind: Kind,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Reads.
    Read(Access),
    /// Writes.
    Write(Access),
    /// A thread fence; the objects that it is limited to.
    Fence(Order, Option<Window>),
    /// A proxy fence, and the memory of the tensor map that it is about.
    ProxyFence(ProxyFence, Option<usize>),
    /// `fence.mbarrier_init`
    InitFence,
    /// Arrival at a barrier, with a vote if it is `bar.red`.
    Arrive(Barrier, Option<Ballot>),
    /// The end of a wait at a barrier.
    Wait(Barrier, Option<Ballot>),
    /// An instruction that waits for asynchronous operations of its own thread.
    Local,
    /// `tcgen05.fence::before_thread_sync`
    Before,
    /// `tcgen05.fence::after_thread_sync`
    After,
}

/// Which barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// A barrier of the thread block, with the number of threads that take part.
    Block(u32, Option<u32>),
    /// The cluster's; whether the arrival releases.
    Cluster(bool),
}

/// A vote at a barrier, and what the voter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ballot {
    /// How votes are counted.
    pub op: Poll,
    /// The thread's own vote.
    pub own: bool,
    /// The result for all.
    pub result: u32,
}

/// A memory operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Position of the physical memory.
    pub memory: usize,
    /// Number of the virtual address.
    pub address: usize,
    /// First byte.
    pub offset: u32,
    /// How many.
    pub bytes: u32,
    /// What is read or written.
    pub value: u128,
    /// Semantics and scope.
    pub order: Order,
    /// The way of access.
    pub proxy: Proxy,
    /// The other half of a read-modify-write operation: its position among the events.
    pub partner: Option<usize>,
    /// A reduction's read, which heads no acquire pattern.
    pub reduction: bool,
    /// What it means if the memory is an mbarrier object.
    pub object: Object,
    /// Of a read: its value matters to nothing, and it may be any (see `relevance`).
    pub any: bool,
}

/// The part that an access to an mbarrier object plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// The memory is not used as one here.
    None,
    /// Makes the object.
    Init,
    /// Ends the object.
    End,
    /// Arrives or changes the expected bytes.
    Update,
    /// The end of an asynchronous operation: position of the first event of that operation.
    Complete(usize),
    /// Tested, and the phase was not over.
    Pending,
    /// Tested, and the phase was over.
    Passed,
}

impl Access {
    /// Whether the virtual address ranges intersect (section 8.2.1).
    pub fn overlaps(&self, other: &Access) -> bool {
        self.address == other.address && self.meets(other)
    }

    /// Whether they are the same virtual address range.
    pub fn overlaps_completely(&self, other: &Access) -> bool {
        self.address == other.address && self.offset == other.offset && self.bytes == other.bytes
    }

    /// Whether the physical locations intersect, whatever the addresses.
    pub fn meets(&self, other: &Access) -> bool {
        self.memory == other.memory
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }

    /// Whether this is a half of an atomic operation.
    pub fn is_atomic(&self) -> bool {
        self.partner.is_some()
    }

    /// The value of one byte of the memory, which it must cover.
    pub fn byte(&self, at: u32) -> u8 {
        (self.value >> (8 * (at - self.offset))) as u8
    }
}

impl Event {
    /// The memory operation, if it is one.
    pub fn access(&self) -> Option<&Access> {
        match &self.kind {
            Kind::Read(access) | Kind::Write(access) => Some(access),
            _ => None,
        }
    }

    /// The memory operation, to be changed.
    pub fn access_mut(&mut self) -> Option<&mut Access> {
        match &mut self.kind {
            Kind::Read(access) | Kind::Write(access) => Some(access),
            _ => None,
        }
    }

    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read(_))
    }

    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write(_))
    }

    /// Semantics and scope, of memory operations and of fences.
    ///
    /// The halves of one-way proxy fences take part in patterns as fences.
    pub fn order(&self) -> Option<Order> {
        match &self.kind {
            Kind::Read(access) | Kind::Write(access) => Some(access.order),
            Kind::Fence(order, _) => Some(*order),
            Kind::ProxyFence(ProxyFence::Half(half), _) => {
                let semantics = if half.releases { Semantics::Release } else { Semantics::Acquire };
                Some(Order { semantics, scope: half.scope })
            }
            _ => None,
        }
    }

    /// Whether it is a strong operation.
    pub fn is_strong(&self) -> bool {
        self.order().is_some_and(Order::is_strong)
    }

    /// Whether program order puts it before `other`.
    pub fn precedes(&self, other: &Event) -> bool {
        self.thread == other.thread
            && !self.asynchronous
            && !other.asynchronous
            && self.step < other.step
    }

    /// Whether program order relates the two.
    pub fn same_order(&self, other: &Event) -> bool {
        self.precedes(other) || other.precedes(self)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::Generic => "generic",
            Proxy::Async => "async",
            Proxy::TensorMap => "tensormap",
            Proxy::Readonly => "readonly",
            Proxy::Tensor => "tensor memory",
            Proxy::Surface => "surface",
            Proxy::Texture => "texture",
            Proxy::Constant => "constant",
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.semantics {
            Semantics::Weak => return f.write_str("weak"),
            Semantics::Relaxed => "relaxed",
            Semantics::Acquire => "acquire",
            Semantics::Release => "release",
            Semantics::AcqRel => "acq_rel",
            Semantics::Sc => "sc",
        };
        write!(f, "{name}.{}", self.scope)
    }
}
