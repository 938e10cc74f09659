//! Programs with one shared location are answered by interleaving where the search has no budget: the
//! answers are those of the enumeration.

use baton_model::litmus::{Condition, Term};
use baton_model::{Options, Outcome, judge, outcomes};
use proptest::prelude::*;

use crate::narrow;

fn line() -> impl Strategy<Value = String> {
    let register = || prop::sample::select(vec!["r0", "r1"]);
    let kind = || prop::sample::select(vec!["relaxed", "acq_rel"]);
    let scope = || prop::sample::select(vec!["gpu", "sys"]);
    let value = || prop::sample::select(vec!["1", "2", "r0"]);
    let atom =
        prop::sample::select(vec!["add.u8 R, [x], V", "exch.u8 R, [x], V", "cas.u8 R, [x], 1, V"]);
    prop_oneof![
        4 => (kind(), scope(), register(), value(), atom).prop_map(|(kind, scope, to, value, atom)| {
            format!("atom.{kind}.{scope}.{atom}").replace('R', to).replace('V', value)
        }),
        1 => (register(), scope()).prop_map(|(to, scope)| format!("ld.acquire.{scope}.u8 {to}, [x]")),
        1 => value().prop_map(|value| format!("st.relaxed.gpu.u8 [x], {value}")),
        1 => prop::sample::select(vec![
            "fence.sc.gpu",
            "add.u32 r1, r0, 1",
            "setp.eq p0, r0, 1\n  @p0 bra END",
            "setp.eq p0, r0, 1\n  @p0 st.relaxed.gpu.u8 [x], 2",
            // Of each thread its own.
            "st.weak.u8 [OWN], r0",
            "ld.weak.u8 r1, [OWN]",
        ])
        .prop_map(str::to_owned),
    ]
}

fn program() -> impl Strategy<Value = String> {
    let threads = prop::collection::vec(prop::collection::vec(line(), 1..=3), 2..=3);
    // All outcomes are enumerated, too.
    let few = |threads: &Vec<Vec<String>>| threads.iter().map(Vec::len).sum::<usize>() <= 4;
    threads.prop_filter("few operations", few).prop_map(|threads| {
        let mut text =
            "location x global u8 = 0\nlocation y global u8 = 0\nlocation z global u8 = 0\n\
                        location v global u8 = 0\n"
                .to_owned();
        for (index, lines) in threads.iter().enumerate() {
            text += &format!("thread T{index} cta={index}:\n  mov r0, 0\n  mov r1, 0\n");
            for line in lines {
                text += &format!("  {}\n", line.replace("OWN", ["y", "z", "v"][index]));
            }
            text += "END:\n";
        }
        text
    })
}

const QUESTIONS: &[&str] = &[
    "T0:r0 == 1 && T1:r0 == 0",
    "T0:r0 == 1 && T1:r1 == 1",
    "x == 2",
    "x == 3 && T0:r0 != 0",
    "T1:r1 == 2 || y == 1",
    "T0:r0 == T1:r0 && x != 1",
    "T0:r1 == 3",
];

fn holds(condition: &Condition, outcome: &Outcome) -> bool {
    let value = |term| match term {
        Term::Number(number) => Some(number),
        Term::Register(thread, register) => Some(outcome.registers[thread][register]),
        Term::Memory(memory) => Some(outcome.memory[memory]),
    };
    condition.evaluate(&value) == Some(true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn interleaving_agrees_with_the_enumeration(text in program()) {
        let none = Options { budget: 0, ..Options::default() };
        let test = narrow::parse(&format!("{text}exists: true\n")).expect("a test");
        let (all, race) = outcomes(&test.program, &Options::default()).expect("all outcomes");
        prop_assert!(!race);
        for question in QUESTIONS {
            let test = narrow::parse(&format!("{text}exists: {question}\n")).expect("a test");
            let expected = all.iter().any(|outcome| holds(&test.condition, outcome));
            let verdict = judge(&test.program, &test.condition, &none);
            let verdict = verdict.map_err(|error| TestCaseError::fail(format!("{error}: {text}{question}")))?;
            prop_assert_eq!(verdict.allowed, expected, "{}{}", text, question);
            prop_assert_eq!(verdict.race, Some(false));
        }
    }
}

/// Four threads with 3, 3, 2 and 2 atomic operations: some three million orders.
#[test]
fn ten_atomic_operations_on_one_location() {
    let question = |question: &str, values: [u32; 10]| {
        let mut text = "location x global u32 = 0\n".to_owned();
        let mut values = values.iter();
        for (thread, count) in [3, 3, 2, 2].into_iter().enumerate() {
            text += &format!("thread T{thread} cta={thread}:\n");
            for register in 0..count {
                let value = values.next().expect("ten values");
                text += &format!("  atom.relaxed.gpu.add.u32 r{register}, [x], {value}\n");
            }
        }
        let test = narrow::parse(&format!("{text}exists: {question}\n")).expect("a test");
        judge(&test.program, &test.condition, &Options::default()).expect("a verdict")
    };
    let ones = [1; 10];
    assert!(!question("x != 10", ones).allowed);
    assert!(question("T0:r0 == 7 && T1:r2 == 6", ones).allowed);
    assert!(!question("T0:r0 == 8", ones).allowed);
    assert!(!question("T0:r0 == T1:r0", ones).allowed);
    // Values of which each subset has a sum of its own: more ways than can be told apart.
    let powers: [u32; 10] = std::array::from_fn(|index| 1 << (3 * index));
    let sum = |of: std::ops::Range<usize>| of.map(|index| powers[index]).sum::<u32>();
    let verdict = question(&format!("T0:r2 == {} && T3:r1 == {}", sum(0..2), sum(0..9)), powers);
    assert!(verdict.allowed && verdict.race == Some(false) && verdict.witness.is_some());
    assert!(!question(&format!("T0:r2 == {}", powers[0] + powers[4]), powers).allowed);
}
