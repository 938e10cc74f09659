//! A stand-in for the CUDA driver library: it keeps memory on the host, runs one kernel that it
//! knows, and writes down what it was asked.
//!
//! `mod.rs` compiles it as `libcuda.so`. It has exactly the symbols that `baton-host` looks for, and those
//! of cudarc's that tests compare with, so a call of any other would panic in the test. Its wishes come in
//! environment variables:
//!
//! - `STAND_IN_GPUS`: how many GPUs it shows; 1 by default.
//! - `STAND_IN_CAPABILITY`: their compute capability; `9.0` by default.
//! - `STAND_IN_VERSION`: the version that it says it has; `13000` by default.
//! - `STAND_IN_NO_POOLS`: they have no memory pools.
//! - `STAND_IN_ALONE`: the host must keep away from managed memory while kernels run.
//! - `STAND_IN_FAIL`: `symbol:code`, a function that fails with this code; `kernel:code` is a kernel that
//!   fails when it runs; `@n:code` is the call of that number from here on, whichever function it is of, and that
//!   one alone. Several stand with commas between.
//!
//! It is as unkind as the driver's documents let a driver be: work is done when something waits for it and
//! not before (`model.rs`), what a capture forbids is refused and spoils the capture (`captures.rs`), an
//! error that ends a context is the answer to every later call, freed memory is overwritten and used again,
//! and work that uses memory which is not there is a violation ([`stand_in_violations`]). Streams and events
//! have numbers, in the order in which they were made. An event that has not been waited for is pending
//! until [`stand_in_complete`]. [`stand_in_fail`] sets the wish of `STAND_IN_FAIL` later on.

#![allow(non_snake_case)]

mod captures;
mod code;
mod devices;
mod memory;
mod model;
mod streams;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env::var;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use captures::unsafe_call;
use model::{IN_CALLBACK, Machine, Op, machine, memory};

const INVALID_VALUE: c_uint = 1;
const INVALID_CONTEXT: c_uint = 201;
const INVALID_HANDLE: c_uint = 400;
const NOT_FOUND: c_uint = 500;
const NOT_READY: c_uint = 600;
const NOT_PERMITTED: c_uint = 800;

static LOG: Mutex<String> = Mutex::new(String::new());

fn log(line: String) {
    let mut log = LOG.lock().unwrap();
    log.push_str(&line);
    log.push('\n');
}

/// What was asked so far; the caller keeps the text.
#[unsafe(no_mangle)]
extern "C" fn stand_in_log() -> *mut c_char {
    CString::new(LOG.lock().unwrap().clone()).unwrap().into_raw()
}

/// Allocations that were not given back.
#[unsafe(no_mangle)]
extern "C" fn stand_in_allocations() -> usize {
    machine().allocations()
}

/// How many allocations had memory at the same time, at most.
#[unsafe(no_mangle)]
extern "C" fn stand_in_places() -> usize {
    machine().places()
}

/// What was done that no driver forgives: uses of memory that is not there, driver calls in callbacks. The
/// caller keeps the text.
#[unsafe(no_mangle)]
extern "C" fn stand_in_violations() -> *mut c_char {
    let violations = [machine().violations.join("\n"), IN_CALLBACKS.lock().unwrap().join("\n")];
    CString::new(violations.concat()).unwrap().into_raw()
}

/// From now on, some work is done early, as this seed says; 0 ends it.
#[unsafe(no_mangle)]
extern "C" fn stand_in_seed(seed: u64) {
    machine().random = seed;
}

/// What is to fail, and since when.
struct Wish {
    what: Vec<(String, c_uint)>,
    /// Calls since it was wished.
    calls: u64,
}

/// `None` until somebody asks, and then what the environment says.
static WISH: Mutex<Option<Wish>> = Mutex::new(None);

/// Calls of callbacks, during which the machine is locked.
static IN_CALLBACKS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Each call, by its function's name, from when somebody began to look.
static TRACE: Mutex<Option<String>> = Mutex::new(None);

/// How often each function was refused, by a wish or because a capture forbids it.
static REFUSED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Whether work that an event asks for is done by then.
static COMPLETE: AtomicBool = AtomicBool::new(false);

static STREAMS: AtomicUsize = AtomicUsize::new(0);
static EVENTS: AtomicUsize = AtomicUsize::new(0);
static CONTEXTS: AtomicUsize = AtomicUsize::new(0);

/// The error that has ended the context, and is the answer to everything from then on (cuda.h, of each such
/// code: "the context cannot be used" or "leaves the process in an inconsistent state").
static LOST: AtomicU32 = AtomicU32::new(0);

fn is_terminal(code: c_uint) -> bool {
    matches!(
        code,
        4 | 142 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 806 | 810 | 911 | 999
    )
}

/// From now on, events are complete, or not.
#[unsafe(no_mangle)]
extern "C" fn stand_in_complete(complete: bool) {
    COMPLETE.store(complete, Ordering::Relaxed);
}

/// From now on, this fails: `symbol:code`, or `@n:code`; the empty text ends it.
#[unsafe(no_mangle)]
unsafe extern "C" fn stand_in_fail(wish: *const c_char) {
    *WISH.lock().unwrap() = Some(Wish::of(unsafe { CStr::from_ptr(wish) }.to_str().unwrap()));
}

/// How many calls of the driver's functions there were since the last wish.
#[unsafe(no_mangle)]
extern "C" fn stand_in_calls() -> u64 {
    with_wish(|wish| wish.calls)
}

/// Which functions were refused, and how often; the caller keeps the text.
#[unsafe(no_mangle)]
extern "C" fn stand_in_refused() -> *mut c_char {
    let refused = REFUSED.lock().unwrap();
    let lines = refused.iter().map(|(symbol, count)| format!("{symbol} {count}\n"));
    CString::new(lines.collect::<String>()).unwrap().into_raw()
}

/// All calls of the driver's functions since this was asked last; the caller keeps the text.
#[unsafe(no_mangle)]
extern "C" fn stand_in_trace() -> *mut c_char {
    let trace = TRACE.lock().unwrap().replace(String::new());
    CString::new(trace.unwrap_or_default()).unwrap().into_raw()
}

/// How many calls were refused.
#[unsafe(no_mangle)]
extern "C" fn stand_in_refusals() -> usize {
    REFUSED.lock().unwrap().values().sum()
}

/// A new process, as far as the device knows: its context works again, and nothing is left of what was there.
#[unsafe(no_mangle)]
extern "C" fn stand_in_revive() {
    let mut machine = machine();
    let violations = std::mem::take(&mut machine.violations);
    let random = machine.random;
    *machine = Machine::default();
    (machine.random, machine.violations) = (random, violations);
    LOST.store(0, Ordering::Relaxed);
}

/// Forgets what was asked so far.
#[unsafe(no_mangle)]
extern "C" fn stand_in_forget() {
    LOG.lock().unwrap().clear();
}

impl Wish {
    fn of(text: &str) -> Self {
        let wishes = text.split(',').filter_map(|wish| wish.split_once(':'));
        let what = wishes.map(|(what, code)| (what.to_owned(), code.parse().unwrap())).collect();
        Self { what, calls: 0 }
    }
}

fn with_wish<T>(act: impl FnOnce(&mut Wish) -> T) -> T {
    let mut wish = WISH.lock().unwrap();
    act(wish.get_or_insert_with(|| Wish::of(&var("STAND_IN_FAIL").unwrap_or_default())))
}

/// What the call that is made now shall be answered. Each function asks once, whatever else it does.
fn wish(symbol: &str) -> c_uint {
    // "The host function must not make any CUDA API calls" (`cuLaunchHostFunc`).
    if IN_CALLBACK.get() {
        IN_CALLBACKS.lock().unwrap().push(format!("{symbol} in a callback"));
        return NOT_PERMITTED;
    }
    if let Some(trace) = &mut *TRACE.lock().unwrap() {
        trace.push_str(symbol);
        trace.push('\n');
    }
    let code = with_wish(|wish| {
        let number = wish.calls;
        wish.calls += 1;
        let meant = wish.what.iter().find(|(what, _)| match what.strip_prefix('@') {
            Some(at) => at.parse() == Ok(number),
            None => what == symbol,
        });
        meant.map_or(0, |(_, code)| *code)
    });
    // That this value is none is an answer of this function's, and no refusal.
    let code = if (symbol, code) == ("cuFuncGetParamInfo", INVALID_VALUE) { 400 } else { code };
    if code != 0 {
        refused(symbol);
    }
    if is_terminal(code) {
        LOST.store(code, Ordering::Relaxed);
    }
    code
}

/// What a kernel that is launched now will end with.
fn kernel_wish() -> c_uint {
    with_wish(|wish| {
        let meant = wish.what.iter().find(|(what, _)| what == "kernel");
        meant.map_or(0, |(_, code)| *code)
    })
}

fn refused(symbol: &str) {
    *REFUSED.lock().unwrap().entry(symbol.into()).or_default() += 1;
}

/// A function that does its work with whichever context, unless it shall fail.
fn unless_refused(symbol: &str, work: impl FnOnce()) -> c_uint {
    let code = wish(symbol);
    if code == 0 {
        work();
    }
    code
}

thread_local! {
    static CURRENT: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// Functions that need a current context say so, as the driver's do; so do they in a callback, and when the
/// context has ended. A context that is current but nobody's here does not know our handles.
fn in_context(symbol: &str, work: impl FnOnce() -> c_uint) -> c_uint {
    let lost = LOST.load(Ordering::Relaxed);
    if lost != 0 {
        return lost;
    }
    match wish(symbol) {
        0 if CURRENT.get().is_null() => INVALID_CONTEXT,
        0 if CURRENT.get().addr() >= 0x2000 => {
            machine().violated(format!("{symbol} in a context of somebody else"));
            INVALID_HANDLE
        }
        0 => work(),
        code => code,
    }
}

/// The same for what a stream, or an event, does only in its own context (`cuLaunchKernelEx`, `cuEventRecord`: "must be
/// of the current context"; copies and waits may be given from any).
fn in_context_of(symbol: &str, handles: &[usize], work: impl FnOnce() -> c_uint) -> c_uint {
    in_context(symbol, || {
        let mut machine = machine();
        let current = CURRENT.get().addr();
        let own = |handle| machine.contexts.get(handle).is_none_or(|of| *of == current);
        if handles.iter().all(own) {
            drop(machine);
            return work();
        }
        machine.violated(format!("{symbol} with another context's handle"));
        INVALID_HANDLE
    })
}

/// The same for what a capture forbids.
fn unsafe_in_context(symbol: &str, work: impl FnOnce() -> c_uint) -> c_uint {
    in_context(symbol, || match unsafe_call() {
        Ok(()) => work(),
        Err(code) => {
            refused(symbol);
            code
        }
    })
}

/// Work for a stream that uses these bytes.
fn give(
    stream: usize,
    touched: &[(u64, usize)],
    work: impl Fn() -> u32 + Send + Sync + 'static,
) -> c_uint {
    let mut machine = machine();
    let context = machine.contexts.get(&stream).copied();
    let touched = touched.iter().flat_map(|(at, bytes)| machine.meant(*at, *bytes, context));
    let touched = touched.collect();
    machine.give(stream, Op::Work(Arc::new(work), touched));
    0
}

/// Does everything that the stream was given; what the caller says if that ended the context.
fn finish(stream: usize) -> c_uint {
    let mut machine = machine();
    let given = machine.line(stream).given;
    machine.run_to(stream, given);
    LOST.load(Ordering::Relaxed)
}

fn copy(to: u64, from: u64, bytes: usize) -> u32 {
    unsafe { memory::<u8>(to).copy_from(memory::<u8>(from), bytes) };
    0
}
