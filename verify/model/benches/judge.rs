//! How long verdicts take, with the simple implementation of the tests beside the search.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use baton_model::litmus::Test;
use baton_model::{Options, judge, outcomes};
use criterion::{Criterion, criterion_main};

#[path = "../tests/suite/narrow.rs"]
mod narrow;
#[path = "../tests/suite/simple.rs"]
mod simple;

/// Locations of one byte, as the simple implementation wants them.
const SHAPES: [(&str, &str); 4] = [
    (
        "SB+fence.sc",
        "location x global u8 = 0
         location y global u8 = 0
         thread T0 cta=0:
           st.relaxed.gpu.u8 [x], 1
           fence.sc.gpu
           ld.relaxed.gpu.u8 r0, [y]
         thread T1 cta=1:
           st.relaxed.gpu.u8 [y], 1
           fence.sc.gpu
           ld.relaxed.gpu.u8 r0, [x]
         exists: T0:r0 == 0 && T1:r0 == 0",
    ),
    (
        "IRIW",
        "location x global u8 = 0
         location y global u8 = 0
         thread T0 cta=0:
           st.relaxed.gpu.u8 [x], 1
         thread T1 cta=1:
           st.relaxed.gpu.u8 [y], 1
         thread T2 cta=2:
           ld.acquire.gpu.u8 r0, [x]
           ld.acquire.gpu.u8 r1, [y]
         thread T3 cta=3:
           ld.acquire.gpu.u8 r0, [y]
           ld.acquire.gpu.u8 r1, [x]
         exists: T2:r0 == 1 && T2:r1 == 0 && T3:r0 == 1 && T3:r1 == 0",
    ),
    (
        "three atomics",
        "location x global u8 = 0
         thread T0 cta=0:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         thread T1 cta=1:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         thread T2 cta=2:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         exists: x != 3",
    ),
    (
        "four atomics",
        "location x global u8 = 0
         thread T0 cta=0:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         thread T1 cta=1:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         thread T2 cta=2:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         thread T3 cta=3:
           atom.relaxed.gpu.add.u8 r0, [x], 1
         exists: x != 4",
    ),
];

fn verdicts(criterion: &mut Criterion) {
    for (name, text) in SHAPES {
        let test = narrow::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let options = Options::default();
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        group.bench_function("parse", |b| b.iter(|| narrow::parse(text)));
        group.bench_function("judge", |b| {
            b.iter(|| judge(&test.program, &test.condition, &options))
        });
        group.bench_function("outcomes", |b| b.iter(|| outcomes(&test.program, &options)));
        group.bench_function("outcomes, simple", |b| b.iter(|| simple::outcomes(&test.program)));
        group.finish();
    }
}

/// The corpus twice, on all cores, from text to verdict: what `cargo baton litmus` does with a folder.
fn corpus(criterion: &mut Criterion) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus");
    let mut texts = vec![];
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{error}")) {
            let path = entry.unwrap_or_else(|error| panic!("{error}")).path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                texts.push(fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}")));
            }
        }
    }
    texts.extend_from_within(..);
    let mut group = criterion.benchmark_group("corpus");
    group.sample_size(10);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    group.bench_function(format!("{} tests on {threads} threads", texts.len()), |b| {
        b.iter(|| {
            let next = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                            let test = Test::parse(text, "corpus").expect("a test");
                            let verdict =
                                judge(&test.program, &test.condition, &Options::default());
                            verdict.expect("a verdict");
                        }
                    });
                }
            });
        });
    });
    group.finish();
}

/// Criterion's macro documents nothing.
#[allow(missing_docs)]
mod group {
    criterion::criterion_group!(benches, super::verdicts, super::corpus);
}

criterion_main!(group::benches);
