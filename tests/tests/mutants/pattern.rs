//! Proofs by the memory model that a mutant is no mistake: what the instruction would order is there, and ordered by
//! something else.
//!
//! A pattern is what the kernel does around the instruction, as a litmus test in `tests/litmus/kernels`, and the same with
//! the instruction changed exactly as in the mutant. The model is asked each time: the change must not lead to any new
//! outcome, nor to a race; and a test that is weakened further has to, or else the pattern would show nothing. What ties the
//! pattern to the kernel is looked up in the ways through the code, as in [`crate::proof`].

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::{Mutex, PoisonError};

use baton_model::litmus::Test;
use baton_model::{Options, Outcome, outcomes};
use baton_ptx::Instruction;
use baton_tests::root;

use crate::mutation::{Mutant, Mutation};
use crate::proof::{Kernel, access, barrier, begins, ordinary, tensor, waits, wide_barrier};

/// What a kernel does around an instruction, and which mutants of it are no mistakes.
pub struct Pattern {
    pub kernels: &'static [&'static str],
    pub mutation: Mutation,
    /// How the instruction begins.
    pub instruction: &'static str,
    /// Litmus tests: the pattern, with the mutant's change, and weakened further.
    files: [&'static str; 3],
    /// What of the pattern is seen in the code.
    is_in: fn(&Kernel, usize) -> bool,
    why: &'static str,
}

/// The patterns.
pub const PATTERNS: &[Pattern] = &[
    Pattern {
        kernels: &["scale", "gemm_fused"],
        mutation: Mutation::Relaxed,
        instruction: "mbarrier.arrive.expect_tx.release.cta",
        files: ["full_stage", "full_stage_relaxed", "full_stage_no_bytes"],
        is_in: has_only_copied,
        why: "what the waiters wait for are the copies, whose completion releases their bytes; in the code: the thread that \
              arrives has made no ordinary access in its role",
    },
    Pattern {
        kernels: &["gemm", "gemm_cooperative", "gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutation: Mutation::Relaxed,
        instruction: "mbarrier.arrive.expect_tx.release.cta",
        files: [
            "full_stage_of_products",
            "full_stage_of_products_relaxed",
            "full_stage_of_products_no_bytes",
        ],
        is_in: has_only_copied,
        why: "what the waiters wait for are the copies, whose completion releases their bytes; in the code: the thread that \
              arrives has made no ordinary access in its role but to load the address of tensor memory, which nobody stores, and \
              what it has handed back by another arrival",
    },
    Pattern {
        kernels: &["gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutation: Mutation::Relaxed,
        instruction: "mbarrier.try_wait.parity.acquire.cta",
        files: ["accumulator_full", "accumulator_full_relaxed", "accumulator_full_no_fence"],
        is_in: fences_and_loads,
        why: "what is waited for is a product, and the fence orders the loads behind the wait, relaxed or not; in the code: \
              behind the wait comes the fence, and behind that the load, before anything else",
    },
    Pattern {
        kernels: &["gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutation: Mutation::LeftOut,
        instruction: "bar.sync",
        files: ["deallocation", "deallocation_no_barrier", "deallocation_no_set_barrier"],
        is_in: only_deallocates,
        why: "the warp that deallocates has seen every product complete, and behind the loads of the others stands the barrier \
              of their set; in the code: only the deallocation follows, on every way from a load its wait and a barrier of the \
              set come first, and every product is committed",
    },
    Pattern {
        kernels: &["sides"],
        mutation: Mutation::Relaxed,
        instruction: "st.release.gpu",
        files: ["withdrawal", "withdrawal_relaxed", "withdrawal_no_fence"],
        is_in: only_looked,
        why: "where an attempt fails the fence before the look has published all there was; in the code: one thread stores, \
              and between that fence of its, of the store's scope, and the store it has only looked",
    },
    Pattern {
        kernels: &["broadcast", "in_pairs", "gemm_multicast"],
        mutation: Mutation::LeftOut,
        instruction: "fence.acquire.sync_restrict::shared::cluster",
        files: ["stage_from_peers", "stage_from_peers_half", "stage_from_peers_no_half"],
        is_in: fences_and_copies,
        why: "behind the wait a stage is written through the async proxy alone, for which the acquire half of the one-way fence \
              acquires; in the code: that half comes next, and no ordinary access before another wait or barrier",
    },
    Pattern {
        kernels: &["gemm_multicast"],
        mutation: Mutation::LeftOut,
        instruction: "fence.acquire.sync_restrict::shared::cluster",
        files: [
            "stage_from_peers_multiplied",
            "stage_from_peers_multiplied_half",
            "stage_from_peers_multiplied_no_half",
        ],
        is_in: fences_and_multiplies,
        why: "behind the wait for the copies of both CTAs a stage is read through the async proxy alone, for which the acquire half of the \
              one-way fence acquires; in the code: that half comes next, then a product, and no ordinary access before another wait or \
              barrier",
    },
    Pattern {
        kernels: &["gemm_multicast"],
        mutation: Mutation::LeftOut,
        instruction: "fence.release.sync_restrict::shared::cta",
        files: ["stage_to_peers", "stage_to_peers_half", "stage_to_peers_no_fence"],
        is_in: hands_products_back,
        why: "the end of what a product reads is a release half itself, which the half for the async proxy passes on as the fence does; in \
              the code: both stand behind the set's barrier and before a relaxed arrival, and before that barrier the stage is read by \
              products alone",
    },
    Pattern {
        kernels: &["gemm_multicast"],
        mutation: Mutation::LeftOut,
        instruction: "fence.proxy.async::generic.release.sync_restrict::shared::cta",
        files: ["stage_to_peers", "stage_to_peers_no_half", "stage_to_peers_no_fence"],
        is_in: hands_products_back,
        why: "the end of what a product reads is a release half itself, which the fence passes on as the half for the async proxy does; in \
              the code: both stand behind the set's barrier and before a relaxed arrival, and before that barrier the stage is read by \
              products alone",
    },
    Pattern {
        kernels: &["gemm_pair_f32", "gemm_fused"],
        mutation: Mutation::LeftOut,
        instruction: "fence.acquire.sync_restrict::shared::cluster",
        files: ["pair_stage_refilled", "pair_stage_refilled_half", "pair_stage_refilled_no_half"],
        is_in: fences_and_copies,
        why: "behind the wait for the peer's commit a stage is written through the async proxy alone, for which the acquire half of the \
              one-way fence acquires; in the code: that half comes next, then a copy, and no ordinary access before another wait or \
              barrier",
    },
    Pattern {
        kernels: &["gemm_pair_f32", "gemm_fused"],
        mutation: Mutation::LeftOut,
        instruction: "fence.acquire.sync_restrict::shared::cluster",
        files: [
            "pair_stage_multiplied",
            "pair_stage_multiplied_half",
            "pair_stage_multiplied_no_half",
        ],
        is_in: fences_and_multiplies,
        why: "behind the wait for the copies of both CTAs a stage is read through the async proxy alone, for which the acquire half of the \
              one-way fence acquires; in the code: that half comes next, then a product, and no ordinary access before another wait or \
              barrier",
    },
    Pattern {
        kernels: &["gemm_pair_f32", "gemm_fused"],
        mutation: Mutation::Relaxed,
        instruction: "barrier.cluster.arrive.release",
        files: ["pair_deallocation", "pair_deallocation_relaxed", "pair_deallocation_unordered"],
        is_in: only_deallocates,
        why: "the warp of each CTA that deallocates has seen every product complete, and behind the loads of the others of its CTA stands \
              the barrier of their set; in the code: only the deallocation follows, on every way from a load its wait and a barrier \
              of the set come first, and every product is committed",
    },
    Pattern {
        kernels: &["relay"],
        mutation: Mutation::LeftOut,
        instruction: "mbarrier.try_wait.parity.relaxed.cluster",
        files: ["relay_exit", "relay_exit_no_finish", "relay_exit_neither"],
        is_in: waits_before_the_exit,
        why: "the cluster's barrier behind it keeps the CTA until the next one, which has taken what was given, is there too; in the \
              code: on every way onwards comes that barrier, and no access",
    },
    Pattern {
        kernels: &["relay"],
        mutation: Mutation::LeftOut,
        instruction: "barrier.cluster.wait.acquire",
        files: ["relay_exit", "relay_exit_no_barrier", "relay_exit_neither"],
        is_in: exits_behind_waits,
        why: "each CTA has waited for all that a peer does to its memory; in the code: on every way here from a store or an \
              arrival at a peer a wait for the peer's arrival comes in between, and no access follows",
    },
];

/// Since the barrier that began the role the thread has made no ordinary access, but perhaps that of tensor memory's address.
fn has_only_copied(kernel: &Kernel, at: usize) -> bool {
    // What it has loaded it has handed back by another arrival.
    let releases = |i: &Instruction| {
        begins(i, &["mbarrier.arrive"]) && i.has("release") && !i.has("expect_tx")
    };
    let expects = |i: &Instruction| begins(i, &["mbarrier.arrive.expect_tx.release"]);
    let is_handed_back = |i: &Instruction| {
        kernel.at_line(i.line).is_some_and(|load| kernel.none_behind(load, releases, expects))
    };
    kernel.none_before(at, wide_barrier, |i| {
        let is_known = kernel.loads_the_allocation(i) || i.opcode() == "ld" && is_handed_back(i);
        ordinary(i) && !is_known
    })
}

/// Behind the wait the fence comes first, and then a load from tensor memory and its wait, before anything else.
fn fences_and_loads(kernel: &Kernel, at: usize) -> bool {
    let fence = |i: &Instruction| begins(i, &["tcgen05.fence::after_thread_sync"]);
    let loads = |i: &Instruction| begins(i, &["tcgen05.ld"]);
    let others = |i: &Instruction| (access(i) || barrier(i)) && !waits(i);
    kernel.none_behind(at, fence, others)
        && kernel
            .first_behind(at, fence)
            .iter()
            .all(|&fence| kernel.none_behind(fence, loads, |i| access(i) || barrier(i)))
}

/// Only the deallocation of tensor memory follows, and the load of its address; loads have completed, and their set has met; products are committed.
fn only_deallocates(kernel: &Kernel, at: usize) -> bool {
    let loads = |i: &Instruction| begins(i, &["tcgen05.ld"]);
    let waited = |i: &Instruction| begins(i, &["tcgen05.wait::ld"]);
    let multiplies = |i: &Instruction| begins(i, &["tcgen05.mma"]);
    let commits = |i: &Instruction| begins(i, &["tcgen05.commit"]);
    let deallocates = |i: &Instruction| begins(i, &["tcgen05.dealloc"]);
    let other_tensor = |i: &Instruction| tensor(i) && !loads(i) && !multiplies(i);
    let ends = |i: &Instruction| deallocates(i) || kernel.loads_the_allocation(i);
    kernel.none_behind(at, |_| false, |i| access(i) && !ends(i))
        && kernel.none_before(at, wide_barrier, loads)
        && kernel.places(loads).all(|load| kernel.none_behind(load, waited, barrier))
        && kernel.places(multiplies).all(|mma| kernel.none_behind(mma, commits, barrier))
        && kernel.places(other_tensor).next().is_none()
}

/// Since a sequentially consistent fence of the store's scope the thread has only looked at flags.
fn only_looked(kernel: &Kernel, at: usize) -> bool {
    let fence = |i: &Instruction| &*i.mnemonic == "fence.sc.gpu";
    let looks = |i: &Instruction| begins(i, &["ld.acquire.gpu"]);
    // The others of its CTA take other ways to the same place.
    let thread = kernel.of_one_thread();
    kernel.is_by_one_thread(at) && thread.none_before(at, fence, |i| access(i) && !looks(i))
}

/// Behind the fence comes its half for the async proxy, and behind that copies, and no ordinary access before another wait or a barrier.
fn fences_and_copies(kernel: &Kernel, at: usize) -> bool {
    fences_for_the_async_proxy(kernel, at, &["cp.async.bulk", "clusterlaunchcontrol.try_cancel"])
}

/// The same, and behind the half products.
fn fences_and_multiplies(kernel: &Kernel, at: usize) -> bool {
    fences_for_the_async_proxy(kernel, at, &["tcgen05.mma", "wgmma.mma_async"])
}

/// One of the two fences of a hand-over to peers: the other is there, too, between a barrier of the set and the relaxed arrival, and
/// before that barrier nothing but products has read since a wait.
fn hands_products_back(kernel: &Kernel, at: usize) -> bool {
    let fences = ["fence.proxy.async::generic.release", "fence.release.sync_restrict"];
    let other = fences.iter().find(|fence| !begins(kernel.instruction(at), &[fence]));
    let is_other = |i: &Instruction| other.is_some_and(|other| begins(i, &[other]));
    let arrives = |i: &Instruction| begins(i, &["mbarrier.arrive.relaxed.cluster"]);
    let ends = |i: &Instruction| waits(i) || barrier(i);
    // Between the barrier and the arrival, ahead of this fence or behind it.
    let is_between = !kernel.none_before(at, wide_barrier, is_other)
        || !kernel.none_behind(at, arrives, is_other);
    let since_the_wait = |i: &Instruction| waits(i);
    is_between
        && kernel.none_before(at, wide_barrier, access)
        && !kernel.none_behind(at, ends, arrives)
        && kernel.none_before(at, since_the_wait, ordinary)
}

fn fences_for_the_async_proxy(kernel: &Kernel, at: usize, uses: &[&str]) -> bool {
    let half = |i: &Instruction| begins(i, &["fence.proxy.async::generic.acquire"]);
    let ends = |i: &Instruction| waits(i) || barrier(i);
    kernel.none_behind(at, half, |i| access(i) || barrier(i))
        && kernel.first_behind(at, half).iter().all(|&half| {
            kernel.none_behind(half, ends, ordinary)
                && !kernel.none_behind(half, ends, |i| begins(i, uses))
        })
}

/// On every way onwards the cluster's barrier comes, arrival and wait, and no access.
fn waits_before_the_exit(kernel: &Kernel, at: usize) -> bool {
    let arrives = |i: &Instruction| begins(i, &["barrier.cluster.arrive.release"]);
    let ends = |i: &Instruction| i.opcode() == "ret";
    kernel.none_behind(at, |_| false, |i| access(i) && !waits(i))
        && kernel.none_behind(at, arrives, ends)
        && kernel.first_behind(at, arrives).iter().all(|&arrival| {
            let waits = |i: &Instruction| begins(i, &["barrier.cluster.wait.acquire"]);
            kernel.none_behind(arrival, waits, ends)
        })
}

/// No access follows; and whatever goes to a peer has a wait for a peer behind it before this place is reached.
fn exits_behind_waits(kernel: &Kernel, at: usize) -> bool {
    let goes_to_a_peer = |i: &Instruction| {
        begins(i, &["st.async"]) || begins(i, &["mbarrier.arrive"]) && i.has("shared::cluster")
    };
    let waits_for_a_peer = |i: &Instruction| waits(i) && i.has("cluster");
    let here = kernel.instruction(at).line;
    // The last wait is a loop over a number of stages, which is known.
    let kernel = &kernel.of_known_numbers();
    kernel.none_behind(at, |_| false, access)
        && kernel
            .places(goes_to_a_peer)
            .all(|place| kernel.none_behind(place, waits_for_a_peer, |i| i.line == here))
}

impl Pattern {
    pub fn is_of(&self, kernel: &str, mutant: &Mutant) -> bool {
        self.kernels.contains(&kernel)
            && self.mutation == mutant.mutation
            && mutant.was.starts_with(self.instruction)
    }

    /// Whether it is found around the mutant, and the model says that the change makes no difference.
    pub fn proves(&self, kernel: &Kernel, mutant: &Mutant) -> bool {
        let is_in = kernel.at_line(mutant.line).is_some_and(|at| (self.is_in)(kernel, at));
        is_in && {
            self.assert_the_change(mutant);
            self.assert_the_model();
            true
        }
    }

    /// The proof in words.
    pub fn text(&self) -> String {
        let [as_is, changed, weakened] = self.files;
        format!(
            "`{as_is}.litmus`, and the same changed, `{changed}.litmus` (weakened further, `{weakened}.litmus`, it fails): {}",
            self.why
        )
    }

    /// The litmus tests differ in what the mutant changes, and in nothing else.
    fn assert_the_change(&self, mutant: &Mutant) {
        let [as_is, changed, _] = self.files.map(|file| lines(&text(file)));
        let was = mutant.mnemonic();
        // What a wait would have answered is set beforehand in such a test.
        let is_out = mutant.mutation == Mutation::LeftOut;
        let now = if is_out { "" } else { mutant.new_mnemonic() };
        let mut rest = changed.iter().peekable();
        let mut changes = 0;
        for line in &as_is {
            if rest.next_if_eq(&line).is_some() {
                continue;
            }
            assert_eq!(mnemonic(line), was, "{:?}: `{line}` differs", self.files);
            if !now.is_empty() {
                assert_eq!(rest.next(), Some(&line.replacen(was, now, 1)), "{:?}", self.files);
            }
            changes += 1;
        }
        assert!(changes > 0 && rest.next().is_none(), "{:?} differ in something else", self.files);
    }

    /// The change leads to nothing new, and weakened further it does.
    fn assert_the_model(&self) {
        static KNOWN: Mutex<Option<HashMap<&'static str, bool>>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if known.insert(self.files[1], true).is_some() {
            return;
        }
        let [as_is, changed, weakened] = self.files.map(judged);
        let more = |than: &Judged| {
            let new = than.0.difference(&as_is.0).next().is_some();
            new || than.1 && !as_is.1
        };
        assert!(!as_is.0.is_empty(), "`{}` has no outcome", self.files[0]);
        assert!(!more(&changed), "`{}` has outcomes or races that are new", self.files[1]);
        assert!(more(&weakened), "`{}` is weakened, and nothing is new", self.files[2]);
    }
}

/// Outcomes, and whether there is a race.
type Judged = (BTreeSet<Outcome>, bool);

fn text(file: &str) -> String {
    let path = root().join("tests/litmus/kernels").join(file).with_extension("litmus");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What runs: neither what the test is called and says about itself, nor what it expects.
fn lines(text: &str) -> Vec<String> {
    let about = ["#", "name:", "exists:", "expect:", "race:"];
    let runs = |line: &&str| !about.iter().any(|about| line.starts_with(about));
    text.lines().filter(runs).map(|line| line.trim().to_owned()).collect()
}

fn mnemonic(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn judged(file: &str) -> Judged {
    let test = Test::parse(&text(file), file).unwrap_or_else(|error| panic!("{error}"));
    outcomes(&test.program, &Options::default()).unwrap_or_else(|error| panic!("{file}: {error}"))
}
