//! Instructions that several lanes, warps or CTAs execute together.

use crate::detect::Missing;
use crate::error::Fault;
use crate::ir::*;
use crate::value::{self, Float, Rounding};
use crate::warp::{Path, Wait, Warp};
use crate::world::{BARS, Event, Flow, World, lanes_of};

impl World<'_> {
    /// All live lanes must be here, and no other may have exited.
    pub(crate) fn aligned(&mut self, warp: &Warp, path: &Path, mask: u32) -> Result<(), Fault> {
        if mask != warp.live {
            return Err(Fault::Divergent { active: mask, live: warp.live });
        }
        if let (Some(detect), true) = (&mut self.detect, warp.lanes != warp.live) {
            let lane = mask.trailing_zeros();
            detect.without_exited(self.current, lane, path.site(), Missing::Lanes);
        }
        Ok(())
    }

    pub(crate) fn warp_op(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &WarpOp,
        members: Src,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let members = self.fetch32(warp, &frame, members);
        let first = members[mask.trailing_zeros() as usize & 31];
        for lane in lanes_of(mask) {
            if members[lane] >> lane & 1 == 0 {
                return Err(Fault::NotMember { mask: members[lane], lane: lane as u32 });
            }
        }
        if lanes_of(mask).all(|l| members[l] == first) {
            let need = first & warp.live;
            let mut together = mask;
            let here = |p: &Path| {
                // `bar.warp.sync` may stand at different places; other collectives may not.
                matches!(p.wait, Some(Wait::Lanes { mask, pc, func })
                    if mask == first
                        && (*op == WarpOp::Sync || (pc, func) == (path.pc, frame.func)))
                    && (*op == WarpOp::Sync || p.frame == frame)
            };
            for p in warp.paths.iter().filter(|p| here(p)) {
                together |= p.mask;
            }
            if together & need != need {
                path.wait = Some(Wait::Lanes { mask: first, pc: path.pc, func: frame.func });
                return Ok(Flow::Blocked);
            }
            // Other collectives go by the lanes that have not exited (ISA 9.7.9.6, 9.7.13.10 to 13).
            if let (Some(detect), WarpOp::Sync, 1..) =
                (&mut self.detect, op, first & warp.lanes & !warp.live)
            {
                let lane = mask.trailing_zeros();
                detect.without_exited(self.current, lane, path.site(), Missing::Lanes);
            }
            if together != mask {
                for i in 0..warp.paths.len() {
                    if here(&warp.paths[i]) {
                        warp.paths[i].wait = None;
                        warp.paths[i].pc += 1;
                    }
                }
                self.events.push(Event::Released(self.current));
            }
            self.collect(warp, path, together, first, op);
        } else {
            // Groups of lanes that are all here.
            let mut rest = mask;
            while rest != 0 {
                let group = members[rest.trailing_zeros() as usize];
                if group & warp.live & !rest != 0 {
                    return Err(Fault::MixedMasks);
                }
                self.collect(warp, path, group & mask, group, op);
                rest &= !group;
            }
        }
        path.pc += 1;
        Ok(if *op == WarpOp::Sync { Flow::Visible } else { Flow::Next })
    }

    fn collect(&mut self, warp: &mut Warp, path: &Path, mask: u32, members: u32, op: &WarpOp) {
        let frame = path.frame;
        match op {
            WarpOp::Sync => {
                if let Some(detect) = &mut self.detect {
                    detect.warp_barrier(self.current, mask);
                }
            }
            WarpOp::Shfl { mode, d, p, a, b, c } => {
                let a = self.fetch32(warp, &frame, *a);
                let (b, c) = (self.fetch32(warp, &frame, *b), self.fetch32(warp, &frame, *c));
                let (mut valid, mut absent) = (0u32, 0u32);
                let value: Lanes32 = std::array::from_fn(|lane| {
                    let me = lane as u32;
                    let (b, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
                    let max = me & segment | clamp & !segment;
                    let min = me & segment;
                    let (from, ok) = match mode {
                        ShflMode::Up => {
                            let from = me.wrapping_sub(b) as i32;
                            (from as u32, from >= max as i32)
                        }
                        ShflMode::Down => (me + b, me + b <= max),
                        ShflMode::Bfly => (me ^ b, me ^ b <= max),
                        ShflMode::Idx => {
                            let from = min | b & !segment;
                            (from, from <= max)
                        }
                    };
                    let from = if ok { from } else { me };
                    valid |= u32::from(ok) << lane;
                    // A lane that does not take part has no defined value.
                    let present = mask >> (from & 31) & 1 == 1;
                    absent |= u32::from(!present) << lane;
                    if present { a[from as usize & 31] } else { u32::MAX }
                });
                if let (Some(detect), 1..) = (&mut self.detect, absent & mask) {
                    let lane = (absent & mask).trailing_zeros();
                    detect.absent_lane(self.current, lane, path.site());
                }
                warp.regs.put32(&frame, *d, mask, &value);
                warp.regs.put_pred(&frame, *p, mask, valid);
            }
            WarpOp::Vote { mode, d, a } => {
                let votes = self.fetch_pred(warp, &frame, *a) & mask;
                let result = match mode {
                    VoteMode::Ballot => {
                        warp.regs.put32(&frame, *d, mask, &[votes; LANES]);
                        return;
                    }
                    VoteMode::All => votes == mask,
                    VoteMode::Any => votes != 0,
                    VoteMode::Uni => votes == 0 || votes == mask,
                };
                warp.regs.put_pred(&frame, *d, mask, if result { u32::MAX } else { 0 });
            }
            WarpOp::MatchAny { d, a, wide } => {
                let a = self.fetch64(warp, &frame, *a);
                let keep = if *wide { u64::MAX } else { 0xFFFF_FFFF };
                let value = std::array::from_fn(|lane| {
                    lanes_of(mask)
                        .fold(0u32, |m, l| m | u32::from(a[l] & keep == a[lane] & keep) << l)
                });
                warp.regs.put32(&frame, *d, mask, &value);
            }
            WarpOp::MatchAll { d, p, a, wide } => {
                let a = self.fetch64(warp, &frame, *a);
                let keep = if *wide { u64::MAX } else { 0xFFFF_FFFF };
                let first = a[mask.trailing_zeros() as usize & 31] & keep;
                let all = lanes_of(mask).all(|l| a[l] & keep == first);
                warp.regs.put32(&frame, *d, mask, &[if all { mask } else { 0 }; LANES]);
                warp.regs.put_pred(&frame, *p, mask, if all { u32::MAX } else { 0 });
            }
            WarpOp::Redux { f, d, a } => {
                let a = self.fetch32(warp, &frame, *a);
                let float = |x: u32, y: u32, less: bool, abs: bool, nan: bool| {
                    let clear = |v: u32| if abs { v & !(1 << 31) } else { v };
                    let f = match (less, nan) {
                        (true, false) => FloatFn::Min,
                        (false, false) => FloatFn::Max,
                        (true, true) => FloatFn::MinNan,
                        (false, true) => FloatFn::MaxNan,
                    };
                    let (x, y) = (clear(x), clear(y));
                    value::narrow_float(f, Float::F32, Rounding::NearestEven, x, y, 0)
                };
                let join = |x: u32, y: u32| match f {
                    ReduxFn::Add => x.wrapping_add(y),
                    ReduxFn::MinU => x.min(y),
                    ReduxFn::MaxU => x.max(y),
                    ReduxFn::MinS => (x as i32).min(y as i32) as u32,
                    ReduxFn::MaxS => (x as i32).max(y as i32) as u32,
                    ReduxFn::And => x & y,
                    ReduxFn::Or => x | y,
                    ReduxFn::Xor => x ^ y,
                    ReduxFn::MinF { abs, nan } => float(x, y, true, *abs, *nan),
                    ReduxFn::MaxF { abs, nan } => float(x, y, false, *abs, *nan),
                };
                // One lane alone goes through the function, too: it may clear a sign.
                let all = lanes_of(mask).map(|l| a[l]);
                let result = match f {
                    ReduxFn::MinF { .. } | ReduxFn::MaxF { .. } => {
                        let first = a[mask.trailing_zeros() as usize & 31];
                        all.fold(join(first, first), join)
                    }
                    _ => all.reduce(join).unwrap_or(0),
                };
                warp.regs.put32(&frame, *d, mask, &[result; LANES]);
            }
            WarpOp::Elect { d, p } => {
                // The same mask elects the same lane.
                let leader = (members & mask).trailing_zeros();
                warp.regs.put32(&frame, *d, mask, &[leader; LANES]);
                warp.regs.put_pred(&frame, *p, mask, 1u32.checked_shl(leader).unwrap_or(0));
            }
        }
    }

    /// A move of what is one value for a set, as its author says: each thread's `n`-th value has to be that of the others.
    pub(crate) fn same(
        &mut self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        (among, wide, d, a): (Among, bool, Dst, Src),
    ) {
        let frame = path.frame;
        let mut values = self.fetch64(warp, &frame, a);
        if !wide {
            values = values.map(|value| value & 0xFFFF_FFFF);
        }
        warp.regs.put64(&frame, d, mask, &values);
        if self.detect.is_none() {
            return;
        }
        let cta = &mut self.ctas[warp.cta as usize];
        let (lanes, threads) = (warp.lanes.count_ones(), cta.threads - cta.absent);
        let first = warp.index * LANES as u32;
        let (group, size) = match among {
            Among::Warp => (warp.index, lanes),
            Among::Group => (warp.index / 4, (threads - first / 128 * 128).min(128)),
            Among::Cta => (0, threads),
        };
        let same = cta.same.entry(path.site()).or_default();
        same.rounds.resize(cta.threads as usize, 0);
        let mut differs = None;
        for lane in lanes_of(mask) {
            let round = &mut same.rounds[first as usize + lane];
            let key = (group, *round);
            *round += 1;
            let (value, come) = same.open.entry(key).or_insert((values[lane], 0));
            if *value != values[lane] {
                differs.get_or_insert((lane as u32, [*value, values[lane]]));
            }
            *come += 1;
            if *come == size {
                same.open.remove(&key);
            }
        }
        if let (Some(detect), Some((lane, values))) = (&mut self.detect, differs) {
            detect.not_the_same(self.current, lane, path.site(), values);
        }
    }

    // ---- CTA barriers ----

    pub(crate) fn bar(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: (BarMode, Dst, Src, Option<Src>, bool),
    ) -> Result<Flow, Fault> {
        let (mode, d, id, count, aligned) = op;
        if aligned {
            self.aligned(warp, path, mask)?;
        }
        let frame = path.frame;
        let lane = mask.trailing_zeros() as usize & 31;
        let id = self.fetch32(warp, &frame, id)[lane];
        let count = count.map(|c| self.fetch32(warp, &frame, c)[lane]);
        let fail = |problem: String| Err(Fault::Barrier { id, problem });
        if id as usize >= BARS {
            return fail(format!("a CTA has barriers 0 to {}", BARS - 1));
        }
        let cta = &mut self.ctas[warp.cta as usize];
        if let Some(n) = count
            && (n == 0 || n % 32 != 0 || n > cta.threads)
        {
            return fail(format!(
                "{n} threads; the count must be a multiple of 32 up to the CTA's {}",
                cta.threads
            ));
        }
        let bar = &mut cta.bars[id as usize];
        match bar.round {
            None => {
                *bar = crate::world::Bar { round: Some(count), and: true, ..Default::default() }
            }
            Some(of) if of != count => {
                return fail(format!(
                    "used with {count:?} threads while a round with {of:?} is open"
                ));
            }
            Some(_) => {}
        }
        // A warp counts whole, lanes that exited or never were included.
        let lanes = if mask == warp.live { 32 } else { mask.count_ones() };
        // Of those, exited lanes are already counted where all threads are expected.
        let lanes = if count.is_none() && mask == warp.live { mask.count_ones() } else { lanes };
        bar.arrived += lanes;
        bar.last = (self.current, lane as u32, path.site());
        if let BarMode::RedAnd(p) | BarMode::RedOr(p) | BarMode::RedPopc(p) = mode {
            let bits = match p >> 1 {
                BarMode::LITERAL => u32::MAX,
                slot => warp.regs.p[(frame.p + slot) as usize],
            };
            let bits = if p & 1 == 1 { !bits } else { bits } & mask;
            bar.and &= bits == mask;
            bar.or |= bits != 0;
            bar.popc += bits.count_ones();
        }
        path.pc += 1;
        let slot = warp.cta;
        if let Some(detect) = &mut self.detect {
            detect.bar_arrive(self.current, mask, (slot, id), (count.is_some(), path.site() - 1));
        }
        if mode == BarMode::Arrive {
            self.check_bar(slot, id)?;
            return Ok(Flow::Visible);
        }
        let mode = match mode {
            BarMode::RedAnd(_) => 1,
            BarMode::RedOr(_) => 2,
            BarMode::RedPopc(_) => 3,
            _ => 0,
        };
        path.wait = Some(Wait::Bar { id: id | mode << 8, d });
        self.check_bar(slot, id)?;
        Ok(Flow::Blocked)
    }

    /// Completes a barrier whose threads have all come.
    pub(crate) fn check_bar(&mut self, slot: u32, id: u32) -> Result<(), Fault> {
        let cta = &mut self.ctas[slot as usize];
        let (threads, exited) = (cta.threads, cta.exited);
        let bar = &mut cta.bars[id as usize];
        let Some(round) = bar.round else { return Ok(()) };
        let need = round.unwrap_or(threads - exited);
        if bar.arrived > need && round.is_some() {
            let problem = format!("{} threads came to a round of {need}", bar.arrived);
            return Err(Fault::Barrier { id, problem });
        }
        if bar.arrived >= need {
            let (warp, lane, site) = bar.last;
            if let (Some(detect), true) =
                (&mut self.detect, round.is_none() && cta.exited != cta.absent)
            {
                detect.without_exited(warp, lane, site, Missing::Threads);
            }
            let event = Event::Bar { cta: slot, id, and: bar.and, or: bar.or, popc: bar.popc };
            *bar = Default::default();
            self.events.push(event);
            if let Some(detect) = &mut self.detect {
                detect.bar_complete(slot, id);
            }
        }
        Ok(())
    }

    // ---- cluster barrier ----

    pub(crate) fn cluster_arrive(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        aligned: bool,
        relaxed: bool,
    ) -> Result<Flow, Fault> {
        if aligned {
            self.aligned(warp, path, mask)?;
        }
        if warp.cluster_arrived & mask != 0 {
            let problem = "a second arrive without a wait in between";
            return Err(Fault::ClusterBarrier { problem });
        }
        let index = self.ctas[warp.cta as usize].cluster;
        let cluster = &mut self.clusters[index as usize];
        warp.cluster_arrived |= mask;
        warp.cluster_phase = cluster.phase;
        cluster.arrived += mask.count_ones();
        if let Some(detect) = &mut self.detect {
            detect.cluster_arrive(self.current, mask, index, relaxed);
        }
        self.check_cluster(index);
        path.pc += 1;
        Ok(Flow::Visible)
    }

    pub(crate) fn cluster_wait(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        aligned: bool,
    ) -> Result<Flow, Fault> {
        if aligned {
            self.aligned(warp, path, mask)?;
        }
        if warp.cluster_arrived & mask != mask {
            return Err(Fault::ClusterBarrier { problem: "a wait without an arrive before it" });
        }
        let index = self.ctas[warp.cta as usize].cluster;
        if self.clusters[index as usize].phase == warp.cluster_phase {
            path.wait = Some(Wait::Cluster);
            return Ok(Flow::Blocked);
        }
        warp.cluster_arrived &= !mask;
        if let Some(detect) = &mut self.detect {
            detect.cluster_leave(self.current, mask, index, path.site());
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// Completes the cluster barrier if all live threads of the cluster have come.
    pub(crate) fn check_cluster(&mut self, index: u32) {
        let live: u32 = self.clusters[index as usize]
            .ctas
            .iter()
            .map(|&c| self.ctas[c as usize].threads - self.ctas[c as usize].exited)
            .sum();
        let cluster = &mut self.clusters[index as usize];
        if cluster.arrived > 0 && cluster.arrived >= live {
            cluster.arrived = 0;
            cluster.phase += 1;
            self.events.push(Event::Cluster(index));
            if let Some(detect) = &mut self.detect {
                detect.cluster_complete(index);
            }
        }
    }
}
