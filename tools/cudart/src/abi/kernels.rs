//! Launches, and what can be asked of kernels.

use std::ffi::{CString, c_void};

use super::{Dim3, call, entries, put};
use crate::code::Code;
use crate::device::{self, CTAS, Device, MULTIPROCESSORS, Result, SHARED_OPT_IN, Shape};
use crate::host;

/// Registers that a kernel says it uses: the emulator allocates none.
const REGISTERS: i32 = 32;

/// Threads that a multiprocessor says it holds.
const THREADS: u32 = 2048;

/// `cudaLaunchConfig_t`
#[repr(C)]
#[derive(Debug)]
pub struct Config {
    grid: Dim3,
    block: Dim3,
    dynamic_shared: usize,
    stream: *mut c_void,
    attributes: *const Attribute,
    count: u32,
}

/// `cudaLaunchAttribute`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
const DEPENDENT: u32 = 6;

/// `cudaFuncAttributes`
#[repr(C)]
#[derive(Debug, Default)]
pub struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    threads: i32,
    registers: i32,
    ptx: i32,
    binary: i32,
    cache: i32,
    dynamic: i32,
    carveout: i32,
    clustered: i32,
    cluster: [i32; 3],
    nonportable: i32,
    reserved: [i32; 18],
}

/// Runs a kernel; what it prints comes out as the program's own `printf` does.
///
/// # Safety
/// `arguments` are addresses of the kernel's parameters.
unsafe fn launch(host: *const c_void, shape: &Shape, arguments: *const *const c_void) -> i32 {
    let function = host.addr() as u64;
    let (code, printed) = device::with(|device| {
        // SAFETY: the caller says so.
        let ran = unsafe { parameters(device, function, arguments) }
            .and_then(|parameters| fits(device, function, shape).map(|()| parameters))
            .and_then(|parameters| device.launch(function, shape, parameters));
        match ran {
            Ok(printed) => (device.returns(Ok(())), printed),
            Err(code) => (device.returns(Err(code)), String::new()),
        }
    });
    if let Some(text) = CString::new(printed).ok().filter(|text| !text.is_empty()) {
        // SAFETY: both are texts of C, and the format takes one.
        unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
    }
    code
}

/// Refuses a cooperative launch of more CTAs than run at once.
fn fits(device: &mut Device, function: u64, shape: &Shape) -> Result<()> {
    if !shape.cooperative {
        return Ok(());
    }
    let threads = shape.block.iter().fold(1, |all: u32, &n| all.saturating_mul(n));
    let each = resident(device, function, threads, shape.dynamic_shared)?;
    let ctas = shape.grid.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into()));
    if ctas > u64::from(each * MULTIPROCESSORS) { Err(Code::TOO_LARGE) } else { Ok(()) }
}

/// # Safety
/// `arguments` are addresses of the kernel's parameters.
unsafe fn parameters(
    device: &mut Device,
    function: u64,
    arguments: *const *const c_void,
) -> Result<Vec<Vec<u8>>> {
    let sizes: Vec<u64> = device.entry(function)?.params.iter().map(|param| param.bytes).collect();
    if arguments.is_null() && !sizes.is_empty() {
        return Err(Code::INVALID_VALUE);
    }
    let mut all = Vec::new();
    for (i, bytes) in sizes.into_iter().enumerate() {
        // SAFETY: there is an address for each parameter.
        let at = unsafe { arguments.add(i).read() };
        // SAFETY: there the parameter is, with as many bytes as the kernel declares.
        all.push(unsafe { host::read(at.addr() as u64, bytes as usize) });
    }
    Ok(all)
}

fn shape(grid: Dim3, block: Dim3, dynamic_shared: usize, stream: *mut c_void) -> Shape {
    Shape {
        grid: grid.get(),
        block: block.get(),
        dynamic_shared: dynamic_shared as u64,
        stream: stream.addr() as u64,
        ..Shape::default()
    }
}

/// CTAs of a kernel that fit on a multiprocessor.
fn resident(device: &mut Device, host: u64, block: u32, dynamic: u64) -> Result<u32> {
    if block == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if block > 1024 {
        return Ok(0);
    }
    let shared = device.static_shared(host)? + dynamic;
    let by_threads = THREADS / block.next_multiple_of(32);
    let by_memory = u64::from(SHARED_OPT_IN).checked_div(shared).unwrap_or(u64::from(CTAS));
    Ok(CTAS.min(by_threads).min(u32::try_from(by_memory).unwrap_or(CTAS)))
}

entries! {
    #[also(cudaLaunchKernel_ptsz)] cudaLaunchKernel(
        host: *const c_void, grid: Dim3, block: Dim3, arguments: *const *const c_void, dynamic_shared: usize, stream: *mut c_void,
    ) {
        // SAFETY: as the caller says.
        unsafe { launch(host, &shape(grid, block, dynamic_shared, stream), arguments) }
    }
    #[also(__cudaLaunchKernel_ptsz)] __cudaLaunchKernel(
        host: *const c_void, grid: Dim3, block: Dim3, arguments: *const *const c_void, dynamic_shared: usize, stream: *mut c_void,
    ) {
        // SAFETY: as the caller says.
        unsafe { launch(host, &shape(grid, block, dynamic_shared, stream), arguments) }
    }
    #[also(cudaLaunchCooperativeKernel_ptsz)] cudaLaunchCooperativeKernel(
        host: *const c_void, grid: Dim3, block: Dim3, arguments: *const *const c_void, dynamic_shared: usize, stream: *mut c_void,
    ) {
        let shape = Shape { cooperative: true, ..shape(grid, block, dynamic_shared, stream) };
        // SAFETY: as the caller says.
        unsafe { launch(host, &shape, arguments) }
    }
    #[also(cudaLaunchKernelExC_ptsz)] cudaLaunchKernelExC(config: *const Config, host: *const c_void, arguments: *const *const c_void) {
        if config.is_null() {
            return call(|_| Err(Code::INVALID_VALUE));
        }
        // SAFETY: the caller gives one.
        let config = unsafe { &*config };
        let mut shape = shape(config.grid, config.block, config.dynamic_shared, config.stream);
        for i in 0..config.count as usize {
            // SAFETY: there are as many attributes as it says.
            let Attribute { id, value, .. } = unsafe { config.attributes.add(i).read() };
            match id {
                CLUSTER => shape.cluster = [value[0], value[1], value[2]],
                DEPENDENT => shape.dependent = value[0] != 0,
                COOPERATIVE => shape.cooperative = value[0] != 0,
                // The others are hints.
                _ => {}
            }
        }
        // SAFETY: as the caller says.
        unsafe { launch(host, &shape, arguments) }
    }
    cudaFuncGetAttributes(to: *mut Attributes, host: *const c_void) {
        let host = host.addr() as u64;
        call(|device| {
            let shared = device.static_shared(host)? as usize;
            let (arch, dynamic) = (device.arch() as i32, device.kernel(host)?.dynamic as i32);
            let entry = device.entry(host)?;
            let volume = |args: &[u64]| args.iter().product::<u64>().min(1024) as i32;
            let threads = entry.directive("maxntid").or_else(|| entry.directive("reqntid")).map_or(1024, volume);
            let found = Attributes { shared, threads, registers: REGISTERS, ptx: arch, binary: arch, dynamic, ..Attributes::default() };
            // SAFETY: the program asked for it there.
            unsafe { put(to, found) }
        })
    }
    cudaFuncSetAttribute(host: *const c_void, attribute: i32, value: i32) {
        const DYNAMIC_SHARED: i32 = 8;
        call(|device| match (attribute, u64::try_from(value)) {
            (DYNAMIC_SHARED, Ok(bytes)) => device.allow_dynamic(host.addr() as u64, bytes),
            (DYNAMIC_SHARED, Err(_)) => Err(Code::INVALID_VALUE),
            _ => device.kernel(host.addr() as u64).map(|_| ()),
        })
    }
    cudaFuncSetCacheConfig(host: *const c_void, _config: i32) { call(|device| device.kernel(host.addr() as u64).map(|_| ())) }
    cudaFuncSetSharedMemConfig(host: *const c_void, _config: i32) { call(|device| device.kernel(host.addr() as u64).map(|_| ())) }
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut i32, host: *const c_void, block: i32, dynamic: usize) {
        // SAFETY: as the caller says.
        unsafe { cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to, host, block, dynamic, 0) }
    }
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, host: *const c_void, block: i32, dynamic: usize, _flags: u32,
    ) {
        call(|device| {
            let block = u32::try_from(block).map_err(|_| Code::INVALID_VALUE)?;
            let found = resident(device, host.addr() as u64, block, dynamic as u64)?;
            // SAFETY: the program asked for it there.
            unsafe { put(to, found as i32) }
        })
    }
    cudaOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, host: *const c_void, ctas: i32, _block: i32) {
        call(|device| {
            let fixed = device.static_shared(host.addr() as u64)?;
            let ctas = u64::try_from(ctas).ok().filter(|&ctas| ctas != 0).ok_or(Code::INVALID_VALUE)?;
            let each = u64::from(SHARED_OPT_IN) / ctas;
            // SAFETY: the program asked for it there.
            unsafe { put(to, each.saturating_sub(fixed) as usize) }
        })
    }
}
