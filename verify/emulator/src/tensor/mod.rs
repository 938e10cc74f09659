//! tcgen05 instructions: who may issue them, when they happen, what waits for them.
//!
//! What they compute is in [`crate::tcgen05`]. A multiplication, a load, a store and a commit are
//! agents. Ordered by themselves are only the pipelined pairs of one thread: multiplications with
//! the same accumulator, copies and shifts with what comes before and behind them, and a commit
//! behind everything that the thread issued before.
//!
//! An instruction of `.cta_group::2` works on the shared and tensor memory of both CTAs of a pair,
//! whichever issues it; allocations are made by each CTA for itself.

mod agent;
mod track;

use crate::async_ops::{Action, SharedPlace};
use crate::detect::{self, Class, Detector, Space, Touch};
use crate::error::Fault;
use crate::ir::*;
use crate::tcgen05::copy::SHIFT_COLUMNS;
use crate::tcgen05::{
    Access, Copy, Form, InstructionDescriptor, Kind, Mma, OperandA, Scales, SharedDescriptor,
    TensorAddress, TensorMemory, ZeroColumns,
};
use crate::warp::{Frame, Path, Wait, Warp};
use crate::world::{Event, Flow, Place, World};
pub(crate) use agent::TensorAgent;

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

fn tensor(memory: &mut Option<Box<TensorMemory>>) -> &mut TensorMemory {
    memory.get_or_insert_with(|| Box::new(TensorMemory::new()))
}

/// The other CTA of a pair.
fn peer_of(ctas: &[u32], own: u32) -> Option<u32> {
    ctas.iter().copied().find(|cta| *cta != own)
}

/// Every CTA has tensor memory of its own here, as if it were alone on its multiprocessor.
const OWNER: u32 = 0;

/// What all lanes of a warp give to an aligned instruction that takes one value of them.
fn one_for_all<T: Clone + PartialEq>(
    instruction: &'static str,
    what: &'static str,
    lanes: &[T; LANES],
) -> Result<T, Fault> {
    match lanes.iter().all(|value| *value == lanes[0]) {
        true => Ok(lanes[0].clone()),
        false => Err(Fault::LanesDiffer { instruction, what }),
    }
}

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
                self.aligned(warp, path, mask)?;
                let ctas = self.group(warp, "tcgen05.alloc", *pair)?;
                let to = self.addresses(warp, &frame, &addr.0, addr.1)[lane];
                let columns = self.fetch32(warp, &frame, *columns);
                let columns = one_for_all("tcgen05.alloc", "nCols", &columns)?;
                let place = self.resolve(warp, lane, addr.1, to, 4, 4, true)?;
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                let Some(address) = memory.alloc(OWNER, columns)? else {
                    path.wait = Some(Wait::Columns(columns));
                    return Ok(Flow::Blocked);
                };
                if let (Some(detect), Some(peer)) = (&mut self.detect, peer_of(&ctas, warp.cta)) {
                    detect.pair_allocates(self.current, lane, peer, path.site());
                }
                let bytes = address.to_bits().to_le_bytes();
                self.view_mut(warp, place, 4)?.copy_from_slice(&bytes);
                if let (Some(detect), Place::Shared(cta, at)) = (&mut self.detect, place) {
                    let (class, site) = (Class::Alloc, path.site());
                    let touch = Touch { site, write: true, class, strong: None, equal: 0 };
                    let at = [at as u64; LANES];
                    detect.access(self.current, 1 << lane, Space::Shared(cta), &at, 4, (touch, 0));
                }
            }
            TensorOp::Dealloc { addr, columns, pair } => {
                self.aligned(warp, path, mask)?;
                let ctas = self.group(warp, "tcgen05.dealloc", *pair)?;
                let address = self.fetch32(warp, &frame, *addr);
                let address = one_for_all("tcgen05.dealloc", "taddr", &address)?;
                let columns = self.fetch32(warp, &frame, *columns);
                let columns = one_for_all("tcgen05.dealloc", "nCols", &columns)?;
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
                if let (Some(detect), Some(peer)) = (&mut self.detect, peer_of(&ctas, warp.cta)) {
                    detect.pair_deallocates(self.current, lane, peer, path.site());
                }
                self.events.push(Event::Columns(warp.cta));
            }
            TensorOp::Relinquish { pair } => {
                self.aligned(warp, path, mask)?;
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
                self.aligned(warp, path, mask)?;
                let me = self.current;
                let loads = *op == TensorOp::WaitLd;
                self.finish_tensor_accesses(warp, loads)?;
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
                self.aligned(warp, path, mask)?;
                let bits = self.addresses(warp, &frame, addr, MemSpace::Local);
                let bits = one_for_all("tcgen05.ld", "taddr", &bits)? as u32;
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
                self.aligned(warp, path, mask)?;
                let bits = self.addresses(warp, &frame, addr, MemSpace::Local);
                let bits = one_for_all("tcgen05.st", "taddr", &bits)? as u32;
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
}
