//! What the types of this library that nobody else makes may be: had twice, sent to other threads, made of nothing.
//!
//! On the device, other threads are those of another role, or of one elected thread: they hold a copy of their own, and what
//! must not happen is that a value which speaks of one set of threads acts for another. So a token, a region in use and a
//! witness stay where they are; ends and parts are captured by one role each; and what may be had twice says nothing new
//! the second time. Why each of the latter does no harm is argued in `tests/gates/reviewed/copies.md`; that every type which users
//! can name stands here, in the right list, is a test there (`handles_are_asserted`). Parameters that do not matter are
//! `()` and 1.

use static_assertions::{assert_impl_all, assert_not_impl_any};

/// Tokens, regions and witnesses: of the threads that hold them, and of nobody else.
macro_rules! stays {
    ($($of:ty),* $(,)?) => { $(assert_not_impl_any!($of: Clone, Copy, Default, Send, Sync);)* };
}

/// Declarations, parts, ends and guards: one each, which roles capture.
macro_rules! moves {
    ($($of:ty),* $(,)?) => { $(
        assert_impl_all!($of: Send, Sync);
        assert_not_impl_any!($of: Clone, Copy, Default);
    )* };
}

/// What says the same however often it is there.
macro_rules! copies {
    ($($of:ty),* $(,)?) => { $(
        assert_impl_all!($of: Clone, Copy, Send, Sync);
        assert_not_impl_any!($of: Default);
    )* };
}

/// Lists of the host's side, which say nothing as long as they are empty.
macro_rules! begins_empty {
    ($($of:ty),* $(,)?) => { $(
        assert_impl_all!($of: Default, Send, Sync);
        assert_not_impl_any!($of: Clone, Copy);
    )* };
}

stays! {
    baton::accumulator::Acc<'static, 'static, (), (), (), 1, 1, ()>,
    baton::accumulator::Deallocated<'static, ()>,
    baton::alias::Aliases<'static, (), (), ()>,
    baton::atomic::Seen<'static, (), (), ()>,
    baton::atomic::SeenVector<'static, (), (), (), 1>,
    baton::cluster::PeerRegion<'static, (), (), 1, 1, (), ()>,
    baton::edited_map::EditedMap<'static, (), (), ()>,
    baton::exchange::Region<'static, (), (), 1, (), ()>,
    baton::held::Held<(), (), (), ()>,
    baton::operand::Operand<'static, (), (), ()>,
    baton::pair_accumulator::PairAcc<'static, 'static, (), (), 1>,
    baton::previous::PreviousGrid<()>,
    baton::protocol::Announced<'static, (), (), (), ()>,
    baton::protocol::Arrival<(), (), (), ()>,
    baton::protocol::Contribution<(), (), (), ()>,
    baton::protocol::Grid<(), (), ()>,
    baton::protocol::Inbox<(), (), (), ()>,
    baton::protocol::Outbox<(), (), (), ()>,
    baton::protocol::Side<(), (), ()>,
    baton::relay::OwnSlot<'static, (), (), (), (), 1, 1, 1>,
    baton::relay::Passed<'static, ()>,
    baton::relay::PeerSlot<'static, (), (), (), (), 1, 1, 1>,
    baton::stages::Attempt<'static, 'static, (), (), (), 1, ()>,
    baton::stages::Loaded<'static, (), (), (), ()>,
    baton::stages::Slot<'static, (), (), (), ()>,
    baton::staging::StagingBuffer<'static, (), (), (), ()>,
    baton::takeover::Work<'static, (), ()>,
    baton::tensor_stages::TensorSlot<'static, 'static, (), (), (), (), 16>,
    baton::token::Cta<'static, (), 1>,
    baton::token::Exit<'static>,
    baton::token::Finished<'static, ()>,
    baton::token::Joined<'static, (), 1>,
    baton::token::PeersJoined<'static, (), 1>,
    baton::token::Thread<'static, ()>,
    baton::token::Warp<'static, ()>,
    baton::token::Warpgroup<'static, ()>,
    baton::wgmma::Fragment<(), (), 1, ()>,
    baton::wgmma::Product<(), (), (), ()>,
}

moves! {
    baton::accumulator::AccConsumer<'static, (), (), 1, 1, 1>,
    baton::accumulator::AccProducer<'static, (), (), 1, 1, 1>,
    baton::accumulator::Accs<1, 1, 1>,
    baton::accumulator::AccsPart<'static, (), 1, 1, 1>,
    baton::accumulator::Draining<()>,
    baton::accumulator::InTensorMemory<(), 16>,
    baton::accumulator::Issuing<()>,
    baton::accumulator::Tensor<'static, ()>,
    baton::tensor_stages::TensorConsumer<'static, (), (), 1, (), 16>,
    baton::tensor_stages::TensorPart<'static, (), 1, (), 16>,
    baton::tensor_stages::TensorProducer<'static, (), (), 1, (), 16>,
    baton::tensor_stages::TensorStages<1, (), 16>,
    baton::cluster::PeerExchange<(), 1, 1>,
    baton::cluster::PeerPart<'static, (), (), 1, 1>,
    baton::exchange::Exchange<(), 1>,
    baton::exchange::ExchangePart<'static, (), (), 1>,
    baton::global::GlobalPtr<(), ()>,
    baton::global::OwnElement<'static, ()>,
    baton::global::OwnElements<'static, ()>,
    baton::global::Partition<()>,
    baton::global::TileAt<(), ()>,
    baton::launch::Call<'static>,
    baton::launch::DeviceSliceMut<'static, ()>,
    baton::launch::SyncWords<'static, 1>,
    baton::layout::Claimed<()>,
    baton::operand::Rows<(), 1, 1>,
    baton::operand::Transposed<()>,
    baton::pair::Pair<1>,
    baton::pair::PairTensor<'static, ()>,
    baton::pair_accumulator::PairAccs<1, 1, 1>,
    baton::pair_accumulator::PairAccsPart<'static, (), 1, 1>,
    baton::pair_accumulator::PairMemory<'static, ()>,
    baton::pair_accumulator::PairProducer<'static, (), (), 1, 1>,
    baton::path::MapInUse<()>,
    baton::path::ReleasedAt<()>,
    baton::path::Sequenced<()>,
    baton::previous::Dependent<()>,
    baton::protocol::Dekker<(), ()>,
    baton::protocol::GridExchange<(), ()>,
    baton::protocol::LastArrival<(), ()>,
    baton::protocol::Leave<'static, ()>,
    baton::protocol::Mailbox<(), 1, 1, ()>,
    baton::protocol::Pass<()>,
    baton::protocol::Semaphore<(), ()>,
    baton::protocol::Unlock<()>,
    baton::protocol::UnlockRead<()>,
    baton::protocol::UnlockTicket<()>,
    baton::protocol::UnlockWrite<()>,
    baton::relay::Giving<'static, (), (), 1, (), 1, 1>,
    baton::relay::Relay<1, (), 1, 1>,
    baton::relay::RelayPart<'static, (), 1, (), 1, 1>,
    baton::relay::Taking<'static, (), (), 1, (), 1, 1>,
    baton::stages::Consumer<'static, (), (), (), 1>,
    baton::stages::Producer<'static, (), (), (), 1>,
    baton::stages::Stages<1, (), (), ()>,
    baton::stages::Share<(), ()>,
    baton::stages::StagesPart<'static, (), ()>,
    baton::staging::Staging<()>,
    baton::staging::StagingPart<'static, (), ()>,
    baton::takeover::Asker<'static, (), (), (), 1, 1, 1>,
    baton::takeover::Follower<'static, (), (), 1, 1, 1>,
    baton::takeover::Takeover<1, 1, 1>,
    baton::takeover::TakeoverPart<'static, (), 1, 1, 1>,
    baton::tile::Linear<(), 1>,
    baton::tile::Tile<(), 1, 1>,
    baton::tile::ToAll<(), 1>,
    baton::token::ExchangeOf<()>,
    baton::token::FillsOf<()>,
    baton::token::PassedOf<()>,
    baton::token::RequestsOf<()>,
    baton::token::Role<1>,
    baton::token::StoresOf<()>,
    baton::token::WarpRole<'static, (), (), ()>,
    baton::token::WarpgroupRole<'static, (), (), ()>,
    baton::token::Warps<1>,
    baton::wgmma::InGroups<(), ()>,
    baton::wgmma::InRegisters<()>,
    baton::wgmma::InShared<()>,
    baton::wgmma::Open<(), (), ()>,
}

copies! {
    baton::atomic::Atomic<'static, (), ()>,
    baton::atomic::Atomics<'static, (), ()>,
    baton::global::ReadOnly<(), ()>,
    baton::global::TensorMap<(), ()>,
    baton::launch::DeviceId,
    baton::pair::PairLeader<'static>,
    baton::raster::Grouped,
    baton::launch::DeviceSlice<'static, ()>,
    baton::launch::TensorMap<'static, (), baton::global::Load>,
    baton::multicast::Multicast<'static, (), ()>,
    baton::protocol::Once<(), ()>,
    baton::protocol::Queue<(), ()>,
    baton::protocol::RwLock<(), ()>,
    baton::protocol::SeqLock<(), ()>,
    baton::protocol::SpinLock<(), ()>,
    baton::protocol::TicketLock<(), ()>,
    baton::ptx::mbarrier::State<()>,
    baton::ptx::multimem::Multimem,
    baton::ptx::policy::Policy,
}

begins_empty! {
    baton::launch::Params,
    baton::launch::Touched,
}

// A map that is stored through is its buffer's borrow to write, and so there is one.
assert_not_impl_any!(baton::launch::TensorMap<'static, (), baton::global::Store>: Clone, Copy);
