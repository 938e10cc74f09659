//! The search: every execution, or the one that the condition asks for.
//!
//! Threads get their ways one after the other, then reads their sources, then pairs of fence.sc and
//! of writes their order; the axioms are asked after each decision, and they are monotone, so what
//! breaks them is left at once. Interchangeable threads take their ways in ascending order only, and
//! what is found counts as often as there are ways to interchange them.
//!
//! Small programs are *enumerated*: the number of executions is known afterwards. Where the budget
//! does not suffice, the search is *directed*: ways that the condition excludes are not tried,
//! orders that only one direction allows are found by trying both, and the
//! first execution ends it. The answer is exact in both modes.

use std::collections::BTreeSet;

use crate::barrier::Meetings;
use crate::candidate::Candidate;
use crate::event::{Event, Kind};
use crate::execution::{Decisions, Execution};
use crate::finals::{combinations, final_values};
use crate::judge::{Asked, Incomplete, Outcome, Verdict};
use crate::litmus::{Condition, Term};
use crate::local::Local;
use crate::options::{Clause, Options};
use crate::program::Program;
use crate::race;
use crate::relation::Relation;
use crate::relevance::Depth;
use crate::thin_air;
use crate::undefined::{self, Undefined};
use crate::witness::Witness;

/// Steps that a candidate stands for.
const CANDIDATE: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Everything, with the number of executions.
    All,
    /// Every outcome.
    Outcomes,
    /// One execution that satisfies the condition.
    Condition,
    /// One execution with a race.
    Race,
    /// One execution that is undefined for another reason.
    Undefined,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Found,
    GiveUp,
}

pub(crate) struct Search<'a> {
    program: &'a Program,
    contents: &'a Program,
    condition: &'a Condition,
    options: &'a Options,
    ways: &'a [Vec<Local>],
    goal: Goal,
    depth: Depth,
    /// The search needs more values than are known.
    pub(crate) unknown: bool,
    pub(crate) budget: u64,
    pub(crate) steps: u64,
    /// The memories that the condition names.
    memories: BTreeSet<usize>,
    /// For each thread an earlier one that it can be interchanged with.
    pub(crate) twins: Vec<Option<usize>>,
    chosen: Vec<usize>,
    weight: u64,
    pub(crate) count: u64,
    /// Some executions stand for others: how many there are is not known.
    pub(crate) folded: bool,
    execution: Execution,
    /// Some candidate stays blocked at a barrier; some does not.
    blocked: [bool; 2],
    pub(crate) verdict: Verdict,
    pub(crate) outcomes: BTreeSet<Outcome>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        asked: &'a Asked<'a>,
        condition: &'a Condition,
        options: &'a Options,
        ways: &'a [Vec<Local>],
        goal: Goal,
        depth: Depth,
    ) -> Self {
        let program = asked.program();
        Self {
            program,
            contents: asked.plain,
            condition,
            options,
            ways,
            goal,
            depth,
            unknown: false,
            budget: options.budget,
            steps: 0,
            memories: {
                let mut named = BTreeSet::new();
                condition.terms(&mut |term| {
                    if let Term::Memory(memory) = term {
                        named.insert(memory);
                    }
                });
                named
            },
            twins: crate::symmetry::twins(program, condition, ways),
            chosen: vec![],
            weight: 1,
            count: 0,
            folded: false,
            execution: Execution::default(),
            blocked: [false; 2],
            verdict: Verdict::default(),
            outcomes: BTreeSet::new(),
        }
    }

    pub(crate) fn run(&mut self) -> Flow {
        self.threads()
    }

    /// Why a search of everything has found no execution.
    pub(crate) fn incomplete(&self) -> Incomplete {
        let threads = self.program.threads.iter().zip(self.ways);
        let mut without = threads.filter(|(_, ways)| ways.is_empty()).map(|(thread, _)| thread);
        match (without.next(), self.blocked) {
            (Some(thread), _) => Incomplete::Thread(thread.name.clone()),
            (None, [true, false]) => Incomplete::Barrier,
            _ => Incomplete::Inconsistent,
        }
    }

    /// Orders the writes and fences of a candidate whose reads have sources, as far as `decisions` leave that open.
    pub(crate) fn order(&mut self, candidate: &Candidate<'_>, decisions: &Decisions) -> Flow {
        self.orders(candidate, &candidate.graph, &mut decisions.clone())
    }

    /// Gives the next thread a way.
    fn threads(&mut self) -> Flow {
        let thread = self.chosen.len();
        if thread == self.ways.len() {
            return self.candidate();
        }
        let ways = self.ways;
        let first = self.twins[thread].map_or(0, |twin| self.chosen[twin]);
        for way in first..ways[thread].len() {
            self.chosen.push(way);
            let hopeless = self.goal == Goal::Condition && {
                // With this thread alone first: most ways are out by their own registers.
                let alone = self.possible(|other| (other == thread).then_some(way));
                alone == Some(false)
                    || self.possible(|t| self.chosen.get(t).copied()) == Some(false)
            };
            let flow = if hopeless { Flow::Continue } else { self.threads() };
            self.chosen.pop();
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    /// The condition where only some threads have a way.
    fn possible(&self, way: impl Fn(usize) -> Option<usize>) -> Option<bool> {
        self.condition.evaluate(&|term| match term {
            Term::Number(number) => Some(number),
            Term::Register(thread, register) => {
                way(thread).map(|way| self.ways[thread][way].registers[register])
            }
            Term::Memory(_) => None,
        })
    }

    fn is_spent(&self) -> bool {
        self.steps > self.budget || self.options.is_late()
    }

    /// All threads have a way.
    fn candidate(&mut self) -> Flow {
        self.steps += 1;
        if self.is_spent() {
            return Flow::GiveUp;
        }
        let ways: Vec<&Local> =
            self.chosen.iter().zip(self.ways).map(|(way, ways)| &ways[*way]).collect();
        if !self.fed(&ways) || self.goal == Goal::Condition && !self.can_end(&ways) {
            return Flow::Continue;
        }
        if self.goal == Goal::Undefined && !may_be_undefined(|| ways.iter().copied()) {
            return Flow::Continue;
        }
        let Some(candidate) = Candidate::new(self.program, self.contents, self.options, ways)
        else {
            return Flow::Continue;
        };
        // Putting one together is as much work as some steps of the search.
        self.steps += CANDIDATE;
        self.weight = crate::symmetry::weight(&self.twins, &self.chosen);
        let classes = crate::symmetry::classes(&self.twins, &self.chosen);
        let left = self.budget.saturating_sub(self.steps);
        let mut meetings = Meetings::new(&candidate, classes, left);
        let mut flow = Flow::Continue;
        let mut meets = false;
        meetings.each(&mut |meeting| {
            meets = true;
            let mut graph = candidate.graph.clone();
            for (a, b) in &meeting.edges {
                graph.add(*a, *b);
            }
            let mut decisions = Decisions {
                reads: candidate.sources.iter().map(|c| (c.ways.len() == 1).then_some(0)).collect(),
                meeting: meeting.edges,
                mixed: meeting.mixed,
                ..Decisions::default()
            };
            flow = self.reads(&candidate, &graph, &mut decisions);
            flow == Flow::Continue
        });
        self.blocked[usize::from(meets)] = true;
        self.steps += meetings.steps;
        self.folded |= meetings.folded;
        if meetings.gave_up() && flow == Flow::Continue { Flow::GiveUp } else { flow }
    }

    /// A quick look before a candidate is put together: whether each read's value is there at all.
    /// Where bytes could be mixed, the answer is left to the candidate.
    fn fed(&self, ways: &[&Local]) -> bool {
        let writes = || ways.iter().flat_map(|way| &way.events).filter(|event| event.is_write());
        ways.iter().flat_map(|way| &way.events).filter(|event| event.is_read()).all(|read| {
            let Some(access) = read.access().filter(|access| !access.any) else { return true };
            let init = &self.program.memories[access.memory].init;
            (0..access.bytes).all(|k| {
                init.get((access.offset + k) as usize) == Some(&access.byte(access.offset + k))
            }) || writes().filter_map(|write| write.access()).any(|write| {
                write.meets(access)
                    && (write.value == access.value || access.object == crate::event::Object::None)
            })
        })
    }

    /// A quick look whether final values can be those that the condition asks for: of each memory that is
    /// only written as a whole, the value of some write.
    fn can_end(&self, ways: &[&Local]) -> bool {
        let mut choices: Vec<(usize, Vec<u128>)> = vec![];
        for &memory in &self.memories {
            let declared = &self.program.memories[memory];
            let size = declared.init.len() as u32;
            let events = ways.iter().flat_map(|way| &way.events);
            let writes = events.filter(|event| event.is_write()).filter_map(Event::access);
            let mut values = vec![];
            let mut whole = declared.ty.bytes == size;
            for write in writes.filter(|write| write.memory == memory) {
                whole &= write.bytes == size;
                values.push(declared.ty.wrap(write.value));
            }
            if whole && !values.is_empty() {
                values.sort_unstable();
                values.dedup();
                choices.push((memory, values));
            }
        }
        let lists: Vec<Vec<u128>> = choices.iter().map(|(_, values)| values.clone()).collect();
        let found = combinations(&lists, &mut |values| {
            let value = |term| match term {
                Term::Number(number) => Some(number),
                Term::Register(thread, register) => Some(ways[thread].registers[register]),
                Term::Memory(memory) => {
                    choices.iter().position(|(known, _)| *known == memory).map(|at| values[at])
                }
            };
            (self.condition.evaluate(&value) != Some(false)).then_some(())
        });
        found.is_some()
    }

    fn derive(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &Decisions,
    ) -> bool {
        self.steps += 1;
        self.execution.derive(candidate, graph, decisions) && !self.is_hopeless(candidate)
    }

    /// Whether nothing that is still open can bring what is looked for: all conflicts are ordered, or no
    /// write that could still be the last has the value that the condition asks for.
    fn is_hopeless(&self, candidate: &Candidate<'_>) -> bool {
        match self.goal {
            Goal::Race => race::races(candidate, &self.execution).next().is_none(),
            Goal::Condition => !self.memories.is_empty() && self.satisfying(candidate).is_none(),
            Goal::All | Goal::Outcomes | Goal::Undefined => false,
        }
    }

    /// Gives the next read its sources.
    fn reads(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &mut Decisions,
    ) -> Flow {
        let Some(read) = decisions.reads.iter().position(Option::is_none) else {
            match thin_air::holds(candidate, decisions, self.ways, self.depth) {
                Some(true) => {}
                Some(false) => return Flow::Continue,
                None => {
                    self.unknown = true;
                    let all = matches!(self.goal, Goal::All | Goal::Outcomes);
                    return if all { Flow::GiveUp } else { Flow::Continue };
                }
            }
            return self.orders(candidate, graph, decisions);
        };
        if !self.derive(candidate, graph, decisions) {
            return Flow::Continue;
        }
        if self.is_spent() {
            return Flow::GiveUp;
        }
        for way in 0..candidate.sources[read].ways.len() {
            decisions.reads[read] = Some(way);
            let flow = self.reads(candidate, graph, decisions);
            decisions.reads[read] = None;
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    /// Orders the next pair of fence.sc or of writes.
    fn orders(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &mut Decisions,
    ) -> Flow {
        if !self.derive(candidate, graph, decisions) {
            return Flow::Continue;
        }
        if self.is_spent() {
            return Flow::GiveUp;
        }
        let (fences, writes) = (decisions.fences.len(), decisions.writes.len());
        let flow = self.next_order(candidate, graph, decisions);
        decisions.fences.truncate(fences);
        decisions.writes.truncate(writes);
        flow
    }

    fn next_order(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &mut Decisions,
    ) -> Flow {
        let directed = !matches!(self.goal, Goal::All | Goal::Outcomes);
        if directed && self.open(candidate, decisions).nth(MANY).is_some() {
            if !self.propagate(candidate, graph, decisions) {
                return Flow::Continue;
            }
            let flow = self.guess(candidate, graph, decisions);
            if flow != Flow::Continue || !self.derive(candidate, graph, decisions) {
                return flow;
            }
            if self.is_spent() {
                return Flow::GiveUp;
            }
        }
        let next = self.open(candidate, decisions).next();
        let Some((a, b, is_fence)) = next else { return self.complete(candidate, decisions) };
        for (a, b) in [(a, b), (b, a)] {
            let pairs = if is_fence { &mut decisions.fences } else { &mut decisions.writes };
            pairs.push((a, b));
            let flow = self.orders(candidate, graph, decisions);
            let pairs = if is_fence { &mut decisions.fences } else { &mut decisions.writes };
            pairs.pop();
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    /// Pairs that are to be ordered and are not yet; whether they are fences.
    fn open<'c>(
        &'c self,
        candidate: &'c Candidate<'_>,
        decisions: &'c Decisions,
    ) -> impl Iterator<Item = (usize, usize, bool)> + 'c {
        let strict = self.options.clauses.has(Clause::FenceSc);
        let fences = candidate.fence_pairs.iter().filter(move |(a, b)| {
            // The axiom Fence-SC: where causality orders two fences, their order follows it.
            let known = strict
                && (self.execution.base(candidate, *a, *b)
                    || self.execution.base(candidate, *b, *a));
            !known && !decisions.fences.contains(&(*a, *b)) && !decisions.fences.contains(&(*b, *a))
        });
        let writes = candidate.write_pairs.iter().filter(|(a, b)| {
            !self.execution.coherence.has(*a, *b) && !self.execution.coherence.has(*b, *a)
        });
        fences.map(|(a, b)| (*a, *b, true)).chain(writes.map(|(a, b)| (*a, *b, false)))
    }

    /// Orders every pair of which only one direction is consistent. Says whether all pairs still
    /// have one.
    fn propagate(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &mut Decisions,
    ) -> bool {
        loop {
            let mut forced = false;
            let open: Vec<_> = self.open(candidate, decisions).collect();
            for (a, b, is_fence) in open {
                let mut holds = [false; 2];
                for (possible, pair) in holds.iter_mut().zip([(a, b), (b, a)]) {
                    let pairs =
                        if is_fence { &mut decisions.fences } else { &mut decisions.writes };
                    pairs.push(pair);
                    *possible = self.derive(candidate, graph, decisions);
                    let pairs =
                        if is_fence { &mut decisions.fences } else { &mut decisions.writes };
                    pairs.pop();
                }
                let pair = match holds {
                    [false, false] => return false,
                    [true, true] => continue,
                    [true, false] => (a, b),
                    [false, true] => (b, a),
                };
                let pairs = if is_fence { &mut decisions.fences } else { &mut decisions.writes };
                pairs.push(pair);
                forced = true;
            }
            if !self.derive(candidate, graph, decisions) {
                return false;
            }
            if !forced || self.is_spent() {
                return true;
            }
        }
    }

    /// Orders everything that is open along one order that agrees with base causality. Mostly that
    /// is consistent; if not, the pairs are tried one by one.
    fn guess(
        &mut self,
        candidate: &Candidate<'_>,
        graph: &Relation,
        decisions: &Decisions,
    ) -> Flow {
        let mut rank: Vec<usize> = (0..candidate.events.len()).collect();
        let before: Vec<usize> = rank
            .iter()
            .map(|event| {
                rank.iter()
                    .filter(|other| {
                        self.execution.base(candidate, **other, *event)
                            || self.execution.coherence.has(**other, *event)
                    })
                    .count()
            })
            .collect();
        rank.sort_by_key(|event| (before[*event], *event));
        let place = |event: usize| rank.iter().position(|other| *other == event);
        let mut guess = decisions.clone();
        for (a, b, is_fence) in self.open(candidate, decisions) {
            let pair = if place(a) < place(b) { (a, b) } else { (b, a) };
            if is_fence { guess.fences.push(pair) } else { guess.writes.push(pair) }
        }
        if self.derive(candidate, graph, &guess) && self.open(candidate, &guess).next().is_none() {
            return self.complete(candidate, &guess);
        }
        Flow::Continue
    }

    /// A consistent, completed execution.
    fn complete(&mut self, candidate: &Candidate<'_>, decisions: &Decisions) -> Flow {
        self.count += self.weight;
        let of_ways = candidate.ways.iter().flat_map(|way| &way.undefined).copied();
        self.verdict.undefined.extend(of_ways.chain(decisions.mixed.then_some(Undefined::Votes)));
        if undefined::initialises_again(candidate, &self.execution.coherence) {
            self.verdict.undefined.insert(Undefined::Again);
        }
        if self.goal == Goal::Undefined {
            let found = !self.verdict.undefined.is_empty();
            return if found { Flow::Found } else { Flow::Continue };
        }
        if self.goal == Goal::Outcomes {
            self.record(candidate);
        } else if !self.verdict.allowed && self.goal != Goal::Race {
            let memory = self.satisfying(candidate);
            if let Some(memory) = memory {
                self.verdict.allowed = true;
                self.verdict.witness =
                    Some(Witness::new(candidate, &self.execution, decisions, memory, None));
            }
        }
        let found = self.verdict.allowed && self.goal == Goal::Condition;
        if self.verdict.race != Some(false) && (found || self.goal != Goal::Condition) {
            let races: Vec<_> = race::races(candidate, &self.execution).collect();
            for race in &races {
                self.verdict.mixed_size |= race.mixed_size;
                self.verdict.undefined.extend(race.asynchronous.then_some(Undefined::Race));
            }
            if let (Some(race), None) = (races.first(), self.verdict.race) {
                self.verdict.race = Some(true);
                self.verdict.racing =
                    Some(Witness::new(candidate, &self.execution, decisions, vec![], Some(*race)));
            }
            if !races.is_empty() && self.goal == Goal::Race {
                return Flow::Found;
            }
        }
        if found { Flow::Found } else { Flow::Continue }
    }

    /// Final values that satisfy the condition, of the memories that it names; before everything is
    /// decided, values that may still be final.
    fn satisfying(&self, candidate: &Candidate<'_>) -> Option<Vec<(usize, u128)>> {
        let named = &self.memories;
        let choices: Vec<Vec<u128>> =
            named.iter().map(|memory| self.finals(candidate, *memory)).collect();
        combinations(&choices, &mut |values| {
            let memory: Vec<(usize, u128)> =
                named.iter().copied().zip(values.iter().copied()).collect();
            let value = |term| match term {
                Term::Number(number) => Some(number),
                Term::Register(thread, register) => Some(candidate.register(thread, register)),
                Term::Memory(memory_term) => {
                    memory.iter().find(|(m, _)| *m == memory_term).map(|(_, value)| *value)
                }
            };
            (self.condition.evaluate(&value) == Some(true)).then(|| memory.clone())
        })
    }

    fn record(&mut self, candidate: &Candidate<'_>) {
        let registers: Vec<Vec<u128>> =
            candidate.ways.iter().map(|way| way.registers.clone()).collect();
        let choices: Vec<Vec<u128>> =
            (0..self.program.memories.len()).map(|memory| self.finals(candidate, memory)).collect();
        let mut found = vec![];
        combinations(&choices, &mut |values| {
            found.push(Outcome { registers: registers.clone(), memory: values.to_vec() });
            None::<()>
        });
        self.outcomes.extend(found);
    }

    /// The values that a memory can have at the end: of any coherence-maximal write.
    fn finals(&self, candidate: &Candidate<'_>, memory: usize) -> Vec<u128> {
        final_values(candidate, &self.execution.coherence, memory)
    }
}

/// Whether threads on some of these ways do what may be undefined, races left aside.
pub(crate) fn may_be_undefined<'w, I: Iterator<Item = &'w Local>>(ways: impl Fn() -> I) -> bool {
    let votes = |event: &Event| matches!(event.kind, Kind::Arrive(_, Some(_)));
    ways().any(|way| !way.undefined.is_empty() || way.events.iter().any(votes))
        || undefined::may_initialise_again(ways().flat_map(|way| &way.events))
}

/// With more open pairs than this, a directed search looks for forced ones first.
const MANY: usize = 6;
