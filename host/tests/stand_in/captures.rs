//! What is forbidden while something is captured, and to whom (`cuStreamBeginCapture`,
//! `cuThreadExchangeStreamCaptureMode`; programming guide, "Prohibited and unhandled operations").

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::thread::ThreadId;

use crate::model::{Op, machine, this_thread};
use crate::streams::handle;
use crate::{in_context, log};

pub const UNSUPPORTED: c_uint = 900;
const INVALIDATED: c_uint = 901;
const ISOLATION: c_uint = 905;
pub const CAPTURED_EVENT: c_uint = 907;
const WRONG_THREAD: c_uint = 908;
const ILLEGAL_STATE: c_uint = 401;

const GLOBAL: c_int = 0;
const RELAXED: c_int = 2;

pub struct Capture {
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
    let before = MODE.replace(unsafe { *mode });
    unsafe { *mode = before };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_int) -> c_uint {
    in_context("cuStreamBeginCapture_v2", || {
        log(format!("begin capture of {}", stream.addr()));
        // The legacy stream cannot be captured.
        if stream.is_null() {
            return UNSUPPORTED;
        }
        let capture = Capture { ops: Vec::new(), thread: this_thread(), mode, spoiled: false };
        match machine().line(stream.addr()).capture.replace(capture) {
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
        let Some(capture) = machine.line(stream.addr()).capture.take() else {
            return ILLEGAL_STATE;
        };
        if capture.mode != RELAXED && capture.thread != this_thread() {
            return WRONG_THREAD;
        }
        if capture.spoiled {
            return INVALIDATED;
        }
        machine.next_graph += 1;
        let number = 0x4000 + machine.next_graph;
        machine.graphs.insert(number, capture.ops);
        unsafe { *graph = handle(number) };
        0
    })
}

/// A captured stream may wait only for what is captured with it (`CUDA_ERROR_STREAM_CAPTURE_ISOLATION`).
pub fn wait_for(stream: usize, event: usize) -> c_uint {
    let mut machine = machine();
    let place = machine.events.get(&event).copied();
    let captured = machine.line(stream).capture.is_some();
    match place {
        Some(Some((other, place))) if !captured => {
            machine.give(stream, Op::Wait(other, place));
            0
        }
        Some(Some(_)) => {
            machine.spoil(&[stream]);
            ISOLATION
        }
        Some(None) if !captured => ISOLATION,
        _ => 0,
    }
}
