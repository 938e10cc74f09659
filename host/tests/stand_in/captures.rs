//! What is forbidden while something is captured, and to whom (`cuStreamBeginCapture`,
//! `cuThreadExchangeStreamCaptureMode`; programming guide, "Prohibited and unhandled operations").

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::thread::ThreadId;

use crate::model::{Op, Place, machine, this_thread};
use crate::streams::handle;
use crate::{in_context, log, unless_refused};

pub const UNSUPPORTED: c_uint = 900;
const INVALIDATED: c_uint = 901;
const MERGE: c_uint = 902;
const UNMATCHED: c_uint = 903;
const UNJOINED: c_uint = 904;
const ISOLATION: c_uint = 905;
pub const CAPTURED_EVENT: c_uint = 907;
const WRONG_THREAD: c_uint = 908;
const ILLEGAL_STATE: c_uint = 401;

const GLOBAL: c_int = 0;
const RELAXED: c_int = 2;

/// What one stream of a capture was given.
pub struct Capture {
    /// Which capture.
    pub id: u64,
    /// Whether it began on this stream. Others have joined it by waiting for an event of it (programming guide,
    /// "Cross-stream dependencies and events").
    pub first: bool,
    pub ops: Vec<Op>,
    pub thread: ThreadId,
    pub mode: c_int,
    /// Something that was forbidden has been done.
    pub spoiled: bool,
}

thread_local! {
    static MODE: Cell<c_int> = const { Cell::new(GLOBAL) };
}

/// "Potentially unsafe API calls" (`cuThreadExchangeStreamCaptureMode`): allocating, loading, asking for an
/// event and so on. They are refused, and spoil the capture, in a thread that captures other than in relaxed
/// mode; and while any thread captures in global mode, unless this thread has relaxed its own.
pub fn unsafe_call() -> Result<(), c_uint> {
    let mode = MODE.get();
    if mode == RELAXED {
        return Ok(());
    }
    let here = this_thread();
    let mut machine = machine();
    let against = machine.capturing(|capture| {
        let own = capture.thread == here && capture.mode != RELAXED;
        own || (mode == GLOBAL && capture.mode == GLOBAL)
    });
    if against.is_empty() {
        return Ok(());
    }
    machine.spoil(&against);
    Err(UNSUPPORTED)
}

/// Waiting for the whole context is refused while anything of it is captured, in whichever mode, and spoils it
/// (programming guide, the same section: "it is invalid to synchronize or query the execution status of a
/// stream which is being captured", "or a broader handle", of device and context).
pub fn context_wait() -> Result<(), c_uint> {
    let mut machine = machine();
    let against = machine.capturing(|_| true);
    if against.is_empty() {
        return Ok(());
    }
    machine.spoil(&against);
    Err(UNSUPPORTED)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_uint {
    unless_refused("cuThreadExchangeStreamCaptureMode", || unsafe {
        *mode = MODE.replace(*mode);
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_int) -> c_uint {
    in_context("cuStreamBeginCapture_v2", || {
        log(format!("begin capture of {}", stream.addr()));
        // The legacy stream cannot be captured.
        if stream.is_null() {
            return UNSUPPORTED;
        }
        let mut machine = machine();
        machine.next_capture += 1;
        let capture = Capture {
            id: machine.next_capture,
            first: true,
            ops: Vec::new(),
            thread: this_thread(),
            mode,
            spoiled: false,
        };
        match machine.line(stream.addr()).capture.replace(capture) {
            None => 0,
            Some(_) => ILLEGAL_STATE,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_uint {
    in_context("cuStreamEndCapture", || {
        log(format!("end capture of {}", stream.addr()));
        unsafe { *graph = std::ptr::null_mut() };
        let mut machine = machine();
        let (id, mode, thread) = match &machine.line(stream.addr()).capture {
            None => return ILLEGAL_STATE,
            Some(capture) if !capture.first => return UNMATCHED,
            Some(capture) => (capture.id, capture.mode, capture.thread),
        };
        if mode != RELAXED && thread != this_thread() {
            return WRONG_THREAD;
        }
        // Whatever becomes of it, all of its streams have left it.
        let mut branches = vec![];
        for number in machine.capturing(|capture| capture.id == id) {
            let capture = machine.line(number).capture.take().unwrap();
            branches.insert(if capture.first { 0 } else { branches.len() }, (number, capture));
        }
        if branches.iter().any(|(_, capture)| capture.spoiled) {
            return INVALIDATED;
        }
        let branches: Vec<_> =
            branches.into_iter().map(|(number, capture)| (number, capture.ops)).collect();
        if !all_joined(&branches) {
            return UNJOINED;
        }
        machine.next_graph += 1;
        let number = 0x4000 + machine.next_graph;
        machine.graphs.insert(number, branches);
        unsafe { *graph = handle(number) };
        0
    })
}

/// "Returns a stream's capture status": none, active, or spoiled.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_int) -> c_uint {
    in_context("cuStreamIsCapturing", || {
        let mut machine = machine();
        let capture = machine.line(stream.addr()).capture.as_ref();
        unsafe { *status = capture.map_or(0, |capture| 1 + c_int::from(capture.spoiled)) };
        0
    })
}

/// Whether the first stream's end comes after that of all others (`CUDA_ERROR_STREAM_CAPTURE_UNJOINED`: "the capture was
/// not fully joined to the origin stream").
fn all_joined(branches: &[(usize, Vec<Op>)]) -> bool {
    // How much of each the end of the first comes after.
    let mut known: Vec<usize> = branches.iter().map(|_| 0).collect();
    known[0] = branches[0].1.len();
    loop {
        let before = known.clone();
        for (branch, (_, ops)) in branches.iter().enumerate() {
            for op in &ops[..known[branch]] {
                let Op::Wait(other, place) = op else { continue };
                let other = branches.iter().position(|(number, _)| number == other).unwrap();
                known[other] = known[other].max(*place as usize);
            }
        }
        if known == before {
            return branches.iter().zip(known).all(|((_, ops), known)| ops.len() == known);
        }
    }
}

/// A captured stream may wait only for what is captured with it (`CUDA_ERROR_STREAM_CAPTURE_ISOLATION`), and one that is
/// not and waits for an event of a capture joins it.
pub fn wait_for(stream: usize, event: usize) -> c_uint {
    let mut machine = machine();
    let place = machine.events.get(&event).copied();
    let own = machine.line(stream).capture.as_ref().map(|capture| capture.id);
    match (place, own) {
        (None, _) => 0,
        (Some(Place::At(other, place)), None) => {
            machine.give(stream, Op::Wait(other, place));
            0
        }
        (Some(Place::At(..)), Some(_)) => {
            machine.spoil(&[stream]);
            ISOLATION
        }
        (Some(Place::Captured(id, other, place)), Some(own)) if id == own => {
            machine.give(stream, Op::Wait(other, place as u64));
            0
        }
        (Some(Place::Captured(id, ..)), Some(own)) => {
            let both = machine.capturing(|capture| capture.id == id || capture.id == own);
            machine.spoil(&both);
            MERGE
        }
        (Some(Place::Captured(id, other, place)), None) => {
            let [first, ..] = machine.capturing(|capture| capture.id == id)[..] else {
                return ISOLATION;
            };
            let capture = machine.line(first).capture.as_ref().unwrap();
            let (thread, mode) = (capture.thread, capture.mode);
            let ops = vec![Op::Wait(other, place as u64)];
            let joined = Capture { id, first: false, ops, thread, mode, spoiled: false };
            machine.line(stream).capture = Some(joined);
            0
        }
    }
}
