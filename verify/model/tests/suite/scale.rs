//! The classic shapes with many threads: times, and the directed search against enumeration.

use std::fmt::Write as _;
use std::time::Instant;

use baton_model::litmus::Test;
use baton_model::{Options, judge, judge_directed, outcomes};

use crate::spent::Stopwatch;

/// Forbidden by fence.sc or acquire and release, or allowed without.
fn family(name: &str, threads: usize, strong: bool) -> String {
    let mut text = String::new();
    let next = |i: usize, n: usize| (i + 1) % n;
    let mut exists = vec![];
    let locations = if name == "IRIW" { threads.div_ceil(2) } else { threads };
    for i in 0..locations {
        let _ = writeln!(text, "location x{i} global u32 = 0");
    }
    let fence = if strong { "fence.sc.gpu" } else { "fence.acq_rel.gpu" };
    for i in 0..threads {
        let _ = writeln!(text, "thread T{i} cta={i}:");
        let (a, b) = (i % locations, next(i % locations, locations));
        match name {
            "SB" => {
                let _ = writeln!(
                    text,
                    "st.relaxed.gpu.u32 [x{a}], 1\n{fence}\nld.relaxed.gpu.u32 r0, [x{b}]"
                );
                exists.push(format!("T{i}:r0 == 0"));
            }
            "MP" if i == 0 => {
                let _ = writeln!(text, "st.relaxed.gpu.u32 [x0], 1\nst.release.gpu.u32 [x1], 1");
            }
            "MP" => {
                let order = if strong { "acquire" } else { "relaxed" };
                let _ = writeln!(text, "ld.{order}.gpu.u32 r0, [x{a}]");
                exists.push(format!("T{i}:r0 == 1"));
                if i + 1 == threads {
                    let _ = writeln!(text, "ld.relaxed.gpu.u32 r1, [x0]");
                    exists.push(format!("T{i}:r1 == 0"));
                } else {
                    let _ = writeln!(text, "st.release.gpu.u32 [x{b}], 1");
                }
            }
            "LB" => {
                let (load, store) =
                    if strong { ("acquire", "release") } else { ("relaxed", "relaxed") };
                let _ =
                    writeln!(text, "ld.{load}.gpu.u32 r0, [x{a}]\nst.{store}.gpu.u32 [x{b}], 1");
                exists.push(format!("T{i}:r0 == 1"));
            }
            _ if i < locations => {
                let _ = writeln!(text, "st.relaxed.gpu.u32 [x{i}], 1");
            }
            _ => {
                let _ = writeln!(
                    text,
                    "ld.relaxed.gpu.u32 r0, [x{a}]\n{fence}\nld.relaxed.gpu.u32 r1, [x{b}]"
                );
                exists.push(format!("T{i}:r0 == 1 && T{i}:r1 == 0"));
            }
        }
    }
    let _ = writeln!(text, "exists: {}", exists.join(" && "));
    text
}

/// Shapes and sizes that make sense: IRIW takes an even number of at least four threads.
fn sizes(name: &str) -> impl Iterator<Item = usize> + use<'_> {
    [2, 4, 8, 16, 40].into_iter().filter(move |threads| name != "IRIW" || *threads >= 4)
}

#[test]
fn many_threads_get_their_verdicts() {
    let mut table = String::from("family  threads  forbidden, ms  allowed, ms\n");
    for name in ["SB", "MP", "LB", "IRIW"] {
        for threads in sizes(name) {
            let times = [true, false].map(|strong| {
                let text = family(name, threads, strong);
                // The machine may be busy with something else: the best of some tries counts.
                let mut best = f64::INFINITY;
                for _ in 0..3 {
                    let start = Stopwatch::start();
                    let test = Test::parse(&text, "scale").unwrap_or_else(|e| panic!("{e}"));
                    let verdict = judge(&test.program, &test.condition, &Options::default())
                        .unwrap_or_else(|error| panic!("{name} {threads}: {error}"));
                    best = best.min(start.ms());
                    assert_eq!(verdict.allowed, !strong, "{name} with {threads} threads");
                    assert_eq!(verdict.race, Some(false), "{name} with {threads} threads");
                }
                best
            });
            let _ =
                writeln!(table, "{name:<6}  {threads:>7}  {:>13.1}  {:>11.1}", times[0], times[1]);
            if cfg!(not(debug_assertions)) {
                assert!(times.iter().all(|ms| *ms < 1000.0), "{name} {threads}: {times:?} ms");
            }
        }
    }
    println!("{table}");
}

/// Every reader reads every location, its own first: as many values as there are subsets.
fn wide_readers(threads: usize, strong: bool) -> String {
    let half = threads / 2;
    let mut text = String::new();
    let mut exists = vec![];
    for i in 0..half {
        let _ = writeln!(text, "location x{i} global u32 = 0");
    }
    for i in 0..half {
        let _ = writeln!(text, "thread T{i} cta={i}:\nst.release.gpu.u32 [x{i}], 1");
    }
    for i in 0..half {
        let thread = half + i;
        let _ = writeln!(text, "thread T{thread} cta={thread}:");
        for step in 0..half {
            let at = (i + step) % half;
            let _ = writeln!(text, "ld.acquire.gpu.u32 r{at}, [x{at}]");
            if strong && step == 0 {
                let _ = writeln!(text, "fence.sc.gpu");
            }
            exists.push(format!("T{thread}:r{at} == {}", u32::from(step == 0)));
        }
    }
    let _ = writeln!(text, "exists: {}", exists.join(" && "));
    text
}

/// Threads that add to one location, and what may be asked of them: the condition, and whether it is allowed.
fn additions(threads: usize) -> Vec<(String, bool)> {
    let all = |term: &dyn Fn(usize) -> String, join: &str| {
        (0..threads).map(term).collect::<Vec<_>>().join(join)
    };
    vec![
        (format!("x != {threads}"), false),
        (format!("x == {threads}"), true),
        ("T0:r0 == T1:r0".to_owned(), false),
        (format!("T0:r0 == {threads}"), false),
        (format!("T0:r0 == {}", threads - 1), true),
        ("T0:r0 == 1 && T1:r0 == 1".to_owned(), false),
        (all(&|i| format!("T{i}:r0 == 0"), " && "), false),
        (all(&|i| format!("T{i}:r0 == {}", threads - 1 - i), " && "), true),
        (all(&|i| format!("T{i}:r0 == {threads}"), " || "), false),
    ]
}

/// No number of threads is a cliff.
#[test]
fn any_number_of_threads_gets_its_verdict() {
    let limit = if cfg!(debug_assertions) { f64::INFINITY } else { 1000.0 };
    let mut worst = (0.0, String::new());
    let mut timed = |name: String, text: &str, allowed: bool| {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let start = Stopwatch::start();
            let test = Test::parse(text, "scale").unwrap_or_else(|e| panic!("{e}"));
            let verdict = judge(&test.program, &test.condition, &Options::default())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            best = best.min(start.ms());
            assert_eq!(verdict.allowed, allowed, "{name}");
            assert_eq!(verdict.race, Some(false), "{name}");
            if best < limit / 2.0 {
                break;
            }
        }
        assert!(best < limit, "{name}: {best} ms");
        if best > worst.0 {
            worst = (best, name);
        }
    };
    for threads in [4, 8, 11, 12, 13, 14, 20, 28, 30, 32, 34, 36, 48, 60] {
        for (condition, allowed) in additions(threads) {
            let mut text = "location x global u32 = 0\n".to_owned();
            for i in 0..threads {
                let _ = writeln!(text, "thread T{i} cta={i}:\natom.relaxed.gpu.add.u32 r0, [x], 1");
            }
            let _ = writeln!(text, "exists: {condition}");
            timed(format!("{threads} additions, {condition}"), &text, allowed);
        }
        for strong in [true, false] {
            if threads % 2 == 0 {
                timed(
                    format!("IRIW, all read, {threads} threads, strong: {strong}"),
                    &wide_readers(threads, strong),
                    !strong,
                );
            }
            for name in ["SB", "MP", "LB", "IRIW"] {
                if name != "IRIW" || threads % 2 == 0 {
                    timed(
                        format!("{name}, {threads} threads, strong: {strong}"),
                        &family(name, threads, strong),
                        !strong,
                    );
                }
            }
        }
    }
    println!("the longest: {:.1} ms, {}", worst.0, worst.1);
}

/// A search that has to give up does so when it is told to.
#[test]
fn a_search_ends_when_its_time_is_up() {
    let mut text = "location x global u32 = 0\nlocation y global u32 = 0\n".to_owned();
    for i in 0..20 {
        let at = ["x", "y"][i % 2];
        let _ = writeln!(
            text,
            "thread T{i} cta={i}:\natom.relaxed.gpu.add.u32 r0, [{at}], 1\natom.relaxed.cta.add.u32 r1, [x], r0"
        );
    }
    text += "exists: x == 77 && y == 99 && T3:r1 == 5\n";
    let test = Test::parse(&text, "late").expect("a litmus test");
    let patience = std::time::Duration::from_millis(500);
    let start = Instant::now();
    let options = Options { until: Some(start + patience), ..Options::default() };
    let verdict = judge(&test.program, &test.condition, &options);
    assert!(verdict.is_err(), "this one was thought too large: {verdict:?}");
    assert!(start.elapsed() < patience * 3, "it took {:?}", start.elapsed());
}

/// Nor is there a long step without a look at the clock, in whichever of its parts the time ends.
#[test]
fn a_large_program_ends_when_its_time_is_up() {
    let test = Test::parse(include_str!("too_large.litmus"), "late").expect("a litmus test");
    for patience in [0, 30, 100, 300, 1000] {
        let spent = Stopwatch::start();
        let until = Instant::now() + std::time::Duration::from_millis(patience);
        let options = Options { until: Some(until), ..Options::default() };
        let verdict = judge(&test.program, &test.condition, &options);
        assert!(verdict.is_err(), "this one was thought too large: {verdict:?}");
        let over = spent.ms() - patience as f64;
        assert!(over < 250.0, "{over:.0} ms more than {patience}");
    }
}

#[test]
fn the_directed_search_agrees_with_enumeration() {
    for name in ["SB", "MP", "LB", "IRIW"] {
        for threads in 2..=6 {
            if name == "IRIW" && threads % 2 == 1 {
                continue;
            }
            for strong in [true, false] {
                let text = family(name, threads, strong);
                let test = Test::parse(&text, "scale").expect("a litmus test");
                let options = Options { budget: 2_000_000, ..Options::default() };
                let directed =
                    judge_directed(&test.program, &test.condition, &options).expect("small");
                let (all, _) = outcomes(&test.program, &options).expect("small");
                let reached = all.iter().any(|outcome| {
                    let value = |term| match term {
                        baton_model::litmus::Term::Number(number) => Some(number),
                        baton_model::litmus::Term::Register(t, r) => Some(outcome.registers[t][r]),
                        baton_model::litmus::Term::Memory(m) => Some(outcome.memory[m]),
                    };
                    test.condition.evaluate(&value) == Some(true)
                });
                assert_eq!(directed, reached, "{name} with {threads} threads, strong: {strong}");
            }
        }
    }
}
