//! Between CTAs: flags, protocols, fences.

use baton_model::kernel::{Argument, Setup};

use crate::pair::Weakened::{One, Replaced};
use crate::pair::{Twin, array, in_one_cluster, place, shared, thread, words};

fn mailbox(entry: &'static [&'static str]) -> Twin {
    let mailbox = vec![place("flag"), Argument::Number(1), place("data"), Argument::Number(1)];
    let arguments = [Argument::Structure(mailbox), array("out", 1)];
    Twin {
        entries: entry,
        setup: Setup {
            locations: ["data", "flag", "out"].map(|name| words(name, 1)).into(),
            threads: [0, 1].map(|cta| thread(entry[0], cta, 0, &arguments)).into(),
            unroll: 1,
            ..Setup::default()
        },
        bad: &[("out", 1)],
    }
}

#[test]
fn a1_a5_a6_a9_release_and_acquire() {
    let twin = mailbox(&["mailbox"]);
    twin.forbids();
    twin.allows(&[
        Replaced("st.release.gpu", "st.relaxed.gpu"),
        Replaced("ld.acquire.gpu", "ld.relaxed.gpu"),
        // A5: a scope that does not reach the other CTA.
        Replaced("st.release.gpu", "st.release.cta"),
        Replaced("ld.acquire.gpu", "ld.acquire.cta"),
        // A6: volatile accesses are relaxed ones.
        Replaced("st.release.gpu", "st.volatile"),
        Replaced("ld.acquire.gpu", "ld.volatile"),
    ]);
}

#[test]
fn a3_a4_a5_a6_fences() {
    let twin = mailbox(&["mailbox_fences"]);
    twin.forbids();
    twin.allows(&[
        Replaced("fence.release.gpu;", ""),
        Replaced("fence.acquire.gpu;", ""),
        Replaced("fence.release.gpu", "fence.release.cta"),
        Replaced("fence.acquire.gpu", "fence.acquire.cta"),
        // A6: each side needs its own half.
        Replaced("fence.acquire.gpu", "fence.release.gpu"),
        Replaced("fence.release.gpu", "fence.acquire.gpu"),
    ]);
}

#[test]
fn a14_a_flag_that_an_earlier_launch_left() {
    let mut twin = mailbox(&["mailbox"]);
    twin.setup.locations[1].init = vec![1];
    // The kernel is the same: only the launch is wrong.
    twin.is_allowed_as_it_is();
}

#[test]
fn a2_a_reduction_heads_no_acquire_pattern() {
    let twin = Twin {
        entries: &["add_and_read", "publish"],
        setup: Setup {
            locations: ["data", "flag", "out"].map(|name| words(name, 1)).into(),
            threads: vec![
                thread("publish", 0, 0, &[place("data"), place("flag")]),
                thread("add_and_read", 1, 0, &[place("data"), place("flag"), place("out")]),
            ],
            ..Setup::default()
        },
        // The addition came second, and the old data was read (ISA 8.11.1).
        bad: &[("flag", 2), ("out", 1)],
    };
    twin.forbids_in_spite_of_races();
    twin.allows(&[
        Replaced("atom.relaxed.gpu.global.add.u32 %r1, ", "red.relaxed.gpu.global.add.u32 "),
        Replaced("fence.acquire.gpu;", ""),
        Replaced("fence.acquire.gpu", "fence.acquire.cta"),
        Replaced("st.release.gpu", "st.relaxed.gpu"),
    ]);
}

#[test]
fn a7_two_scopes_do_not_count_together() {
    let twin = Twin {
        entries: &["count"],
        setup: Setup {
            locations: vec![words("counter", 1)],
            threads: [0, 1].map(|cta| thread("count", cta, 0, &[place("counter")])).into(),
            ..Setup::default()
        },
        bad: &[("counter", 1)],
    };
    twin.forbids();
    twin.allows(&[Replaced("atom.relaxed.gpu", "atom.relaxed.cta")]);
}

#[test]
fn a8_fence_sc_between_two_flags() {
    let guarded = Argument::Structure(vec![
        place("flags"),
        Argument::Number(2),
        place("total"),
        Argument::Number(1),
    ]);
    let arguments = [guarded, array("out", 1)];
    let twin = Twin {
        entries: &["dekker"],
        setup: Setup {
            locations: vec![words("flags", 2), words("total", 1), words("out", 1)],
            threads: [0, 1].map(|cta| thread("dekker", cta, 0, &arguments)).into(),
            ..Setup::default()
        },
        // CTA 0 found nothing and added one, and yet there is only what CTA 1 added: both had the array.
        bad: &[("out", 1), ("total", 2)],
    };
    twin.forbids();
    twin.allows(&[
        Replaced("fence.sc.gpu", "fence.acq_rel.gpu"),
        Replaced("fence.sc.gpu", "fence.sc.cta"),
        Replaced("fence.sc.gpu;", ""),
        Replaced("ld.acquire.gpu", "ld.relaxed.gpu"),
        Replaced("st.release.gpu", "st.relaxed.gpu"),
    ]);
}

#[test]
fn a5_a9_a_lock() {
    let lock = [Argument::Structure(vec![
        place("word"),
        Argument::Number(1),
        place("total"),
        Argument::Number(1),
    ])];
    let twin = Twin {
        entries: &["spin_lock"],
        setup: Setup {
            locations: ["word", "total"].map(|name| words(name, 1)).into(),
            threads: [0, 1].map(|cta| thread("spin_lock", cta, 0, &lock)).into(),
            ..Setup::default()
        },
        // One addition was lost.
        bad: &[("total", 1)],
    };
    twin.forbids();
    twin.allows(&[
        Replaced("atom.acquire.gpu", "atom.relaxed.gpu"),
        Replaced("atom.acquire.gpu", "atom.acquire.cta"),
        Replaced("st.release.gpu", "st.relaxed.gpu"),
        Replaced("st.release.gpu", "st.release.cta"),
    ]);
}

#[test]
fn a9_turns() {
    let tiles = [Argument::Structure(vec![
        place("turn"),
        Argument::Number(1),
        place("total"),
        Argument::Number(1),
    ])];
    let at = |z| {
        let mut thread = thread("turns", z, 0, &tiles);
        thread.special = [("%ctaid.z", u64::from(z)), ("%nctaid.x", 1), ("%nctaid.y", 1)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        thread
    };
    let twin = Twin {
        entries: &["turns"],
        setup: Setup {
            locations: ["turn", "total"].map(|name| words(name, 1)).into(),
            threads: vec![at(0), at(1)],
            ..Setup::default()
        },
        bad: &[("total", 1)],
    };
    twin.forbids();
    twin.allows(&[
        Replaced("ld.acquire.gpu", "ld.relaxed.gpu"),
        Replaced("st.release.gpu", "st.relaxed.gpu"),
        Replaced("st.release.gpu", "st.release.cta"),
    ]);
}

#[test]
fn a3_the_last_arrival() {
    let arguments = [
        Argument::Structure(vec![
            place("counter"),
            Argument::Number(1),
            place("parts"),
            Argument::Number(2),
        ]),
        array("out", 1),
    ];
    let twin = Twin {
        entries: &["last_arrival"],
        setup: Setup {
            locations: vec![words("counter", 1), words("parts", 2), words("out", 1)],
            threads: [0, 1].map(|cta| thread("last_arrival", cta, 0, &arguments)).into(),
            ..Setup::default()
        },
        // It missed the other's part.
        bad: &[("out", 2)],
    };
    twin.forbids();
    twin.allows(&[
        Replaced("fence.acquire.gpu;", ""),
        Replaced("fence.acquire.gpu", "fence.acquire.cta"),
        Replaced("atom.release.gpu", "atom.relaxed.gpu"),
        Replaced("atom.release.gpu", "atom.release.cta"),
    ]);
}

fn peers(entry: &'static [&'static str]) -> Twin {
    let arguments = [array("out", 1)];
    let threads = [0, 1].map(|cta| thread(entry[0], cta, 0, &arguments));
    Twin {
        entries: entry,
        setup: Setup {
            // The elements, and the mbarrier of the exit.
            locations: vec![shared(0, 136), shared(1, 136), words("out", 1)],
            threads: in_one_cluster(threads.into()),
            ..Setup::default()
        },
        bad: &[("out", 1)],
    }
}

#[test]
fn f2_the_cluster_s_barrier() {
    let twin = peers(&["peers"]);
    twin.forbids();
    // The first arrival and wait are the claim's, the second the exchange's.
    twin.allows(&[One(1, "barrier.cluster.arrive.release", "barrier.cluster.arrive.relaxed")]);
}

#[test]
fn f2_a_relaxed_arrival() {
    let twin = peers(&["peers_relaxed"]);
    twin.forbids();
    twin.allows(&[
        Replaced("fence.release.cluster;", ""),
        Replaced("fence.release.cluster", "fence.release.cta"),
        Replaced("fence.release.cluster", "fence.acquire.cluster"),
    ]);
}

#[test]
fn c7_a_remote_arrival() {
    let mut twin = peers(&["relay"]);
    twin.setup.locations[..2].clone_from_slice(&[shared(0, 32), shared(1, 32)]);
    twin.forbids();
    twin.allows(&[
        // The pushed element's completion releases; the wait and the fence behind it acquire.
        Replaced("try_wait.parity.relaxed.cluster", "try_wait.parity.relaxed.cta"),
        Replaced("fence.acquire.sync_restrict::shared::cluster.cluster;", ""),
    ]);
}
