//! Memory and copies.

use std::env::var;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use crate::model::{Op, machine, memory};
use crate::{INVALID_VALUE, copy, finish, give, in_context, log, unsafe_in_context};

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

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocAsync(
    address: *mut u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    log(format!("allocate on {}", stream.addr()));
    in_context("cuMemAllocAsync", || unsafe {
        allocate(address, bytes, Some(stream.addr()), false)
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

/// The memory must be of the contexts that are named; the stream may be of either.
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
        let [source, destination] = [from_context, to_context].map(|context| context.addr());
        log(format!("copy from {source:#x} to {destination:#x} on {}", stream.addr()));
        let mut machine = machine();
        let mut touched = machine.meant(from, bytes, Some(source));
        touched.extend(machine.meant(to, bytes, Some(destination)));
        machine.give(stream.addr(), Op::Work(Arc::new(move || copy(to, from, bytes)), touched));
        0
    })
}

/// One address for the host and all devices ("Unified memory programming").
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) -> c_uint {
    unsafe_in_context("cuMemAllocManaged", || {
        log("allocate managed memory".into());
        // CU_MEM_ATTACH_GLOBAL
        assert_eq!(flags, 1);
        unsafe { allocate(address, bytes, None, true) }
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
