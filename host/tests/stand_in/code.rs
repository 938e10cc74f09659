//! Modules, kernels, launches and tensor maps.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::model::memory;
use crate::{
    INVALID_VALUE, NOT_FOUND, give, in_context_of, kernel_wish, log, unless_refused, unsafe_in_context, wish,
};

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
    wish("cuModuleUnload")
}

/// A kernel is a letter's address: `scale`, or `cluster` that was compiled for clusters of 2.
static SCALE: u8 = 0;

static CLUSTER: u8 = 1;

/// Kernels of which only the launches are looked at.
static WRITE_PLAIN: u8 = 2;

static READ_PLAIN: u8 = 3;

static ADD: u8 = 4;

/// The bytes of a kernel's parameters.
fn parameters(function: *const u8) -> &'static [usize] {
    if is_scale(function) {
        &[16, 16, 4]
    } else if std::ptr::eq(function, &ADD) {
        &[16, 16, 16]
    } else {
        &[]
    }
}

fn is_scale(function: *const u8) -> bool {
    std::ptr::eq(function, &SCALE)
}

fn is_cluster(function: *const u8) -> bool {
    std::ptr::eq(function, &CLUSTER)
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
        b"add" => &ADD,
        _ => return NOT_FOUND,
    };
    unless_refused("cuModuleGetFunction", || unsafe { *function = kernel })
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
        11 if is_cluster(function) => 2,
        12 | 13 if is_cluster(function) => 1,
        11..=13 => 0,
        _ => return INVALID_VALUE,
    };
    unless_refused("cuFuncGetAttribute", || unsafe { *value = answer })
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_function: *const u8, which: c_int, value: c_int) -> c_uint {
    log(format!("set attribute {which} to {value}"));
    wish("cuFuncSetAttribute")
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
    unless_refused("cuOccupancyMaxActiveBlocksPerMultiprocessor", || unsafe { *ctas = 128 / threads })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    _function: *const u8,
    config: *const Config,
) -> c_uint {
    let config = unsafe { &*config };
    log(format!("clusters of grid {:?} block {:?}", config.grid, config.block));
    unless_refused("cuOccupancyMaxActiveClusters", || unsafe { *clusters = 66 })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetParamInfo(
    function: *const u8,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> c_uint {
    log(format!("look up parameter {index}"));
    let refused = wish("cuFuncGetParamInfo");
    if refused != 0 {
        return refused;
    }
    let sizes = parameters(function);
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
    let stream = unsafe { (*config).stream.addr() };
    in_context_of("cuLaunchKernelEx", &[stream], || {
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
        let fails = kernel_wish();
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
    in_context_of("cuLaunchKernel", &[stream.addr()], || {
        let word = |param: usize| unsafe { (*params.add(param)).cast::<u64>().read_unaligned() };
        let half = |param: usize| unsafe { (*params.add(param)).cast::<u32>().read_unaligned() };
        let what = if std::ptr::eq(function, &ADD) {
            "add".to_owned()
        } else if std::ptr::eq(function, &WRITE_PLAIN) {
            format!("write {} words, round {}", word(1), half(2))
        } else {
            format!("read {} words, round {}, {} pauses", word(1), half(3), half(4))
        };
        log(format!("{what}, {grid_x} x {block_x} on {}", stream.addr()));
        give(stream.addr(), &[], || 0)
    })
}

/// Writes its arguments into the map, so that they can be compared.
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
