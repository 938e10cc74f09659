//! A second implementation, made to be read and not to be fast: generate everything, check everything.
//!
//! Values are guessed from a set that is closed under running the threads, every byte of every read
//! may come from every write of the right value, every pair of writes and of fences that has to be
//! related is related both ways, and then each definition of chapter 8 is evaluated as it stands, on
//! sets of pairs. It shares the parser and the shape of programs with the crate, and nothing else.
//! It knows what the random programs use: loads, stores, atomics, fences, alias and surface proxies,
//! barriers of one phase structure, forward branches; locations of one or two bytes.

use std::collections::{BTreeMap, BTreeSet};

use baton_model::Outcome;
use baton_model::program::{
    Address, Modify, Op, Operand, Order, Program, Proxy, ProxyFence, Semantics,
};
use baton_model::scope::{Placement, Scope};

type Pairs = BTreeSet<(usize, usize)>;

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Read,
    Write,
    Fence(Order),
    Proxy(ProxyFence),
    Arrive(u32),
    Wait(u32),
}

#[derive(Clone, Debug)]
struct Event {
    thread: usize,
    place: Placement,
    instruction: usize,
    at: usize,
    kind: Kind,
    memory: usize,
    address: usize,
    proxy: Proxy,
    bytes: Vec<u32>,
    value: u128,
    order: Order,
    /// An identity shared by the two halves of an atomic operation.
    atomic: Option<usize>,
    reduction: bool,
}

impl Event {
    fn is_memory(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Write)
    }

    fn byte(&self, at: u32) -> u8 {
        (self.value >> (8 * (at - self.bytes[0]))) as u8
    }

    fn strong(&self) -> bool {
        match &self.kind {
            Kind::Read | Kind::Write | Kind::Fence(_) => self.order.semantics != Semantics::Weak,
            _ => false,
        }
    }

    fn scope_holds(&self, other: &Event) -> bool {
        let (a, b) = (self.place, other.place);
        match self.order.scope {
            Scope::Cta => a.cta == b.cta,
            Scope::Cluster => a.cluster == b.cluster,
            Scope::Gpu => a.gpu == b.gpu,
            Scope::Sys => true,
        }
    }

    fn meets(&self, other: &Event) -> bool {
        self.is_memory()
            && other.is_memory()
            && self.memory == other.memory
            && self.bytes.iter().any(|byte| other.bytes.contains(byte))
    }

    fn overlaps(&self, other: &Event) -> bool {
        self.meets(other) && self.address == other.address
    }
}

#[derive(Clone, Debug)]
struct Run {
    events: Vec<Event>,
    registers: Vec<u128>,
}

/// All outcomes, and whether some consistent execution has a race.
pub fn outcomes(program: &Program) -> (BTreeSet<Outcome>, bool) {
    // Values per (memory, byte), closed under running all threads on them.
    let mut bytes: BTreeMap<(usize, u32), BTreeSet<u8>> = BTreeMap::new();
    for (memory, declared) in program.memories.iter().enumerate() {
        for (at, byte) in declared.init.iter().enumerate() {
            bytes.entry((memory, at as u32)).or_default().insert(*byte);
        }
    }
    let stores = program.threads.iter().map(|t| t.code.len()).sum::<usize>();
    let mut runs = vec![];
    for _ in 0..=stores {
        runs = (0..program.threads.len()).map(|t| thread_runs(program, t, &bytes)).collect();
        let before = bytes.clone();
        for event in runs.iter().flatten().flat_map(|run: &Run| &run.events) {
            if event.kind == Kind::Write {
                for at in &event.bytes {
                    bytes.entry((event.memory, *at)).or_default().insert(event.byte(*at));
                }
            }
        }
        if before == bytes {
            break;
        }
    }
    let mut found = (BTreeSet::new(), false);
    let mut chosen = vec![];
    choose(program, &runs, &mut chosen, &mut found);
    found
}

fn choose(
    program: &Program,
    runs: &[Vec<Run>],
    chosen: &mut Vec<usize>,
    found: &mut (BTreeSet<Outcome>, bool),
) {
    if chosen.len() == runs.len() {
        let picked: Vec<&Run> =
            chosen.iter().zip(runs).map(|(index, runs)| &runs[*index]).collect();
        candidate(program, &picked, runs, found);
        return;
    }
    for index in 0..runs[chosen.len()].len() {
        chosen.push(index);
        choose(program, runs, chosen, found);
        chosen.pop();
    }
}

fn thread_runs(
    program: &Program,
    thread: usize,
    bytes: &BTreeMap<(usize, u32), BTreeSet<u8>>,
) -> Vec<Run> {
    let code = &program.threads[thread];
    let mut open = vec![(0, vec![0u128; code.registers.len()], Vec::<Event>::new())];
    let mut done = vec![];
    while let Some((at, registers, events)) = open.pop() {
        let Some(instruction) = code.code.get(at) else {
            done.push(Run { events, registers });
            continue;
        };
        if let Some((register, negated)) = instruction.guard
            && (registers[register] != 0) == negated
        {
            open.push((at + 1, registers, events));
            continue;
        }
        let value = |operand: Operand| match operand {
            Operand::Register(register) => registers[register],
            Operand::Immediate(value) => value,
        };
        let event = |kind: Kind, address: Option<(Address, u32)>, order: Order| {
            let mut event = Event {
                thread,
                place: code.place,
                instruction: at,
                at: events.len(),
                kind,
                memory: 0,
                address: 0,
                proxy: Proxy::Generic,
                bytes: vec![],
                value: 0,
                order,
                atomic: None,
                reduction: false,
            };
            if let Some((Address::Named(view, offset), size)) = address {
                let view = &program.views[view];
                event.memory = view.memory;
                event.address = view.address;
                event.proxy = view.proxy;
                event.bytes = (offset as u32..offset as u32 + size).collect();
            }
            event
        };
        let answers = |event: &Event| -> Vec<u128> {
            let mut all = vec![0u128];
            for (index, at) in event.bytes.iter().enumerate() {
                all = all
                    .iter()
                    .flat_map(|value| {
                        bytes[&(event.memory, *at)]
                            .iter()
                            .map(move |byte| value | u128::from(*byte) << (8 * index))
                    })
                    .collect();
            }
            all
        };
        match &instruction.op {
            Op::Branch(target) => open.push((*target, registers, events)),
            Op::Alu(alu, ty, to, operands) => {
                let mut registers = registers.clone();
                registers[*to] = alu.compute(*ty, operands.map(value));
                open.push((at + 1, registers, events));
            }
            Op::Load(to, ty, order, _, address) => {
                let read = event(Kind::Read, Some((*address, ty.bytes)), *order);
                for answer in answers(&read) {
                    let (mut registers, mut events) = (registers.clone(), events.clone());
                    registers[to[0]] = answer;
                    events.push(Event { value: answer, ..read.clone() });
                    open.push((at + 1, registers, events));
                }
            }
            Op::Store(values, ty, order, _, address) => {
                let mut write = event(Kind::Write, Some((*address, ty.bytes)), *order);
                write.value = ty.wrap(value(values[0]));
                let mut events = events.clone();
                events.push(write);
                open.push((at + 1, registers, events));
            }
            Op::Rmw(rmw) => {
                let mut read = event(Kind::Read, Some((rmw.at, rmw.ty.bytes)), rmw.order);
                read.atomic = Some(thread * 1000 + at);
                read.reduction = rmw.reduction;
                read.order.semantics = match rmw.order.semantics {
                    Semantics::Release => Semantics::Relaxed,
                    Semantics::AcqRel => Semantics::Acquire,
                    other => other,
                };
                for answer in answers(&read) {
                    let (mut registers, mut events) = (registers.clone(), events.clone());
                    let (a, b) = (rmw.ty.wrap(value(rmw.args[0])), rmw.ty.wrap(value(rmw.args[1])));
                    let new = match rmw.modify {
                        Modify::Add => rmw.ty.wrap(answer.wrapping_add(a)),
                        Modify::Exchange => a,
                        Modify::CompareExchange => {
                            if answer == a {
                                b
                            } else {
                                answer
                            }
                        }
                        other => panic!("the random programs have no {other:?}"),
                    };
                    if let Some(to) = rmw.to {
                        registers[to] = answer;
                    }
                    let mut write = Event { kind: Kind::Write, value: new, ..read.clone() };
                    write.at += 1;
                    write.order.semantics = match rmw.order.semantics {
                        Semantics::Acquire => Semantics::Relaxed,
                        Semantics::AcqRel => Semantics::Release,
                        other => other,
                    };
                    events.push(Event { value: answer, ..read.clone() });
                    events.push(write);
                    open.push((at + 1, registers, events));
                }
            }
            Op::Fence(order, _) => {
                let mut events = events.clone();
                events.push(event(Kind::Fence(*order), None, *order));
                open.push((at + 1, registers, events));
            }
            Op::ProxyFence(fence, _) => {
                let mut events = events.clone();
                events.push(event(Kind::Proxy(*fence), None, Order::WEAK));
                open.push((at + 1, registers, events));
            }
            Op::Barrier { id, .. } => {
                let id = value(*id) as u32;
                let mut more = events.clone();
                more.push(event(Kind::Arrive(id), None, Order::WEAK));
                let mut wait = event(Kind::Wait(id), None, Order::WEAK);
                wait.at += 1;
                more.push(wait);
                open.push((at + 1, registers, more));
            }
            other => panic!("the random programs have no {other:?}"),
        }
    }
    done
}

/// One run for each thread.
fn candidate(
    program: &Program,
    picked: &[&Run],
    runs: &[Vec<Run>],
    found: &mut (BTreeSet<Outcome>, bool),
) {
    let events: Vec<Event> = picked.iter().flat_map(|run| run.events.clone()).collect();
    let all = 0..events.len();
    let mut po = Pairs::new();
    for a in all.clone() {
        for b in all.clone() {
            if events[a].thread == events[b].thread && events[a].at < events[b].at {
                po.insert((a, b));
            }
        }
    }
    // bar.sync of all threads of a block: the n-th of each meet, and all have as many.
    let mut barriers = Pairs::new();
    for a in all.clone() {
        let Kind::Arrive(id) = events[a].kind else { continue };
        let number = |e: usize| {
            all.clone()
                .filter(|o| {
                    events[*o].kind == events[e].kind
                        && events[*o].thread == events[e].thread
                        && events[*o].at < events[e].at
                })
                .count()
        };
        for (thread, declared) in program.threads.iter().enumerate() {
            if declared.place.cta != events[a].place.cta {
                continue;
            }
            let partner = all.clone().find(|w| {
                events[*w].kind == Kind::Wait(id)
                    && events[*w].thread == thread
                    && number(*w) == number(a)
            });
            let Some(partner) = partner else { return };
            barriers.insert((a, partner));
        }
    }
    if cyclic(&closure(&po.union(&barriers).copied().collect())) {
        return;
    }
    // Reads-from: for each byte of each read a write, or none for the initial value.
    let mut slots: Vec<(usize, u32, Vec<Option<usize>>)> = vec![];
    for read in all.clone().filter(|e| events[*e].kind == Kind::Read) {
        for at in &events[read].bytes {
            let mut sources = vec![];
            if program.memories[events[read].memory].init[*at as usize] == events[read].byte(*at) {
                sources.push(None);
            }
            for write in all.clone() {
                let own =
                    events[write].atomic.is_some() && events[write].atomic == events[read].atomic;
                if events[write].kind == Kind::Write
                    && events[write].memory == events[read].memory
                    && events[write].bytes.contains(at)
                    && events[write].byte(*at) == events[read].byte(*at)
                    && !own
                {
                    sources.push(Some(write));
                }
            }
            slots.push((read, *at, sources));
        }
    }
    let count: usize = slots.iter().map(|(_, _, sources)| sources.len()).product();
    for number in 0..count {
        let mut rest = number;
        let mut from = BTreeMap::new();
        for (read, at, sources) in &slots {
            from.insert((*read, *at), sources[rest % sources.len()]);
            rest /= sources.len();
        }
        if is_justified(&events, picked, runs, &from) {
            orders(program, picked, &events, &po, &barriers, &from, found);
        }
    }
}

type From = BTreeMap<(usize, u32), Option<usize>>;

fn closure(pairs: &Pairs) -> Pairs {
    let mut all = pairs.clone();
    loop {
        let mut more = all.clone();
        for (a, b) in &all {
            for (c, d) in all.range((*b, 0)..(*b + 1, 0)) {
                debug_assert_eq!(b, c);
                more.insert((*a, *d));
            }
        }
        if more.len() == all.len() {
            return all;
        }
        all = more;
    }
}

fn cyclic(closed: &Pairs) -> bool {
    closed.iter().any(|(a, b)| a == b)
}

/// Section 8.7.
fn ms(events: &[Event], po: &Pairs, a: usize, b: usize) -> bool {
    let (x, y) = (&events[a], &events[b]);
    let related = po.contains(&(a, b)) || po.contains(&(b, a));
    let strong = x.strong() && y.strong() && x.scope_holds(y) && y.scope_holds(x);
    if a == b || !related && !strong {
        return false;
    }
    if !x.is_memory() || !y.is_memory() {
        return true;
    }
    x.proxy == y.proxy && x.address == y.address && x.bytes == y.bytes
}

/// Both orders of every pair of writes and of fences that must be related.
fn orders(
    program: &Program,
    picked: &[&Run],
    events: &[Event],
    po: &Pairs,
    barriers: &Pairs,
    from: &From,
    found: &mut (BTreeSet<Outcome>, bool),
) {
    let mut open = vec![];
    for a in 0..events.len() {
        for b in a + 1..events.len() {
            let (x, y) = (&events[a], &events[b]);
            let writes = x.kind == Kind::Write && y.kind == Kind::Write;
            let atomics =
                x.atomic.is_some() && y.atomic.is_some() && x.overlaps(y) && x.proxy == y.proxy;
            let in_scope = x.scope_holds(y) && y.scope_holds(x);
            if writes
                && x.meets(y)
                && (ms(events, po, a, b) || atomics && in_scope && x.thread != y.thread)
            {
                open.push((a, b, false));
            }
            let sc = |e: &Event| matches!(&e.kind, Kind::Fence(o) if o.semantics == Semantics::Sc);
            if sc(x) && sc(y) && ms(events, po, a, b) {
                open.push((a, b, true));
            }
        }
    }
    for number in 0..1u32 << open.len() {
        let (mut co, mut sc) = (Pairs::new(), Pairs::new());
        for (index, (a, b, fence)) in open.iter().enumerate() {
            let pair = if number >> index & 1 == 0 { (*a, *b) } else { (*b, *a) };
            if *fence {
                sc.insert(pair)
            } else {
                co.insert(pair)
            };
        }
        check(program, picked, events, po, barriers, from, co, &sc, found);
    }
}

#[allow(clippy::too_many_arguments)]
fn check(
    program: &Program,
    picked: &[&Run],
    events: &[Event],
    po: &Pairs,
    barriers: &Pairs,
    from: &From,
    co: Pairs,
    sc: &Pairs,
    found: &mut (BTreeSet<Outcome>, bool),
) {
    let all = 0..events.len();
    let strong = |a: usize, b: usize| ms(events, po, a, b);
    if cyclic(&closure(sc)) {
        return;
    }
    let rf: Pairs =
        from.iter().filter_map(|((read, _), write)| write.map(|w| (w, *read))).collect();
    // 8.9.2
    let direct: Pairs = rf.iter().copied().filter(|(w, r)| strong(*w, *r)).collect();
    let mut observation = direct.clone();
    loop {
        let mut more = observation.clone();
        for (w, r) in &observation {
            for (x, y) in &direct {
                let atomic = events[*r].atomic.is_some() && events[*r].atomic == events[*x].atomic;
                if atomic && events[*x].thread == events[*r].thread {
                    more.insert((*w, *y));
                }
            }
        }
        if more.len() == observation.len() {
            break;
        }
        observation = more;
    }
    // 8.8
    let before = |a: usize, b: usize| po.contains(&(a, b));
    let releases = |e: usize| events[e].order.semantics.releases();
    let acquires = |e: usize| events[e].order.semantics.acquires();
    let is_fence = |e: usize| matches!(events[e].kind, Kind::Fence(_));
    let same = |a: usize, b: usize| {
        events[a].address == events[b].address && events[a].bytes == events[b].bytes
    };
    let release_pattern = |first: usize, write: usize| {
        let (f, w) = (&events[first], &events[write]);
        (first == write && releases(write))
            || w.strong()
                && before(first, write)
                && releases(first)
                && (is_fence(first) || f.kind == Kind::Write && same(first, write))
    };
    let acquire_pattern = |read: usize, last: usize| {
        let (r, l) = (&events[read], &events[last]);
        !r.reduction
            && ((read == last && acquires(read))
                || r.strong()
                    && before(read, last)
                    && acquires(last)
                    && (is_fence(last) || l.kind == Kind::Read && !l.reduction && same(read, last)))
    };
    // 8.9.4
    let mut base: Pairs = po.union(barriers).copied().collect();
    base.extend(sc);
    for (w, r) in &observation {
        for first in all.clone().filter(|first| release_pattern(*first, *w)) {
            for last in all.clone().filter(|last| acquire_pattern(*r, *last)) {
                if strong(first, last) && events[first].thread != events[last].thread {
                    base.insert((first, last));
                }
            }
        }
    }
    // 8.9.5
    let base = closure(&base);
    if cyclic(&base) {
        return;
    }
    let alias = |e: usize| events[e].kind == Kind::Proxy(ProxyFence::Alias);
    let fence_of = |e: usize, near: usize| {
        events[e].kind == Kind::Proxy(ProxyFence::Both(events[near].proxy, None))
            && events[e].place.cta == events[near].place.cta
    };
    let preserved: Pairs = base
        .iter()
        .copied()
        .filter(|(a, b)| {
            let (x, y) = (&events[*a], &events[*b]);
            if !x.meets(y) {
                return false;
            }
            let same_block = x.proxy == y.proxy && x.place.cta == y.place.cta;
            let generic = |e: &Event| e.proxy == Proxy::Generic;
            if x.overlaps(y) && (generic(x) && generic(y) || same_block) {
                return true;
            }
            // Fences next to accesses that are not generic, an alias fence between them.
            let path = |from: usize, to: usize| from == to || base.contains(&(from, to));
            let starts: Vec<usize> = if generic(x) {
                vec![*a]
            } else {
                all.clone().filter(|f| fence_of(*f, *a) && base.contains(&(*a, *f))).collect()
            };
            let ends: Vec<usize> = if generic(y) {
                vec![*b]
            } else {
                all.clone().filter(|f| fence_of(*f, *b) && base.contains(&(*f, *b))).collect()
            };
            starts.iter().any(|start| {
                ends.iter().any(|end| {
                    let through = path(*start, *end)
                        && (*start != *end
                            || *a == *start
                            || *b == *end
                            || generic(x) != generic(y));
                    let distinct = generic(x) || generic(y) || *start != *end;
                    if x.address == y.address {
                        return through && distinct;
                    }
                    through
                        && distinct
                        && all.clone().any(|f| alias(f) && path(*start, f) && path(f, *end))
                })
            })
        })
        .collect();
    let mut cause = preserved.clone();
    for (w, z) in &observation {
        for (from, to) in &preserved {
            if from == z {
                cause.insert((*w, *to));
            }
        }
    }
    // 8.9.6, 8.10.1
    let mut coherence = co;
    for (a, b) in &cause {
        if events[*a].kind == Kind::Write
            && events[*b].kind == Kind::Write
            && events[*a].meets(&events[*b])
        {
            coherence.insert((*a, *b));
        }
    }
    let coherence = closure(&coherence);
    if cyclic(&coherence) {
        return;
    }
    // 8.9.7
    let mut fr = Pairs::new();
    for ((read, at), source) in from {
        for write in all.clone() {
            let covers = events[write].kind == Kind::Write
                && events[write].memory == events[*read].memory
                && events[write].bytes.contains(at);
            if covers && source.is_none_or(|source| coherence.contains(&(source, write))) {
                fr.insert((*read, write));
            }
        }
    }
    // 8.10.6
    if rf.iter().any(|(w, r)| cause.contains(&(*r, *w)))
        || fr.iter().any(|(r, w)| cause.contains(&(*w, *r)))
    {
        return;
    }
    // 8.10.3
    for (r, w) in &fr {
        if strong(*r, *w) && rf.contains(&(*w, *r)) {
            return;
        }
    }
    for own in all.clone().filter(|e| events[*e].kind == Kind::Write && events[*e].atomic.is_some())
    {
        let read = own - 1;
        for w in all.clone().filter(|w| events[*w].kind == Kind::Write && *w != own) {
            let (x, y) = (&events[own], &events[w]);
            let mixed = y.atomic.is_some()
                && x.overlaps(y)
                && x.proxy == y.proxy
                && x.scope_holds(y)
                && y.scope_holds(x)
                && x.thread != y.thread;
            let excludes = strong(own, w) || strong(read, w) || mixed;
            if excludes && fr.contains(&(read, w)) && coherence.contains(&(w, own)) {
                return;
            }
            if mixed && rf.contains(&(w, read)) && coherence.contains(&(own, w)) {
                return;
            }
        }
    }
    // 8.10.5
    let mut local: Pairs =
        po.iter().copied().filter(|(a, b)| events[*a].overlaps(&events[*b])).collect();
    for (a, b) in rf.iter().chain(&coherence).chain(&fr) {
        if strong(*a, *b) {
            local.insert((*a, *b));
        }
    }
    if cyclic(&closure(&local)) {
        return;
    }
    // Consistent. 8.7.1
    for a in all.clone() {
        for b in a + 1..events.len() {
            let (x, y) = (&events[a], &events[b]);
            let conflict = x.overlaps(y) && (x.kind == Kind::Write || y.kind == Kind::Write);
            let halves = x.atomic.is_some() && x.atomic == y.atomic && x.thread == y.thread;
            // An atomic operation is one: if one half is ordered, it is.
            let operation = |event: usize| {
                let of = |e: &Event| e.atomic.map(|atomic| (e.thread, atomic));
                let whole = of(&events[event]);
                (0..events.len()).filter(move |other| {
                    *other == event || whole.is_some() && of(&events[*other]) == whole
                })
            };
            let ordered = operation(a)
                .any(|a| operation(b).any(|b| cause.contains(&(a, b)) || cause.contains(&(b, a))));
            found.1 |= conflict && !halves && !strong(a, b) && !ordered;
        }
    }
    let mut finals: Vec<Vec<u128>> = vec![vec![]];
    for (memory, declared) in program.memories.iter().enumerate() {
        // Bytes that the same writes cover come from one maximal write.
        let mut groups: Vec<(Vec<usize>, Vec<u32>)> = vec![];
        for at in 0..declared.init.len() as u32 {
            let cover: Vec<usize> = all
                .clone()
                .filter(|w| {
                    events[*w].kind == Kind::Write
                        && events[*w].memory == memory
                        && events[*w].bytes.contains(&at)
                })
                .collect();
            match groups.iter_mut().find(|(known, _)| *known == cover) {
                Some((_, bytes)) => bytes.push(at),
                None => groups.push((cover, vec![at])),
            }
        }
        let mut values = BTreeSet::from([0u128]);
        for (cover, bytes) in groups {
            let mut parts = BTreeSet::new();
            for write in &cover {
                if !cover.iter().any(|other| coherence.contains(&(*write, *other))) {
                    let value = |all: u128, at: &u32| {
                        all | u128::from(events[*write].byte(*at)) << (8 * at)
                    };
                    parts.insert(bytes.iter().fold(0, value));
                }
            }
            if cover.is_empty() {
                let value =
                    |all: u128, at: &u32| all | u128::from(declared.init[*at as usize]) << (8 * at);
                parts.insert(bytes.iter().fold(0, value));
            }
            values = values.iter().flat_map(|v| parts.iter().map(move |p| v | p)).collect();
        }
        finals = finals
            .iter()
            .flat_map(|all| values.iter().map(move |v| [all.as_slice(), &[*v]].concat()))
            .collect();
    }
    let registers: Vec<Vec<u128>> = picked.iter().map(|run| run.registers.clone()).collect();
    for memory in finals {
        found.0.insert(Outcome { registers: registers.clone(), memory });
    }
}

/// Weak reads of one place that only weak reads separate, by their instructions; whether they return the same.
fn merges(events: &[Event]) -> Vec<(usize, usize, bool)> {
    let weak = |e: &Event| e.kind == Kind::Read && !e.strong() && e.atomic.is_none();
    let mut pairs = vec![];
    for (index, a) in events.iter().enumerate() {
        for (distance, b) in events[index + 1..].iter().enumerate() {
            let between = &events[index..index + distance + 2];
            let same = a.address == b.address && a.bytes == b.bytes && a.proxy == b.proxy;
            if between.iter().all(weak) && same {
                pairs.push((a.instruction, b.instruction, a.value == b.value));
            }
        }
    }
    pairs
}

/// Section 8.10.4: a write is justified if every run of its thread that agrees with the justified
/// reads has it; a read if all its sources are. An atomic operation reads before it writes.
fn is_justified(events: &[Event], picked: &[&Run], runs: &[Vec<Run>], from: &From) -> bool {
    let mut good: BTreeSet<usize> = BTreeSet::new();
    let same_write = |a: &Event, b: &Event| {
        a.kind == Kind::Write
            && b.kind == Kind::Write
            && a.address == b.address
            && a.bytes == b.bytes
            && a.value == b.value
            && a.order == b.order
            && a.proxy == b.proxy
            && a.atomic.is_some() == b.atomic.is_some()
    };
    loop {
        let before = good.len();
        for (index, event) in events.iter().enumerate() {
            match event.kind {
                Kind::Read => {
                    let sources = from.iter().filter(|((read, _), _)| *read == index);
                    if sources.map(|(_, write)| write).all(|w| w.is_none_or(|w| good.contains(&w)))
                    {
                        good.insert(index);
                    }
                }
                Kind::Write => {
                    let thread = event.thread;
                    let start = index - event.at;
                    let own = &picked[thread].events;
                    let rank = own[..event.at].iter().filter(|e| same_write(e, event)).count();
                    let mine = merges(own);
                    let others = runs[thread].iter().filter(|o| {
                        merges(&o.events)
                            .iter()
                            .all(|(a, b, agree)| *agree || !mine.contains(&(*a, *b, true)))
                    });
                    let fixed = others.into_iter().all(|other| {
                        let agrees =
                            own.iter().filter(|e| good.contains(&(start + e.at))).all(|mine| {
                                mine.kind != Kind::Read
                                    || other.events.iter().all(|theirs| {
                                        theirs.kind != Kind::Read
                                            || theirs.instruction != mine.instruction
                                            || theirs.value == mine.value
                                    })
                            });
                        !agrees
                            || other.events.iter().filter(|e| same_write(e, event)).count() > rank
                    });
                    // The halves of an atomic operation are neighbours, and the read is first.
                    let read_first = event.atomic.is_none() || good.contains(&(index - 1));
                    if fixed && read_first {
                        good.insert(index);
                    }
                }
                _ => {
                    good.insert(index);
                }
            }
        }
        if good.len() == events.len() {
            return true;
        }
        if good.len() == before {
            return false;
        }
    }
}
