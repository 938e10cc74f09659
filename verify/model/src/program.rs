//! The programs that are judged: instructions of a few threads over a few memory locations.
//!
//! A litmus file and a compiled kernel both become a [`Program`]. An instruction keeps the PTX
//! qualifiers that matter to the memory model; what its values are is plain integer arithmetic.

mod arithmetic;

pub use arithmetic::{Alu, Compare, Logic, Modify};

use crate::scope::{Placement, Scope};

/// A program and what is known about its memory.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Pieces of physical memory.
    pub memories: Vec<Memory>,
    /// The names by which instructions reach them: each a virtual address and a proxy.
    pub views: Vec<View>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// How often a backward branch may be taken in one thread.
    pub unroll: u32,
    /// For memories that are tensor maps: the view that they describe.
    pub tiles: Vec<(usize, usize)>,
}

/// A piece of physical memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The name of the location that declared it.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// The type of one element.
    pub ty: Type,
    /// Its first contents, one entry a byte.
    pub init: Vec<u8>,
}

/// A state space. The model's relations do not depend on it (section 8.3); instructions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.global`
    Global,
    /// `.shared`, of this thread block if it is named.
    Shared(Option<u32>),
    /// tcgen05's tensor memory.
    Tensor,
    /// A tensor map, in global memory.
    TensorMap,
}

/// A state space as an instruction names it: a window onto memory, seen from the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// `.global`
    Global,
    /// `.shared` and `.shared::cta`: of the thread's own block.
    SharedCta,
    /// `.shared::cluster`: of every block of the thread's cluster.
    SharedCluster,
}

impl Program {
    /// Whether a thread at `from` reaches the memory through a window.
    pub fn reaches(&self, window: Window, from: Placement, memory: usize) -> bool {
        match (window, self.memories[memory].space) {
            (Window::Global, Space::Global | Space::TensorMap) => true,
            (Window::SharedCta | Window::SharedCluster, Space::Shared(None)) => true,
            (Window::SharedCta, Space::Shared(Some(cta))) => cta == from.cta,
            (Window::SharedCluster, Space::Shared(Some(cta))) => {
                cta == from.cta
                    || self.threads.iter().any(|thread| {
                        thread.place.cta == cta && thread.place.cluster == from.cluster
                    })
            }
            _ => false,
        }
    }
}

/// A name of a piece of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The name.
    pub name: String,
    /// Position in [`Program::memories`].
    pub memory: usize,
    /// Which virtual address: two views with different numbers are aliases (section 8.2.2).
    pub address: usize,
    /// The proxy that ordinary operations on this name use.
    pub proxy: Proxy,
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Bytes: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Whether values are signed.
    pub signed: bool,
}

impl Type {
    /// The type that PTX calls `name` (without its dot).
    pub fn named(name: &str) -> Option<Type> {
        let (kind, bits) = name.split_at_checked(1)?;
        let bytes = match bits {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            "128" if kind == "b" => 16,
            _ => return None,
        };
        matches!(kind, "u" | "s" | "b" | "f").then_some(Type { bytes, signed: kind == "s" })
    }

    /// `value` reduced to this type and extended again to 128 bits, with its sign if it has one.
    pub fn wrap(self, value: u128) -> u128 {
        let spare = 128 - 8 * self.bytes;
        if self.signed {
            ((value << spare) as i128 >> spare) as u128
        } else {
            value << spare >> spare
        }
    }
}

/// The way of access (section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Proxy {
    /// Ordinary loads, stores and atomics.
    Generic,
    /// Bulk copies, and the shared-memory operands of tcgen05.
    Async,
    /// Tensor maps as bulk tensor copies read them.
    TensorMap,
    /// `ld.global.nc` and `ld.proxy::readonly`.
    Readonly,
    /// Tensor memory.
    Tensor,
    /// Surfaces (hypothetical, after the ISCA'22 paper).
    Surface,
    /// Textures (hypothetical).
    Texture,
    /// Constant memory (hypothetical).
    Constant,
}

/// What an operation promises beyond its effect on memory (sections 8.4 and 8.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Semantics {
    /// Not strong.
    Weak,
    /// Strong; `.volatile` is this at system scope.
    Relaxed,
    /// Strong, and an acquire operation.
    Acquire,
    /// Strong, and a release operation.
    Release,
    /// Both.
    AcqRel,
    /// Both, and part of the Fence-SC order: fences only.
    Sc,
}

impl Semantics {
    /// Whether operations of this kind acquire.
    pub fn acquires(self) -> bool {
        matches!(self, Semantics::Acquire | Semantics::AcqRel | Semantics::Sc)
    }

    /// Whether operations of this kind release.
    pub fn releases(self) -> bool {
        matches!(self, Semantics::Release | Semantics::AcqRel | Semantics::Sc)
    }
}

/// Semantics and scope of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// What it promises.
    pub semantics: Semantics,
    /// To whom; of no meaning for a weak access.
    pub scope: Scope,
}

impl Order {
    /// A weak access.
    pub const WEAK: Order = Order { semantics: Semantics::Weak, scope: Scope::Cta };

    /// Whether the operation is strong.
    pub fn is_strong(self) -> bool {
        self.semantics != Semantics::Weak
    }

    /// The read half of a read-modify-write operation.
    pub fn of_read(self) -> Order {
        let semantics = match self.semantics {
            Semantics::Release => Semantics::Relaxed,
            Semantics::AcqRel => Semantics::Acquire,
            other => other,
        };
        Order { semantics, ..self }
    }

    /// The write half of a read-modify-write operation.
    pub fn of_write(self) -> Order {
        let semantics = match self.semantics {
            Semantics::Acquire => Semantics::Relaxed,
            Semantics::AcqRel => Semantics::Release,
            other => other,
        };
        Order { semantics, ..self }
    }
}

/// One thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub place: Placement,
    /// Names of its registers; instructions use the positions.
    pub registers: Vec<String>,
    /// First contents of registers that do not start at 0.
    pub initial: Vec<(Register, u128)>,
    /// Its instructions.
    pub code: Vec<Instruction>,
}

/// A register, by its position in [`Thread::registers`].
pub type Register = usize;

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Runs only if the register is non-zero (or, negated, zero).
    pub guard: Option<(Register, bool)>,
    /// What it does.
    pub op: Op,
    /// 1-based line in its file.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The contents of a register.
    Register(Register),
    /// A number.
    Immediate(u128),
}

/// Where an access goes: a named location, or a register that holds an address (see [`Program::address`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A view with a byte offset.
    Named(usize, i64),
    /// A register with a byte offset; in tensor memory it counts columns of four bytes.
    Register(Register, i64),
    /// `[map, {x, y}]`, the map's address in the register. The element with number `x + y` stands for
    /// the tile that begins there (see [`Program::tiles`]).
    Tile(Register, [Operand; 2]),
    /// What the matrix descriptor in the register names: the offset in shared memory, which is this view.
    Descriptor(usize, Register),
}

/// Bytes between the addresses that registers hold for two neighbouring views. Addresses fit 32 bits,
/// as those of shared memory have to.
const STRIDE_BITS: u32 = 20;

impl Program {
    /// The number that stands for the address of a view in registers. Never 0.
    pub fn address(view: usize) -> u128 {
        (view as u128 + 1) << STRIDE_BITS
    }

    /// The view and the offset that such a number means.
    pub fn view_at(&self, address: u128) -> Option<(usize, i64)> {
        // Offsets may be negative: half a stride belongs to each side.
        let shifted = address.checked_add(1 << (STRIDE_BITS - 1))?;
        let view = usize::try_from(shifted >> STRIDE_BITS).ok()?.checked_sub(1)?;
        let offset = address as i128 - Self::address(view) as i128;
        (view < self.views.len()).then_some((view, offset as i64))
    }
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rmw {
    /// `red`: its read heads no acquire pattern (section 8.11.1).
    pub reduction: bool,
    /// Where the old value goes.
    pub to: Option<Register>,
    /// What happens to the value.
    pub modify: Modify,
    /// Of which type it is.
    pub ty: Type,
    /// Arguments of the modification.
    pub args: [Operand; 2],
    /// Semantics and scope.
    pub order: Order,
    /// Where.
    pub at: Address,
}

/// How a bulk copy tells that it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// It completes its bytes on this mbarrier.
    Mbarrier(Address),
    /// It joins the issuer's next group of this kind.
    Group(Group),
}

/// Kinds of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Of bulk copies.
    Bulk,
    /// Of `cp.async`, whose accesses are in the generic proxy.
    Threads,
}

/// A proxy fence: which proxy it joins with the generic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyFence {
    /// Between virtual aliases.
    Alias,
    /// Between the generic proxy and this one, both ways; of `fence.proxy.async.<space>`, for
    /// memory in that space only.
    Both(Proxy, Option<Window>),
    /// A half of a fence that leads one way, from the generic proxy to another.
    Half(Half),
}

/// `fence.proxy.{tensormap,async}::generic.{release,acquire}`: the half of the thread that used the
/// generic proxy before, or of the one that uses the other proxy after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Half {
    /// Where the fence leads.
    pub to: Proxy,
    /// Whether it is the first half.
    pub releases: bool,
    /// Its scope.
    pub scope: Scope,
    /// `.sync_restrict`: the memory that it is about.
    pub window: Option<Window>,
    /// `::read`: about earlier reads of the same thread only.
    pub reads: bool,
}

/// What `bar.red` does beyond `bar.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vote {
    /// How votes are counted.
    pub op: Poll,
    /// Where the result goes.
    pub to: Register,
    /// The register with the own vote, and whether it is negated.
    pub own: (Register, bool),
}

/// How the votes at a barrier are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Poll {
    /// Whether all say yes.
    And,
    /// Whether one says yes.
    Or,
    /// How many say yes.
    Popc,
}

impl Poll {
    /// The result.
    pub fn of(self, votes: &[bool]) -> u32 {
        match self {
            Poll::And => u32::from(votes.iter().all(|vote| *vote)),
            Poll::Or => u32::from(votes.iter().any(|vote| *vote)),
            Poll::Popc => votes.iter().map(|vote| u32::from(*vote)).sum(),
        }
    }
}

/// What a waiting instruction waits for on an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The phase of this parity.
    Parity(Operand),
    /// The phase in which an arrive returned this state.
    State(Operand),
}

/// Operations on mbarrier objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mbarrier {
    /// Makes an object that expects this many arrivals.
    Init(Operand),
    /// Arrives, after raising the expected bytes.
    Arrive {
        /// Where the state goes.
        state: Option<Register>,
        /// How many arrivals at once.
        count: Operand,
        /// Bytes to expect.
        expect: Operand,
        /// `arrive_drop`: later phases expect that many arrivals fewer.
        drops: bool,
        /// Whether it may be the one that completes the phase: not with `.noComplete`.
        completes: bool,
    },
    /// Ends the object: the memory is free for something else.
    Invalidate,
    /// Raises the expected bytes.
    ExpectTx(Operand),
    /// Lowers the expected bytes, as a bulk copy does.
    CompleteTx(Operand),
    /// Tests whether a phase is over.
    Wait {
        /// Receives the answer.
        done: Register,
        /// Of which phase.
        phase: Phase,
    },
}

/// tcgen05 instructions that touch memory or order it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tcgen05 {
    /// Tensor memory to registers, a column to each.
    Load(Vec<Register>, Address),
    /// Registers to tensor memory.
    Store(Address, Vec<Operand>),
    /// `d = a * b`, or `d += a * b`; `a` and `b` in shared memory.
    Mma {
        /// The accumulator.
        d: Address,
        /// First factor.
        a: Address,
        /// Second factor.
        b: Address,
        /// Whether the old accumulator is added.
        accumulate: Operand,
    },
    /// Shared memory to tensor memory.
    Copy(Address, Address),
    /// Arrives on the mbarrier when what the thread issued before is complete.
    Commit(Address),
    /// `wait::ld`
    WaitLoad,
    /// `wait::st`
    WaitStore,
    /// `fence::before_thread_sync`
    Before,
    /// `fence::after_thread_sync`
    After,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Arithmetic on registers.
    Alu(Alu, Type, Register, [Operand; 3]),
    /// Goes to an instruction by its position.
    Branch(usize),
    /// Goes to the instruction whose position stands at the index. Behind the last the behaviour is undefined.
    BranchIndexed(Operand, Vec<usize>),
    /// Ends the thread.
    Exit,
    /// Stops the kernel with an error: the execution is not completed.
    Trap,
    /// `mapa`: the address of the same variable in another CTA of the cluster.
    PeerAddress {
        /// The result.
        to: Register,
        /// The address in one CTA.
        address: Operand,
        /// Which CTA of the cluster.
        rank: Operand,
        /// The numbers of the cluster's CTAs, by rank.
        ctas: Vec<u32>,
    },
    /// Reads into one register, or a vector's elements into several.
    Load(Vec<Register>, Type, Order, Proxy, Address),
    /// Writes one value, or the elements of a vector.
    Store(Vec<Operand>, Type, Order, Proxy, Address),
    /// `atom` or `red`.
    Rmw(Rmw),
    /// A thread fence; `sync_restrict` limits it to objects in shared memory.
    Fence(Order, Option<Window>),
    /// A proxy fence, and the tensor map that it is about.
    ProxyFence(ProxyFence, Option<Address>),
    /// `fence.mbarrier_init.release.cluster`
    InitFence,
    /// `bar.sync` and `bar.arrive`: the barrier's number, participants (all of the block if none).
    Barrier {
        /// Which barrier.
        id: Operand,
        /// How many threads it takes.
        count: Option<u32>,
        /// Whether the thread waits too.
        waits: bool,
        /// `bar.red`.
        vote: Option<Vote>,
    },
    /// `barrier.cluster.arrive`; whether it releases.
    ClusterArrive(bool),
    /// `barrier.cluster.wait`
    ClusterWait,
    /// An operation on an mbarrier object.
    Mbarrier(Mbarrier, Order, Address),
    /// `cp.async`, `cp.async.bulk` and `cp.reduce.async.bulk`.
    Bulk {
        /// Destination.
        to: Address,
        /// Source.
        from: Address,
        /// How many bytes.
        bytes: u32,
        /// How many of them, the last ones, are zeros instead of what the source has.
        zeros: u32,
        /// How its end is told.
        completion: Completion,
        /// The tensor map that it goes through.
        map: Option<Address>,
        /// A reduction instead of a plain write.
        reduce: Option<Modify>,
        /// Weak, unless the instruction says otherwise.
        order: Order,
    },
    /// `st.async` and `red.async`: an asynchronous store or reduction that may complete on an mbarrier.
    StoreAsync {
        /// Destination.
        to: Address,
        /// What is written.
        value: Operand,
        /// Type of the value.
        ty: Type,
        /// A reduction instead of a plain write.
        reduce: Option<Modify>,
        /// The barrier, if there is one.
        mbarrier: Option<Address>,
        /// Semantics and scope.
        order: Order,
    },
    /// `cp.async.mbarrier.arrive`: an arrival when the thread's earlier `cp.async` are complete; whether the
    /// arrivals to come are raised by one before (not with `.noinc`).
    CopyArrive(Address, bool),
    /// `commit_group`
    CommitGroup(Group),
    /// `wait_group`
    WaitGroup {
        /// Of which kind.
        group: Group,
        /// How many may stay; `None`: none, and what no group has waits as well.
        stay: Option<u32>,
        /// Whether only their reads count.
        read: bool,
    },
    /// `tensormap.replace`
    ReplaceTensorMap(Address, Operand),
    /// tcgen05.
    Tcgen05(Tcgen05),
}
