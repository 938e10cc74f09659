//! Streams, events, callbacks and graphs.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::discriminant;
use std::sync::atomic::Ordering;

use crate::captures::{CAPTURED_EVENT, UNSUPPORTED, wait_for};
use crate::model::{Graph, Host, Op, Place, machine};
use crate::{
    COMPLETE, CURRENT, EVENTS, INVALID_VALUE, LOST, NOT_READY, STREAMS, finish, in_context,
    in_context_of, log, unless_refused, unsafe_in_context, wish,
};

/// Handles are numbers; a timer's are larger than all others.
const TIMER: usize = 1 << 20;

/// So that an event's number is no stream's where both are looked up.
fn event_of(event: *mut c_void) -> usize {
    event.addr() | 1 << 30
}

/// The handle belongs to the current context.
fn made(handle: usize) {
    machine().contexts.insert(handle, CURRENT.get().addr());
}

pub fn handle(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: c_uint) -> c_uint {
    in_context("cuEventCreate", || {
        let number = EVENTS.fetch_add(1, Ordering::Relaxed) + 1;
        // CU_EVENT_DISABLE_TIMING
        if flags & 2 == 0 {
            unsafe { *event = handle(TIMER + number) };
        } else {
            log(format!("create event {number}"));
            unsafe { *event = handle(number) };
        }
        made(event_of(unsafe { *event }));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context_of("cuEventRecord", &[event_of(event), stream.addr()], || {
        if event.addr() < TIMER {
            log(format!("record {} on {}", event.addr(), stream.addr()));
        }
        let mut machine = machine();
        let line = machine.line(stream.addr());
        let place = match &line.capture {
            None => Place::At(stream.addr(), line.given),
            Some(capture) => Place::Captured(capture.id, stream.addr(), capture.ops.len()),
        };
        machine.events.insert(event.addr(), place);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: *mut c_void) -> c_uint {
    unsafe_in_context("cuEventSynchronize", || {
        if event.addr() < TIMER {
            log(format!("synchronize event {}", event.addr()));
        }
        let mut machine = machine();
        match machine.events.get(&event.addr()).copied() {
            None => 0,
            Some(Place::Captured(..)) => CAPTURED_EVENT,
            Some(Place::At(stream, place)) => {
                machine.run_to(stream, place);
                LOST.load(Ordering::Relaxed)
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: *mut c_void) -> c_uint {
    unsafe_in_context("cuEventQuery", || {
        log(format!("query {}", event.addr()));
        let mut machine = machine();
        match machine.events.get(&event.addr()).copied() {
            Some(Place::Captured(..)) => return CAPTURED_EVENT,
            Some(Place::At(stream, place)) if COMPLETE.load(Ordering::Relaxed) => {
                machine.run_to(stream, place);
            }
            _ => {}
        }
        match LOST.load(Ordering::Relaxed) {
            0 if machine.reached(event.addr()) => 0,
            0 => NOT_READY,
            lost => lost,
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> c_uint {
    in_context("cuStreamCreate", || {
        // CU_STREAM_NON_BLOCKING
        assert_eq!(flags, 1);
        let number = STREAMS.fetch_add(1, Ordering::Relaxed) + 1;
        log(format!("create stream {number}"));
        unsafe { *stream = handle(number) };
        made(number);
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut *mut c_void,
    flags: c_uint,
    priority: c_int,
) -> c_uint {
    in_context("cuStreamCreateWithPriority", || {
        // CU_STREAM_NON_BLOCKING
        assert_eq!(flags, 1);
        let number = STREAMS.fetch_add(1, Ordering::Relaxed) + 1;
        match priority {
            0 => log(format!("create stream {number}")),
            _ => log(format!("create stream {number} of priority {priority}")),
        }
        unsafe { *stream = handle(number) };
        made(number);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> c_uint {
    log(format!("destroy stream {}", stream.addr()));
    unless_refused("cuStreamDestroy_v2", || machine().retire(stream.addr()))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> c_uint {
    unsafe_in_context("cuStreamSynchronize", || {
        log(format!("synchronize stream {}", stream.addr()));
        if machine().line(stream.addr()).capture.is_some() {
            machine().spoil(&[stream.addr()]);
            return UNSUPPORTED;
        }
        finish(stream.addr())
    })
}

/// The callback may not call the driver, and runs on whichever thread waits here.
#[unsafe(no_mangle)]
extern "C" fn cuLaunchHostFunc(stream: *mut c_void, function: Host, data: *mut c_void) -> c_uint {
    in_context("cuLaunchHostFunc", || {
        log(format!("call the host on {}", stream.addr()));
        machine().give(stream.addr(), Op::Host(function, data.expose_provenance()));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _: c_uint) -> c_uint {
    in_context("cuStreamWaitEvent", || {
        log(format!("{} waits for {}", stream.addr(), event.addr()));
        wait_for(stream.addr(), event.addr())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    _flags: u64,
) -> c_uint {
    unsafe_in_context("cuGraphInstantiateWithFlags", || {
        let mut machine = machine();
        let ops = machine.graphs.get(&graph.addr()).cloned().unwrap_or_default();
        machine.graphs.insert(graph.addr() + 0x10000, ops);
        unsafe { *exec = handle(graph.addr() + 0x10000) };
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(graph: *mut c_void) -> c_uint {
    unless_refused("cuGraphDestroy", || drop(machine().graphs.remove(&graph.addr())))
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context("cuGraphLaunch", || {
        log(format!("launch graph on {}", stream.addr()));
        let mut machine = machine();
        let Some(graph) = machine.graphs.get(&exec.addr()).cloned() else {
            machine.violated("a launch of a graph that is none".into());
            return INVALID_VALUE;
        };
        machine.launch(stream.addr(), graph);
        0
    })
}

/// "Limitations" there: the graphs must have the same nodes and dependencies, or the answer is 910. "Updates … do not
/// affect launches that are enqueued or running."
#[unsafe(no_mangle)]
extern "C" fn cuGraphExecUpdate_v2(
    exec: *mut c_void,
    graph: *mut c_void,
    _info: *mut c_void,
) -> c_uint {
    const UPDATE_FAILURE: c_uint = 910;
    unsafe_in_context("cuGraphExecUpdate_v2", || {
        log("update graph".into());
        let mut machine = machine();
        let shape = |graph: &Graph| -> Vec<Vec<_>> {
            let numbers: Vec<usize> = graph.iter().map(|(number, _)| *number).collect();
            let kind = |op: &Op| match op {
                Op::Wait(other, place) => {
                    (discriminant(op), numbers.iter().position(|n| n == other), *place)
                }
                op => (discriminant(op), None, 0),
            };
            graph.iter().map(|(_, ops)| ops.iter().map(kind).collect()).collect()
        };
        let (old, new) = (&machine.graphs[&exec.addr()], &machine.graphs[&graph.addr()]);
        if shape(old) != shape(new) {
            return UPDATE_FAILURE;
        }
        let new = new.clone();
        machine.graphs.insert(exec.addr(), new);
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphUpload(_exec: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context("cuGraphUpload", || {
        log(format!("upload graph on {}", stream.addr()));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(exec: *mut c_void) -> c_uint {
    log("destroy graph".into());
    unless_refused("cuGraphExecDestroy", || drop(machine().graphs.remove(&exec.addr())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime_v2(
    milliseconds: *mut f32,
    _start: *mut c_void,
    _end: *mut c_void,
) -> c_uint {
    unless_refused("cuEventElapsedTime_v2", || unsafe { *milliseconds = 1.5 })
}

#[cfg(not(without_event_destroy))]
#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_event: *mut c_void) -> c_uint {
    wish("cuEventDestroy_v2")
}
