//! Interchangeable threads.
//!
//! Two threads can be interchanged if they run the same code, stand in the same relation to every
//! other thread, and the condition does not tell them apart. Then executions come in families of
//! which one member is enough.

use crate::litmus::{Condition, Term};
use crate::local::Local;
use crate::program::{Program, Thread};

/// For each thread the nearest earlier one that it can be interchanged with.
pub fn twins(program: &Program, condition: &Condition, ways: &[Vec<Local>]) -> Vec<Option<usize>> {
    let normal = normalise(condition, &|term| term);
    let threads = &program.threads;
    (0..threads.len())
        .map(|b| {
            (0..b).rev().find(|&a| {
                ways[a].len() == ways[b].len()
                    && same_code(&threads[a], &threads[b])
                    && (0..threads.len()).all(|other| {
                        let nearest =
                            |thread: usize| threads[thread].place.nearest(threads[other].place);
                        other == a || other == b || nearest(a) == nearest(b)
                    })
                    && normalise(condition, &|term| swap(term, a, b)) == normal
            })
        })
        .collect()
}

/// For each thread the nearest earlier one with the same code that the condition does not tell from it, wherever
/// they stand.
pub fn alike(program: &Program, condition: &Condition) -> Vec<Option<usize>> {
    let threads = &program.threads;
    let normal = normalise(condition, &|term| term);
    let fits = |a: usize, b: usize| {
        same_code(&threads[a], &threads[b])
            && normalise(condition, &|term| swap(term, a, b)) == normal
    };
    (0..threads.len()).map(|b| (0..b).rev().find(|a| fits(*a, b))).collect()
}

/// Whether two threads run the same code from the same registers.
fn same_code(a: &Thread, b: &Thread) -> bool {
    a.registers == b.registers
        && a.initial == b.initial
        && a.code.len() == b.code.len()
        && a.code.iter().zip(&b.code).all(|(x, y)| x.guard == y.guard && x.op == y.op)
}

fn swap(term: Term, a: usize, b: usize) -> Term {
    match term {
        Term::Register(thread, register) if thread == a => Term::Register(b, register),
        Term::Register(thread, register) if thread == b => Term::Register(a, register),
        other => other,
    }
}

/// The condition with its terms replaced, and the order of what commutes made canonical.
fn normalise(condition: &Condition, replace: &impl Fn(Term) -> Term) -> Condition {
    let all = |all: &[Condition]| {
        let mut all: Vec<Condition> = all.iter().map(|c| normalise(c, replace)).collect();
        all.sort();
        all
    };
    match condition {
        Condition::True => Condition::True,
        Condition::Equal(a, b, negated) => {
            let (a, b) = (replace(*a), replace(*b));
            Condition::Equal(a.min(b), a.max(b), *negated)
        }
        Condition::Less(a, b) => Condition::Less(replace(*a), replace(*b)),
        Condition::Not(inner) => Condition::Not(Box::new(normalise(inner, replace))),
        Condition::And(inner) => Condition::And(all(inner)),
        Condition::Or(inner) => Condition::Or(all(inner)),
    }
}

/// For each thread the first one that it can be interchanged with, both on their chosen ways.
pub fn classes(twins: &[Option<usize>], chosen: &[usize]) -> Vec<usize> {
    let mut classes: Vec<usize> = vec![];
    for (thread, twin) in twins.iter().enumerate() {
        let twin = twin.filter(|twin| chosen[*twin] == chosen[thread]);
        classes.push(twin.map_or(thread, |twin| classes[twin]));
    }
    classes
}

/// How many choices of ways the present one stands for: the ways to deal them out within each
/// family of interchangeable threads.
pub fn weight(twins: &[Option<usize>], chosen: &[usize]) -> u64 {
    let mut weight: u64 = 1;
    // Thread by thread: the family's size so far, and how many members chose the same way last.
    let mut size = vec![1u64; twins.len()];
    let mut equal = vec![1u64; twins.len()];
    for (thread, twin) in twins.iter().enumerate() {
        let Some(twin) = *twin else { continue };
        size[thread] = size[twin] + 1;
        equal[thread] = if chosen[thread] == chosen[twin] { equal[twin] + 1 } else { 1 };
        // size! / product of equal!, step by step; every intermediate result is whole.
        weight = weight.saturating_mul(size[thread]) / equal[thread];
    }
    weight
}
