//! Why a mutant that is not noticed is no mistake: it has the same executions as the kernel that it was made from.
//!
//! These proofs are made from the ways through the emitted code: what an instruction orders or waits for is not there.
//! Where something is there, and the model has to say that the order comes from elsewhere, see [`crate::pattern`].

use std::ops::Not;

use baton_ptx::{Address, Base, Instruction, Module, Operand, RegId};
use baton_tests::code::Code;

use crate::mutation::{Mutant, Mutation};

/// A kernel's code, for proofs.
pub struct Kernel {
    code: Code,
    instructions: Vec<Instruction>,
    /// Threads of a CTA differ in `%tid.x` only.
    is_flat: bool,
}

/// What the compiler leaves at the start of a mnemonic.
pub fn begins(instruction: &Instruction, with: &[&str]) -> bool {
    with.iter().any(|with| instruction.mnemonic.starts_with(with))
}

/// Ordinary memory, of which threads have parts in common.
pub fn ordinary(i: &Instruction) -> bool {
    let own = i.has("param") || i.has("local");
    matches!(i.opcode(), "ld" | "st" | "atom" | "red" | "call") && !own && !i.has("async")
        || begins(i, &["ldmatrix", "stmatrix"])
}

/// Copies and matrix instructions, which read and write memory later.
fn asynchronous(i: &Instruction) -> bool {
    i.opcode() == "cp" && !i.has("commit_group") && !i.has("wait_group")
        || begins(i, &["st.async", "red.async", "clusterlaunchcontrol.try_cancel", "wgmma.mma"])
        || tensor(i)
}

/// Operations on tensor memory that complete later.
pub fn tensor(i: &Instruction) -> bool {
    begins(i, &["tcgen05.mma", "tcgen05.cp", "tcgen05.ld", "tcgen05.st", "tcgen05.shift"])
}

/// Anything that touches memory other than mbarriers.
fn data(i: &Instruction) -> bool {
    ordinary(i) || asynchronous(i) || begins(i, &["tcgen05.alloc", "tcgen05.dealloc"])
}

/// Anything that touches memory or hands it over.
pub fn access(i: &Instruction) -> bool {
    data(i) || begins(i, &["mbarrier", "tcgen05.commit"])
}

/// Memory that another CTA of the cluster can reach: all but what is known to be global.
fn shared(i: &Instruction) -> bool {
    data(i) && !(ordinary(i) && i.has("global"))
}

pub fn waits(i: &Instruction) -> bool {
    begins(i, &["mbarrier.try_wait", "mbarrier.test_wait"])
}

fn initialises(i: &Instruction) -> bool {
    begins(i, &["mbarrier.init"])
}

fn init_fence(i: &Instruction) -> bool {
    begins(i, &["fence.mbarrier_init"])
}

pub fn barrier(i: &Instruction) -> bool {
    matches!(i.opcode(), "bar" | "barrier")
}

/// A barrier of more than a warp.
pub fn wide_barrier(i: &Instruction) -> bool {
    barrier(i) && !i.has("warp")
}

/// A barrier of all threads of the CTA: one that says no number of threads.
fn barrier_of_the_cta(i: &Instruction) -> bool {
    i.opcode() == "bar"
        && (i.has("sync") && !i.has("warp") && i.operands.len() == 1
            || i.has("red") && i.operands.len() == 3)
}

fn arrives_at_the_cluster(i: &Instruction) -> bool {
    begins(i, &["barrier.cluster.arrive.release"])
}

fn waits_for_the_cluster(i: &Instruction) -> bool {
    begins(i, &["barrier.cluster.wait.acquire"])
}

impl Kernel {
    pub fn new(ptx: &str, kernel: &str) -> Self {
        let module = Module::parse(ptx, kernel).expect("the builder's PTX");
        let function = module.functions.iter().find(|function| &*function.name == kernel);
        let function = function.expect("the kernel is there");
        let body = function.body.as_ref().expect("and has a body");
        let is_flat = matches!(function.directive("reqntid"), Some([_, 1, 1] | [_]));
        let instructions = body.instructions.clone();
        Self { code: Code::of_ptx(&module, kernel), instructions, is_flat }
    }

    /// The instruction of a line.
    pub fn at_line(&self, line: u32) -> Option<usize> {
        self.instructions.iter().position(|i| i.line == line)
    }

    pub fn instruction(&self, at: usize) -> &Instruction {
        &self.instructions[at]
    }

    /// The places of such instructions.
    pub fn places(&self, of: impl Fn(&Instruction) -> bool) -> impl Iterator<Item = usize> {
        (0..self.instructions.len()).filter(move |&at| of(&self.instructions[at]))
    }

    fn none(
        &self,
        at: usize,
        onwards: bool,
        until: impl Fn(&Instruction) -> bool,
        of: impl Fn(usize) -> bool,
    ) -> bool {
        !self.code.meets(at, onwards, |i| until(&self.instructions[i]), of)
    }

    /// No way from here onwards meets such an instruction before one of those.
    pub fn none_behind(
        &self,
        at: usize,
        until: impl Fn(&Instruction) -> bool,
        of: impl Fn(&Instruction) -> bool,
    ) -> bool {
        self.none(at, true, until, |i| of(&self.instructions[i]))
    }

    /// The first instructions of a kind on the ways onwards.
    pub fn first_behind(&self, at: usize, of: impl Fn(&Instruction) -> bool) -> Vec<usize> {
        let others = |place: usize| {
            let of = &of;
            move |i: usize| i != place && of(&self.instructions[i])
        };
        let is_first = |&place: &usize| self.code.meets(at, true, others(place), |i| i == place);
        self.places(&of).filter(is_first).collect()
    }

    /// No way here has met such an instruction since one of those.
    pub fn none_before(
        &self,
        at: usize,
        since: impl Fn(&Instruction) -> bool,
        of: impl Fn(&Instruction) -> bool,
    ) -> bool {
        self.none(at, false, since, |i| of(&self.instructions[i]))
    }

    /// Every way here has met one of those.
    fn always_before(&self, at: usize, since: impl Fn(&Instruction) -> bool) -> bool {
        at != 0 && self.none(at, false, since, |i| i == 0)
    }

    /// A proof from the code that a mutant is no mistake.
    pub fn proof(&self, mutant: &Mutant) -> Option<&'static str> {
        let at = self.at_line(mutant.line)?;
        let was = &self.instructions[at];
        match was.opcode() {
            "bar" | "barrier" => self.of_a_barrier(at, mutant.mutation),
            "tcgen05" => self.of_tensor_memory(at),
            "fence" => self.of_a_fence(at),
            "mbarrier" => self.of_an_mbarrier(at, mutant.mutation),
            _ => None,
        }
    }

    fn of_a_barrier(&self, at: usize, mutation: Mutation) -> Option<&'static str> {
        let was = &self.instructions[at];
        let never = |_: &Instruction| false;
        if was.mnemonic.starts_with("bar.warp.sync") {
            if self.none_behind(at, barrier, access) {
                return Some("on every way onwards a barrier, or the end, comes before any access");
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
        // Without an arrival, or without its wait, the barrier of the cluster is not the same.
        let meets = !was.mnemonic.starts_with("barrier.cluster") || mutation == Mutation::Relaxed;
        if meets && self.none_behind(at, never, access) {
            return Some("no access follows");
        }
        if waits_for_the_cluster(was)
            && mutation == Mutation::LeftOut
            && self.only_deallocates_since_the_meeting(at)
        {
            return Some(
                "the last barrier of the cluster, and between the one before it and the end a warp of each CTA deallocates tensor memory \
                 with the peer's, and nobody does anything else: what this one orders, and whom it keeps, that one has ordered and \
                 kept",
            );
        }
        if arrives_at_the_cluster(was)
            && mutation == Mutation::Relaxed
            && self.none_before(at, never, |i| access(i) && !initialises(i))
            && self.none_before(at, init_fence, initialises)
        {
            return Some(
                "on every way here the only accesses are initialisations of mbarriers, and their own fence, which a relaxed \
                 arrival passes on, stands behind each",
            );
        }
        if barrier_of_the_cta(was) {
            if self.is_of_one_thread(at) {
                return Some(
                    "from the barrier of the CTA before it, or the start, to the one behind it only one thread does anything, \
                     and always the same, so that program order is all there is to order",
                );
            }
            if self.only_holds_peers(at) {
                return Some(ONLY_HOLDS);
            }
        }
        self.is_between_others_of_its_set(at).then_some(
            "between this barrier of a set and the next one its threads only wait, and load or multiply from shared memory, of which \
             they have not written anything since the one before it: the next one orders the same",
        )
    }

    fn of_tensor_memory(&self, at: usize) -> Option<&'static str> {
        match &*self.instructions[at].mnemonic {
            "tcgen05.wait::ld.sync.aligned" => {
                let waited = |i: &Instruction| begins(i, &["tcgen05.wait::ld"]);
                let loads = |i: &Instruction| begins(i, &["tcgen05.ld"]);
                let none = self.none_before(at, waited, loads);
                none.then_some("no tcgen05.ld was issued since the last wait::ld")
            }
            "tcgen05.fence::before_thread_sync" => {
                // Where an arrival comes next it passes on what the other fence has taken over, too.
                let fenced = ["tcgen05.fence::before_thread_sync", "tcgen05.commit"];
                let arrives = self.is_before_an_arrival(at);
                let passes = |i: &Instruction| {
                    tensor(i) || arrives && begins(i, &["tcgen05.fence::after_thread_sync"])
                };
                let none = self.none_before(at, |i| begins(i, &fenced), passes);
                none.then_some(
                    "no tcgen05 operation was issued since the last fence of its kind, or commit, which is one; nor is it passed on what \
                     another thread has issued",
                )
            }
            "tcgen05.fence::after_thread_sync" => {
                let fence = |i: &Instruction| begins(i, &["tcgen05.fence::after_thread_sync"]);
                let passes_on = |i: &Instruction| {
                    let is_one = begins(i, &["tcgen05.fence::before_thread_sync"]);
                    let is_before =
                        || self.at_line(i.line).is_some_and(|at| self.is_before_an_arrival(at));
                    tensor(i) || is_one && is_before()
                };
                let none = self.none_behind(at, fence, passes_on);
                none.then_some(
                    "no asynchronous tcgen05 operation follows before the next fence of its kind, nor an arrival that passes on what it \
                     takes over; a commit tracks what its own thread has issued, and a deallocation needs completion, which was \
                     waited for",
                )
            }
            _ => None,
        }
    }

    /// On some way onwards an arrival at an mbarrier comes before a barrier or a wait.
    fn is_before_an_arrival(&self, at: usize) -> bool {
        let until = |i: &Instruction| barrier(i) || waits(i);
        !self.none_behind(at, until, |i| begins(i, &["mbarrier.arrive"]))
    }

    fn of_a_fence(&self, at: usize) -> Option<&'static str> {
        let by_itself = |i: &Instruction| {
            asynchronous(i) || begins(i, &["tcgen05.commit", "cp.async.mbarrier"])
        };
        let is_among_threads = init_fence(&self.instructions[at])
            && self.places(by_itself).next().is_none()
            && self.publishes_by_the_cluster(at);
        is_among_threads.then_some(
            "only threads use the barriers, and each of them behind the barrier of the cluster that follows, whose arrival \
             releases and whose wait acquires",
        )
    }

    fn of_an_mbarrier(&self, at: usize, mutation: Mutation) -> Option<&'static str> {
        let was = &self.instructions[at];
        let is_for_nothing = waits(was) && was.has("relaxed") && mutation == Mutation::OfTheCta;
        let weaker = mutation == Mutation::Relaxed || is_for_nothing;
        let is_out = mutation == Mutation::LeftOut && self.waits_for_copies(at);
        if waits(was) && (weaker || is_out) {
            let none = self.none_behind(at, barrier, |i| access(i) && !waits(i));
            if none {
                return Some(
                    "the role ends here: threads arrive for it before the barrier that joins the roles, and no access comes \
                     before that",
                );
            }
        }
        if mutation == Mutation::OfTheCta && self.publishes_nothing_at_home(at) {
            return Some(
                "a relaxed arrival, at a barrier of its own CTA by the branch on the rank; no fence releases, but for the async \
                 proxy, for which nobody acquires behind a wait at this barrier, and releasing arrivals are at other barriers: it \
                 publishes nothing at whatever scope",
            );
        }
        (weaker && self.only_holds_peers(at)).then_some(ONLY_HOLDS)
    }

    /// All that the barrier of the CTA here orders is done by one thread, the same before and behind it: the barriers of the
    /// CTA before and behind it order the rest.
    fn is_of_one_thread(&self, at: usize) -> bool {
        // Whatever could be told from outside the thread.
        let does = |i: &Instruction| {
            access(i)
                || matches!(i.opcode(), "fence" | "membar" | "cp" | "tcgen05" | "wgmma")
                || begins(i, &["bar.arrive", "barrier", "griddepcontrol", "clusterlaunchcontrol"])
                || barrier(i) && !barrier_of_the_cta(i) && !i.has("warp")
        };
        let others = |at: usize| does(&self.instructions[at]) && !self.is_by_one_thread(at);
        self.none(at, true, barrier_of_the_cta, others)
            && self.none(at, false, barrier_of_the_cta, others)
    }

    /// Whether a barrier of a set, by its number and count, orders nothing that those of the same set around it do not: before
    /// it shared memory is only read, behind it only read by loads and products.
    fn is_between_others_of_its_set(&self, at: usize) -> bool {
        let set = |i: &Instruction| -> Option<Vec<i64>> {
            let is_one = begins(i, &["bar.sync"]) && i.operands.len() == 2;
            is_one.then(|| i.operands.iter().map(|operand| self.number(operand)).collect())?
        };
        let Some(its) = set(&self.instructions[at]) else { return false };
        let same = |i: &Instruction| set(i).is_some_and(|other| other == its);
        let loads = |i: &Instruction| i.opcode() == "ld" && i.has("shared::cta");
        let copies_out =
            |i: &Instruction| i.mnemonic.contains(".global.shared::cta.") && i.opcode() == "cp";
        let multiplies = |i: &Instruction| begins(i, &["wgmma.mma_async"]);
        let reads = |i: &Instruction| loads(i) || copies_out(i) || begins(i, &["mbarrier"]);
        self.none_before(at, same, |i| access(i) && !reads(i))
            && self.none_behind(at, same, |i| access(i) && !loads(i) && !multiplies(i) && !waits(i))
    }

    /// Only the thread of index 0 reaches an instruction.
    pub fn is_by_one_thread(&self, at: usize) -> bool {
        self.is_flat && self.is_only_where("%tid.x", 0, at)
    }

    /// Every way to an instruction takes that side of a branch where a special register has a value.
    fn is_only_where(&self, special: &str, value: i64, at: usize) -> bool {
        let sides = self.sides(special, value);
        sides.into_iter().any(|(side, _)| !self.code.clone().without(&[side]).is_reached(at))
    }

    /// The kernel with those ways only that the thread of index 0 takes.
    pub fn of_one_thread(&self) -> Kernel {
        let others: Vec<_> = self.sides("%tid.x", 0).into_iter().map(|(_, other)| other).collect();
        let code = self.code.clone().without(&others);
        Kernel { code, instructions: self.instructions.clone(), is_flat: self.is_flat }
    }

    /// The kernel without the ways that a comparison of two known numbers excludes.
    pub fn of_known_numbers(&self) -> Kernel {
        let impossible = |branch: usize| {
            let guard = self.instructions[branch].guard?;
            let test = &self.instructions[self.definition(guard.register)?];
            let is_equal = begins(test, &["setp.eq"]);
            let [_, left, right] = &test.operands[..] else { return None };
            let equal = self.number(left)? == self.number(right)?;
            let (jump, following) = ((branch, self.code.target(branch)?), (branch, branch + 1));
            let is_known = is_equal || begins(test, &["setp.ne"]);
            let jumps = (equal == is_equal) != guard.negated;
            is_known.then_some(if jumps { following } else { jump })
        };
        let ways: Vec<_> = self.places(|i| i.opcode() == "bra").filter_map(impossible).collect();
        let code = self.code.clone().without(&ways);
        Kernel { code, instructions: self.instructions.clone(), is_flat: self.is_flat }
    }

    /// Of each branch that compares a special register with a value: the step where they are equal, and the other.
    fn sides(&self, special: &str, value: i64) -> Vec<((usize, usize), (usize, usize))> {
        let sides = |branch: usize| {
            let guard = self.instructions[branch].guard?;
            let test = &self.instructions[self.definition(guard.register)?];
            let [_, Operand::Register(index), Operand::Int(number)] = test.operands[..] else {
                return None;
            };
            let is_equal = begins(test, &["setp.eq"]);
            if number != value
                || !is_equal && !begins(test, &["setp.ne"])
                || !self.is_special(index, special)
            {
                return None;
            }
            let (jump, following) = ((branch, self.code.target(branch)?), (branch, branch + 1));
            let jumps_where_equal = is_equal != guard.negated;
            Some(if jumps_where_equal { (jump, following) } else { (following, jump) })
        };
        self.places(|i| i.opcode() == "bra").filter_map(sides).collect()
    }

    /// Whether a register holds what a special register does.
    fn is_special(&self, register: RegId, special: &str) -> bool {
        let Some(at) = self.definition(register) else { return false };
        let i = &self.instructions[at];
        match &i.operands[..] {
            [_, Operand::Special(name)] => i.opcode() == "mov" && &**name == special,
            [_, Operand::Register(from)] => {
                let keeps = ["mov", "cvt.u64.u32", "cvt.u32.u64"];
                begins(i, &keeps) && self.is_special(*from, special)
            }
            _ => false,
        }
    }

    /// The number that a register holds, always.
    fn number(&self, operand: &Operand) -> Option<i64> {
        match operand {
            Operand::Int(number) => Some(*number),
            Operand::Register(register) => {
                let i = &self.instructions[self.definition(*register)?];
                (i.opcode() == "mov").then(|| self.number(i.operands.get(1)?))?
            }
            _ => None,
        }
    }

    /// A place in the shared memory of whatever CTA, as a register and what is added to it.
    fn place(&self, register: RegId) -> (RegId, i64) {
        let definition = self.definition(register).map(|at| &self.instructions[at]);
        match definition.map(|i| (i.opcode(), &i.operands[..])) {
            Some(("mov", [_, Operand::Register(from)])) => self.place(*from),
            Some(("mapa", [_, Operand::Register(from), _])) => self.place(*from),
            Some(("add", [_, Operand::Register(from), Operand::Int(more)])) => {
                let (root, offset) = self.place(*from);
                (root, offset + more)
            }
            _ => (register, 0),
        }
    }

    /// The register that holds the address of the mbarrier of an arrival.
    fn barrier_of(&self, arrival: usize) -> Option<RegId> {
        let addresses = self.instructions[arrival].operands.iter();
        addresses.into_iter().find_map(|operand| match operand {
            Operand::Address(Address { base: Base::Register(register), offset: 0, .. }) => {
                Some(*register)
            }
            _ => None,
        })
    }

    /// A relaxed arrival at a barrier of its own CTA publishes nothing, whatever its scope: no fence releases, halves of the one-way
    /// fence are acquired behind waits at other barriers only, and what arrives with a release does so at other barriers.
    fn publishes_nothing_at_home(&self, at: usize) -> bool {
        let arrives = |i: &Instruction| begins(i, &["mbarrier.arrive"]);
        let was = &self.instructions[at];
        let Some(register) = self.barrier_of(at).filter(|_| arrives(was) && was.has("relaxed"))
        else {
            return false;
        };
        let mapped = self.definition(register).map(|at| &self.instructions[at]);
        let mapped = mapped.filter(|i| i.opcode() == "mapa");
        let rank = mapped.and_then(|i| self.number(i.operands.get(2)?));
        let is_own = rank.is_some_and(|rank| self.is_only_where("%cluster_ctarank", rank, at));
        let (root, offset) = self.place(register);
        let is_elsewhere = |other: usize| {
            let place = self.barrier_of(other).map(|register| self.place(register));
            place.is_some_and(|place| place.0 == root && place.1 != offset)
        };
        let releases = |i: &Instruction| {
            let is_one = matches!(i.opcode(), "fence" | "membar") && !init_fence(i);
            is_one && !i.has("proxy") && !i.has("acquire")
        };
        let acquires_half = |i: &Instruction| begins(i, &["fence.proxy.async::generic.acquire"]);
        let is_wait = |there: bool| {
            move |i: &Instruction| {
                waits(i) && self.at_line(i.line).is_some_and(|wait| is_elsewhere(wait) == there)
            }
        };
        is_own
            && self.places(releases).next().is_none()
            && self
                .places(acquires_half)
                .all(|half| self.none_before(half, is_wait(true), is_wait(false)))
            && self.places(|i| arrives(i) && !i.has("relaxed")).all(is_elsewhere)
    }

    /// The only instruction that writes a register.
    fn definition(&self, register: RegId) -> Option<usize> {
        fn writes(operand: &Operand, register: RegId) -> bool {
            match operand {
                Operand::Register(r) | Operand::Component(r, _) => *r == register,
                Operand::Vector(all) | Operand::List(all) => {
                    all.iter().any(|one| writes(one, register))
                }
                Operand::Pair(a, b) => writes(a, register) || writes(b, register),
                _ => false,
            }
        }
        let defines = |i: &Instruction| {
            // Of stores and branches the first operand is no result.
            let results = matches!(i.opcode(), "st" | "bra" | "bar" | "barrier" | "red").not()
                || begins(i, &["bar.red"]);
            // A call has its results in a list.
            results && i.operands.first().is_some_and(|first| writes(first, register))
        };
        let mut found = self.places(defines);
        let only = found.next()?;
        found.next().is_none().then_some(only)
    }

    /// What is initialised before the fence here is used by threads behind a barrier of the cluster only.
    fn publishes_by_the_cluster(&self, at: usize) -> bool {
        let uses = |i: &Instruction| access(i) && !initialises(i);
        let arrivals: Vec<usize> = self.places(arrives_at_the_cluster).collect();
        self.none_behind(at, arrives_at_the_cluster, |i| access(i) || barrier(i))
            && self.places(initialises).all(|init| self.none_behind(init, init_fence, uses))
            && self.places(uses).all(|user| self.always_before(user, waits_for_the_cluster))
            // The first barrier of the cluster is one of release and acquire, whoever comes there.
            && self.places(barrier).all(|other| {
                arrivals.contains(&other)
                    || waits_for_the_cluster(&self.instructions[other])
                    || self.always_before(other, waits_for_the_cluster)
            })
    }

    /// The phase that is waited for here can be of bulk copies only, for whose bytes others wait, too: neither a commit nor
    /// another CTA arrives at that barrier.
    fn waits_for_copies(&self, at: usize) -> bool {
        let is_same = |other: usize| {
            let place = |at| self.barrier_of(at).map(|register| self.place(register));
            place(other) == place(at)
        };
        let arrives = |i: &Instruction| begins(i, &["tcgen05.commit", "mbarrier.arrive"]);
        self.places(|i| begins(i, &["cp.async.bulk"])).next().is_some()
            && self.places(|i| arrives(i) && !i.has("expect_tx")).all(|other| !is_same(other))
    }

    /// It loads the address of tensor memory from where the allocation has stored it, and nobody else stores there.
    pub fn loads_the_allocation(&self, i: &Instruction) -> bool {
        let slot = self.places(|i| begins(i, &["tcgen05.alloc"])).next();
        let slot = slot.and_then(|alloc| self.instruction(alloc).operands.first());
        let is_at_slot = |i: &Instruction, at: usize| slot.is_some() && i.operands.get(at) == slot;
        let stores = |i: &Instruction| i.opcode() == "st" && is_at_slot(i, 0);
        i.opcode() == "ld" && is_at_slot(i, 1) && self.places(stores).next().is_none()
    }

    /// Nobody goes on from here, and on every way here there has been a barrier of the cluster, and since then nothing but a deallocation
    /// by both CTAs of a pair.
    fn only_deallocates_since_the_meeting(&self, at: usize) -> bool {
        let never = |_: &Instruction| false;
        let deallocates = |i: &Instruction| begins(i, &["tcgen05.dealloc.cta_group::2"]);
        self.none_behind(at, never, |i| access(i) || barrier(i))
            && self.always_before(at, waits_for_the_cluster)
            && self.none_before(at, waits_for_the_cluster, |i| {
                access(i) && !deallocates(i) && !self.loads_the_allocation(i)
            })
    }

    /// At an exit of CTAs of a cluster that wait for each other at mbarriers: whoever comes to know of the other's accesses
    /// makes none, and since the last barrier of the cluster nothing was accessed that a peer could take away.
    fn only_holds_peers(&self, at: usize) -> bool {
        let never = |_: &Instruction| false;
        let ends = |at: usize| self.none_behind(at, never, data);
        ends(at)
            && self.places(waits).all(ends)
            && self.none_before(at, waits_for_the_cluster, shared)
            && self.always_before(at, waits_for_the_cluster)
    }
}

const ONLY_HOLDS: &str = "at the exit: no thread accesses memory behind a wait at an mbarrier, and since the last barrier of the cluster the CTA \
                          has accessed global memory only: the meeting keeps the peers until all are there, and has nothing to order";
