//! Copies when they are issued: what they touch is checked, and an agent is queued.

use super::*;

/// Whether an earlier lane of the warp makes the same copy by the same instruction. As with stores, lanes of one instruction that
/// write the same value to one place are at peace.
fn repeats<T: PartialEq>(copies: &mut Vec<T>, copy: T) -> bool {
    let again = copies.contains(&copy);
    if !again {
        copies.push(copy);
    }
    again
}

impl World<'_> {
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
        (group, unordered): (u32, bool),
    ) {
        let Some(detect) = &mut self.detect else { return };
        let (w, site) = (self.current, path.site());
        detect.copy_out(w, lane, site, (from, bytes), group);
        let mut write = |address: u64, n: usize| {
            detect.copy_out_to(w, lane, site, (address - GLOBAL_BASE) as usize, n, group);
        };
        match target {
            _ if unordered => {}
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
        let places = self.of_ranks(warp, "multicast copy", mask, to)?;
        Ok(places.into_iter().map(|to| (to, SharedPlace { cta: to.cta, ..bar })).collect())
    }

    /// The same place in the CTAs of the cluster that a mask of ranks names.
    pub(crate) fn of_ranks(
        &self,
        warp: &Warp,
        what: &'static str,
        mask: u32,
        place: SharedPlace,
    ) -> Result<Vec<SharedPlace>, Fault> {
        let cluster = &self.clusters[self.ctas[warp.cta as usize].cluster as usize];
        let of_rank = |rank: usize| {
            let Some(&cta) = cluster.ctas.get(rank) else {
                let size = cluster.ctas.len();
                let problem =
                    format!("the mask names rank {rank} of a cluster of {size} (rule F3)");
                return Err(Fault::Bulk { what, bytes: 0, problem });
            };
            if self.ctas[cta as usize].done {
                let rank = rank as u32;
                let address = u64::from(rank << RANK_SHIFT | (SHARED_BASE + place.offset));
                return Err(Fault::PeerExited { space: "shared::cluster", address, rank });
            }
            Ok(SharedPlace { cta, ..place })
        };
        lanes_of(mask & 0xFFFF).map(of_rank).collect()
    }

    /// A tensor map, and where it lies if that is in global memory.
    fn tensor_map(
        &mut self,
        warp: &Warp,
        addr: u64,
        lane: usize,
    ) -> Result<(TensorMap, Option<usize>), Fault> {
        let place =
            self.resolve(warp, lane, MemSpace::Generic, addr, TENSOR_MAP_BYTES as u64, 64, false)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        bytes.copy_from_slice(self.view(warp, place, TENSOR_MAP_BYTES));
        let at = match place {
            Place::Global(at) => Some(at),
            _ => None,
        };
        Ok((TensorMap::decode(&bytes)?, at))
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
                    // A copy of zeros only reads nothing: its source may lie anywhere.
                    let source = match copied {
                        0 => 0,
                        _ => self.memory.locate(from[lane], u64::from(copied), false)?,
                    };
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
                        let source = (source, copied as usize);
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
                    let (map, in_memory) = self.tensor_map(warp, address, lane)?;
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
                    let phase = self.phase_of(bar);
                    if let (Some(detect), Some(at)) = (&mut self.detect, in_memory) {
                        detect.map_in(self.current, lane, path.site(), at, (bar, phase));
                    }
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
                let mut copies = Vec::new();
                for lane in lanes_of(mask) {
                    let n = sizes[lane];
                    check_bulk("bulk copy", n)?;
                    let n64 = u64::from(n);
                    let again = repeats(&mut copies, (from[lane], to[lane], n));
                    let from = self.shared_place(warp, MemSpace::Shared, from[lane], n64, 16)?;
                    self.memory.locate(to[lane], n64, true)?;
                    aligned("global", to[lane], 16)?;
                    let target = Source::Global(to[lane]);
                    let group = warp.bulk_groups[lane];
                    let how = (group, reduce.is_some() || again);
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
                let mut copies = Vec::new();
                for lane in lanes_of(mask) {
                    let address = self.map_address(warp, path, map, lane);
                    let (map, in_memory) = self.tensor_map(warp, address, lane)?;
                    let at = self.coordinates(warp, path, coordinates, lane);
                    let again = repeats(&mut copies, (address, from[lane], at.clone()));
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
                    if let (Some(detect), Some(at)) = (&mut self.detect, in_memory) {
                        detect.map_out(self.current, lane, path.site(), at, group);
                    }
                    let how = (group, reduce.is_some() || again);
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
