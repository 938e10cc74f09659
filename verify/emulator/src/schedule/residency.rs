//! CTAs come and go: a cluster starts where there is room, a CTA ends with its last thread.

use super::Grid;
use crate::async_ops::{Action, Agent, Source};
use crate::detect::Home;
use crate::error::Fault;
use crate::ir::LANES;
use crate::mbarrier::Mbarriers;
use crate::memory::FRESH;
use crate::tensor::TensorAgent;
use crate::warp::{Frame, Path, SITE_BITS, Spin};
use crate::wgmma::Loans;
use crate::world::{BARS, Bar, Cluster, Cta, World};

impl Grid<'_> {
    pub(super) fn start_clusters(&mut self) {
        let shape = self.world.launch.cluster_shape();
        let size = shape.iter().product::<u32>() as usize;
        while self.world.next_cluster < self.world.cluster_count
            && (self.resident == 0 || self.resident + size <= self.most)
        {
            self.start_cluster(shape);
        }
    }

    fn start_cluster(&mut self, shape: [u32; 3]) {
        let id = self.world.cluster_index(self.world.next_cluster);
        self.world.next_cluster += 1;
        let cluster = take_slot(&mut self.free_clusters, &mut self.world.clusters);
        let mut ctas = Vec::new();
        for z in 0..shape[2] {
            for y in 0..shape[1] {
                for x in 0..shape[0] {
                    let at = [x, y, z];
                    let index = std::array::from_fn(|i| id[i] * shape[i] + at[i]);
                    ctas.push(self.start_cta(cluster, ctas.len() as u32, index));
                }
            }
        }
        let live_ctas = ctas.len() as u32;
        self.world.clusters[cluster as usize] =
            Cluster { ctas, live_ctas, id, ..Cluster::default() };
    }

    fn start_cta(&mut self, cluster: u32, rank: u32, index: [u32; 3]) -> u32 {
        let block = self.world.launch.block;
        let threads: u32 = block.iter().product();
        let count = threads.div_ceil(32);
        let bytes = (self.world.static_shared + self.world.launch.dynamic_shared) as usize;
        let cta = Cta {
            index,
            cluster,
            rank,
            shared: vec![FRESH; bytes],
            barriers: Mbarriers::default(),
            bars: [Bar::default(); BARS],
            tensor: None,
            paired: None,
            warps: Vec::new(),
            threads: count * 32,
            exited: count * 32 - threads,
            same: Default::default(),
            absent: count * 32 - threads,
            done: false,
        };
        let slot = match self.free_ctas.pop() {
            Some(slot) => {
                self.world.ctas[slot as usize] = cta;
                slot
            }
            None => {
                self.world.ctas.push(cta);
                self.world.ctas.len() as u32 - 1
            }
        };
        self.resident += 1;
        self.started += 1;
        if let Some(detect) = &mut self.world.detect {
            let home = Home { cta: self.started, cluster: self.world.next_cluster as u32 };
            if rank == 0 {
                detect.start_cluster(cluster);
            }
            detect.start_cta(slot, home, bytes);
        }
        for number in 0..count {
            let live = match threads - number * 32 {
                n if n >= 32 => u32::MAX,
                n => (1 << n) - 1,
            };
            let first = number * 32;
            let tid = |divide: u32, by: u32| -> [u32; LANES] {
                std::array::from_fn(|l| (first + l as u32) / divide % by)
            };
            let frame = Frame { func: self.entry, ..Frame::default() };
            let path = Path {
                asked: None,
                mask: live,
                pc: 0,
                frame,
                callers: Vec::new(),
                join: crate::ir::NO_JOIN,
                wait: None,
                spin: Spin::default(),
                parked: 0,
                ahead: 0,
            };
            let w = take_slot(&mut self.free_warps, &mut self.warps);
            // Registers of an earlier warp are reused: their contents mean nothing.
            let mut warp = std::mem::take(&mut self.warps[w as usize]);
            warp.cta = slot;
            warp.index = number;
            warp.live = live;
            warp.lanes = live;
            warp.tid =
                [tid(1, block[0]), tid(block[0], block[1]), tid(block[0] * block[1], block[2])];
            warp.paths = vec![path];
            warp.joins.clear();
            warp.bulk_groups = [0; LANES];
            warp.small_groups = [0; LANES];
            warp.cluster_arrived = 0;
            warp.loans = Loans::default();
            warp.fills.clear();
            warp.ready = true;
            let func = &self.world.program.functions[self.entry as usize];
            let undefined = func.undefined.as_deref().filter(|_| self.world.detect.is_some());
            warp.undefined.begin(self.entry, undefined, live);
            self.world.local += warp.reserve(&frame, func);
            warp.local.fill(FRESH);
            self.warps[w as usize] = warp;
            self.world.ctas[slot as usize].warps.push(w);
            self.ready.push(w);
            if let Some(trace) = &mut self.world.trace {
                trace.begin(w);
            }
            if let Some(detect) = &mut self.world.detect {
                detect.start_warp(w, slot, index, number, live);
            }
        }
        slot
    }

    /// The last thread of a CTA has exited.
    pub(super) fn retire(&mut self, cta: u32) {
        self.resident -= 1;
        let warps = std::mem::take(&mut self.world.ctas[cta as usize].warps);
        // What is still on its way out no longer belongs to a warp.
        for agent in &mut self.world.agents {
            if agent.cta == cta {
                agent.warp = u32::MAX;
            }
        }
        self.free_warps.extend(warps);
        let index = self.world.ctas[cta as usize].cluster;
        let cluster = &mut self.world.clusters[index as usize];
        cluster.live_ctas -= 1;
        if cluster.live_ctas == 0 {
            for cta in std::mem::take(&mut cluster.ctas) {
                let slot = &mut self.world.ctas[cta as usize];
                slot.shared = Vec::new();
                slot.tensor = None;
                self.free_ctas.push(cta);
            }
            self.free_clusters.push(index);
        }
    }
}

impl World<'_> {
    /// Threads of a CTA have exited: barriers expect fewer, and the last one closes the CTA.
    pub(crate) fn threads_exited(&mut self, slot: u32, threads: u32) -> Result<(), Fault> {
        let cta = &mut self.ctas[slot as usize];
        cta.exited += threads;
        let last = cta.exited == cta.threads;
        let cluster = cta.cluster;
        if last {
            self.close(slot)?;
        } else {
            for id in 0..BARS as u32 {
                if self.ctas[slot as usize].bars[id as usize].arrived > 0 {
                    self.check_bar(slot, id)?;
                }
            }
        }
        self.check_cluster(cluster);
        Ok(())
    }

    /// `cp.async` and copies out of shared memory that are in flight when their CTA exits. No text forbids it, and
    /// widely used kernels do it: the hardware lets such copies read to their end.
    fn leave_copies(&mut self, slot: u32) {
        for at in 0..self.agents.len() {
            let Agent { action, read, .. } = &self.agents[at];
            match action {
                Action::Small { to, .. } if to.cta == slot => {}
                Action::Out { from, bytes, .. } if from.cta == slot && !read => {
                    let source = self.shared_read(*from, *bytes).to_vec();
                    let agent = &mut self.agents[at];
                    agent.read = true;
                    if let Action::Out { data, .. } = &mut agent.action {
                        *data = source;
                    }
                }
                _ => continue,
            }
            let Agent { warp, lane, func, pc, .. } = self.agents[at];
            if let Some(detect) = &mut self.detect {
                detect.left_in_flight(warp, lane, func << SITE_BITS | pc);
            }
        }
    }

    fn close(&mut self, slot: u32) -> Result<(), Fault> {
        if self.tensor_agents(slot).is_some() {
            let what = "the CTA exits while a tcgen05 operation is in flight";
            return Err(Fault::InFlight { what, rule: "D8" });
        }
        let product = self.gathering.iter().any(|p| p.cta == slot)
            || self.agents.iter().any(|a| matches!(&a.action, Action::Wgmma(p) if p.cta == slot));
        if product {
            let what = "the CTA exits while a wgmma product is in flight";
            return Err(Fault::InFlight { what, rule: "E2" });
        }
        self.leave_copies(slot);
        for agent in &self.agents {
            let touches = match &agent.action {
                Action::In { to, source, .. } => {
                    let from = matches!(source, Source::Shared(p) if p.cta == slot);
                    from && !agent.read || to.iter().any(|t| t.0.cta == slot || t.1.cta == slot)
                }
                _ => false,
            };
            let arrives = match &agent.action {
                Action::Tensor(TensorAgent::Commit { bars }) => bars.iter().any(|b| b.cta == slot),
                Action::SmallArrive { bar } => bar.cta == slot,
                _ => false,
            };
            let (what, rule) = match (arrives, touches, agent.cta == slot) {
                (true, _, true) => {
                    ("the CTA exits while a commit has yet to arrive at its barrier", "B9")
                }
                (true, _, false) => (
                    "the CTA exits while a commit of another CTA has yet to arrive at its barrier",
                    "F3",
                ),
                (_, true, true) => {
                    ("the CTA exits while a copy reads or writes its shared memory", "B9")
                }
                (_, true, false) => (
                    "the CTA exits while a copy of another CTA reads or writes its shared memory",
                    "F3",
                ),
                _ => continue,
            };
            return Err(Fault::InFlight { what, rule });
        }
        if let Some(detect) = &mut self.detect {
            detect.close_cta(slot);
        }
        let cta = &mut self.ctas[slot as usize];
        if let Some(tensor) = &mut cta.tensor {
            let columns = tensor.exit(0).iter().map(|a| a.columns).sum();
            if columns > 0 {
                return Err(Fault::TensorLeak { columns });
            }
        }
        cta.done = true;
        // What remains needs nothing of the CTA: barriers that nobody can wait for.
        self.agents.retain(|a| a.cta != slot || matches!(a.action, Action::Out { .. }));
        Ok(())
    }
}

fn take_slot<T: Default>(free: &mut Vec<u32>, all: &mut Vec<T>) -> u32 {
    free.pop().unwrap_or_else(|| {
        all.push(T::default());
        all.len() as u32 - 1
    })
}
