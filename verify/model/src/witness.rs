//! An execution to look at: who did what, and which relations held.

use crate::candidate::Candidate;
use crate::event::{Event, Kind};
use crate::execution::{Decisions, Execution};
use crate::local;
use crate::program::Program;
use crate::race::Race;

mod dot;
mod svg;
mod text;

/// An execution, freed from the search that found it.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Names and places of the threads.
    pub threads: Vec<String>,
    /// The operations.
    pub events: Vec<Event>,
    /// What each says, and whether it read an initial value.
    pub labels: Vec<String>,
    /// Pairs of events.
    pub edges: Vec<Edge>,
    /// Reads of initial values.
    pub initial: Vec<usize>,
    /// Final values that the condition needed, by name.
    pub finals: Vec<(String, u128)>,
    /// Final registers, by `THREAD:REGISTER`.
    pub registers: Vec<(String, u128)>,
    /// The race, if this is an example of one.
    pub race: Option<(usize, usize)>,
}

/// A pair of events and the relation that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// From.
    pub from: usize,
    /// To.
    pub to: usize,
    /// Which relation.
    pub relation: Name,
}

/// The relations that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Reads-from.
    ReadsFrom,
    /// Coherence order.
    Coherence,
    /// From-reads.
    FromReads,
    /// Synchronises-with.
    Synchronises,
    /// Fence-SC order.
    FenceSc,
    /// A data race.
    Race,
}

impl Name {
    /// All, in the order of legends.
    pub const ALL: [Name; 6] = [
        Name::ReadsFrom,
        Name::Coherence,
        Name::FromReads,
        Name::Synchronises,
        Name::FenceSc,
        Name::Race,
    ];

    /// As the field abbreviates it.
    pub fn short(self) -> &'static str {
        match self {
            Name::ReadsFrom => "rf",
            Name::Coherence => "co",
            Name::FromReads => "fr",
            Name::Synchronises => "sync",
            Name::FenceSc => "sc",
            Name::Race => "race",
        }
    }

    /// In words.
    pub fn long(self) -> &'static str {
        match self {
            Name::ReadsFrom => "reads-from",
            Name::Coherence => "coherence order",
            Name::FromReads => "from-reads",
            Name::Synchronises => "synchronises with",
            Name::FenceSc => "Fence-SC order",
            Name::Race => "data race",
        }
    }

    /// The colour in drawings.
    pub fn colour(self) -> &'static str {
        match self {
            Name::ReadsFrom => "#c0392b",
            Name::Coherence => "#8e5a2b",
            Name::FromReads => "#d68910",
            Name::Synchronises => "#1f6fb2",
            Name::FenceSc => "#6c3483",
            Name::Race => "#e91e63",
        }
    }
}

impl Witness {
    /// What the search decided, and what follows.
    pub fn new(
        candidate: &Candidate<'_>,
        execution: &Execution,
        decisions: &Decisions,
        memory: Vec<(usize, u128)>,
        race: Option<Race>,
    ) -> Self {
        let program = candidate.program;
        let mut edges = vec![];
        let mut add = |from: usize, to: usize, relation: Name| {
            let edge = Edge { from, to, relation };
            if from != to && !edges.contains(&edge) {
                edges.push(edge);
            }
        };
        for (write, read) in execution.reads_from.pairs() {
            add(write, read, Name::ReadsFrom);
        }
        // Coherence and Fence-SC without what follows by transitivity.
        for (a, b) in execution.coherence.pairs() {
            let between = execution.coherence.successors(a).any(|m| execution.coherence.has(m, b));
            if !between && candidate.meeting.has(a, b) {
                add(a, b, Name::Coherence);
            }
        }
        for (read, write) in execution.from_reads.pairs() {
            let own = candidate.events[read].access().and_then(|access| access.partner);
            let earlier = execution
                .from_reads
                .successors(read)
                .any(|other| execution.coherence.has(other, write));
            if own != Some(write) && !earlier {
                add(read, write, Name::FromReads);
            }
        }
        let event_of = |node: usize| {
            let of = |nodes: &[usize]| nodes.iter().position(|n| *n == node);
            of(&candidate.done).or_else(|| of(&candidate.ordered)).unwrap_or(0)
        };
        let fences = &decisions.fences;
        for edge in &execution.synchronises {
            if !fences.contains(&(edge.from, edge.to)) {
                add(event_of(edge.from), event_of(edge.to), Name::Synchronises);
            }
        }
        for (from, to) in &decisions.meeting {
            let (from, to) = (event_of(*from), event_of(*to));
            if candidate.events[from].thread != candidate.events[to].thread {
                add(from, to, Name::Synchronises);
            }
        }
        for (a, b) in fences {
            add(*a, *b, Name::FenceSc);
        }
        if let Some(race) = race {
            add(race.a, race.b, Name::Race);
        }
        let mut initial = vec![];
        for (index, way) in decisions.reads.iter().enumerate() {
            if let Some(way) = way
                && candidate.sources[index].ways[*way].iter().any(|(_, source)| source.is_none())
            {
                initial.push(candidate.reads[index]);
            }
        }
        let (events, finals) = values(candidate, decisions);
        let labels = events.iter().enumerate().map(|(index, event)| {
            let source = if initial.contains(&index) { " (initial)" } else { "" };
            label(candidate, event) + source
        });
        let labels = labels.collect();
        let mut registers = vec![];
        for (thread, values) in program.threads.iter().zip(&finals) {
            for (name, value) in thread.registers.iter().zip(values) {
                registers.push((format!("{}:{name}", thread.name), *value));
            }
        }
        Witness {
            threads: program
                .threads
                .iter()
                .map(|thread| format!("{} ({})", thread.name, thread.place))
                .collect(),
            labels,
            edges,
            initial,
            finals: memory
                .into_iter()
                .map(|(memory, value)| {
                    let value = spelled_out(candidate, &events, memory, value);
                    (program.memories[memory].name.clone(), value)
                })
                .collect(),
            registers,
            race: race.map(|race| (race.a, race.b)),
            events,
        }
    }
}

/// The operations and final registers with all their values. The search leaves out those that matter to
/// nothing, and spells bytes in letters; the values follow from the sources of reads, once around for each
/// operation that passes one on.
fn values(candidate: &Candidate<'_>, decisions: &Decisions) -> (Vec<Event>, Vec<Vec<u128>>) {
    let mut events = candidate.events.clone();
    let mut registers: Vec<Vec<u128>> =
        candidate.ways.iter().map(|way| way.registers.clone()).collect();
    let left_out = events.iter().any(|event| event.access().is_some_and(|access| access.any));
    if !left_out && std::ptr::eq(candidate.program, candidate.contents) {
        return (events, registers);
    }
    for _ in 0..=events.len() {
        let before = events.clone();
        for (index, &read) in candidate.reads.iter().enumerate() {
            let (Some(way), Some(found)) =
                (decisions.reads[index], candidate.events[read].access())
            else {
                continue;
            };
            let choice = &candidate.sources[index];
            let init =
                |program: &Program, at: u32| program.memories[found.memory].init[at as usize];
            let mut value = 0;
            for (granule, bytes) in choice.bytes.iter().enumerate() {
                let sources = || choice.ways[way].iter().filter(|(of, _)| *of == granule);
                for &at in bytes {
                    // The source whose letter was read.
                    let fits = |write: Option<usize>| match write {
                        None => init(candidate.program, at) == found.byte(at),
                        Some(write) => candidate.events[write]
                            .access()
                            .is_some_and(|write| write.byte(at) == found.byte(at)),
                    };
                    let source = sources().find(|(_, write)| found.any || fits(*write));
                    let written = source.and_then(|(_, write)| before[(*write)?].access());
                    let byte = written.map_or(init(candidate.contents, at), |write| write.byte(at));
                    value |= u128::from(byte) << (8 * (at - found.offset));
                }
            }
            if let Some(access) = events[read].access_mut() {
                access.value = value;
            }
        }
        for (thread, &start) in candidate.starts.iter().enumerate() {
            let own = start..start + candidate.ways[thread].events.len();
            let answers = events[own.clone()].iter().filter_map(|event| match &event.kind {
                Kind::Read(access) => Some(access.value),
                Kind::Arrive(_, Some(ballot)) => Some(u128::from(ballot.result)),
                _ => None,
            });
            let (program, options) = (candidate.program, candidate.options);
            let replayed = local::replay(program, options, thread, answers.collect());
            let Some(again) = replayed.filter(|again| again.events.len() == own.len()) else {
                continue;
            };
            for (event, again) in events[own].iter_mut().zip(&again.events) {
                if let (Some(access), Some(new)) = (event.access_mut(), again.access()) {
                    access.value = new.value;
                }
            }
            registers[thread] = again.registers;
        }
        if events == before {
            break;
        }
    }
    (events, registers)
}

/// A final value as it is: that of the write, of the memory as a whole, that left these letters.
fn spelled_out(candidate: &Candidate<'_>, events: &[Event], memory: usize, value: u128) -> u128 {
    let ty = candidate.program.memories[memory].ty;
    let spelled = |event: &Event| {
        let access = event.access().filter(|access| event.is_write() && access.memory == memory)?;
        (access.bytes == ty.bytes).then(|| ty.wrap(access.value))
    };
    let write =
        candidate.writes.iter().find(|write| spelled(&candidate.events[**write]) == Some(value));
    write.and_then(|write| spelled(&events[*write])).unwrap_or(value)
}

/// What an operation is called in drawings: `W release.gpu [flag] = 1`.
fn label(candidate: &Candidate<'_>, event: &Event) -> String {
    let program = candidate.program;
    let access = |letter: &str, access: &crate::event::Access| {
        let view = program
            .views
            .iter()
            .find(|view| view.memory == access.memory && view.address == access.address)
            .map_or("?", |view| view.name.as_str());
        let at = if access.offset == 0 { String::new() } else { format!("+{}", access.offset) };
        let proxy = match access.proxy {
            crate::program::Proxy::Generic => String::new(),
            proxy => format!(" ({proxy})"),
        };
        format!("{letter} {} [{view}{at}] = {:#x}{proxy}", access.order, access.value)
    };
    match &event.kind {
        Kind::Read(a) => access(if a.is_atomic() { "RMW R" } else { "R" }, a),
        Kind::Write(a) => access(if a.is_atomic() { "RMW W" } else { "W" }, a),
        Kind::Wait(..) => "wait".to_owned(),
        _ => program.threads[event.thread]
            .code
            .get(event.instruction)
            .map_or_else(String::new, |instruction| instruction.text.clone()),
    }
}
