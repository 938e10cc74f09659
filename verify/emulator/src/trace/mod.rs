//! What ran when: a picture of one run.
//!
//! Time is virtual. A warp's clock counts its instructions; what wakes a warp hands its own clock on,
//! so that nothing begins before its cause; an engine of a CTA (bulk copies in and out, `cp.async`,
//! the tensor core) performs one operation after the other, each as long as it has bytes. So the
//! picture shows the order that the schedule chose and what waited for what, not durations on a GPU.

mod chrome;
mod timeline;

use std::collections::HashMap;

use crate::error::Site;

/// Spans that are kept; a longer run is cut off.
const MOST: usize = 200_000;

/// Who does something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// A warp, by its number in its CTA.
    Warp(u32),
    /// An engine.
    Engine(&'static str),
    /// The mbarrier at this shared address.
    Barrier(u32),
}

/// A row of the picture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// Index of the CTA in the grid.
    pub block: [u32; 3],
    /// In the CTA.
    pub actor: Actor,
}

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Instructions of a warp.
    Run,
    /// A warp waits.
    Wait,
    /// A copy.
    Copy,
    /// An operation of the tensor core.
    Tensor,
    /// A phase of an mbarrier, up to its completion.
    Phase,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its row.
    pub lane: Lane,
    /// Its kind.
    pub activity: Activity,
    /// In a few words.
    pub label: String,
    /// The instruction, where there is one.
    pub site: Option<Site>,
    /// When it began.
    pub start: u64,
    /// When it ended, later than it began.
    pub end: u64,
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// In the order in which they ended.
    pub spans: Vec<Span>,
    /// The run was longer than what is kept.
    pub cut: bool,
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Actor::Warp(warp) => write!(f, "warp {warp}"),
            Actor::Engine(engine) => f.write_str(engine),
            Actor::Barrier(address) => write!(f, "mbarrier {address:#x}"),
        }
    }
}

impl Activity {
    /// Its word in pictures.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Run => "run",
            Activity::Wait => "wait",
            Activity::Copy => "copy",
            Activity::Tensor => "tensor",
            Activity::Phase => "phase",
        }
    }
}

impl Trace {
    /// The lanes, CTA by CTA: warps, engines, barriers.
    pub fn lanes(&self) -> Vec<&Lane> {
        let mut lanes: Vec<&Lane> = self.spans.iter().map(|span| &span.lane).collect();
        lanes.sort_by_key(|lane| {
            let [x, y, z] = lane.block;
            ((z, y, x), &lane.actor)
        });
        lanes.dedup();
        lanes
    }

    /// The end of the last span.
    pub fn end(&self) -> u64 {
        self.spans.iter().map(|span| span.end).max().unwrap_or(0)
    }
}

impl Span {
    /// Everything about it, a line each.
    fn story(&self) -> Vec<String> {
        let mut lines = vec![self.label.clone()];
        if let Some(site) = &self.site {
            lines.push(format!("PTX line {}: {}", site.line, site.text));
            lines.extend(site.frames.iter().map(|frame| format!("at {frame}")));
        }
        lines.push(format!("{} to {} ({})", self.start, self.end, self.end - self.start));
        lines
    }
}

/// Where a warp is.
#[derive(Debug, Default)]
struct Clock {
    now: u64,
    /// Since when it waits, for what and where.
    waits: Option<(u64, String, Site)>,
}

/// Records a run.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    trace: Trace,
    /// By slot.
    warps: Vec<Clock>,
    engines: HashMap<Lane, u64>,
    /// Clock of what is running, and the instructions at which its turn began, with its lanes.
    now: u64,
    turn: Option<(u64, u64)>,
}

impl Recorder {
    /// A warp begins in this slot.
    pub fn begin(&mut self, slot: u32) {
        let slot = slot as usize;
        if self.warps.len() <= slot {
            self.warps.resize_with(slot + 1, Clock::default);
        }
        self.warps[slot] = Clock { now: self.now, waits: None };
    }

    /// A warp gets its turn.
    pub fn turn(&mut self, lane: Lane, slot: u32, instructions: u64, lanes: u32) {
        let clock = &mut self.warps[slot as usize];
        self.now = clock.now;
        self.turn = Some((instructions, u64::from(lanes.max(1))));
        if let Some((start, label, site)) = clock.waits.take() {
            let (site, end) = (Some(site), clock.now);
            self.add(Span { lane, activity: Activity::Wait, label, site, start, end });
        }
    }

    /// The clock of what is running, inside its turn.
    pub fn moment(&self, instructions: u64) -> u64 {
        let inside = self.turn.map_or(0, |(start, lanes)| (instructions - start) / lanes);
        self.now + inside
    }

    /// Its turn ends.
    pub fn ran(&mut self, lane: Lane, slot: u32, instructions: u64, site: Site) {
        let (start, end) = (self.now, self.moment(instructions).max(self.now + 1));
        self.turn = None;
        self.now = end;
        self.warps[slot as usize].now = end;
        // Turns that follow one another are one span.
        let last = self.trace.spans.iter_mut().rev().find(|span| span.lane == lane);
        if let Some(last) = last.filter(|last| last.activity == Activity::Run && last.end == start)
        {
            last.end = end;
            return;
        }
        let label = "runs".to_owned();
        self.add(Span { lane, activity: Activity::Run, label, site: Some(site), start, end });
    }

    /// It waits from now on.
    pub fn waits(&mut self, slot: u32, reason: String, site: Site) {
        let clock = &mut self.warps[slot as usize];
        clock.waits.get_or_insert((clock.now, reason, site));
    }

    /// It can go on, because of what is running.
    pub fn woken(&mut self, slot: u32, instructions: u64) {
        let now = self.moment(instructions);
        let clock = &mut self.warps[slot as usize];
        clock.now = clock.now.max(now);
    }

    /// An engine takes a step of what was issued at `issued`; what follows from it comes when the
    /// whole operation is done.
    pub fn step(&mut self, lane: &Lane, issued: u64, cost: u64) {
        let free = self.engines.get(lane).copied().unwrap_or(0);
        self.turn = None;
        self.now = issued.max(free) + cost;
    }

    /// It was the last step.
    pub fn performed(
        &mut self,
        lane: Lane,
        activity: Activity,
        (label, site): (String, Site),
        cost: u64,
    ) {
        let (start, end) = (self.now - cost, self.now);
        self.engines.insert(lane.clone(), end);
        self.add(Span { lane, activity, label, site: Some(site), start, end });
    }

    /// A phase of an mbarrier completes.
    pub fn phase(&mut self, lane: Lane, phase: u64, instructions: u64) {
        let end = self.moment(instructions);
        let start = self.engines.get(&lane).copied().unwrap_or(0);
        // A barrier completes phases one after the other, whoever's clock is behind.
        let end = end.max(start + 1);
        self.engines.insert(lane.clone(), end);
        let label = format!("phase {phase}");
        self.add(Span { lane, activity: Activity::Phase, label, site: None, start, end });
    }

    /// What was recorded; who still waits, waits to the end.
    pub fn end(mut self, lane: impl Fn(u32) -> Option<Lane>) -> Trace {
        let last = self.trace.spans.iter().map(|span| span.end).max().unwrap_or(0);
        for slot in 0..self.warps.len() {
            let Some((start, label, site)) = self.warps[slot].waits.take() else { continue };
            if let Some(lane) = lane(slot as u32) {
                let (site, end) = (Some(site), last.max(start + 1));
                self.add(Span { lane, activity: Activity::Wait, label, site, start, end });
            }
        }
        self.trace
    }

    fn add(&mut self, span: Span) {
        if span.end <= span.start {
            return;
        }
        if self.trace.spans.len() == MOST {
            self.trace.cut = true;
            return;
        }
        self.trace.spans.push(span);
    }
}
