//! What the scheduler tells a trace: turns of warps, what they wait for, and operations that engines
//! perform.

use super::Grid;
use crate::async_ops::{Action, Agent};
use crate::tensor::TensorAgent;
use crate::trace::{Activity, Actor, Lane};
use crate::warp::{Path, Warp};

/// Time of an operation without bytes that could be counted.
const PRODUCT: u64 = 32;

/// Bytes that an engine moves in one unit of time.
const BYTES: u64 = 32;

impl Grid<'_> {
    fn lane(&self, warp: &Warp) -> Lane {
        let block = self.world.ctas[warp.cta as usize].index;
        Lane { block, actor: Actor::Warp(warp.index) }
    }

    pub(super) fn record_turn(&mut self, warp: &Warp, slot: u32, path: &Path) {
        if self.world.trace.is_none() {
            return;
        }
        let lane = self.lane(warp);
        if let Some(trace) = &mut self.world.trace {
            trace.turn(lane, slot, self.world.instructions, path.mask.count_ones());
        }
    }

    pub(super) fn record_run(&mut self, warp: &Warp, slot: u32, (func, pc): (u32, u32)) {
        if self.world.trace.is_none() {
            return;
        }
        let (lane, site) = (self.lane(warp), self.world.program.site(func, pc));
        if let Some(trace) = &mut self.world.trace {
            trace.ran(lane, slot, self.world.instructions, site);
        }
    }

    /// A warp none of whose paths can run, for the first reason of them.
    pub(super) fn record_wait(&mut self, warp: &Warp, slot: u32) {
        if self.world.trace.is_none() {
            return;
        }
        let waits = warp.paths.iter().find_map(|path| Some((path, path.wait.clone()?)));
        let Some((path, wait)) = waits else { return };
        let site = self.world.program.site(path.frame.func, path.pc_of_wait());
        let reason = self.reason(warp.cta, &wait);
        if let Some(trace) = &mut self.world.trace {
            trace.waits(slot, reason, site);
        }
    }

    /// An agent takes a step.
    pub(super) fn record_step(&mut self, agent: &Agent) {
        let Some((lane, _, cost)) = self.engine(agent) else { return };
        if let Some(trace) = &mut self.world.trace {
            trace.step(&lane, agent.issued, cost);
        }
    }

    /// It was the last.
    pub(super) fn record_end(&mut self, agent: &Agent) {
        let Some((lane, activity, cost)) = self.engine(agent) else { return };
        let site = self.world.program.site(agent.func, agent.pc);
        let label = match agent.action.bytes() {
            Some(bytes) if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
            Some(bytes) => format!("{bytes} bytes"),
            None => site.text.split(' ').next().unwrap_or_default().to_owned(),
        };
        if let Some(trace) = &mut self.world.trace {
            trace.performed(lane, activity, (label, site), cost);
        }
    }

    /// Where an agent's work is shown, and how long it takes.
    fn engine(&self, agent: &Agent) -> Option<(Lane, Activity, u64)> {
        self.world.trace.as_ref()?;
        let (name, activity) = match &agent.action {
            Action::In { .. } => ("bulk copies in", Activity::Copy),
            Action::Out { .. } => ("bulk copies out", Activity::Copy),
            Action::Small { .. } => ("cp.async", Activity::Copy),
            Action::SmallArrive { .. } => return None,
            Action::Tensor(TensorAgent::Ld { .. } | TensorAgent::St { .. }) => {
                ("tensor memory", Activity::Copy)
            }
            Action::Tensor(_) => ("tensor core", Activity::Tensor),
            Action::Wgmma(_) => ("wgmma", Activity::Tensor),
        };
        let cost = match (&agent.action, agent.action.bytes()) {
            (Action::Tensor(TensorAgent::Commit { .. }), _) => 2,
            (_, Some(bytes)) => 4 + u64::from(bytes) / BYTES,
            (_, None) => PRODUCT,
        };
        let block = self.world.ctas[agent.cta as usize].index;
        Some((Lane { block, actor: Actor::Engine(name) }, activity, cost))
    }
}

impl Action {
    /// Bytes of a copy.
    fn bytes(&self) -> Option<u32> {
        match self {
            Action::In { bytes, .. } | Action::Out { bytes, .. } | Action::Small { bytes, .. } => {
                Some(*bytes)
            }
            _ => None,
        }
    }
}
