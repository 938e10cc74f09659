//! Random small programs: the search and the simple implementation give the same outcomes and races.

use std::collections::BTreeMap;
use std::time::Instant;

use baton_campaign::Campaign;
use baton_model::litmus::Term;
use baton_model::{Clauses, Options, judge, outcomes};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::mutants::IMPLIED;
use crate::spent::processor_ms;
use crate::{narrow, simple};

/// One line of a thread. `@` stands for the bits of the location's type, which the program decides.
fn line() -> impl Strategy<Value = String> {
    let location = prop::sample::select(vec!["x", "y", "z"]);
    let scope = || prop::sample::select(vec!["cta", "cluster", "gpu", "sys"]);
    let register = || prop::sample::select(vec!["r0", "r1"]);
    let value = || prop::sample::select(vec!["1", "2", "0x101", "r0"]);
    let load = (
        location.clone(),
        scope(),
        register(),
        prop::sample::select(vec!["weak", "relaxed", "acquire"]),
    )
        .prop_map(|(at, scope, to, kind)| match kind {
            "weak" => format!("ld.weak.u@ {to}, [{at}]"),
            kind => format!("ld.{kind}.{scope}.u@ {to}, [{at}]"),
        });
    let store = (
        location.clone(),
        scope(),
        value(),
        prop::sample::select(vec!["weak", "relaxed", "release"]),
    )
        .prop_map(|(at, scope, value, kind)| match kind {
            "weak" => format!("st.weak.u@ [{at}], {value}"),
            kind => format!("st.{kind}.{scope}.u@ [{at}], {value}"),
        });
    // Accesses of several sizes to one location.
    let wide = (
        scope(),
        register(),
        prop::sample::select(vec!["weak", "relaxed"]),
        any::<bool>(),
        prop::sample::select(vec![
            "u64 w", "u32 w", "u32 w+4", "u16 w", "u16 w+2", "u8 w+1", "u8 w+4",
        ]),
    )
        .prop_map(|(scope, to, kind, is_load, part)| {
            let order = if kind == "weak" { "weak".to_owned() } else { format!("relaxed.{scope}") };
            let (ty, at) = part.split_once(' ').expect("two words");
            if is_load {
                format!("ld.{order}.{ty} {to}, [{at}]")
            } else {
                format!("st.{order}.{ty} [{at}], 0x0101000000000101")
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
            format!("atom.{kind}.{scope}.{operation}.u@ {to}, [{at}], {args}")
        });
    let red = (location, scope(), prop::sample::select(vec!["relaxed", "release"]))
        .prop_map(|(at, scope, kind)| format!("red.{kind}.{scope}.add.u@ [{at}], 1"));
    let fence = (scope(), prop::sample::select(vec!["sc", "sc", "acq_rel", "acquire", "release"]))
        .prop_map(|(scope, kind)| format!("fence.{kind}.{scope}"));
    let other = prop::sample::select(vec![
        "fence.proxy.alias",
        "fence.proxy.surface",
        "bar.sync 0",
        "sust.b.1d.u@ [s], 1",
        "suld.b.1d.u@ r1, [s]",
        "ld.weak.u@ r0, [a]",
        "st.weak.u@ [a], 2",
        "ld.relaxed.gpu.u@ r0, [a]",
        "@p0 bra END",
        "@p0 fence.acquire.gpu",
        "add.u32 r1, r0, 1",
    ])
    .prop_map(str::to_owned);
    // A decision stands behind what it decides by, or it would be the same in nearly all programs.
    let decision = prop::sample::select(vec![
        "@p0 bra END",
        "@!p0 bra END",
        "@!p0 st.relaxed.gpu.u@ [y], 1",
        "@p0 fence.acquire.gpu",
    ])
    .prop_map(|decided| format!("setp.eq p0, r0, 1\n  {decided}"));
    // As is an access through another proxy without its fence.
    let fenced = prop::sample::select(vec![
        "st.weak.u@ [a], 2\n  fence.proxy.alias",
        "fence.proxy.alias\n  ld.weak.u@ r1, [a]",
        "sust.b.1d.u@ [s], 1\n  fence.proxy.surface",
        "fence.proxy.surface\n  suld.b.1d.u@ r1, [s]",
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

/// Bits of the types of x, y and z.
fn widths() -> impl Strategy<Value = [u32; 3]> {
    prop::array::uniform3(prop::sample::select(vec![8, 16, 32, 64]))
}

/// A program of two or three threads.
fn program() -> impl Strategy<Value = String> {
    (prop::collection::vec(thread(1..=4), 2..=3), widths())
        .prop_map(|(threads, widths)| text(&threads, widths, "true"))
}

/// What may be asked of four threads: nothing, registers, final values, both.
fn question() -> impl Strategy<Value = &'static str> {
    prop::sample::select(QUESTIONS)
}

const QUESTIONS: &[&str] = &[
    "true",
    "x == 77",
    "T0:r0 == 1 && T1:r0 == 0",
    "T0:r0 == 1 && T1:r1 == 2 && T2:r0 == 0 && T3:r1 == 1",
    "x == 1 && y == 2",
    "x == 2 && T2:r0 == 0x101",
    "y == 1 || T3:r1 != 0",
    "T0:r0 == T1:r0 && T0:r0 != 0",
    "w == 0x101 && T3:r0 > 1",
    "T0:r0 == 0x101 && T1:r1 != 1 && x != 0",
    "T0:r1 == 2 && y == 1",
];

/// A program of four threads with ten events: an atomic operation is two, a barrier is two.
fn four_threads() -> impl Strategy<Value = String> {
    let threads = prop::collection::vec(thread(1..=3), 4);
    let text = (threads, widths(), question())
        .prop_map(|(threads, widths, question)| text(&threads, widths, question));
    text.prop_filter("ten events", |text| {
        let events = |line: &str| match line.trim_start().split('.').next().unwrap_or("") {
            "ld" | "st" | "suld" | "sust" | "fence" => 1,
            "@p0 fence" | "@!p0 st" => 1,
            "atom" | "red" | "bar" => 2,
            _ => 0,
        };
        text.lines().map(events).sum::<i32>() == 10
    })
}

fn text(threads: &[Lines], [x, y, z]: [u32; 3], question: &str) -> String {
    let mut text = format!(
        "location x global u{x} = 0\nlocation y global u{y} = 0\nlocation z global u{z} = 0\n\
         location w global u64 = 0\nlocation a alias-of x\nlocation s surface-of y\n"
    );
    for (index, (place, lines)) in threads.iter().enumerate() {
        text += &format!("thread T{index} {}:\n  mov r0, 0\n  mov r1, 0\n", PLACES[*place]);
        for line in lines {
            for line in line.split('\n') {
                let at = line.split_once('[').map_or("", |(_, rest)| &rest[..1]);
                let bits = match at {
                    "x" | "a" => x,
                    "y" | "s" => y,
                    _ => z,
                };
                text += &format!("  {}\n", line.trim().replace("u@", &format!("u{bits}")));
            }
        }
        text += "END:\n";
    }
    text + &format!("exists: {question}\n")
}

/// How much work the simple implementation would have: bytes that are read and pairs to order, both exponential.
fn is_small(text: &str) -> bool {
    let bytes = |line: &str| {
        let ty =
            line.split([' ', '.']).find_map(|word| word.strip_prefix('u')?.parse::<usize>().ok());
        ty.unwrap_or(8) / 8
    };
    let is_read = |l: &&str| l.contains("ld") || l.contains("atom") || l.contains("red");
    let reads: usize =
        text.lines().filter(|l| !l.contains("location")).filter(is_read).map(bytes).sum();
    let writes = text
        .lines()
        .filter(|l| {
            l.contains("st.") || l.contains("sust") || l.contains("atom") || l.contains("red")
        })
        .count();
    reads <= 9 && writes <= 5 && reads + writes <= 11
}

/// Runs a campaign of random programs.
pub fn runner(campaign: &Campaign) -> TestRunner {
    let cases = u32::try_from(campaign.cases()).expect("a number of programs");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &campaign.seed_bytes());
    let config = Config {
        cases,
        max_global_rejects: cases * 20,
        max_local_rejects: u32::MAX,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, rng)
}

#[test]
fn both_implementations_agree() {
    let campaign =
        Campaign::new("random programs on which both implementations agree", 500, 10_000);
    let mut runner = runner(&campaign);
    let strategy = program().prop_filter("small enough", |text| is_small(text));
    let result = runner.run(&strategy, |text| {
        let test = narrow::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let fast = outcomes(&test.program, &Options::default());
        let (fast, race) = fast.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let (slow, slow_race) = simple::outcomes(&test.program);
        prop_assert_eq!(&fast, &slow, "outcomes differ of\n{}", text);
        prop_assert_eq!(race, slow_race, "races differ of\n{}", text);
        // A verdict looks at those values only that its question asks for.
        for question in QUESTIONS.iter().filter(|question| {
            !question.contains("T3") && (!question.contains("T2") || text.contains("T2"))
        }) {
            let asked = text.replace("exists: true", &format!("exists: {question}"));
            let test = narrow::parse(&asked).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let verdict = judge(&test.program, &test.condition, &Options::default());
            let verdict = verdict.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let holds = |outcome: &baton_model::Outcome| {
                let value = |term| match term {
                    Term::Number(number) => Some(number),
                    Term::Register(t, r) => Some(outcome.registers[t][r]),
                    Term::Memory(m) => Some(outcome.memory[m]),
                };
                test.condition.evaluate(&value) == Some(true)
            };
            prop_assert_eq!(verdict.allowed, slow.iter().any(holds), "{}", asked);
            prop_assert_eq!(verdict.race, Some(slow_race), "{}", asked);
            // Without a budget there is interleaving alone, which knows some of what is allowed.
            let hurried = Options { budget: 0, ..Options::default() };
            if let Ok(hurried) = judge(&test.program, &test.condition, &hurried) {
                prop_assert_eq!(hurried.allowed, verdict.allowed, "hurried: {}", asked);
                let race = hurried.race.unwrap_or(slow_race);
                prop_assert_eq!(race, slow_race, "hurried: {}", asked);
            }
            if let Some(witness) = verdict.witness {
                let shown: BTreeMap<&str, u128> =
                    witness.registers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
                let registers = test.program.threads.iter().map(|thread| {
                    thread
                        .registers
                        .iter()
                        .map(|r| shown[format!("{}:{r}", thread.name).as_str()])
                        .collect::<Vec<_>>()
                });
                let registers: Vec<_> = registers.collect();
                prop_assert!(
                    slow.iter().any(|o| o.registers == registers && holds(o)),
                    "a witness that is no outcome of\n{}",
                    asked
                );
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Without a clause that the others imply, all outcomes and races are the same.
#[test]
fn implied_clauses_change_nothing() {
    let campaign = Campaign::new("random programs without the implied clauses", 300, 10_000);
    let mut runner = runner(&campaign);
    let strategy = program().prop_filter("small enough", |text| is_small(text));
    let result = runner.run(&strategy, |text| {
        let test = narrow::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let whole = outcomes(&test.program, &Options::default());
        let whole = whole.map_err(|e| TestCaseError::fail(e.to_string()))?;
        for (clause, _) in IMPLIED {
            let options = Options { clauses: Clauses::without(*clause), ..Options::default() };
            let without = outcomes(&test.program, &options);
            let without = without.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(&without, &whole, "without {} differs\n{}", clause.name(), text);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// What a test of this size may take.
const MOST_MS: f64 = 50.0;

#[test]
#[cfg_attr(debug_assertions, ignore = "the times are those of optimised code")]
fn four_threads_with_ten_events_are_judged_at_once() {
    let campaign = Campaign::new("tests of four threads and ten events, timed", 500, 20_000);
    let mut runner = runner(&campaign);
    let strategy = four_threads();
    let mut slow = vec![];
    let mut times = vec![];
    let mut races_unknown = 0;
    let mut longest = (0.0, String::new());
    for _ in 0..campaign.cases() {
        let text = strategy.new_tree(&mut runner).expect("some have ten").current();
        // The best of some tries: the first ones find nothing in the caches.
        let (mut best, mut least) = (f64::INFINITY, f64::INFINITY);
        for attempt in 0..5 {
            let (start, spent) = (Instant::now(), processor_ms());
            let test = narrow::parse(&text).unwrap_or_else(|error| panic!("{error}"));
            let verdict = judge(&test.program, &test.condition, &Options::default());
            let verdict = verdict.unwrap_or_else(|error| panic!("{error}\n{text}"));
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            least = least.min(processor_ms() - spent);
            races_unknown += usize::from(attempt == 0 && verdict.race.is_none());
            if best < MOST_MS / 10.0 {
                break;
            }
        }
        times.push(best);
        if best > longest.0 {
            longest = (best, text.clone());
        }
        if best.min(least) >= MOST_MS {
            slow.push(format!("{least} ms:\n{text}"));
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "half took {:.2} ms, 99 of 100 {:.1} ms, 999 of 1000 {:.1} ms, the longest {:.1} ms; races unknown: {races_unknown}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    println!("{}", longest.1);
    assert_eq!(races_unknown, 0);
    assert!(
        slow.is_empty(),
        "{} of {}: {}",
        slow.len(),
        times.len(),
        slow[..slow.len().min(8)].join("\n")
    );
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
        &["u32"],
        &["u64", "[w]"],
        &["[w+1]"],
        &["[w+4]"],
        // A branch on something that was read.
        &["setp.eq p0, r0, 1\n  @p0 bra END", "r0, ["],
        &["setp.eq p0, r0, 1\n  @!p0 st"],
    ] {
        assert!(with(needles) >= 10, "{needles:?}: in {} of {}", with(needles), texts.len());
    }
}
