//! A stand-in for the CUDA driver library: it keeps memory on the host, runs one kernel that it
//! knows, and writes down what it was asked.
//!
//! `gpu.rs` compiles it as `libcuda.so`. It has exactly the symbols that `baton-host` looks for, so a
//! call of any other would panic in the test. Its wishes come in environment variables:
//!
//! - `STAND_IN_GPUS`: how many GPUs it shows; 1 by default.
//! - `STAND_IN_CAPABILITY`: their compute capability; `9.0` by default.
//! - `STAND_IN_FAIL`: `symbol:code`, a function that fails with this code.
//!
//! Work of streams is done at once, and events say that it is pending until [`stand_in_complete`]: so
//! values are right, and what is looked at is which calls order the streams. Streams and events have
//! numbers, in the order in which they were made. [`stand_in_fail`] sets the wish of `STAND_IN_FAIL`
//! later on.

#![allow(non_snake_case)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::env::var;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const INVALID_VALUE: c_uint = 1;
const INVALID_CONTEXT: c_uint = 201;
const NOT_FOUND: c_uint = 500;
const NOT_READY: c_uint = 600;
const CAPTURE_UNSUPPORTED: c_uint = 900;

static LOG: Mutex<String> = Mutex::new(String::new());
static ALLOCATIONS: Mutex<Option<HashMap<u64, Layout>>> = Mutex::new(None);

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

/// Allocations that were not freed.
#[unsafe(no_mangle)]
extern "C" fn stand_in_allocations() -> usize {
    ALLOCATIONS.lock().unwrap().as_ref().map_or(0, HashMap::len)
}

/// A wish that came later than the process began.
static WISH: Mutex<Option<String>> = Mutex::new(None);

/// Whether events are complete.
static COMPLETE: AtomicBool = AtomicBool::new(false);

static STREAMS: AtomicUsize = AtomicUsize::new(0);
static EVENTS: AtomicUsize = AtomicUsize::new(0);

/// The stream that is captured, and not 0.
static CAPTURED: AtomicUsize = AtomicUsize::new(0);

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
    static CURRENT: std::cell::Cell<*mut c_void> = const { std::cell::Cell::new(null_mut()) };
}

/// Functions that need a current context say so, as the driver's do.
fn in_context(symbol: &str, work: impl FnOnce() -> c_uint) -> c_uint {
    match wish(symbol) {
        0 if CURRENT.get().is_null() => INVALID_CONTEXT,
        0 => work(),
        code => code,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_uint {
    wish("cuInit")
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
    unsafe { *context = std::ptr::without_provenance_mut(0x1000 + device as usize) };
    wish("cuDevicePrimaryCtxRetain")
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_uint {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_uint {
    unsafe { *context = CURRENT.get() };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> c_uint {
    CURRENT.set(context);
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_uint {
    in_context("cuCtxSynchronize", || {
        log("synchronize".into());
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_uint {
    in_context("cuMemAlloc_v2", || {
        if bytes == 0 || bytes > 1 << 30 {
            return if bytes == 0 { INVALID_VALUE } else { 2 };
        }
        let layout = Layout::from_size_align(bytes, 256).unwrap();
        let place = unsafe { alloc(layout) }.expose_provenance() as u64;
        ALLOCATIONS.lock().unwrap().get_or_insert_default().insert(place, layout);
        unsafe { *address = place };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFree_v2(address: u64) -> c_uint {
    in_context("cuMemFree_v2", || {
        log("free".into());
        unsafe { free(address) }
    })
}

unsafe fn free(address: u64) -> c_uint {
    in_context("free", || {
        let Some(layout) = ALLOCATIONS.lock().unwrap().get_or_insert_default().remove(&address)
        else {
            return INVALID_VALUE;
        };
        unsafe { dealloc(memory(address), layout) };
        0
    })
}

fn memory<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> c_uint {
    in_context("cuMemcpyHtoD_v2", || {
        unsafe { memory::<u8>(to).copy_from_nonoverlapping(from, bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) -> c_uint {
    in_context("cuMemcpyDtoH_v2", || {
        unsafe { to.copy_from_nonoverlapping(memory(from), bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8_v2(at: u64, byte: u8, bytes: usize) -> c_uint {
    in_context("cuMemsetD8_v2", || {
        unsafe { memory::<u8>(at).write_bytes(byte, bytes) };
        0
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
    in_context("cuModuleLoadDataEx", || {
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
        if is_scale(function) {
            let word = |param: usize, word: usize| unsafe {
                (*params.add(param)).cast::<u64>().add(word).read_unaligned()
            };
            let factor = unsafe { (*params.add(2)).cast::<f32>().read_unaligned() };
            let (from, to) = (memory::<f32>(word(0, 0)), memory::<f32>(word(1, 0)));
            for i in 0..word(0, 1).min(word(1, 1)) as usize {
                unsafe { to.add(i).write(factor * from.add(i).read()) };
            }
        }
        0
    })
}

/// Writes its arguments into the map, so that they can be compared.
/// What other programs load, without options.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, _code: *const c_void) -> c_uint {
    in_context("cuModuleLoadData", || {
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
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: *mut c_void) -> c_uint {
    in_context("cuEventSynchronize", || {
        if event.addr() < TIMER {
            log(format!("synchronize event {}", event.addr()));
        }
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: *mut c_void) -> c_uint {
    in_context("cuEventQuery", || {
        log(format!("query {}", event.addr()));
        match (CAPTURED.load(Ordering::Relaxed), COMPLETE.load(Ordering::Relaxed)) {
            (0, true) => 0,
            (0, false) => NOT_READY,
            _ => CAPTURE_UNSUPPORTED,
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
extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> c_uint {
    log(format!("destroy stream {}", stream.addr()));
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: *mut c_void) -> c_uint {
    in_context("cuStreamSynchronize", || {
        log(format!("synchronize stream {}", stream.addr()));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _: c_uint) -> c_uint {
    in_context("cuStreamWaitEvent", || {
        log(format!("{} waits for {}", stream.addr(), event.addr()));
        0
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, _mode: c_uint) -> c_uint {
    in_context("cuStreamBeginCapture_v2", || {
        log(format!("begin capture of {}", stream.addr()));
        CAPTURED.store(stream.addr(), Ordering::Relaxed);
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_uint {
    in_context("cuStreamEndCapture", || {
        log(format!("end capture of {}", stream.addr()));
        CAPTURED.store(0, Ordering::Relaxed);
        unsafe { *graph = handle(0x4000) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    exec: *mut *mut c_void,
    _graph: *mut c_void,
    _flags: u64,
) -> c_uint {
    unsafe { *exec = handle(0x5000) };
    wish("cuGraphInstantiateWithFlags")
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(_graph: *mut c_void) -> c_uint {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(_exec: *mut c_void, stream: *mut c_void) -> c_uint {
    in_context("cuGraphLaunch", || {
        log(format!("launch graph on {}", stream.addr()));
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
    match wish("cuMemAllocAsync") {
        0 => unsafe { cuMemAlloc_v2(address, bytes) },
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFreeAsync(address: u64, stream: *mut c_void) -> c_uint {
    log(format!("free on {}", stream.addr()));
    match wish("cuMemFreeAsync") {
        0 => unsafe { free(address) },
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyDtoDAsync_v2", || {
        log(format!("copy on {}", stream.addr()));
        unsafe { memory::<u8>(to).copy_from(memory::<u8>(from), bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const u8,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyHtoDAsync_v2", || {
        log(format!("upload on {}", stream.addr()));
        unsafe { memory::<u8>(to).copy_from_nonoverlapping(from, bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut u8,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemcpyDtoHAsync_v2", || {
        log(format!("download on {}", stream.addr()));
        unsafe { to.copy_from_nonoverlapping(memory(from), bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemsetD8Async(
    at: u64,
    byte: u8,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    in_context("cuMemsetD8Async", || {
        log(format!("fill on {}", stream.addr()));
        unsafe { memory::<u8>(at).write_bytes(byte, bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemHostAlloc(
    host: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> c_uint {
    let mut address = 0;
    let code = unsafe { cuMemAlloc_v2(&mut address, bytes) };
    unsafe { *host = memory(address) };
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemFreeHost(host: *mut c_void) -> c_uint {
    log("free host memory".into());
    unsafe { free(host as u64) }
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
