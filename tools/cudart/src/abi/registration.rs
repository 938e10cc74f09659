//! What nvcc's code calls before `main`: the program hands over its fat binaries, kernels and variables.

use std::ffi::{c_char, c_void};
use std::slice;

use super::{Dim3, entries, put, text};
use crate::code::Code;
use crate::device::{self, Shape};
use crate::fatbin;

/// What the program has in its section for fat binaries.
#[repr(C)]
#[derive(Debug)]
pub struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    /// Of version 2: the containers that the device linker left, up to a null.
    linked: *const c_void,
}

const MAGIC: u32 = 0x4662_43B1;

/// Where a program's fat binary stands, as the handle that it gets; beginning with one, so that it is not null.
fn handle(module: usize) -> *mut *mut c_void {
    std::ptr::without_provenance_mut(module + 1)
}

fn module(handle: *mut *mut c_void) -> usize {
    handle.addr().wrapping_sub(1)
}

/// `__cudaRegisterFatBinary`
///
/// # Safety
/// `wrapper` is what nvcc made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const Wrapper) -> *mut *mut c_void {
    let mut container: &[u8] = &[];
    if !wrapper.is_null() {
        // SAFETY: nvcc made it, with all fields.
        let wrapper = unsafe { &*wrapper };
        if wrapper.magic == MAGIC && !wrapper.data.is_null() {
            // SAFETY: a container begins with a header of this size.
            let header: &[u8; 16] = unsafe { &*wrapper.data.cast() };
            let length = fatbin::length(header).unwrap_or(0);
            // SAFETY: the header says so, and the section that it stands in is never written nor taken away.
            container = unsafe { slice::from_raw_parts(wrapper.data, length) };
        }
    }
    handle(device::with(|device| device.register(container)))
}

/// `__cudaRegisterFatBinaryEnd`
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// `__cudaUnregisterFatBinary`
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

/// `__cudaInitModule`
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> c_char {
    1
}

/// `__cudaRegisterFunction`
///
/// # Safety
/// The names are texts of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_char,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: i32,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut Dim3,
    _grid: *mut Dim3,
    _warp_size: *mut i32,
) {
    // SAFETY: the caller says so.
    let name = unsafe { text(name) };
    device::with(|device| device.register_kernel(module(handle), host.addr() as u64, &name));
}

/// `__cudaRegisterVar`
///
/// # Safety
/// The names are texts of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _address: *mut c_char,
    name: *const c_char,
    _external: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: the caller says so.
    let name = unsafe { text(name) };
    device::with(|device| {
        device.register_variable(module(handle), host.addr() as u64, &name, size as u64);
    });
}

/// `__cudaRegisterManagedVar`
///
/// # Safety
/// The name is a text of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    _host: *mut *mut c_void,
    _address: *mut c_char,
    name: *const c_char,
    _external: i32,
    size: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: the caller says so.
    let name = unsafe { text(name) };
    device::with(|device| {
        // What it returns goes nowhere: the command tells of it.
        let _ = device.register_managed(module(handle), &name, size as u64);
    });
}

/// `__cudaPushCallConfiguration`
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    dynamic_shared: usize,
    stream: *mut c_void,
) -> u32 {
    device::with(|device| {
        device.announced.push(Shape {
            grid: grid.get(),
            block: block.get(),
            dynamic_shared: dynamic_shared as u64,
            stream: stream.addr() as u64,
            ..Shape::default()
        });
    });
    0
}

entries! {
    __cudaPopCallConfiguration(
        grid: *mut Dim3, block: *mut Dim3, dynamic_shared: *mut usize, stream: *mut *mut c_void,
    ) {
        device::with(|device| {
            let Some(shape) = device.announced.pop() else { return device.returns(Err(Code::MISSING_CONFIGURATION)) };
            let dim3 = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            // SAFETY: the program asked for them there.
            let done = unsafe { put(grid, dim3(shape.grid)) }
                // SAFETY: as above.
                .and_then(|()| unsafe { put(block, dim3(shape.block)) })
                // SAFETY: as above.
                .and_then(|()| unsafe { put(dynamic_shared, shape.dynamic_shared as usize) })
                // SAFETY: as above.
                .and_then(|()| unsafe { put(stream, std::ptr::without_provenance_mut(shape.stream as usize)) });
            device.returns(done)
        })
    }
    // The host function stands for its kernel.
    __cudaGetKernel(to: *mut *const c_void, host: *const c_void) {
        // SAFETY: the program asked for it there.
        super::call(|_| unsafe { put(to, host) })
    }
    cudaGetKernel(to: *mut *const c_void, host: *const c_void) {
        // SAFETY: the program asked for it there.
        super::call(|_| unsafe { put(to, host) })
    }
    cudaGetFuncBySymbol(to: *mut *const c_void, host: *const c_void) {
        // SAFETY: the program asked for it there.
        super::call(|_| unsafe { put(to, host) })
    }
}
