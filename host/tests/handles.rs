//! What handles of the host may and must not be: which threads they may go to, and what can be had twice. Checked when
//! this is compiled.

use std::rc::Rc;

use baton_host::reservation::{Guard, NoSlots, Reservation, Slots, Usages};
use baton_host::{
    Buffer, Capture, Device, Error, Graph, Hazards, LaunchReport, Module, Pinned, Stream,
    StreamFence, SyncBuffer, View, ViewMut,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

// Devices, code, memory and orders of work are used from any thread.
assert_impl_all!(Device: Send, Sync, Clone);
assert_impl_all!(Module: Send, Sync);
assert_impl_all!(Buffer<f32>: Send, Sync);
assert_impl_all!(Pinned<f32>: Send, Sync);
assert_impl_all!(SyncBuffer<1>: Send, Sync);
assert_impl_all!(Stream: Send, Sync);
assert_impl_all!(StreamFence: Send, Sync, Clone);
assert_impl_all!(Graph: Send, Sync);
assert_impl_all!(View<'static, f32>: Send, Sync, Clone, Copy);
assert_impl_all!(ViewMut<'static, f32>: Send, Sync);
assert_impl_all!(Reservation<StreamFence>: Send, Sync);
assert_impl_all!(Error: Send, Sync);
assert_impl_all!(LaunchReport: Send, Sync);
assert_impl_all!(Hazards: Send, Sync);
assert_impl_all!(Usages: Send, Sync, Clone, Copy);

// Memory has one owner, and what writes it is not had twice.
assert_not_impl_any!(Buffer<f32>: Clone, Copy);
assert_not_impl_any!(Pinned<f32>: Clone, Copy);
assert_not_impl_any!(SyncBuffer<1>: Clone, Copy);
assert_not_impl_any!(ViewMut<'static, f32>: Clone, Copy);
assert_not_impl_any!(Module: Clone, Copy);
// Its order is its own, and a graph is not launched from two threads at once.
assert_not_impl_any!(Stream: Clone, Copy);
assert_not_impl_any!(Graph: Clone, Copy);
// The driver wants a capture to end on the thread where it began, and it is one.
assert_not_impl_any!(Capture<'static, 'static>: Send, Sync, Clone, Copy);
// A lock is given back by who has it.
assert_not_impl_any!(Guard<'static, StreamFence, NoSlots>: Send, Clone, Copy);
assert_not_impl_any!(Guard<'static, StreamFence, Slots>: Send, Clone, Copy);
// A thread's own stream stays on it.
assert_not_impl_any!(Rc<Stream>: Send, Sync);
