//! Reads-from, byte by byte (section 8.9.7, clause 1).
//!
//! Values are known when reads-from is chosen, so only writes of the right bytes are sources. The
//! bytes of a read fall into *granules*, bytes that exactly the same writes cover. Within a granule
//! only *minimal* sets of sources matter: every constraint of the model grows with the set of
//! sources, so an execution in which some source can be left out is consistent, and racy, at least
//! whenever the one with it is.

use crate::event::Event;
use crate::program::Program;

/// What one read can have read from.
#[derive(Debug, Clone)]
pub struct Choice {
    /// For each granule the writes that cover it.
    pub granules: Vec<Vec<usize>>,
    /// The bytes of each granule.
    pub bytes: Vec<Vec<u32>>,
    /// The ways to choose: for each, the granules' sources; `None` is the initial write.
    pub ways: Vec<Vec<(usize, Option<usize>)>>,
}

/// The choices of all reads. `None` if some read has none.
pub fn choices(
    program: &Program,
    events: &[Event],
    reads: &[usize],
    writes: &[usize],
) -> Option<Vec<Choice>> {
    reads.iter().map(|read| choice(program, events, *read, writes)).collect()
}

fn choice(program: &Program, events: &[Event], read: usize, writes: &[usize]) -> Option<Choice> {
    let access = events[read].access()?;
    let init = &program.memories[access.memory].init;
    let mut granules: Vec<(Vec<usize>, Vec<u32>)> = vec![];
    for at in access.offset..access.offset + access.bytes {
        let covers = |write: &usize| {
            events[*write].access().is_some_and(|w| {
                w.memory == access.memory && w.offset <= at && at < w.offset + w.bytes
            })
        };
        let cover: Vec<usize> = writes.iter().copied().filter(covers).collect();
        match granules.iter_mut().find(|(known, _)| *known == cover) {
            Some((_, bytes)) => bytes.push(at),
            None => granules.push((cover, vec![at])),
        }
    }
    let mut ways: Vec<Vec<(usize, Option<usize>)>> = vec![vec![]];
    for (index, (cover, bytes)) in granules.iter().enumerate() {
        let candidates: Vec<Vec<Option<usize>>> = bytes
            .iter()
            .map(|at| {
                let value = access.byte(*at);
                let initial = init.get(*at as usize).filter(|first| access.any || **first == value);
                let initial = initial.map(|_| None);
                // A write does not feed the read of its own atomic operation.
                let fits = |w: &&usize| {
                    events[**w].access().is_some_and(|w| access.any || w.byte(*at) == value)
                        && access.partner != Some(**w)
                };
                initial.into_iter().chain(cover.iter().filter(fits).map(|w| Some(*w))).collect()
            })
            .collect();
        let sets = minimal(&candidates);
        let mut next = vec![];
        for way in &ways {
            for set in &sets {
                let mut way = way.clone();
                way.extend(set.iter().map(|source| (index, *source)));
                next.push(way);
            }
        }
        ways = next;
    }
    let (granules, bytes) = granules.into_iter().unzip();
    (!ways.is_empty()).then_some(Choice { granules, bytes, ways })
}

/// The minimal sets that have a source for every byte.
fn minimal(candidates: &[Vec<Option<usize>>]) -> Vec<Vec<Option<usize>>> {
    let mut sets: Vec<Vec<Option<usize>>> = vec![vec![]];
    for byte in candidates {
        let mut next = vec![];
        for set in sets {
            if byte.iter().any(|source| set.contains(source)) {
                next.push(set);
                continue;
            }
            for source in byte {
                let mut larger = set.clone();
                larger.push(*source);
                larger.sort_unstable();
                next.push(larger);
            }
        }
        next.sort_unstable();
        next.dedup();
        sets = next;
    }
    let all = sets.clone();
    sets.retain(|set| {
        !all.iter().any(|other| other.len() < set.len() && other.iter().all(|s| set.contains(s)))
    });
    sets
}
