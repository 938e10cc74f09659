//! Errors, and the versions of driver and runtime.

use std::ffi::c_char;

use super::{call, entries, put};
use crate::code::Code;
use crate::device;

/// CUDA 13.0, which the library's name promises.
const VERSION: i32 = 13_000;

entries! {
    cudaGetLastError() { device::with(|device| device.last(true)) }
    cudaPeekAtLastError() { device::with(|device| device.last(false)) }
    cudaDriverGetVersion(to: *mut i32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, VERSION) })
    }
    cudaRuntimeGetVersion(to: *mut i32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, VERSION) })
    }
    cudaProfilerStart() { call(|_| Ok(())) }
    cudaProfilerStop() { call(|_| Ok(())) }
}

/// `cudaGetErrorString`
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    Code::text(code).as_ptr()
}

/// `cudaGetErrorName`
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    Code::name(code).as_ptr()
}
