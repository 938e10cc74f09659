//! The description from which both judges get their program.
//!
//! A program is a list of warps. The lines of a warp are executed by all of its lanes that take part, or by some of
//! them; so lanes run together, and part. Between rounds the threads of a CTA or of a cluster meet, or nobody does.

use baton_campaign::Random;

/// Scopes, by their names in PTX.
pub type Scope = &'static str;

/// The order of an access, with its scope if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Weak,
    Volatile,
    Strong(&'static str, Scope),
}

/// A word of memory: of global memory, or the one that each CTA has in its shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Global(usize),
    Shared,
}

pub const GLOBALS: [&str; 3] = ["x", "y", "f"];

/// Registers of a thread that are looked at in the end.
pub const REGISTERS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u32),
    /// One for each lane: the number and eight times the lane.
    Lane(u32),
    Register(usize),
}

impl Value {
    pub fn of(number: u32, lane: u32) -> u32 {
        number + 8 * lane
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    Exch,
    Cas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Load(Order, usize, Word),
    Store(Order, Word, Value),
    Atom(&'static str, Scope, Atomic, usize, Word),
    Red(&'static str, Scope, Word),
    Fence(&'static str, Scope),
    /// On to the end of the round unless the register has this value.
    Unless(usize, u32),
    /// An arrival on the mbarrier of the CTA.
    Arrive(&'static str, Scope),
    /// A look at its first phase, and on to the end of the round if that is open.
    Await(&'static str, Scope),
}

/// A line, and the lanes that execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub lanes: u32,
    pub line: Line,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warp {
    pub cta: u32,
    pub warp: u32,
    /// Those that take part.
    pub lanes: u32,
    /// By round.
    pub rounds: Vec<Vec<Step>>,
}

impl Warp {
    /// What one lane of it does.
    pub fn only(&self, lane: u32) -> Warp {
        let mut warp = Warp { lanes: 1 << lane, ..self.clone() };
        for round in &mut warp.rounds {
            round.retain(|step| step.lanes >> lane & 1 == 1);
            round.iter_mut().for_each(|step| step.lanes = 1 << lane);
        }
        warp
    }
}

/// What stands between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    Nobody,
    Cta,
    Cluster { relaxed: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// CTAs of a cluster.
    pub cluster: u32,
    pub warps: Vec<Warp>,
    pub meetings: Vec<Meeting>,
}

/// The lanes of a mask.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

impl Source {
    /// CTAs of the grid.
    pub fn ctas(&self) -> u32 {
        let used = self.warps.iter().map(|warp| warp.cta + 1).max().unwrap_or(1);
        used.next_multiple_of(self.cluster)
    }

    /// Warps of a CTA.
    pub fn height(&self) -> u32 {
        self.warps.iter().map(|warp| warp.warp + 1).max().unwrap_or(1)
    }

    /// Threads that take part: CTA, warp, lane, and which of the warps that is.
    pub fn threads(&self) -> Vec<(u32, u32, u32, usize)> {
        let of = |(at, warp): (usize, &Warp)| {
            let (cta, number) = (warp.cta, warp.warp);
            lanes_of(warp.lanes).map(move |lane| (cta, number, lane, at)).collect::<Vec<_>>()
        };
        self.warps.iter().enumerate().flat_map(of).collect()
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.warps.iter().flat_map(|warp| warp.rounds.iter().flatten())
    }

    /// Arrivals on the mbarrier of a CTA, of all threads.
    pub fn arrivals(&self, cta: u32) -> u32 {
        let warps = self.warps.iter().filter(|warp| warp.cta == cta);
        let steps = warps.flat_map(|warp| warp.rounds.iter().flatten());
        let arrive = steps.filter(|step| matches!(step.line, Line::Arrive(..)));
        arrive.map(|step| step.lanes.count_ones()).sum()
    }

    /// Whether the threads of a CTA use its mbarrier.
    pub fn has_mbarrier(&self, cta: u32) -> bool {
        let mut warps = self.warps.iter().filter(|warp| warp.cta == cta);
        warps.any(|warp| {
            let mut steps = warp.rounds.iter().flatten();
            steps.any(|step| matches!(step.line, Line::Arrive(..) | Line::Await(..)))
        })
    }

    /// Whether a thread may go by what is stored behind a barrier that it has yet to pass: one that is relaxed does not
    /// order that.
    pub fn reads_ahead(&self) -> bool {
        self.meetings.contains(&Meeting::Cluster { relaxed: true })
            && self.steps().any(|step| matches!(step.line, Line::Unless(..)))
    }

    /// A bound on the work of the model: what is read and written, each thread's by itself.
    pub fn size(&self) -> u32 {
        let weight = |line: &Line| match line {
            Line::Load(..) | Line::Store(..) | Line::Fence(..) => 1,
            Line::Atom(..) | Line::Red(..) | Line::Arrive(..) | Line::Await(..) => 2,
            Line::Unless(..) => 0,
        };
        self.steps().map(|step| weight(&step.line) * step.lanes.count_ones()).sum()
    }

    /// Simpler programs: without a line, a lane or a meeting, or with a line of fewer lanes.
    pub fn simpler(&self) -> Vec<Source> {
        let mut all = Vec::new();
        for at in 0..self.warps.len() {
            if self.warps.len() > 1 {
                let mut other = self.clone();
                other.warps.remove(at);
                all.push(other);
            }
            let Warp { lanes, rounds, .. } = &self.warps[at];
            if lanes.count_ones() > 1 {
                for lane in lanes_of(*lanes) {
                    let mut other = self.clone();
                    let warp = &mut other.warps[at];
                    warp.lanes &= !(1 << lane);
                    for round in &mut warp.rounds {
                        round.iter_mut().for_each(|step| step.lanes &= !(1 << lane));
                        round.retain(|step| step.lanes != 0);
                    }
                    all.push(other);
                }
            }
            for (round, steps) in rounds.iter().enumerate() {
                for (i, step) in steps.iter().enumerate() {
                    let mut other = self.clone();
                    other.warps[at].rounds[round].remove(i);
                    all.push(other);
                    if step.lanes.count_ones() > 1 {
                        for lane in lanes_of(step.lanes) {
                            let mut other = self.clone();
                            other.warps[at].rounds[round][i].lanes &= !(1 << lane);
                            all.push(other);
                        }
                    }
                }
            }
        }
        for at in 0..self.meetings.len() {
            if self.meetings[at] != Meeting::Nobody {
                let mut other = self.clone();
                other.meetings[at] = Meeting::Nobody;
                all.push(other);
            }
        }
        if self.cluster > 1 && !self.meetings.iter().any(|m| matches!(m, Meeting::Cluster { .. })) {
            all.push(Source { cluster: 1, ..self.clone() });
        }
        all
    }
}

/// Where a warp may be: CTA and number.
const PLACES: [(u32, u32); 6] = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 1), (2, 0)];
/// Which lanes may take part in a warp.
const LANES: [u32; 4] = [1, 1, 0b10_0001, 0b10_0011];

/// A random program whose [`size`](Source::size) is at most `most`, and not much less.
pub fn generate(random: &mut Random, most: u32) -> Source {
    loop {
        let source = draft(random);
        let threads = source.threads().len();
        if (most / 2 + 1..=most).contains(&source.size()) && (2..=4).contains(&threads) {
            return source;
        }
    }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn draft(random: &mut Random) -> Source {
    let cluster = pick(random, &[1, 2]);
    let meetings: Vec<Meeting> = match random.below(4) {
        0 | 1 if cluster == 1 => vec![Meeting::Cta],
        0 => vec![Meeting::Cta],
        1 => vec![Meeting::Cluster { relaxed: random.below(2) == 0 }],
        _ => vec![],
    };
    let mut warps: Vec<Warp> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (cta, warp) = pick(random, &PLACES);
        if warps.iter().any(|other| (other.cta, other.warp) == (cta, warp)) {
            continue;
        }
        let lanes = pick(random, &LANES);
        let rounds = (0..=meetings.len()).map(|_| round(random, lanes)).collect();
        warps.push(Warp { cta, warp, lanes, rounds });
    }
    Source { cluster, warps, meetings }
}

/// The lines of a warp up to the next meeting. Half of them are parts of a hand-over, so that programs without a race
/// are not rare.
fn round(random: &mut Random, lanes: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |random: &mut Random, line: Line| {
        let these = match random.below(3) {
            0 if lanes.count_ones() > 1 => 1 << pick(random, &lanes_of(lanes).collect::<Vec<_>>()),
            _ => lanes,
        };
        steps.push(Step { lanes: these, line: fit(line, these) });
    };
    for _ in 0..pick(random, &[0, 1, 1, 1, 2]) {
        match random.below(8) {
            0 | 1 => hand_over(random).into_iter().for_each(|line| add(random, line)),
            2 | 3 => take_over(random).into_iter().for_each(|line| add(random, line)),
            4 => {
                let line = Line::Arrive(
                    pick(random, &["release", "release", "relaxed"]),
                    barrier_scope(random),
                );
                let data = access(random, true);
                add(random, data);
                add(random, line);
            }
            5 => {
                let line = Line::Await(
                    pick(random, &["acquire", "acquire", "relaxed"]),
                    barrier_scope(random),
                );
                let data = access(random, false);
                add(random, line);
                add(random, data);
            }
            _ => {
                for _ in 0..1 + random.below(3) {
                    let line = any(random);
                    add(random, line);
                }
            }
        }
    }
    steps
}

/// Lanes that store together store different values: one value by the lanes of one instruction is silent by
/// agreement.
fn fit(line: Line, lanes: u32) -> Line {
    match line {
        Line::Store(order, at, Value::Number(number)) if lanes.count_ones() > 1 => {
            Line::Store(order, at, Value::Lane(number))
        }
        Line::Store(Order::Weak, at, Value::Register(_)) if lanes.count_ones() > 1 => {
            Line::Store(Order::Weak, at, Value::Lane(1))
        }
        line => line,
    }
}

fn barrier_scope(random: &mut Random) -> Scope {
    pick(random, &["cta", "cluster"])
}

fn scope(random: &mut Random) -> Scope {
    pick(random, &["gpu", "gpu", "gpu", "cta", "cluster", "sys"])
}

fn word(random: &mut Random) -> Word {
    pick(
        random,
        &[Word::Global(0), Word::Global(0), Word::Global(1), Word::Global(2), Word::Shared],
    )
}

/// A place of data, which is mostly accessed weakly.
fn data(random: &mut Random) -> Word {
    pick(random, &[Word::Global(0), Word::Global(0), Word::Shared, Word::Global(1)])
}

fn access(random: &mut Random, write: bool) -> Line {
    let at = data(random);
    match write {
        true => Line::Store(Order::Weak, at, Value::Number(1)),
        false => Line::Load(Order::Weak, random.below(REGISTERS), at),
    }
}

const FLAG: Word = Word::Global(2);

fn hand_over(random: &mut Random) -> Vec<Line> {
    let mut lines = vec![access(random, true)];
    let scope = scope(random);
    if random.below(2) == 0 {
        lines.push(Line::Fence(pick(random, &["acq_rel", "release", "sc", "acquire"]), scope));
    }
    let order = pick(
        random,
        &[Order::Strong("release", scope), Order::Strong("relaxed", scope), Order::Volatile],
    );
    lines.push(match random.below(4) {
        0 => Line::Atom(
            pick(random, &["release", "acq_rel", "relaxed"]),
            scope,
            Atomic::Add,
            2,
            FLAG,
        ),
        1 => Line::Red(pick(random, &["release", "relaxed"]), scope, FLAG),
        _ => Line::Store(order, FLAG, Value::Number(1)),
    });
    lines
}

fn take_over(random: &mut Random) -> Vec<Line> {
    let scope = scope(random);
    let order = pick(
        random,
        &[Order::Strong("acquire", scope), Order::Strong("relaxed", scope), Order::Volatile],
    );
    let mut lines = vec![match random.below(4) {
        0 => Line::Atom(
            pick(random, &["acquire", "acq_rel", "relaxed"]),
            scope,
            Atomic::Add,
            0,
            FLAG,
        ),
        _ => Line::Load(order, 0, FLAG),
    }];
    lines.push(Line::Unless(0, 1));
    if random.below(2) == 0 {
        lines.push(Line::Fence(pick(random, &["acq_rel", "acquire", "sc", "release"]), scope));
    }
    let write = random.below(3) == 0;
    lines.push(access(random, write));
    lines
}

fn any(random: &mut Random) -> Line {
    let (scope, at, to) = (scope(random), word(random), random.below(REGISTERS));
    match random.below(10) {
        0..=2 => {
            let strong = pick(random, &["relaxed", "relaxed", "acquire"]);
            let orders = [Order::Weak, Order::Volatile, Order::Strong(strong, scope)];
            Line::Load(pick(random, &orders), to, at)
        }
        3..=5 => {
            let strong = pick(random, &["relaxed", "relaxed", "release"]);
            let orders = [Order::Weak, Order::Volatile, Order::Strong(strong, scope)];
            let value = pick(
                random,
                &[Value::Number(1), Value::Number(2), Value::Lane(1), Value::Register(to)],
            );
            Line::Store(pick(random, &orders), at, value)
        }
        6 => {
            let kind = pick(random, &["relaxed", "acquire", "release", "acq_rel"]);
            Line::Atom(kind, scope, pick(random, &[Atomic::Add, Atomic::Exch, Atomic::Cas]), to, at)
        }
        7 => Line::Red(pick(random, &["relaxed", "release"]), scope, at),
        8 => Line::Fence(pick(random, &["sc", "sc", "acq_rel", "acquire", "release"]), scope),
        _ => Line::Unless(to, pick(random, &[0, 1])),
    }
}
