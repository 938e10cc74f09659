//! Final values of memory (section 8.9.6): with a partial coherence order, of any maximal write.

use std::collections::BTreeSet;

use crate::candidate::Candidate;
use crate::relation::Relation;

/// Calls `each` with every combination of one value of each list until it answers.
pub(crate) fn combinations<T>(
    choices: &[Vec<u128>],
    each: &mut impl FnMut(&[u128]) -> Option<T>,
) -> Option<T> {
    fn step<T>(
        choices: &[Vec<u128>],
        values: &mut Vec<u128>,
        each: &mut impl FnMut(&[u128]) -> Option<T>,
    ) -> Option<T> {
        let Some(values_here) = choices.get(values.len()) else { return each(values) };
        for value in values_here {
            values.push(*value);
            let answer = step(choices, values, each);
            values.pop();
            if answer.is_some() {
                return answer;
            }
        }
        None
    }
    step(choices, &mut vec![], each)
}

/// The values that a memory can have at the end, given coherence order: bytes that the same writes
/// cover come from one maximal write among them.
pub(crate) fn final_values(
    candidate: &Candidate<'_>,
    coherence: &Relation,
    memory: usize,
) -> Vec<u128> {
    let declared = &candidate.program.memories[memory];
    let mut groups: Vec<(Vec<usize>, Vec<u32>)> = vec![];
    for at in 0..declared.init.len().min(16) as u32 {
        let covers = |write: &usize| {
            candidate.events[*write]
                .access()
                .is_some_and(|w| w.memory == memory && w.offset <= at && at < w.offset + w.bytes)
        };
        let cover: Vec<usize> = candidate.writes.iter().copied().filter(covers).collect();
        match groups.iter_mut().find(|(known, _)| *known == cover) {
            Some((_, bytes)) => bytes.push(at),
            None => groups.push((cover, vec![at])),
        }
    }
    let mut values = BTreeSet::from([0u128]);
    for (cover, bytes) in groups {
        let maximal =
            cover.iter().filter(|w| !cover.iter().any(|other| coherence.has(**w, *other)));
        let mut parts: BTreeSet<u128> = maximal
            .filter_map(|write| candidate.events[*write].access())
            .map(|access| part(&bytes, |at| access.byte(at)))
            .collect();
        if cover.is_empty() {
            parts.insert(part(&bytes, |at| declared.init[at as usize]));
        }
        values = values.iter().flat_map(|value| parts.iter().map(move |p| value | p)).collect();
    }
    let whole = if declared.ty.bytes as usize == declared.init.len() {
        declared.ty
    } else {
        crate::program::Type { bytes: declared.init.len().min(16) as u32, signed: false }
    };
    values.into_iter().map(|value| whole.wrap(value)).collect()
}

fn part(bytes: &[u32], byte: impl Fn(u32) -> u8) -> u128 {
    bytes.iter().fold(0, |all, at| all | u128::from(byte(*at)) << (8 * at))
}
