//! mbarrier instructions.

use super::*;
use crate::trace::{Actor, Lane};

impl World<'_> {
    /// The phase of a barrier now.
    pub(crate) fn phase_of(&mut self, place: SharedPlace) -> u64 {
        self.ctas[place.cta as usize].barriers.get(place.offset).map_or(0, |b| b.phase)
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
            Ok((result, b.phase != phase, phase))
        });
        match result {
            Ok((result, turned, phase)) => {
                if turned {
                    if let Some(trace) = &mut self.trace {
                        let actor = Actor::Barrier(SHARED_BASE + place.offset);
                        let lane = Lane { block: self.ctas[place.cta as usize].index, actor };
                        trace.phase(lane, phase, self.instructions);
                    }
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
                        let token = b.state(*no_complete);
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
            MbarrierOp::Tx { addr, amount, scope, complete } => {
                let addresses = self.addresses(warp, &frame, &addr.0, addr.1);
                let amounts = self.fetch32(warp, &frame, *amount);
                for lane in lanes_of(mask) {
                    let (place, _) = self.barrier_place(warp, addr.1, addresses[lane])?;
                    let bytes = i64::from(amounts[lane]);
                    if let Some(detect) = &mut self.detect {
                        detect.transact(self.current, lane as u32, place, *scope, path.site());
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
                let mut counts = [0; LANES];
                for lane in lanes_of(mask) {
                    counts[lane] = Mbarrier::pending_count(states[lane])
                        .map_err(|error| Fault::State { error })?;
                }
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
            let place = SharedPlace { cta: warp.cta, offset };
            let same = path.asked.filter(|a| (a.offset, a.value) == (offset, value));
            let since = same.map_or_else(|| self.phase_of(place), |asked| asked.since);
            path.asked = Some(crate::warp::Asked { offset, value, since });
            let site = (frame.func, path.pc);
            let spins = path.spin.site == site && path.spin.rounds >= 4;
            // A try may fail for no reason; a test that fails again and again only looks.
            if (blocking && !self.rng.one_in(16)) || (!blocking && spins) {
                path.wait = Some(Wait::Mbarrier {
                    offset,
                    parity: parity.then_some(value as u32 & 1),
                    state: value,
                    since,
                });
                path.spin.rounds = 0;
                self.clocks_go_ahead(warp, path, mask, [addr.0.base, phase]);
                return Ok(Flow::Blocked);
            }
            if path.spin.site == site {
                path.spin.rounds += 1;
            } else {
                path.spin = crate::warp::Spin { site, value: 0, rounds: 1 };
            }
        }
        if passed != 0 {
            path.asked = None;
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
                if lanes & !passed != 0 {
                    detect.refused(self.current, lanes & !passed, place, site);
                }
                if lanes & passed != 0 {
                    let how = (relaxed, scope, self.phase_of(place), site);
                    detect.waited(self.current, lanes & passed, place, how);
                }
            }
            self.detect = Some(detect);
        }
        path.pc += 1 + std::mem::take(&mut path.ahead);
        Ok(Flow::Visible)
    }

    /// A warp that hangs in a wait stops at the first use of the answer, not before: clocks behind the wait may be read
    /// while it hangs, and so before the arrival that it waits for. Here they are or are not, as the seed has it.
    ///
    /// What the wait itself reads (`needed`) is left alone, since it looks again.
    fn clocks_go_ahead(&mut self, warp: &mut Warp, path: &mut Path, mask: u32, needed: [Src; 2]) {
        let program = self.program;
        let behind = &program.functions[path.frame.func as usize].code[path.pc as usize + 1..];
        let clocks = behind.iter().map_while(|inst| match inst.op {
            Op::Mov { d, a: a @ Src::Special(Special::Clock | Special::GlobalTimer) }
                if inst.guard == 0 && !inst.join_point && !needed.contains(&d.as_source()) =>
            {
                Some((d, a))
            }
            _ => None,
        });
        let clocks: Vec<(Dst, Src)> = clocks.collect();
        let together = mask == path.mask;
        if !together || path.ahead > 0 || clocks.is_empty() || self.rng.one_in(2) {
            return;
        }
        for (d, a) in &clocks {
            self.instructions += u64::from(mask.count_ones());
            self.mov(warp, path, mask, *d, *a);
        }
        path.ahead = clocks.len() as u32;
    }
}
