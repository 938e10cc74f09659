//! Random small programs: the search and the simple implementation give the same outcomes and races.

use std::time::Instant;

use baton_model::litmus::Test;
use baton_model::{Options, judge, outcomes};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::simple;

/// One line of a thread.
fn line() -> impl Strategy<Value = String> {
    let location = prop::sample::select(vec!["x", "y", "z"]);
    let scope = || prop::sample::select(vec!["cta", "cluster", "gpu", "sys"]);
    let register = || prop::sample::select(vec!["r0", "r1"]);
    let value = || prop::sample::select(vec!["1", "2", "r0"]);
    let load = (
        location.clone(),
        scope(),
        register(),
        prop::sample::select(vec!["weak", "relaxed", "acquire"]),
    )
        .prop_map(|(at, scope, to, kind)| match kind {
            "weak" => format!("ld.weak.u8 {to}, [{at}]"),
            kind => format!("ld.{kind}.{scope}.u8 {to}, [{at}]"),
        });
    let store = (
        location.clone(),
        scope(),
        value(),
        prop::sample::select(vec!["weak", "relaxed", "release"]),
    )
        .prop_map(|(at, scope, value, kind)| match kind {
            "weak" => format!("st.weak.u8 [{at}], {value}"),
            kind => format!("st.{kind}.{scope}.u8 [{at}], {value}"),
        });
    let wide = (scope(), register(), prop::sample::select(vec!["weak", "relaxed"]), any::<bool>())
        .prop_map(|(scope, to, kind, is_load)| {
            let order = if kind == "weak" { "weak".to_owned() } else { format!("relaxed.{scope}") };
            if is_load {
                format!("ld.{order}.u16 {to}, [w]")
            } else {
                format!("st.{order}.u16 [w], 0x0101")
            }
        });
    let atom = (
        location.clone(),
        scope(),
        register(),
        prop::sample::select(vec!["relaxed", "acquire", "release", "acq_rel"]),
        prop::sample::select(vec!["add", "exch", "cas"]),
    )
        .prop_map(|(at, scope, to, kind, operation)| {
            let args = if operation == "cas" { "0, 2" } else { "1" };
            format!("atom.{kind}.{scope}.{operation}.u8 {to}, [{at}], {args}")
        });
    let red = (location, scope(), prop::sample::select(vec!["relaxed", "release"]))
        .prop_map(|(at, scope, kind)| format!("red.{kind}.{scope}.add.u8 [{at}], 1"));
    let fence = (scope(), prop::sample::select(vec!["sc", "sc", "acq_rel", "acquire", "release"]))
        .prop_map(|(scope, kind)| format!("fence.{kind}.{scope}"));
    let other = prop::sample::select(vec![
        "fence.proxy.alias",
        "fence.proxy.surface",
        "bar.sync 0",
        "sust.b.1d.u8 [s], 1",
        "suld.b.1d.u8 r1, [s]",
        "ld.weak.u8 r0, [a]",
        "st.weak.u8 [a], 2",
        "ld.relaxed.gpu.u8 r0, [a]",
        "ld.weak.u8 r1, [w+1]",
        "st.weak.u8 [w+1], 1",
        "@p0 bra END",
        "@p0 fence.acquire.gpu",
        "add.u8 r1, r0, 1",
    ])
    .prop_map(str::to_owned);
    // A decision stands behind what it decides by, or it would be the same in nearly all programs.
    let decision = prop::sample::select(vec![
        "@p0 bra END",
        "@!p0 bra END",
        "@!p0 st.relaxed.gpu.u8 [y], 1",
        "@p0 fence.acquire.gpu",
    ])
    .prop_map(|decided| format!("setp.eq p0, r0, 1\n  {decided}"));
    // As is an access through another proxy without its fence.
    let fenced = prop::sample::select(vec![
        "st.weak.u8 [a], 2\n  fence.proxy.alias",
        "fence.proxy.alias\n  ld.weak.u8 r1, [a]",
        "sust.b.1d.u8 [s], 1\n  fence.proxy.surface",
        "fence.proxy.surface\n  suld.b.1d.u8 r1, [s]",
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        5 => load, 5 => store, 1 => wide, 2 => atom, 1 => red, 3 => fence, 4 => other, 2 => decision, 1 => fenced
    ]
}

const PLACES: [&str; 5] = [
    "gpu=0 cluster=0 cta=0",
    "gpu=0 cluster=0 cta=0",
    "gpu=0 cluster=0 cta=1",
    "gpu=0 cluster=1 cta=2",
    "gpu=1 cluster=2 cta=3",
];

type Lines = (usize, Vec<String>);

/// A thread of so many lines.
fn thread(lines: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Lines> {
    (0..PLACES.len(), prop::collection::vec(line(), lines))
}

/// A program of two or three threads.
fn program() -> impl Strategy<Value = String> {
    prop::collection::vec(thread(1..=4), 2..=3).prop_map(|threads| text(&threads))
}

/// A program of four threads with ten events: an atomic operation is two, a barrier is two.
fn four_threads() -> impl Strategy<Value = String> {
    let threads = prop::collection::vec(thread(1..=3), 4);
    threads.prop_map(|threads| text(&threads)).prop_filter("ten events", |text| {
        let events = |line: &str| match line.trim_start().split('.').next().unwrap_or("") {
            "ld" | "st" | "suld" | "sust" | "fence" => 1,
            "@p0 fence" | "@!p0 st" => 1,
            "atom" | "red" | "bar" => 2,
            _ => 0,
        };
        text.lines().map(events).sum::<i32>() == 10
    })
}

fn text(threads: &[Lines]) -> String {
    let mut text = String::from(
        "location x global u8 = 0\nlocation y global u8 = 0\nlocation z global u8 = 0\n\
         location w global u16 = 0\nlocation a alias-of x\nlocation s surface-of y\n",
    );
    for (index, (place, lines)) in threads.iter().enumerate() {
        text += &format!("thread T{index} {}:\n", PLACES[*place]);
        for line in lines {
            text += &format!("  {line}\n");
        }
        text += "END:\n";
    }
    text + "exists: true\n"
}

/// How much work the simple implementation would have: reads and pairs to order, both exponential.
fn is_small(text: &str) -> bool {
    let reads = text
        .lines()
        .filter(|l| l.contains("ld") || l.contains("atom") || l.contains("red"))
        .count();
    let writes = text
        .lines()
        .filter(|l| {
            l.contains("st.") || l.contains("sust") || l.contains("atom") || l.contains("red")
        })
        .count();
    let wide = text.lines().filter(|l| l.contains("u16")).count();
    reads <= 5 && writes <= 5 && wide <= 2 && reads + writes + wide <= 9
}

fn agree(cases: u32) {
    let mut runner = TestRunner::new(Config {
        cases,
        max_global_rejects: cases * 20,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = program().prop_filter("small enough", |text| is_small(text));
    let result = runner.run(&strategy, |text| {
        let test = Test::parse(&text, "random").map_err(|e| TestCaseError::fail(e.to_string()))?;
        let fast = outcomes(&test.program, &Options::default());
        let (fast, race) = fast.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let (slow, slow_race) = simple::outcomes(&test.program);
        prop_assert_eq!(&fast, &slow, "outcomes differ of\n{}", text);
        prop_assert_eq!(race, slow_race, "races differ of\n{}", text);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// 500 programs, or 10,000 in a long run (`BATON_LONG=1`).
#[test]
fn both_implementations_agree() {
    agree(if std::env::var_os("BATON_LONG").is_some() { 10_000 } else { 500 });
}

/// What a test of this size may take.
const MOST_MS: f64 = 50.0;

#[test]
#[cfg_attr(debug_assertions, ignore = "the times are those of optimised code")]
fn four_threads_with_ten_events_are_judged_at_once() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::default());
    let config = Config { max_local_rejects: u32::MAX, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let strategy = four_threads();
    let mut slow = vec![];
    let mut longest: f64 = 0.0;
    for _ in 0..if std::env::var_os("BATON_LONG").is_some() { 20_000 } else { 500 } {
        let text = strategy.new_tree(&mut runner).expect("some have ten").current();
        // The machine may be busy with something else: the best of some tries counts.
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            let test = Test::parse(&text, "random").unwrap_or_else(|error| panic!("{error}"));
            let verdict = judge(&test.program, &test.condition, &Options::default());
            verdict.unwrap_or_else(|error| panic!("{error}\n{text}"));
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            if best < MOST_MS {
                break;
            }
        }
        longest = longest.max(best);
        if best >= MOST_MS {
            slow.push(format!("{best} ms:\n{text}"));
        }
    }
    println!("the longest of all took {longest:.1} ms");
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn random_programs_have_everything() {
    let mut runner = TestRunner::deterministic();
    let strategy = program().prop_filter("small enough", |text| is_small(text));
    let mut texts = vec![];
    while texts.len() < 500 {
        let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
        texts.push(tree.current());
    }
    let with = |needles: &[&str]| {
        texts.iter().filter(|text| needles.iter().all(|needle| text.contains(needle))).count()
    };
    for needles in [
        &[".cta."][..],
        &[".cluster."],
        &[".gpu."],
        &[".sys."],
        &["gpu=1"],
        &["cta=1"],
        &["cta=2"],
        &["fence.proxy.alias", "[a]"],
        &["fence.proxy.surface"],
        &["sust"],
        &["fence.sc"],
        &["bar.sync"],
        &["atom.", "red."],
        &["cas"],
        &["u16"],
        &["[w+1]"],
        // A branch on something that was read.
        &["setp.eq p0, r0, 1\n  @p0 bra END", "r0, ["],
        &["setp.eq p0, r0, 1\n  @!p0 st"],
    ] {
        assert!(with(needles) >= 10, "{needles:?}: in {} of {}", with(needles), texts.len());
    }
}
