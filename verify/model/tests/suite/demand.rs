//! Programs of which atomic operations race and tear are answered by demand where the search has no budget: the
//! answers are those of the enumeration and of the second implementation.

use std::sync::atomic::{AtomicUsize, Ordering};

use baton_campaign::Campaign;
use baton_model::litmus::{Condition, Term};
use baton_model::{Options, Outcome, judge, outcomes};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::random::runner;
use crate::{narrow, simple};

fn line() -> impl Strategy<Value = String> {
    let pick = |all: &'static [&'static str]| prop::sample::select(all.to_vec());
    let scope = move || pick(&["cta", "cluster", "gpu", "sys"]);
    let place = move || pick(&["u8 [y]", "u32 [w+4]", "u16 [x]", "u16 [x]", "u64 [w]"]);
    let place_of = |place: &str| place.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    let value = move || pick(&["1", "2", "257", "255", "r0", "r1"]);
    let register = move || pick(&["r0", "r1"]);
    let atom =
        pick(&["add R, P, V", "exch R, P, V", "cas R, P, 1, V", "xor R, P, V", "max R, P, V"]);
    prop_oneof![
        5 => (scope(), register(), place(), value(), atom).prop_map(move |(s, r, p, v, atom)| {
            let (ty, at) = place_of(p).unwrap_or_default();
            let (name, rest) = atom.split_once(' ').unwrap_or_default();
            let rest = rest.replace('R', r).replace('P', &at).replace('V', v);
            format!("atom.relaxed.{s}.{name}.{ty} {rest}")
        }),
        2 => (pick(&["weak", "relaxed.cta", "acquire.gpu"]), register(), place()).prop_map(move |(o, r, p)| {
            let (ty, at) = place_of(p).unwrap_or_default();
            format!("ld.{o}.{ty} {r}, {at}")
        }),
        2 => (pick(&["weak", "relaxed.cta", "release.gpu"]), value(), place()).prop_map(move |(o, v, p)| {
            let (ty, at) = place_of(p).unwrap_or_default();
            format!("st.{o}.{ty} {at}, {v}")
        }),
        1 => pick(&["fence.sc.gpu", "fence.acq_rel.cta", "add.u32 r1, r0, 1", "xor.b32 r0, r0, r1", "and.b32 r1, r0, 3"])
            .prop_map(str::to_owned),
    ]
}

fn program() -> impl Strategy<Value = String> {
    let threads = prop::collection::vec(prop::collection::vec(line(), 1..=3), 2..=3);
    let few = |threads: &Vec<Vec<String>>| threads.iter().map(Vec::len).sum::<usize>() <= 4;
    let places = prop::sample::select(vec![
        ["0 cluster=0"; 3],
        ["0 cluster=0", "0 cluster=0", "1 cluster=0"],
        ["0 cluster=0", "1 cluster=0", "2 cluster=2"],
    ]);
    (threads.prop_filter("few operations", few), places).prop_map(|(threads, places)| {
        let mut text =
            "location x global u16 = 0\nlocation y global u8 = 0\nlocation w global u64 = 0\n"
                .to_owned();
        for (index, lines) in threads.iter().enumerate() {
            text += &format!("thread T{index} cta={}:\n  mov r0, 0\n  mov r1, 0\n", places[index]);
            lines.iter().for_each(|line| text += &format!("  {line}\n"));
        }
        text
    })
}

fn holds(condition: &Condition, outcome: &Outcome) -> bool {
    let value = |term| match term {
        Term::Number(number) => Some(number),
        Term::Register(thread, register) => Some(outcome.registers[thread][register]),
        Term::Memory(memory) => Some(outcome.memory[memory]),
    };
    condition.evaluate(&value) == Some(true)
}

#[test]
fn what_is_asked_for_is_found_if_it_is_there() {
    let campaign = Campaign::new("racing atomics whose values are searched by demand", 120, 5_000);
    let mut runner = runner(&campaign);
    let (answered, open) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = runner.run(&program(), |text| {
        let fail = |error: &dyn std::fmt::Display| TestCaseError::fail(format!("{error}\n{text}"));
        let test = narrow::parse(&format!("{text}exists: true")).map_err(|e| fail(&e))?;
        let Ok((all, race)) = outcomes(&test.program, &Options::default()) else { return Ok(()) };
        // The second implementation knows the arithmetic of random programs only.
        if !["xor.", "max.", "and.", "[w"].iter().any(|name| text.contains(name)) {
            let (slow, slow_race) = simple::outcomes(&test.program);
            prop_assert_eq!((&all, race), (&slow, slow_race), "{}", text);
        }
        let mut questions: Vec<String> = [
            "T0:r0 == 1 && T1:r0 == 2",
            "T0:r0 == 257",
            "T1:r1 == 2",
            "T1:r0 == 1 || T0:r1 == 3",
            "T0:r0 == 2 && T0:r1 == 1 && T1:r0 == 0",
            "T1:r0 < T0:r0",
        ]
        .map(str::to_owned)
        .into();
        for outcome in all.iter().step_by(1 + all.len() / 6) {
            let registers = outcome.registers.iter().enumerate().flat_map(|(thread, registers)| {
                let names = &test.program.threads[thread].registers;
                let equal = move |(name, value)| format!("T{thread}:{name} == {value}");
                names.iter().zip(registers).map(equal)
            });
            questions.push(registers.collect::<Vec<_>>().join(" && "));
        }
        for question in questions {
            let test = narrow::parse(&format!("{text}exists: {question}")).map_err(|e| fail(&e))?;
            let hurried = Options { budget: 0, ..Options::default() };
            let Ok(verdict) = judge(&test.program, &test.condition, &hurried) else {
                open.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            answered.fetch_add(1, Ordering::Relaxed);
            let allowed = all.iter().any(|outcome| holds(&test.condition, outcome));
            prop_assert_eq!(verdict.allowed, allowed, "{}\n{}", question, text);
            prop_assert!(verdict.race.is_none_or(|found| found == race), "{}", text);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (answered, open) = (answered.into_inner(), open.into_inner());
    println!("{answered} answers, {open} open");
    assert!(answered > 10 * open, "{answered} answers, {open} open");
}
