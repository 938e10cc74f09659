//! Reservations, with fences made by hand: `reservation/semantics.rs` says what they must do, and
//! here is whether any sequence of operations loses a dependency.

use std::collections::HashMap;

use baton_host::reservation;
use proptest::prelude::*;

use fences::{Manual, Timeline};
use reservation::{Fence, Reservation, Usage, Usages};

#[path = "reservation/fences.rs"]
mod fences;
#[path = "reservation/semantics.rs"]
mod semantics;

/// A step of the test's program.
#[derive(Clone, Debug)]
enum Step {
    /// New work of a context.
    Add { context: usize, usage: Usage },
    /// The fence that was added some steps ago is added again, at this usage.
    Again { back: usize, usage: Usage },
    /// A context gets on by some fences.
    Signal { context: usize, count: u64 },
    /// Room for more.
    Reserve { count: usize },
    /// A new fence of a context that stands for all of its earlier ones.
    Replace { context: usize },
    /// The fences move to a new reservation.
    Copy,
    /// Signalled fences are dropped.
    Prune,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    const CONTEXTS: std::ops::Range<usize> = 0..4;
    let usage = || prop::sample::select(Usage::ALL.to_vec());
    let step = prop_oneof![
        6 => (CONTEXTS, usage()).prop_map(|(context, usage)| Step::Add { context, usage }),
        3 => (0..6usize, usage()).prop_map(|(back, usage)| Step::Again { back, usage }),
        3 => (CONTEXTS, 1..4u64).prop_map(|(context, count)| Step::Signal { context, count }),
        1 => (1..12usize).prop_map(|count| Step::Reserve { count }),
        1 => CONTEXTS.prop_map(|context| Step::Replace { context }),
        1 => Just(Step::Copy),
        1 => Just(Step::Prune),
    ];
    prop::collection::vec(step, 1..60)
}

/// What must hold after every step: a query that would have met a fence that has not signalled meets
/// it, or a later one of its context.
fn check(
    reservation: &Reservation<Manual>,
    added: &[(Manual, Usage)],
) -> Result<(), TestCaseError> {
    for level in Usage::ALL {
        let seen = reservation.fences(level);
        for (fence, usage) in added {
            let needed = *usage <= level && !fence.status().is_signaled();
            let found = seen.iter().any(|(other, _)| other.is_later_or_same(fence));
            prop_assert!(!needed || found, "{fence:?} as {usage} is not seen by {level}: {seen:?}");
        }
        // A query sees nothing that it should not.
        for (fence, usage) in &seen {
            prop_assert!(*usage <= level);
            prop_assert!(added.iter().any(|known| known.0 == *fence && known.1 == *usage));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn n26_no_sequence_of_operations_loses_an_unsignaled_dependency(steps in steps()) {
        let timelines: Vec<Timeline> = (0..4).map(|_| Timeline::new()).collect();
        let mut made: HashMap<usize, Vec<Manual>> = HashMap::new();
        let mut signaled = [0usize; 4];
        let mut reservation = Reservation::new();
        let mut added: Vec<(Manual, Usage)> = Vec::new();
        for step in steps {
            match step {
                Step::Add { context, usage } => {
                    let fence = timelines[context].fence();
                    made.entry(context).or_default().push(fence.clone());
                    reservation.lock().reserve(1).unwrap().add(fence.clone(), usage).unwrap();
                    added.push((fence, usage));
                }
                Step::Again { back, usage } => {
                    if let Some((fence, _)) = added.iter().rev().nth(back).cloned() {
                        reservation.lock().reserve(1).unwrap().add(fence.clone(), usage).unwrap();
                        added.push((fence, usage));
                    }
                }
                Step::Signal { context, count } => {
                    let fences = made.entry(context).or_default();
                    let until = fences.len().min(signaled[context] + count as usize);
                    fences[signaled[context]..until].iter().for_each(|fence| {
                        fence.signal();
                    });
                    signaled[context] = until;
                }
                Step::Reserve { count } => drop(reservation.lock().reserve(count).unwrap()),
                Step::Replace { context } => {
                    let fence = timelines[context].fence();
                    made.entry(context).or_default().push(fence.clone());
                    let id = timelines[context].context;
                    // As strict as the strictest that it stands for.
                    let usage = reservation.lock().iter(Usages::all())
                        .filter(|(fence, _)| fence.context() == id)
                        .map(|(_, usage)| usage)
                        .min();
                    if let Some(usage) = usage {
                        reservation.lock().replace(id, &fence, usage);
                        added.push((fence, usage));
                    }
                }
                Step::Copy => {
                    let copy = Reservation::new();
                    copy.lock().copy_from(&reservation).unwrap();
                    reservation = copy;
                }
                Step::Prune => reservation.lock().prune(),
            }
            check(&reservation, &added)?;
        }
    }
}
