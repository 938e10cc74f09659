//! The values that reads can return: a least fixed point over the writes of all threads.
//!
//! A chain of atomic operations that leads to a value is kept with it, so that no operation feeds itself.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::Error;
use crate::event::{Access, Event, Kind, Object};
use crate::letters::Letters;
use crate::options::{Clause, Clauses, Options};
use crate::program::{Op, Operand, Program, Type};
use crate::relevance::Relevance;
use crate::strong;

/// More answers than this for one read cannot be enumerated.
const VALUES: usize = 4096;
/// Nor are more chains behind one value followed than this.
const CHAINS: usize = 1024;
/// A set of known writes: a chain of atomic operations, each of which happens once in an execution.
/// Writes past the 128th are not followed.
pub type Origin = u128;
/// The values that writes can put into memory.
#[derive(Clone, Debug)]
pub struct Domain<'a> {
    /// What runs.
    pub program: &'a Program,
    /// How it is judged.
    pub options: &'a Options,
    /// Which values matter.
    pub relevance: &'a Relevance,
    /// How bytes are spelled.
    pub letters: &'a Letters,
    writes: Vec<KnownWrite>,
    /// Some value has more chains behind it than are followed.
    too_large: bool,
    seeds: Vec<u128>,
    /// Answers that were worked out since something was learnt.
    answers: RefCell<HashMap<Question, Rc<[u128]>>>,
    chains: RefCell<HashMap<(Question, u128), Chains>>,
}

/// The minimal chains behind one value.
pub type Chains = Rc<[Origin]>;

/// All that the answers to a read depend on: thread, instruction, occurrence, memory, address, first
/// byte, whether it is asynchronous, whether an own write hides the initial value.
type Question = (usize, usize, u32, usize, usize, u32, bool, bool);

fn question(read: &Event, access: &Access, overwritten: bool) -> Question {
    let Event { thread, instruction, occurrence, asynchronous, .. } = *read;
    let Access { memory, address, offset, .. } = *access;
    (thread, instruction, occurrence, memory, address, offset, asynchronous, overwritten)
}

/// A write that some thread can execute, and its values.
#[derive(Clone, Debug)]
struct KnownWrite {
    event: Event,
    /// Each value with the smallest chains that lead to it.
    values: BTreeMap<u128, Vec<Origin>>,
}

/// Adds a set to those that are minimal. Says whether that changed them.
fn add_minimal(sets: &mut Vec<Origin>, set: Origin) -> bool {
    if sets.iter().any(|known| known & set == *known) {
        return false;
    }
    sets.retain(|known| known & set != set);
    sets.push(set);
    true
}

impl<'a> Domain<'a> {
    /// The initial values only.
    pub fn new(
        program: &'a Program,
        options: &'a Options,
        relevance: &'a Relevance,
        letters: &'a Letters,
    ) -> Self {
        // Without the axiom, a value may come out of nowhere: any constant of the program will do.
        let mut seeds = vec![];
        if !options.clauses.has(Clause::NoThinAir) {
            for instruction in program.threads.iter().flat_map(|thread| &thread.code) {
                let operands: &[Operand] = match &instruction.op {
                    Op::Alu(_, _, _, operands) => operands,
                    Op::Store(operands, ..) => operands,
                    Op::Rmw(rmw) => &rmw.args,
                    _ => &[],
                };
                seeds.extend(operands.iter().filter_map(|operand| match operand {
                    Operand::Immediate(value) => Some(*value),
                    Operand::Register(_) => None,
                }));
            }
            seeds.push(1);
            seeds.sort_unstable();
            seeds.dedup();
        }
        Self {
            program,
            options,
            relevance,
            letters,
            writes: vec![],
            too_large: false,
            seeds,
            answers: RefCell::default(),
            chains: RefCell::default(),
        }
    }

    /// The same values, where others of them matter.
    pub fn asked(mut self, relevance: &'a Relevance) -> Self {
        self.relevance = relevance;
        self
    }

    /// Adds the writes of a run, complete or not. Says whether anything is new.
    pub fn learn(&mut self, events: &[Event], origins: &[Chains]) -> bool {
        let mut new = false;
        for (event, origins) in events.iter().zip(origins) {
            let Kind::Write(access) = &event.kind else { continue };
            let at = self.find(event, access).unwrap_or_else(|| {
                self.writes.push(KnownWrite { event: event.clone(), values: BTreeMap::new() });
                self.writes.len() - 1
            });
            let own: Origin = 1u128.checked_shl(at as u32).unwrap_or(0);
            let sets = self.writes[at].values.entry(access.value).or_default();
            for origin in origins.iter() {
                new |= add_minimal(sets, origin | own);
            }
            self.too_large |= sets.len() > CHAINS;
        }
        new
    }

    /// Whether there are too many ways in which a value can come about.
    pub fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// Whether the mbarrier object that the access meets is initialised at most once, and written as an
    /// object only.
    pub fn is_made_once(&self, access: &Access) -> bool {
        let mut inits = 0;
        for write in &self.writes {
            let Some(a) = write.event.access().filter(|a| a.meets(access)) else { continue };
            match a.object {
                Object::None | Object::End => return false,
                Object::Init => inits += 1,
                _ => {}
            }
        }
        inits <= 1
    }

    /// Something was learnt: what was worked out before may be too little.
    pub fn forget_answers(&mut self) {
        self.answers.get_mut().clear();
        self.chains.get_mut().clear();
    }

    fn find(&self, event: &Event, access: &Access) -> Option<usize> {
        self.writes.iter().position(|known| {
            known.event.thread == event.thread
                && known.event.instruction == event.instruction
                && known.event.occurrence == event.occurrence
                && known.event.access().is_some_and(|a| a.overlaps_completely(access))
        })
    }

    /// The chains behind a value that an atomic operation read, without those that contain its own
    /// write: an operation does not feed itself.
    pub fn origins(&self, read: &Event, value: u128) -> Chains {
        let Some(access) = read.access() else { return Rc::new([0]) };
        let question = (question(read, access, false), value);
        if let Some(known) = self.chains.borrow().get(&question) {
            return Rc::clone(known);
        }
        let chains: Chains = self.find_origins(read, access, value).into();
        self.chains.borrow_mut().insert(question, Rc::clone(&chains));
        chains
    }

    fn find_origins(&self, read: &Event, access: &Access, value: u128) -> Vec<Origin> {
        let own = self.find(read, access).and_then(|at| 1u128.checked_shl(at as u32)).unwrap_or(0);
        let mut sets = vec![];
        let init = &self.program.memories[access.memory].init;
        let range = access.offset as usize..(access.offset + access.bytes) as usize;
        let mut whole = true;
        if init.get(range).map(number) == Some(value) {
            add_minimal(&mut sets, 0);
        }
        for write in &self.writes {
            let Some(a) = write.event.access() else { continue };
            if a.memory == access.memory && a.offset == access.offset && a.bytes == access.bytes {
                for origin in write.values.get(&value).into_iter().flatten() {
                    if origin & own == 0 {
                        add_minimal(&mut sets, *origin);
                    }
                }
            } else if a.meets(access) {
                whole = false;
            }
        }
        let torn = access.object == Object::None && (!whole || !self.program_is_whole(read));
        if torn || !self.seeds.is_empty() {
            add_minimal(&mut sets, 0);
        }
        sets
    }

    /// Whether the read returns one write's value as it is.
    fn program_is_whole(&self, read: &Event) -> bool {
        let Some(access) = read.access() else { return false };
        let near: Vec<&KnownWrite> = self
            .writes
            .iter()
            .filter(|w| w.event.access().is_some_and(|a| a.meets(access)))
            .collect();
        self.whole(read, access, &near)
    }

    /// What a read could return, after the operations `before` of its own thread.
    pub fn values(&self, read: &Event, before: &[Event]) -> Result<Rc<[u128]>, Error> {
        let Some(access) = read.access() else { return Ok(Rc::new([])) };
        // The initial value is out of reach behind an own write of the same place (8.10.6).
        let overwritten = self.options.clauses == Clauses::default()
            && !read.asynchronous
            && before.iter().any(|event| {
                event.is_write()
                    && event.precedes(read)
                    && event.access().is_some_and(|own| {
                        own.overlaps_completely(access) && own.proxy == access.proxy
                    })
            });
        let question = question(read, access, overwritten);
        if let Some(known) = self.answers.borrow().get(&question) {
            return Ok(Rc::clone(known));
        }
        let values: Rc<[u128]> = self.find_values(read, access, overwritten)?.into();
        self.answers.borrow_mut().insert(question, Rc::clone(&values));
        Ok(values)
    }

    fn find_values(
        &self,
        read: &Event,
        access: &Access,
        overwritten: bool,
    ) -> Result<Vec<u128>, Error> {
        let init = &self.program.memories[access.memory].init;
        let range = access.offset as usize..(access.offset + access.bytes) as usize;
        let Some(init) = init.get(range) else { return Ok(vec![]) };
        let near: Vec<&KnownWrite> = self
            .writes
            .iter()
            .filter(|w| w.event.access().is_some_and(|a| a.meets(access)))
            .collect();
        if self.whole(read, access, &near) {
            let mut values: BTreeSet<u128> =
                near.iter().flat_map(|w| w.values.keys()).copied().collect();
            if !overwritten {
                values.insert(number(init));
            }
            let ty = Type { bytes: access.bytes, signed: false };
            values.extend(self.seeds.iter().map(|seed| ty.wrap(*seed)));
            return Ok(values.into_iter().collect());
        }
        // Each byte from wherever it can come.
        let mut values = BTreeSet::from([0u128]);
        for (index, first) in init.iter().enumerate() {
            let at = access.offset + index as u32;
            let mut bytes = BTreeSet::new();
            if !overwritten {
                bytes.insert(*first);
            }
            for write in &near {
                let Some(a) = write.event.access() else { continue };
                if (a.offset..a.offset + a.bytes).contains(&at) {
                    bytes.extend(write.values.keys().map(|v| (v >> (8 * (at - a.offset))) as u8));
                }
            }
            bytes.extend(self.seeds.iter().map(|seed| (seed >> (8 * index)) as u8));
            values = values
                .iter()
                .flat_map(|value| bytes.iter().map(move |b| value | u128::from(*b) << (8 * index)))
                .collect();
            if values.len() > VALUES {
                return Err(Error::TooManyValues(
                    self.program.memories[access.memory].name.clone(),
                ));
            }
        }
        Ok(values.into_iter().collect())
    }

    /// Whether the read can only take all its bytes from one write: every write that it meets is
    /// morally strong with it and with every other (section 8.10.3), or it is an mbarrier object,
    /// which instructions see as a whole.
    fn whole(&self, read: &Event, access: &Access, near: &[&KnownWrite]) -> bool {
        if access.object != Object::None {
            return true;
        }
        let same = |w: &&KnownWrite| {
            w.event.access().is_some_and(|a| a.offset == access.offset && a.bytes == access.bytes)
        };
        if access.bytes == 1 {
            return near.iter().all(same);
        }
        self.options.clauses.has(Clause::SingleCopyAtomicity)
            && near.iter().enumerate().all(|(index, a)| {
                same(a)
                    && strong::morally_strong(self.options, read, &a.event)
                    && near[..index]
                        .iter()
                        .all(|b| strong::morally_strong(self.options, &a.event, &b.event))
            })
    }
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}
