//! Who runs next: warps, the paths inside them, and agents, chosen by the seed.

mod recording;

use crate::async_ops::{Action, Source};
use crate::detect::{Hazard, Home, Written};
use crate::error::{Deadlock, Error, Fault, Threads, Waiter};
use crate::ir::LANES;
use crate::launch::{After, Options, RESIDENT, Report, Schedule, failure};
use crate::mbarrier::Mbarriers;
use crate::memory::{FRESH, RANK_SHIFT, SHARED_BASE};
use crate::order::{Habit, Order};
use crate::rng::Rng;
use crate::tensor::TensorAgent;
use crate::trace::{Actor, Lane};
use crate::warp::{Frame, Path, Spin, Wait, Warp};
use crate::wgmma::Loans;
use crate::world::{BARS, Bar, Cluster, Cta, Event, World};

/// Turns that a path gets which only looks at memory, once nothing else can run.
const PATIENCE: u32 = 6;

/// Steps after which an agent gets its turn whatever the schedule says.
const FAIRNESS: u32 = 1 << 14;

/// Agents of one kind, which a run may starve: they step only when nothing else can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starved {
    Nobody,
    CopiesIn,
    CopiesOut,
    Tensor,
}

impl Starved {
    fn holds(self, action: &Action) -> bool {
        match action {
            Action::In { .. } | Action::Small { .. } => self == Starved::CopiesIn,
            Action::Out { .. } => self == Starved::CopiesOut,
            Action::Tensor(_) | Action::Wgmma(_) => self == Starved::Tensor,
            Action::SmallArrive { .. } => false,
        }
    }
}

/// The habits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    seed: u64,
    /// An agent steps once in so many choices; 0: only when no warp can run.
    agents: usize,
    starved: Starved,
    /// A warp is left at one in so many visible operations.
    switch: usize,
    /// Instructions of a warp at a time.
    budget: u32,
    limit: u64,
    order: Habit,
    /// Strong loads see an older value once in so many times; 0: never.
    pub stale: usize,
}

impl Settings {
    pub fn new(options: &Options) -> Settings {
        let mut rng = Rng::new(options.seed ^ 0x5EED);
        let mut pick = |from: &[usize]| from[rng.below(from.len())];
        let (agents, switch) = (pick(&[2, 3, 8, 32, 0]), pick(&[1, 2, 4, 16]));
        let kinds = [Starved::Nobody, Starved::CopiesIn, Starved::CopiesOut, Starved::Tensor];
        let starved = kinds[pick(&[0, 0, 1, 2, 2, 3])];
        Settings {
            seed: options.seed,
            starved: match options.schedule {
                Schedule::Seeded => starved,
                Schedule::Starving => kinds[pick(&[1, 2, 3])],
                _ => Starved::Nobody,
            },
            agents: match options.schedule {
                Schedule::Early => 1,
                Schedule::Late => 0,
                _ => agents,
            },
            switch,
            budget: pick(&[256, 1024, 4096]) as u32,
            stale: pick(&[2, 4, 8, 0]),
            order: match (options.schedule, pick(&[0, 0, 0, 1, 2])) {
                (Schedule::Seeded, 1) | (Schedule::Priorities, _) => {
                    Habit::Priorities { change: pick(&[8, 64, 512]) }
                }
                (Schedule::Seeded, 2) | (Schedule::Starving, _) => {
                    Habit::Last(pick(&[0, 1, 2, 3, 4, 5, 6, 7]) as u32)
                }
                _ => Habit::Uniform,
            },
            limit: options.step_limit.unwrap_or(u64::MAX),
        }
    }
}

/// A running launch.
pub(crate) struct Grid<'p> {
    world: World<'p>,
    entry: u32,
    settings: Settings,
    order: Order,
    warps: Vec<Warp>,
    /// Warps that have a path which can run.
    ready: Vec<u32>,
    free_warps: Vec<u32>,
    free_ctas: Vec<u32>,
    free_clusters: Vec<u32>,
    resident: usize,
    /// CTAs so far.
    started: u32,
    /// CTAs that are resident together at most.
    most: usize,
    since_agent: u32,
    /// The state when the last joins were broken: what is wrong if that did not help.
    stuck: Option<Box<Deadlock>>,
}

impl<'p> Grid<'p> {
    pub fn new(world: World<'p>, entry: u32, settings: Settings) -> Grid<'p> {
        let mut world = world;
        let shape = world.launch.cluster_shape();
        world.cluster_count = (0..3).map(|i| u64::from(world.launch.grid[i] / shape[i])).product();
        // A kernel that takes over clusters which have not started is to find some.
        let most =
            if world.program.takes_clusters(entry) { 1 + world.rng.below(8) } else { RESIDENT };
        Grid {
            world,
            entry,
            settings,
            order: Order::new(settings.order, settings.seed),
            warps: Vec::new(),
            ready: Vec::new(),
            free_warps: Vec::new(),
            free_ctas: Vec::new(),
            free_clusters: Vec::new(),
            resident: 0,
            started: 0,
            most,
            since_agent: 0,
            stuck: None,
        }
    }

    /// Runs to the end.
    pub fn run(&mut self) -> Result<Report, Error> {
        loop {
            self.start_clusters();
            let due = self.settings.agents != 0 && self.world.rng.one_in(self.settings.agents);
            let agents = !self.world.agents.is_empty();
            self.since_agent += 1;
            if agents && (due || self.ready.is_empty() || self.since_agent > FAIRNESS) {
                let forced = self.since_agent > FAIRNESS;
                self.since_agent = 0;
                self.step_agent(forced)?;
            } else if !self.ready.is_empty() {
                let i = self.order.choose(&self.ready, &mut self.world.rng);
                self.step_warp(i)?;
            } else if self.resident == 0 && self.world.next_cluster == self.world.cluster_count {
                break;
            } else {
                self.unblock()?;
            }
            if !self.world.events.is_empty() {
                self.deliver();
            }
            if self.world.instructions > self.settings.limit {
                let kernel = self.world.launch.kernel.clone();
                return Err(Error::StepLimit { kernel, limit: self.settings.limit });
            }
        }
        Ok(Report {
            instructions: self.world.instructions,
            output: std::mem::take(&mut self.world.output),
            hazards: self.hazards(),
        })
    }

    fn hazards(&mut self) -> Vec<Hazard> {
        let found = self.world.detect.as_mut().map(|detect| detect.found()).unwrap_or_default();
        found.into_iter().map(|found| self.world.program.hazard(found)).collect()
    }

    /// What is left, also when the run has failed.
    pub fn end(&mut self) -> After {
        After {
            hazards: self.hazards(),
            instructions: self.world.instructions,
            output: std::mem::take(&mut self.world.output),
            decisions: self.world.rng.recorded(),
            trace: self.world.trace.take().map(|trace| {
                trace.end(|slot| {
                    let warp = self.warps.get(slot as usize)?;
                    let block = self.world.ctas.get(warp.cta as usize)?.index;
                    Some(Lane { block, actor: Actor::Warp(warp.index) })
                })
            }),
        }
    }

    /// What the launch has written, where hazards are looked for.
    pub fn into_written(self) -> Option<Written> {
        self.world.detect.map(|detect| detect.into_written())
    }

    // ---- steps ----

    fn step_warp(&mut self, i: usize) -> Result<(), Error> {
        let w = self.ready[i];
        let mut warp = std::mem::take(&mut self.warps[w as usize]);
        let able = |p: &Path| p.wait.is_none();
        let chosen = match warp.paths.len() {
            1 => Some(0),
            n => {
                let start = self.world.rng.below(n.max(1));
                (0..n).map(|k| (start + k) % n).find(|&k| able(&warp.paths[k]))
            }
        };
        let result = match chosen {
            Some(k) if able(&warp.paths[k]) => {
                let path = warp.paths.swap_remove(k);
                self.world.current = w;
                self.record_turn(&warp, w, &path);
                let (func, pc) = (path.frame.func, path.pc);
                let Settings { budget, switch, .. } = self.settings;
                let result = self.world.run_path(&mut warp, path, budget, switch);
                self.record_run(&warp, w, (func, pc));
                result
            }
            _ => Ok(()),
        };
        warp.ready = warp.paths.iter().any(able);
        if !warp.ready {
            self.ready.swap_remove(i);
            self.record_wait(&warp, w);
        }
        let (cta, index) = (warp.cta, warp.index);
        let ended = warp.live == 0;
        self.warps[w as usize] = warp;
        if let Err(failed) = result {
            let (fault, path) = *failed;
            if let (Fault::Divergent { .. }, Some(stuck)) = (&fault, self.stuck.take()) {
                return Err(stuck.into());
            }
            let lanes = match (self.world.culprits, path.mask) {
                (0, 0) => u32::MAX,
                (0, mask) => mask,
                (culprits, _) => culprits,
            };
            let threads = self.threads(cta, index, lanes);
            let seed = self.settings.seed;
            let callers = path.callers.iter().rev().map(|caller| (caller.frame.func, caller.pc));
            let at = (path.frame.func, path.pc);
            return Err(failure(&self.world, fault, at, callers, threads, seed));
        }
        if ended && self.world.ctas[cta as usize].done {
            self.retire(cta);
        }
        Ok(())
    }

    fn step_agent(&mut self, forced: bool) -> Result<(), Error> {
        let n = self.world.agents.len();
        let start = self.world.rng.below(n);
        let starved = self.settings.starved;
        let mut order = (0..n).map(|k| (start + k) % n).filter(|&i| self.world.eligible(i));
        let fed = |i: &usize| !starved.holds(&self.world.agents[*i].action);
        let chosen = match order.clone().find(fed) {
            None if self.ready.is_empty() || forced => order.next(),
            chosen => chosen,
        };
        let Some(i) = chosen else { return Ok(()) };
        let mut agent = self.world.agents.swap_remove(i);
        self.record_step(&agent);
        let w = agent.warp;
        let mut none = Warp::default();
        let result = match self.warps.get_mut(w as usize) {
            Some(slot) => {
                let mut warp = std::mem::take(slot);
                let result = self.world.advance(&mut agent, &mut warp);
                self.warps[w as usize] = warp;
                result
            }
            None => self.world.advance(&mut agent, &mut none),
        };
        self.world.events.push(Event::Agent(w));
        match result {
            Ok(true) => {
                self.record_end(&agent);
                Ok(())
            }
            Ok(false) => {
                self.world.agents.push(agent);
                Ok(())
            }
            Err(fault) => {
                let index = self.warps.get(w as usize).map_or(0, |w| w.index);
                let threads = self.threads(agent.cta, index, 1 << agent.lane);
                let at = (agent.func, agent.pc);
                Err(failure(&self.world, fault, at, [], threads, self.settings.seed))
            }
        }
    }

    fn threads(&self, cta: u32, warp: u32, lanes: u32) -> Threads {
        Threads { block: self.world.ctas[cta as usize].index, warp, lanes }
    }

    // ---- events ----

    fn deliver(&mut self) {
        for event in std::mem::take(&mut self.world.events) {
            match event {
                Event::Mbarrier(place) => self.wake_cta(
                    place.cta,
                    |wait| matches!(wait, Wait::Mbarrier { offset, .. } if *offset == place.offset),
                ),
                Event::Bar { cta, id, and, or, popc } => self.release_bar(cta, id, and, or, popc),
                Event::Cluster(cluster) => {
                    for cta in self.world.clusters[cluster as usize].ctas.clone() {
                        self.wake_cta(cta, |wait| *wait == Wait::Cluster);
                    }
                }
                Event::Agent(w) => self.wake(w, |wait| matches!(wait, Wait::Agents(_))),
                Event::Columns(cta) => {
                    self.wake_cta(cta, |wait| matches!(wait, Wait::Columns(_)));
                }
                Event::Change => {
                    if !self.world.watches.is_empty() {
                        self.world.watches.clear();
                        for w in 0..self.warps.len() as u32 {
                            for path in &mut self.warps[w as usize].paths {
                                if matches!(path.wait, Some(Wait::Change { .. })) {
                                    path.parked = 0;
                                }
                            }
                            self.wake(w, |wait| matches!(wait, Wait::Change { .. }));
                        }
                    }
                }
                Event::Released(w) => self.wake(w, |_| false),
            }
        }
    }

    fn wake_cta(&mut self, cta: u32, which: impl Fn(&Wait) -> bool) {
        for k in 0..self.world.ctas[cta as usize].warps.len() {
            self.wake(self.world.ctas[cta as usize].warps[k], &which);
        }
    }

    fn wake(&mut self, w: u32, which: impl Fn(&Wait) -> bool) {
        let Some(warp) = self.warps.get_mut(w as usize) else { return };
        for path in &mut warp.paths {
            if path.wait.as_ref().is_some_and(&which) {
                path.wait = None;
            }
        }
        if !warp.ready && warp.paths.iter().any(|p| p.wait.is_none()) {
            warp.ready = true;
            self.ready.push(w);
            if let Some(trace) = &mut self.world.trace {
                trace.woken(w, self.world.instructions);
            }
        }
    }

    fn release_bar(&mut self, cta: u32, id: u32, and: bool, or: bool, popc: u32) {
        for w in self.world.ctas[cta as usize].warps.clone() {
            let warp = &mut self.warps[w as usize];
            for path in &mut warp.paths {
                let Some(Wait::Bar { id: waits, d }) = path.wait else { continue };
                if waits & 0xFF != id {
                    continue;
                }
                let all = |b: bool| if b { u32::MAX } else { 0 };
                match waits >> 8 {
                    1 => warp.regs.put_pred(&path.frame, d, path.mask, all(and)),
                    2 => warp.regs.put_pred(&path.frame, d, path.mask, all(or)),
                    3 => warp.regs.put32(&path.frame, d, path.mask, &[popc; LANES]),
                    _ => {}
                }
                path.wait = None;
                if let Some(detect) = &mut self.world.detect {
                    detect.bar_leave(w, path.mask, cta, id);
                }
            }
            self.wake(w, |_| false);
        }
    }

    // ---- CTAs ----

    fn start_clusters(&mut self) {
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
    fn retire(&mut self, cta: u32) {
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

    // ---- when nothing can run ----

    fn unblock(&mut self) -> Result<(), Error> {
        // Paths that only look at memory look once more, for longer each time.
        let mut again = false;
        for w in 0..self.warps.len() as u32 {
            for path in &mut self.warps[w as usize].paths {
                if matches!(path.wait, Some(Wait::Change { .. })) && path.parked < PATIENCE {
                    path.parked += 1;
                    path.wait = None;
                    again = true;
                }
            }
            self.wake(w, |_| false);
        }
        if again {
            self.world.watches.clear();
            return Ok(());
        }
        // Lanes that wait for their companions at the end of a branch go on without them.
        let report = Box::new(self.deadlock());
        let mut broken = false;
        for w in 0..self.warps.len() {
            let mut warp = std::mem::take(&mut self.warps[w]);
            while self.world.break_join(&mut warp) {
                broken = true;
            }
            self.warps[w] = warp;
            self.wake(w as u32, |_| false);
        }
        if broken && !self.ready.is_empty() {
            self.stuck.get_or_insert(report);
            return Ok(());
        }
        Err(self.stuck.take().unwrap_or(report).into())
    }

    fn deadlock(&mut self) -> Deadlock {
        let mut waiters = Vec::new();
        for slot in 0..self.world.ctas.len() {
            for w in self.world.ctas[slot].warps.clone() {
                for k in 0..self.warps[w as usize].paths.len() {
                    let path = self.warps[w as usize].paths[k].clone();
                    let Some(wait) = &path.wait else { continue };
                    waiters.push(Waiter {
                        threads: self.threads(slot as u32, self.warps[w as usize].index, path.mask),
                        site: self.world.program.site(path.frame.func, path.pc_of_wait()),
                        reason: self.reason(slot as u32, wait),
                    });
                }
            }
        }
        let kernel = self.world.launch.kernel.clone();
        Deadlock { kernel, waiters, seed: self.settings.seed }
    }

    fn reason(&mut self, cta: u32, wait: &Wait) -> String {
        let cta = &mut self.world.ctas[cta as usize];
        match wait {
            Wait::Mbarrier { offset, parity, state } => {
                let address = cta.rank << RANK_SHIFT | (SHARED_BASE + offset);
                let what = match parity {
                    Some(parity) => format!("the phase of parity {parity}"),
                    None => format!("the phase of state {state:#x}"),
                };
                let of = match cta.barriers.get(*offset) {
                    Ok(b) => format!(
                        "it is in phase {} with {} of {} arrivals missing and {} bytes missing{}",
                        b.phase,
                        b.pending,
                        b.expected,
                        b.tx,
                        if b.pending == 0 { " (rule C8)" } else { "" }
                    ),
                    Err(error) => error.to_string(),
                };
                format!("waits on mbarrier {address:#x} for {what}; {of}")
            }
            Wait::Bar { id, .. } => {
                let id = id & 0xFF;
                let bar = &cta.bars[id as usize];
                let need = bar.round.flatten().unwrap_or(cta.threads - cta.exited);
                format!("waits at barrier {id}, where {} of {need} threads have come", bar.arrived)
            }
            Wait::Cluster => "waits at the cluster barrier".into(),
            Wait::Lanes { mask, .. } => {
                format!("waits for the other lanes of member mask {mask:#010x}")
            }
            Wait::Agents(what) => format!("waits for {what}"),
            Wait::Columns(n) => format!("waits for {n} free columns of tensor memory"),
            Wait::Endless => "runs a loop that does nothing and never ends".into(),
            Wait::Change { address } => {
                format!("looks again and again at address {address:#x}, which does not change")
            }
        }
    }
}

fn take_slot<T: Default>(free: &mut Vec<u32>, all: &mut Vec<T>) -> u32 {
    free.pop().unwrap_or_else(|| {
        all.push(T::default());
        all.len() as u32 - 1
    })
}

impl Path {
    /// The instruction it waits at: a CTA barrier has been passed when its path waits.
    fn pc_of_wait(&self) -> u32 {
        match self.wait {
            Some(Wait::Bar { .. }) => self.pc.saturating_sub(1),
            _ => self.pc,
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
        for agent in &self.agents {
            let touches = match &agent.action {
                Action::In { to, source, .. } => {
                    let from = matches!(source, Source::Shared(p) if p.cta == slot);
                    from && !agent.read || to.iter().any(|t| t.0.cta == slot || t.1.cta == slot)
                }
                Action::Out { from, .. } => from.cta == slot && !agent.read,
                Action::Small { to, .. } => to.cta == slot,
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
