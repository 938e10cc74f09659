//! Access paths: how a piece of memory was touched last, and what must happen before it is touched next.
//!
//! Memory is reached through a path: ordinary loads and stores of threads (the generic proxy), bulk copies
//! and matrix operands (the async proxy), and tensor memory. A region's type says in which [state](self#states)
//! it is; a method that touches or hands on the region demands facts about that state, one trait for each
//! rule, and the compiler names the rule that a state does not meet.
//!
//! # Crossings
//! | last touched by | next touched by | what stands between | rule |
//! |---|---|---|---|
//! | threads, write | the same set, read | the set's barrier: [`sync`](crate::stages::Slot::sync) | A13 |
//! | threads, write | other threads | a release/acquire hand-over: `publish` … `wait`, `release` … `lock` | A1, A4, A9 |
//! | threads, write | async proxy | `fence.proxy.async` by each writer, then the hand-over | B1 |
//! | threads, read | async proxy, write | `fence.proxy.async` by each reader, then the hand-over; where matrix instructions drain, no read | B2 |
//! | threads, write | peers of the cluster, read | `barrier.cluster.arrive.release` (or a fence and `.relaxed`), `barrier.cluster.wait` | F2, F3 |
//! | a strong store | the same thread, strong load of what the other side stores | `fence.sc` on both sides: `announce`, `fence_sc`, `look` | A8 |
//! | threads, push into a peer's memory | the peer, read | `st.async` that completes on the peer's barrier, its wait at cluster scope: [`relay`](crate::relay) | C7, C11, F9 |
//! | threads, read in their own memory | a peer, push | the set's barrier, fences restricted to that memory, an arrival on the peer's barrier | C7, C11, F9 |
//! | threads, write through one address | threads, read through another of the same memory | `fence.proxy.alias` by each writer, then the set's barrier | B3 |
//! | threads, write of a tensor map | copies, read of the map | `fence.proxy.tensormap::generic.release`, then `.acquire` | B4 |
//! | copies, read of a tensor map | threads, write of the map | the phases of the copies observed: `wait_loads` | B5 |
//! | `cp.async`, write | the same set, read | `cp.async.wait_group` by each issuer, then the set's barrier: `wait_copies`, `sync` | B8 |
//! | `cp.async`, write | other threads | `cp.async.wait_group` by each issuer, then the hand-over | B8 |
//! | bulk copy, write | anyone | its phase observed: `wait`, or `try_wait` that returned true | B6, C5 |
//! | bulk copy, read | threads, write | `cp.async.bulk.wait_group.read` by the issuer, then the set's barrier | B7, B10, B11 |
//! | `tcgen05.mma`, read of operands | bulk copy, write | `tcgen05.commit` and its phase | D5, D6 |
//! | bulk copies of both CTAs of a pair, write | `tcgen05.mma` of the pair | the phase of the barrier of the CTA that leads, on which both complete: `wait_for_both` | B6, C11 |
//! | `tcgen05.mma` of a pair, read of operands | bulk copy, write, in either CTA | `tcgen05.commit` to both and its phase | C7, D6 |
//! | `wgmma`, read of operands | bulk copy, write | `wgmma.commit_group`, a `wait_group` that covers the group, then the hand-over | E3 |
//! | threads, registers | `wgmma` | `wgmma.fence` | E1 |
//! | `wgmma`, registers | threads | `wgmma.commit_group`, `wgmma.wait_group` 0 | E2 |
//! | `tcgen05.mma`, accumulator | `tcgen05.ld` | `commit`, its phase, `tcgen05.fence::after_thread_sync` | D1, D5 |
//! | `tcgen05.st` | `tcgen05.ld`, `tcgen05.mma`, other thread | `wait::st`, and for other threads as behind `tcgen05.ld` | D4 |
//! | `tcgen05.st` of an operand | `tcgen05.mma`, read of A | `wait::st`, `fence::before_thread_sync`, hand-over, `fence::after_thread_sync` | D2, D4, D16 |
//! | `tcgen05.mma`, read of A in tensor memory | `tcgen05.st` | `commit`, its phase, `tcgen05.fence::after_thread_sync` | D6, D16 |
//! | `tcgen05.ld` | `tcgen05.mma`, other thread | `wait::ld`, `fence::before_thread_sync`, hand-over, `fence::after_thread_sync` | D2, D3 |
//!
//! # States
//! Zero-sized types, never values. The table above in code is the list of implementations at the end of this
//! file: one line for each state, with the facts that hold in it. Turned around, each fact with its rules and the states that
//! have it:
//!
#![doc = include_str!("facts.md")]

use crate::scope::{Includes, Scope};

/// Fills and drains by the ordinary loads and stores of a set of threads (generic proxy).
pub enum ByThreads {}
/// Filled by bulk tensor copies (async proxy).
pub enum ByBulk {}
/// Drained by `tcgen05.mma`, which reads its operands through the async proxy.
pub enum ByMma {}
/// Drained by `tcgen05.mma` of a pair of CTAs (`cta_group::2`), which reads its operands in both through the async proxy.
pub enum ByPairMma {}
/// Drained by `wgmma`, which reads its operands through the async proxy.
pub enum ByWgmma {}

/// Handed over to be filled.
pub enum Empty {}
/// Bulk copies that fill it are under way.
pub enum Filling {}
/// Written by this set's ordinary stores, unfenced.
pub enum Written {}
/// Each thread's `cp.async` copies into it are under way.
pub enum Copying {}
/// Written by each thread's `cp.async` copies, which have landed.
pub enum Copied {}
/// Written by this set, behind the set's barrier.
pub enum Synced {}
/// Written by this set's ordinary stores, and `fence.proxy.async` has run behind them.
pub enum WrittenFenced {}
/// Read by this set's ordinary loads, and `fence.proxy.async` has run behind them.
pub enum ReadFenced {}
/// `try_wait` was asked once; it may have said no.
pub enum Polled {}
/// A relaxed wait saw the phase complete; nothing has been acquired.
pub enum ObservedRelaxed {}
/// Handed over to be read: its phase was observed by an acquiring wait.
pub enum Full {}
/// Open to matrix instructions, or read by some that have been issued.
pub enum ReadByMma {}
/// Open to matrix instructions of a warpgroup, or read by some that have been issued.
pub enum ReadByWgmma {}
/// A `wgmma.wait_group` has covered the instructions that read it.
pub enum Multiplied {}
/// A bulk copy that reads it is under way.
pub enum InFlight {}
/// A flag says when it may be read; the flag has not been seen.
pub enum Awaited {}
/// Announced to the other side of a protocol by a store, which its thread may not have seen the last of.
pub enum Wanted {}
/// Announced, and `fence.sc` of scope `F` has run behind the store.
pub struct Sequenced<F>(core::marker::PhantomData<F>);
/// Written, and a release fence of scope `F` has run behind the writes.
pub struct ReleasedAt<F>(core::marker::PhantomData<F>);
/// This thread has arrived and not yet waited.
pub enum Arrived {}
/// This thread has arrived on the cluster's barrier and not yet waited.
pub enum ClusterArrived {}
/// Every thread of the cluster has written its elements, and nobody writes: all may read those of all CTAs.
pub enum ClusterFull {}
/// Handed over by a protocol, contents and all; this set has not touched it yet.
pub enum Handed {}

/// Written through one of two addresses, and `fence.proxy.alias` has run behind the stores.
pub enum WrittenAliased {}
/// Written through one of two addresses, fenced, and behind the set's barrier: may be read through the other.
pub enum Aliased {}

/// A tensor map that was edited.
pub enum MapEdited {}
/// A tensor map whose edits were released towards the proxy of tensor maps.
pub enum MapReleased {}
/// A tensor map that copies may use.
pub enum MapReady {}
/// A tensor map that copies into the ring `Tag` use.
pub struct MapInUse<Tag>(core::marker::PhantomData<Tag>);

/// A product whose registers are the threads'.
pub enum Settled {}
/// A product whose registers are the instructions', behind `wgmma.fence`.
pub enum WgmmaFenced {}
/// Instructions that write the product have been issued, and belong to no group yet.
pub enum Issued {}
/// Instructions that write the product are under way, in groups.
pub enum Committed {}

/// An accumulator that matrix instructions write.
pub enum Accumulating {}
/// An accumulator whose completion was observed, before the fence.
pub enum Observed {}
/// An accumulator that may be loaded.
pub enum Ready {}
/// `N` registers of `tcgen05.ld` are on their way.
pub enum Loading {}
/// A `tcgen05.st` to the accumulator is under way.
pub enum Storing {}
/// An accumulator whose loads have ended and are ordered before the next hand-over.
pub enum Released {}
/// An operand in tensor memory that `tcgen05.st` has written.
pub enum Stored {}
/// An operand in tensor memory whose stores have ended and are ordered before the next hand-over.
pub enum StoredFenced {}

/// What this module says of a state, and of a way, nobody else says: the table at the end of the file is all there is (I15). Which
/// fence leads from one way to another follows from it (I17).
mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a state of a region",
        label = "not one of the library's states",
        note = "rules A9, B1 and B6: what has happened to a region is what the library's own methods did to it, and a fact about a state is \
                a row of the table in `baton::path`",
        note = "take the library's states, and bring a region into the one that you need by the methods that lead there"
    )]
    pub trait State {}
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not one of the library's ways to fill or to drain a region",
        note = "rules B1 and B2: what must stand between two ways is a row of the table in `baton::path`, and no other crate adds one",
        note = "take `ByThreads`, `ByBulk`, `ByMma`, `ByPairMma` or `ByWgmma`"
    )]
    pub trait Way {}
    #[diagnostic::on_unimplemented(
        message = "this tensor map is not one that may load into the ring `{Tag}`: it is `{Self}`",
        note = "rule B5: one ring's producing end says when all loads through the map have completed",
        note = "call `.wait_loads(&mut t, &mut loads)` before the map serves another ring"
    )]
    pub trait LoadsInto<Tag> {}
}

/// A state of a region. Every fact is about one, and so nobody can state a fact about a type of their own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state of a region",
    label = "not one of the library's states",
    note = "rules A9, B1 and B6: what has happened to a region is what the library's own methods did to it, and a fact about a state is a row \
            of the table in `baton::path`",
    note = "take the library's states, and bring a region into the one that you need by the methods that lead there"
)]
pub trait State: sealed::State {}

/// A way to fill or to drain a region. What a state says of the way that comes next, it says of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a way to fill or to drain a region",
    label = "not one of the library's ways",
    note = "rules B1, B2 and D6: what must stand between two ways to reach a region is a row of the table in `baton::path`, and no other \
            crate adds a way",
    note = "take `ByThreads`, `ByBulk`, `ByMma`, `ByPairMma` or `ByWgmma`"
)]
pub trait Way: sealed::Way + 'static {}

macro_rules! ways {
    ($($way:ident)*) => {$(
        impl sealed::Way for $way {}
        #[diagnostic::do_not_recommend]
        impl Way for $way {}
    )*};
}
ways! { ByThreads ByBulk ByMma ByPairMma ByWgmma }

/// Of a region that several drain, each in its way, holds what holds for all of them.
macro_rules! several_ways {
    ($($way:ident)*) => {
        impl<$($way: Way),*> sealed::Way for ($($way,)*) {}
        #[diagnostic::do_not_recommend]
        impl<$($way: Way),*> Way for ($($way,)*) {}
        #[diagnostic::do_not_recommend]
        impl<Of: $(HandsOnTo<$way> +)* State, $($way: Way),*> HandsOnTo<($($way,)*)> for Of {}
        #[diagnostic::do_not_recommend]
        impl<Of: $(ThreadsReadWhereDrained<$way> +)* State, $($way: Way),*> ThreadsReadWhereDrained<($($way,)*)> for Of {}
    };
}
several_ways! { A B }
several_ways! { A B C }
several_ways! { A B C D }

/// The phase that fills the region has been observed by a wait that succeeded.
#[diagnostic::on_unimplemented(
    message = "`try_wait` may have returned false: the region is `{Self}`",
    label = "not known to be complete",
    note = "rule C5: a `try_wait` that returned false says nothing, and only success acquires (PTX ISA 9.7.13.15.16)",
    note = "take the region out of the answer: `match slot.completed() {{ Ok(full) => …, Err(again) => … }}`, or call `wait`"
)]
pub trait PollConfirmed: State {}

/// The bulk copies into the region have completed.
#[diagnostic::on_unimplemented(
    message = "this region is not filled, or the bulk copies into it are under way: it is `{Self}`",
    label = "not complete",
    note = "rule B6: the destination of a bulk copy is read only after its mbarrier phase was observed (PTX ISA 9.7.9.25.2, \
            8.9.1.1)",
    note = "take the stage from the consumer's end: `consumer.wait(&mut set)`"
)]
pub trait FillCompleted: State {}

/// The region's contents have been acquired by the reader.
#[diagnostic::on_unimplemented(
    message = "the region was observed by a relaxed wait and not acquired: it is `{Self}`",
    label = "no acquire pattern yet",
    note = "rules C6 and A3: a relaxed wait or read orders nothing that follows (PTX ISA 8.8: an acquire pattern ends in an \
            acquire operation or a fence)",
    note = "call `.fence_acquire(&mut set)` on it, or use the acquiring `wait`"
)]
pub trait Acquired: State {}

/// The region holds what somebody wrote.
#[diagnostic::on_unimplemented(
    message = "nothing has been written to this region yet: it is `{Self}`",
    label = "no contents",
    note = "rules A9 and C10: what is handed over is what its holder has written (PTX ISA 9.7.13.15)",
    note = "call `.fill(&mut set, |index| …)` first; for an operand in tensor memory, `.st(&mut wg, …)` and `.wait_st(&mut wg)`"
)]
pub trait HasContents: State {}

/// The reader's `fence.proxy.async` has not run yet: a read still stands before it.
#[diagnostic::on_unimplemented(
    message = "reads of this region are over: it is `{Self}`",
    label = "a read behind the fence",
    note = "rule B2: only loads before `fence.proxy.async` are ordered before the bulk copy that fills the stage next (PTX ISA \
            8.6, \
            9.7.13.4)",
    note = "move the read above `.fence_proxy_async(&mut set)`"
)]
pub trait ReadsUnfenced: State {}

/// The flag that hands the region over has been seen.
#[diagnostic::on_unimplemented(
    message = "the flag that publishes this data has not been observed: the inbox is `{Self}`",
    label = "no acquire pattern on the flag",
    note = "rule A1: data published through a flag is read only after an acquire pattern on that flag has completed (PTX ISA \
            8.8, 8.9.2)",
    note = "call `.wait(&mut cta)`, or `.wait_relaxed(&mut cta)` and `.fence_acquire::<Gpu, _>(&mut cta)`"
)]
pub trait FlagObserved: State {}

/// A release fence that reaches the flag's scope `S` stands between the data and the flag.
#[diagnostic::on_unimplemented(
    message = "nothing has released the data before this relaxed store: the outbox is `{Self}`",
    label = "missing release fence",
    note = "rule A4: a relaxed store publishes only behind a release fence (PTX ISA 8.8, third release pattern)",
    note = "call `.fence_release::<Gpu, _>(&mut cta)` first, or use `.send(&mut cta)`, which is a `st.release`"
)]
pub trait ReleasedFor<S: Scope>: State {}

#[diagnostic::do_not_recommend]
impl<F: Includes<S>, S: Scope> ReleasedFor<S> for ReleasedAt<F> {}

/// `fence.sc` that reaches the flags' scope `S` stands between this side's store and its load of the other side's.
#[diagnostic::on_unimplemented(
    message = "nothing keeps this side's store before its load of the other side's flag: the announcement is `{Self}`",
    label = "missing `fence.sc`",
    note = "rule A8: two sides that each store and then load the other's store may both miss it; release and acquire do not \
            forbid that, \
            only `fence.sc` on both sides does (PTX ISA 8.9.3, 8.10.2)",
    note = "call `.fence_sc::<Gpu, _>(&mut cta)` between `announce` and `look`"
)]
pub trait SequencedFor<S: Scope>: State {}
#[diagnostic::do_not_recommend]
impl<F: Includes<S>, S: Scope> SequencedFor<S> for Sequenced<F> {}

/// What was written through the one address may be read through the other.
#[diagnostic::on_unimplemented(
    message = "what was written through one address is not visible through the other: the array is `{Self}`",
    label = "missing `fence.proxy.alias`",
    note = "rule B3: two virtual addresses of one location are two proxies, and an access through the one is ordered before an \
            access through \
            the other only behind `fence.proxy.alias` (PTX ISA 8.2.2, 8.6)",
    note = "call `.fence_proxy_alias(&mut cta)` between `fill` and `sync`"
)]
pub trait VisibleThroughTheAlias: State {}

/// A state behind which `fence.proxy.alias` makes sense.
#[diagnostic::on_unimplemented(
    message = "`fence.proxy.alias` belongs behind this set's stores, and the array is `{Self}`",
    note = "rule B3: the fence orders the accesses that the same thread made before it; call `.fill(&mut cta, …)` first"
)]
pub trait AliasFence: State {
    /// The state that the fence leads to.
    type Fenced: State;
}
impl AliasFence for Written {
    type Fenced = WrittenAliased;
}

/// A state of an array in which the set's barrier hands something on.
#[diagnostic::on_unimplemented(
    message = "the set has written nothing that its barrier would hand on: the array is `{Self}`",
    note = "rule A13: `sync` stands between a set's own accesses to its elements and the reads of all of them: call `.fill(&mut \
            set, …)` first"
)]
pub trait SyncsTo: State {
    /// The state that the barrier leads to.
    type Next: State;
}
impl SyncsTo for Written {
    type Next = Synced;
}
impl SyncsTo for WrittenAliased {
    type Next = Aliased;
}

/// Copies find the edits of the tensor map.
#[diagnostic::on_unimplemented(
    message = "copies may not find what was written to this tensor map: it is `{Self}`",
    label = "missing `fence.proxy.tensormap::generic`",
    note = "rule B4: copies read tensor maps through a proxy of its own; a map that was modified in memory is used only behind a \
            release \
            fence after the edit and an acquire fence before the use (PTX ISA 8.6, membar/fence)",
    note = "call `.fence_release(&mut t)` and `.fence_acquire(&mut t)` between the edit and `load`"
)]
pub trait MapVisibleToCopies: State {}

/// The edits of the tensor map were released.
#[diagnostic::on_unimplemented(
    message = "nothing has released what was written to this tensor map: it is `{Self}`",
    label = "missing `fence.proxy.tensormap::generic.release`",
    note = "rule B4: the acquire fence finds what a release fence behind the edit has passed on (PTX ISA 8.6, membar/fence)",
    note = "call `.fence_release(&mut t)` first"
)]
pub trait EditsReleased: State {}

/// No copy uses the tensor map.
#[diagnostic::on_unimplemented(
    message = "copies that use this tensor map may be under way: it is `{Self}`",
    label = "edited while in use",
    note = "rule B5: a bulk copy reads its tensor map at any moment until it has completed, so the map is not edited before that \
            (PTX ISA, \
            tensormap.replace, cp.async.bulk.tensor)",
    note = "call `.wait_loads(&mut t, &mut loads)`, which waits for every load into the ring"
)]
pub trait MapEditable: State {}

/// What the tensor map loads, it loads into the ring `Tag`.
#[diagnostic::on_unimplemented(
    message = "this tensor map is in use by loads into another ring than `{Tag}`: it is `{Self}`",
    note = "rule B5: one ring's producing end says when all loads through the map have completed",
    note = "call `.wait_loads(&mut t, &mut loads)` before the map serves another ring"
)]
pub trait LoadsInto<Tag>: State + sealed::LoadsInto<Tag> {}
// The tag is the user's, and so the pair of both is sealed, not the state alone.
#[diagnostic::do_not_recommend]
impl<Tag, S: State + sealed::LoadsInto<Tag>> LoadsInto<Tag> for S {}
impl<Tag> sealed::LoadsInto<Tag> for MapInUse<Tag> {}
// Those that are not visible have no ring either, and `MapVisibleToCopies` tells that better.
impl<Tag> sealed::LoadsInto<Tag> for MapEdited {}
impl<Tag> sealed::LoadsInto<Tag> for MapReleased {}
impl<Tag> sealed::LoadsInto<Tag> for MapReady {}
#[diagnostic::do_not_recommend]
impl<Tag> MapVisibleToCopies for MapInUse<Tag> {}

/// No `cp.async` into the region is under way.
#[diagnostic::on_unimplemented(
    message = "`cp.async` copies into this region are under way: it is `{Self}`",
    label = "missing `cp.async.wait_group`",
    note = "rule B8: what `cp.async` wrote is there when a `cp.async.wait_group` of the thread that issued it has covered it, and \
            for other \
            threads behind a barrier after that (PTX ISA, cp.async.wait_group)",
    note = "call `.wait_copies(&mut set)` first"
)]
pub trait CopiesLanded: State {}

/// `cp.async` copies are under way.
#[diagnostic::on_unimplemented(
    message = "no `cp.async` copies into this region are under way: it is `{Self}`",
    note = "rule B8: `wait_copies` follows `copy`: leave it out, or call `.copy(&mut set, …)` first"
)]
pub trait CopiesUnderWay: State {}

/// Every thread of the set may read every element.
#[diagnostic::on_unimplemented(
    message = "other threads of the set may still be writing this region: it is `{Self}`",
    label = "an element of another thread",
    note = "rule A13: two threads touch the same plain element only with their barrier between (PTX ISA 8.9.4)",
    note = "call `.sync(&mut set)` first, or hand the region over with `publish`"
)]
pub trait VisibleToTheSet: State {}

/// Threads may read the region although the ring is drained by `Drain`.
#[diagnostic::on_unimplemented(
    message = "threads read a stage that is drained by `{Drain}`: it is `{Self}`",
    label = "no place for `fence.proxy.async`",
    note = "rule B2: each thread that read runs `fence.proxy.async` before bulk copies fill the stage again, and a stage that \
            matrix \
            instructions drain goes back without one (PTX ISA 8.6, 9.7.13.4)",
    note = "drain the ring `ByThreads`, or read what the matrix instructions computed"
)]
pub trait ThreadsReadWhereDrained<Drain: Way>: State {}

/// Nothing is left in the region for this holder to read: it was just handed over to be filled.
#[diagnostic::on_unimplemented(
    message = "this region is not handed over to be written: it is `{Self}`",
    label = "not writable",
    note = "rules A9, B7 and D6: it belongs to its readers, or an asynchronous operation still uses it, until it is handed back",
    note = "take an empty stage from the producer's end, `producer.acquire(&mut set)`; an array that a lock guards is written \
            before \
            `.sync(&mut set)`, or behind `.reopen(&mut set)`"
)]
pub trait Writable: State {}

/// The peers may not read the region of an exchange: they have read what it held, or it was never handed to them.
#[diagnostic::on_unimplemented(
    message = "this CTA's region of the exchange is not its own to write: it is `{Self}`",
    label = "the peers may read it",
    note = "rules A9 and F2: between the arrival on the cluster's barrier and the end of every CTA's reading the region belongs \
            to all of \
            them; a second barrier says that they have read (PTX ISA 8.9, *barrier.cluster*)",
    note = "after `.wait(&mut cta)`, call `.reopen(&mut cta)`, which is that barrier, and fill what it returns"
)]
pub trait WritableBesidePeers: State {}

/// No thread has written to the region since it was handed over.
#[diagnostic::on_unimplemented(
    message = "this region's elements have owners already: it is `{Self}`",
    label = "dealt out otherwise",
    note = "rule A13: `fill` gives each thread single elements and `copy` 16 bytes at a time, so that after one the other would \
            write \
            elements of another thread",
    note = "take a stage for each: `producer.acquire(&mut set)`"
)]
pub trait Untouched: State {}

/// What stands in the region may be read through `Next` once it is handed over.
#[diagnostic::on_unimplemented(
    message = "ordinary stores to this region are not visible to the async proxy: it is `{Self}`, and it is handed to `{Next}`",
    label = "missing `fence.proxy.async`",
    note = "rule B1: each thread that wrote runs `fence.proxy.async` before the hand-over (PTX ISA 8.6, 9.7.13.4)",
    note = "call `.fence_proxy_async(&mut set)` between the last store and this call"
)]
pub trait HandsOnTo<Next: Way>: State {}

/// The region may be filled through `Next` once it is handed back.
#[diagnostic::on_unimplemented(
    message = "ordinary loads of this region are not ordered before the async proxy: it is `{Self}`, and `{Next}` fills it next",
    label = "missing `fence.proxy.async`",
    note = "rule B2: each thread that read runs `fence.proxy.async` before it hands the stage back to bulk copies (PTX ISA 8.6, \
            9.7.13.4)",
    note = "call `.fence_proxy_async(&mut set)` between the last load and this call"
)]
pub trait HandsBackTo<Next: Way>: State {}

/// No matrix instruction reads the region any more, as far as this hand-over goes.
#[diagnostic::on_unimplemented(
    message = "matrix instructions still read this stage: it is `{Self}`",
    label = "not complete",
    note = "rule D6 (and D5): `tcgen05.mma` is asynchronous, and only `tcgen05.commit` makes the barrier wait for it \
            (PTX ISA 9.7.16.6.2): call `.release_by_commit(&mut t)`; the commit itself arrives on the empty barrier when the reads \
            have ended",
    note = "rule E3: `wgmma` reads the stage until a `wgmma.wait_group` covers its group (PTX ISA 9.7.15.7.3): pass the stage to \
            `product.commit_group(&mut wg, stage)`, and release what `wait_group` gives back"
)]
pub trait ReadsEnded: State {}

/// Matrix instructions read the region, so that a commit can release it.
#[diagnostic::on_unimplemented(
    message = "no matrix instruction reads this stage: it is `{Self}`",
    note = "rule D6: `release_by_commit` hands back what `mma` has read: call `.release(&mut set)` on a stage that threads have \
            read"
)]
pub trait ReadByMatrix: State {}

/// No bulk copy reads the region any more.
#[diagnostic::on_unimplemented(
    message = "a bulk store still reads this staging buffer: it is `{Self}`",
    label = "in flight",
    note = "rules B7 and B11: the source of a bulk store is overwritten only after `cp.async.bulk.wait_group.read` by the thread \
            that \
            committed it, and the set's barrier (PTX ISA 9.7.9.25.3)",
    note = "call `.wait_group_read(&mut set)` first"
)]
pub trait SourceFree: State {}

/// A state in which a staging buffer can end, and whether a bulk store may still read it.
#[doc(hidden)]
pub trait EndsStaging: State {
    #[doc(hidden)]
    const IN_FLIGHT: bool;
}
impl EndsStaging for Written {
    const IN_FLIGHT: bool = false;
}
impl EndsStaging for WrittenFenced {
    const IN_FLIGHT: bool = false;
}
impl EndsStaging for InFlight {
    const IN_FLIGHT: bool = true;
}

/// A store is under way, so that there is a group to wait for.
#[diagnostic::on_unimplemented(
    message = "no bulk store of this staging buffer is under way: it is `{Self}`",
    note = "rule B11: `wait_group_read` follows `store`: call `.store(&mut set, …)` first, or leave it out"
)]
pub trait StoreInFlight: State {}

/// The matrix instructions that write the accumulator have completed.
#[diagnostic::on_unimplemented(
    message = "the matrix instructions that write this accumulator have not completed: it is `{Self}`",
    label = "not complete",
    note = "rules D5 and D7: `tcgen05.mma` is complete only when a `tcgen05.commit` of its thread has arrived and its phase was \
            observed; `mma` and `ld` are never a pipelined pair, not even back to back in one thread (PTX ISA 9.7.16.6.2)",
    note = "call `.commit(&mut t)` in the issuing thread, and read what the consumer's `wait(&mut wg)` returns"
)]
pub trait MmaCompleted: State {}

/// `tcgen05.fence::after_thread_sync` stands between the wait and what follows.
#[diagnostic::on_unimplemented(
    message = "tensor memory would be read before the barrier's order reaches it: the accumulator is `{Self}`",
    label = "missing `tcgen05.fence::after_thread_sync`",
    note = "rule D1: a wait on an mbarrier does not order later asynchronous tcgen05 instructions behind it (PTX ISA 9.7.16.6.4)",
    note = "call `.fence_after_thread_sync(&mut wg)` between `wait` and this call"
)]
pub trait AfterThreadSync: State {}

/// The loads of the accumulator have ended.
#[diagnostic::on_unimplemented(
    message = "`tcgen05.ld` of this accumulator is still under way: it is `{Self}`",
    label = "missing `tcgen05.wait::ld`",
    note = "rule D3: tensor memory is handed on, overwritten or deallocated, and loaded values are used, only after \
            `tcgen05.wait::ld` (PTX ISA 9.7.16.8.5)",
    note = "call `.wait_ld(&mut wg)`, which returns the accumulator and the values"
)]
pub trait LoadsEnded: State {}

/// A load is under way.
#[diagnostic::on_unimplemented(
    message = "no `tcgen05.ld` is under way: the accumulator is `{Self}`",
    note = "rule D3: `wait_ld` follows `ld`: leave it out, or call `.ld(&mut wg, …)` first"
)]
pub trait LoadUnderWay: State {}

/// The stores to the accumulator have ended.
#[diagnostic::on_unimplemented(
    message = "`tcgen05.st` to this tensor memory is still under way: it is `{Self}`",
    label = "missing `tcgen05.wait::st`",
    note = "rule D4: what `tcgen05.st` writes is there for other tcgen05 instructions and other threads only after \
            `tcgen05.wait::st` of the \
            warp that stored (PTX ISA 9.7.16.8.5)",
    note = "call `.wait_st(&mut wg)` between the store and this call"
)]
pub trait StoresEnded: State {}

/// A store is under way.
#[diagnostic::on_unimplemented(
    message = "no `tcgen05.st` to this tensor memory is under way: it is `{Self}`",
    note = "rule D4: `wait_st` follows `st`: leave it out, or call `.st(&mut wg, …)` first"
)]
pub trait StoreUnderWay: State {}

/// `tcgen05.fence::before_thread_sync` stands between the loads and the hand-over.
#[diagnostic::on_unimplemented(
    message = "loads or stores of this tensor memory are not ordered before the barrier: it is `{Self}`",
    label = "missing `tcgen05.fence::before_thread_sync`",
    note = "rule D2: tensor memory is handed to another thread behind `tcgen05.fence::before_thread_sync` (PTX ISA 9.7.16.6.4)",
    note = "call `.fence_before_thread_sync(&mut wg)` between the last `wait_ld` or `wait_st` and this call"
)]
pub trait BeforeThreadSync: State {}

/// The accumulator is this thread's to write.
#[diagnostic::on_unimplemented(
    message = "this accumulator is not the producer's to write: it is `{Self}`",
    note = "rules D2 and D5: matrix instructions write what the producer handed out, until `commit`: take it from \
            `producer.acquire(&mut t)`"
)]
pub trait MatrixWritable: State {}

/// `wgmma.fence` stands between the threads' last access to the registers and what follows.
#[diagnostic::on_unimplemented(
    message = "these registers have not been handed to `wgmma`: they are `{Self}`",
    label = "missing `wgmma.fence`",
    note = "rule E1: `wgmma.fence` stands before the first `wgmma.mma_async`, and whenever threads have touched the registers \
            (PTX ISA \
            9.7.15.7.1)",
    note = "call `.fence(&mut wg)` on the product first; where A is in registers, the fragment's `mma_async` has the fence in it"
)]
pub trait FencedForWgmma: State {}

/// No instruction under way uses the registers.
#[diagnostic::on_unimplemented(
    message = "these registers belong to `wgmma` instructions: they are `{Self}`",
    label = "missing `wgmma.wait_group`",
    note = "rule E2: the registers of `wgmma.mma_async` are read and written only behind a `wgmma.wait_group` that covers its \
            group, and \
            not between `wgmma.fence` and the instruction (PTX ISA 9.7.15.7.1, 9.7.15.7.3)",
    note = "call `.commit_group(&mut wg, stage)` and `.wait_group::<0, _>(&mut wg)`, which gives the product and the stages back"
)]
pub trait RegistersSettled: State {}

/// Instructions have been issued that belong to no group yet.
#[diagnostic::on_unimplemented(
    message = "no `wgmma.mma_async` of this product waits for its group: it is `{Self}`",
    note = "rule E2: `commit_group` follows `mma_async`: call `.mma_async(&mut wg, stage)` first"
)]
pub trait HasIssued: State {}

/// Groups are under way, and nothing that belongs to none.
#[diagnostic::on_unimplemented(
    message = "what `wgmma` was issued for this product is in no group: it is `{Self}`",
    label = "missing `wgmma.commit_group`",
    note = "rules E2 and E3: `wgmma.wait_group` waits for groups, and `wgmma.commit_group` makes one of what was issued (PTX ISA \
            9.7.15.7.2)",
    note = "call `.commit_group(&mut wg, stage)` first"
)]
pub trait HasCommitted: State {}

/// The stage may be an operand of `tcgen05.mma`.
#[diagnostic::on_unimplemented(
    message = "this stage is not handed over to be multiplied: it is `{Self}`",
    label = "not an operand",
    note = "rules B6, C5 and D6: `tcgen05.mma` reads what the consumer was handed, once, and its commit hands the stage back (PTX ISA \
            9.7.9.25.2, 9.7.16.6.2)",
    note = "take the stage from `consumer.wait(&mut t)`, or from a `try_wait` that returned true: `attempt.completed()`; a stage that several \
            products read is opened, `.open(&mut t)`, and `mma_of` takes its operands"
)]
pub trait ReadableByMma: State {}

/// The stage may be an operand of `wgmma`.
#[diagnostic::on_unimplemented(
    message = "this stage is not handed over to be read: it is `{Self}`",
    note = "rules B6 and C5: `wgmma` reads what the consumer handed out: take the stage from `consumer.wait(&mut wg)`"
)]
pub trait ReadableByWgmma: State {}

/// The stage may be opened to the matrix instructions `By`, as a stage whose operands several products read.
#[diagnostic::on_unimplemented(
    message = "this stage is not handed over to be read by `{By}`: it is `{Self}`",
    label = "not to be opened",
    note = "rules D16, B6 and C5: matrix instructions read a stage whose phase was observed, until it is handed on: it is opened once, and its \
            operands are views of the open stage (PTX ISA 9.7.9.25.2, 9.7.16.6.2)",
    note = "take the stage from the consumer's `wait`: `let stage = consumer.wait(&mut set).open(&mut set);`"
)]
pub trait OpensTo<By: Way>: State {}

/// The stage is open to the matrix instructions `By`: what it holds may be an operand.
#[diagnostic::on_unimplemented(
    message = "this stage is not open to the matrix instructions that would read its operand: it is `{Self}`, and its ring is drained `{By}`",
    label = "missing `open`",
    note = "rules D16, D6 and E3: an operand is a view of a stage that is held open for it, so that the stage goes back by the commit, or behind the \
            wait, that covers the instructions (PTX ISA 9.7.15.7.3, 9.7.16.6.2)",
    note = "call `.open(&mut set)` on what `consumer.wait(&mut set)` returns, and take the operand from what that returns"
)]
pub trait OpenTo<By: Way>: State {}

/// This thread has arrived on the cluster's barrier and may wait.
#[diagnostic::on_unimplemented(
    message = "this thread has not arrived on the cluster's barrier: the region is `{Self}`",
    label = "no arrival to wait for",
    note = "rule F2: `barrier.cluster.wait` follows one `barrier.cluster.arrive` of the same thread, and is not repeated (PTX ISA, \
            barrier.cluster)",
    note = "call `.arrive(&mut cta)` first"
)]
pub trait HasArrivedAtTheCluster: State {}

/// A release that reaches the cluster stands between the data and a relaxed arrival.
#[diagnostic::on_unimplemented(
    message = "nothing has released the data before this relaxed arrival on the cluster's barrier: the region is `{Self}`",
    label = "missing release fence",
    note = "rule F2: `barrier.cluster.arrive.relaxed` publishes nothing by itself (PTX ISA, barrier.cluster; 8.8)",
    note = "rule F9: a fence that is restricted to shared memory begins a release pattern on an mbarrier, and the cluster's own barrier is none",
    note = "call `.fence_release::<Cluster, _>(&mut cta)` first, or use `.arrive(&mut cta)`, which releases"
)]
pub trait ReleasedToTheCluster: State {}

/// Every peer has started and published its region.
#[diagnostic::on_unimplemented(
    message = "the peers of the cluster have not published their regions: this one is `{Self}`",
    label = "a peer's memory",
    note = "rule F3: distributed shared memory is read between a cluster barrier behind which every peer has written, and the one \
            at the \
            exit, before which no peer ends (PTX ISA 5.1.6, barrier.cluster)",
    note = "call `.arrive(&mut cta)` and `.wait(&mut cta)` first"
)]
pub trait VisibleToTheCluster: State {}

/// No arrival on the cluster's barrier waits for its wait.
#[diagnostic::on_unimplemented(
    message = "this thread has arrived on the cluster's barrier and not waited: the region is `{Self}`",
    label = "missing `wait`",
    note = "rule F2: each arrival has its wait before the next arrival or the exit (PTX ISA, barrier.cluster)",
    note = "call `.wait(&mut cta)` first"
)]
pub trait NotAwaited: State {}

/// This thread has arrived on the barrier and may wait for its phase.
#[diagnostic::on_unimplemented(
    message = "this thread has not arrived on the barrier: the region is `{Self}`",
    note = "rules C3 and C10: one arrival, then one observed phase, then the next arrival (PTX ISA 9.7.13.15)",
    note = "call `.arrive(&mut cta)` first"
)]
pub trait HasArrived: State {}

/// This thread may arrive: it has observed the phase before.
#[diagnostic::on_unimplemented(
    message = "the phase of the last arrival has not been observed: the region is `{Self}`",
    note = "rule C10: a thread arrives on phase k+1 only after it has observed phase k (PTX ISA 9.7.13.15)",
    note = "call `.wait(&mut cta)` first"
)]
pub trait MayArrive: State {}

/// Each line is a state and what holds in it; with that it is a state.
macro_rules! facts {
    ($($state:ident: $($fact:ident $(<$($path:ident),+>)?)*;)*) => {$(
        facts!(@state [] $state);
        $(facts!(@one $state $fact $(<$($path),+>)?);)*
    )*};
    (@state [$($parameter:ident)*] $state:ty) => {
        impl<$($parameter)*> sealed::State for $state {}
        #[diagnostic::do_not_recommend]
        impl<$($parameter)*> State for $state {}
    };
    (@one $state:ident $fact:ident) => {
        // The list of all states would bury what the fact itself says.
        #[diagnostic::do_not_recommend]
        impl $fact for $state {}
    };
    (@one $state:ident $fact:ident <$($path:ident),+>) => {
        $(#[diagnostic::do_not_recommend] impl $fact<$path> for $state {})+
    };
}

facts! {
    Empty: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> NotAwaited PollConfirmed CopiesLanded Acquired VisibleToTheSet ReadsUnfenced Writable WritableBesidePeers Untouched SourceFree HandsOnTo<ByThreads, ByMma, ByPairMma, ByWgmma> MayArrive StoresEnded BeforeThreadSync;
    Filling: PollConfirmed CopiesLanded Acquired VisibleToTheSet ReadsUnfenced;
    Copying: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> PollConfirmed FillCompleted Acquired VisibleToTheSet ReadsUnfenced HasContents CopiesUnderWay HandsOnTo<ByThreads, ByMma, ByPairMma, ByWgmma>;
    Written: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> NotAwaited PollConfirmed CopiesLanded FillCompleted Acquired ReadsUnfenced HasContents Writable WritableBesidePeers SourceFree HandsOnTo<ByThreads> MayArrive;
    Copied: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> NotAwaited PollConfirmed CopiesLanded FillCompleted Acquired ReadsUnfenced HasContents HandsOnTo<ByThreads> MayArrive;
    Synced: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsUnfenced HasContents SourceFree HandsOnTo<ByThreads> MayArrive;
    WrittenFenced: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> PollConfirmed CopiesLanded FillCompleted Acquired ReadsUnfenced HasContents SourceFree HandsOnTo<ByThreads, ByMma, ByPairMma, ByWgmma, ByBulk>;
    ReadFenced: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsEnded HandsBackTo<ByThreads, ByBulk>;
    Polled: FillCompleted CopiesLanded Acquired VisibleToTheSet ReadsUnfenced;
    Awaited: PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsUnfenced;
    ObservedRelaxed: PollConfirmed CopiesLanded FillCompleted VisibleToTheSet ReadsUnfenced FlagObserved;
    Full: ThreadsReadWhereDrained<ByThreads> FlagObserved PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsUnfenced HasContents ReadsEnded HandsBackTo<ByThreads> MayArrive ReadableByMma ReadableByWgmma OpensTo<ByMma, ByPairMma, ByWgmma>;
    ReadByMma: ThreadsReadWhereDrained<ByThreads> PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsUnfenced HandsBackTo<ByThreads, ByBulk> ReadByMatrix OpenTo<ByMma, ByPairMma>;
    ReadByWgmma: ThreadsReadWhereDrained<ByThreads> PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsUnfenced HandsBackTo<ByThreads, ByBulk> ReadableByWgmma OpenTo<ByWgmma>;
    Multiplied: ThreadsReadWhereDrained<ByThreads, ByMma, ByPairMma, ByWgmma> PollConfirmed CopiesLanded FillCompleted Acquired VisibleToTheSet ReadsEnded HandsBackTo<ByThreads, ByBulk> ReadableByWgmma OpensTo<ByWgmma>;
    InFlight: PollConfirmed FillCompleted Acquired VisibleToTheSet ReadsUnfenced Writable StoreInFlight HandsOnTo<ByBulk>;
    Arrived: PollConfirmed FillCompleted Acquired ReadsUnfenced HasContents HasArrived;
    ClusterFull: VisibleToTheCluster NotAwaited;
    ClusterArrived: HasArrivedAtTheCluster;
    Handed: PollConfirmed FillCompleted Acquired Writable HasContents;

    WrittenAliased: ;
    Aliased: VisibleToTheSet VisibleThroughTheAlias;
    Wanted: ;
    MapEdited: MapEditable;
    MapReleased: MapEditable EditsReleased;
    MapReady: MapEditable MapVisibleToCopies;

    Settled: RegistersSettled;
    WgmmaFenced: FencedForWgmma;
    Issued: FencedForWgmma HasIssued;
    Committed: FencedForWgmma HasCommitted;

    Accumulating: AfterThreadSync LoadsEnded StoresEnded BeforeThreadSync MatrixWritable;
    Observed: MmaCompleted LoadsEnded StoresEnded;
    Ready: MmaCompleted AfterThreadSync LoadsEnded StoresEnded;
    Loading: MmaCompleted AfterThreadSync LoadUnderWay StoresEnded BeforeThreadSync;
    Storing: MmaCompleted AfterThreadSync LoadsEnded StoreUnderWay BeforeThreadSync HasContents Writable;
    Released: MmaCompleted LoadsEnded StoresEnded BeforeThreadSync;
    Stored: StoresEnded HasContents Writable;
    StoredFenced: StoresEnded BeforeThreadSync HasContents;
}
facts! { @state [F] Sequenced<F> }
facts! { @state [F] ReleasedAt<F> }
facts! { @state [Tag] MapInUse<Tag> }

/// A state behind which `fence.proxy.async` makes sense.
#[diagnostic::on_unimplemented(
    message = "`fence.proxy.async` belongs behind this set's ordinary accesses, and the region is `{Self}`",
    note = "rules B1 and B2: the fence orders the accesses that the same thread made before it: call it once, behind the last of \
            them"
)]
pub trait ProxyFence: State {
    /// The state that the fence leads to.
    type Fenced: State;
}
impl ProxyFence for Written {
    type Fenced = WrittenFenced;
}
impl ProxyFence for Copied {
    type Fenced = WrittenFenced;
}
impl ProxyFence for Synced {
    type Fenced = WrittenFenced;
}
impl ProxyFence for Full {
    type Fenced = ReadFenced;
}

/// A state of a product into which a fragment goes, with the fence that this takes.
pub trait TakesFragment: State {
    /// Whether the product's registers are the threads', and go through the fence too.
    #[doc(hidden)]
    const SETTLED: bool;
}
impl TakesFragment for Settled {
    const SETTLED: bool = true;
}
impl TakesFragment for WgmmaFenced {
    const SETTLED: bool = false;
}
impl TakesFragment for Issued {
    const SETTLED: bool = false;
}
impl TakesFragment for Committed {
    const SETTLED: bool = false;
}

/// A state of an array in which each thread has touched its own elements at most, and what makes them everybody's.
#[diagnostic::on_unimplemented(
    message = "this array is not this set's own: it is `{Self}`",
    note = "rule A13: `sync` stands between the set's own accesses to its elements and the reads of all of them: call it once, \
            behind the accesses"
)]
pub trait OpensToTheSet: State {
    /// Whether the set's barrier has to stand between.
    #[doc(hidden)]
    const BARRIER: bool;
}
impl OpensToTheSet for Handed {
    // The protocol's own barrier stands before, and nobody has written behind it.
    const BARRIER: bool = false;
}
impl OpensToTheSet for Written {
    const BARRIER: bool = true;
}
impl OpensToTheSet for Copied {
    const BARRIER: bool = true;
}
impl OpensToTheSet for Copying {
    // Not before the copies have landed, which is another fact.
    const BARRIER: bool = true;
}
