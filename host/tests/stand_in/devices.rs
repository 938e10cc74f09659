//! Devices, contexts and what the driver says of itself.

use std::env::var;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::captures::context_wait;
use crate::model::machine;
use crate::{CONTEXTS, CURRENT, INVALID_VALUE, LOST, in_context, log, unless_refused, wish};

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
    unless_refused("cuGetErrorName", || unsafe { *name = text.as_ptr() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(_code: c_uint, text: *mut *const c_char) -> c_uint {
    unless_refused("cuGetErrorString", || unsafe { *text = c"what the stand-in says".as_ptr() })
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
    unless_refused("cuDeviceGetName", || unsafe {
        name.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    })
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
        // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        115 => i32::from(var("STAND_IN_NO_POOLS").is_err()),
        120 => 1,
        // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
        89 => i32::from(var("STAND_IN_ALONE").is_err()),
        _ => return INVALID_VALUE,
    };
    unless_refused("cuDeviceGetAttribute", || unsafe { *value = answer })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_uint {
    unless_refused("cuDeviceTotalMem_v2", || unsafe { *bytes = 1 << 30 })
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
    wish("cuDevicePrimaryCtxRelease_v2")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_uint {
    CONTEXT_CALLS.fetch_add(1, Ordering::Relaxed);
    unless_refused("cuCtxGetCurrent", || unsafe { *context = CURRENT.get() })
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
    unless_refused("cuCtxSetCurrent", || CURRENT.set(context))
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
unsafe extern "C" fn cuCtxGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> c_uint {
    in_context("cuCtxGetStreamPriorityRange", || {
        unsafe { (*least, *greatest) = (0, -5) };
        0
    })
}
