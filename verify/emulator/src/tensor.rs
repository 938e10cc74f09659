//! tcgen05 instructions: who may issue them, when they happen, what waits for them.
//!
//! What they compute is in [`crate::tcgen05`]. A multiplication, a load, a store and a commit are
//! agents. Ordered by themselves are only the pipelined pairs of one thread: multiplications with
//! the same accumulator, and a commit behind everything that the thread issued before.

use crate::async_ops::{Action, Agent, SharedPlace};
use crate::detect::{Class, Detector, Space, Touch};
use crate::error::Fault;
use crate::ir::*;
use crate::memory::SHARED_BASE;
use crate::tcgen05::{
    Access, InstructionDescriptor, Kind, Mma, OperandA, Operands, Shape, SharedDescriptor,
    SharedWindow, TensorAddress, TensorMemory,
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

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorOp {
    Alloc { addr: (Addr, MemSpace), columns: Src },
    Dealloc { addr: Src, columns: Src },
    Relinquish,
    Fence { after: bool },
    WaitLd,
    WaitSt,
    Commit { addr: (Addr, MemSpace), multicast: Option<Src> },
    Mma { kind: Kind, d: Addr, a: Left, b: Src, idesc: Src, enable: Src },
    Ld { access: Access, registers: Box<[Dst]>, addr: Addr },
    St { access: Access, registers: Box<[Src]>, addr: Addr },
}

/// A tcgen05 operation in flight.
#[derive(Debug)]
pub(crate) enum TensorAgent {
    Mma { mma: Box<Mma>, operands: Option<Box<Operands>> },
    Commit { bars: Vec<SharedPlace> },
    Ld { access: Access, address: TensorAddress, frame: Frame, registers: Box<[Dst]>, mask: u32 },
    St { access: Access, address: TensorAddress, values: Vec<Lanes32> },
}

pub(crate) fn kind(name: Option<String>) -> Result<Kind, String> {
    Ok(match name.as_deref() {
        Some("f16") => Kind::F16,
        Some("tf32") => Kind::Tf32,
        Some("f8f6f4") => Kind::F8f6f4,
        Some("i8") => Kind::I8,
        _ => return Err("kind".into()),
    })
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
            TensorOp::Alloc { addr, columns } => {
                self.aligned(warp, mask)?;
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
                    detect.access(self.current, 1 << lane, Space::Shared(cta), &at, 4, touch);
                }
            }
            TensorOp::Dealloc { addr, columns } => {
                self.aligned(warp, mask)?;
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
                    warp,
                    path,
                    lane,
                    u8::MAX,
                    (address.column, columns),
                    (Class::Dealloc, true, 0),
                );
                self.events.push(Event::Columns(warp.cta));
            }
            TensorOp::Relinquish => {
                self.aligned(warp, mask)?;
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
                if let Some(detect) = &mut self.detect {
                    detect.tensor_waited(me, loads);
                }
            }
            TensorOp::Commit { addr, multicast } => {
                one("tcgen05.commit")?;
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
                    let cluster = &self.clusters[self.ctas[warp.cta as usize].cluster as usize];
                    bars = crate::world::lanes_of(ranks & 0xFFFF)
                        .filter_map(|rank| cluster.ctas.get(rank))
                        .map(|&cta| SharedPlace { cta, ..place })
                        .collect();
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
            TensorOp::Mma { kind, d, a, b, idesc, enable } => {
                one("tcgen05.mma")?;
                let at = |w: &Self, addr: &Addr| {
                    let bits = w.addresses(warp, &frame, addr, MemSpace::Local)[lane] as u32;
                    TensorAddress::from_bits(bits)
                };
                let a = match a {
                    Left::Shared(src) => OperandA::Shared(SharedDescriptor::decode(
                        self.fetch64(warp, &frame, *src)[lane],
                    )?),
                    Left::Tensor(addr) => OperandA::Tensor(at(self, addr)),
                };
                let idesc = self.fetch32(warp, &frame, *idesc)[lane];
                let mma = Mma {
                    idesc: InstructionDescriptor::decode(*kind, idesc)?,
                    a,
                    b: SharedDescriptor::decode(self.fetch64(warp, &frame, *b)[lane])?,
                    d: at(self, d),
                    enable_input_d: self.fetch_pred(warp, &frame, *enable) >> lane & 1 == 1,
                    scale_input_d: 0,
                    disabled_lanes: [0; 4],
                };
                self.track_mma(warp, path, lane, &mma)?;
                let agent = TensorAgent::Mma { mma: Box::new(mma), operands: None };
                self.issue(warp, path, lane, u32::MAX, Action::Tensor(agent));
            }
            TensorOp::Ld { access, registers, addr } => {
                self.aligned(warp, mask)?;
                let bits = self.addresses(warp, &frame, addr, MemSpace::Local)[lane] as u32;
                let address = TensorAddress::from_bits(bits);
                let memory = tensor(&mut self.ctas[warp.cta as usize].tensor);
                access.check(memory, warp.index, address)?;
                for register in registers {
                    warp.regs.put32(&frame, *register, mask, &[IN_FLIGHT; LANES]);
                }
                self.track_rectangle(warp, path, lane, access, address, (Class::Ld, false));
                let agent = TensorAgent::Ld {
                    access: *access,
                    address,
                    frame,
                    registers: registers.clone(),
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

    /// Tells the detection of an access to tensor memory.
    fn track_tensor(
        &mut self,
        warp: &Warp,
        path: &Path,
        lane: usize,
        rows: u8,
        columns: (u32, u32),
        how: (Class, bool, u16),
    ) {
        if let Some(detect) = &mut self.detect {
            detect.tensor(self.current, lane, warp.cta, path.site(), rows, columns, how);
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
        self.track_tensor(warp, path, lane, rows, (at.column, columns), (class, write, 0));
        if let Shape::Lanes16x32bx2 { split } = access.shape() {
            let upper = (at.column + split, columns);
            self.track_tensor(warp, path, lane, rows, upper, (class, write, 0));
        }
    }

    fn track_mma(&mut self, warp: &Warp, path: &Path, lane: usize, mma: &Mma) -> Result<(), Fault> {
        if self.detect.is_none() {
            return Ok(());
        }
        let InstructionDescriptor { kind, a, b, a_major, b_major, m, n, .. } = mma.idesc;
        let depth = kind.depth();
        let shared = |source| crate::tcgen05::MmaError::Shared { matrix: "A or B", source };
        let rows = |at: TensorAddress| {
            (0..m / 16).fold(0u8, |rows, i| {
                let first = at.lane + crate::tcgen05::lane_of_row(m, 16 * i);
                rows | Detector::granules(first, 16)
            })
        };
        let mut runs = Vec::new();
        if let OperandA::Shared(descriptor) = mma.a {
            let layout = descriptor.layout(a_major, a.bits()).map_err(shared)?;
            runs.extend(layout.runs(m, depth));
        }
        let layout = mma.b.layout(b_major, b.bits()).map_err(shared)?;
        runs.extend(layout.runs(n, depth));
        // Descriptors hold the lower bits of an address; a CTA's shared memory is smaller.
        let size = self.ctas[warp.cta as usize].shared.len();
        let runs = runs.iter().filter_map(|&(address, bytes)| {
            let at = (address & 0x3_FFFF).wrapping_sub(SHARED_BASE) as usize;
            (at.saturating_add(bytes as usize) <= size).then_some((at, bytes as usize))
        });
        if let Some(detect) = &mut self.detect {
            detect.mma_source(self.current, lane, path.site(), warp.cta, runs);
        }
        // The same accumulator in the same shape is a pipelined pair.
        let shape = mma.d.to_bits() ^ (m << 4 | n << 12);
        let pipeline = (shape.wrapping_mul(0x9E37_79B9) >> 16) as u16;
        if let OperandA::Tensor(at) = mma.a {
            let columns = (at.column, 8);
            self.track_tensor(warp, path, lane, rows(at), columns, (Class::Mma, false, pipeline));
        }
        let columns = (mma.d.column, n);
        self.track_tensor(warp, path, lane, rows(mma.d), columns, (Class::Mma, true, pipeline));
        Ok(())
    }

    /// A tcgen05 operation of this CTA that touches tensor memory and is in flight.
    pub(crate) fn tensor_agents(&self, cta: u32) -> Option<&Agent> {
        self.agents.iter().find(|a| {
            a.cta == cta
                && matches!(&a.action, Action::Tensor(t) if !matches!(t, TensorAgent::Commit { .. }))
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
            TensorAgent::Mma { mma, .. } => !earlier(
                &|t| matches!(t, TensorAgent::Mma { mma: before, .. } if before.d == mma.d),
            ),
            TensorAgent::Commit { .. } => !earlier(&|t| matches!(t, TensorAgent::Mma { .. })),
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
            TensorAgent::Mma { mma, operands } => {
                let split = self.rng.one_in(4);
                let cta = &mut self.ctas[agent.cta as usize];
                let memory = tensor(&mut cta.tensor);
                let window = SharedWindow::new(SHARED_BASE, &cta.shared);
                match operands.take() {
                    Some(operands) => mma.write_result(&operands, memory)?,
                    None if split => {
                        *operands = Some(Box::new(mma.read_operands(&window, memory)?));
                        agent.read = true;
                        return Ok(false);
                    }
                    None => mma.execute(&window, memory)?,
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
            TensorAgent::Ld { access, address, frame, registers, mask } => {
                let memory = tensor(&mut self.ctas[agent.cta as usize].tensor);
                let mut values = [[0; LANES]; 128];
                let values = &mut values[..registers.len()];
                let unwritten = access.load(memory, warp.index, *address, values)?;
                if let (Some(cell), Some(detect)) = (unwritten, &mut self.detect) {
                    let (space, at) = (Space::Tensor(agent.cta), cell.to_bits().into());
                    let site = agent.func << SITE_BITS | agent.pc;
                    detect.unwritten(agent.warp, agent.lane, space, at, site);
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
