//! The search by demand: programs of which values are too many to be enumerated first.
//!
//! Where atomic operations race, a thread can run in more ways than anyone can count, but a condition asks for
//! few bytes. So this search begins with those: it gives the bytes that decide the condition a source, then
//! the bytes that decide what that source wrote, and so on. What a byte has to be is passed on where the
//! computation can be turned round (a sum of which one operand is known), and sources that cannot have
//! written it are left out. Reads that nothing asks for come last, and may return anything. Once all have
//! sources the values follow from them, and the ordinary search orders writes and fences.
//!
//! The answer is exact. It is for plain programs without branches (see `interleave`), and for conditions about
//! registers. Sources and dependencies that form a cycle are left out where values surely do not
//! justify themselves (8.10.4); if another cycle was left out, what was not found may still be there.

mod cycle;
mod domain;
mod expression;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::candidate::Candidate;
use crate::event::Event;
use crate::execution::{Decisions, Execution};
use crate::judge::{Asked, Verdict};
use crate::litmus::{Condition, Term};
use crate::local::{self, Local};
use crate::options::{Clauses, Options};
use crate::program::Program;
use crate::relation::Relation;
use crate::relevance::Depth;
use crate::search::{Flow, Goal, Search};

use cycle::same_manner;
use domain::{Bytes as Set, Sets};
use expression::{Expression, Flow as Bytes, Partial, Values, WIDTH};

/// Steps after which the search ends without an answer.
const STEPS: u64 = 400_000;

/// Whether the condition is reached, and what is seen of an execution that reaches it.
pub(crate) fn answer(
    program: &Program,
    condition: &Condition,
    options: &Options,
) -> Option<Option<Verdict>> {
    let mut registers_only = true;
    condition.terms(&mut |term| registers_only &= !matches!(term, Term::Memory(_)));
    if !registers_only
        || options.is_late()
        || options.clauses != Clauses::default()
        || !crate::interleave::is_plain(program)
    {
        return None;
    }
    let ways = |answers: Vec<Vec<u128>>| -> Option<Vec<Local>> {
        let answers = answers.into_iter().enumerate();
        answers.map(|(thread, all)| local::replay(program, options, thread, all)).collect()
    };
    let mut blank = ways(vec![vec![]; program.threads.len()])?;
    for access in blank.iter_mut().flat_map(|way| &mut way.events).filter_map(Event::access_mut) {
        access.any = true;
    }
    let candidate = Candidate::new(program, program, options, blank.iter().collect())?;
    let values = Values::new(&candidate)?;
    let written = domain::writes(&candidate, &values)?;
    let count = candidate.events.len();
    let mut search = Demand {
        condition,
        varying: cycle::varying(&candidate, &values),
        values,
        certain: domain::certain(&candidate, &written),
        written,
        chains: RefCell::default(),
        sources: HashMap::new(),
        decisions: Decisions { reads: vec![None; candidate.reads.len()], ..Decisions::default() },
        execution: Execution::default(),
        trial: Execution::default(),
        dependencies: dependencies(&candidate),
        position: positions(&candidate.reads, count),
        candidate,
        ways: &ways,
        steps: 0,
        options,
        unknown: false,
        circular: false,
        found: Verdict::default(),
    };
    for choice in &mut search.candidate.sources {
        choice.ways = vec![vec![]];
    }
    // Cycles are rarely of use: they are looked at only where nothing else is found.
    let mut flow = search.go();
    if flow == Flow::Continue && search.unknown {
        (search.unknown, search.circular) = (false, true);
        flow = search.go();
    }
    match flow {
        Flow::Found => Some(Some(search.found)),
        Flow::Continue if !search.unknown => Some(None),
        _ => None,
    }
}

/// For each event its place in a list.
fn positions(list: &[usize], count: usize) -> Vec<usize> {
    let mut all = vec![usize::MAX; count];
    list.iter().enumerate().for_each(|(at, event)| all[*event] = at);
    all
}

/// From reads to the writes of the same thread whose values depend on them.
fn dependencies(candidate: &Candidate<'_>) -> Relation {
    let mut all = Relation::new(candidate.events.len());
    for (thread, way) in candidate.ways.iter().enumerate() {
        let start = candidate.starts[thread];
        for (event, depends) in way.depends.iter().enumerate() {
            for read in (0..event).filter(|read| way.events[*read].is_read()) {
                if depends >> read.min(127) & 1 == 1 {
                    all.add(start + read, start + event);
                }
            }
        }
    }
    all
}

/// From where a byte is read: a write, or the initial contents.
type Source = Option<usize>;

/// A byte of memory, what it has to be, and the writes that do not feed it.
type Chain = ((usize, u32), u8, u128);

struct Demand<'a, 'w> {
    condition: &'a Condition,
    candidate: Candidate<'w>,
    values: Values,
    /// What writes can write.
    written: Vec<Sets>,
    /// What reads return in any case.
    certain: Vec<Partial>,
    /// Writes that can write different values, whatever reads have returned elsewhere.
    varying: Vec<bool>,
    /// Answers of `can_read`.
    chains: RefCell<HashMap<Chain, bool>>,
    /// The sources of bytes of reads, so far.
    sources: HashMap<(usize, usize), Source>,
    /// The same for the axioms; each read has one way, which grows.
    decisions: Decisions,
    execution: Execution,
    /// What follows if a pair is ordered.
    trial: Execution,
    dependencies: Relation,
    /// For each read its position among the reads.
    position: Vec<usize>,
    ways: &'a dyn Fn(Vec<Vec<u128>>) -> Option<Vec<Local>>,
    steps: u64,
    options: &'a Options,
    /// Something was left out.
    unknown: bool,
    /// Cycles of which it is not sure that nothing justifies them are looked at.
    circular: bool,
    found: Verdict,
}

impl Demand<'_, '_> {
    /// Gives the next byte that is asked for a source.
    fn go(&mut self) -> Flow {
        let known = self.known();
        let value = |term| match term {
            Term::Register(thread, register) => {
                let value = self.values.registers[thread][register].value(&known);
                value.is_whole().then_some(value.value)
            }
            _ => None,
        };
        let answer = self.condition.evaluate(&value);
        if answer == Some(false) {
            return Flow::Continue;
        }
        let mut needs = Needs { demand: self, known: &known, bytes: HashMap::new() };
        if !needs.condition(self.condition) {
            return Flow::Continue;
        }
        let needs = needs.bytes;
        if answer == Some(true) {
            return self.rest();
        }
        let mut best: Option<((usize, usize), Vec<Source>)> = None;
        for byte in self.demanded(&known) {
            let sources = self.possible(byte, needs.get(&byte), &known);
            let better = match &best {
                None => true,
                Some((other, known)) => {
                    let rank =
                        |byte, sources: &Vec<Source>| (!needs.contains_key(&byte), sources.len());
                    rank(byte, &sources) < rank(*other, known)
                }
            };
            if better {
                best = Some((byte, sources));
            }
        }
        // Nothing more decides the condition, and it is not known: values go round in a cycle.
        let Some((byte, sources)) = best else {
            self.unknown = true;
            return Flow::Continue;
        };
        self.each(byte, sources, Self::go)
    }

    /// Tries the sources of a byte, one by one.
    fn each(
        &mut self,
        byte: (usize, usize),
        sources: Vec<Source>,
        next: fn(&mut Self) -> Flow,
    ) -> Flow {
        let at = self.position[byte.0];
        let (writes, fences) = (self.decisions.writes.len(), self.decisions.fences.len());
        for source in sources {
            let granule = self.granule(byte);
            let before = self.candidate.sources[at].ways[0].len();
            if !self.candidate.sources[at].ways[0].contains(&(granule, source)) {
                self.candidate.sources[at].ways[0].push((granule, source));
            }
            let first = self.decisions.reads[at].replace(0);
            self.sources.insert(byte, source);
            self.steps += 1;
            let flow = if self.steps > STEPS || self.options.is_late() {
                Flow::GiveUp
            } else if self.is_consistent() && self.settle() {
                next(self)
            } else {
                Flow::Continue
            };
            self.decisions.writes.truncate(writes);
            self.decisions.fences.truncate(fences);
            self.sources.remove(&byte);
            self.candidate.sources[at].ways[0].truncate(before);
            self.decisions.reads[at] = first;
            if flow != Flow::Continue {
                return flow;
            }
        }
        Flow::Continue
    }

    fn is_consistent(&mut self) -> bool {
        if !self.flow().is_acyclic() {
            let unjustified = self.is_unjustified(&|_, _| true);
            if unjustified || !self.circular {
                self.unknown |= !unjustified;
                return false;
            }
        }
        self.execution.derive(&self.candidate, &self.candidate.graph, &self.decisions)
    }

    /// Orders every pair of writes and fences of which only one direction is consistent with the sources so far.
    /// Says whether all pairs have one.
    fn settle(&mut self) -> bool {
        let (candidate, decisions) = (&self.candidate, &mut self.decisions);
        let mut settled = true;
        for &(a, b) in &candidate.write_pairs {
            let coherence = &self.execution.coherence;
            if coherence.has(a, b) || coherence.has(b, a) {
                continue;
            }
            // Of a large program each derivation takes long.
            if self.options.is_late() {
                self.unknown = true;
                return false;
            }
            let [forwards, backwards] = [(a, b), (b, a)].map(|pair| {
                decisions.writes.push(pair);
                let holds = self.trial.derive(candidate, &candidate.graph, decisions);
                decisions.writes.pop();
                holds
            });
            self.steps += 1;
            match (forwards, backwards) {
                (true, true) => continue,
                (true, false) => decisions.writes.push((a, b)),
                (false, true) => decisions.writes.push((b, a)),
                (false, false) => return false,
            }
            settled = self.execution.derive(candidate, &candidate.graph, decisions);
            if !settled {
                return false;
            }
        }
        settled
    }

    /// Sources and dependencies.
    fn flow(&self) -> Relation {
        let mut flow = self.dependencies.clone();
        for (&read, choice) in self.candidate.reads.iter().zip(&self.candidate.sources) {
            for write in choice.ways[0].iter().filter_map(|(_, write)| *write) {
                flow.add(write, read);
            }
        }
        flow
    }

    /// Whether nothing can justify the writes of a cycle. The first of them would have to be fixed while the
    /// reads of the cycle may return anything; so it is not, if it can write two different values, and if
    /// its thread does not write the `same` in the same manner later, outside of the cycle. Nor is it the
    /// write of an atomic operation whose read waits for the cycle.
    fn is_unjustified(&self, same: &dyn Fn(usize, usize) -> bool) -> bool {
        let mut flow = self.flow();
        flow.close();
        let events = &self.candidate.events;
        let member = |event: usize| flow.has(event, event);
        let mut writes = self.candidate.writes.iter().copied().filter(|write| member(*write));
        writes.all(|write| {
            let mut later = self.candidate.writes.iter().filter(|other| {
                events[write].precedes(&events[**other])
                    && same_manner(&events[write], &events[**other])
            });
            let partner = events[write].access().and_then(|access| access.partner);
            partner.is_some_and(member)
                || self.varying[write] && later.all(|other| member(*other) || !same(write, *other))
        })
    }

    /// What is known of each read: bytes that can have one value only, and what follows from the sources.
    fn known(&self) -> Vec<Partial> {
        let mut known = self.certain.clone();
        loop {
            let mut grown = false;
            for (&(read, at), source) in &self.sources {
                if known[read].byte(at).is_some() {
                    continue;
                }
                let byte = match source {
                    None => Some(self.first(read, at)),
                    Some(write) => self.values.writes[*write]
                        .as_ref()
                        .and_then(|value| value.value(&known).byte(self.byte_of(*write, read, at))),
                };
                if let Some(byte) = byte {
                    known[read].set(at, byte);
                    grown = true;
                }
            }
            if !grown {
                return known;
            }
        }
    }

    /// The byte of memory that a read's byte is; where it lies in memory.
    fn place(&self, read: usize, at: usize) -> (usize, u32) {
        let access = self.candidate.events[read].access();
        access.map_or((0, 0), |access| (access.memory, access.offset + at as u32))
    }

    fn first(&self, read: usize, at: usize) -> u8 {
        let (memory, place) = self.place(read, at);
        self.candidate.program.memories[memory].init[place as usize]
    }

    /// Which byte of a write a read's byte is.
    fn byte_of(&self, write: usize, read: usize, at: usize) -> usize {
        let (_, place) = self.place(read, at);
        let first = self.candidate.events[write].access().map_or(0, |access| access.offset);
        (place - first) as usize
    }

    fn granule(&self, (read, at): (usize, usize)) -> usize {
        let (_, place) = self.place(read, at);
        let choice = &self.candidate.sources[self.position[read]];
        choice.bytes.iter().position(|bytes| bytes.contains(&place)).unwrap_or(0)
    }

    /// Bytes without a source on which the condition depends.
    fn demanded(&self, known: &[Partial]) -> Vec<(usize, usize)> {
        let mut open = vec![];
        let mut seen = std::collections::HashSet::new();
        let mut work = vec![];
        self.condition.terms(&mut |term| {
            if let Term::Register(thread, register) = term {
                let value = &self.values.registers[thread][register];
                for at in 0..WIDTH {
                    value.leaves(at, &mut |read, at| work.push((read, at)));
                }
            }
        });
        work.reverse();
        while let Some((read, at)) = work.pop() {
            if known[read].byte(at).is_some() || !seen.insert((read, at)) {
                continue;
            }
            match self.sources.get(&(read, at)) {
                None => open.push((read, at)),
                Some(None) => {}
                Some(Some(write)) => {
                    if let Some(value) = &self.values.writes[*write] {
                        let byte = self.byte_of(*write, read, at);
                        value.leaves(byte, &mut |read, at| work.push((read, at)));
                    }
                }
            }
        }
        open
    }

    /// The sources that a byte can have, given what it has to be.
    fn possible(
        &self,
        byte: (usize, usize),
        need: Option<&Need>,
        known: &[Partial],
    ) -> Vec<Source> {
        let (read, at) = byte;
        let choice = &self.candidate.sources[self.position[read]];
        let granule = self.granule(byte);
        let chosen: Vec<Source> = choice.ways[0]
            .iter()
            .filter_map(|(of, source)| (*of == granule).then_some(*source))
            .collect();
        let partner = self.candidate.events[read].access().and_then(|access| access.partner);
        let covers = choice.granules[granule].iter().copied().filter(|w| Some(*w) != partner);
        let now = |source: Source| match source {
            None => Some(self.first(read, at)),
            Some(write) => self.values.writes[write]
                .as_ref()
                .and_then(|value| value.value(known).byte(self.byte_of(write, read, at))),
        };
        let all = std::iter::once(None).chain(covers.map(Some));
        let mut fits: Vec<Source> = all
            .filter(|source| {
                need.is_none_or(|need| match (now(*source), source) {
                    (Some(byte), _) => need.bytes.has(byte),
                    (None, Some(write)) => {
                        let at = self.byte_of(*write, read, at);
                        let mut bytes = need.bytes.each();
                        bytes.any(|byte| self.can_write(*write, at, byte, need.users))
                    }
                    (None, None) => false,
                })
            })
            .collect();
        // Sources that the read has anyway come first. If one gives what is needed, no other can do better.
        fits.sort_by_key(|source| !chosen.contains(source));
        if need.is_some_and(|need| need.bytes.single().is_some())
            && let Some(best) = fits.iter().find(|s| chosen.contains(s) && now(**s).is_some())
        {
            return vec![*best];
        }
        fits
    }

    /// Whether some chain of writes, none of them twice and none of the `users`, can lead to a byte of memory;
    /// more rather than fewer.
    fn can_read(&self, place: (usize, u32), need: u8, users: u128) -> bool {
        let (memory, at) = place;
        if self.candidate.program.memories[memory].init[at as usize] == need {
            return true;
        }
        let question = (place, need, users);
        if let Some(known) = self.chains.borrow().get(&question) {
            return *known;
        }
        let answer = self.candidate.writes.iter().any(|&write| {
            let access = self.candidate.events[write].access();
            access.is_some_and(|access| {
                access.memory == memory
                    && (access.offset..access.offset + access.bytes).contains(&at)
                    && self.can_write(write, (at - access.offset) as usize, need, users)
            })
        });
        self.chains.borrow_mut().insert(question, answer);
        answer
    }

    fn can_write(&self, write: usize, at: usize, need: u8, users: u128) -> bool {
        let own = self.user(write);
        if users & own != 0 || !self.written[write][at].has(need) {
            return false;
        }
        let users = users | own;
        match self.values.writes[write].as_deref() {
            Some(value) => self.can_be(value, at, need, users),
            None => true,
        }
    }

    fn can_be(&self, value: &Expression, at: usize, need: u8, users: u128) -> bool {
        if let Some(byte) = value.value(&self.certain).byte(at) {
            return byte == need;
        }
        match value {
            Expression::Read(event, ty) if at < ty.bytes as usize => {
                self.can_read(self.place(*event, at), need, users)
            }
            Expression::Compute(function, ty, [a, b, c]) if at < ty.bytes as usize => {
                let [p, q, r] = [a, b, c].map(|operand| operand.value(&self.certain).byte(at));
                match (function.flow(), p, q) {
                    (Bytes::Copy(0), ..) => self.can_be(a, at, need, users),
                    (Bytes::Copy(_), ..) => self.can_be(b, at, need, users),
                    (Bytes::Sum, None, Some(q)) if at == 0 => {
                        self.can_be(a, at, need.wrapping_sub(q), users)
                    }
                    (Bytes::Sum, Some(p), None) if at == 0 => {
                        self.can_be(b, at, need.wrapping_sub(p), users)
                    }
                    (Bytes::Bytewise(true), None, Some(q)) => self.can_be(a, at, need ^ q, users),
                    (Bytes::Bytewise(true), Some(p), None) => self.can_be(b, at, need ^ p, users),
                    (Bytes::Compare, ..) => {
                        r.is_none_or(|new| new == need) || self.can_be(a, at, need, users)
                    }
                    _ => true,
                }
            }
            _ => true,
        }
    }

    /// A write as a member of a set. Those past the 128th are in none.
    fn user(&self, write: usize) -> u128 {
        let at = self.candidate.writes.iter().position(|known| *known == write);
        at.and_then(|at| 1u128.checked_shl(at as u32)).unwrap_or(0)
    }

    /// The condition holds. Gives the next read that nothing asked for a source.
    fn rest(&mut self) -> Flow {
        for &read in &self.candidate.reads {
            let choice = &self.candidate.sources[self.position[read]];
            for (granule, bytes) in choice.bytes.iter().enumerate() {
                if choice.ways[0].iter().any(|(known, _)| *known == granule) {
                    continue;
                }
                let offset = self.candidate.events[read].access().map_or(0, |a| a.offset);
                let byte = (read, (bytes[0] - offset) as usize);
                let mut sources = self.possible(byte, None, &[]);
                // A thread's own last write first.
                let own = |source: &Source| {
                    source.is_some_and(|write| {
                        self.candidate.events[write].precedes(&self.candidate.events[read])
                    })
                };
                sources.sort_by_key(|source| (!own(source), std::cmp::Reverse(*source)));
                return self.each(byte, sources, Self::rest);
            }
        }
        self.order()
    }

    /// All reads have sources: what is left are the orders of writes and of fences.
    fn order(&mut self) -> Flow {
        let mut filled = vec![];
        for &read in &self.candidate.reads {
            let choice = &self.candidate.sources[self.position[read]];
            let Some(access) = self.candidate.events[read].access() else { continue };
            for (granule, source) in &choice.ways[0] {
                for place in &choice.bytes[*granule] {
                    filled.push(((read, (place - access.offset) as usize), *source));
                }
            }
        }
        let before = self.sources.clone();
        for (byte, source) in filled {
            self.sources.entry(byte).or_insert(source);
        }
        let known = self.known();
        self.sources = before;
        if !self.flow().is_acyclic() {
            let written = |write: usize| {
                let bytes = self.candidate.events[write].access().map_or(0, |a| a.bytes as usize);
                let value = self.values.writes[write].as_ref().map(|value| value.value(&known));
                value.filter(|value| value.prefix() >= bytes).map(|value| value.low(bytes))
            };
            let same = |a: usize, b: usize| match (written(a), written(b)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            self.unknown |= !self.is_unjustified(&same);
            return Flow::Continue;
        }
        let mut answers = vec![vec![]; self.candidate.program.threads.len()];
        for &read in &self.candidate.reads {
            answers[self.candidate.events[read].thread].push(known[read].value);
        }
        let Some(ways) = (self.ways)(answers) else { return Flow::GiveUp };
        let (program, options) = (self.candidate.program, self.candidate.options);
        let Some(mut candidate) = Candidate::new(program, program, options, ways.iter().collect())
        else {
            return Flow::Continue;
        };
        for (choice, own) in candidate.sources.iter_mut().zip(&self.candidate.sources) {
            choice.ways.clone_from(&own.ways);
        }
        let ways: Vec<Vec<Local>> = ways.iter().map(|way| vec![way.clone()]).collect();
        let asked = Asked::new(program, self.condition, options, Depth::All);
        let goal = Goal::Condition;
        let mut search = Search::new(&asked, self.condition, options, &ways, goal, Depth::All);
        let flow = search.order(&candidate, &self.decisions);
        self.steps += search.steps;
        if flow == Flow::Found {
            self.found = std::mem::take(&mut search.verdict);
        }
        flow
    }
}

/// What a byte has to be.
#[derive(Clone, Copy, Debug)]
struct Need {
    bytes: Set,
    /// The writes whose values depend on it: they do not feed it.
    users: u128,
}

/// What bytes have to be, so that the condition holds.
struct Needs<'d, 'a, 'w> {
    demand: &'d Demand<'a, 'w>,
    known: &'d [Partial],
    bytes: HashMap<(usize, usize), Need>,
}

impl Needs<'_, '_, '_> {
    /// What the equalities ask for. Says whether that can be.
    fn condition(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::And(all) => all.iter().all(|condition| self.condition(condition)),
            Condition::Equal(Term::Register(thread, register), Term::Number(number), false)
            | Condition::Equal(Term::Number(number), Term::Register(thread, register), false) => {
                let value = &self.demand.values.registers[*thread][*register];
                let bytes = number.to_le_bytes();
                bytes.iter().enumerate().all(|(at, byte)| {
                    self.require(value, at, Need { bytes: Set::one(*byte), users: 0 })
                })
            }
            _ => true,
        }
    }

    fn require(&mut self, value: &Expression, at: usize, need: Need) -> bool {
        if let Some(byte) = value.value(self.known).byte(at) {
            return need.bytes.has(byte);
        }
        match value {
            Expression::Read(event, ty) if at < ty.bytes as usize => self.read(*event, at, need),
            Expression::Compute(function, ty, operands) if at < ty.bytes as usize => {
                self.computed(function.flow(), operands.each_ref().map(|o| &**o), at, need)
            }
            _ => true,
        }
    }

    /// What a result has to be tells what an operand has to be, if the others are known.
    fn computed(&mut self, flow: Bytes, operands: [&Expression; 3], at: usize, need: Need) -> bool {
        let [a, b, _] = operands;
        let known = operands.map(|operand| operand.value(self.known));
        let (p, q) = (known[0].byte(at), known[1].byte(at));
        let with = |bytes: Set| Need { bytes, ..need };
        match flow {
            Bytes::Copy(from) => self.require(operands[from], at, need),
            Bytes::Bytewise(true) => {
                let Some((open, byte)) = one_known(a, b, p, q) else { return true };
                self.require(open, at, with(need.bytes.map(|result| result ^ byte)))
            }
            Bytes::Sum => {
                let Some((open, byte)) = one_known(a, b, p, q) else { return true };
                let mut bytes = Set::default();
                for carry in self.carries(known, at) {
                    bytes.union(need.bytes.map(|sum| sum.wrapping_sub(byte).wrapping_sub(*carry)));
                }
                self.require(open, at, with(bytes))
            }
            Bytes::Compare => {
                let mut bytes = need.bytes;
                if known[2].byte(at).is_none_or(|new| need.bytes.has(new)) {
                    let Some(compared) = q else { return true };
                    bytes.add(compared);
                }
                self.require(a, at, with(bytes))
            }
            Bytes::Bytewise(false) | Bytes::Whole => true,
        }
    }

    /// What lower bytes can carry into byte `at` of a sum.
    fn carries(&self, operands: [Partial; 3], at: usize) -> &'static [u8] {
        if operands[0].prefix() < at || operands[1].prefix() < at {
            return &[0, 1];
        }
        let sum = operands[0].low(at).wrapping_add(operands[1].low(at));
        if sum >> (8 * at) & 1 == 0 { &[0] } else { &[1] }
    }

    fn read(&mut self, read: usize, at: usize, need: Need) -> bool {
        let all = self.bytes.entry((read, at)).or_insert(need);
        all.bytes.intersect(need.bytes);
        all.users |= need.users;
        let need = *all;
        if need.bytes.is_empty() {
            return false;
        }
        match self.demand.sources.get(&(read, at)) {
            Some(Some(write)) => match &self.demand.values.writes[*write] {
                Some(value) => {
                    let byte = self.demand.byte_of(*write, read, at);
                    let users = need.users | self.demand.user(*write);
                    if users == need.users {
                        // It decides itself, and what it is remains open.
                        return true;
                    }
                    self.require(value, byte, Need { users, ..need })
                }
                None => true,
            },
            Some(None) => need.bytes.has(self.demand.first(read, at)),
            None => !self.demand.possible((read, at), Some(&need), self.known).is_empty(),
        }
    }
}

/// The operand of which a byte is open, and that byte of the other, if one is known.
fn one_known<'e>(
    a: &'e Expression,
    b: &'e Expression,
    p: Option<u8>,
    q: Option<u8>,
) -> Option<(&'e Expression, u8)> {
    match (p, q) {
        (None, Some(byte)) => Some((a, byte)),
        (Some(byte), None) => Some((b, byte)),
        _ => None,
    }
}
