//! When nothing can run: those who only look at memory look again, lanes go on without their companions, and if that does
//! not help, what each path waits for.

use super::Grid;
use crate::error::{Deadlock, Error, Waiter};
use crate::memory::{RANK_SHIFT, SHARED_BASE};
use crate::warp::{Path, Wait};

/// Turns that a path gets which only looks at memory, once nothing else can run.
const PATIENCE: u32 = 6;

impl Grid<'_> {
    pub(super) fn unblock(&mut self) -> Result<(), Error> {
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
                        rule: self.rule(slot as u32, wait),
                    });
                }
            }
        }
        let kernel = self.world.launch.kernel.clone();
        Deadlock { kernel, waiters, seed: self.settings.seed }
    }

    /// The rule that a wait without an end breaks, if what it waits for is not missing for another's sake.
    fn rule(&mut self, cta: u32, wait: &Wait) -> Option<&'static str> {
        let cta = &mut self.world.ctas[cta as usize];
        match wait {
            Wait::Mbarrier { offset, since, .. } => {
                let barrier = cta.barriers.get(*offset).ok()?;
                if barrier.phase > *since + 1 {
                    return Some("C13");
                }
                (barrier.pending == 0 && barrier.tx != 0).then_some("C8")
            }
            Wait::Bar { id, .. } => {
                let named = cta.bars[(id & 0xFF) as usize].round.flatten().is_some();
                Some(if named { "F7" } else { "F1" })
            }
            Wait::Cluster => Some("F2"),
            Wait::Lanes { .. } => Some("F1"),
            _ => None,
        }
    }

    pub(super) fn reason(&mut self, cta: u32, wait: &Wait) -> String {
        let cta = &mut self.world.ctas[cta as usize];
        match wait {
            Wait::Mbarrier { offset, parity, state, since } => {
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
                        if b.phase > *since + 1 {
                            "; the phase came to its end and the next one did, before the wait looked again (rule C13)"
                        } else if b.pending == 0 {
                            " (rule C8)"
                        } else {
                            ""
                        }
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

impl Path {
    /// The instruction it waits at: a CTA barrier has been passed when its path waits.
    pub(super) fn pc_of_wait(&self) -> u32 {
        match self.wait {
            Some(Wait::Bar { .. }) => self.pc.saturating_sub(1),
            _ => self.pc,
        }
    }
}
