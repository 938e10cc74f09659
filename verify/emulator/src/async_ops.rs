//! mbarrier instructions, bulk and small asynchronous copies, and the agents that perform what
//! was issued.
//!
//! An asynchronous operation is an *agent*: it is queued when it is issued and performed in up to
//! two steps (the source is read, the destination is written) at moments that the scheduler
//! chooses. A wait only waits; it never performs.

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
            stamp: None,
        });
    }

    /// The phase of a barrier now.
    pub(crate) fn phase_of(&mut self, place: SharedPlace) -> u64 {
        self.ctas[place.cta as usize].barriers.get(place.offset).map_or(0, |b| b.phase)
    }

    /// Tells the detection of a copy into shared memory.
    pub(crate) fn track_in_copy(
        &mut self,
        path: &Path,
        lane: usize,
        source: &Source,
        to: &[(SharedPlace, SharedPlace)],
        bytes: u32,
    ) {
        let Some(mut detect) = self.detect.take() else { return };
        let (w, site) = (self.current, path.site());
        let global = |address: u64| (address - GLOBAL_BASE) as usize;
        for (i, &(place, bar)) in to.iter().enumerate() {
            let phase = self.phase_of(bar);
            if i == 0 {
                let mut read = |space, at, n| {
                    detect.copy_in_source(w, lane, site, (space, at, n), (bar, phase));
                };
                match source {
                    Source::Global(address) => {
                        read(Space::Global, global(*address), bytes as usize)
                    }
                    Source::Shared(from) => {
                        read(Space::Shared(from.cta), from.offset as usize, bytes as usize);
                    }
                    Source::Data(_) => {}
                    Source::Tile { pieces, .. } => {
                        for piece in pieces {
                            if let Some(address) = piece.global {
                                read(Space::Global, global(address), piece.bytes as usize);
                            }
                        }
                    }
                }
            }
            detect.copy_in(w, lane, site, (place, bytes), bar, phase);
        }
        self.detect = Some(detect);
    }

    /// The same for a copy out of it. Reductions write atomically, which orders nothing.
    fn track_out_copy(
        &mut self,
        path: &Path,
        lane: usize,
        (from, bytes): (SharedPlace, u32),
        target: &Source,
        (group, reduces): (u32, bool),
    ) {
        let Some(detect) = &mut self.detect else { return };
        let (w, site) = (self.current, path.site());
        detect.copy_out(w, lane, site, (from, bytes), group);
        let mut write = |address: u64, n: usize| {
            detect.copy_out_to(w, lane, site, (address - GLOBAL_BASE) as usize, n, group);
        };
        match target {
            _ if reduces => {}
            Source::Global(address) => write(*address, bytes as usize),
            Source::Tile { pieces, .. } => {
                for piece in pieces {
                    if let Some(address) = piece.global {
                        write(address, piece.bytes as usize);
                    }
                }
            }
            Source::Shared(_) | Source::Data(_) => {}
        }
    }

    /// The place of an mbarrier, and its address for messages.
    pub(crate) fn barrier_place(
        &mut self,
        warp: &Warp,
        space: MemSpace,
        address: u64,
    ) -> Result<(SharedPlace, u32), Fault> {
        match self.resolve(warp, 0, space, address, 8, 8, false)? {
            Place::Shared(cta, at) => {
                let address = SHARED_BASE + at as u32;
                Ok((SharedPlace { cta, offset: at as u32 }, address))
            }
            _ => Err(Fault::OutOfBounds {
                space: "shared",
                address,
                bytes: 8,
                detail: "an mbarrier lies in shared memory".into(),
            }),
        }
    }

    /// Runs `change` on a barrier and wakes those who wait on the CTA's barriers.
    pub(crate) fn with_barrier<T>(
        &mut self,
        place: SharedPlace,
        change: impl FnOnce(&mut Mbarrier) -> Result<T, crate::mbarrier::MbarrierError>,
    ) -> Result<T, Fault> {
        let barriers = &mut self.ctas[place.cta as usize].barriers;
        let result = barriers.get(place.offset).and_then(|b| {
            let phase = b.phase;
            let result = change(b)?;
            Ok((result, b.phase != phase))
        });
        match result {
            Ok((result, turned)) => {
                if turned {
                    self.events.push(Event::Mbarrier(place));
                    if let Some(detect) = &mut self.detect {
                        detect.turn(place);
                    }
                }
                Ok(result)
            }
            Err(error) => Err(Fault::Mbarrier { address: SHARED_BASE + place.offset, error }),
        }
    }

    pub(crate) fn mbarrier(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &MbarrierOp,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        match op {
            MbarrierOp::Init { addr, count } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                let counts = self.fetch32(warp, &frame, *count);
                for lane in lanes_of(mask) {
                    let (place, address) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    let barriers = &mut self.ctas[place.cta as usize].barriers;
                    barriers
                        .init(place.offset, counts[lane])
                        .map_err(|error| Fault::Mbarrier { address, error })?;
                    if let Some(detect) = &mut self.detect {
                        detect.barrier_init(self.current, lane, place, path.site());
                    }
                }
            }
            MbarrierOp::Inval { addr } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                for lane in lanes_of(mask) {
                    let (place, address) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    let barriers = &mut self.ctas[place.cta as usize].barriers;
                    barriers
                        .inval(place.offset)
                        .map_err(|error| Fault::Mbarrier { address, error })?;
                }
            }
            MbarrierOp::Arrive {
                addr,
                remote,
                count,
                tx,
                state,
                drop,
                no_complete,
                relaxed,
                scope,
            } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                let counts = count.map_or([1; LANES], |c| self.fetch32(warp, &frame, c));
                let bytes = tx.map_or([0; LANES], |c| self.fetch32(warp, &frame, c));
                for lane in lanes_of(mask) {
                    let (place, _) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    let phase = self.phase_of(place);
                    if let Some(detect) = &mut self.detect {
                        let how = (*relaxed, *scope, phase, path.site());
                        detect.arrive(self.current, lane, place, how);
                    }
                    let token = self.with_barrier(place, |b| {
                        let token = b.state();
                        let phase = b.phase;
                        if bytes[lane] != 0 {
                            b.transact(i64::from(bytes[lane]))?;
                        }
                        if *drop {
                            b.drop_one(counts[lane])?;
                        } else {
                            b.arrive(counts[lane])?;
                        }
                        if *no_complete && b.phase != phase {
                            return Err(crate::mbarrier::MbarrierError::Completes);
                        }
                        Ok(token)
                    })?;
                    if !remote {
                        warp.regs.put_lane(&frame, *state, lane, token);
                    }
                }
            }
            MbarrierOp::Tx { addr, amount, complete } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                let amounts = self.fetch32(warp, &frame, *amount);
                for lane in lanes_of(mask) {
                    let (place, _) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    let bytes = i64::from(amounts[lane]);
                    if let Some(detect) = &mut self.detect {
                        detect.check_barrier(self.current, lane as u32, place, path.site());
                    }
                    self.with_barrier(place, |b| {
                        b.transact(if *complete { -bytes } else { bytes })
                    })?;
                }
            }
            MbarrierOp::Wait { blocking, parity, d, addr, phase, relaxed, scope } => {
                let order = (*relaxed, *scope);
                return self.wait(warp, path, mask, *blocking, *parity, *d, addr, *phase, order);
            }
            MbarrierOp::PendingCount { d, state } => {
                let states = self.fetch64(warp, &frame, *state);
                let counts = states.map(Mbarrier::pending_count);
                warp.regs.put32(&frame, *d, mask, &counts);
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one instruction")]
    fn wait(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        blocking: bool,
        parity: bool,
        d: Dst,
        addr: &SharedAddr,
        phase: Src,
        (relaxed, scope): (bool, Scope),
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
        let phases = self.fetch64(warp, &frame, phase);
        let mut passed = 0u32;
        let mut waits_for = None;
        let mut offsets = [0; LANES];
        for lane in lanes_of(mask) {
            // Lanes mostly ask the same.
            let first = mask.trailing_zeros() as usize;
            if lane != first && addresses[lane] == addresses[first] && phases[lane] == phases[first]
            {
                passed |= (passed >> first & 1) << lane;
                offsets[lane] = offsets[first];
                continue;
            }
            let (place, address) = self.barrier_place(warp, addr.1, addresses[lane])?;
            if place.cta != warp.cta {
                return Err(Fault::OutOfBounds {
                    space: "shared::cta",
                    address: addresses[lane],
                    bytes: 8,
                    detail: "a wait on a barrier of another CTA does not exist (rule C11)".into(),
                });
            }
            let barriers = &mut self.ctas[place.cta as usize].barriers;
            let value = phases[lane];
            offsets[lane] = place.offset;
            let done = barriers
                .get(place.offset)
                .and_then(|b| {
                    if parity { Ok(b.passed_parity(value as u32)) } else { b.passed_state(value) }
                })
                .map_err(|error| Fault::Mbarrier { address, error })?;
            if done {
                passed |= 1 << lane;
            } else {
                waits_for = Some((place.offset, value));
            }
        }
        if let Some((offset, value)) = waits_for
            && passed == 0
        {
            let site = (frame.func, path.pc);
            let spins = path.spin.site == site && path.spin.rounds >= 4;
            // A try may fail for no reason; a test that fails again and again only looks.
            if (blocking && !self.rng.one_in(16)) || (!blocking && spins) {
                path.wait = Some(Wait::Mbarrier {
                    offset,
                    parity: parity.then_some(value as u32 & 1),
                    state: value,
                });
                path.spin.rounds = 0;
                return Ok(Flow::Blocked);
            }
            if path.spin.site == site {
                path.spin.rounds += 1;
            } else {
                path.spin = crate::warp::Spin { site, value: 0, rounds: 1 };
            }
        }
        warp.regs.put_pred(&frame, d, mask, passed);
        if let Some(mut detect) = self.detect.take() {
            let mut rest = mask;
            while rest != 0 {
                let lane = rest.trailing_zeros();
                let offset = offsets[lane as usize];
                let same = lanes_of(rest).filter(|&l| offsets[l] == offset);
                let lanes = same.fold(0, |m, l| m | 1 << l);
                rest &= !lanes;
                let (place, site) = (SharedPlace { cta: warp.cta, offset }, path.site());
                detect.check_barrier(self.current, lane, place, site);
                if lanes & passed != 0 {
                    let how = (relaxed, scope, self.phase_of(place), site);
                    detect.waited(self.current, lanes & passed, place, how);
                }
            }
            self.detect = Some(detect);
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// A place in shared memory, for a copy.
    pub(crate) fn shared_place(
        &mut self,
        warp: &Warp,
        space: MemSpace,
        address: u64,
        bytes: u64,
        align: u64,
    ) -> Result<SharedPlace, Fault> {
        match self.resolve(warp, 0, space, address, bytes, align, false)? {
            Place::Shared(cta, at) => Ok(SharedPlace { cta, offset: at as u32 }),
            _ => Err(Fault::OutOfBounds {
                space: "shared",
                address,
                bytes,
                detail: "this side of the copy lies in shared memory".into(),
            }),
        }
    }

    /// The CTAs that a multicast reaches: the destination's own, or those of the mask.
    fn reached(
        &self,
        warp: &Warp,
        to: SharedPlace,
        bar: SharedPlace,
        mask: Option<u32>,
    ) -> Result<Vec<(SharedPlace, SharedPlace)>, Fault> {
        let Some(mask) = mask else { return Ok(vec![(to, bar)]) };
        let cluster = &self.clusters[self.ctas[warp.cta as usize].cluster as usize];
        let mut reached = Vec::new();
        for rank in lanes_of(mask & 0xFFFF) {
            let Some(&cta) = cluster.ctas.get(rank) else {
                return Err(Fault::Bulk {
                    what: "multicast copy",
                    bytes: 0,
                    problem: format!(
                        "the mask names rank {rank} of a cluster of {}",
                        cluster.ctas.len()
                    ),
                });
            };
            reached.push((SharedPlace { cta, ..to }, SharedPlace { cta, ..bar }));
        }
        Ok(reached)
    }

    fn tensor_map(&mut self, warp: &Warp, addr: u64, lane: usize) -> Result<TensorMap, Fault> {
        let place =
            self.resolve(warp, lane, MemSpace::Generic, addr, TENSOR_MAP_BYTES as u64, 64, false)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        bytes.copy_from_slice(self.view(warp, place, TENSOR_MAP_BYTES));
        Ok(TensorMap::decode(&bytes)?)
    }

    /// The generic address of a tensor map.
    fn map_address(&mut self, warp: &Warp, path: &Path, map: &Addr, lane: usize) -> u64 {
        let space = if let Src::Param(_) = map.base { MemSpace::Param } else { MemSpace::Generic };
        let address = self.addresses(warp, &path.frame, map, space)[lane];
        if space == MemSpace::Param {
            return crate::memory::PARAM_WINDOW << 32 | address;
        }
        address
    }

    pub(crate) fn asynchronous(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &AsyncOp,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        match op {
            AsyncOp::Small { dst, src, bytes, size } => {
                let to = self.addresses(warp, &frame, dst, MemSpace::Shared);
                let from = self.addresses(warp, &frame, src, MemSpace::Global);
                let sizes = size.map_or([*bytes; LANES], |s| self.fetch32(warp, &frame, s));
                for lane in lanes_of(mask) {
                    let n = u64::from(*bytes);
                    let place = self.shared_place(warp, MemSpace::Shared, to[lane], n, n)?;
                    let copied = sizes[lane].min(*bytes);
                    self.memory.locate(from[lane], u64::from(copied), false)?;
                    if !from[lane].is_multiple_of(n) {
                        return Err(Fault::Misaligned {
                            space: "global",
                            address: from[lane],
                            align: n,
                        });
                    }
                    self.poison(place, *bytes)?;
                    let group = warp.small_groups[lane];
                    if let Some(detect) = &mut self.detect {
                        let source = ((from[lane] - GLOBAL_BASE) as usize, copied as usize);
                        let (w, site) = (self.current, path.site());
                        detect.copy_small(w, lane, site, (place, *bytes), source, group);
                    }
                    let action = Action::Small {
                        to: place,
                        from: from[lane],
                        copied,
                        bytes: *bytes,
                        data: Vec::new(),
                    };
                    self.issue(warp, path, lane, group, action);
                }
            }
            AsyncOp::SmallCommit => {
                for lane in lanes_of(mask) {
                    warp.small_groups[lane] += 1;
                }
            }
            AsyncOp::SmallWait { .. } | AsyncOp::SmallWaitAll => {
                let me = self.current;
                let waits = self.agents.iter().any(|a| {
                    a.warp == me
                        && mask >> a.lane & 1 == 1
                        && matches!(a.action, Action::Small { .. })
                        && match op {
                            AsyncOp::SmallWait { groups } => {
                                a.group + groups < warp.small_groups[a.lane as usize]
                            }
                            _ => true,
                        }
                });
                if waits {
                    path.wait = Some(Wait::Agents("its cp.async copies"));
                    return Ok(Flow::Blocked);
                }
                if let Some(detect) = &mut self.detect {
                    for lane in lanes_of(mask) {
                        let committed = warp.small_groups[lane];
                        let done = match op {
                            AsyncOp::SmallWait { groups } => committed.saturating_sub(*groups),
                            _ => committed + 1,
                        };
                        detect.small_waited(me, lane, done);
                    }
                }
            }
            AsyncOp::SmallArrive { addr, no_increment } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                for lane in lanes_of(mask) {
                    let (bar, _) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    if !no_increment {
                        self.with_barrier(bar, |b| {
                            b.pending += 1;
                            Ok(())
                        })?;
                    }
                    let action = Action::SmallArrive { bar };
                    self.issue(warp, path, lane, u32::MAX, action);
                    if let (Some(detect), Some(agent)) = (&mut self.detect, self.agents.last_mut())
                    {
                        let group = warp.small_groups[lane];
                        let stamp = detect.small_so_far(self.current, lane as u32, group);
                        agent.stamp = Some(stamp);
                    }
                }
            }
            AsyncOp::BulkIn { dst, src, from, bytes, bar, multicast, reduce } => {
                let to = self.addresses(warp, &frame, dst, MemSpace::SharedCluster);
                let source = self.addresses(warp, &frame, src, *from);
                let sizes = self.fetch32(warp, &frame, *bytes);
                let bars = self.addresses(warp, &frame, bar, MemSpace::SharedCluster);
                let masks = multicast.map(|m| self.fetch32(warp, &frame, m));
                for lane in lanes_of(mask) {
                    let n = sizes[lane];
                    check_bulk("bulk copy", n)?;
                    let n64 = u64::from(n);
                    let place =
                        self.shared_place(warp, MemSpace::SharedCluster, to[lane], n64, 16)?;
                    let (bar, _) = self.barrier_place(warp, MemSpace::SharedCluster, bars[lane])?;
                    let source = if *from == MemSpace::Global {
                        self.memory.locate(source[lane], n64, false)?;
                        aligned("global", source[lane], 16)?;
                        Source::Global(source[lane])
                    } else {
                        Source::Shared(self.shared_place(warp, *from, source[lane], n64, 16)?)
                    };
                    let to = self.reached(warp, place, bar, masks.map(|m| m[lane]))?;
                    // Reductions are atomic: their destination keeps its value and conflicts with nothing.
                    if reduce.is_none() {
                        self.track_in_copy(path, lane, &source, &to, n);
                        for (place, _) in &to {
                            self.poison(*place, n)?;
                        }
                    }
                    let action =
                        Action::In { source, to, bytes: n, reduce: *reduce, data: Vec::new() };
                    self.issue(warp, path, lane, u32::MAX, action);
                }
            }
            AsyncOp::TensorIn { dst, map, coordinates, bar, multicast, mode, pair } => {
                let to = self.addresses(warp, &frame, dst, MemSpace::SharedCluster);
                let bars = self.addresses(warp, &frame, bar, MemSpace::SharedCluster);
                let masks = multicast.map(|m| self.fetch32(warp, &frame, m));
                for lane in lanes_of(mask) {
                    let address = self.map_address(warp, path, map, lane);
                    let map = self.tensor_map(warp, address, lane)?;
                    let at = self.coordinates(warp, path, coordinates, lane);
                    let n = copied_bytes(&map, mode);
                    let place =
                        self.shared_place(warp, MemSpace::SharedCluster, to[lane], n, 128)?;
                    let (bar, _) = self.barrier_place(warp, MemSpace::SharedCluster, bars[lane])?;
                    let pieces =
                        self.pieces(warp, path, lane, (&map, mode), &at, to[lane] as u32)?;
                    let mut to = self.reached(warp, place, bar, masks.map(|m| m[lane]))?;
                    if *pair {
                        for (place, of) in &mut to {
                            of.cta = self.in_pair(place.cta, bar.cta);
                        }
                    }
                    let source = Source::Tile { map, pieces };
                    self.track_in_copy(path, lane, &source, &to, n as u32);
                    for (place, _) in &to {
                        self.poison(*place, n as u32)?;
                    }
                    let bytes = n as u32;
                    let action = Action::In { source, to, bytes, reduce: None, data: Vec::new() };
                    self.issue(warp, path, lane, u32::MAX, action);
                }
            }
            AsyncOp::BulkOut { dst, src, bytes, reduce, mask: which } => {
                let which = which.map_or([u32::MAX; LANES], |m| self.fetch32(warp, &frame, m));
                let to = self.addresses(warp, &frame, dst, MemSpace::Global);
                let from = self.addresses(warp, &frame, src, MemSpace::Shared);
                let sizes = self.fetch32(warp, &frame, *bytes);
                for lane in lanes_of(mask) {
                    let n = sizes[lane];
                    check_bulk("bulk copy", n)?;
                    let n64 = u64::from(n);
                    let from = self.shared_place(warp, MemSpace::Shared, from[lane], n64, 16)?;
                    self.memory.locate(to[lane], n64, true)?;
                    aligned("global", to[lane], 16)?;
                    let target = Source::Global(to[lane]);
                    let group = warp.bulk_groups[lane];
                    let how = (group, reduce.is_some());
                    self.track_out_copy(path, lane, (from, n), &target, how);
                    let action = Action::Out {
                        from,
                        target,
                        reduce: *reduce,
                        mask: which[lane],
                        bytes: n,
                        data: Vec::new(),
                    };
                    self.issue(warp, path, lane, group, action);
                }
            }
            AsyncOp::TensorOut { map, coordinates, src, reduce, mode } => {
                let from = self.addresses(warp, &frame, src, MemSpace::Shared);
                for lane in lanes_of(mask) {
                    let address = self.map_address(warp, path, map, lane);
                    let map = self.tensor_map(warp, address, lane)?;
                    let at = self.coordinates(warp, path, coordinates, lane);
                    let n = copied_bytes(&map, mode);
                    let place = self.shared_place(warp, MemSpace::Shared, from[lane], n, 128)?;
                    let base = from[lane] as u32;
                    let pieces = self.pieces(warp, path, lane, (&map, mode), &at, base)?;
                    let reduce = match reduce {
                        Some(operation) => Some(map_reduction(operation, map.desc().data_type)?),
                        None => None,
                    };
                    let group = warp.bulk_groups[lane];
                    let target = Source::Tile { map, pieces };
                    let how = (group, reduce.is_some());
                    self.track_out_copy(path, lane, (place, n as u32), &target, how);
                    let action = Action::Out {
                        from: place,
                        target,
                        reduce,
                        mask: u32::MAX,
                        bytes: n as u32,
                        data: Vec::new(),
                    };
                    self.issue(warp, path, lane, group, action);
                }
            }
            AsyncOp::BulkCommit => {
                for lane in lanes_of(mask) {
                    warp.bulk_groups[lane] += 1;
                }
            }
            AsyncOp::BulkWait { groups, read } => {
                let me = self.current;
                let waits = self.agents.iter().any(|a| {
                    a.warp == me
                        && mask >> a.lane & 1 == 1
                        && matches!(a.action, Action::Out { .. })
                        && a.group + groups < warp.bulk_groups[a.lane as usize]
                        && !(*read && a.read)
                });
                if waits {
                    path.wait = Some(Wait::Agents("its bulk groups"));
                    return Ok(Flow::Blocked);
                }
                if let Some(detect) = &mut self.detect {
                    for lane in lanes_of(mask) {
                        detect.bulk_waited(me, lane, warp.bulk_groups[lane], *groups, *read);
                    }
                }
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// The pieces of a tensor copy, with shared addresses from its start.
    fn pieces(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        (map, mode): (&TensorMap, &TileMode),
        at: &[i32],
        shared: u32,
    ) -> Result<Vec<Piece>, Fault> {
        let mut pieces = match (mode, at) {
            (TileMode::Tile, at) => map.pieces(at, shared)?,
            (TileMode::Im2col(offsets), at) => {
                let offsets = self.coordinates(warp, path, offsets, lane);
                let offsets: Vec<u16> = offsets.into_iter().map(|o| o as u16).collect();
                map.im2col_pieces(at, &offsets, shared)?
            }
            (TileMode::FourRows, &[x, a, b, c, d]) => map.four_rows(x, [a, b, c, d], shared)?,
            (TileMode::FourRows, at) => map.pieces(at, shared)?,
        };
        for piece in &mut pieces {
            piece.shared -= shared;
        }
        Ok(pieces)
    }

    /// The CTA of the pair of `cta` that `like` is of its own pair.
    fn in_pair(&self, cta: u32, like: u32) -> u32 {
        let (here, there) = (&self.ctas[cta as usize], &self.ctas[like as usize]);
        let rank = here.rank & !1 | there.rank & 1;
        let ctas = &self.clusters[here.cluster as usize].ctas;
        ctas.get(rank as usize).copied().unwrap_or(cta)
    }

    fn coordinates(&mut self, warp: &Warp, path: &Path, from: &[Src], lane: usize) -> Vec<i32> {
        from.iter().map(|c| self.fetch32(warp, &path.frame, *c)[lane] as i32).collect()
    }

    /// Destination bytes in flight read as fresh memory.
    fn poison(&mut self, place: SharedPlace, bytes: u32) -> Result<(), Fault> {
        self.shared_write(place, bytes, "copy")?.fill(FRESH);
        Ok(())
    }

    /// Bytes of shared memory that are about to be written.
    pub(crate) fn shared_write(
        &mut self,
        place: SharedPlace,
        bytes: u32,
        what: &'static str,
    ) -> Result<&mut [u8], Fault> {
        let cta = &mut self.ctas[place.cta as usize];
        if let Some(offset) = cta.barriers.overlapping(place.offset, bytes) {
            return Err(Fault::MbarrierBytes { what, address: SHARED_BASE + offset });
        }
        if !self.watches.is_empty() {
            self.events.push(Event::Change);
        }
        let at = place.offset as usize;
        let end = at + bytes as usize;
        let (rank, len) = (cta.rank, cta.shared.len());
        cta.shared.get_mut(at..end).ok_or(Fault::OutOfBounds {
            space: "shared",
            address: u64::from(rank << RANK_SHIFT | (SHARED_BASE + place.offset)),
            bytes: u64::from(bytes),
            detail: format!("the CTA has {len} bytes"),
        })
    }

    fn shared_read(&self, place: SharedPlace, bytes: u32) -> &[u8] {
        let shared = &self.ctas[place.cta as usize].shared;
        shared.get(place.offset as usize..(place.offset + bytes) as usize).unwrap_or(&[])
    }

    /// Whether an agent may take its next step now.
    pub(crate) fn eligible(&self, i: usize) -> bool {
        let agent = &self.agents[i];
        match &agent.action {
            Action::SmallArrive { .. } => !self.agents.iter().any(|a| {
                a.warp == agent.warp
                    && a.lane == agent.lane
                    && a.number < agent.number
                    && matches!(a.action, Action::Small { .. })
            }),
            Action::Tensor(tensor) => self.tensor_eligible(agent, tensor),
            Action::Wgmma(product) => self.product_eligible(agent, product),
            _ => true,
        }
    }

    /// Takes the next step of an agent; true if it is done. `warp` is the one that issued it.
    pub(crate) fn advance(&mut self, agent: &mut Agent, warp: &mut Warp) -> Result<bool, Fault> {
        let read = agent.read;
        match &mut agent.action {
            Action::In { source, bytes, data, .. } if !read => {
                *data = self.read_source(source, *bytes)?;
                agent.read = true;
                Ok(false)
            }
            Action::In { source, to, bytes, reduce, data } => {
                for (place, bar) in to.iter() {
                    let out = self.shared_write(*place, *bytes, "copy")?;
                    match source {
                        Source::Tile { pieces, .. } => {
                            let mut at = 0;
                            for piece in pieces.iter() {
                                let n = piece.bytes as usize;
                                out[piece.shared as usize..][..n]
                                    .copy_from_slice(&data[at..at + n]);
                                at += n;
                            }
                        }
                        _ => put(out, data, *reduce),
                    }
                    let bytes = i64::from(*bytes);
                    let phase = self.phase_of(*bar);
                    if let Some(detect) = &mut self.detect {
                        detect.complete_tx(*bar, phase);
                    }
                    self.with_barrier(*bar, |b| b.transact(-bytes))?;
                }
                Ok(true)
            }
            Action::Out { from, bytes, data, .. } if !read => {
                *data = self.shared_read(*from, *bytes).to_vec();
                agent.read = true;
                Ok(false)
            }
            Action::Out { target, reduce, mask, data, .. } if *mask & 0xFFFF != 0xFFFF => {
                let Source::Global(address) = *target else { return Ok(true) };
                for (i, byte) in data.iter().enumerate() {
                    if *mask >> (i % 16) & 1 == 1 {
                        self.write_out(address + i as u64, &[*byte], *reduce)?;
                    }
                }
                Ok(true)
            }
            Action::Out { target, reduce, data, .. } => {
                match target {
                    Source::Global(address) => self.write_out(*address, data, *reduce)?,
                    Source::Tile { pieces, .. } => {
                        for piece in pieces.iter() {
                            if let Some(address) = piece.global {
                                let part = &data[piece.shared as usize..][..piece.bytes as usize];
                                self.write_out(address, part, *reduce)?;
                            }
                        }
                    }
                    Source::Shared(_) | Source::Data(_) => {}
                }
                Ok(true)
            }
            Action::Small { from, copied, bytes, data, .. } if !read => {
                let at = self.memory.locate(*from, u64::from(*copied), false)?;
                *data = self.memory.slice(at, *copied as usize).to_vec();
                data.resize(*bytes as usize, 0);
                agent.read = true;
                Ok(false)
            }
            Action::Small { to, bytes, data, .. } => {
                self.shared_write(*to, *bytes, "copy")?.copy_from_slice(data);
                Ok(true)
            }
            Action::SmallArrive { bar } => {
                if let (Some(detect), Some(stamp)) = (&mut self.detect, agent.stamp) {
                    detect.complete_small(*bar, stamp);
                }
                self.with_barrier(*bar, |b| b.arrive(1))?;
                Ok(true)
            }
            Action::Tensor(_) => self.advance_tensor(agent, warp),
            Action::Wgmma(product) => self.advance_product(product),
        }
    }

    fn read_source(&mut self, source: &Source, bytes: u32) -> Result<Vec<u8>, Fault> {
        match source {
            Source::Global(address) => {
                let at = self.memory.locate(*address, u64::from(bytes), false)?;
                Ok(self.memory.slice(at, bytes as usize).to_vec())
            }
            Source::Shared(place) => Ok(self.shared_read(*place, bytes).to_vec()),
            Source::Data(data) => Ok(data.clone()),
            Source::Tile { map, pieces } => {
                let mut data = Vec::with_capacity(bytes as usize);
                for piece in pieces {
                    let from = data.len();
                    match piece.global {
                        Some(address) => {
                            let at = self.memory.locate(address, u64::from(piece.bytes), false)?;
                            data.extend_from_slice(self.memory.slice(at, piece.bytes as usize));
                            map.desc().data_type.convert_loaded(&mut data[from..]);
                        }
                        None => {
                            data.resize(from + piece.bytes as usize, 0);
                            map.fill(&mut data[from..]);
                        }
                    }
                }
                Ok(data)
            }
        }
    }

    fn write_out(
        &mut self,
        address: u64,
        data: &[u8],
        reduce: Option<(AtomFn, u8)>,
    ) -> Result<(), Fault> {
        let at = self.memory.locate(address, data.len() as u64, true)?;
        if !self.watches.is_empty() {
            self.events.push(Event::Change);
        }
        self.memory.mark(at, data.len());
        put(self.memory.slice_mut(at, data.len()), data, reduce);
        Ok(())
    }
}

/// Writes, or reduces elements of so many bytes.
fn put(out: &mut [u8], data: &[u8], reduce: Option<(AtomFn, u8)>) {
    let Some((f, width)) = reduce else { return out.copy_from_slice(data) };
    let size = usize::from(width);
    for (old, new) in out.chunks_exact_mut(size).zip(data.chunks_exact(size)) {
        let value = crate::access::atom(f, word(old), word(new), 0, width);
        old.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Bytes of shared memory that a tensor copy fills or reads.
fn copied_bytes(map: &TensorMap, mode: &TileMode) -> u64 {
    let rows = if *mode == TileMode::FourRows { 4 } else { 1 };
    rows * map.tile_bytes()
}

fn aligned(space: &'static str, address: u64, align: u64) -> Result<(), Fault> {
    if address.is_multiple_of(align) {
        return Ok(());
    }
    Err(Fault::Misaligned { space, address, align })
}

fn check_bulk(what: &'static str, bytes: u32) -> Result<(), Fault> {
    if bytes != 0 && bytes.is_multiple_of(16) {
        return Ok(());
    }
    let problem = "the size must be a multiple of 16, and not 0".into();
    Err(Fault::Bulk { what, bytes: bytes.into(), problem })
}

fn map_reduction(operation: &str, ty: DataType) -> Result<(AtomFn, u8), Fault> {
    let float = match ty {
        DataType::F16 => Some(Float::F16),
        DataType::Bf16 => Some(Float::Bf16),
        DataType::F32 | DataType::F32Ftz => Some(Float::F32),
        DataType::F64 => Some(Float::F64),
        _ => None,
    };
    let signed = matches!(ty, DataType::I32 | DataType::I64);
    let f = match (operation, float) {
        ("add", Some(float)) => AtomFn::AddF(float),
        ("min", Some(float)) => AtomFn::MinF(float),
        ("max", Some(float)) => AtomFn::MaxF(float),
        ("add", None) => AtomFn::Add,
        ("inc", _) => AtomFn::Inc,
        ("dec", _) => AtomFn::Dec,
        ("min", None) if signed => AtomFn::MinS,
        ("max", None) if signed => AtomFn::MaxS,
        ("min", None) => AtomFn::MinU,
        ("max", None) => AtomFn::MaxU,
        ("and", _) => AtomFn::And,
        ("or", _) => AtomFn::Or,
        ("xor", _) => AtomFn::Xor,
        _ => {
            let problem = format!("`{operation}` is not defined for {ty:?}");
            return Err(Fault::Bulk { what: "tensor reduction", bytes: 0, problem });
        }
    };
    Ok((f, ty.bytes() as u8))
}
