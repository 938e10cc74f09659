//! What the host's types may be: which threads they may go to, and what can be had twice. Checked when this is compiled;
//! that every public type stands in one of the lists is a test.

use std::collections::BTreeSet;
use std::rc::Rc;

use baton::global::{Load, Store};
use baton_host::reservation::{
    Access, Acquired, AddError, Asking, ContextId, Description, Duplicate, Failure, Guard, Locked,
    Merged, NoSlots, Reservation, ReserveError, Seen, Slots, Status, Unknown, Unlocked, Unreserved,
    Usage, Usages, WaitPlan, Waited,
};
use baton_host::{
    Arch, BadLaunch, Binary, Buffer, Capture, Choice, Code, DataType, Declared, Device, DeviceInfo,
    EmulatorOptions, EncodedMap, Error, Features, Finished, Graph, Grid, Hazards, Im2col, Image,
    Interleave, KernelInfo, L2Promotion, LaunchReport, Managed, Matrix, Module, Occupancy, OobFill,
    Pinned, Read, StoredMap, Stream, StreamFence, StreamReport, Swizzle, SyncBuffer, Tiled, Tiles,
    Updated, View, ViewMut, WaitPolicy, Write, Zeroed,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

type Fence = StreamFence;
type Tile = baton::tile::Tile<f32, 8, 8>;

/// Memory, orders of work and what writes: one each, for any thread.
macro_rules! moves {
    ($($of:ty),* $(,)?) => { $(
        assert_impl_all!($of: Send, Sync);
        assert_not_impl_any!($of: Clone, Copy);
    )* };
}

/// Shared ownership, and values that are not small.
macro_rules! clones {
    ($($of:ty),* $(,)?) => { $(
        assert_impl_all!($of: Clone, Send, Sync);
        assert_not_impl_any!($of: Copy);
    )* };
}

/// Numbers and words, and borrows that read.
macro_rules! copies {
    ($($of:ty),* $(,)?) => { $(assert_impl_all!($of: Clone, Copy, Send, Sync);)* };
}

/// What the thread that has it gives back.
macro_rules! stays {
    ($($of:ty),* $(,)?) => { $(assert_not_impl_any!($of: Clone, Copy, Send);)* };
}

moves! {
    Buffer<f32>,
    EncodedMap<'static, Load>,
    EncodedMap<'static, Store>,
    Error,
    Finished,
    Graph,
    Hazards,
    LaunchReport,
    Managed<f32>,
    Module,
    Pinned<f32>,
    Read<'static, f32>,
    Reservation<Fence>,
    StoredMap<'static, Load>,
    Stream,
    StreamReport,
    SyncBuffer<1>,
    Tiled<'static, f32, Load>,
    Tiled<'static, f32, Store>,
    Tiles<'static, Tile, Load>,
    ViewMut<'static, f32>,
    Write<'static, f32>,
    Zeroed<'static, 1>,
}

clones! {
    AddError,
    BadLaunch,
    Description<Fence>,
    Device,
    DeviceInfo,
    EmulatorOptions,
    Failure,
    Im2col<'static, f32>,
    Merged<Fence>,
    ReserveError,
    Seen<Fence>,
    Status,
    StreamFence,
    Unknown,
    WaitPlan<Fence>,
}

copies! {
    Access,
    Arch,
    Asking,
    Binary,
    Choice,
    Code,
    ContextId,
    DataType,
    Declared,
    Duplicate,
    Features,
    Grid,
    Image,
    Interleave,
    KernelInfo,
    L2Promotion,
    Matrix,
    NoSlots,
    Occupancy,
    OobFill,
    Slots,
    Swizzle,
    Updated,
    Usage,
    Usages,
    View<'static, f32>,
    WaitPolicy,
    Waited,
}

stays! {
    Acquired<'static, Fence>,
    // The driver wants a capture to end on the thread where it began.
    Capture<'static, 'static>,
    Guard<'static, Fence, NoSlots>,
    Guard<'static, Fence, Slots>,
    Unreserved<'static, Fence, NoSlots>,
}

assert_not_impl_any!(Capture<'static, 'static>: Sync);
// A thread's own stream stays on it.
assert_not_impl_any!(Rc<Stream>: Send, Sync);
// Walks along a list hold nothing that another thread would have to give back.
assert_not_impl_any!(Locked<'static, Fence>: Copy);
assert_not_impl_any!(Unlocked<'static, Fence>: Copy);

/// The names of types that a file gives away by `pub use`.
fn given_away(file: &str) -> BTreeSet<String> {
    let uses = file.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    let words =
        uses.flat_map(|(names, _)| names.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    let is_type = |word: &&str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.any(char::is_lowercase)
    };
    words.filter(is_type).map(str::to_owned).collect()
}

#[test]
fn every_type_stands_in_a_list() {
    // Traits, of which there are no values.
    const TRAITS: [&str; 7] =
        ["Argument", "Arguments", "Fence", "HasSlots", "KernelTaking", "Readable", "Writable"];
    let mut types = given_away(include_str!("../src/lib.rs"));
    types.extend(given_away(include_str!("../src/reservation/mod.rs")));
    assert!(types.len() > 60, "{types:?}");
    let own = include_str!("handles.rs");
    let (_, asserted) = own.split_once("moves! {").unwrap();
    let missing: Vec<_> = types
        .iter()
        .filter(|name| !TRAITS.contains(&name.as_str()))
        .filter(|name| {
            let in_list = |line: &str| {
                line.trim_start_matches("assert_not_impl_any!(").starts_with(name.as_str())
            };
            !asserted.lines().map(str::trim).any(in_list)
        })
        .collect();
    assert!(missing.is_empty(), "what may {missing:?} be? Put it into a list of tests/handles.rs");
}
