//! Rules as pairs from compiled Rust: what rustc and LLVM made of `tests/compiled/protocols.rs` forbids
//! the bad outcome; the same PTX with the fence, the scope or the wait weakened allows it.
//!
//! `protocols.ptx` is that file built for sm_100a with the device library; it is kept so that this
//! test needs no toolchain for the device.

use baton_model::kernel::{Argument, KernelThread, Location, Setup, extract, finally};
use baton_model::litmus::Condition;
use baton_model::program::{Space, Type};
use baton_model::scope::{Cluster, Placement};
use baton_model::{Options, Verdict, judge};
use baton_ptx::Module;

const PTX: &str = include_str!("../compiled/protocols.ptx");

fn location(name: &str, space: Space, bytes: u32, elements: u32) -> Location {
    let ty = Type { bytes, signed: false };
    Location { name: name.into(), space, ty, elements, init: 0 }
}

fn thread(name: &str, cta: u32, entry: &str, arguments: &[&str]) -> KernelThread {
    KernelThread {
        name: name.into(),
        place: Placement { gpu: 0, cluster: Cluster::Own(cta), cta },
        entry: entry.into(),
        arguments: arguments.iter().map(|a| Argument::Location((*a).into())).collect(),
        special: vec![],
    }
}

/// Whether `out` can be 1 at the end: the receiver went on and read the old value.
fn verdict(ptx: &str, setup: &Setup) -> Verdict {
    let module = Module::parse(ptx, "protocols.ptx").unwrap_or_else(|error| panic!("{error}"));
    let program = extract(&module, setup).unwrap_or_else(|error| panic!("{error}"));
    let condition: Condition = finally(&program, "out", 1).expect("a location called out");
    judge(&program, &condition, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The corrected twin forbids, and each way to weaken it allows.
fn pair(setup: &Setup, weakened: &[(&str, &str)]) {
    let correct = verdict(PTX, setup);
    assert!(!correct.allowed, "the corrected twin forbids the bad outcome");
    assert_eq!(correct.race, Some(false), "and has no race");
    for (from, to) in weakened {
        let ptx = PTX.replace(from, to);
        assert_ne!(ptx, PTX, "`{from}` is not in the PTX");
        let weak = verdict(&ptx, setup);
        assert!(weak.allowed, "`{from}` -> `{to}`: the bad outcome is allowed");
        assert_eq!(weak.race, Some(true), "`{from}` -> `{to}`: and there is a race");
    }
}

fn mailbox(send: &str, receive: &str) -> Setup {
    Setup {
        locations: ["data", "flag", "out"].map(|name| location(name, Space::Global, 4, 1)).into(),
        threads: vec![
            thread("sender", 0, send, &["data", "flag"]),
            thread("receiver", 1, receive, &["data", "flag", "out"]),
        ],
        unroll: 1,
    }
}

#[test]
fn a1_a5_release_and_acquire() {
    pair(
        &mailbox("send", "receive"),
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("st.release.gpu", "st.release.cta"),
            ("ld.acquire.gpu", "ld.acquire.cta"),
        ],
    );
}

#[test]
fn a3_a4_fences() {
    pair(
        &mailbox("send_fence", "receive_fence"),
        &[
            ("fence.release.gpu;", ""),
            ("fence.acquire.gpu;", ""),
            ("fence.release.gpu", "fence.release.cta"),
            ("fence.acquire.gpu", "fence.acquire.cta"),
        ],
    );
}

#[test]
fn either_half_with_either_half() {
    pair(&mailbox("send", "receive_fence"), &[("fence.acquire.gpu;", "")]);
    pair(&mailbox("send_fence", "receive"), &[("fence.release.gpu;", "")]);
}

#[test]
fn c6_mbarrier() {
    let setup = Setup {
        locations: vec![
            location("tile", Space::Shared(Some(0)), 4, 1),
            location("full", Space::Shared(Some(0)), 8, 1),
            location("out", Space::Global, 4, 1),
        ],
        threads: vec![
            thread("producer", 0, "fill", &["tile", "full"]),
            thread("consumer", 0, "drain", &["tile", "full", "out"]),
        ],
        unroll: 1,
    };
    pair(
        &setup,
        &[
            ("try_wait.parity.acquire.cta", "try_wait.parity.relaxed.cta"),
            ("mbarrier.arrive.release.cta", "mbarrier.arrive.relaxed.cta"),
        ],
    );
}

#[test]
fn b1_b7_bulk_store() {
    let setup = Setup {
        locations: vec![
            location("tile", Space::Shared(Some(0)), 4, 4),
            location("destination", Space::Global, 4, 4),
            location("out", Space::Global, 4, 1),
        ],
        threads: vec![thread("storer", 0, "store_tile", &["tile", "destination", "out"])],
        unroll: 1,
    };
    pair(
        &setup,
        &[
            ("fence.proxy.async.shared::cta;", ""),
            ("cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"),
            ("cp.async.bulk.wait_group 0;", ""),
        ],
    );
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let setup = mailbox("send", "receive");
    let error = |from: &str, to: &str| {
        let module = Module::parse(&PTX.replace(from, to), "protocols.ptx").expect("PTX");
        extract(&module, &setup).expect_err("an error").to_string()
    };
    let text = error("st.release.gpu", "st.frobnicate.release.gpu");
    assert!(text.starts_with("protocols.ptx:") && text.contains("no `.frobnicate`"), "{text}");
    let text = error("entry send(", "entry sent(");
    assert!(text.starts_with("protocols.ptx has no entry `send`; it has "), "{text}");
}
