//! Streams and events. All that was put into a stream has happened when the call returns.

use std::ffi::c_void;
use std::ptr;

use super::{call, entries, put};
use crate::code::Code;
use crate::device;

/// A function of the host.
type Callback = unsafe extern "C" fn(*mut c_void);
/// The same, told of stream and error.
type OldCallback = unsafe extern "C" fn(*mut c_void, i32, *mut c_void);

fn handle(number: u64) -> *mut c_void {
    ptr::without_provenance_mut(number as usize)
}

fn known(stream: *mut c_void) -> i32 {
    call(|device| device.stream(stream.addr() as u64))
}

entries! {
    cudaStreamCreate(to: *mut *mut c_void) {
        // SAFETY: as the caller says.
        call(|device| unsafe { put(to, handle(device.make_stream())) })
    }
    cudaStreamCreateWithFlags(to: *mut *mut c_void, _flags: u32) {
        // SAFETY: as the caller says.
        unsafe { cudaStreamCreate(to) }
    }
    cudaStreamCreateWithPriority(to: *mut *mut c_void, _flags: u32, _priority: i32) {
        // SAFETY: as the caller says.
        unsafe { cudaStreamCreate(to) }
    }
    cudaStreamDestroy(stream: *mut c_void) { call(|device| device.end_stream(stream.addr() as u64)) }
    #[also(cudaStreamSynchronize_ptsz)] cudaStreamSynchronize(stream: *mut c_void) { known(stream) }
    #[also(cudaStreamQuery_ptsz)] cudaStreamQuery(stream: *mut c_void) { known(stream) }
    #[also(cudaStreamGetFlags_ptsz)] cudaStreamGetFlags(stream: *mut c_void, to: *mut u32) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { put(to, 0) }
        })
    }
    #[also(cudaStreamGetPriority_ptsz)] cudaStreamGetPriority(stream: *mut c_void, to: *mut i32) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { put(to, 0) }
        })
    }
    #[also(cudaStreamIsCapturing_ptsz)] cudaStreamIsCapturing(stream: *mut c_void, to: *mut i32) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            // SAFETY: as the caller says.
            unsafe { put(to, 0) }
        })
    }
    #[also(cudaStreamAttachMemAsync_ptsz)] cudaStreamAttachMemAsync(stream: *mut c_void, _at: u64, _bytes: usize, _flags: u32) { known(stream) }
    cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        call(|_| {
            // SAFETY: as the caller says.
            unsafe { put(least, 0) }?;
            // SAFETY: as above.
            unsafe { put(greatest, 0) }
        })
    }
    #[also(cudaStreamWaitEvent_ptsz)] cudaStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: u32) {
        call(|device| {
            device.stream(stream.addr() as u64)?;
            device.event(event.addr() as u64).map(|_| ())
        })
    }
    #[also(cudaLaunchHostFunc_ptsz)] cudaLaunchHostFunc(stream: *mut c_void, function: Option<Callback>, of: *mut c_void) {
        let code = known(stream);
        if let (0, Some(function)) = (code, function) {
            // SAFETY: the program wants it called, with what it gave.
            unsafe { function(of) };
        }
        code
    }
    #[also(cudaStreamAddCallback_ptsz)] cudaStreamAddCallback(stream: *mut c_void, function: Option<OldCallback>, of: *mut c_void, _flags: u32) {
        let code = known(stream);
        if let (0, Some(function)) = (code, function) {
            // SAFETY: the program wants it called, with what it gave.
            unsafe { function(stream, 0, of) };
        }
        code
    }
    cudaEventCreate(to: *mut *mut c_void) {
        // SAFETY: as the caller says.
        call(|device| unsafe { put(to, handle(device.make_event())) })
    }
    cudaEventCreateWithFlags(to: *mut *mut c_void, _flags: u32) {
        // SAFETY: as the caller says.
        unsafe { cudaEventCreate(to) }
    }
    cudaEventDestroy(event: *mut c_void) { call(|device| device.end_event(event.addr() as u64)) }
    #[also(cudaEventRecord_ptsz)] cudaEventRecord(event: *mut c_void, stream: *mut c_void) {
        call(|device| device.record(event.addr() as u64, stream.addr() as u64))
    }
    #[also(cudaEventRecordWithFlags_ptsz)] cudaEventRecordWithFlags(event: *mut c_void, stream: *mut c_void, _flags: u32) {
        // SAFETY: as the caller says.
        unsafe { cudaEventRecord(event, stream) }
    }
    cudaEventSynchronize(event: *mut c_void) { call(|device| device.event(event.addr() as u64).map(|_| ())) }
    cudaEventQuery(event: *mut c_void) { call(|device| device.event(event.addr() as u64).map(|_| ())) }
    cudaEventElapsedTime(to: *mut f32, start: *mut c_void, end: *mut c_void) {
        call(|device| {
            let time = |event: *mut c_void| device.event(event.addr() as u64)?.ok_or(Code::HANDLE);
            let (start, end) = (time(start)?, time(end)?);
            // SAFETY: as the caller says.
            unsafe { put(to, (end as f64 - start as f64) as f32 / 1e6) }
        })
    }
    cudaDeviceSynchronize() { device::with(|device| device.returns(Ok(()))) }
}
