//! One path of a warp, instruction by instruction.

use crate::error::Fault;
use crate::ir::*;
use crate::memory::{FUNCTION_WINDOW, LOCAL_LIMIT, LOCAL_TOTAL};
use crate::program::Program;
use crate::warp::{AT_RETURN, Caller, Frame, Join, Path, Warp};
use crate::world::{Flow, World};

/// Nested calls before they are taken for endless recursion.
const MAX_CALLS: usize = 512;

/// A fault, and the path whose instruction it is.
pub(crate) type Failed = Box<(Fault, Path)>;

impl<'p> World<'p> {
    /// Runs `path` until it waits, ends, or others shall run. It goes back to `warp.paths` if it
    /// still exists.
    pub(crate) fn run_path(
        &mut self,
        warp: &mut Warp,
        mut path: Path,
        budget: u32,
        switch: usize,
    ) -> Result<(), Failed> {
        let program: &'p Program = self.program;
        let mut left = budget;
        loop {
            let func = &program.functions[path.frame.func as usize];
            let inst = &func.code[path.pc as usize];
            if inst.join_point && path.join != NO_JOIN {
                let join = &warp.joins[path.join as usize];
                if join.pc == path.pc && join.depth == Warp::depth(&path) {
                    match self.arrive(warp, path) {
                        Some(merged) => path = merged,
                        None => return Ok(()),
                    }
                    continue;
                }
            }
            let mask = match inst.guard {
                0 => path.mask,
                guard => {
                    let p = warp.regs.p[(path.frame.p + ((guard - 1) >> 1)) as usize];
                    path.mask & if (guard - 1) & 1 == 1 { !p } else { p }
                }
            };
            if !warp.undefined.is_empty()
                && let Some(undefined) = &func.undefined
            {
                self.follow_undefined(warp, &path, mask, undefined);
            }
            if mask == 0 {
                path.pc += 1;
                continue;
            }
            self.instructions += u64::from(mask.count_ones());
            let watched = self.detect.is_some() || !warp.fills.is_empty();
            if watched
                && !func.touched.is_empty()
                && let Err(fault) = self.touch_registers(warp, &path)
            {
                return Err(Box::new((fault, path)));
            }
            let flow = match self.step(warp, &mut path, mask, inst) {
                Ok(flow) => flow,
                Err(fault) => return Err(Box::new((fault, path))),
            };
            match flow {
                Flow::Next => {
                    left = left.saturating_sub(1);
                    if left == 0 {
                        warp.paths.push(path);
                        return Ok(());
                    }
                }
                Flow::Visible => {
                    left = left.saturating_sub(1);
                    if left == 0 || self.rng.one_in(switch) {
                        warp.paths.push(path);
                        return Ok(());
                    }
                }
                Flow::Blocked => {
                    warp.paths.push(path);
                    return Ok(());
                }
                Flow::Gone if path.mask == 0 => return Ok(()),
                Flow::Gone => match self.arrive(warp, path) {
                    Some(merged) => path = merged,
                    None => return Ok(()),
                },
            }
        }
    }

    /// A path comes to its join. The path that goes on if its lanes are complete.
    fn arrive(&mut self, warp: &mut Warp, mut path: Path) -> Option<Path> {
        let index = path.join;
        let join = &mut warp.joins[index as usize];
        if let Some(before) = join.arrived.take() {
            path.mask |= before.mask;
        }
        let complete = path.mask == join.expected;
        join.arrived = Some(path);
        if complete { self.complete(warp, index) } else { None }
    }

    /// Takes the lanes out of a join; behind a call they return to the caller.
    fn complete(&mut self, warp: &mut Warp, index: u32) -> Option<Path> {
        let join = &mut warp.joins[index as usize];
        let mut path = join.arrived.take()?;
        join.expected &= !path.mask;
        join.live = join.expected != 0;
        path.join = join.parent;
        if join.pc == AT_RETURN {
            self.return_to_caller(warp, &mut path);
        }
        Some(path)
    }

    /// Lets lanes go on whose missing companions have exited.
    fn release(&mut self, warp: &mut Warp) {
        while let Some(i) = warp
            .joins
            .iter()
            .position(|j| j.live && j.arrived.as_ref().is_some_and(|p| p.mask == j.expected))
        {
            if let Some(path) = self.complete(warp, i as u32) {
                warp.paths.push(path);
            }
        }
    }

    /// Sets free the lanes that wait at some join, without the others: forward progress where
    /// nothing else can run.
    pub(crate) fn break_join(&mut self, warp: &mut Warp) -> bool {
        let Some(i) = warp.joins.iter().position(|j| j.live && j.arrived.is_some()) else {
            return false;
        };
        if let Some(path) = self.complete(warp, i as u32) {
            warp.paths.push(path);
        }
        true
    }

    /// Lanes `mask` of `path` go their own way; the others stay at the next instruction.
    fn split_off_rest(&mut self, warp: &mut Warp, path: &mut Path, mask: u32) {
        let rest = path.mask & !mask;
        if rest != 0 {
            let mut other = path.clone();
            other.mask = rest;
            other.pc += 1;
            path.mask = mask;
            warp.paths.push(other);
        }
    }

    #[inline(always)]
    fn step(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        inst: &Inst,
    ) -> Result<Flow, Fault> {
        match &inst.op {
            Op::Int { f, w, d, a, b, c } => self.int(warp, path, mask, (*f, *w, *d, [*a, *b, *c])),
            Op::Float { f, ty, r, ftz, clamp, d, a, b, c } => {
                self.float(warp, path, mask, (*f, *ty, *r, (*ftz, *clamp), *d, [*a, *b, *c]));
            }
            Op::Mov { d, a } => self.mov(warp, path, mask, *d, *a),
            op @ Op::Setp { .. } => self.setp(warp, path, mask, op),
            Op::Selp { wide, d, a, b, p } => self.selp(warp, path, mask, (*wide, *d, *a, *b, *p)),
            Op::Wide { signed, w, d, a, b, c } => {
                self.wide(warp, path, mask, (*signed, *w, *d, *a, *b, *c));
            }
            Op::Ld { access, d } => return self.load(warp, path, mask, access, *d),
            Op::LdVec { access, d } => return self.load_vector(warp, path, mask, access, d),
            Op::St { access, a } => return self.store(warp, path, mask, access, &[*a]),
            Op::StVec { access, a } => return self.store(warp, path, mask, access, a),
            Op::Bra { target, join } => return Ok(self.branch(warp, path, mask, *target, *join)),
            op => return self.step_rare(warp, path, mask, op),
        }
        path.pc += 1;
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn step_rare(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &Op,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        match op {
            Op::Carry { w, subtract, carry_in, carry_out, d, a, b } => {
                let op = (*w, *subtract, *carry_in, *carry_out, *d, *a, *b);
                self.carry(warp, path, mask, op);
            }
            Op::MadCarry { w, hi, signed, carry_in, carry_out, d, abc } => {
                let op = (*w, *hi, *signed, *carry_in, *carry_out, *d, &**abc);
                self.mad_carry(warp, path, mask, op);
            }
            Op::Bfi { w, d, abcd } => self.bfi(warp, path, mask, *w, *d, abcd),
            Op::Packed { f, ty, r, ftz, clamp, d, a, b, c } => {
                let op = (*f, *ty, *r, (*ftz, *clamp), *d, [*a, *b, *c]);
                self.packed(warp, path, mask, op);
            }
            Op::TestP { .. } => self.test_property(warp, path, mask, op),
            Op::MovVec { d, a } => {
                let read: Vec<_> = a.iter().map(|a| self.fetch64(warp, &path.frame, *a)).collect();
                for (d, value) in d.iter().zip(&read) {
                    warp.regs.put64(&path.frame, *d, mask, value);
                }
            }
            Op::Pack { bits, d, parts } => self.pack(warp, path, mask, *bits, *d, parts),
            Op::Unpack { bits, parts, a } => self.unpack(warp, path, mask, *bits, parts, *a),
            Op::Set { .. } => self.set(warp, path, mask, op),
            Op::Slct { .. } => self.slct(warp, path, mask, op),
            Op::Pred { f, d, a, b } => self.pred(warp, path, mask, (*f, *d, *a, *b)),
            Op::Cvt { .. } => self.convert(warp, path, mask, op),
            Op::CvtPair { .. } => self.convert_pair(warp, path, mask, op),
            Op::Lop3With(with) => self.logic_with_predicate(warp, path, mask, with),
            Op::CvtPack { .. } => self.convert_pack(warp, path, mask, op),
            Op::SetPair { .. } => self.set_pair(warp, path, mask, op),
            Op::SetpPair { .. } => self.setp_pair(warp, path, mask, op),
            Op::Atom { f, access, d, b, c } => {
                return self.atomic(warp, path, mask, (*f, access, *d, *b, *c));
            }
            Op::CvtaTo { .. } | Op::Cvta { .. } | Op::IsSpace { .. } => {
                self.address_op(warp, path, mask, op);
            }
            Op::Mapa { .. } | Op::GetCtaRank { .. } => self.cluster_address(warp, path, mask, op),
            Op::BrxIdx { index, targets, join } => {
                return self.branch_indexed(warp, path, mask, *index, targets, *join);
            }
            Op::Call(call) => return self.call(warp, path, mask, call),
            Op::Ret if !path.callers.is_empty() => {
                self.split_off_rest(warp, path, mask);
                self.leave_function(warp, path);
                return Ok(Flow::Gone);
            }
            Op::Ret | Op::Exit => {
                self.split_off_rest(warp, path, mask);
                self.exit(warp, path)?;
                return Ok(Flow::Gone);
            }
            Op::Trap => return Err(Fault::Trap),
            Op::Warp { op, mask: members, aligned } => {
                if *aligned {
                    self.aligned(warp, path, mask)?;
                }
                return self.warp_op(warp, path, mask, op, *members);
            }
            Op::Same { among, wide, d, a } => {
                self.same(warp, path, mask, (*among, *wide, *d, *a));
            }
            Op::ActiveMask { d } => warp.regs.put32(&frame, *d, mask, &[mask; LANES]),
            Op::Bar { mode, d, id, count, aligned } => {
                return self.bar(warp, path, mask, (*mode, *d, *id, *count, *aligned));
            }
            Op::ClusterArrive { aligned, relaxed } => {
                return self.cluster_arrive(warp, path, mask, *aligned, *relaxed);
            }
            Op::ClusterWait { aligned } => return self.cluster_wait(warp, path, mask, *aligned),
            Op::Fence(fence) => {
                if let Some(detect) = &mut self.detect {
                    detect.fence(self.current, mask, *fence);
                }
                path.pc += 1;
                return Ok(Flow::Visible);
            }
            Op::Mbarrier(op) => return self.mbarrier(warp, path, mask, op),
            Op::Async(op) => return self.asynchronous(warp, path, mask, op),
            Op::Tensor(op) => return self.tensor_op(warp, path, mask, op),
            Op::Remote(op) => return self.remote(warp, path, mask, op),
            Op::Matrix(op) => return self.matrix(warp, path, mask, op),
            Op::Wmma(op) => return self.wmma(warp, path, mask, op),
            Op::AtomVec { f, access, d, b } => {
                return self.atomic_vector(warp, path, mask, (*f, access, d, b));
            }
            Op::Wgmma(op) => return self.wgmma(warp, path, mask, op),
            Op::Unknown(text) => return Err(Fault::Unknown { text: text.to_string() }),
            Op::Nop => {}
            Op::PreviousGrid => {
                if let Some(detect) = &mut self.detect {
                    detect.previous_grid(self.current, mask);
                }
            }
            Op::LaunchDependents => {
                if let Some(detect) = &mut self.detect {
                    detect.launch_dependents(self.current, mask);
                }
            }
            // The hot instructions are in `step`.
            _ => {}
        }
        path.pc += 1;
        Ok(Flow::Next)
    }

    // ---- control flow ----

    #[inline(always)]
    fn branch(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        target: u32,
        join: u32,
    ) -> Flow {
        if mask == path.mask || target == path.pc + 1 {
            if target == path.pc {
                // Nothing can change what this branch depends on.
                path.wait = Some(crate::warp::Wait::Endless);
                return Flow::Blocked;
            }
            path.pc = target;
            return Flow::Next;
        }
        self.diverge(warp, path, mask, target, join);
        Flow::Next
    }

    fn enter_join(&mut self, warp: &mut Warp, path: &mut Path, join: u32) {
        if join == NO_JOIN {
            return;
        }
        let depth = Warp::depth(path);
        if path.join != NO_JOIN {
            let current = &warp.joins[path.join as usize];
            if current.pc == join && current.depth == depth {
                return;
            }
        }
        let expected = path.mask;
        let parent = path.join;
        path.join =
            warp.new_join(Join { pc: join, depth, expected, parent, arrived: None, live: true });
    }

    #[inline(never)]
    fn diverge(&mut self, warp: &mut Warp, path: &mut Path, mask: u32, target: u32, join: u32) {
        self.enter_join(warp, path, join);
        let mut other = path.clone();
        other.mask = path.mask & !mask;
        other.pc = path.pc + 1;
        path.mask = mask;
        path.pc = target;
        if self.rng.one_in(2) {
            std::mem::swap(path, &mut other);
        }
        warp.paths.push(other);
    }

    fn branch_indexed(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        index: Src,
        targets: &[u32],
        join: u32,
    ) -> Result<Flow, Fault> {
        let index = self.fetch32(warp, &path.frame, index);
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let mut add = |target: u32, lanes: u32| match groups.iter_mut().find(|g| g.0 == target) {
            Some(group) => group.1 |= lanes,
            None => groups.push((target, lanes)),
        };
        for lane in crate::world::lanes_of(mask) {
            let Some(&target) = targets.get(index[lane] as usize) else {
                return Err(Fault::Call(format!(
                    "branch index {} of {} targets",
                    index[lane],
                    targets.len()
                )));
            };
            add(target, 1 << lane);
        }
        if path.mask != mask {
            add(path.pc + 1, path.mask & !mask);
        }
        if let [(target, _)] = groups[..] {
            path.pc = target;
            return Ok(Flow::Next);
        }
        self.enter_join(warp, path, join);
        let first = self.rng.below(groups.len());
        for (i, &(target, lanes)) in groups.iter().enumerate() {
            if i != first {
                let mut other = path.clone();
                other.mask = lanes;
                other.pc = target;
                warp.paths.push(other);
            }
        }
        (path.pc, path.mask) = groups[first];
        Ok(Flow::Next)
    }

    fn call(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mut mask: u32,
        call: &Call,
    ) -> Result<Flow, Fault> {
        let callee = match call.target {
            CallTarget::Function(f) => f,
            CallTarget::Indirect(src) => {
                let addresses = self.fetch64(warp, &path.frame, src);
                let first = addresses[mask.trailing_zeros() as usize & 31];
                // Lanes that call another function do so afterwards, and meet these behind it.
                let same = crate::world::lanes_of(mask)
                    .filter(|&l| addresses[l] == first)
                    .fold(0, |m, l| m | 1 << l);
                self.part_at_call(warp, path, mask & !same, path.pc);
                mask &= same;
                let index = first as u32;
                let known = first >> 32 == FUNCTION_WINDOW
                    && (index as usize) < self.program.functions.len();
                if !known {
                    return Err(Fault::Call(format!(
                        "{first:#x} is not the address of a function"
                    )));
                }
                index
            }
            CallTarget::Unresolved(i) => {
                let name = self.program.unresolved[i as usize].to_string();
                return Err(Fault::Unresolved { name });
            }
            _ => {
                self.defined_by_driver(warp, path, mask);
                return self.driver_call(warp, path, mask, call);
            }
        };
        self.part_at_call(warp, path, path.mask & !mask, path.pc + 1);
        if path.callers.len() >= MAX_CALLS {
            return Err(Fault::Call(format!("{MAX_CALLS} nested calls: endless recursion?")));
        }
        let here = &self.program.functions[path.frame.func as usize];
        let there = &self.program.functions[callee as usize];
        let frame = Frame {
            func: callee,
            r32: path.frame.r32 + here.n32,
            r64: path.frame.r64 + here.n64,
            p: path.frame.p + here.np,
            local: path.frame.local + here.local,
        };
        let bytes = u64::from(frame.local) + u64::from(there.local);
        if bytes > LOCAL_LIMIT {
            let depth = path.callers.len() + 1;
            return Err(Fault::Call(format!(
                "{depth} nested calls need {bytes} bytes of local memory in each thread, and a thread has at most \
                 {LOCAL_LIMIT}: endless recursion?"
            )));
        }
        self.local += warp.reserve(&frame, there);
        if self.local > LOCAL_TOTAL {
            return Err(Fault::Call(format!(
                "the launch needs {} bytes of local memory, and the emulated device has {LOCAL_TOTAL}: endless \
                 recursion, or too many threads at once",
                self.local
            )));
        }
        for &(value, at) in &call.stored {
            self.to_frame(warp, &path.frame, mask, value, at);
        }
        for lane in crate::world::lanes_of(mask) {
            for (&(from, bytes), &(to, size)) in call.args.iter().zip(&there.params) {
                let from = lane * warp.stride + (path.frame.local + from) as usize;
                let to = lane * warp.stride + (frame.local + to) as usize;
                warp.local.copy_within(from..from + bytes.min(size) as usize, to);
            }
        }
        for &(register, at) in &there.in_registers {
            Self::from_frame(warp, &frame, mask, register, at);
        }
        self.undefined_at_call(warp, path, mask, callee, call);
        path.callers.push(Caller { frame: path.frame, pc: path.pc });
        path.frame = frame;
        path.pc = 0;
        let depth = Warp::depth(path);
        path.join = warp.new_join(Join {
            pc: AT_RETURN,
            depth,
            expected: mask,
            parent: path.join,
            arrived: None,
            live: true,
        });
        Ok(Flow::Next)
    }

    /// Lanes that do not make the call of the others go on at `pc`; all meet behind the call.
    fn part_at_call(&mut self, warp: &mut Warp, path: &mut Path, lanes: u32, pc: u32) {
        if lanes == 0 {
            return;
        }
        self.enter_join(warp, path, path.pc + 1);
        let mut other = path.clone();
        other.mask = lanes;
        other.pc = pc;
        path.mask &= !lanes;
        warp.paths.push(other);
    }

    /// Lanes at a `ret` of a called function leave its joins and come to that of the call.
    fn leave_function(&mut self, warp: &mut Warp, path: &mut Path) {
        let depth = Warp::depth(path);
        let mut at = path.join;
        while at != NO_JOIN {
            let join = &warp.joins[at as usize];
            if join.pc == AT_RETURN && join.depth == depth {
                break;
            }
            at = join.parent;
        }
        warp.leave(path.join, path.mask, at);
        path.join = at;
        self.release(warp);
    }

    fn return_to_caller(&mut self, warp: &mut Warp, path: &mut Path) {
        let Some(caller) = path.callers.pop() else { return };
        let here = &self.program.functions[path.frame.func as usize];
        let there = &self.program.functions[caller.frame.func as usize];
        for &(value, at) in &here.out_of_registers {
            self.to_frame(warp, &path.frame, path.mask, value, at);
        }
        if let Op::Call(call) = &there.code[caller.pc as usize].op {
            for lane in crate::world::lanes_of(path.mask) {
                for (&(to, size), &(from, bytes)) in call.returns.iter().zip(&here.returns) {
                    let from = lane * warp.stride + (path.frame.local + from) as usize;
                    let to = lane * warp.stride + (caller.frame.local + to) as usize;
                    warp.local.copy_within(from..from + bytes.min(size) as usize, to);
                }
            }
        }
        if let Op::Call(call) = &there.code[caller.pc as usize].op {
            self.undefined_at_return(warp, path, &caller, call);
            for &(register, at) in &call.loaded {
                Self::from_frame(warp, &caller.frame, path.mask, register, at);
            }
        }
        path.frame = caller.frame;
        path.pc = caller.pc + 1;
    }

    /// Puts a value where an argument or a result lies.
    fn to_frame(
        &self,
        warp: &mut Warp,
        frame: &Frame,
        mask: u32,
        value: Src,
        (at, bytes): (u32, u32),
    ) {
        let low = self.fetch64(warp, frame, value);
        let high = match value {
            Src::R128(slot) => self.fetch64(warp, frame, Src::R64(slot + 1)),
            _ => [0; LANES],
        };
        for lane in crate::world::lanes_of(mask) {
            let at = lane * warp.stride + (frame.local + at) as usize;
            let value = u128::from(low[lane]) | u128::from(high[lane]) << 64;
            let bytes = (bytes as usize).min(16);
            warp.local[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }

    /// Takes it from there.
    fn from_frame(
        warp: &mut Warp,
        frame: &Frame,
        mask: u32,
        register: Dst,
        (at, bytes): (u32, u32),
    ) {
        for lane in crate::world::lanes_of(mask) {
            let at = lane * warp.stride + (frame.local + at) as usize;
            let bytes = (bytes as usize).min(16);
            let mut value = [0; 16];
            value[..bytes].copy_from_slice(&warp.local[at..at + bytes]);
            let value = u128::from_le_bytes(value);
            match register {
                Dst::R128(slot) => {
                    warp.regs.put_lane(frame, Dst::R64(slot), lane, value as u64);
                    warp.regs.put_lane(frame, Dst::R64(slot + 1), lane, (value >> 64) as u64);
                }
                register => warp.regs.put_lane(frame, register, lane, value as u64),
            }
        }
    }

    fn exit(&mut self, warp: &mut Warp, path: &mut Path) -> Result<(), Fault> {
        let lanes = path.mask;
        warp.live &= !lanes;
        if let Some(detect) = &mut self.detect {
            detect.exit(self.current, lanes);
        }
        warp.leave(path.join, lanes, NO_JOIN);
        self.release(warp);
        // Those who wait for these lanes at a warp collective look again.
        for other in &mut warp.paths {
            if matches!(other.wait, Some(crate::warp::Wait::Lanes { .. })) {
                other.wait = None;
            }
        }
        path.mask = 0;
        self.threads_exited(warp.cta, lanes.count_ones())
    }

    // ---- addresses ----

    fn address_op(&mut self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
        let frame = path.frame;
        let window = |space: MemSpace| match space {
            MemSpace::Shared | MemSpace::SharedCluster => SHARED_WINDOW,
            MemSpace::Local => LOCAL_WINDOW,
            MemSpace::Param => PARAM_WINDOW,
            _ => 0,
        };
        match op {
            Op::CvtaTo { space, d, a } => {
                let a = self.fetch64(warp, &frame, *a);
                let keep = if window(*space) == 0 { u64::MAX } else { 0xFFFF_FFFF };
                warp.regs.put64(&frame, *d, mask, &a.map(|v| v & keep));
            }
            Op::Cvta { space, d, a } => {
                let a = self.fetch64(warp, &frame, *a);
                let base = window(*space) << 32;
                warp.regs.put64(&frame, *d, mask, &a.map(|v| v.wrapping_add(base)));
            }
            Op::IsSpace { space, d, a } => {
                let a = self.fetch64(warp, &frame, *a);
                let rank = u64::from(self.ctas[warp.cta as usize].rank);
                let bits = (0..LANES).fold(0u32, |bits, i| {
                    let top = a[i] >> 32;
                    let inside = match space {
                        MemSpace::Shared => {
                            top == SHARED_WINDOW
                                && (a[i] & 0xFFFF_FFFF) >> crate::memory::RANK_SHIFT == rank
                        }
                        MemSpace::Global => top >= crate::memory::GLOBAL_BASE >> 32,
                        space => top == window(*space),
                    };
                    bits | u32::from(inside) << i
                });
                warp.regs.put_pred(&frame, *d, mask, bits);
            }
            _ => {}
        }
    }

    fn cluster_address(&mut self, warp: &mut Warp, path: &Path, mask: u32, op: &Op) {
        let frame = path.frame;
        let shift = crate::memory::RANK_SHIFT;
        match op {
            Op::Mapa { d, a, b, .. } => {
                let (a, b) = (self.fetch64(warp, &frame, *a), self.fetch32(warp, &frame, *b));
                // The window, if the address is generic, and the offset stay.
                let keep = !(0xFFu64 << shift);
                let value = std::array::from_fn(|i| a[i] & keep | u64::from(b[i] & 0xFF) << shift);
                warp.regs.put64(&frame, *d, mask, &value);
            }
            Op::GetCtaRank { d, a, .. } => {
                let a = self.fetch64(warp, &frame, *a);
                let value = a.map(|v| (v >> shift) as u32 & 0xFF);
                warp.regs.put32(&frame, *d, mask, &value);
            }
            _ => {}
        }
    }
}
