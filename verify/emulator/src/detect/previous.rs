//! Launches that may not have ended when this one begins (programmatic dependent launch; ISA `griddepcontrol`).
//!
//! A dependent launch may begin when every CTA of the launch before has executed `launch_dependents` or exited. What that
//! does to memory is there for it behind `griddepcontrol.wait` only, which waits until the launch before has ended and its
//! memory operations are performed. The emulator runs the launches one after the other all the same, and asks of each
//! access to what an earlier one touched whether a wait is before it: by the thread itself, or by another that handed on
//! what it knows.
//!
//! A wait covers the launch before, and what that has waited for. So of a chain a launch further back may still be
//! running: behind a launch that waits for nothing no wait of a later one reaches it.
//!
//! Only the last write and the last read of each cell are known; synchronisation of two launches by flags is not seen.

use super::clock::{SUBS, Stamp};
use super::shadow::{Kinds, Pages, cells_of};
use super::{Detector, Touch, Unit};
use crate::ir::{Lanes64, Scope};
use crate::world::lanes_of;
use std::collections::HashMap;

/// What a launch did to global memory, kept while it may not have ended.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// The program that its sites belong to.
    program: u64,
    kernel: String,
    pages: Pages,
    kinds: Kinds,
    /// A wait of the launch that comes next covers it.
    pub(super) in_reach: bool,
}

/// How the threads of a CTA used `griddepcontrol`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// One has waited.
    waited: bool,
    /// One has let dependents begin, and no wait was before that.
    early: bool,
}

/// An access that is not behind the wait.
pub(super) struct Early<'a> {
    /// The kernel that made the earlier one.
    pub kernel: &'a str,
    /// Where, if it is in this program.
    pub site: Option<u32>,
    pub wrote: bool,
    pub in_reach: bool,
}

impl InFlight {
    /// The access of it that an access to these bytes conflicts with.
    fn conflict(&self, offset: usize, bytes: usize, touch: &Touch) -> Option<(u32, bool)> {
        // Strong accesses of both launches do not race, wait or not.
        let wide = |strong: Option<(Scope, u32)>| strong.is_some_and(|s| s.0 >= Scope::Gpu);
        cells_of(offset, bytes).find_map(|(at, mask)| {
            let (write, read) = self.pages.last(at);
            let pairs = [(write, true), (read, false)];
            pairs.into_iter().find_map(|(entry, wrote)| {
                let entry = entry.filter(|entry| entry.bytes() & mask != 0)?;
                let kind = self.kinds.of(&entry);
                let races = (wrote || touch.write) && !(wide(kind.strong) && wide(touch.strong));
                races.then_some((kind.site, wrote))
            })
        })
    }
}

impl Detector {
    /// The launch may begin before these have ended, the latest first.
    pub fn follows(mut self, program: u64, previous: Vec<InFlight>) -> Detector {
        self.program = program;
        for launch in previous {
            let unit = self.unit(Unit::default());
            self.previous.push((Stamp { id: unit * SUBS, epoch: 1 }, launch));
        }
        self
    }

    /// What may be in flight when a dependent launch begins behind this one, the latest first.
    pub fn into_in_flight(self, kernel: String) -> Vec<InFlight> {
        let waited = self.grid_used.values().any(|cta| cta.waited);
        // Every CTA has to let dependents begin, or to end: one that waits before it does lets none begin earlier.
        let holds = self.grid_used.values().any(|cta| cta.waited && !cta.early);
        let own = InFlight {
            program: self.program,
            kernel,
            pages: self.global,
            kinds: self.kinds,
            in_reach: true,
        };
        let before = self.previous.into_iter().map(|(_, launch)| launch);
        let before = before.filter(|launch| !(launch.in_reach && holds));
        let reach = |launch: InFlight| InFlight { in_reach: launch.in_reach && waited, ..launch };
        std::iter::once(own).chain(before.map(reach)).collect()
    }

    /// `griddepcontrol.wait`: what the launch before did is there, and what that has waited for.
    pub fn previous_grid(&mut self, w: u32, lanes: u32) {
        let warp = &mut self.warps[w as usize];
        self.grid_used.entry(self.ctas[warp.cta as usize].home.cta).or_default().waited = true;
        for (stamp, _) in self.previous.iter().filter(|(_, launch)| launch.in_reach) {
            warp.split(lanes, |strand| strand.now.complete(*stamp));
        }
    }

    /// `griddepcontrol.launch_dependents`.
    pub fn launch_dependents(&mut self, w: u32, lanes: u32) {
        let warp = &self.warps[w as usize];
        let knows = |strand: &super::strand::Strand| {
            let mut in_reach = self.previous.iter().filter(|(_, launch)| launch.in_reach);
            in_reach.all(|(stamp, _)| strand.now.c.covers(*stamp))
        };
        let mut strands = warp.strands.iter().filter(|strand| strand.lanes & lanes != 0);
        if !strands.all(knows) {
            self.grid_used.entry(self.ctas[warp.cta as usize].home.cta).or_default().early = true;
        }
    }

    /// Memory that an earlier launch touched is touched by lanes that know nothing of its end.
    pub(super) fn check_previous(
        &mut self,
        w: u32,
        mask: u32,
        offsets: &Lanes64,
        bytes: usize,
        touch: Touch,
    ) {
        let warp = &self.warps[w as usize];
        let mut found = Vec::new();
        for (stamp, launch) in &self.previous {
            let early = warp.strands.iter().filter(|strand| !strand.now.c.covers(*stamp));
            let lanes = early.fold(0, |lanes, strand| lanes | strand.lanes) & mask;
            // Of lanes that meet several instructions each pair is told.
            let mut sites = HashMap::new();
            for lane in lanes_of(lanes) {
                if let Some(pair) = launch.conflict(offsets[lane] as usize, bytes, &touch) {
                    sites.entry(pair).or_insert(lane);
                }
            }
            let mut sites: Vec<_> = sites.into_iter().collect();
            sites.sort_unstable();
            let site = |site| (launch.program == self.program).then_some(site);
            found.extend(sites.into_iter().map(|((at, wrote), lane)| {
                let kernel = launch.kernel.clone();
                (lane, kernel, site(at), wrote, launch.in_reach)
            }));
        }
        for (lane, kernel, site, wrote, in_reach) in found {
            let early = Early { kernel: &kernel, site, wrote, in_reach };
            self.report_previous(w, lane as u32, offsets[lane], touch, &early);
        }
    }
}
