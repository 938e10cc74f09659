//! Memory: allocation, copies, and values of variables.

use std::ffi::c_void;

use super::{call, entries, put};
use crate::code::Code;
use crate::device::{Device, Memory, Result};

/// Between rows that the runtime lays out.
const PITCH: u64 = 512;

/// `cudaPointerAttributes`
#[repr(C)]
#[derive(Debug, Default)]
pub struct Attributes {
    kind: i32,
    device: i32,
    on_device: u64,
    on_host: u64,
    reserved: [u64; 8],
}

/// `cudaPitchedPtr`
#[repr(C)]
#[derive(Debug)]
pub struct Pitched {
    at: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// `cudaExtent`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// Gives the program an address.
///
/// # Safety
/// `to` is null, or an address can be written there.
unsafe fn give(to: *mut u64, address: Result<u64>) -> Result<()> {
    let address = address?;
    // SAFETY: the caller says so.
    unsafe { put(to, address) }
}

/// Where bytes of a variable lie.
fn inside(device: &mut Device, symbol: *const c_void, bytes: usize, offset: usize) -> Result<u64> {
    let (address, size) = device.symbol(symbol.addr() as u64)?;
    let end = (offset as u64).checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
    if end > size { Err(Code::INVALID_VALUE) } else { Ok(address + offset as u64) }
}

/// A copy of one row.
///
/// # Safety
/// What of both places is the host's can be read and written.
unsafe fn row(device: &mut Device, to: u64, from: u64, bytes: usize, direction: u32) -> Result<()> {
    // SAFETY: the caller says so.
    unsafe { device.copy((to, 0), (from, 0), (bytes as u64, 1), direction) }
}

entries! {
    cudaMalloc(to: *mut u64, bytes: usize) {
        // SAFETY: as the caller says.
        call(|device| unsafe { give(to, device.alloc(bytes as u64)) })
    }
    #[also(cudaMallocAsync_ptsz)] cudaMallocAsync(to: *mut u64, bytes: usize, stream: *mut c_void) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { give(to, device.alloc(bytes as u64)) }
        })
    }
    #[also(cudaMallocFromPoolAsync_ptsz)] cudaMallocFromPoolAsync(to: *mut u64, bytes: usize, _pool: *mut c_void, stream: *mut c_void) {
        // SAFETY: as the caller says.
        unsafe { cudaMallocAsync(to, bytes, stream) }
    }
    cudaMallocManaged(to: *mut u64, bytes: usize, _flags: u32) {
        // SAFETY: as the caller says.
        call(|device| unsafe { give(to, device.alloc_shared(bytes as u64, true)) })
    }
    cudaMallocHost(to: *mut u64, bytes: usize) {
        // SAFETY: as the caller says.
        call(|device| unsafe { give(to, device.alloc_shared(bytes as u64, false)) })
    }
    cudaHostAlloc(to: *mut u64, bytes: usize, _flags: u32) {
        // SAFETY: as the caller says.
        unsafe { cudaMallocHost(to, bytes) }
    }
    cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        let row = (width as u64).next_multiple_of(PITCH);
        call(|device| {
            let bytes = row.checked_mul(height as u64).ok_or(Code::MEMORY)?;
            // SAFETY: as the caller says.
            unsafe { give(to, device.alloc(bytes)) }?;
            // SAFETY: as above.
            unsafe { put(pitch, row as usize) }
        })
    }
    cudaMalloc3D(to: *mut Pitched, extent: Extent) {
        let Extent { width, height, depth } = extent;
        let row = (width as u64).next_multiple_of(PITCH);
        call(|device| {
            let bytes = row.checked_mul(height as u64).and_then(|plane| plane.checked_mul(depth as u64));
            let at = device.alloc(bytes.ok_or(Code::MEMORY)?)?;
            // SAFETY: as the caller says.
            unsafe { put(to, Pitched { at, pitch: row as usize, width, height }) }
        })
    }
    cudaFree(at: u64) { call(|device| device.free(at)) }
    cudaFreeHost(at: u64) { call(|device| device.free(at)) }
    #[also(cudaFreeAsync_ptsz)] cudaFreeAsync(at: u64, stream: *mut c_void) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            device.free(at)
        })
    }
    cudaHostRegister(at: u64, bytes: usize, _flags: u32) { call(|device| device.register_host(at, bytes as u64)) }
    cudaHostUnregister(at: u64) { call(|device| device.unregister_host(at)) }
    cudaHostGetDevicePointer(to: *mut u64, host: u64, _flags: u32) {
        call(|device| match device.memory(host) {
            // SAFETY: as the caller says.
            Memory::Pinned(at) => unsafe { put(to, at) },
            _ => Err(Code::INVALID_VALUE),
        })
    }
    cudaHostGetFlags(to: *mut u32, host: u64) {
        call(|device| match device.memory(host) {
            // SAFETY: as the caller says.
            Memory::Pinned(_) => unsafe { put(to, 2) },
            _ => Err(Code::INVALID_VALUE),
        })
    }
    cudaPointerGetAttributes(to: *mut Attributes, at: u64) {
        call(|device| {
            let (kind, on_device, on_host) = match device.memory(at) {
                Memory::Host => (0, 0, at),
                Memory::Pinned(there) => (1, there, at),
                Memory::Device => (2, at, 0),
                Memory::Managed => (3, at, at),
            };
            // SAFETY: as the caller says.
            unsafe { put(to, Attributes { kind, device: 0, on_device, on_host, ..Attributes::default() }) }
        })
    }
    cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        call(|device| {
            let (room, all) = device.room();
            // SAFETY: as the caller says.
            unsafe { put(free, room as usize) }?;
            // SAFETY: as above.
            unsafe { put(total, all as usize) }
        })
    }
    #[also(cudaMemPrefetchAsync_ptsz)] cudaMemPrefetchAsync(_at: u64, _bytes: usize, _location: u64, _flags: u32, _stream: *mut c_void) { call(|_| Ok(())) }
    cudaMemAdvise(_at: u64, _bytes: usize, _advice: i32, _location: u64) { call(|_| Ok(())) }
    #[also(cudaMemcpy_ptds)] cudaMemcpy(to: u64, from: u64, bytes: usize, direction: u32) {
        // SAFETY: as the caller says.
        call(|device| unsafe { row(device, to, from, bytes, direction) })
    }
    #[also(cudaMemcpyAsync_ptsz)] cudaMemcpyAsync(to: u64, from: u64, bytes: usize, direction: u32, stream: *mut c_void) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { row(device, to, from, bytes, direction) }
        })
    }
    #[also(cudaMemcpy2D_ptds)] cudaMemcpy2D(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, direction: u32,
    ) {
        let (to, from) = ((to, to_pitch as u64), (from, from_pitch as u64));
        // SAFETY: as the caller says.
        call(|device| unsafe { device.copy(to, from, (width as u64, height as u64), direction) })
    }
    #[also(cudaMemcpy2DAsync_ptsz)] cudaMemcpy2DAsync(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, direction: u32, stream: *mut c_void,
    ) {
        let (to, from) = ((to, to_pitch as u64), (from, from_pitch as u64));
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { device.copy(to, from, (width as u64, height as u64), direction) }
        })
    }
    #[also(cudaMemcpyToSymbol_ptds)] cudaMemcpyToSymbol(symbol: *const c_void, from: u64, bytes: usize, offset: usize, direction: u32) {
        call(|device| {
            let to = inside(device, symbol, bytes, offset)?;
            // SAFETY: as the caller says.
            unsafe { row(device, to, from, bytes, direction) }
        })
    }
    #[also(cudaMemcpyToSymbolAsync_ptsz)] cudaMemcpyToSymbolAsync(
        symbol: *const c_void, from: u64, bytes: usize, offset: usize, direction: u32, _stream: *mut c_void,
    ) {
        // SAFETY: as the caller says.
        unsafe { cudaMemcpyToSymbol(symbol, from, bytes, offset, direction) }
    }
    #[also(cudaMemcpyFromSymbol_ptds)] cudaMemcpyFromSymbol(to: u64, symbol: *const c_void, bytes: usize, offset: usize, direction: u32) {
        call(|device| {
            let from = inside(device, symbol, bytes, offset)?;
            // SAFETY: as the caller says.
            unsafe { row(device, to, from, bytes, direction) }
        })
    }
    #[also(cudaMemcpyFromSymbolAsync_ptsz)] cudaMemcpyFromSymbolAsync(
        to: u64, symbol: *const c_void, bytes: usize, offset: usize, direction: u32, _stream: *mut c_void,
    ) {
        // SAFETY: as the caller says.
        unsafe { cudaMemcpyFromSymbol(to, symbol, bytes, offset, direction) }
    }
    cudaGetSymbolAddress(to: *mut u64, symbol: *const c_void) {
        // SAFETY: as the caller says.
        call(|device| unsafe { give(to, device.symbol(symbol.addr() as u64).map(|found| found.0)) })
    }
    cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) {
        call(|device| {
            let (_, size) = device.symbol(symbol.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { put(to, size as usize) }
        })
    }
    #[also(cudaMemset_ptds)] cudaMemset(to: u64, value: i32, bytes: usize) {
        // SAFETY: as the caller says.
        call(|device| unsafe { device.fill((to, 0), value as u8, (bytes as u64, 1)) })
    }
    #[also(cudaMemsetAsync_ptsz)] cudaMemsetAsync(to: u64, value: i32, bytes: usize, stream: *mut c_void) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { device.fill((to, 0), value as u8, (bytes as u64, 1)) }
        })
    }
    #[also(cudaMemset2D_ptds)] cudaMemset2D(to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        // SAFETY: as the caller says.
        call(|device| unsafe { device.fill((to, pitch as u64), value as u8, (width as u64, height as u64)) })
    }
    #[also(cudaMemset2DAsync_ptsz)] cudaMemset2DAsync(to: u64, pitch: usize, value: i32, width: usize, height: usize, _stream: *mut c_void) {
        // SAFETY: as the caller says.
        unsafe { cudaMemset2D(to, pitch, value, width, height) }
    }
    cudaDeviceGetDefaultMemPool(to: *mut u64, _device: i32) {
        // One pool, of which nothing is asked.
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 1) })
    }
    cudaMemPoolSetAttribute(_pool: u64, _attribute: i32, _value: *mut c_void) { call(|_| Ok(())) }
    cudaMemPoolTrimTo(_pool: u64, _keep: usize) { call(|_| Ok(())) }
}
