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
//! - `STAND_IN_FAIL`: `symbol:code`, a function that fails with this code; `kernel:code` is a kernel that
//!   fails when it runs.
//!
//! It is as unkind as the driver's documents let a driver be: work is done when something waits for it and
//! not before (`model.rs`), what a capture forbids is refused and spoils the capture (`captures.rs`), an
//! error that ends a context is the answer to every later call, freed memory is overwritten and used again,
//! and work that uses memory which is not there is a violation ([`stand_in_violations`]). Streams and events
//! have numbers, in the order in which they were made. An event that has not been waited for is pending
//! until [`stand_in_complete`]. [`stand_in_fail`] sets the wish of `STAND_IN_FAIL` later on.

#![allow(non_snake_case)]

mod captures;
mod model;

use std::cell::Cell;
use std::env::var;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use captures::{CAPTURED_EVENT, UNSUPPORTED, context_wait, unsafe_call, wait_for};
use model::{Host, IN_CALLBACK, Op, machine, memory};

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
    CString::new(machine().violations.join("\n")).unwrap().into_raw()
}

/// From now on, some work is done early, as this seed says; 0 ends it.
#[unsafe(no_mangle)]
extern "C" fn stand_in_seed(seed: u64) {
    machine().random = seed;
}

/// A wish that came later than the process began.
static WISH: Mutex<Option<String>> = Mutex::new(None);

/// Whether work that an event asks for is done by then.
static COMPLETE: AtomicBool = AtomicBool::new(false);

static STREAMS: AtomicUsize = AtomicUsize::new(0);
static EVENTS: AtomicUsize = AtomicUsize::new(0);
static CONTEXTS: AtomicUsize = AtomicUsize::new(0);

/// The error that has ended the context, and is the answer to everything from then on (cuda.h, of each such
/// code: "the context cannot be used" or "leaves the process in an inconsistent state").
static LOST: AtomicU32 = AtomicU32::new(0);

fn is_terminal(code: c_uint) -> bool {
    matches!(code, 4 | 142 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 806 | 810 | 911 | 999)
}

/// From now on, events are complete, or not.
#[unsafe(no_mangle)]
extern "C" fn stand_in_complete(complete: bool) {
    COMPLETE.store(complete, Ordering::Relaxed);
}

/// From now on, this function fails: `symbol:code`; the empty text ends it.
#[unsafe(no_mangle)]
unsafe extern "C" fn stand_in_fail(wish: *const c_char) {
    let wish = unsafe { CStr::from_ptr(wish) }.to_str().unwrap().to_owned();
    *WISH.lock().unwrap() = Some(wish);
}

/// Forgets what was asked so far.
#[unsafe(no_mangle)]
extern "C" fn stand_in_forget() {
    LOG.lock().unwrap().clear();
}

fn wish(symbol: &str) -> c_uint {
    let later = WISH.lock().unwrap().clone();
    let wish = later.or_else(|| var("STAND_IN_FAIL").ok());
    match wish.as_deref().and_then(|wish| wish.split_once(':')) {
        Some((failing, code)) if failing == symbol => code.parse().unwrap(),
        _ => 0,
    }
}

thread_local! {
    static CURRENT: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

/// Functions that need a current context say so, as the driver's do; so do they in a callback, and when the
/// context has ended. A context that is current but nobody's here does not know our handles.
fn in_context(symbol: &str, work: impl FnOnce() -> c_uint) -> c_uint {
    if IN_CALLBACK.get() {
        return NOT_PERMITTED;
    }
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
        code => {
            if is_terminal(code) {
                LOST.store(code, Ordering::Relaxed);
            }
            code
        }
    }
}

/// The same for what a capture forbids.
fn unsafe_in_context(symbol: &str, work: impl FnOnce() -> c_uint) -> c_uint {
    in_context(symbol, || unsafe_call().err().unwrap_or_else(work))
}

/// Work for a stream that uses these bytes.
fn give(
    stream: usize,
    touched: &[(u64, usize)],
    work: impl Fn() -> u32 + Send + Sync + 'static,
) -> c_uint {
    let mut machine = machine();
    let touched = touched.iter().flat_map(|(at, bytes)| machine.meant(*at, *bytes)).collect();
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

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_uint {
    wish("cuInit")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_uint {
    unsafe { *version = var("STAND_IN_VERSION").map_or(13000, |version| version.parse().unwrap()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: c_uint, name: *mut *const c_char) -> c_uint {
    let text = match code {
        100 => c"CUDA_ERROR_NO_DEVICE",
        209 => c"CUDA_ERROR_NO_BINARY_FOR_GPU",
        719 => c"CUDA_ERROR_LAUNCH_FAILED",
        _ => c"CUDA_ERROR_OF_THE_STAND_IN",
    };
    unsafe { *name = text.as_ptr() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(_code: c_uint, text: *mut *const c_char) -> c_uint {
    unsafe { *text = c"what the stand-in says".as_ptr() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_uint {
    unsafe { *count = var("STAND_IN_GPUS").map_or(1, |gpus| gpus.parse().unwrap()) };
    wish("cuDeviceGetCount")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_uint {
    unsafe { *device = ordinal };
    wish("cuDeviceGet")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> c_uint {
    let text = CString::new(format!("Stand-in {device}")).unwrap();
    let bytes = text.as_bytes_with_nul();
    assert!(bytes.len() <= len as usize);
    unsafe { name.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, _: c_int) -> c_uint {
    let capability = var("STAND_IN_CAPABILITY").unwrap_or("9.0".into());
    let (major, minor) = capability.split_once('.').unwrap();
    let answer = match which {
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        16 => 132,
        6 | 7 => 65535,
        75 => major.parse().unwrap(),
        76 => minor.parse().unwrap(),
        97 => 227 * 1024,
        115 | 120 => 1,
        _ => return INVALID_VALUE,
    };
    unsafe { *value = answer };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_uint {
    unsafe { *bytes = 1 << 30 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_uint {
    CONTEXTS.fetch_add(1, Ordering::Relaxed);
    unsafe { *context = std::ptr::without_provenance_mut(0x1000 + device as usize) };
    wish("cuDevicePrimaryCtxRetain")
}

/// How often a primary context was asked for.
#[unsafe(no_mangle)]
extern "C" fn stand_in_contexts() -> usize {
    CONTEXTS.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_uint {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_uint {
    CONTEXT_CALLS.fetch_add(1, Ordering::Relaxed);
    unsafe { *context = CURRENT.get() };
    0
}

/// How often contexts were asked for and set.
static CONTEXT_CALLS: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
extern "C" fn stand_in_context_calls() -> usize {
    CONTEXT_CALLS.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> c_uint {
    CONTEXT_CALLS.fetch_add(1, Ordering::Relaxed);
    CURRENT.set(context);
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_uint {
    in_context("cuCtxSynchronize", || {
        log("synchronize".into());
        if let Err(code) = context_wait() {
            return code;
        }
        machine().run_all();
        LOST.load(Ordering::Relaxed)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_uint {
    unsafe_in_context("cuMemAlloc_v2", || unsafe { allocate(address, bytes, None, false) })
}

unsafe fn allocate(address: *mut u64, bytes: usize, stream: Option<usize>, host: bool) -> c_uint {
    let limit = var("STAND_IN_MEMORY").map_or(1 << 30, |limit| limit.parse().unwrap());
    if bytes == 0 || bytes > limit {
        return if bytes == 0 { INVALID_VALUE } else { 2 };
    }
    unsafe { *address = machine().allocate(bytes, stream, host) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> c_uint {
    unsafe_in_context("cuMemFree_v2", || {
        log("free".into());
        if machine().give_back(address, None) { 0 } else { INVALID_VALUE }
    })
}

/// *Sync*, "Synchronous", pageable memory to the device: "the function will return once the pageable buffer
/// has been copied to the staging memory for DMA transfer to device memory, but the DMA to final destination
/// may not have completed". It is on the legacy stream, for which non-blocking streams do not wait (*Streams*).
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> c_uint {
    unsafe_in_context("cuMemcpyHtoD_v2", || {
        log("upload at once".into());
        let code = finish(0);
        let staged = unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec();
        give(0, &[(to, bytes)], move || {
            unsafe { memory::<u8>(to).copy_from_nonoverlapping(staged.as_ptr(), staged.len()) };
            0
        });
        code
    })
}

/// *Sync*: "from device to either pageable or pinned host memory, the function returns only once the copy has
/// completed". It waits for the legacy stream and for no other.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) -> c_uint {
    unsafe_in_context("cuMemcpyDtoH_v2", || {
        log("download at once".into());
        let to = to.expose_provenance() as u64;
        give(0, &[(from, bytes)], move || copy(to, from, bytes));
        finish(0)
    })
}

/// *Sync*, "Memset": asynchronous to the host, on the legacy stream.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8_v2(at: u64, byte: u8, bytes: usize) -> c_uint {
    unsafe_in_context("cuMemsetD8_v2", || {
        log("fill at once".into());
        give(0, &[(at, bytes)], move || {
            unsafe { memory::<u8>(at).write_bytes(byte, bytes) };
            0
        })
    })
}

/// Takes PTX, and machine code that begins with `good`; of other code it says why not.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    code: *const c_char,
    options: c_uint,
    names: *const c_int,
    values: *const *mut c_void,
) -> c_uint {
    unsafe_in_context("cuModuleLoadDataEx", || {
        let code = unsafe { CStr::from_ptr(code) }.to_string_lossy();
        let form = code.split_whitespace().next().unwrap_or_default();
        log(format!("load {form}"));
        if !(form == ".version" || form == "good") {
            for option in 0..options as usize {
                // CU_JIT_ERROR_LOG_BUFFER
                if unsafe { *names.add(option) } == 5 {
                    let said = c"unfit for this GPU";
                    let log: *mut c_char = unsafe { *values.add(option) }.cast();
                    unsafe { log.copy_from_nonoverlapping(said.as_ptr(), said.count_bytes() + 1) };
                }
            }
            return 209;
        }
        unsafe { *module = std::ptr::without_provenance_mut(0x2000) };
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: *mut c_void) -> c_uint {
    log("unload".into());
    0
}

/// A kernel is a letter's address: `scale`, or `cluster` that was compiled for clusters of 2.
static SCALE: u8 = 0;
static CLUSTER: u8 = 1;
/// Kernels of which only the launches are looked at.
static WRITE_PLAIN: u8 = 2;
static READ_PLAIN: u8 = 3;

fn is_scale(function: *const u8) -> bool {
    std::ptr::eq(function, &SCALE)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *const u8,
    _module: *mut c_void,
    name: *const c_char,
) -> c_uint {
    log("look up a kernel".into());
    let kernel: &'static u8 = match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"scale" => &SCALE,
        b"cluster" => &CLUSTER,
        b"write_plain" => &WRITE_PLAIN,
        b"read_plain" => &READ_PLAIN,
        _ => return NOT_FOUND,
    };
    unsafe { *function = kernel };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    which: c_int,
    function: *const u8,
) -> c_uint {
    log(format!("look up value {which}"));
    let answer = match which {
        0 => 512,
        8 => 48 * 1024,
        11 if !is_scale(function) => 2,
        12 | 13 if !is_scale(function) => 1,
        11..=13 => 0,
        _ => return INVALID_VALUE,
    };
    unsafe { *value = answer };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_function: *const u8, which: c_int, value: c_int) -> c_uint {
    log(format!("set attribute {which} to {value}"));
    0
}

/// Two CTAs of 64 threads, by its own arithmetic.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    ctas: *mut c_int,
    _function: *const u8,
    threads: c_int,
    shared: usize,
) -> c_uint {
    log(format!("occupancy of {threads} threads and {shared} bytes"));
    unsafe { *ctas = 128 / threads };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    _function: *const u8,
    config: *const Config,
) -> c_uint {
    let config = unsafe { &*config };
    log(format!("clusters of grid {:?} block {:?}", config.grid, config.block));
    unsafe { *clusters = 66 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetParamInfo(
    function: *const u8,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> c_uint {
    log(format!("look up parameter {index}"));
    if wish("cuFuncGetParamInfo") != 0 {
        return wish("cuFuncGetParamInfo");
    }
    let sizes: &[usize] = if is_scale(function) { &[16, 16, 4] } else { &[] };
    let Some(found) = sizes.get(index) else { return INVALID_VALUE };
    unsafe { *offset = sizes[..index].iter().sum() };
    unsafe { *size = *found };
    0
}

#[repr(C)]
struct Attribute {
    id: c_uint,
    pad: [u8; 4],
    value: [c_uint; 16],
}

#[repr(C)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: *mut c_void,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    function: *const u8,
    params: *const *const u8,
    _extra: *mut *mut c_void,
) -> c_uint {
    in_context("cuLaunchKernelEx", || {
        let config = unsafe { &*config };
        let attributes: Vec<_> = (0..config.attribute_count as usize)
            .map(|index| unsafe { &*config.attributes.add(index) })
            .map(|attribute| format!(" attribute {} = {:?}", attribute.id, &attribute.value[..3]))
            .collect();
        let stream = match config.stream.addr() {
            0 => String::new(),
            stream => format!(" on {stream}"),
        };
        log(format!(
            "launch grid {:?} block {:?} shared {}{}{stream}",
            config.grid,
            config.block,
            config.shared,
            attributes.concat()
        ));
        let fails = wish("kernel");
        if !is_scale(function) {
            return give(config.stream.addr(), &[], move || fails);
        }
        let word = |param: usize, word: usize| unsafe {
            (*params.add(param)).cast::<u64>().add(word).read_unaligned()
        };
        let factor = unsafe { (*params.add(2)).cast::<f32>().read_unaligned() };
        let (from, to) = (word(0, 0), word(1, 0));
        let len = word(0, 1).min(word(1, 1)) as usize;
        give(config.stream.addr(), &[(from, 4 * len), (to, 4 * len)], move || {
            for i in 0..len {
                unsafe {
                    let value = memory::<f32>(from).add(i).read();
                    memory::<f32>(to).add(i).write(factor * value);
                }
            }
            fails
        })
    })
}

/// Writes its arguments into the map, so that they can be compared.
/// What other programs load, without options.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, _code: *const c_void) -> c_uint {
    unsafe_in_context("cuModuleLoadData", || {
        log("load".into());
        unsafe { *module = std::ptr::without_provenance_mut(0x2000) };
        0
    })
}

/// What other programs launch, without attributes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: *const u8,
    grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared: c_uint,
    stream: *mut c_void,
    params: *const *const u8,
    _extra: *mut *mut c_void,
) -> c_uint {
    in_context("cuLaunchKernel", || {
        let word = |param: usize| unsafe { (*params.add(param)).cast::<u64>().read_unaligned() };
        let half = |param: usize| unsafe { (*params.add(param)).cast::<u32>().read_unaligned() };
        let what = if std::ptr::eq(function, &WRITE_PLAIN) {
            format!("write {} words, round {}", word(1), half(2))
        } else {
            format!("read {} words, round {}, {} pauses", word(1), half(3), half(4))
        };
        log(format!("{what}, {grid_x} x {block_x} on {}", stream.addr()));
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut [u64; 16],
    data_type: c_uint,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    box_dims: *const c_uint,
    element_strides: *const c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    l2_promotion: c_uint,
    fill: c_uint,
) -> c_uint {
    assert!((map as usize).is_multiple_of(128));
    unsafe {
        let rank = rank as usize;
        log(format!(
            "tiled map: type {data_type} dims {:?} strides {:?} box {:?} steps {:?} \
             interleave {interleave} swizzle {swizzle} L2 {l2_promotion} fill {fill}",
            list(dims, rank),
            list(strides, rank - 1),
            list(box_dims, rank),
            list(element_strides, rank),
        ));
        *map = [0; 16];
        (*map)[0] = u64::from(data_type);
        (*map)[1] = address as u64;
    }
    wish("cuTensorMapEncodeTiled")
}

unsafe fn list<T: Copy>(first: *const T, len: usize) -> Vec<T> {
    unsafe { std::slice::from_raw_parts(first, len) }.to_vec()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapEncodeIm2col(
    map: *mut [u64; 16],
    data_type: c_uint,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    lower: *const c_int,
    upper: *const c_int,
    channels: c_uint,
    pixels: c_uint,
    element_strides: *const c_uint,
    interleave: c_uint,
    swizzle: c_uint,
    l2_promotion: c_uint,
    fill: c_uint,
) -> c_uint {
    assert!((map as usize).is_multiple_of(128));
    unsafe {
        let rank = rank as usize;
        log(format!(
            "im2col map: type {data_type} dims {:?} strides {:?} corners {:?} {:?} channels {channels} pixels {pixels} \
             steps {:?} interleave {interleave} swizzle {swizzle} L2 {l2_promotion} fill {fill}",
            list(dims, rank),
            list(strides, rank - 1),
            list(lower, rank - 2),
            list(upper, rank - 2),
            list(element_strides, rank),
        ));
        *map = [0; 16];
        (*map)[0] = u64::from(data_type);
        (*map)[1] = address as u64;
    }
    wish("cuTensorMapEncodeIm2col")
}

/// Handles are numbers; a timer's are larger than all others.
const TIMER: usize = 1 << 20;

fn handle(number: usize) -> *mut c_void {
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
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context("cuEventRecord", || {
        if event.addr() < TIMER {
            log(format!("record {} on {}", event.addr(), stream.addr()));
        }
        let mut machine = machine();
        let line = machine.line(stream.addr());
        let place = line.capture.is_none().then_some((stream.addr(), line.given));
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
            Some(None) => CAPTURED_EVENT,
            Some(Some((stream, place))) => {
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
            Some(None) => return CAPTURED_EVENT,
            Some(Some((stream, place))) if COMPLETE.load(Ordering::Relaxed) => {
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
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_uint {
    in_context("cuCtxGetStreamPriorityRange", || {
        unsafe { (*least, *greatest) = (0, -5) };
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> c_uint {
    log(format!("destroy stream {}", stream.addr()));
    0
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
extern "C" fn cuGraphDestroy(_graph: *mut c_void) -> c_uint {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context("cuGraphLaunch", || {
        log(format!("launch graph on {}", stream.addr()));
        let mut machine = machine();
        let ops = machine.graphs.get(&exec.addr()).cloned().unwrap_or_default();
        ops.into_iter().for_each(|op| machine.give(stream.addr(), op));
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
extern "C" fn cuGraphExecDestroy(_exec: *mut c_void) -> c_uint {
    log("destroy graph".into());
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocAsync(
    address: *mut u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    log(format!("allocate on {}", stream.addr()));
    in_context("cuMemAllocAsync", || {
        unsafe { allocate(address, bytes, Some(stream.addr()), false) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> c_uint {
    in_context("cuMemFreeAsync", || {
        log(format!("free on {}", stream.addr()));
        if machine().give_back(address, Some(stream.addr())) { 0 } else { INVALID_VALUE }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyDtoDAsync_v2", || {
        log(format!("copy on {}", stream.addr()));
        give(stream.addr(), &[(to, bytes), (from, bytes)], move || copy(to, from, bytes))
    })
}

/// *Sync*, "Asynchronous": page-locked memory is read when the copy is done; "if pageable memory must first be
/// staged to pinned memory, the driver may" do that before it returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const u8,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyHtoDAsync_v2", || {
        log(format!("upload on {}", stream.addr()));
        let host = from.expose_provenance() as u64;
        if machine().is_host(host) {
            let touched = [(to, bytes), (host, bytes)];
            return give(stream.addr(), &touched, move || copy(to, host, bytes));
        }
        let staged = unsafe { std::slice::from_raw_parts(from, bytes) }.to_vec();
        give(stream.addr(), &[(to, bytes)], move || {
            unsafe { memory::<u8>(to).copy_from_nonoverlapping(staged.as_ptr(), staged.len()) };
            0
        })
    })
}

/// *Sync*, "Asynchronous": it "might be synchronous with respect to host" to pageable memory, and is not here.
#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut u8,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyDtoHAsync_v2", || {
        log(format!("download on {}", stream.addr()));
        let to = to.expose_provenance() as u64;
        let pinned = machine().is_host(to);
        let touched = [(from, bytes), (to, if pinned { bytes } else { 0 })];
        give(stream.addr(), &touched, move || copy(to, from, bytes))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(at: u64, byte: u8, bytes: usize, stream: *mut c_void) -> c_uint {
    in_context("cuMemsetD8Async", || {
        log(format!("fill on {}", stream.addr()));
        give(stream.addr(), &[(at, bytes)], move || {
            unsafe { memory::<u8>(at).write_bytes(byte, bytes) };
            0
        })
    })
}

#[repr(C)]
struct Copy2D {
    src: [usize; 2],
    src_type: c_uint,
    src_host: *const c_void,
    src_device: u64,
    src_array: *mut c_void,
    src_pitch: usize,
    dst: [usize; 2],
    dst_type: c_uint,
    dst_host: *mut c_void,
    dst_device: u64,
    dst_array: *mut c_void,
    dst_pitch: usize,
    width: usize,
    height: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpy2DAsync_v2(copy2d: *const Copy2D, stream: *mut c_void) -> c_uint {
    in_context("cuMemcpy2DAsync_v2", || {
        let c = unsafe { &*copy2d };
        // CU_MEMORYTYPE_DEVICE
        assert_eq!((c.src_type, c.dst_type), (2, 2));
        if c.width > c.src_pitch || c.width > c.dst_pitch {
            return INVALID_VALUE;
        }
        let (width, height) = (c.width, c.height);
        log(format!("copy {height} rows of {width} bytes on {}", stream.addr()));
        let at = |base: u64, [x, y]: [usize; 2], pitch: usize| base + (y * pitch + x) as u64;
        let (from, from_pitch) = (at(c.src_device, c.src, c.src_pitch), c.src_pitch);
        let (to, to_pitch) = (at(c.dst_device, c.dst, c.dst_pitch), c.dst_pitch);
        let span = |pitch: usize| if height == 0 { 0 } else { (height - 1) * pitch + width };
        let touched = [(from, span(from_pitch)), (to, span(to_pitch))];
        give(stream.addr(), &touched, move || {
            for row in 0..height {
                copy(to + (row * to_pitch) as u64, from + (row * from_pitch) as u64, width);
            }
            0
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: *mut c_void,
    from: u64,
    from_context: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyPeerAsync", || {
        let [to_gpu, from_gpu] = [to_context, from_context].map(|context| context.addr() & 0xf);
        log(format!("copy from GPU {from_gpu} to GPU {to_gpu} on {}", stream.addr()));
        give(stream.addr(), &[(to, bytes), (from, bytes)], move || copy(to, from, bytes))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(
    host: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> c_uint {
    unsafe_in_context("cuMemHostAlloc", || {
        log("allocate host memory".into());
        let mut address = 0;
        let code = unsafe { allocate(&mut address, bytes, None, true) };
        unsafe { *host = memory(address) };
        code
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(host: *mut c_void) -> c_uint {
    unsafe_in_context("cuMemFreeHost", || {
        log("free host memory".into());
        if machine().give_back(host.expose_provenance() as u64, None) { 0 } else { INVALID_VALUE }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime_v2(
    milliseconds: *mut f32,
    _start: *mut c_void,
    _end: *mut c_void,
) -> c_uint {
    unsafe { *milliseconds = 1.5 };
    0
}

#[cfg(not(without_event_destroy))]
#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_event: *mut c_void) -> c_uint {
    0
}
