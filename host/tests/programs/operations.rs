//! What programs are made of.

use proptest::prelude::*;

use crate::errors::Trouble;

pub const LEN: usize = 4;
pub const BUFFERS: usize = 4;
pub const STREAMS: usize = 3;

#[derive(Clone, Copy, Debug)]
pub enum Op {
    Write {
        to: usize,
        value: u8,
    },
    Fill {
        to: usize,
    },
    FillOn {
        stream: usize,
        to: usize,
    },
    Read {
        from: usize,
    },
    Launch {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// With more dynamic shared memory than a kernel has unasked, or without.
    LaunchAndWait {
        from: usize,
        to: usize,
        shared: bool,
    },
    Copy {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// The first half of one to the second of the other.
    CopyPart {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// To page-locked memory that is looked at and dropped, or only dropped.
    Download {
        stream: usize,
        from: usize,
        look: bool,
    },
    Upload {
        stream: usize,
        to: usize,
        value: u8,
    },
    /// A new buffer in the place of an old one, which is dropped whatever uses it.
    Replace {
        to: usize,
        value: u8,
    },
    ReplaceOn {
        stream: usize,
        to: usize,
        value: u8,
    },
    Free {
        stream: usize,
        to: usize,
        value: u8,
    },
    Move {
        stream: usize,
        what: usize,
    },
    /// A stream is captured, with a branch on another, and another operation comes from elsewhere meanwhile.
    Capture {
        stream: usize,
        from: usize,
        to: usize,
        what: Captured,
    },
    /// The same, in the place of what was captured before.
    Update {
        stream: usize,
        from: usize,
        to: usize,
        what: Captured,
    },
    LaunchGraph {
        stream: usize,
    },
    DropGraph,
    /// To another device and back.
    Travel {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// Through memory that the host looks at.
    Manage {
        stream: usize,
        from: usize,
        to: usize,
    },
    Synchronize {
        stream: usize,
    },
    /// Another one in its place, of whichever priority.
    DropStream {
        stream: usize,
        priority: i32,
    },
    /// Some rows of one to the same rows of the other, each with its pitch.
    CopyRows {
        stream: usize,
        from: usize,
        to: usize,
    },
    /// The host reads or writes a half.
    ReadPart {
        from: usize,
    },
    WritePart {
        to: usize,
        value: u8,
    },
    CallBack {
        stream: usize,
    },
    /// A task waits for all that the stream was given.
    Await {
        stream: usize,
    },
    WaitFor {
        stream: usize,
        other: usize,
    },
    UploadGraph {
        stream: usize,
    },
    /// Tensor maps of a buffer, in device memory.
    StoreMaps {
        of: usize,
    },
    /// How many CTAs fit, of a kernel with clusters too.
    Occupancy,
    /// The devices once more.
    Open,
    Reload,
    /// From here on the driver is quick, or slow.
    Complete(bool),
}

/// What is captured: a launch or a copy of all rows, and whether a branch on another stream goes before it.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    pub branch: bool,
    pub rows: bool,
}

fn op() -> impl Strategy<Value = Op> {
    let (stream, buffer) = (0..STREAMS, 0..BUFFERS);
    let two = (0..BUFFERS, 1..BUFFERS).prop_map(|(from, step)| (from, (from + step) % BUFFERS));
    let value = 1..200u8;
    let what = any::<[bool; 2]>().prop_map(|[branch, rows]| Captured { branch, rows });
    prop_oneof![
        3 => (buffer.clone(), value.clone()).prop_map(|(to, value)| Op::Write { to, value }),
        1 => buffer.clone().prop_map(|to| Op::Fill { to }),
        2 => (stream.clone(), buffer.clone()).prop_map(|(stream, to)| Op::FillOn { stream, to }),
        4 => buffer.clone().prop_map(|from| Op::Read { from }),
        6 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Launch { stream, from, to }),
        2 => (two.clone(), any::<bool>())
            .prop_map(|((from, to), shared)| Op::LaunchAndWait { from, to, shared }),
        4 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Copy { stream, from, to }),
        2 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::CopyPart { stream, from, to }),
        2 => (stream.clone(), buffer.clone(), any::<bool>())
            .prop_map(|(stream, from, look)| Op::Download { stream, from, look }),
        1 => (stream.clone(), buffer.clone(), value.clone())
            .prop_map(|(stream, to, value)| Op::Upload { stream, to, value }),
        2 => (buffer.clone(), value.clone()).prop_map(|(to, value)| Op::Replace { to, value }),
        2 => (stream.clone(), buffer.clone(), value.clone())
            .prop_map(|(stream, to, value)| Op::ReplaceOn { stream, to, value }),
        1 => (stream.clone(), buffer.clone(), value).prop_map(|(stream, to, value)| Op::Free { stream, to, value }),
        1 => (stream.clone(), buffer.clone()).prop_map(|(stream, what)| Op::Move { stream, what }),
        2 => (stream.clone(), two.clone(), what.clone())
            .prop_map(|(stream, (from, to), what)| Op::Capture { stream, from, to, what }),
        1 => (stream.clone(), two.clone(), what)
            .prop_map(|(stream, (from, to), what)| Op::Update { stream, from, to, what }),
        1 => (stream.clone(), two.clone()).prop_map(|(stream, (from, to))| Op::Travel { stream, from, to }),
        1 => (stream.clone(), two.clone())
            .prop_map(|(stream, (from, to))| Op::Manage { stream, from, to }),
        2 => (stream.clone(), two).prop_map(|(stream, (from, to))| Op::CopyRows { stream, from, to }),
        1 => buffer.clone().prop_map(|from| Op::ReadPart { from }),
        1 => (buffer.clone(), 1..200u8).prop_map(|(to, value)| Op::WritePart { to, value }),
        2 => stream.clone().prop_map(|stream| Op::CallBack { stream }),
        1 => stream.clone().prop_map(|stream| Op::Await { stream }),
        1 => (stream.clone(), stream.clone())
            .prop_map(|(stream, other)| Op::WaitFor { stream, other }),
        1 => stream.clone().prop_map(|stream| Op::UploadGraph { stream }),
        1 => buffer.prop_map(|of| Op::StoreMaps { of }),
        1 => Just(Op::Occupancy),
        1 => Just(Op::Open),
        3 => stream.clone().prop_map(|stream| Op::LaunchGraph { stream }),
        1 => Just(Op::DropGraph),
        2 => stream.clone().prop_map(|stream| Op::Synchronize { stream }),
        1 => (stream, -9..9).prop_map(|(stream, priority)| Op::DropStream { stream, priority }),
        1 => Just(Op::Reload),
        1 => any::<bool>().prop_map(Op::Complete),
    ]
}

/// What one thread does: operations, some with an error.
pub type Thread = Vec<(Op, Option<Trouble>)>;

/// A program, and a seed for what is done early.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: Vec<Thread>,
    pub seed: u64,
}

/// Programs of so many threads, and of about 40 operations altogether.
pub fn program(threads: usize) -> impl Strategy<Value = Program> {
    let error = prop_oneof![8 => Just(None), 1 => Trouble::any().prop_map(Some)];
    let ops = proptest::collection::vec((op(), error), 1..=40 / threads);
    let threads = proptest::collection::vec(ops, threads);
    (threads, any::<u64>()).prop_map(|(threads, seed)| Program { threads, seed })
}

/// A program in which each operation is, some of them again where it makes a difference what was before.
pub fn everything() -> Program {
    let what = |branch, rows| Captured { branch, rows };
    let ops = [
        Op::Open,
        Op::Write { to: 0, value: 7 },
        Op::Launch { stream: 0, from: 0, to: 1 },
        Op::Launch { stream: 1, from: 0, to: 2 },
        Op::Fill { to: 0 },
        Op::FillOn { stream: 2, to: 3 },
        Op::Read { from: 1 },
        Op::LaunchAndWait { from: 1, to: 3, shared: true },
        Op::Copy { stream: 1, from: 3, to: 0 },
        Op::CopyPart { stream: 0, from: 2, to: 0 },
        Op::CopyRows { stream: 2, from: 3, to: 0 },
        Op::Download { stream: 1, from: 0, look: true },
        Op::Upload { stream: 0, to: 2, value: 9 },
        Op::Download { stream: 2, from: 2, look: false },
        Op::Capture { stream: 0, from: 0, to: 1, what: what(true, false) },
        Op::UploadGraph { stream: 2 },
        Op::LaunchGraph { stream: 1 },
        Op::Read { from: 1 },
        Op::Update { stream: 2, from: 1, to: 2, what: what(true, false) },
        Op::LaunchGraph { stream: 0 },
        Op::Replace { to: 1, value: 5 },
        Op::Update { stream: 2, from: 1, to: 2, what: what(false, true) },
        Op::LaunchGraph { stream: 1 },
        Op::Read { from: 2 },
        Op::CallBack { stream: 1 },
        Op::ReplaceOn { stream: 1, to: 2, value: 3 },
        Op::Free { stream: 2, to: 1, value: 4 },
        Op::Move { stream: 0, what: 2 },
        Op::Travel { stream: 0, from: 2, to: 3 },
        Op::Travel { stream: 1, from: 3, to: 2 },
        Op::Manage { stream: 2, from: 2, to: 0 },
        Op::Read { from: 0 },
        Op::ReadPart { from: 3 },
        Op::WritePart { to: 3, value: 8 },
        Op::Await { stream: 0 },
        Op::WaitFor { stream: 0, other: 2 },
        Op::StoreMaps { of: 0 },
        Op::Occupancy,
        Op::DropGraph,
        Op::DropStream { stream: 1, priority: 2 },
        Op::CallBack { stream: 1 },
        Op::Reload,
        Op::Launch { stream: 1, from: 0, to: 1 },
        Op::Launch { stream: 2, from: 0, to: 3 },
        Op::Replace { to: 0, value: 6 },
        Op::Complete(true),
        Op::Synchronize { stream: 1 },
        Op::Download { stream: 1, from: 1, look: false },
        Op::Complete(false),
    ];
    Program { threads: vec![ops.map(|op| (op, None)).into()], seed: 0 }
}
