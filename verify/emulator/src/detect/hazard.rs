//! What is missing, and how it is told.
//!
//! A conflict says that the order which the two accesses need is not there. The weaker orders are
//! asked one after the other; the first that would have been enough names what is missing.

use super::clock::{SUBS, Stamp};
use super::halves::Halves;
use super::previous::Early;
use super::shadow::{Class, Conflict};
use super::strand::{Almost, GLOBAL, SHARED, Strand};
use super::{Detector, Space, Touch};
use crate::async_ops::SharedPlace;
use crate::error::{Site, Threads};
use crate::ir::Scope;
use crate::memory::{GLOBAL_BASE, SHARED_BASE};
use crate::wgmma::Misuse;
use std::fmt;

/// How certain the accusation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Kernels in practice do this and the text can be read to forbid it; an error when
    /// [`crate::Options::strict`].
    Warning,
    /// The memory model does not order the accesses.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// Who is missing at a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Lanes of a warp.
    Lanes,
    /// Threads of a CTA.
    Threads,
}

/// A use of memory that the memory model does not order.
#[derive(Clone, Debug)]
pub struct Hazard {
    /// Its rule, by the id of the list of rules, or `uninitialised`.
    pub rule: &'static str,
    /// How certain it is.
    pub severity: Severity,
    /// What was seen.
    pub message: String,
    /// The later access.
    pub site: Site,
    /// Who made it.
    pub threads: Threads,
    /// The earlier access.
    pub other: Option<Site>,
    /// A synchronisation that was there and did not suffice.
    pub almost: Option<Site>,
    /// What to do.
    pub fix: &'static str,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (rule {})", self.severity, self.message, self.rule)?;
        write!(f, "\n  here:    {}\n           {}", self.site, self.threads)?;
        if let Some(other) = &self.other {
            write!(f, "\n  earlier: {other}")?;
        }
        if let Some(almost) = &self.almost {
            write!(f, "\n  not enough: {almost}")?;
        }
        write!(f, "\n  fix:     {}", self.fix)
    }
}

/// A hazard whose sites are still numbers.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub rule: &'static str,
    pub severity: Severity,
    pub message: String,
    pub site: u32,
    pub threads: Threads,
    pub other: Option<u32>,
    pub almost: Option<u32>,
    pub fix: &'static str,
}

/// Who uses an mbarrier whose initialisation does not reach it.
#[derive(Clone, Copy)]
pub(super) enum BarrierUser {
    Thread,
    Async,
    /// `st.async` and `red.async`, whose proxy the text leaves open.
    Store,
}

/// What is missing between two accesses.
struct Cause {
    rule: &'static str,
    what: &'static str,
    fix: &'static str,
    policy: bool,
    almost: Option<u32>,
}

fn cause(rule: &'static str, what: &'static str, fix: &'static str) -> Cause {
    Cause { rule, what, fix, policy: false, almost: None }
}

impl Cause {
    fn policy(self, is_one: bool) -> Cause {
        Cause { policy: is_one, ..self }
    }

    fn after(self, almost: Option<u32>) -> Cause {
        Cause { almost, ..self }
    }
}

/// Tensor memory: completion first, then the fences.
fn in_tensor_memory(strand: &Strand, conflict: &Conflict, touch: &Touch, same: bool) -> Cause {
    let before = conflict.before.stamp;
    if touch.class == Class::Dealloc {
        return cause(
            "D8",
            "tensor memory is deallocated while it may still be used",
            "observe the completion of every use, then a barrier, before tcgen05.dealloc",
        );
    }
    if !strand.now.d.covers(before) {
        return match conflict.before.class() {
            Class::Ld => cause(
                "D3",
                "a tcgen05.ld of this tensor memory has not completed",
                "put tcgen05.wait::ld behind the load, before the hand-over",
            ),
            Class::St => cause(
                "D4",
                "a tcgen05.st to this tensor memory has not completed",
                "put tcgen05.wait::st behind the store, before the hand-over",
            ),
            _ if same && touch.class == Class::Mma => cause(
                "D7",
                "the two multiplications are no pipelined pair: accumulators or shapes differ",
                "commit the first and wait for its phase, or use the same accumulator and shape",
            ),
            _ => cause(
                "D5",
                "the multiplication has not been seen to complete",
                "tcgen05.commit to an mbarrier, and wait for its phase",
            ),
        };
    }
    let acquired = strand.now.c.covers(before);
    if matches!(strand.almost, Some((Almost::NarrowWait, _)))
        && strand.now.u.covers(before)
        && !acquired
        && !strand.now.t.covers(before)
        && !strand.now.f.covers(before)
    {
        return too_narrow(strand.almost);
    }
    if strand.now.t.covers(before) || strand.now.f.covers(before) {
        return cause(
            "D1",
            "the earlier operation is complete, but nothing orders later tcgen05 operations after \
             the wait",
            "put tcgen05.fence::after_thread_sync behind the wait",
        )
        .policy(acquired);
    }
    if strand.now.x.covers(before) {
        return cause(
            "D2",
            "the earlier operation is complete, but on the way its order was handed on by relaxed synchronisation alone",
            "put tcgen05.fence::before_thread_sync before the relaxed arrival as well, or let the arrival release and the \
             wait acquire",
        )
        .policy(true);
    }
    cause(
        "D2",
        "the earlier operation is complete, but nothing orders it before the synchronisation",
        "put tcgen05.fence::before_thread_sync before the arrival or barrier that hands it over",
    )
    .policy(acquired)
}

/// They synchronise, but not at a scope that includes both.
fn too_narrow(almost: Option<(Almost, u32)>) -> Cause {
    let (rule, what) = match almost {
        Some((Almost::NarrowArrival, _)) => {
            ("C7", "the arrival came from another CTA, and its scope is .cta")
        }
        Some((Almost::NarrowWait, _)) => (
            "C7",
            "another CTA arrived, or issued what completed the phase, and the scope of the wait is .cta",
        ),
        _ => ("A5", "they synchronise, but a scope is too narrow to include both threads"),
    };
    cause(rule, what, "use a scope that includes both, .cluster or .gpu, on both sides")
        .after(almost.map(|a| a.1))
}

/// A fence on the way is restricted to shared memory, and does not cover this.
fn beyond_restriction(strand: &Strand, before: Stamp, memory: Option<u32>) -> Option<Cause> {
    memory?;
    let what = if strand.now.s.would_cover(before) {
        "the releasing fence is restricted to the shared memory of its own CTA, and this is another's"
    } else if strand.now.s.in_vain(before)
        && !matches!(strand.almost, Some((Almost::RelaxedCluster, _)))
    {
        "the fence is restricted to shared memory, and synchronises through objects there only"
    } else {
        return None;
    };
    Some(cause(
        "F9",
        what,
        "release with .release.cluster or fence.release.cluster; or push by st.async, which completes on the peer's mbarrier",
    ))
}

/// Whether it was published, and seen by a relaxed read whose fence would have to acquire it.
fn is_pending(strand: &Strand, before: Stamp, memory: Option<u32>) -> bool {
    let shows = |p: &super::strand::Pending| {
        p.what.c.covers(before) || memory.is_some_and(|memory| p.what.s.covers(memory, before))
    };
    strand.pending.iter().any(shows)
}

/// They synchronise, but what published it releases nothing.
fn published_relaxed(strand: &Strand, restricted: bool) -> Cause {
    let (rule, what) = match strand.almost {
        Some((Almost::RelaxedCluster, _)) if restricted => (
            "F2",
            "a fence that is restricted to shared memory passes nothing on through barrier.cluster.arrive.relaxed",
        ),
        Some((Almost::RelaxedCluster, _)) => {
            ("F2", "barrier.cluster.arrive.relaxed publishes nothing without a fence")
        }
        Some((Almost::VolatileRead, _)) => ("A6", "volatile accesses do not synchronise"),
        _ => ("A4", "they synchronise, but what published it was a relaxed store"),
    };
    cause(rule, what, "publish with .release, or put fence.release before the store")
        .after(strand.almost.map(|a| a.1))
}

/// After an asynchronous operation whose completion is not known.
fn after_asynchronous(
    strand: &Strand,
    conflict: &Conflict,
    (memory, of): (Option<u32>, Option<u32>),
    same: bool,
    committer: Option<u32>,
) -> Option<Cause> {
    let before = conflict.before.stamp;
    let relaxed = strand.now.d.covers(before);
    let almost = strand.almost.filter(|_| relaxed).map(|a| a.1);
    let class = conflict.before.class();
    // By the wait alone: no synchronisation came from the warp whose part it is.
    if class == Class::Wgmma && relaxed && !strand.now.x.covers(before) {
        let cause = cause(
            "E3",
            "a warp has waited for its own part of the product, and nothing orders the part of another warp of its warpgroup",
            "put a barrier of the warpgroup between wgmma.wait_group and the hand-over",
        );
        return Some(cause.policy(true).after(almost));
    }
    if relaxed
        && matches!(class, Class::In | Class::Mma | Class::Wgmma | Class::Small | Class::Store)
    {
        // A relaxed wait has seen all that the phase published, at whatever scope.
        if strand.now.u.covers(before) && !strand.now.r.covers(before) {
            return Some(too_narrow(strand.almost));
        }
        if let Some(cause) = beyond_restriction(strand, before, memory) {
            return Some(cause);
        }
        if !strand.now.r.covers(before) && !is_pending(strand, before, memory) {
            return Some(published_relaxed(strand, strand.now.s.in_vain(before)));
        }
        let cause = cause(
            "C6",
            "the completion was observed by a relaxed wait, which orders no memory",
            "wait with .acquire, or put fence.acquire behind the wait",
        );
        return Some(cause.after(almost));
    }
    let unit = before.id / SUBS;
    let is_its = |barrier: u32| of == Some(barrier) || barrier == unit;
    let waited = strand.waits.iter().find(|wait| is_its(wait.0)).map(|wait| wait.2);
    Some(match class {
        Class::In if strand.refused.is_some_and(|refused| is_its(refused.0)) => cause(
            "C5",
            "a bulk copy may still be under way: the last wait for it said no",
            "ask again until the wait says yes, and touch the data only then",
        )
        .after(strand.refused.map(|refused| refused.1)),
        Class::In if waited.is_some() => cause(
            "C3",
            if conflict.wrote {
                "a bulk copy writes it; the last wait on its mbarrier passed for an earlier phase"
            } else {
                "a bulk copy may still read it; the last wait on its mbarrier passed for an earlier phase"
            },
            "wait for the phase in which the copy completes: its parity, and once for each phase",
        )
        .after(waited),
        Class::In => cause(
            "B6",
            if conflict.wrote {
                "a bulk copy writes it, and its completion was not observed"
            } else {
                "a bulk copy may still read it: its completion was not observed"
            },
            "wait for the phase of the mbarrier on which the copy completes",
        ),
        Class::Store => cause(
            "B6",
            "an asynchronous store writes it, and its completion was not observed",
            "wait for the phase of the mbarrier on which the store completes",
        ),
        Class::Small => cause(
            "B8",
            "a cp.async writes it, and its completion was not observed here",
            "cp.async.wait_group by the copying thread, then a barrier",
        ),
        Class::Map => cause(
            "B5",
            "a copy in flight may still use this tensor map",
            "observe the completion of every copy that uses the map before it is edited",
        ),
        Class::Out if conflict.wrote => cause(
            "B7",
            "a bulk copy writes it, and has not been seen to complete",
            "cp.async.bulk.wait_group (without .read) by the thread that committed the group",
        ),
        Class::Out if same => cause(
            "B7",
            "a bulk copy may still read it",
            "cp.async.bulk.wait_group.read before the source is written again",
        ),
        // Where the committing thread waits, too, its wait leaves too many groups in flight.
        Class::Out
            if strand.idle_waits != 0
                && committer.is_none_or(|lane| strand.own_waits >> lane & 1 == 0) =>
        {
            cause(
            "B10",
            "a bulk copy may still read it: this thread waited for groups that another committed",
            "let the committing thread wait, then a barrier",
        )
        }
        Class::Out => cause(
            "B11",
            "a bulk copy may still read it",
            "cp.async.bulk.wait_group.read by the storing thread, then the set's barrier",
        ),
        Class::Mma => cause(
            "D6",
            "a multiplication may still read it",
            "arrive on the stage's empty barrier by tcgen05.commit, and wait for that",
        ),
        Class::Wgmma => cause(
            "E3",
            "a wgmma product may still read it",
            "wgmma.wait_group that covers its group before the stage is handed back",
        ),
        Class::Alloc => cause(
            "D8",
            "the address of tensor memory is read without a barrier behind tcgen05.alloc",
            "put a CTA barrier between the allocation and the read",
        ),
        _ => return None,
    })
}

/// Between threads.
fn between_threads(
    strand: &Strand,
    conflict: &Conflict,
    (strong, touch): (Option<(Scope, u32)>, &Touch),
    (memory, near): (Option<u32>, bool),
) -> Cause {
    let before = conflict.before.stamp;
    let almost = strand.almost;
    let site = almost.map(|a| a.1);
    if let (Some((_, old)), Some((_, new))) = (strong, touch.strong) {
        return cause(
            "A7",
            if old == new {
                "atomic accesses to one location, of scopes that do not include each other"
            } else {
                "atomic accesses to one location at two sizes"
            },
            "access the location at one size, and at one scope that includes every thread",
        );
    }
    let pending = is_pending(strand, before, memory);
    // Fences that are restricted to shared memory order it, if it were there.
    let restricted = strand.now.s.would_cover(before) || strand.now.s.in_vain(before);
    if let Some(cause) = beyond_restriction(strand, before, memory) {
        return cause;
    }
    if strand.now.u.covers(before) && !pending {
        return too_narrow(almost);
    }
    if pending || strand.now.r.covers(before) {
        let almost = if pending { almost } else { strand.now.read };
        let site = almost.map(|a| a.1);
        let (rule, what) = match almost {
            _ if restricted && memory.is_none() => (
                "A3",
                "the acquiring fence is restricted to shared memory, and orders nothing else",
            ),
            Some((Almost::RelaxedWait | Almost::NarrowWait, _)) => {
                ("C6", "a relaxed wait saw the phase, and orders no memory")
            }
            Some((Almost::VolatileRead, _)) => {
                ("A6", "a volatile load saw the flag, and orders no memory")
            }
            Some((Almost::NarrowFlag, _)) => {
                ("A5", "the fence behind the relaxed read has too narrow a scope")
            }
            _ => ("A3", "a relaxed load saw the flag, and orders no memory"),
        };
        return cause(rule, what, "read with .acquire, or put fence.acquire behind the read")
            .after(site);
    }
    if let (Some(halves), Some(_)) = (&strand.now.halves, memory)
        && halves.is_met(before)
    {
        return cause(
            "F9",
            "the release half of a one-way fence orders what the async proxy does, and no ordinary access",
            "put fence.release.sync_restrict::shared::cta.cluster before the arrival, or a wider release",
        )
        .after(site);
    }
    if strand.now.x.covers(before) {
        if restricted && memory.is_none() {
            let what =
                "the releasing fence is restricted to shared memory, and orders nothing else";
            let fix = "publish with .release, or put fence.release before the store";
            return cause("A4", what, fix).after(site);
        }
        return published_relaxed(strand, restricted);
    }
    if strand.reduced.covers(before) {
        return cause(
            "A2",
            "only a red saw the flag, and red takes part in no acquire pattern",
            "use atom with .acquire, or atom and fence.acquire",
        );
    }
    match (near, touch.write) {
        (false, false) if strand.before_launch.is_some() => cause(
            "A14",
            "the flag behind which it is read holds what was there before the launch",
            "let the host reset the flag before every launch, or wait for a value that is this launch's own",
        )
        .after(strand.before_launch),
        (true, _) => cause(
            "A13",
            "two threads access it, and no barrier or other synchronisation is between them",
            "put a barrier of these threads between the accesses",
        ),
        (false, false) => cause(
            "A1",
            "another CTA wrote it, and no acquire pattern was completed before the read",
            "read the flag that publishes it with .acquire first",
        ),
        (false, true) => cause(
            "A9",
            "another CTA accesses it, and nothing orders the two",
            "hand it over through a release and an acquire",
        ),
    }
}

impl Detector {
    fn threads(&self, w: u32, lane: u32) -> Threads {
        let unit = self.units[self.warps[w as usize].unit as usize];
        Threads { block: unit.block, warp: unit.warp, lanes: 1 << lane }
    }

    /// The unit of whoever issued an operation of an instruction: of a copy that completes on an mbarrier its component tells
    /// only that.
    fn issuer(&self, id: u32, site: u32) -> u32 {
        self.issuers.get(&(id, site)).copied().unwrap_or(id / SUBS)
    }

    fn severity(&self, cause: &Cause) -> Severity {
        if cause.policy && !self.strict { Severity::Warning } else { Severity::Error }
    }

    fn report(&mut self, w: u32, lane: u32, site: u32, other: Option<u32>, found: (Cause, String)) {
        let (cause, message) = found;
        let found = Found {
            rule: cause.rule,
            severity: self.severity(&cause),
            message,
            site,
            threads: self.threads(w, lane),
            other,
            almost: cause.almost,
            fix: cause.fix,
        };
        self.enter(found);
    }

    /// Of a rule and a pair of instructions the first is kept, and an error before a warning.
    fn enter(&mut self, found: Found) {
        let key = (found.site, found.other.unwrap_or(u32::MAX), found.rule);
        match self.seen.get(&key) {
            Some(&at) if self.found[at].severity == Severity::Warning => {
                if found.severity == Severity::Error {
                    self.found[at] = found;
                }
            }
            Some(_) => {}
            None => {
                self.seen.insert(key, self.found.len());
                self.found.push(found);
            }
        }
    }

    /// What of the two halves is missing between an access of the async proxy to shared memory and one before it, if
    /// that is what is.
    fn in_one_way(
        &self,
        w: u32,
        (lane, own): (u32, bool),
        memory: Option<u32>,
        conflict: &Conflict,
        class: Class,
    ) -> Option<Cause> {
        let memory = memory?;
        let generic =
            |class| matches!(class, Class::Thread | Class::Small | Class::Store | Class::Alloc);
        if generic(class) {
            return None;
        }
        let warp = &self.warps[w as usize];
        let strand = warp.of(lane as usize);
        let stamp = conflict.before.stamp;
        let of = self.units[(stamp.id / SUBS) as usize].home;
        let here = self.units[warp.unit as usize].home;
        let now = &strand.now;
        let halves = now.halves.as_deref();
        let knows = own || now.knows(stamp, Some(memory));
        let rule = if conflict.wrote { "B1" } else { "B2" };
        let behind = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster behind the wait, in the CTA of \
                      the asynchronous access";
        // Also by what a relaxed wait saw and nothing behind it took over.
        let pending = strand.pending.iter().filter(|pending| pending.shared);
        let seen: Vec<&Halves> =
            pending.filter_map(|pending| pending.what.halves.as_deref()).chain(halves).collect();
        let no_acquire = "the release half of the one-way fence is there, and no acquire half in the CTA of the asynchronous access";
        if !generic(conflict.before.class()) {
            // Complete, and handed over between CTAs: all but the proxy fence is there.
            let is_known = knows
                || halves.is_some_and(|halves| halves.before.covers(memory, stamp))
                || [class, conflict.before.class()] == [Class::In; 2] && now.d.covers(stamp);
            let what = "both accesses go through the async proxy, two CTAs issue them, and no proxy fence stands before the later \
                        one: only those of one CTA are ordered without";
            return if is_known {
                (of.cta != here.cta).then(|| cause(rule, what, behind).policy(true))
            } else {
                let is_released = seen.iter().any(|halves| halves.before.covers(memory, stamp));
                is_released.then(|| cause(rule, no_acquire, behind))
            };
        }
        let read = !conflict.wrote;
        if strand.is_fenced(stamp, own, SHARED) {
            return None;
        }
        if seen.iter().any(|halves| halves.is_missed(memory, stamp, read)) {
            let what = "the release half on the way does not cover it: ::read is for reads of its own thread, shared::cta for the \
                        memory of its own CTA";
            let fix = "let each thread that accessed it execute the release half, before the barrier behind which one arrives for all";
            return Some(cause("F9", what, fix));
        }
        let is_released = seen.iter().any(|halves| halves.is_released(memory, stamp, read));
        if is_released || own && strand.own_halves.covers(stamp, read) {
            let policy = of.cta == here.cta && knows;
            return Some(cause(rule, no_acquire, behind).policy(policy));
        }
        let is_ordered = knows || halves.is_some_and(|halves| halves.order(memory, stamp, read));
        if is_ordered && halves.is_some_and(|halves| halves.has_acquired(here.cta)) {
            let what = "an acquire half of the one-way fence is there, and no release half where the ordinary access was";
            let fix = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster by each thread that accessed it, before \
                       the hand-over";
            return Some(cause(rule, what, fix));
        }
        None
    }

    pub(super) fn report_conflict(
        &mut self,
        w: u32,
        lane: u32,
        space: Space,
        conflict: Conflict,
        touch: Touch,
    ) {
        let warp = &self.warps[w as usize];
        let strand = warp.of(lane as usize);
        let before = conflict.before;
        let kind = self.kinds.of(&before);
        let of = self.units[(before.stamp.id / SUBS) as usize];
        let me = self.units[warp.unit as usize];
        let own = before.stamp.id == warp.lane(lane as usize);
        let same = own || of.home == me.home && of.warp == me.warp && of.lane == Some(lane);
        let near = of.home.cta == me.home.cta;
        let cells = if space == Space::Global { GLOBAL } else { SHARED };
        let memory = self.memory(space);
        let knows = own || strand.now.knows(before.stamp, memory);
        let halves = strand.now.halves.as_deref().zip(memory);
        // Before what comes later through the async proxy.
        let is_ordered = knows
            || halves.is_some_and(|(halves, memory)| {
                halves.order(memory, before.stamp, !conflict.wrote)
            });
        let generic =
            |class| matches!(class, Class::Thread | Class::Small | Class::Store | Class::Alloc);
        // In order for the generic proxy, so that it is the other reading that finds it.
        let is_by_either = touch.class == Class::Store && knows;
        let class = if is_by_either { Class::In } else { touch.class };
        let classes = [touch.class, before.class()];
        let cause = if classes.contains(&Class::Constant) {
            cause(
                "A10",
                "a load of constant data (.nc) and a write in one launch, which nothing can order",
                "read with an ordinary load, or let an earlier launch write it",
            )
        } else if classes == [Class::Map, Class::Thread] && knows {
            cause(
                "B4",
                "a copy uses a tensor map whose edit was not handed to the proxy of tensor maps",
                "the editing thread: fence.proxy.tensormap::generic.release; the copying one, behind the hand-over: \
                 fence.proxy.tensormap::generic.acquire of the map's address",
            )
        } else if let Space::Tensor(_) = space {
            in_tensor_memory(strand, &conflict, &touch, same)
        } else if let Some(cause) = self.in_one_way(w, (lane, own), memory, &conflict, class) {
            cause
        } else if !generic(class) && generic(before.class()) && is_ordered {
            let fix = "each thread that accessed it: fence.proxy.async before the hand-over";
            let rule = if conflict.wrote { "B1" } else { "B2" };
            if strand.is_fenced(before.stamp, own, cells) {
                let of_shared = memory.unwrap_or_default();
                let is_fenced =
                    |home: super::Home| strand.now.sides.covers(home.cta, of_shared, before.stamp);
                let read = !conflict.wrote;
                let is_released = strand
                    .now
                    .halves
                    .as_deref()
                    .is_some_and(|halves| halves.is_released(of_shared, before.stamp, read));
                let reach = strand.now.sides.reach(of_shared, before.stamp) || is_released;
                if !reach {
                    let what = "the proxy fence on the way is for the shared memory of its own CTA, and does not reach another's";
                    let fix = "fence.proxy.async, or the two halves of the one-way fence";
                    cause(rule, what, fix)
                } else {
                    let what = match is_fenced(of.home) || is_released {
                        true => {
                            "no fence.proxy.async stands in the CTA of the asynchronous access, and the text leaves open which of the two counts"
                        }
                        false => {
                            "no fence.proxy.async stands in the CTA of the ordinary access, and the text leaves open which of the two counts"
                        }
                    };
                    let fix = "fence.proxy.async in both CTAs: before the hand-over, and behind it before the asynchronous access";
                    cause(rule, what, fix).policy(true)
                }
            } else if conflict.wrote && before.class() == Class::Alloc {
                // No text says through which proxy the address is written.
                cause("B1", "tcgen05.alloc wrote its address there, and no proxy fence stands between that and an asynchronous access", fix)
                    .policy(true)
            } else if conflict.wrote {
                cause(
                    "B1",
                    "ordinary stores and an asynchronous access of it have no proxy fence between them",
                    fix,
                )
            } else {
                cause(
                    "B2",
                    "ordinary loads and an asynchronous write of it have no proxy fence between them",
                    fix,
                )
            }
        } else {
            let other =
                || between_threads(strand, &conflict, (kind.strong, &touch), (memory, near));
            let near_lane = of.lane.filter(|_| of.home == me.home && of.warp == me.warp);
            let waited = (memory, of.barrier);
            let asynchronous = after_asynchronous(strand, &conflict, waited, same, near_lane);
            let cause = asynchronous.unwrap_or_else(other);
            let equal =
                conflict.wrote && touch.equal >> lane & 1 == 1 && classes == [Class::Thread; 2];
            match cause.rule {
                "A9" | "A13" if equal => Cause {
                    what: "two threads store the same value, and nothing orders them",
                    ..cause
                }
                .policy(true),
                _ => cause,
            }
        };
        let at = match space {
            Space::Global => {
                format!("global address {:#x}", GLOBAL_BASE + u64::from(conflict.cell) * 4)
            }
            Space::Shared(_) => format!("shared address {:#x}", SHARED_BASE + conflict.cell * 4),
            Space::Tensor(_) => {
                let (row, column) = (conflict.cell / 512 * 16, conflict.cell % 512);
                format!("tensor memory lane {row} and up, column {column}")
            }
        };
        let verb = |write| if write { "written" } else { "read" };
        let (cause, reading) = match is_by_either {
            true => (
                cause.policy(true),
                "if st.async is of the async proxy, which the text leaves open: ",
            ),
            false => (cause, ""),
        };
        let message = format!(
            "{at} is {} here and was {} by {}: {reading}{}",
            verb(touch.write),
            verb(conflict.wrote),
            match same {
                true => "the same thread".to_owned(),
                false => name_of(&self.units[self.issuer(before.stamp.id, kind.site) as usize]),
            },
            cause.what
        );
        self.report(w, lane, touch.site, Some(kind.site), (cause, message));
    }

    pub(super) fn report_barrier(
        &mut self,
        w: u32,
        lane: u32,
        place: SharedPlace,
        site: u32,
        init: u32,
        user: BarrierUser,
    ) {
        let address = SHARED_BASE + place.offset;
        let fix = "mbarrier.init, then fence.mbarrier_init.release.cluster, then the barrier";
        let cause = match user {
            BarrierUser::Thread => cause(
                "C1",
                "its initialisation is not ordered before this use",
                "put a barrier of all its users behind mbarrier.init and its fence",
            ),
            BarrierUser::Async => cause(
                "C1",
                "its initialisation was not made visible to the asynchronous proxy",
                fix,
            ),
            BarrierUser::Store => cause(
                "C1",
                "its initialisation was not made visible to the asynchronous proxy, by which st.async and red.async may complete: \
                 the text leaves it open",
                fix,
            )
            .policy(true),
        };
        let message = format!("mbarrier at shared address {address:#x}: {}", cause.what);
        self.report(w, lane, site, Some(init), (cause, message));
    }

    pub(super) fn report_previous(
        &mut self,
        w: u32,
        lane: u32,
        at: u64,
        touch: Touch,
        early: &Early,
    ) {
        let cause = match early.in_reach {
            true => cause(
                "F6",
                "which may not have ended: no griddepcontrol.wait is before this access",
                "griddepcontrol.wait before the first use of what the launch before touches, in this thread or ahead of a barrier",
            ),
            false => cause(
                "F6",
                "which may not have ended: the launch between has executed no griddepcontrol.wait, and a wait here covers only \
                 the launch before and what that has waited for",
                "griddepcontrol.wait in the launch between as well, before it ends",
            ),
        };
        let message = format!(
            "global address {:#x} is {} here and {} by `{}`, {}",
            GLOBAL_BASE + at,
            if touch.write { "written" } else { "read" },
            if early.wrote { "was written" } else { "was read" },
            early.kernel,
            cause.what
        );
        self.report(w, lane, touch.site, early.site, (cause, message));
    }

    /// A `wgmma` product takes registers that no fence hands over: one was used at `used`, or there
    /// was no fence yet.
    pub fn wgmma_unfenced(&mut self, w: u32, site: u32, used: Option<u32>) {
        let what = match used {
            Some(_) => "a register of D or A was used, and no wgmma.fence is behind that",
            None => "no wgmma.fence stands before the first product",
        };
        let fix = "wgmma.fence between the last use of the registers and the product";
        self.report(w, 0, site, used, (cause("E1", what, fix), what.into()));
    }

    /// A shuffle reads the value of a lane that its mask names and that did not come.
    pub fn absent_lane(&mut self, w: u32, lane: u32, site: u32) {
        let what =
            "a shuffle reads from a lane that does not take part in it: the value is undefined";
        let fix = "let every lane that the shuffle reads from reach it; to branch around it is not enough";
        self.report(w, lane, site, None, (cause("F1", what, fix).policy(true), what.into()));
    }

    /// A collective goes on without members of its set that have exited.
    pub fn without_exited(&mut self, w: u32, lane: u32, site: u32, missing: Missing) {
        let what = match missing {
            Missing::Lanes => {
                "lanes that belong to this collective have exited without it: it goes on because nobody is left to wait for"
            }
            Missing::Threads => {
                "threads of the CTA have exited without this barrier: it completes because nobody is left to wait for"
            }
        };
        let fix = "let every thread of the set come, or none: take the condition from what is one value for all of them";
        self.report(w, lane, site, None, (cause("F4", what, fix).policy(true), what.into()));
    }

    /// Threads of one set pass different values where their author says that it is one.
    pub fn not_the_same(&mut self, w: u32, lane: u32, site: u32, values: [u64; 2]) {
        let what = "threads of one set pass different values to `same`, by which their author says that it is one";
        let fix = "let one thread decide for all: read the value once, and hand it on by `shfl` or through shared memory";
        let [one, other] = values;
        let message = format!("{what}: {one:#x} and {other:#x}");
        self.report(w, lane, site, None, (cause("F4", what, fix), message));
    }

    /// An instruction uses a register that a `tcgen05.ld` has yet to fill.
    pub fn used_while_loaded(&mut self, w: u32, site: u32, load: u32) {
        let what = "a register is used while tcgen05.ld may still write it: its value is undefined";
        let fix = "tcgen05.wait::ld between the load and the use; pass the registers through the wait, or the compiler moves \
                   the use above it";
        self.report(w, 0, site, Some(load), (cause("D3", what, fix), what.into()));
    }

    /// An instruction uses a register that a product in flight has.
    pub fn wgmma_misuse(&mut self, w: u32, site: u32, product: u32, misuse: Misuse) {
        let what = match misuse {
            Misuse::Accumulator => {
                "an accumulator is used while a wgmma product may still write it"
            }
            Misuse::ReadA => "a register of A is read while a wgmma product has it",
            Misuse::WriteA => "a register of A is written while a wgmma product may still read it",
        };
        let fix = "wgmma.wait_group that covers the product before the registers are used";
        // Nothing goes wrong if A is only read, but the text forbids it.
        let cause = cause("E2", what, fix).policy(misuse == Misuse::ReadA);
        self.report(w, 0, site, Some(product), (cause, what.into()));
    }

    pub(super) fn report_early_arrival(
        &mut self,
        w: u32,
        lane: u32,
        place: SharedPlace,
        site: u32,
    ) {
        let address = SHARED_BASE + place.offset;
        let cause = cause(
            "C10",
            "the thread arrives for the next phase without having observed anything since its last arrival",
            "wait for the phase before arriving for the next",
        );
        let message = format!("mbarrier at shared address {address:#x}: {}", cause.what);
        self.report(w, lane, site, None, (cause, message));
    }

    pub(super) fn report_narrow_arrival(
        &mut self,
        w: u32,
        lane: u32,
        place: SharedPlace,
        site: u32,
    ) {
        let address = SHARED_BASE + place.offset;
        let cause = cause(
            "C7",
            "the arrival comes from another CTA, and its scope is .cta",
            "arrive with .release.cluster, or .relaxed.cluster, at another CTA's barrier",
        );
        let message = format!("mbarrier at shared address {address:#x}: {}", cause.what);
        self.report(w, lane, site, None, (cause, message));
    }

    pub(super) fn report_narrow_link(&mut self, w: u32, lane: u32, place: SharedPlace, site: u32) {
        let address = SHARED_BASE + place.offset;
        let cause = cause(
            "C7",
            "another CTA has arrived in this phase, or its copy completed, and reaches the waiters through this arrival, whose scope is .cta",
            "arrive with .release.cluster, or .relaxed.cluster, at a barrier at which another CTA arrives or its copies complete",
        )
        .policy(true);
        let message = format!("mbarrier at shared address {address:#x}: {}", cause.what);
        self.report(w, lane, site, None, (cause, message));
    }

    pub(super) fn report_narrow_wait(&mut self, w: u32, lane: u32, place: SharedPlace, site: u32) {
        let address = SHARED_BASE + place.offset;
        let cause = cause(
            "C7",
            "another CTA arrived, or issued what completed the phase, and the scope of the wait is .cta",
            "wait with .acquire.cluster for what another CTA does",
        );
        let message = format!("mbarrier at shared address {address:#x}: {}", cause.what);
        self.report(w, lane, site, None, (cause, message));
    }

    pub(super) fn report_two_groups(&mut self, w: u32, lane: u32, id: u32, site: u32) {
        let what = "a named barrier is used by two groups: this warp was not in its last round, and does not know that \
                    that is over, so it may come into that";
        let fix = "give each group a barrier of its own, or order the second group's use behind the first's";
        let message = format!("barrier {id}: {what}");
        self.report(w, lane, site, None, (cause("F7", what, fix), message));
    }

    pub(super) fn report_unknown_peer(&mut self, w: u32, lane: u32, site: u32) {
        let what = "tcgen05.alloc.cta_group::2 is an act of both CTAs of the pair, and nothing tells that the other has started";
        let fix = "a cluster barrier of both CTAs before the allocation";
        self.report(w, lane, site, None, (cause("D13", what, fix), what.into()));
    }

    pub(super) fn report_early_deallocation(
        &mut self,
        w: u32,
        lane: u32,
        site: u32,
        allocation: Option<u32>,
    ) {
        let what = "tensor memory of a pair is deallocated by one CTA, and nothing tells that the other has come to the end of its \
                    allocation";
        let fix = "a cluster barrier of both CTAs between the allocation and the deallocation";
        self.report(w, lane, site, allocation, (cause("D13", what, fix), what.into()));
    }

    pub(super) fn report_unwritten(&mut self, w: u32, lane: u32, space: Space, at: u64, site: u32) {
        let what = match space {
            Space::Global => format!("global address {:#x}", GLOBAL_BASE + at),
            Space::Shared(_) => format!("shared address {:#x}", u64::from(SHARED_BASE) + at),
            Space::Tensor(_) => format!("tensor memory address {at:#010x}"),
        };
        let cause = cause("uninitialised", "nothing has written it", "write it before it is read")
            .policy(true);
        let message = format!("{what} is read here: {}", cause.what);
        self.report(w, lane, site, None, (cause, message));
    }

    /// A thread went by an overwritten value, though it had heard of the newer one.
    pub(super) fn report_stale(&mut self, read: super::sync::StaleRead) {
        let what = "an overwritten value was returned: the thread had seen what was stored after the newer one, but by \
                    synchronisation that orders nothing";
        let fix = "publish with .release (or fence.release before the store), and read what publishes it with .acquire (or \
                   fence.acquire behind the read), at a scope that includes both threads";
        let at = match read.space {
            Space::Global => format!("global address {:#x}", GLOBAL_BASE + read.at),
            Space::Shared(_) | Space::Tensor(_) => {
                format!("shared address {:#x}", u64::from(SHARED_BASE) + read.at)
            }
        };
        let cause = cause("stale-read", what, fix).policy(true).after(read.almost);
        self.report(
            read.w,
            read.lane,
            read.site,
            None,
            (cause, format!("{at} is read here: {what}")),
        );
    }

    /// A register that nothing has written is used for what it says.
    pub fn undefined_register(&mut self, w: u32, lane: u32, site: u32, name: &str, what: &str) {
        let message =
            format!("register `{name}` {what}, and nothing has written it: its value is undefined");
        let fix = "give the register a value on every way to its use";
        let cause = cause("uninitialised", "nothing has written the register", fix);
        self.report(w, lane, site, None, (cause, message));
    }

    /// Tensor memory or global memory that nobody has written.
    pub fn unwritten(&mut self, w: u32, lane: u32, space: Space, at: u64, site: u32) {
        self.report_unwritten(w, lane, space, at, site);
    }

    /// The CTA exits while a `cp.async` of one of its threads is in flight, or a bulk copy that reads its shared memory.
    pub fn left_in_flight(&mut self, w: u32, lane: u32, site: u32) {
        let cause = cause(
            "B9",
            "the CTA exits while this copy may still use its shared memory",
            "wait for the copy (cp.async.wait_all, or cp.async.bulk.wait_group.read 0) before the exit",
        )
        .policy(true);
        let message = cause.what.into();
        self.report(w, lane, site, None, (cause, message));
    }

    pub(super) fn report_open_copy(&mut self, id: u32, site: u32, writes: bool) {
        let cause = cause(
            "B9",
            "the CTA exits, and none of its threads has seen this copy complete",
            "wait for the copy (its mbarrier's phase, or wait_group.read) before the exit",
        )
        .policy(!writes);
        let unit = self.units[self.issuer(id, site) as usize];
        self.enter(Found {
            rule: cause.rule,
            severity: self.severity(&cause),
            message: cause.what.into(),
            site,
            threads: Threads { block: unit.block, warp: unit.warp, lanes: u32::MAX },
            other: None,
            almost: None,
            fix: cause.fix,
        });
    }
}

fn name_of(unit: &super::Unit) -> String {
    let [x, y, z] = unit.block;
    format!("block ({x}, {y}, {z}) warp {}", unit.warp)
}
