//! What the text leaves open, and the switches that take the checker apart.
//!
//! [`Choices`] are readings of the text where it leaves room; every one has a default and is
//! explained in `docs/memory-model.md`. [`Clause`] names each clause of each definition and each
//! axiom, so that tests can drop one of them and see that some litmus test notices.

use std::time::Instant;

/// Readings of the text where it leaves room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Where a fence of a proxy must be executed to join an access through that proxy.
    pub proxy_fence: ProxyFencePlace,
    /// Which tcgen05 work the fence pair is needed for.
    pub tcgen05_fence: Tcgen05Fence,
    /// Through which proxy `st.async` and `red.async` access memory.
    pub store_async: StoreAsync,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            proxy_fence: ProxyFencePlace::Block,
            tcgen05_fence: Tcgen05Fence::Always,
            store_async: StoreAsync::Async,
        }
    }
}

/// Where a proxy fence must stand (section 8.9.5 has no clause for async and tensormap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFencePlace {
    /// In the thread block of the non-generic access, next to it on the path: as the ISCA'22 paper has it.
    Block,
    /// In any thread on the path.
    Anywhere,
    /// Nowhere: the three clauses of the text and nothing else.
    Nowhere,
}

/// When `tcgen05.fence::{before,after}_thread_sync` is needed between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcgen05Fence {
    /// Always.
    Always,
    /// Not for work whose completion was waited for or observed.
    Uncompleted,
}

/// The proxy of `st.async` and `red.async`: 8.6 has the operations of `.async.bulk` only in the async proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAsync {
    /// The async proxy.
    Async,
    /// The generic proxy.
    Generic,
}

macro_rules! clauses {
    ($($(#[doc = $doc:literal])+ $name:ident $section:literal,)+) => {
        /// One clause of a definition, or one axiom.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Clause {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Clause {
            /// All of them.
            pub const ALL: &[Clause] = &[$(Clause::$name,)+];

            /// The section of the text that has it.
            pub fn section(self) -> &'static str {
                match self { $(Clause::$name => $section,)+ }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Clause::$name => stringify!($name),)+ }
            }

            /// What it says.
            pub fn text(self) -> &'static str {
                match self { $(Clause::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

clauses! {
    /// Strong operations of two threads must each name a scope that contains the other thread.
    StrongScope "8.7",
    /// A weak operation is morally strong only with operations of its own thread.
    StrongBoth "8.7",
    /// Operations of one thread are morally strong even if they are weak.
    StrongProgramOrder "8.7",
    /// Morally strong operations use the same proxy.
    StrongProxy "8.7",
    /// Morally strong memory operations overlap completely.
    StrongOverlap "8.7",
    /// The cluster is a scope of its own, larger than the thread block.
    ScopeCluster "8.5",
    /// Overlapping atomics that are in each other's scope never interleave, whatever their sizes.
    MixedSizeAtomics "8.7.2",
    /// A release operation is a release pattern.
    ReleaseOperation "8.8",
    /// A release operation, then a strong write to the same location.
    ReleaseThenWrite "8.8",
    /// A release operation forms a pattern with writes to its own location only.
    ReleaseSameLocation "8.8",
    /// A releasing fence, then a strong write.
    ReleaseFence "8.8",
    /// The write of a release pattern is strong.
    ReleaseStrong "8.8",
    /// A releasing fence, then an asynchronous strong write.
    ReleaseFenceAsync "8.8",
    /// A releasing asynchronous write.
    ReleaseAsync "8.8",
    /// An acquire operation is an acquire pattern.
    AcquireOperation "8.8",
    /// A strong read, then an acquire operation on the same location.
    AcquireAfterRead "8.8",
    /// An acquire operation forms a pattern with reads of its own location only.
    AcquireSameLocation "8.8",
    /// A strong read, then an acquiring fence.
    AcquireFence "8.8",
    /// The read of an acquire pattern is strong.
    AcquireStrong "8.8",
    /// The observed completion of an asynchronous strong read, then an acquiring fence.
    AcquireAsync "8.8",
    /// A reduction's read heads no acquire pattern.
    ReductionAcquiresNot "8.11.1",
    /// A release pattern orders only what precedes its first instruction.
    ReleaseFirst "8.8",
    /// An acquire pattern orders only what follows its last instruction.
    AcquireLast "8.8",
    /// Observation needs a morally strong read.
    ObservationStrong "8.9.2",
    /// Observation goes on through atomic operations.
    ObservationChain "8.9.2",
    /// fence.sc operations synchronise in the Fence-SC order.
    FenceScSynchronises "8.9.4",
    /// The Fence-SC order relates every morally strong pair of fence.sc.
    FenceScTotal "8.9.3",
    /// bar.sync, bar.red and bar.arrive synchronise with bar.sync and bar.red on the same barrier.
    BarrierSynchronises "8.9.4",
    /// A barrier joins the arrivals of one phase only.
    BarrierPhase "8.9.4",
    /// barrier.cluster.arrive synchronises with barrier.cluster.wait.
    ClusterSynchronises "8.9.4",
    /// A relaxed cluster arrival releases nothing by itself.
    ClusterRelaxed "8.9.4",
    /// Release patterns synchronise with acquire patterns.
    PatternsSynchronise "8.9.4",
    /// The first operation of the release and the last of the acquire pattern are morally strong.
    PatternsStrong "8.9.4",
    /// Base causality contains program order.
    BaseProgramOrder "8.9.5",
    /// Base causality is transitive.
    BaseTransitive "8.9.5",
    /// Base causality is an order: nothing precedes itself.
    BaseAcyclic "8.9.5",
    /// Proxy-preserved: same address, both through the generic proxy.
    PreservedGeneric "8.9.5",
    /// Proxy-preserved: same address, same proxy, same thread block.
    PreservedSameProxy "8.9.5",
    /// The same proxy is enough only within one thread block.
    PreservedSameBlock "8.9.5",
    /// Proxy-preserved: aliases with an alias fence on the path.
    PreservedAlias "8.9.5",
    /// Aliases need the alias fence.
    AliasFenceNeeded "8.9.5",
    /// The alias fence stands between the fences of other proxies, which stand next to their accesses.
    AliasFenceBetween "8.9.5",
    /// A fence of an access's proxy makes it count as generic.
    ProxyFenceJoins "8.6",
    /// Accesses through another proxy need a fence of that proxy.
    ProxyFenceNeeded "8.6",
    /// The fence must be one of that proxy.
    ProxyFenceKind "8.6",
    /// The fence must be executed in the thread block of the access.
    ProxyFenceBlock "8.6",
    /// The end of a bulk copy joins the async proxy with the generic one.
    CompletionFence "8.6",
    /// fence.proxy.async with a state space joins accesses in that space only.
    ProxyFenceSpace "8.6",
    /// A one-way proxy fence needs its release half as well.
    HalfRelease "8.6",
    /// The end of an asynchronous access is the release half of such a fence.
    HalfEnd "8.6",
    /// The two halves of a one-way proxy fence are morally strong.
    HalvesStrong "8.6",
    /// The acquire half for tensor maps is about the map at its address.
    TensorMapAddress "8.6",
    /// A half of a one-way proxy fence orders accesses through its proxy only.
    HalfProxy "8.6",
    /// sync_restrict limits what a fence orders to objects in that memory.
    SyncRestrict "8.6",
    /// The ::read half orders earlier reads of its own thread only.
    HalfReads "8.6",
    /// Causality goes on from an observed read.
    CausalityObservation "8.9.5",
    /// Asynchronous operations are not part of program order.
    AsyncOutsideProgramOrder "8.9.1.1",
    /// Asynchronous operations come after the issuer's earlier instructions.
    AsyncAfterIssuer "8.9.1.1",
    /// The implicit complete-tx orders only its own instruction's accesses.
    CompleteTxOwnOnly "8.9.1.1",
    /// A bulk copy writes what it read, after reading it.
    AsyncReadThenWrite "8.9.1.1",
    /// cp.async accesses memory through the generic proxy.
    CopyGeneric "8.6",
    /// cp.async.mbarrier.arrive arrives when the thread's earlier cp.async are complete.
    CopyArrives "8.9.1.1",
    /// wait_group.read waits for the reads only.
    WaitGroupRead "8.9.1.1",
    /// Morally strong overlapping writes are related in coherence order.
    CoherenceStrongTotal "8.9.6",
    /// Coherence order is transitive.
    CoherenceTransitive "8.9.6",
    /// Writes that race stay unrelated.
    CoherencePartial "8.9.6",
    /// Causally ordered overlapping writes are in coherence order.
    Coherence "8.10.1",
    /// The Fence-SC order does not contradict causality.
    FenceSc "8.10.2",
    /// A read takes all bytes from a morally strong write, or none that are older.
    SingleCopyAtomicity "8.10.3",
    /// No morally strong write falls between the halves of an atomic operation.
    RmwAtomicity "8.10.3",
    /// Values do not justify themselves.
    NoThinAir "8.10.4",
    /// An atomic operation's write comes after its read, whatever it writes.
    RmwReadsFirst "8.10.4",
    /// Communication between morally strong operations agrees with program order per location.
    ScPerLocation "8.10.5",
    /// A read does not read from a write that it precedes in causality.
    CausalityRead "8.10.6",
    /// A read does not miss a write that precedes it in causality.
    CausalityFromRead "8.10.6",
    /// A wait acquires only if the phase was over.
    WaitAcquiresOnTrue "mbarrier",
    /// fence.mbarrier_init releases initialisations only.
    InitFenceOnly "mbarrier",
    /// fence.mbarrier_init releases initialisations.
    InitFenceReleases "mbarrier",
    /// Of two operations in a race one is a write.
    RaceWrite "8.7.1",
    /// Morally strong operations race with nothing.
    RaceStrong "8.7.1",
    /// Causally ordered operations race with nothing.
    RaceCausality "8.7.1",
    /// An atomic operation is one operation: what its write precedes in causality does not race with its read.
    RaceAtomicIsOne "8.7.1",
    /// before_thread_sync orders earlier asynchronous tcgen05 operations.
    Tcgen05Before "tcgen05",
    /// after_thread_sync is needed before later ones.
    Tcgen05After "tcgen05",
    /// Order is not completion, except between pipelined pairs.
    Tcgen05Completion "tcgen05",
    /// Pipelined pairs need no completion.
    Tcgen05Pipelined "tcgen05",
    /// commit arrives when earlier mma and cp are complete.
    Tcgen05Commit "tcgen05",
}

/// The clauses that are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clauses {
    dropped: u128,
}

impl Clauses {
    /// All but one.
    pub fn without(clause: Clause) -> Self {
        Self { dropped: 1 << clause as u8 }
    }

    /// These, and one more dropped.
    #[must_use]
    pub fn and_without(self, clause: Clause) -> Self {
        Self { dropped: self.dropped | 1 << clause as u8 }
    }

    /// Whether a clause is in force.
    #[inline]
    pub fn has(self, clause: Clause) -> bool {
        self.dropped >> (clause as u8) & 1 == 0
    }
}

/// How a program is judged.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Readings of the text.
    pub choices: Choices,
    /// The clauses in force.
    pub clauses: Clauses,
    /// How many steps the enumeration of all executions may take before the search lets the
    /// condition direct it (and the number of executions stays unknown).
    pub budget: u64,
    /// When the search gives up. None: after millions of steps, which may take minutes.
    pub until: Option<Instant>,
}

impl Options {
    /// Whether the search has to give up for want of time.
    pub(crate) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            choices: Choices::default(),
            clauses: Clauses::default(),
            budget: 12_000,
            until: None,
        }
    }
}
