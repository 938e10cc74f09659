//! Threads that can be interchanged are folded at barriers: the answers are those without folding.

use std::fmt::Write as _;

use baton_model::litmus::{Condition, Term, Test};
use baton_model::{Options, judge, outcomes};

use crate::spent::Stopwatch;

/// What the outcomes say, each of which is found without folding.
fn reached(test: &Test) -> (bool, bool) {
    let (all, race) = outcomes(&test.program, &Options::default()).expect("outcomes");
    let holds = |condition: &Condition| {
        all.iter().any(|outcome| {
            let value = |term| match term {
                Term::Number(number) => Some(number),
                Term::Register(t, r) => Some(outcome.registers[t][r]),
                Term::Memory(m) => Some(outcome.memory[m]),
            };
            condition.evaluate(&value) == Some(true)
        })
    };
    (holds(&test.condition), race)
}

#[test]
fn folding_changes_no_verdict() {
    let codes = [
        "bar.sync 0, 2\nld.relaxed.gpu.u32 r0, [x]\nst.relaxed.gpu.u32 [x], 1",
        "bar.sync 0, 3\natom.relaxed.cta.add.u32 r0, [x], 1",
        "st.weak.u32 [x], 1\nbar.sync 0, 2\nld.weak.u32 r0, [x]",
        "bar.arrive 0, 2\nbar.sync 0, 2",
        "bar.arrive 0, 3\nbar.arrive 0, 3\nbar.sync 0, 3",
        "bar.sync 0, 2\nbar.sync 0, 2",
        "ld.relaxed.cta.u32 r0, [x]\nsetp.eq p0, r0, 0\nbar.red.popc.u32 r1, 0, 2, p0\nst.relaxed.cta.u32 [x], r1",
    ];
    let conditions =
        ["x == 1", "T0:r0 == 1 && T1:r0 == 1", "T0:r0 == 0 && T3:r0 == 1", "x == 2 && T1:r0 == 0"];
    let mut judged = 0;
    for a in codes {
        for b in codes {
            for condition in conditions {
                let mut text = "location x global u32\n".to_owned();
                for thread in 0..4 {
                    let code = if thread < 2 { a } else { b };
                    let _ = writeln!(text, "thread T{thread} cta=0:\nmov r0, 0\n{code}");
                }
                let test =
                    Test::parse(&format!("{text}exists: {condition}\n"), "folded").expect("a test");
                let verdict =
                    judge(&test.program, &test.condition, &Options::default()).expect("a verdict");
                assert_eq!(
                    (verdict.allowed, verdict.race),
                    {
                        let (a, r) = reached(&test);
                        (a, Some(r))
                    },
                    "{text}{condition}"
                );
                judged += 1;
            }
        }
    }
    assert_eq!(judged, 7 * 7 * 4);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the times are those of optimised code")]
fn many_threads_at_a_barrier_are_judged_at_once() {
    for (threads, count) in [(40, ""), (16, ", 8"), (12, ", 2"), (40, ", 20"), (11, ", 2")] {
        let mut text = "location x global u32\n".to_owned();
        for thread in 0..threads {
            let _ = writeln!(
                text,
                "thread T{thread} cta=0:\nst.relaxed.cta.u32 [x], 1\nbar.sync 0{count}"
            );
        }
        let test = Test::parse(&format!("{text}exists: true"), "barrier").expect("a test");
        let start = Stopwatch::start();
        let verdict =
            judge(&test.program, &test.condition, &Options::default()).expect("a verdict");
        assert_eq!(verdict.allowed, threads % 2 == 0, "{threads} threads{count}");
        assert!(start.ms() < 1e3, "{threads} threads{count}: {} ms", start.ms());
    }
    // Different threads cannot be folded: an answer, or an end by the step budget.
    let mut text = String::new();
    for thread in 0..24 {
        let _ = writeln!(text, "thread T{thread} cta=0:\nmov r0, {thread}\nbar.sync 0, 12");
    }
    let test = Test::parse(&format!("{text}exists: T0:r0 == 1"), "barrier").expect("a test");
    let start = Stopwatch::start();
    let _ = judge(&test.program, &test.condition, &Options::default());
    assert!(start.ms() < 1e4, "{} ms", start.ms());
}
