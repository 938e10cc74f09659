//! mbarrier instructions, bulk and small asynchronous copies, and the agents that perform what
//! was issued.
//!
//! An asynchronous operation is an *agent*: it is queued when it is issued and performed in up to
//! two steps (the source is read, the destination is written) at moments that the scheduler
//! chooses. A wait only waits; it never performs.

mod barrier;
mod copies;
mod perform;

use crate::detect::{Space, Stamp};
use crate::error::Fault;
use crate::ir::*;
use crate::mbarrier::Mbarrier;
use crate::memory::{FRESH, GLOBAL_BASE, RANK_SHIFT, SHARED_BASE};
use crate::tensor::TensorAgent;
use crate::tensor_map::{DataType, Piece, TENSOR_MAP_BYTES, TensorMap};
use crate::value::Float;
use crate::warp::{Path, Wait, Warp};
use crate::wgmma::Product;
use crate::world::{Event, Flow, Place, World, lanes_of};

type SharedAddr = (Addr, MemSpace);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MbarrierOp {
    Init {
        addr: SharedAddr,
        count: Src,
    },
    Inval {
        addr: SharedAddr,
    },
    Arrive {
        addr: SharedAddr,
        remote: bool,
        count: Option<Src>,
        tx: Option<Src>,
        state: Dst,
        relaxed: bool,
        scope: Scope,
        drop: bool,
        no_complete: bool,
    },
    Tx {
        addr: SharedAddr,
        amount: Src,
        scope: Scope,
        complete: bool,
    },
    Wait {
        blocking: bool,
        parity: bool,
        d: Dst,
        addr: SharedAddr,
        relaxed: bool,
        scope: Scope,
        phase: Src,
    },
    PendingCount {
        d: Dst,
        state: Src,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AsyncOp {
    /// `cp.async` of 4 to 16 bytes.
    Small {
        dst: Addr,
        src: Addr,
        bytes: u32,
        size: Option<Src>,
    },
    SmallCommit,
    SmallWait {
        groups: u32,
    },
    SmallWaitAll,
    SmallArrive {
        addr: SharedAddr,
        no_increment: bool,
    },
    BulkIn {
        dst: Addr,
        src: Addr,
        from: MemSpace,
        bytes: Src,
        bar: Addr,
        multicast: Option<Src>,
        reduce: Option<(AtomFn, u8)>,
    },
    BulkOut {
        dst: Addr,
        src: Addr,
        bytes: Src,
        reduce: Option<(AtomFn, u8)>,
        /// Which of sixteen bytes are copied.
        mask: Option<Src>,
    },
    TensorIn {
        dst: Addr,
        map: Addr,
        coordinates: Box<[Src]>,
        bar: Addr,
        multicast: Option<Src>,
        mode: TileMode,
        /// Each destination has its barrier in the CTA of its pair that the address names.
        pair: bool,
    },
    TensorOut {
        map: Addr,
        coordinates: Box<[Src]>,
        src: Addr,
        reduce: Option<Box<str>>,
        mode: TileMode,
    },
    BulkCommit,
    BulkWait {
        groups: u32,
        read: bool,
    },
}

/// How a tensor copy walks its tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TileMode {
    Tile,
    /// With the offsets of the spatial dimensions, if it has any.
    Im2col(Box<[Src]>),
    /// `tile::gather4` and `tile::scatter4`
    FourRows,
}

/// Shared memory of one CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedPlace {
    pub cta: u32,
    /// Bytes from the start of its shared memory.
    pub offset: u32,
}

/// What an agent does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Global (or shared) memory into shared memory, then bytes on a barrier.
    In {
        source: Source,
        /// Destinations, and the barrier of each.
        to: Vec<(SharedPlace, SharedPlace)>,
        bytes: u32,
        reduce: Option<(AtomFn, u8)>,
        data: Vec<u8>,
    },
    /// Shared memory out to global memory.
    Out {
        from: SharedPlace,
        target: Source,
        reduce: Option<(AtomFn, u8)>,
        /// Which of sixteen bytes are copied.
        mask: u32,
        bytes: u32,
        data: Vec<u8>,
    },
    /// `cp.async`: `copied` bytes, then zeros.
    Small {
        to: SharedPlace,
        from: u64,
        copied: u32,
        bytes: u32,
        data: Vec<u8>,
    },
    /// Arrives once every earlier `cp.async` of the thread is done.
    SmallArrive {
        bar: SharedPlace,
    },
    Tensor(TensorAgent),
    Wgmma(Box<Product>),
}

/// The side of a bulk copy that is not the shared memory of the other.
#[derive(Debug)]
pub(crate) enum Source {
    Global(u64),
    Shared(SharedPlace),
    /// The data themselves.
    Data(Vec<u8>),
    /// Pieces of a tile, with shared addresses relative to its start.
    Tile {
        map: TensorMap,
        pieces: Vec<Piece>,
    },
}

/// An asynchronous operation in flight.
#[derive(Debug)]
pub(crate) struct Agent {
    pub action: Action,
    /// The source has been read.
    pub read: bool,
    /// Who issued it, and where.
    pub cta: u32,
    pub warp: u32,
    pub lane: u32,
    pub func: u32,
    pub pc: u32,
    /// The group it belongs to, of its kind and thread.
    pub group: u32,
    /// Order of issue.
    pub number: u64,
    /// When it was issued, in the time of a trace.
    pub issued: u64,
    /// What its completion tells, for the detection.
    pub stamp: Option<Stamp>,
}

impl World<'_> {
    pub(crate) fn issue(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        group: u32,
        action: Action,
    ) {
        self.issued += 1;
        let issued = self.trace.as_ref().map_or(0, |trace| trace.moment(self.instructions));
        self.agents.push(Agent {
            action,
            read: false,
            cta: warp.cta,
            warp: self.current,
            lane: lane as u32,
            func: path.frame.func,
            pc: path.pc,
            group,
            number: self.issued,
            issued,
            stamp: None,
        });
    }
}
