//! Who runs next: warps, the paths inside them, and agents, chosen by the seed.

mod recording;
mod residency;
mod settings;
mod stuck;

use crate::detect::{Hazard, InFlight};
use crate::error::{Deadlock, Error, Fault, Threads};
use crate::ir::LANES;
use crate::launch::{After, RESIDENT, Report, failure};
use crate::order::Order;
use crate::trace::{Actor, Lane};
use crate::warp::{Path, Wait, Warp};
use crate::world::{Event, World};
pub(crate) use settings::Settings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Steps after which an agent gets its turn whatever the schedule says.
const FAIRNESS: u32 = 1 << 14;

/// Thread-instructions after which they are counted for who looks on.
const COUNT: u64 = 1 << 20;

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
    /// Where instructions are counted, and how many have been.
    counter: Option<Arc<AtomicU64>>,
    counted: u64,
}

impl<'p> Grid<'p> {
    pub fn new(
        world: World<'p>,
        entry: u32,
        settings: Settings,
        counter: Option<Arc<AtomicU64>>,
    ) -> Grid<'p> {
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
            counter,
            counted: 0,
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
            if self.world.instructions - self.counted >= COUNT {
                self.count();
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

    fn count(&mut self) {
        if let Some(counter) = &self.counter {
            counter.fetch_add(self.world.instructions - self.counted, Relaxed);
        }
        self.counted = self.world.instructions;
    }

    fn hazards(&mut self) -> Vec<Hazard> {
        let found = self.world.detect.as_mut().map(|detect| detect.found()).unwrap_or_default();
        found.into_iter().map(|found| self.world.program.hazard(found)).collect()
    }

    /// What is left, also when the run has failed.
    pub fn end(&mut self) -> After {
        self.count();
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

    /// What may be in flight when a dependent launch comes next, where hazards are looked for.
    pub fn into_in_flight(self) -> Vec<InFlight> {
        let kernel = self.world.launch.kernel.clone();
        self.world.detect.map(|detect| detect.into_in_flight(kernel)).unwrap_or_default()
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
}
