//! The device: how many there are (one), and what it says of itself.

use std::ffi::{c_char, c_void};

use super::{call, entries, put, text};
use crate::code::Code;
use crate::device::{CTAS, MEMORY, MULTIPROCESSORS, SHARED, SHARED_OPT_IN};

/// Bytes of `cudaDeviceProp` in CUDA 13.
const PROPERTIES: usize = 1008;

/// A place in `cudaDeviceProp`: byte and size.
type Place = (usize, usize);

/// What an attribute says, by its number, and where it stands in `cudaDeviceProp`.
const ATTRIBUTES: [(i32, u64, Option<Place>); 56] = [
    (1, 1024, Some((320, 4))),
    (2, 1024, Some((324, 4))),
    (3, 1024, Some((328, 4))),
    (4, 64, Some((332, 4))),
    (5, 2_147_483_647, Some((336, 4))),
    (6, 65_535, Some((340, 4))),
    (7, 65_535, Some((344, 4))),
    (8, SHARED as u64, Some((296, 8))),
    (9, 65_536, Some((352, 8))),
    (10, 32, Some((308, 4))),
    (11, 2_147_483_647, Some((312, 8))),
    (12, 65_536, Some((304, 4))),
    (13, 1_000_000, None),
    (14, 512, Some((368, 8))),
    (15, 1, None),
    (16, MULTIPROCESSORS as u64, Some((384, 4))),
    (17, 0, None),
    (18, 0, Some((388, 4))),
    (19, 1, Some((392, 4))),
    (20, 0, None),
    (30, 512, None),
    (31, 1, Some((560, 4))),
    (32, 0, Some((564, 4))),
    (33, 0, Some((568, 4))),
    (34, 0, None),
    (35, 0, None),
    (36, 1_000_000, None),
    (37, 1024, Some((592, 4))),
    (38, 32 << 20, Some((596, 4))),
    (39, 2048, Some((604, 4))),
    (40, 1, Some((584, 4))),
    (41, 1, Some((588, 4))),
    (50, 0, None),
    (51, 32, Some((376, 8))),
    (78, 1, Some((608, 4))),
    (79, 1, None),
    (80, 1, None),
    (81, 228 << 10, Some((624, 8))),
    (82, 65_536, Some((632, 4))),
    (83, 1, Some((636, 4))),
    (84, 0, None),
    (86, 0, None),
    (87, 2, None),
    (88, 0, Some((652, 4))),
    // The host must not touch managed memory while a kernel runs, and cannot.
    (89, 0, Some((656, 4))),
    (90, 0, None),
    (91, 0, None),
    (95, 1, Some((668, 4))),
    (97, SHARED_OPT_IN as u64, Some((672, 8))),
    (99, 1, Some((704, 4))),
    (100, 0, None),
    (101, 0, None),
    (106, CTAS as u64, Some((688, 4))),
    (111, 1024, Some((696, 8))),
    (115, 1, Some((720, 4))),
    (120, 1, Some((748, 4))),
];

const MAJOR: (i32, usize) = (75, 360);
const MINOR: (i32, usize) = (76, 364);

/// The only device.
fn is_there(device: i32) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::DEVICE) }
}

entries! {
    cudaGetDeviceCount(to: *mut i32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 1) })
    }
    cudaGetDevice(to: *mut i32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 0) })
    }
    cudaSetDevice(device: i32) { call(|_| is_there(device)) }
    cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) { call(|_| is_there(device)) }
    cudaSetDeviceFlags(_flags: u32) { call(|_| Ok(())) }
    cudaGetDeviceFlags(to: *mut u32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 0) })
    }
    cudaChooseDevice(to: *mut i32, _properties: *const c_void) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 0) })
    }
    cudaDeviceCanAccessPeer(to: *mut i32, _device: i32, _peer: i32) {
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, 0) })
    }
    // Memory stays as it is: the process is about to end, as a rule.
    cudaDeviceReset() { call(|_| Ok(())) }
    cudaDeviceSetCacheConfig(_config: i32) { call(|_| Ok(())) }
    cudaDeviceSetSharedMemConfig(_config: i32) { call(|_| Ok(())) }
    cudaDeviceSetLimit(_limit: i32, _value: usize) { call(|_| Ok(())) }
    cudaDeviceGetLimit(to: *mut usize, limit: i32) {
        let value = match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            _ => 0,
        };
        // SAFETY: as the caller says.
        call(|_| unsafe { put(to, value) })
    }
    cudaDeviceGetAttribute(to: *mut i32, attribute: i32, device: i32) {
        call(|state| {
            is_there(device)?;
            let arch = state.arch();
            let value = match attribute {
                of if of == MAJOR.0 => u64::from(arch / 10),
                of if of == MINOR.0 => u64::from(arch % 10),
                of => match ATTRIBUTES.iter().find(|(number, ..)| *number == of) {
                    Some((_, value, _)) => *value,
                    None => return Err(state.refuse(
                        format!("cudaDeviceGetAttribute of the attribute {of}"),
                        "docs/emulator.md says what a program may ask",
                    )),
                },
            };
            // SAFETY: as the caller says.
            unsafe { put(to, value as i32) }
        })
    }
    cudaGetDeviceProperties(to: *mut [u8; PROPERTIES], device: i32) {
        call(|state| {
            is_there(device)?;
            let mut all = [0u8; PROPERTIES];
            let name = b"baton emulator";
            all[..name.len()].copy_from_slice(name);
            all[288..296].copy_from_slice(&MEMORY.to_le_bytes());
            let arch = state.arch();
            let versions = [(u64::from(arch / 10), (MAJOR.1, 4)), (u64::from(arch % 10), (MINOR.1, 4))];
            let places = ATTRIBUTES.iter().filter_map(|(_, value, place)| Some((*value, (*place)?)));
            for (value, (at, bytes)) in places.chain(versions) {
                all[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            // SAFETY: as the caller says.
            unsafe { put(to, all) }
        })
    }
    cudaDeviceGetPCIBusId(to: *mut c_char, bytes: i32, device: i32) {
        call(|_| {
            is_there(device)?;
            let id = b"0000:00:00.0\0";
            if (bytes as usize) < id.len() || to.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: the program has so many bytes there.
            unsafe { put(to.cast(), *id) }
        })
    }
    #[also(cudaGetDriverEntryPoint_ptsz)] cudaGetDriverEntryPoint(name: *const c_char, to: *mut *mut c_void, _flags: u64, found: *mut i32) {
        // SAFETY: as the caller says.
        unsafe { cudaGetDriverEntryPointByVersion(name, to, 0, 0, found) }
    }
    #[also(cudaGetDriverEntryPointByVersion_ptsz)] cudaGetDriverEntryPointByVersion(
        name: *const c_char, to: *mut *mut c_void, _version: u32, _flags: u64, found: *mut i32,
    ) {
        // SAFETY: as the caller says.
        let name = unsafe { text(name) };
        call(|state| {
            state.refuse(format!("the driver's `{name}`"), "the emulator has the runtime's entry points only");
            // SAFETY: as the caller says.
            unsafe { put(to, std::ptr::null_mut()) }?;
            if !found.is_null() {
                // SAFETY: as above.
                unsafe { put(found, 1) }?;
            }
            Err(Code::NOT_FOUND)
        })
    }
}
