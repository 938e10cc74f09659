//! Matrix instructions and tensor memory (facts of the tcgen05 model).

use baton_model::kernel::{Argument, Location, Setup};
use baton_model::program::Space;

use crate::pair::Weakened::{One, Replaced};
use crate::pair::{Twin, array, map, place, shared, thread, words};

/// Three threads: of the warpgroup, the one that loads, the one that multiplies.
fn multiply(entry: &'static [&'static str]) -> Twin {
    let arguments = [place("a"), place("b"), array("out", 1)];
    let matrix = |name: &str, tiles: [u64; 2]| Location {
        init: [vec![tiles[0]], vec![0; 63], vec![tiles[1]]].concat(),
        ..words(name, 65)
    };
    Twin {
        entries: entry,
        setup: Setup {
            locations: vec![
                shared(0, 18480),
                map("a", 128 * 128),
                map("b", 16 * 128),
                matrix("a data", [3, 5]),
                matrix("b data", [1, 1]),
                Location { space: Space::Tensor, ..words("tensor", 32) },
                words("out", 1),
            ],
            tiles: vec![("a".into(), "a data".into()), ("b".into(), "b data".into())],
            threads: [0, 128, 160].map(|tid| thread(entry[0], 0, tid, &arguments)).into(),
            // The warpgroup's own barrier.
            counts: vec![(128, 1)],
            ..Setup::default()
        },
        // The load saw what was there before.
        bad: &[("out", 0)],
    }
}

/// The first of these fences in the text is the claim's, the second the warpgroup's.
const AFTER: &str = "tcgen05.fence::after_thread_sync;";
const BEFORE: &str = "tcgen05.fence::before_thread_sync;";
/// What a commit would say if it waited for nothing: an arrival.
const ARRIVE: &str = "mbarrier.arrive.release.cta.shared::cta.b64 _,";
const COMMIT: &str = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64";

#[test]
fn d1_a_load_behind_the_product() {
    let twin = multiply(&["multiply"]);
    twin.forbids();
    twin.allows(&[One(1, AFTER, "")]);
}

#[test]
fn d1_the_fences_need_no_acquiring_wait() {
    let twin = multiply(&["multiply"]);
    twin.forbids_though(&One(0, "try_wait.parity.acquire", "try_wait.parity.relaxed"));
}

#[test]
fn d5_a_product_that_nobody_waits_for() {
    // The first commit is about the operands.
    multiply(&["multiply"]).allows(&[One(1, COMMIT, ARRIVE)]);
}

/// Two threads of the CTA with operands, barriers and a word of tensor memory.
fn raw(entries: &'static [&'static str], first: &[Argument], second: &[Argument]) -> Twin {
    let mut contents = vec![0; 20];
    // The operands, and three barriers that expect one arrival.
    (contents[0], contents[4], contents[8]) = (1, 3, 5);
    (contents[12], contents[14], contents[16]) = (0x1_0001, 0x1_0001, 0x1_0001);
    let memory = Location { name: "shared".into(), init: contents, ..shared(0, 80) };
    Twin {
        entries,
        setup: Setup {
            locations: vec![
                memory,
                Location { space: Space::Tensor, ..words("tensor", 1) },
                Location { init: vec![5], ..words("other", 4) },
                words("out", 1),
            ],
            threads: vec![thread(entries[0], 0, 0, first), thread(entries[1], 0, 32, second)],
            unroll: 1,
            ..Setup::default()
        },
        bad: &[("out", 0)],
    }
}

#[test]
fn d2_d3_an_accumulator_that_is_multiplied_into_while_it_is_loaded() {
    let (memory, tensor) = (place("shared"), place("tensor"));
    let first = [memory.clone(), tensor.clone()];
    let twin = raw(&["multiply_again", "drain"], &first, &[memory, tensor, place("out")]);
    // The load saw the second product.
    let mut twin = Twin { bad: &[("out", 5)], ..twin };
    twin.forbids();
    twin.entries = &["drain"];
    twin.allows(&[Replaced(BEFORE, ""), Replaced("tcgen05.wait::ld.sync.aligned;", "")]);
    // The producer's half of the pair.
    twin.entries = &["multiply_again"];
    twin.allows(&[Replaced(AFTER, "")]);
}

#[test]
fn d4_a_store_to_tensor_memory() {
    let (memory, tensor) = (place("shared"), place("tensor"));
    let first = [memory.clone(), tensor.clone()];
    let mut twin = raw(&["store_tensor", "drain"], &first, &[memory, tensor, place("out")]);
    twin.forbids();
    twin.entries = &["store_tensor"];
    twin.allows(&[Replaced("tcgen05.wait::st.sync.aligned;", ""), Replaced(BEFORE, "")]);
    twin.entries = &["drain"];
    twin.allows(&[Replaced(AFTER, "")]);
}

#[test]
fn d6_operands_that_are_overwritten_while_they_are_read() {
    let memory = place("shared");
    let first = [memory.clone(), place("tensor"), place("out")];
    let twin = raw(&["multiply_and_load", "refill"], &first, &[memory, place("other")]);
    // The product is that of the other operands.
    let mut twin = Twin { bad: &[("out", 5)], ..twin };
    twin.forbids();
    twin.entries = &["multiply_and_load"];
    twin.allows(&[One(0, COMMIT, ARRIVE)]);
}
