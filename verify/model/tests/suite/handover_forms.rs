//! Hand-overs between two CTAs of a cluster, taken apart: what stands before the arrival, how it and the wait are made,
//! what stands behind the wait; and by a formula, from the text's rules, whether that is enough.
//!
//! The memory model and the emulator are both asked about every combination. Neither has a part in the formula.

/// What stands on one side of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// A release for the own CTA's shared memory.
    Release,
    /// A release of everything.
    Full,
    /// A release half towards the async proxy, for the own CTA's shared memory.
    Half,
    /// A release half for the thread's own reads.
    Reads,
    /// Between both proxies, without direction.
    Proxy,
    /// An acquire for shared memory.
    Acquire,
    /// An acquire half for the async proxy.
    AcquireHalf,
}

impl Fence {
    pub fn text(self) -> &'static str {
        match self {
            Fence::Release => "fence.release.sync_restrict::shared::cta.cluster",
            Fence::Full => "fence.release.cluster",
            Fence::Half => "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
            Fence::Reads => {
                "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster"
            }
            Fence::Proxy => "fence.proxy.async",
            Fence::Acquire => "fence.acquire.sync_restrict::shared::cluster.cluster",
            Fence::AcquireHalf => {
                "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"
            }
        }
    }
}

/// Who makes the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The thread that arrives, by ordinary reads.
    Own,
    /// Others, by ordinary reads; a barrier, and one arrives for all.
    Others,
    /// A product, through the async proxy; it is complete, a barrier, and one arrives for all.
    Product,
}

/// A hand-over from who has read memory of its own CTA to another CTA's copy, which overwrites it.
#[derive(Clone, Debug)]
pub struct Back {
    pub first: First,
    /// By each who read, before the barrier.
    pub each: Vec<Fence>,
    /// By the one who arrives.
    pub leader: Vec<Fence>,
    /// Semantics and scope.
    pub arrive: (&'static str, &'static str),
    pub wait: (&'static str, &'static str),
    /// Before the copy.
    pub behind: Vec<Fence>,
}

impl Back {
    pub fn name(&self) -> String {
        format!("{self:?}")
    }

    fn leads(&self, fence: Fence) -> bool {
        self.leader.contains(&fence) || self.first == First::Own && self.each.contains(&fence)
    }

    fn releases(&self) -> bool {
        self.arrive.0 == "release" || self.leads(Fence::Release) || self.leads(Fence::Full)
    }

    /// Towards the async proxy a half releases, too: what its thread knows, or has read itself.
    fn releases_to_async(&self) -> bool {
        self.releases()
            || self.leads(Fence::Half)
            || self.first == First::Own && self.leads(Fence::Reads)
    }

    fn acquires(&self) -> bool {
        self.wait.0 == "acquire" || self.behind.contains(&Fence::Acquire)
    }

    fn acquires_to_async(&self) -> bool {
        self.acquires() || self.behind.contains(&Fence::AcquireHalf)
    }

    fn scopes(&self) -> bool {
        (self.arrive.1, self.wait.1) == ("cluster", "cluster")
    }

    /// Whether a release half covers the first access, or it ended in the async proxy.
    fn released(&self) -> bool {
        self.first == First::Product
            || self.leads(Fence::Half)
            || self.each.iter().any(|fence| matches!(fence, Fence::Half | Fence::Reads))
            || self.first == First::Own && self.leads(Fence::Reads)
    }

    /// Whether causality orders the copy behind the first access, both proxies considered. Where a fence without
    /// direction joins the two, the model asks for it in the CTA of the copy only; `both` asks for one in each.
    pub fn suffices(&self, both: bool) -> bool {
        let fenced = self.first == First::Product
            || self.released()
            || self.each.contains(&Fence::Proxy)
            || self.first == First::Own && self.leads(Fence::Proxy);
        self.scopes()
            && self.releases_to_async()
            && self.acquires_to_async()
            && (self.released() && self.behind.contains(&Fence::AcquireHalf)
                || self.behind.contains(&Fence::Proxy) && (fenced || !both))
    }

    /// The rules that may name what is missing.
    pub fn rules(&self) -> &'static [&'static str] {
        let read_for_others = self.first == First::Others && self.leads(Fence::Reads);
        if !self.scopes() {
            return &["C7"];
        }
        if !self.releases_to_async() {
            return if read_for_others { &["F9"] } else { &["A4"] };
        }
        if !self.acquires_to_async() {
            return &["B2", "C6", "F9"];
        }
        if read_for_others && !self.released() { &["F9", "B2"] } else { &["B2"] }
    }
}

/// All subsets of some fences, in their order.
pub fn subsets(of: &[Fence]) -> Vec<Vec<Fence>> {
    let with = |bits: usize| {
        of.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1).map(|(_, fence)| *fence)
    };
    (0..1usize << of.len()).map(|bits| with(bits).collect()).collect()
}

/// Every combination; scopes narrowed in those that are enough.
pub fn backs() -> Vec<Back> {
    let mut all = vec![];
    for first in [First::Own, First::Others, First::Product] {
        let each: &[&[Fence]] = match first {
            First::Others => &[&[], &[Fence::Reads], &[Fence::Half], &[Fence::Proxy]],
            _ => &[&[]],
        };
        let leader = match first {
            First::Own => subsets(&[Fence::Proxy, Fence::Reads, Fence::Release, Fence::Half]),
            _ => subsets(&[Fence::Reads, Fence::Release, Fence::Half]),
        };
        let behind = subsets(&[Fence::Acquire, Fence::AcquireHalf, Fence::Proxy]);
        for each in each {
            for leader in &leader {
                for behind in &behind {
                    for (arrive, wait) in [
                        ("relaxed", "relaxed"),
                        ("release", "relaxed"),
                        ("relaxed", "acquire"),
                        ("release", "acquire"),
                    ] {
                        all.push(Back {
                            first,
                            each: each.to_vec(),
                            leader: leader.clone(),
                            arrive: (arrive, "cluster"),
                            wait: (wait, "cluster"),
                            behind: behind.clone(),
                        });
                    }
                }
            }
        }
    }
    let narrow = all.iter().filter(|back| back.suffices(true)).flat_map(|back| {
        let arrive = Back { arrive: (back.arrive.0, "cta"), ..back.clone() };
        let wait = Back { wait: (back.wait.0, "cta"), ..back.clone() };
        [arrive, wait]
    });
    let narrow: Vec<_> = narrow.collect();
    all.extend(narrow);
    all
}

/// A wait for another CTA's copy, and what reads it: ordinary loads or the async proxy.
#[derive(Clone, Debug)]
pub struct Full {
    pub through_async: bool,
    pub wait: (&'static str, &'static str),
    pub behind: Vec<Fence>,
}

impl Full {
    /// The end of the copy releases, and is a release half.
    pub fn suffices(&self) -> bool {
        let acquires = self.wait.0 == "acquire" || self.behind.contains(&Fence::Acquire);
        let half = self.behind.contains(&Fence::AcquireHalf);
        self.wait.1 == "cluster"
            && match self.through_async {
                false => acquires,
                true => (acquires || half) && (half || self.behind.contains(&Fence::Proxy)),
            }
    }

    pub fn rules(&self) -> &'static [&'static str] {
        let acquires = self.wait.0 == "acquire" || self.behind.contains(&Fence::Acquire);
        match (self.wait.1, acquires) {
            ("cta", _) => &["C7"],
            (_, true) => &["B1"],
            (_, false) => &["C6"],
        }
    }
}

/// Every combination.
pub fn fulls() -> Vec<Full> {
    let mut all = vec![];
    for through_async in [false, true] {
        for wait in
            [("relaxed", "cluster"), ("acquire", "cluster"), ("relaxed", "cta"), ("acquire", "cta")]
        {
            for behind in subsets(&[Fence::Acquire, Fence::AcquireHalf, Fence::Proxy]) {
                all.push(Full { through_async, wait, behind });
            }
        }
    }
    all
}

/// What two CTAs do to shared memory by ordinary accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordinary {
    /// One stores into its own memory, and the other reads that.
    Shown,
    /// One stores into the other's memory, which reads it.
    Pushed,
    /// One has read the other's memory, which overwrites it.
    Pulled,
}

/// An ordinary access, a release, an acquire, another CTA's ordinary access.
#[derive(Clone, Debug)]
pub struct Plain {
    pub what: Ordinary,
    pub leader: Vec<Fence>,
    pub arrive: &'static str,
    pub wait: &'static str,
    pub behind: Vec<Fence>,
    /// `barrier.cluster` in the place of an mbarrier.
    pub at_barrier: bool,
}

impl Plain {
    fn releases(&self) -> bool {
        self.arrive == "release"
            || self.leader.contains(&Fence::Full)
            // Of the memory of its own CTA, through an object in shared memory.
            || self.leader.contains(&Fence::Release) && self.what == Ordinary::Shown && !self.at_barrier
    }

    pub fn suffices(&self) -> bool {
        self.releases() && (self.wait == "acquire" || self.behind.contains(&Fence::Acquire))
    }

    pub fn rules(&self) -> &'static [&'static str] {
        let restricted = [Fence::Release, Fence::Half, Fence::Reads];
        match (self.releases(), self.leader.iter().any(|fence| restricted.contains(fence))) {
            _ if self.at_barrier => &["F2"],
            (true, _) => &["C6"],
            (false, true) => &["F9", "C6", "A4"],
            (false, false) => &["A4"],
        }
    }
}

/// Every combination.
pub fn plains() -> Vec<Plain> {
    let mut all = vec![];
    for what in [Ordinary::Shown, Ordinary::Pushed, Ordinary::Pulled] {
        for leader in subsets(&[Fence::Release, Fence::Half, Fence::Reads, Fence::Full]) {
            for arrive in ["relaxed", "release"] {
                for wait in ["relaxed", "acquire"] {
                    for behind in subsets(&[Fence::Acquire, Fence::AcquireHalf]) {
                        let leader = leader.clone();
                        all.push(Plain { what, leader, arrive, wait, behind, at_barrier: false });
                    }
                }
                // There is no relaxed wait.
                let (wait, behind, leader) = ("acquire", vec![], leader.clone());
                all.push(Plain { what, leader, arrive, wait, behind, at_barrier: true });
            }
        }
    }
    all
}
