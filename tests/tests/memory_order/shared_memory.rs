//! Between the threads of a CTA, and with copies.

use baton_model::kernel::{Argument, Location, Setup};

use crate::pair::Weakened::{By, One, Replaced};
use crate::pair::{Twin, array, map, place, shared, thread, words};

#[test]
fn a13_the_barrier_between_writers_and_readers() {
    let lock = Argument::Structure(vec![
        place("word"),
        Argument::Number(1),
        place("data"),
        Argument::Number(64),
    ]);
    let arguments = [lock, array("out", 1)];
    let twin = Twin {
        entries: &["barrier"],
        setup: Setup {
            locations: vec![words("word", 1), words("data", 64), words("out", 1)],
            threads: [0, 32].map(|tid| thread("barrier", 0, tid, &arguments)).into(),
            ..Setup::default()
        },
        bad: &[("out", 1)],
    };
    twin.forbids();
    // The first barrier is the lock's.
    twin.allows(&[One(1, "\nbar.sync", "\n//")]);
}

#[test]
fn b3_aliases() {
    let arguments = [array("data", 64), array("alias", 64), array("out", 1)];
    let twin = Twin {
        entries: &["aliases"],
        setup: Setup {
            locations: vec![words("data", 64), words("out", 1)],
            aliases: vec![("alias".into(), "data".into())],
            threads: [0, 32].map(|tid| thread("aliases", 0, tid, &arguments)).into(),
            ..Setup::default()
        },
        bad: &[("out", 1)],
    };
    twin.forbids();
    // Accesses through two addresses do not overlap (8.2.1), so they are no race.
    twin.allows_without_race(&[
        Replaced("fence.proxy.alias;", ""),
        Replaced("fence.proxy.alias;", "fence.acq_rel.gpu;"),
    ]);
}

/// A thread that edits the map of a matrix 7 to be that of a matrix 42, and copies a tile by it.
fn edits(entry: &'static [&'static str], bad: &'static [(&'static str, u64)]) -> Twin {
    let arguments = [place("map"), Argument::Number(42), place("shared"), place("out")];
    let mut contents = vec![0; 20];
    contents[16] = 0x1_0001;
    let memory = Location { name: "shared".into(), init: contents, ..shared(0, 80) };
    Twin {
        entries: entry,
        setup: Setup {
            // What a map describes is, without a matrix of its own, the map's contents.
            locations: vec![Location { init: vec![7], ..map("map", 128) }, memory, words("out", 1)],
            threads: vec![thread(entry[0], 0, 0, &arguments)],
            ..Setup::default()
        },
        bad,
    }
}

#[test]
fn b5_a_tensor_map_that_is_edited_while_a_copy_uses_it() {
    // The tile of the matrix that the map describes only after the copy.
    let twin = edits(&["load_and_edit"], &[("out", 42)]);
    twin.forbids();
    twin.allows(&[Replaced("try_wait.parity.acquire", "try_wait.parity.relaxed")]);
}

#[test]
fn b4_an_edited_tensor_map() {
    // The tile of the matrix that the map described before.
    let twin = edits(&["edit_and_load"], &[("out", 7)]);
    twin.forbids();
    twin.allows(&[
        Replaced("fence.proxy.tensormap::generic.release.gpu;", ""),
        Replaced("fence.proxy.tensormap::generic.acquire.gpu", "//"),
    ]);
}

fn exchange(entry: &'static [&'static str]) -> Twin {
    Twin {
        entries: entry,
        setup: Setup {
            locations: vec![shared(0, 264), words("out", 1)],
            threads: [0, 32].map(|tid| thread(entry[0], 0, tid, &[array("out", 1)])).into(),
            // All 64 threads arrive.
            counts: vec![(64, 2)],
            unroll: 1,
            ..Setup::default()
        },
        bad: &[("out", 1)],
    }
}

#[test]
fn a4_a13_an_mbarrier() {
    let twin = exchange(&["exchange"]);
    twin.forbids();
    twin.allows(&[
        Replaced("mbarrier.arrive.release.cta", "mbarrier.arrive.relaxed.cta"),
        Replaced("try_wait.parity.acquire.cta", "try_wait.parity.relaxed.cta"),
    ]);
}

#[test]
fn c6_a_relaxed_wait() {
    let twin = exchange(&["exchange_relaxed"]);
    twin.forbids();
    twin.allows(&[
        Replaced("fence.acquire.cta;", ""),
        Replaced("fence.acquire.cta", "fence.release.cta"),
        Replaced("mbarrier.arrive.release.cta", "mbarrier.arrive.relaxed.cta"),
    ]);
}

#[test]
fn c1_initialised_before_it_is_used() {
    // What goes wrong is no value: an arrival that comes first is lost, or the object is initialised under way.
    exchange(&["exchange"]).races(&[One(0, "\nbar.sync", "\n//")]);
}

fn staging() -> Twin {
    Twin {
        entries: &["store_twice"],
        setup: Setup {
            locations: vec![shared(0, 8192), map("c", 8192), words("matrix", 33)],
            tiles: vec![("c".into(), "matrix".into())],
            threads: [0, 32].map(|tid| thread("store_twice", 0, tid, &[place("c")])).into(),
            ..Setup::default()
        },
        bad: &[("matrix", 0)],
    }
}

#[test]
fn b1_stores_before_a_bulk_copy() {
    let twin = staging();
    twin.forbids();
    // The first fence of all is the claim's; the others are those behind the stores.
    twin.allows(&[One(0, "fence.proxy.async.shared::cta;", "")]);
    twin.allows(&[One(0, "fence.proxy.async.shared::cta;", "fence.acq_rel.gpu;")]);
}

#[test]
fn b7_b11_the_source_of_a_bulk_copy_is_written_again() {
    let mut twin = staging();
    // The first tile became the second one's.
    twin.bad = &[("matrix", 2)];
    twin.forbids();
    twin.allows(&[Replaced("cp.async.bulk.wait_group.read 0;", "")]);
}

#[test]
fn b10_another_thread_waits() {
    const WAIT: &str = "cp.async.bulk.wait_group.read 0;";
    /// Takes the wait from the first thread and gives it to the others, before the barrier behind it.
    fn moved(text: &str) -> String {
        let at = text.find(WAIT).expect("a wait");
        let barrier = at + text[at..].find("\nbar.sync").expect("a barrier behind the wait");
        let before = text[at + WAIT.len()..barrier].to_owned();
        format!("{}{before}\n@%p1 {WAIT}{}", &text[..at], &text[barrier..])
    }
    let mut twin = staging();
    twin.bad = &[("matrix", 2)];
    twin.allows(&[By(moved, "the other threads wait")]);
}

fn loads() -> Twin {
    let arguments = [place("a"), array("out", 1)];
    let data = Location { init: [vec![1], vec![0; 31], vec![2]].concat(), ..words("matrix", 33) };
    Twin {
        entries: &["load_twice"],
        setup: Setup {
            locations: vec![shared(0, 1040), map("a", 1024), data, words("out", 1)],
            tiles: vec![("a".into(), "matrix".into())],
            threads: [0, 32].map(|tid| thread("load_twice", 0, tid, &arguments)).into(),
            ..Setup::default()
        },
        // The second tile was read twice.
        bad: &[("out", 34)],
    }
}

#[test]
fn b2_reads_before_a_bulk_copy() {
    let twin = loads();
    twin.forbids();
    twin.allows(&[One(0, "fence.proxy.async.shared::cta;", "")]);
}

#[test]
fn b6_the_destination_of_a_bulk_copy() {
    let mut twin = loads();
    // The first tile was read before it had come.
    twin.bad = &[("out", 2)];
    twin.forbids();
    twin.allows(&[Replaced("try_wait.parity.acquire", "try_wait.parity.relaxed")]);
}

#[test]
fn b8_cp_async() {
    let arguments = [array("input", 4), array("out", 1)];
    let data = Location { init: vec![42], ..words("input", 4) };
    let twin = Twin {
        entries: &["copy_async"],
        setup: Setup {
            locations: vec![shared(0, 32), data, words("out", 1)],
            threads: [0, 32].map(|tid| thread("copy_async", 0, tid, &arguments)).into(),
            ..Setup::default()
        },
        bad: &[("out", 1)],
    };
    twin.forbids();
    twin.allows(&[
        Replaced("cp.async.wait_group 0;", ""),
        Replaced("mbarrier.arrive.release.cta", "mbarrier.arrive.relaxed.cta"),
    ]);
}
