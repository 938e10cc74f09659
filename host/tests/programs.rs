//! Random programs of host operations, of one thread and of three at the same time, beside a model.
//!
//! Every buffer stands under a lock with the values that the model has for it. An operation locks what it touches as it
//! borrows it (shared to read, exclusively to write), is given to the device, and changes the model before it lets go: so the
//! order in which the threads get a buffer's lock, which is the one in which they get its reservation, is all that the model
//! knows, and the rest goes on at the same time. What is read must be what the model has. Operations may come with an error
//! that the driver answers to one of its functions, or to one call whichever it is of, to whoever calls it meanwhile; some of
//! these errors end the context. An operation may fail if a call was refused meanwhile, and then the buffers that were to be
//! written are unknown until they are overwritten, and nothing else is. At the end nothing is left but what the driver has
//! refused to take back, and the stand-in has seen no use of memory that is not there.

#![cfg(target_os = "linux")]

mod fixture;
mod stand_in;

#[path = "programs/errors.rs"]
mod errors;
#[path = "programs/operations.rs"]
mod operations;
#[path = "programs/world.rs"]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use baton_campaign::{Campaign, is_long};
use baton_host::{Device, EmulatorOptions, Error};
use errors::{CODES, TERMINAL, functions};
use operations::{Program, everything, program};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use stand_in::{
    Driver, allocations, asked, calls, complete, fail, refusals, refused, revive, seed, violations,
    with,
};
use world::World;

/// What a panic said.
fn said(panic: Box<dyn std::any::Any + Send>) -> TestCaseError {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    TestCaseError::fail(text.unwrap_or_else(|| "a panic".into()))
}

/// Runs a program, each of its threads with no context current.
fn run(world: &World, program: &Program, errors: bool) -> Result<(), TestCaseError> {
    let together = Barrier::new(program.threads.len());
    let panics: Vec<_> = thread::scope(|scope| {
        let threads = program.threads.iter().map(|thread| {
            scope.spawn(|| {
                together.wait();
                world.run(thread, errors);
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().filter_map(|thread| thread.join().err()).collect()
    });
    if errors {
        fail("");
    }
    match panics.into_iter().next() {
        Some(panic) => Err(said(panic)),
        None => catch_unwind(AssertUnwindSafe(|| world.check())).map_err(said),
    }
}

fn all(
    name: &str,
    threads: usize,
    sample: u64,
    run: impl Fn(&Program) -> Result<(), TestCaseError>,
) {
    let campaign = Campaign::new(name, sample, 10_000);
    let config = Config {
        cases: campaign.cases() as u32,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &campaign.seed_bytes());
    let ran = TestRunner::new_with_rng(config, rng).run(&program(threads), |program| run(&program));
    match ran {
        Ok(()) => {}
        Err(TestError::Fail(why, program)) => panic!("{why}\n{program:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// What the driver was asked to take back and has refused, or could not be asked, or does not say whether it is in use. Each
/// costs one allocation at most.
fn refused_to_take_back() -> usize {
    let loses = |symbol: &str| {
        let ends = ["cuMemFree", "cuCtx", "cuEventSynchronize", "cuStreamSynchronize"];
        ends.iter().any(|end| symbol.starts_with(end))
    };
    refused().iter().filter(|(symbol, _)| loses(symbol)).map(|(_, count)| count).sum()
}

/// What must hold of everything that is done on the stand-in: nothing is done that no driver forgives, and nothing is left.
fn leaving_nothing(
    act: impl FnOnce() -> Result<(), TestCaseError>,
    loses_context: bool,
) -> Result<(), TestCaseError> {
    let (left, violated, refused) = (allocations(), violations(), refused_to_take_back());
    let acted = act();
    fail("");
    let (more, refused) = (allocations() - left, refused_to_take_back() - refused);
    // What is left would be in the way of what comes now.
    revive();
    prop_assert!(
        more <= refused || loses_context || acted.is_err(),
        "{more} are left, and {refused} were refused"
    );
    prop_assert_eq!(violations(), violated);
    acted
}

fn devices() -> Result<World, Error> {
    World::new(Device::gpu(0)?, Device::gpu(1)?)
}

fn on_a_hostile_driver(test: &str, name: &str, threads: usize, wishes: &[(&str, &str)]) {
    let wishes: Vec<_> = [("STAND_IN_GPUS", "2")].iter().chain(wishes).copied().collect();
    with(Driver::StandIn, &wishes, test, || {
        all(name, threads, 300, |program| {
            // What was asked before is of no interest.
            asked(|| complete(false));
            seed(program.seed);
            let troubles = program.threads.iter().flatten().filter_map(|(_, trouble)| *trouble);
            let loses_context = troubles.into_iter().any(|trouble| trouble.is_terminal());
            leaving_nothing(|| run(&devices().unwrap(), program, true), loses_context)
        });
    });
}

fn on_emulators(name: &str, threads: usize) {
    all(name, threads, 300, |program| {
        let device = |seed| Device::emulator(EmulatorOptions::default().with_seed(seed));
        let world = World::new(device(program.seed), device(!program.seed)).unwrap();
        run(&world, program, false)
    });
}

#[test]
fn programs_on_a_hostile_driver_do_what_the_model_does() {
    let test = "programs_on_a_hostile_driver_do_what_the_model_does";
    on_a_hostile_driver(test, "programs of host operations on a hostile driver", 1, &[]);
}

#[test]
fn programs_of_three_threads_on_a_hostile_driver_do_what_the_model_does() {
    let test = "programs_of_three_threads_on_a_hostile_driver_do_what_the_model_does";
    on_a_hostile_driver(test, "programs of three threads on a hostile driver", 3, &[]);
}

#[test]
fn programs_on_a_driver_without_pools_do_what_the_model_does() {
    let test = "programs_on_a_driver_without_pools_do_what_the_model_does";
    let name = "programs of host operations on a driver without pools";
    on_a_hostile_driver(test, name, 1, &[("STAND_IN_NO_POOLS", "1")]);
}

#[test]
fn programs_on_the_emulator_do_what_the_model_does() {
    on_emulators("programs of host operations on the emulator", 1);
}

#[test]
fn programs_of_three_threads_on_the_emulator_do_what_the_model_does() {
    on_emulators("programs of three threads on the emulator", 3);
}

/// One program in which everything is done, again and again, each time with another call refused: from opening the devices
/// on to the last drop.
fn each_call_is_refused(codes: &[u32]) {
    let program = everything();
    // Of what is refused from the beginning, and of what is while the program goes on.
    let once = |early: &str, late: &str| {
        let code = |wish: &str| {
            wish.rsplit(':')
                .next()
                .is_some_and(|code| TERMINAL.iter().any(|terminal| code == terminal.to_string()))
        };
        let loses_context = code(early) || code(late);
        let ran = leaving_nothing(
            || {
                asked(|| complete(false));
                fail(early);
                let before = refusals();
                catch_unwind(|| match devices() {
                    Ok(world) => {
                        world.may_be_lost(loses_context);
                        world.streams_may_fail(!late.is_empty());
                        if !late.is_empty() {
                            fail(late);
                        }
                        // The wish stays for the time after, in which things are dropped.
                        world.run(&program.threads[0], true);
                        world.check();
                    }
                    Err(error) => assert!(refusals() > before, "{error}"),
                })
                .map_err(said)
            },
            loses_context || !late.is_empty(),
        );
        ran.unwrap_or_else(|error| panic!("{early} {late}: {error}"));
    };
    // Counted from the last wish on, and to the end of all drops.
    asked(|| complete(false));
    fail("@0:0");
    {
        let world = devices().unwrap();
        world.run(&program.threads[0], true);
        world.check();
    }
    let count = calls();
    assert!(count > 1000, "{count} calls");
    println!("{count} calls, each refused with {codes:?}");
    for call in 0..count {
        // In the long run with each code, else with one.
        let some = if is_long() { codes } else { &codes[call % codes.len()..][..1] };
        for code in some {
            once(&format!("@{call}:{code}"), "");
        }
    }
    // What the library asks when a call was refused is refused too, as long as the program goes on.
    let also = [
        ("cuStreamEndCapture", "cuGetErrorName"),
        ("cuStreamEndCapture", "cuGetErrorString"),
        ("cuStreamEndCapture", "cuStreamIsCapturing"),
        ("cuEventRecord", "cuStreamSynchronize"),
    ];
    for (first, second) in also {
        once("@0:0", &format!("{first}:{code},{second}:{code}", code = codes[0]));
    }
}

#[test]
fn any_call_may_be_refused() {
    with(Driver::StandIn, &[("STAND_IN_GPUS", "2")], "any_call_may_be_refused", || {
        each_call_is_refused(&CODES);
        // What a process asks for once.
        let once = ["cuInit", "cuDeviceGetCount"];
        // What GPUs with memory pools are not asked for.
        let other = ["cuMemAlloc_v2"];
        let refused = refused();
        let missing: Vec<_> = functions()
            .into_iter()
            .filter(|name| !refused.contains_key(*name) && !once.contains(name))
            .filter(|name| !other.contains(name))
            .collect();
        assert!(missing.is_empty(), "{missing:?} are never called by the program of everything");
    });
}

#[test]
fn any_call_may_be_refused_without_pools() {
    let wishes = [("STAND_IN_GPUS", "2"), ("STAND_IN_NO_POOLS", "1")];
    with(Driver::StandIn, &wishes, "any_call_may_be_refused_without_pools", || {
        each_call_is_refused(&CODES[..2]);
        assert!(refused().contains_key("cuMemAlloc_v2"));
    });
}

#[test]
fn any_call_may_lose_the_context() {
    with(Driver::StandIn, &[("STAND_IN_GPUS", "2")], "any_call_may_lose_the_context", || {
        each_call_is_refused(&TERMINAL[..1]);
    });
}
