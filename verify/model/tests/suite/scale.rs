//! The classic shapes with many threads: times, and the directed search against enumeration.

use std::fmt::Write as _;
use std::time::Instant;

use baton_model::litmus::Test;
use baton_model::{Options, judge, judge_directed, outcomes};

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
                    let start = Instant::now();
                    let test = Test::parse(&text, "scale").unwrap_or_else(|e| panic!("{e}"));
                    let verdict = judge(&test.program, &test.condition, &Options::default())
                        .unwrap_or_else(|error| panic!("{name} {threads}: {error}"));
                    best = best.min(start.elapsed().as_secs_f64() * 1e3);
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
