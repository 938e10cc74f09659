//! Why a mutant that is not noticed is no mistake: it has the same executions as the kernel that it was made from.
//!
//! Most proofs are made here, from the ways through the emitted code: what an instruction orders or waits for is not
//! there. The rest are arguments by hand, each for one kind of instruction in the kernels that it names.

use baton_ptx::{Instruction, Module};
use baton_tests::code::Code;

use crate::mutation::{Mutant, Mutation};

/// A kernel's code, for proofs.
pub struct Kernel {
    code: Code,
    instructions: Vec<Instruction>,
}

/// What the compiler leaves at the start of a mnemonic.
fn begins(instruction: &Instruction, with: &[&str]) -> bool {
    with.iter().any(|with| instruction.mnemonic.starts_with(with))
}

/// Ordinary memory, of which threads have parts in common.
fn ordinary(i: &Instruction) -> bool {
    let own = i.has("param") || i.has("local");
    matches!(i.opcode(), "ld" | "st" | "atom" | "red" | "call") && !own
        || begins(i, &["ldmatrix", "stmatrix"])
}

/// Copies and matrix instructions, which read and write memory later.
fn asynchronous(i: &Instruction) -> bool {
    i.opcode() == "cp" && !i.has("commit_group") && !i.has("wait_group") || tensor(i)
}

/// Operations on tensor memory that complete later.
fn tensor(i: &Instruction) -> bool {
    begins(i, &["tcgen05.mma", "tcgen05.cp", "tcgen05.ld", "tcgen05.st", "tcgen05.shift"])
}

/// Anything that touches memory or hands it over.
fn access(i: &Instruction) -> bool {
    ordinary(i)
        || asynchronous(i)
        || begins(i, &["mbarrier", "tcgen05.commit", "tcgen05.alloc", "tcgen05.dealloc"])
}

fn barrier(i: &Instruction) -> bool {
    matches!(i.opcode(), "bar" | "barrier")
}

impl Kernel {
    pub fn new(ptx: &str, kernel: &str) -> Self {
        let module = Module::parse(ptx, kernel).expect("the builder's PTX");
        let function = module.functions.iter().find(|function| &*function.name == kernel);
        let body = function.and_then(|f| f.body.as_ref()).expect("the kernel is there");
        let instructions = body.instructions.clone();
        Self { code: Code::of_ptx(&module, kernel), instructions }
    }

    fn none(
        &self,
        at: usize,
        onwards: bool,
        until: impl Fn(&Instruction) -> bool,
        of: impl Fn(&Instruction) -> bool,
    ) -> bool {
        let instruction = |at: usize| &self.instructions[at];
        !self.code.meets(at, onwards, |i| until(instruction(i)), |i| of(instruction(i)))
    }

    /// No way from here onwards meets such an instruction before one of those.
    fn none_behind(
        &self,
        at: usize,
        until: impl Fn(&Instruction) -> bool,
        of: impl Fn(&Instruction) -> bool,
    ) -> bool {
        self.none(at, true, until, of)
    }

    /// No way here has met such an instruction since one of those.
    fn none_before(
        &self,
        at: usize,
        since: impl Fn(&Instruction) -> bool,
        of: impl Fn(&Instruction) -> bool,
    ) -> bool {
        self.none(at, false, since, of)
    }

    /// A proof from the code that a mutant is no mistake.
    pub fn proof(&self, mutant: &Mutant) -> Option<&'static str> {
        let at = self.instructions.iter().position(|i| i.line == mutant.line)?;
        let was = &self.instructions[at];
        let never = |_: &Instruction| false;
        let has = |what: &'static [&'static str]| self.instructions.iter().any(|i| begins(i, what));
        if was.mnemonic.starts_with("bar.warp.sync") {
            if self.none_behind(at, barrier, access) {
                return Some("on every way onwards a barrier, or the end, comes before any access");
            }
            if self.none_before(at, barrier, access) {
                return Some("on every way here there was no access since the last barrier");
            }
            // A collective of the warp, which its lanes have reached together.
            let waited =
                |i: &Instruction| barrier(i) || begins(i, &["wgmma.wait_group.sync.aligned"]);
            if self.none_before(at, waited, access) {
                return Some(
                    "on every way here there was no access since the warp waited, as one, for its products",
                );
            }
        }
        if barrier(was) && self.none_behind(at, never, access) {
            return Some("no access follows");
        }
        match &*was.mnemonic {
            "tcgen05.wait::ld.sync.aligned" => {
                let waited = |i: &Instruction| begins(i, &["tcgen05.wait::ld"]);
                let loads = |i: &Instruction| begins(i, &["tcgen05.ld"]);
                let none = self.none_before(at, waited, loads);
                none.then_some("no tcgen05.ld was issued since the last wait::ld")
            }
            "tcgen05.fence::before_thread_sync" => {
                let fenced = ["tcgen05.fence::before_thread_sync", "tcgen05.commit"];
                let none = self.none_before(at, |i| begins(i, &fenced), tensor);
                none.then_some(
                    "no tcgen05 operation was issued since the last fence of its kind, or commit, which is one",
                )
            }
            "tcgen05.fence::after_thread_sync" => {
                let fence = |i: &Instruction| begins(i, &["tcgen05.fence::after_thread_sync"]);
                let none = self.none_behind(at, fence, tensor);
                none.then_some(
                    "no asynchronous tcgen05 operation follows before the next fence of its kind; a commit tracks what its \
                     own thread has issued, and a deallocation needs completion, which was waited for",
                )
            }
            "fence.mbarrier_init.release.cluster" => {
                let users = &["cp.async.bulk", "tcgen05.commit", "mapa", "st.async", "red.async"];
                let none = !has(users) || !has(&["mbarrier"]);
                none.then_some("no asynchronous operation and no other CTA uses a barrier")
            }
            mnemonic if mnemonic.starts_with("fence.proxy.async") => {
                let fence = |i: &Instruction| begins(i, &["fence.proxy.async"]);
                if self.none_before(at, fence, ordinary) {
                    return Some(
                        "no ordinary access since the last fence of its kind, or the start",
                    );
                }
                (!self.instructions.iter().any(asynchronous))
                    .then_some("the kernel has no asynchronous access")
            }
            mnemonic
                if mnemonic.starts_with("mbarrier.try_wait")
                    && matches!(mutant.mutation, Mutation::Relaxed | Mutation::LeftOut) =>
            {
                let waits = |i: &Instruction| begins(i, &["mbarrier.try_wait"]);
                let none = self.none_behind(at, barrier, |i| access(i) && !waits(i));
                none.then_some(
                    "the role ends here: threads arrive for it before the barrier that joins the roles, and no \
                     access comes before that",
                )
            }
            _ => None,
        }
    }
}

/// An argument by hand, for the mutants of some kernels.
pub struct Argument {
    pub kernels: &'static [&'static str],
    pub mutations: &'static [Mutation],
    /// How the instruction begins.
    pub instruction: &'static str,
    pub why: &'static str,
}

impl Argument {
    pub fn is_of(&self, kernel: &str, mutant: &Mutant) -> bool {
        self.kernels.contains(&kernel)
            && self.mutations.contains(&mutant.mutation)
            && mutant.was.starts_with(self.instruction)
    }
}

/// The arguments by hand.
pub const ARGUMENTS: &[Argument] = &[
    Argument {
        kernels: &["sides"],
        mutations: &[Mutation::LeftOut],
        instruction: "bar.sync",
        why: "One barrier stands between the fence behind an announcement and the leader's look, for sets that have forgotten what \
              they held and now withdraw. The kernel forgets nothing, so since the barrier before only the leader has accessed \
              memory.",
    },
    Argument {
        kernels: &["relay", "peers"],
        mutations: &[Mutation::LeftOut],
        instruction: "fence.mbarrier_init",
        why: "Only threads use the barriers, and the releasing barrier of the cluster that follows publishes the \
              initialisations to all of them.",
    },
    Argument {
        kernels: &["peers"],
        mutations: &[Mutation::LeftOut],
        instruction: "bar.sync",
        why: "At the exit. Since the barrier of the cluster behind the last round, or that of the claim, the CTA has accessed nothing \
              that a peer accesses: the meeting keeps it until the others are there, and has nothing to order.",
    },
    Argument {
        kernels: &["peers"],
        mutations: &[Mutation::Relaxed, Mutation::OfTheCta],
        instruction: "mbarrier.arrive.release.cluster",
        why: "At the exit. Since the barrier of the cluster behind the last round, or that of the claim, the CTA has accessed nothing \
              that a peer accesses: the meeting keeps it until the others are there, and has nothing to order.",
    },
    Argument {
        kernels: &["peers"],
        mutations: &[Mutation::OfTheCta],
        instruction: "mbarrier.try_wait",
        why: "At the exit. Since the barrier of the cluster behind the last round, or that of the claim, the CTA has accessed nothing \
              that a peer accesses: the meeting keeps it until the others are there, and has nothing to order.",
    },
    Argument {
        kernels: &["sides"],
        mutations: &[Mutation::Relaxed],
        instruction: "st.release.gpu.global.b32",
        why: "Where the attempt has failed: since its flag was raised the thread has accessed nothing that the flag guards.",
    },
    Argument {
        kernels: &["broadcast"],
        mutations: &[Mutation::OfTheCta],
        instruction: "mbarrier.try_wait",
        why: "The phase is of bytes that copies bring to this CTA's own shared memory: who sees the phase complete has \
              them, and no accesses of a thread of another CTA are taken over.",
    },
    Argument {
        kernels: &["in_pairs"],
        mutations: &[Mutation::OfTheCta],
        instruction: "mbarrier.try_wait",
        why: "The phase is of an answer that the hardware writes into this CTA's own shared memory: who sees the phase complete \
              has it, and no accesses of a thread of another CTA are taken over.",
    },
    Argument {
        kernels: &["in_pairs"],
        mutations: &[Mutation::OfTheCta],
        instruction: "mbarrier.arrive.expect_tx.relaxed",
        why: "The arrival announces bytes and publishes nothing: a relaxed arrival heads no pattern, whatever its scope is.",
    },
    Argument {
        kernels: &["scale", "gemm", "gemm_f32", "gemm_bf16", "gemm_dynamic_f32", "broadcast"],
        mutations: &[Mutation::Relaxed],
        instruction: "mbarrier.arrive.expect_tx",
        why: "The producer has made no access that the waiters rely on. The copies' own completion, which is what they \
              wait for, is a release of the bytes that were copied, whatever the arrival is.",
    },
    Argument {
        kernels: &["gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutations: &[Mutation::Relaxed],
        instruction: "mbarrier.try_wait",
        why: "What is handed over is tensor memory only: the tcgen05 fences order it with the execution of the wait, for \
              which a relaxed wait is enough (ISA 9.7.16.6.4, whose patterns wait so).",
    },
    Argument {
        kernels: &["gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutations: &[Mutation::Relaxed],
        instruction: "mbarrier.arrive.release",
        why: "The epilogue hands tensor memory back and nothing else: wait::ld has completed its loads, and \
              before_thread_sync orders them before the arrival, of any order (ISA 9.7.16.6.4).",
    },
    Argument {
        kernels: &["gemm_f32", "gemm_bf16", "gemm_dynamic_f32"],
        mutations: &[Mutation::LeftOut],
        instruction: "bar.sync %r",
        why: "Two of the set's barriers with no access to shared or tensor memory between them, or the set's barrier with \
              nothing before the next barrier of the CTA: the other one orders the same.",
    },
    Argument {
        kernels: &["peers", "relay", "broadcast", "in_pairs"],
        mutations: &[Mutation::Relaxed],
        instruction: "barrier.cluster.arrive.release",
        why: "The first arrival follows no access but initialisations of barriers, which fence.mbarrier_init publishes.",
    },
];

/// What is neither noticed nor proved to be no mistake, by kernel and instruction: known gaps of the emulator.
pub const GAPS: &[(&str, &str)] = &[
    // The proxy fence of a reader in one CTA before another CTA's copy overwrites what was read (rule B2).
    ("broadcast", "fence.proxy.async.shared::cta"),
];
