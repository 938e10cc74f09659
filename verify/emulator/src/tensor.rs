//! tcgen05 instructions: who may issue them, when they happen, what waits for them.
//!
//! What they compute is in [`crate::tcgen05`]. A multiplication, a load, a store and a commit are
//! agents. Ordered by themselves are only the pipelined pairs of one thread: multiplications with
//! the same accumulator, copies and shifts with what comes before and behind them, and a commit
//! behind everything that the thread issued before.
//!
//! An instruction of `.cta_group::2` works on the shared and tensor memory of both CTAs of a pair,
//! whichever issues it; allocations are made by each CTA for itself.

use crate::async_ops::{Action, Agent, SharedPlace};
use crate::detect::{self, Class, Detector, Space, Touch};
use crate::error::Fault;
use crate::ir::*;
use crate::memory::SHARED_BASE;
use crate::tcgen05::copy::{SHIFT_COLUMNS, shift};
use crate::tcgen05::{
    Access, Copy, CopyShape, Form, InstructionDescriptor, Kind, METADATA_COLUMNS, Mma, OperandA,
    Operands, Scales, Shape, SharedDescriptor, SharedWindow, TensorAddress, TensorMemory,
    ZeroColumns,
};
use crate::warp::{Frame, Path, SITE_BITS, Wait, Warp};
use crate::world::{Event, Flow, Place, World};
use baton_ptx::Operand;

/// What a register holds between a `tcgen05.ld` and the moment that it lands.
const IN_FLIGHT: u32 = 0xFFFF_DEAD;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Left {
    Shared(Src),
    Tensor(Addr),
}

/// What a `tcgen05.mma` says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MmaForm {
    pub kind: Kind,
    pub form: Form,
    pub d: Addr,
    pub a: Left,
    pub b: Src,
    pub idesc: Src,
    pub enable: Src,
    pub scale_d: u32,
    /// `disable-output-lane`, 32 lanes each.
    pub disabled: Box<[Src]>,
    pub shift_a: bool,
    /// The factors of A and of B, and the blocks of K.
    pub scales: Option<(Addr, Addr, u32)>,
    /// The metadata of a sparse A.
    pub metadata: Option<Addr>,
    /// Which columns of B count as zero.
    pub zeros: Option<Src>,
}

/// How the registers of a lane become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reduction {
    pub less: bool,
    pub absolute: bool,
    /// NaN wins, else numbers win.
    pub nan: bool,
    pub ty: Scalar,
    pub d: Dst,
}

impl Reduction {
    fn join(&self, x: u32, y: u32) -> u32 {
        let first = match self.ty {
            Scalar::Float(_) => {
                let clear = |v: u32| f32::from_bits(if self.absolute { v & !(1 << 31) } else { v });
                let (u, v) = (clear(x), clear(y));
                return match (u.is_nan(), v.is_nan()) {
                    (true, true) => 0x7FFF_FFFF,
                    (true, _) | (_, true) if self.nan => 0x7FFF_FFFF,
                    (true, _) => v.to_bits(),
                    (_, true) => u.to_bits(),
                    // -0 is less than +0.
                    _ if self.less == (u.total_cmp(&v).is_lt()) => u.to_bits(),
                    _ => v.to_bits(),
                };
            }
            Scalar::Int(_, true) => (x as i32) < y as i32,
            _ => x < y,
        };
        if first == self.less { x } else { y }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorOp {
    Alloc { addr: (Addr, MemSpace), columns: Src, pair: bool },
    Dealloc { addr: Src, columns: Src, pair: bool },
    Relinquish { pair: bool },
    Fence { after: bool },
    WaitLd,
    WaitSt,
    Commit { addr: (Addr, MemSpace), multicast: Option<Src>, pair: bool },
    Mma(Box<MmaForm>),
    Cp { copy: Copy, addr: Addr, from: Src, pair: bool },
    Shift { addr: Addr, pair: bool },
    Ld { access: Access, registers: Box<[Dst]>, addr: Addr, reduce: Option<Reduction> },
    St { access: Access, registers: Box<[Src]>, addr: Addr },
}

/// A tcgen05 operation in flight.
#[derive(Debug)]
pub(crate) enum TensorAgent {
    /// `ctas`: the one, or both of a pair with the even one first.
    Mma {
        mma: Box<Mma>,
        ctas: Vec<u32>,
        operands: Option<Box<Operands>>,
    },
    Cp {
        copy: Copy,
        from: SharedDescriptor,
        to: TensorAddress,
        ctas: Vec<u32>,
    },
    Shift {
        at: TensorAddress,
        ctas: Vec<u32>,
    },
    Commit {
        bars: Vec<SharedPlace>,
    },
    Ld {
        access: Access,
        address: TensorAddress,
        frame: Frame,
        registers: Box<[Dst]>,
        reduce: Option<Reduction>,
        mask: u32,
    },
    St {
        access: Access,
        address: TensorAddress,
        values: Vec<Lanes32>,
    },
}

impl TensorAgent {
    /// The CTAs whose memory it touches, if that is not its issuer's alone.
    fn ctas(&self) -> &[u32] {
        match self {
            TensorAgent::Mma { ctas, .. }
            | TensorAgent::Cp { ctas, .. }
            | TensorAgent::Shift { ctas, .. } => ctas,
            _ => &[],
        }
    }
}

pub(crate) fn kind(name: Option<String>) -> Result<Kind, String> {
    Ok(match name.as_deref() {
        Some("f16") => Kind::F16,
        Some("tf32") => Kind::Tf32,
        Some("f8f6f4") => Kind::F8f6f4,
        Some("i8") => Kind::I8,
        Some("mxf8f6f4") => Kind::Mxf8f6f4,
        Some("mxf4") => Kind::Mxf4,
        Some("mxf4nvf4") => Kind::Mxf4nvf4,
        _ => return Err("kind".into()),
    })
}

/// Blocks of K that have a factor each.
pub(crate) fn blocks(kind: Kind, mods: &[&str]) -> Result<u32, String> {
    let of = |name: &str| mods.contains(&name);
    Ok(match kind {
        _ if of("scale_vec::1X") => 1,
        _ if of("scale_vec::2X") => 2,
        _ if of("scale_vec::4X") => 4,
        kind if of("block16") => kind.depth() / 16,
        kind if of("block32") => kind.depth() / 32,
        Kind::Mxf8f6f4 => 1,
        Kind::Mxf4 => 2,
        _ => return Err("the size of blocks".into()),
    })
}

/// Whether a modifier says how many factors there are.
pub(crate) fn of_blocks(name: &str) -> bool {
    matches!(name, "scale_vec::1X" | "scale_vec::2X" | "scale_vec::4X" | "block16" | "block32")
}

/// Whether a modifier says which operand of a product is kept for the next one.
pub(crate) fn is_collector(name: &str) -> bool {
    let Some((buffer, what)) = name.strip_prefix("collector::").and_then(|n| n.split_once("::"))
    else {
        return false;
    };
    matches!(buffer, "a" | "b0" | "b1" | "b2" | "b3")
        && matches!(what, "fill" | "use" | "lastuse" | "discard")
}

/// Whether [`copy`] reads a modifier.
pub(crate) fn of_copy(name: &str) -> bool {
    let shapes = ["128x256b", "4x256b", "128x128b", "64x128b", "32x128b"];
    let others = ["warpx2::02_13", "warpx2::01_23", "warpx4", "b8x16", "b6x16_p32", "b4x16_p64"];
    shapes.contains(&name) || others.contains(&name)
}

/// Whether [`access`] reads a modifier.
pub(crate) fn of_access(name: &str) -> bool {
    let shapes = ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"];
    let repeats = || name.strip_prefix('x').is_some_and(|n| n.parse::<u8>().is_ok());
    shapes.contains(&name) || repeats() || matches!(name, "pack::16b" | "unpack::16b" | "b32")
}

/// Shape and format of a `tcgen05.cp`.
pub(crate) fn copy(mods: &[&str]) -> Result<Copy, String> {
    let has = |name: &str| mods.contains(&name);
    let shape = match () {
        () if has("128x256b") => CopyShape::Lanes128x256b,
        () if has("4x256b") => CopyShape::Lanes4x256b,
        () if has("128x128b") => CopyShape::Lanes128x128b,
        () if has("64x128b") && has("warpx2::02_13") => CopyShape::Lanes64x128b02_13,
        () if has("64x128b") && has("warpx2::01_23") => CopyShape::Lanes64x128b01_23,
        () if has("32x128b") => CopyShape::Lanes32x128b,
        () => return Err("shape".into()),
    };
    let unpack = match () {
        () if has("b6x16_p32") => Some(6),
        () if has("b4x16_p64") => Some(4),
        () => None,
    };
    Ok(Copy { shape, unpack })
}

pub(crate) fn access(mods: &[&str], rest: &[Operand]) -> Result<Access, String> {
    let split = match rest {
        [Operand::Int(split)] => *split as u32,
        [] => 0,
        _ => return Err("operands".into()),
    };
    let shape = mods
        .iter()
        .find_map(|m| {
            Some(match *m {
                "32x32b" => Shape::Lanes32x32b,
                "16x64b" => Shape::Lanes16x64b,
                "16x128b" => Shape::Lanes16x128b,
                "16x256b" => Shape::Lanes16x256b,
                "16x32bx2" => Shape::Lanes16x32bx2 { split },
                _ => return None,
            })
        })
        .ok_or("shape")?;
    let repeat = mods
        .iter()
        .find_map(|m| m.strip_prefix('x').and_then(|n| n.parse().ok()))
        .ok_or("repetition")?;
    let packed = mods.iter().any(|m| matches!(*m, "pack::16b" | "unpack::16b"));
    Access::new(shape, repeat, packed).map_err(|e| e.to_string())
}

fn tensor(memory: &mut Option<Box<TensorMemory>>) -> &mut TensorMemory {
    memory.get_or_insert_with(|| Box::new(TensorMemory::new()))
}

/// Every CTA has tensor memory of its own here, as if it were alone on its multiprocessor.
const OWNER: u32 = 0;

impl World<'_> {
    pub(crate) fn tensor_op(
        &mut self,
        warp: &mut Warp,
        path: &mut Path,
        mask: u32,
        op: &TensorOp,
    ) -> Result<Flow, Fault> {
        let frame = path.frame;
        let lane = mask.trailing_zeros() as usize & 31;
        let one = |instruction| match mask.count_ones() {
            1 => Ok(()),
            lanes => Err(Fault::ManyIssuers { instruction, lanes }),
        };
        match op {
            TensorOp::Alloc { addr, columns, pair } => {
                self.aligned(warp, mask)?;
                self.group(warp, "tcgen05.alloc", *pair)?;
                let to = self.addresses(warp, &frame, &addr.0, addr.1)[lane];
                let columns = self.fetch32(warp, &frame, *columns)[lane];
                let place = self.resolve(warp, lane, addr.1, to, 4, 4, true)?;
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                let Some(address) = memory.alloc(OWNER, columns)? else {
                    path.wait = Some(Wait::Columns(columns));
                    return Ok(Flow::Blocked);
                };
                let bytes = address.to_bits().to_le_bytes();
                self.view_mut(warp, place, 4)?.copy_from_slice(&bytes);
                if let (Some(detect), Place::Shared(cta, at)) = (&mut self.detect, place) {
                    let (class, site) = (Class::Alloc, path.site());
                    let touch = Touch { site, write: true, class, strong: None };
                    let at = [at as u64; LANES];
                    detect.access(self.current, 1 << lane, Space::Shared(cta), &at, 4, (touch, 0));
                }
            }
            TensorOp::Dealloc { addr, columns, pair } => {
                self.aligned(warp, mask)?;
                self.group(warp, "tcgen05.dealloc", *pair)?;
                let address = self.fetch32(warp, &frame, *addr)[lane];
                let columns = self.fetch32(warp, &frame, *columns)[lane];
                if self.tensor_agents(warp.cta).is_some() {
                    return Err(Fault::InFlight {
                        what: "tcgen05.dealloc while a tcgen05 operation of the CTA is in flight",
                        rule: "D8",
                    });
                }
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                let address = TensorAddress::from_bits(address);
                memory.dealloc(OWNER, address, columns)?;
                self.track_tensor(
                    path,
                    lane,
                    warp.cta,
                    u8::MAX,
                    (address.column, columns),
                    (Class::Dealloc, true, 0),
                );
                self.events.push(Event::Columns(warp.cta));
            }
            TensorOp::Relinquish { pair } => {
                self.aligned(warp, mask)?;
                self.group(warp, "tcgen05.relinquish_alloc_permit", *pair)?;
                tensor(&mut self.ctas[warp.cta as usize].tensor).relinquish(OWNER);
            }
            TensorOp::Fence { after } => {
                if let Some(detect) = &mut self.detect {
                    if *after {
                        detect.tensor_after(self.current, mask);
                    } else {
                        detect.tensor_before(self.current, mask);
                    }
                }
            }
            TensorOp::WaitLd | TensorOp::WaitSt => {
                self.aligned(warp, mask)?;
                let me = self.current;
                let loads = *op == TensorOp::WaitLd;
                while let Some(i) = self.agents.iter().position(|a| {
                    a.warp == me
                        && match a.action {
                            Action::Tensor(TensorAgent::Ld { .. }) => loads,
                            Action::Tensor(TensorAgent::St { .. }) => !loads,
                            _ => false,
                        }
                }) {
                    let mut agent = self.agents.remove(i);
                    self.advance_tensor(&mut agent, warp)?;
                }
                if loads {
                    warp.fills.clear();
                }
                if let Some(detect) = &mut self.detect {
                    detect.tensor_waited(me, loads);
                }
            }
            TensorOp::Commit { addr, multicast, pair } => {
                one("tcgen05.commit")?;
                self.group(warp, "tcgen05.commit", *pair)?;
                let at = self.addresses(warp, &frame, &addr.0, addr.1)[lane];
                let space = match addr.1 {
                    MemSpace::Shared => MemSpace::SharedCluster,
                    space => space,
                };
                let place = match self.resolve(warp, lane, space, at, 8, 8, false)? {
                    crate::world::Place::Shared(cta, at) => SharedPlace { cta, offset: at as u32 },
                    _ => {
                        return Err(Fault::OutOfBounds {
                            space: "shared",
                            address: at,
                            bytes: 8,
                            detail: "an mbarrier lies in shared memory".into(),
                        });
                    }
                };
                let mut bars = vec![place];
                if let Some(mask) = multicast {
                    let ranks = self.fetch32(warp, &frame, *mask)[lane];
                    bars = self.of_ranks(warp, "multicast commit", ranks, place)?;
                }
                let site = path.site();
                let stamp = match &mut self.detect {
                    Some(detect) => detect.commit(self.current, lane, &bars, site),
                    None => None,
                };
                let action = Action::Tensor(TensorAgent::Commit { bars });
                self.issue(warp, path, lane, u32::MAX, action);
                if let Some(agent) = self.agents.last_mut() {
                    agent.stamp = stamp;
                }
            }
            TensorOp::Mma(form) => {
                one("tcgen05.mma")?;
                let ctas = self.ctas_of(warp, "tcgen05.mma", form.form == Form::Pair)?;
                let mma = self.decode_mma(warp, &frame, lane, form)?;
                for &cta in &ctas {
                    self.track_mma(path, lane, &mma, cta)?;
                }
                let agent = TensorAgent::Mma { mma: Box::new(mma), ctas, operands: None };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
            TensorOp::Cp { copy, addr, from, pair } => {
                one("tcgen05.cp")?;
                let ctas = self.ctas_of(warp, "tcgen05.cp", *pair)?;
                let to = self.tensor_address(warp, &frame, lane, addr);
                let from = SharedDescriptor::decode(self.fetch64(warp, &frame, *from)[lane])?;
                let runs = copy.runs(&from)?;
                for &cta in &ctas {
                    self.track_shared(path, lane, cta, &runs);
                    let rows = (0..copy.shape.rows())
                        .flat_map(|row| copy.shape.lanes(row))
                        .fold(0, |rows, l| rows | Detector::granules(to.lane + l, 1));
                    let columns = (to.column, copy.shape.columns());
                    let how = (Class::Mma, true, detect::IN_ORDER);
                    self.track_tensor(path, lane, cta, rows, columns, how);
                }
                let agent = TensorAgent::Cp { copy: *copy, from, to, ctas };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
            TensorOp::Shift { addr, pair } => {
                one("tcgen05.shift")?;
                let ctas = self.ctas_of(warp, "tcgen05.shift", *pair)?;
                let at = self.tensor_address(warp, &frame, lane, addr);
                if !at.lane.is_multiple_of(32) {
                    let instruction = "tcgen05.shift";
                    return Err(Fault::ShiftLane { instruction, lane: at.lane });
                }
                for &cta in &ctas {
                    let columns = (at.column, SHIFT_COLUMNS);
                    let rows = Detector::granules(at.lane, 32);
                    let how = (Class::Mma, true, detect::IN_ORDER);
                    self.track_tensor(path, lane, cta, rows, columns, how);
                }
                let agent = TensorAgent::Shift { at, ctas };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
            TensorOp::Ld { access, registers, addr, reduce } => {
                self.aligned(warp, mask)?;
                let bits = self.addresses(warp, &frame, addr, MemSpace::Local)[lane] as u32;
                let address = TensorAddress::from_bits(bits);
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                access.check(memory, warp.index, address)?;
                for register in registers.iter().copied().chain(reduce.map(|reduce| reduce.d)) {
                    warp.regs.put32(&frame, register, mask, &[IN_FLIGHT; LANES]);
                    if let Dst::R32(slot) = register {
                        warp.fills.insert(frame.r32 + slot, path.site());
                    }
                }
                self.track_rectangle(warp, path, lane, access, address, (Class::Ld, false));
                let agent = TensorAgent::Ld {
                    access: *access,
                    address,
                    frame,
                    registers: registers.clone(),
                    reduce: *reduce,
                    mask,
                };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
            TensorOp::St { access, registers, addr } => {
                self.aligned(warp, mask)?;
                let bits = self.addresses(warp, &frame, addr, MemSpace::Local)[lane] as u32;
                let address = TensorAddress::from_bits(bits);
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                access.check(memory, warp.index, address)?;
                self.track_rectangle(warp, path, lane, access, address, (Class::St, true));
                let values = registers.iter().map(|r| self.fetch32(warp, &frame, *r)).collect();
                let agent = TensorAgent::St { access: *access, address, values };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
        }
        path.pc += 1;
        Ok(Flow::Visible)
    }

    /// The CTAs that are one group: the warp's, or both of its pair. All instructions of a kernel
    /// agree on that.
    fn group(
        &mut self,
        warp: &Warp,
        instruction: &'static str,
        pair: bool,
    ) -> Result<Vec<u32>, Fault> {
        let cta = &mut self.ctas[warp.cta as usize];
        if *cta.paired.get_or_insert(pair) != pair {
            let problem = "the kernel uses both .cta_group::1 and .cta_group::2; use one value";
            return Err(Fault::Pair { instruction, problem, rule: "D10" });
        }
        if !pair {
            return Ok(vec![warp.cta]);
        }
        let (rank, cluster) = (cta.rank as usize & !1, cta.cluster);
        let ctas = self.clusters[cluster as usize].ctas.get(rank..rank + 2);
        ctas.map(<[u32]>::to_vec).ok_or(Fault::Pair {
            instruction,
            problem: "the cluster has no pair of CTAs here; launch clusters of an even size",
            rule: "D10",
        })
    }

    /// The CTAs whose memory an instruction works on.
    fn ctas_of(
        &mut self,
        warp: &Warp,
        instruction: &'static str,
        pair: bool,
    ) -> Result<Vec<u32>, Fault> {
        let ctas = self.group(warp, instruction, pair)?;
        if ctas.iter().any(|&c| self.ctas[c as usize].done) {
            let problem = "the other CTA of the pair has exited; let both exit together";
            return Err(Fault::Pair { instruction, problem, rule: "D13" });
        }
        Ok(ctas)
    }

    fn tensor_address(
        &self,
        warp: &Warp,
        frame: &Frame,
        lane: usize,
        addr: &Addr,
    ) -> TensorAddress {
        let bits = self.addresses(warp, frame, addr, MemSpace::Local)[lane] as u32;
        TensorAddress::from_bits(bits)
    }

    fn decode_mma(
        &self,
        warp: &Warp,
        frame: &Frame,
        lane: usize,
        form: &MmaForm,
    ) -> Result<Mma, Fault> {
        let at = |addr: &Addr| self.tensor_address(warp, frame, lane, addr);
        let a = match &form.a {
            Left::Shared(src) => {
                OperandA::Shared(SharedDescriptor::decode(self.fetch64(warp, frame, *src)[lane])?)
            }
            Left::Tensor(addr) => OperandA::Tensor(at(addr)),
        };
        let idesc = self.fetch32(warp, frame, form.idesc)[lane];
        let mut disabled_lanes = [0; 8];
        for (word, src) in disabled_lanes.iter_mut().zip(&form.disabled) {
            *word = self.fetch32(warp, frame, *src)[lane];
        }
        Ok(Mma {
            idesc: InstructionDescriptor::decode_for(
                form.form,
                form.kind,
                form.metadata.is_some(),
                idesc,
            )?,
            a,
            b: SharedDescriptor::decode(self.fetch64(warp, frame, form.b)[lane])?,
            d: at(&form.d),
            enable_input_d: self.fetch_pred(warp, frame, form.enable) >> lane & 1 == 1,
            scale_input_d: form.scale_d,
            disabled_lanes,
            shift_a: form.shift_a,
            scales: form.scales.as_ref().map(|(a, b, blocks)| Scales {
                a: at(a),
                b: at(b),
                blocks: *blocks,
            }),
            metadata: form.metadata.as_ref().map_or(TensorAddress { lane: 0, column: 0 }, at),
            zeros: ZeroColumns(form.zeros.map_or(0, |z| self.fetch64(warp, frame, z)[lane])),
        })
    }

    /// Tells the detection of an access to tensor memory.
    fn track_tensor(
        &mut self,
        path: &Path,
        lane: usize,
        cta: u32,
        rows: u8,
        columns: (u32, u32),
        how: (Class, bool, u16),
    ) {
        if let Some(detect) = &mut self.detect {
            detect.tensor(self.current, lane, cta, path.site(), rows, columns, how);
        }
    }

    /// Tells it of what a matrix instruction reads in shared memory.
    fn track_shared(&mut self, path: &Path, lane: usize, cta: u32, runs: &[(u32, u32)]) {
        // Descriptors hold the lower bits of an address; a CTA's shared memory is smaller.
        let size = self.ctas[cta as usize].shared.len();
        let runs = runs.iter().filter_map(|&(address, bytes)| {
            let at = (address & 0x3_FFFF).wrapping_sub(SHARED_BASE) as usize;
            (at.saturating_add(bytes as usize) <= size).then_some((at, bytes as usize))
        });
        if let Some(detect) = &mut self.detect {
            detect.mma_source(self.current, lane, path.site(), cta, runs);
        }
    }

    fn track_rectangle(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        access: &Access,
        at: TensorAddress,
        (class, write): (Class, bool),
    ) {
        let rows = Detector::granules(at.lane, access.shape().lanes());
        let columns = access.columns();
        self.track_tensor(path, lane, warp.cta, rows, (at.column, columns), (class, write, 0));
        if let Shape::Lanes16x32bx2 { split } = access.shape() {
            let upper = (at.column + split, columns);
            self.track_tensor(path, lane, warp.cta, rows, upper, (class, write, 0));
        }
    }

    /// Tells the detection what a multiplication touches in one of its CTAs.
    fn track_mma(&mut self, path: &Path, lane: usize, mma: &Mma, cta: u32) -> Result<(), Fault> {
        if self.detect.is_none() {
            return Ok(());
        }
        let idesc = &mma.idesc;
        let InstructionDescriptor { kind, a, b, a_major, b_major, m, n, .. } = *idesc;
        let local = idesc.local_rows();
        // In the units of a layout: two packed elements are one byte.
        let bytes = |depth: u32, bits: u32| if bits == 4 { depth / 2 } else { depth };
        let shared = |source| crate::tcgen05::MmaError::Shared { matrix: "A or B", source };
        let rows = |at: TensorAddress| {
            (0..local / 16).fold(0u8, |rows, i| {
                (0..idesc.splits()).fold(rows, |rows, split| {
                    let (first, _) = idesc.cell(16 * i, split * (n / idesc.splits()));
                    rows | Detector::granules(at.lane + first, 16)
                })
            })
        };
        let mut runs = Vec::new();
        if let OperandA::Shared(descriptor) = mma.a {
            let layout = descriptor.layout(a_major, a.bits()).map_err(shared)?;
            runs.extend(layout.runs(local, bytes(kind.depth(), a.bits())));
        }
        let layout = mma.b.layout(b_major, b.bits()).map_err(shared)?;
        let columns_of_b = n / idesc.form.ctas() + mma.zeros.shift();
        runs.extend(layout.runs(columns_of_b, bytes(idesc.depth(), b.bits())));
        self.track_shared(path, lane, cta, &runs);
        // The same accumulator in the same shape is a pipelined pair.
        let shape = mma.d.to_bits() ^ (m << 4 | n << 12);
        let pipeline = ((shape.wrapping_mul(0x9E37_79B9) >> 16) as u16).max(1);
        if let OperandA::Tensor(at) = mma.a {
            let columns = (at.column, 8);
            self.track_tensor(path, lane, cta, rows(at), columns, (Class::Mma, false, pipeline));
        }
        if idesc.sparse {
            let columns = (mma.metadata.column, METADATA_COLUMNS);
            let how = (Class::Mma, false, detect::IN_ORDER);
            self.track_tensor(path, lane, cta, u8::MAX, columns, how);
        }
        if let Some(Scales { a, b, .. }) = mma.scales {
            let how = (Class::Mma, false, detect::IN_ORDER);
            self.track_tensor(path, lane, cta, u8::MAX, (a.column, local.div_ceil(32)), how);
            self.track_tensor(path, lane, cta, u8::MAX, (b.column, n.div_ceil(32)), how);
        }
        let columns = (mma.d.column, n / idesc.splits());
        self.track_tensor(path, lane, cta, rows(mma.d), columns, (Class::Mma, true, pipeline));
        Ok(())
    }

    /// A tcgen05 operation of this CTA that touches tensor memory and is in flight.
    pub(crate) fn tensor_agents(&self, cta: u32) -> Option<&Agent> {
        self.agents.iter().find(|a| {
            matches!(&a.action, Action::Tensor(t)
                if !matches!(t, TensorAgent::Commit { .. })
                    && (a.cta == cta || t.ctas().contains(&cta)))
        })
    }

    pub(crate) fn tensor_eligible(&self, agent: &Agent, action: &TensorAgent) -> bool {
        let earlier = |blocks: &dyn Fn(&TensorAgent) -> bool| {
            self.agents.iter().any(|a| {
                a.number < agent.number
                    && (a.warp, a.lane) == (agent.warp, agent.lane)
                    && matches!(&a.action, Action::Tensor(t) if blocks(t))
            })
        };
        match action {
            TensorAgent::Mma { mma, .. } => !earlier(&|t| match t {
                TensorAgent::Mma { mma: before, .. } => before.d == mma.d,
                t => matches!(t, TensorAgent::Cp { .. } | TensorAgent::Shift { .. }),
            }),
            // Commits of a thread arrive in their order: all of them, once the last is seen.
            TensorAgent::Commit { .. } => {
                !earlier(&|t| !t.ctas().is_empty() || matches!(t, TensorAgent::Commit { .. }))
            }
            TensorAgent::Cp { .. } | TensorAgent::Shift { .. } => {
                !earlier(&|t| !t.ctas().is_empty())
            }
            TensorAgent::Ld { .. } | TensorAgent::St { .. } => true,
        }
    }

    /// Takes a step; true if it was the last.
    pub(crate) fn advance_tensor(
        &mut self,
        agent: &mut Agent,
        warp: &mut Warp,
    ) -> Result<bool, Fault> {
        let Action::Tensor(action) = &mut agent.action else { return Ok(true) };
        match action {
            TensorAgent::Mma { mma, ctas, operands } => {
                let split = self.rng.one_in(4);
                for &cta in ctas.iter() {
                    tensor(&mut self.ctas[cta as usize].tensor);
                }
                let operands = match operands.take() {
                    Some(done) => done,
                    None => {
                        let of = |&cta: &u32| &self.ctas[cta as usize];
                        let windows: Vec<_> = ctas
                            .iter()
                            .map(|c| SharedWindow::new(SHARED_BASE, &of(c).shared))
                            .collect();
                        let memories: Vec<&TensorMemory> =
                            ctas.iter().filter_map(|c| of(c).tensor.as_deref()).collect();
                        let read = Box::new(mma.read_operands(&windows, &memories)?);
                        if split {
                            *operands = Some(read);
                            agent.read = true;
                            return Ok(false);
                        }
                        read
                    }
                };
                for (half, &cta) in ctas.iter().enumerate() {
                    let memory = tensor(&mut self.ctas[cta as usize].tensor);
                    mma.write_result(&operands, half, memory)?;
                }
            }
            TensorAgent::Cp { copy, from, to, ctas } => {
                for &cta in ctas.iter() {
                    let cta = &mut self.ctas[cta as usize];
                    let window = SharedWindow::new(SHARED_BASE, &cta.shared);
                    copy.execute(from, &window, *to, tensor(&mut cta.tensor))?;
                }
            }
            TensorAgent::Shift { at, ctas } => {
                for &cta in ctas.iter() {
                    shift(*at, tensor(&mut self.ctas[cta as usize].tensor))?;
                }
            }
            TensorAgent::Commit { bars } => {
                if let Some(detect) = &mut self.detect {
                    detect.commit_arrives(bars, agent.stamp);
                }
                for bar in std::mem::take(bars) {
                    self.with_barrier(bar, |b| b.arrive(1))?;
                }
            }
            TensorAgent::Ld { access, address, frame, registers, reduce, mask } => {
                let memory = tensor(&mut self.ctas[agent.cta as usize].tensor);
                let mut values = [[0; LANES]; 128];
                let values = &mut values[..registers.len()];
                let unwritten = access.load(memory, warp.index, *address, values)?;
                if let (Some(cell), Some(detect)) = (unwritten, &mut self.detect) {
                    let (space, at) = (Space::Tensor(agent.cta), cell.to_bits().into());
                    let site = agent.func << SITE_BITS | agent.pc;
                    detect.unwritten(agent.warp, agent.lane, space, at, site);
                }
                if let Some(reduce) = reduce {
                    let all: Lanes32 = std::array::from_fn(|lane| {
                        let of_lane = values.iter().map(|v| v[lane]);
                        of_lane.reduce(|x, y| reduce.join(x, y)).unwrap_or(0)
                    });
                    warp.regs.put32(frame, reduce.d, *mask, &all);
                }
                for (register, value) in registers.iter().zip(values) {
                    warp.regs.put32(frame, *register, *mask, value);
                }
            }
            TensorAgent::St { access, address, values } => {
                let memory = tensor(&mut self.ctas[agent.cta as usize].tensor);
                access.store(memory, warp.index, *address, values)?;
            }
        }
        Ok(true)
    }
}
