//! tcgen05 operations in flight: when each may take place, and what it does then.

use super::{Reduction, tensor};
use crate::async_ops::{Action, Agent, SharedPlace};
use crate::detect::Space;
use crate::error::Fault;
use crate::ir::*;
use crate::memory::SHARED_BASE;
use crate::tcgen05::copy::shift;
use crate::tcgen05::{
    Access, Copy, Mma, MmaError, Operands, SharedDescriptor, SharedWindow, TensorAddress,
    TensorMemory,
};
use crate::warp::{Frame, SITE_BITS, Warp};
use crate::world::World;

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
    pub(super) fn ctas(&self) -> &[u32] {
        match self {
            TensorAgent::Mma { ctas, .. }
            | TensorAgent::Cp { ctas, .. }
            | TensorAgent::Shift { ctas, .. } => ctas,
            _ => &[],
        }
    }
}

impl World<'_> {
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

    /// Completes the loads from tensor memory of the running warp, or its stores.
    pub(crate) fn finish_tensor_accesses(
        &mut self,
        warp: &mut Warp,
        loads: bool,
    ) -> Result<(), Fault> {
        let me = self.current;
        let of_kind = |action: &Action| match action {
            Action::Tensor(TensorAgent::Ld { .. }) => loads,
            Action::Tensor(TensorAgent::St { .. }) => !loads,
            _ => false,
        };
        while let Some(i) = self.agents.iter().position(|a| a.warp == me && of_kind(&a.action)) {
            let mut agent = self.agents.remove(i);
            self.advance_tensor(&mut agent, warp)?;
        }
        if loads {
            warp.fills.clear();
        }
        Ok(())
    }

    fn operands(&self, mma: &Mma, ctas: &[u32]) -> Result<Operands, MmaError> {
        let of = |&cta: &u32| &self.ctas[cta as usize];
        let windows: Vec<_> =
            ctas.iter().map(|c| SharedWindow::new(SHARED_BASE, &of(c).shared)).collect();
        let memories: Vec<&TensorMemory> =
            ctas.iter().filter_map(|c| of(c).tensor.as_deref()).collect();
        mma.read_operands(&windows, &memories)
    }

    /// A product reads tensor memory that nothing has written. As with other memory that is said, and what is there is
    /// read; that it is there is then no news.
    fn unwritten_matrix(
        &mut self,
        (w, lane, site): (u32, u32, u32),
        ctas: &[u32],
        at: TensorAddress,
    ) {
        if let (Some(detect), Some(&cta)) = (&mut self.detect, ctas.first()) {
            detect.unwritten(w, lane, Space::Tensor(cta), at.to_bits().into(), site);
        }
        for &cta in ctas {
            tensor(&mut self.ctas[cta as usize].tensor).take_as_written();
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
                        let read = match self.operands(mma, ctas) {
                            Err(MmaError::Unwritten { lane, column, .. }) => {
                                let who =
                                    (agent.warp, agent.lane, agent.func << SITE_BITS | agent.pc);
                                self.unwritten_matrix(who, ctas, TensorAddress { lane, column });
                                self.operands(mma, ctas)
                            }
                            read => read,
                        };
                        let read = Box::new(read?);
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
                    match mma.write_result(&operands, half, memory) {
                        Err(MmaError::Unwritten { lane, column, .. }) => {
                            let who = (agent.warp, agent.lane, agent.func << SITE_BITS | agent.pc);
                            self.unwritten_matrix(who, &[cta], TensorAddress { lane, column });
                            let memory = tensor(&mut self.ctas[cta as usize].tensor);
                            mma.write_result(&operands, half, memory)?;
                        }
                        written => written?,
                    }
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
