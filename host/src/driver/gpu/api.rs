//! The functions of the driver library, found once and all together.
//!
//! They return integers: a newer driver has codes that no list of ours knows, and a Rust `enum` that holds
//! such a one would be undefined behaviour. What a code means is said in [`result`](super::result).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    self, CUDA_MEMCPY2D, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph,
    CUgraphExec, CUgraphExecUpdateResultInfo, CUlaunchConfig, CUmodule, CUstream, CUtensorMap,
};

use super::result::Code;
use crate::error::Error;

macro_rules! functions {
    ($($(#[doc = $what:literal])? $name:ident($($argument:ident: $of:ty),* $(,)?);)*) => {
        /// The driver's functions, by their symbols.
        #[allow(non_snake_case, reason = "the driver's names")]
        pub(super) struct Api {
            $($name: unsafe extern "C" fn($($of),*) -> c_uint,)*
        }

        #[allow(non_snake_case, reason = "the driver's names")]
        impl Api {
            /// All of them, or the first that the library lacks.
            fn find(library: &Library) -> Result<Self, &'static CStr> {
                $(
                    let symbol = const {
                        let symbol = concat!(stringify!($name), "\0").as_bytes();
                        match CStr::from_bytes_with_nul(symbol) {
                            Ok(symbol) => symbol,
                            Err(_) => panic!("one zero byte, at the end"),
                        }
                    };
                    // SAFETY: the symbol is a function of the driver, and this is its signature.
                    let $name = unsafe { library.get::<unsafe extern "C" fn($($of),*) -> c_uint>(symbol.to_bytes_with_nul()) };
                    let $name = *$name.map_err(|_| symbol)?;
                )*
                Ok(Self { $($name),* })
            }

            $(
                /// The driver's function of this name; what it demands is the caller's to keep.
                #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
                pub(super) unsafe fn $name(&self, $($argument: $of),*) -> Result<(), Code> {
                    // SAFETY: the caller's.
                    Code::check(unsafe { (self.$name)($($argument),*) })
                }
            )*
        }
    };
}

functions! {
    cuInit(flags: c_uint);
    cuGetErrorName(code: c_uint, name: *mut *const c_char);
    cuGetErrorString(code: c_uint, text: *mut *const c_char);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, which: c_uint, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
    cuThreadExchangeStreamCaptureMode(mode: *mut c_uint);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemHostAlloc(host: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemFreeHost(host: *mut c_void);
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, options: c_uint, names: *mut c_uint, values: *mut *mut c_void);
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuFuncGetAttribute(value: *mut c_int, which: c_uint, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, which: c_uint, value: c_int);
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(ctas: *mut c_int, function: CUfunction, threads: c_int, shared: usize);
    cuOccupancyMaxActiveClusters(clusters: *mut c_int, function: CUfunction, config: *const CUlaunchConfig);
    cuTensorMapEncodeTiled(map: *mut CUtensorMap, data_type: c_uint, rank: c_uint, address: *mut c_void, dims: *const u64, strides: *const u64, boxes: *const c_uint, steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint);
    cuTensorMapEncodeIm2col(map: *mut CUtensorMap, data_type: c_uint, rank: c_uint, address: *mut c_void, dims: *const u64, strides: *const u64, lower: *const c_int, upper: *const c_int, channels: c_uint, pixels: c_uint, steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventQuery(event: CUevent);
    cuEventSynchronize(event: CUevent);
    cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuLaunchHostFunc(stream: CUstream, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    cuStreamBeginCapture_v2(stream: CUstream, mode: c_uint);
    cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
    cuStreamIsCapturing(stream: CUstream, status: *mut c_uint);
    cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: u64);
    cuGraphDestroy(graph: CUgraph);
    cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
    cuGraphUpload(exec: CUgraphExec, stream: CUstream);
    cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut CUgraphExecUpdateResultInfo);
    cuGraphExecDestroy(exec: CUgraphExec);
    cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync(to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemsetD8Async(address: CUdeviceptr, byte: u8, bytes: usize, stream: CUstream);
}

impl Api {
    /// The driver's words for a code. One that it does not know either is a number.
    pub(super) fn text(&self, code: Code) -> String {
        let (mut name, mut text) = (std::ptr::null(), std::ptr::null());
        let number = code.number();
        // SAFETY: both write a pointer to a local; a code that the driver does not know is an error of theirs.
        let said = unsafe {
            self.cuGetErrorName(number, &mut name)
                .and_then(|()| self.cuGetErrorString(number, &mut text))
        };
        if said.is_err() || name.is_null() || text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: the driver's texts end in a zero and live as long as it does.
        let [name, text] =
            unsafe { [name, text].map(|text| CStr::from_ptr(text).to_string_lossy()) };
        format!("{text} ({name})")
    }
}

/// The driver's version from which on everything here exists.
const NEEDED: c_int = 12080;

/// What looking for the driver came to.
enum Found {
    Api(Box<Api>, usize),
    NoDriver,
    Unusable(String),
}

/// The functions, and how many GPUs the driver shows; an error says why there is no driver to ask. The answer is
/// kept: a driver does not come and go.
pub(super) fn api() -> Result<(&'static Api, usize), Error> {
    static FOUND: OnceLock<Found> = OnceLock::new();
    match FOUND.get_or_init(look) {
        Found::Api(api, count) => Ok((api, *count)),
        Found::NoDriver => Err(Error::NoDriver),
        Found::Unusable(reason) => Err(Error::UnusableDriver { reason: reason.clone() }),
    }
}

fn look() -> Found {
    // SAFETY: it opens and closes the library; its initialisers are the driver's own.
    if !unsafe { sys::is_culib_present() } {
        return Found::NoDriver;
    }
    // SAFETY: the library is there, so this does not panic.
    let library = unsafe { sys::culib() };
    let api = match Api::find(library) {
        Ok(api) => Box::new(api),
        Err(symbol) => return Found::Unusable(lacks(library, symbol)),
    };
    let mut count = 0;
    // SAFETY: no flags are defined; the count is written to a local.
    let counted = unsafe { api.cuInit(0).and_then(|()| api.cuDeviceGetCount(&mut count)) };
    match counted {
        Ok(()) => Found::Api(api, usize::try_from(count).unwrap_or(0)),
        Err(code) if code.is_stub() => Found::Unusable(format!(
            "{}: the library is the stub that toolkits link against, not a driver; take its folder out of LD_LIBRARY_PATH",
            api.text(code)
        )),
        Err(code) => Found::Unusable(api.text(code)),
    }
}

/// Why a symbol may be missing: the driver is older, or the library is none.
fn lacks(library: &Library, symbol: &CStr) -> String {
    let symbol = symbol.to_string_lossy();
    type Version = unsafe extern "C" fn(*mut c_int) -> c_uint;
    let mut version = 0;
    // SAFETY: the signature of this symbol since the first driver that had it; it needs no `cuInit`.
    let asked = unsafe {
        library.get::<Version>(b"cuDriverGetVersion\0").ok().map(|ask| ask(&mut version))
    };
    let (major, minor) = (version / 1000, version % 1000 / 10);
    match asked {
        Some(0) if version < NEEDED => {
            format!("it lacks {symbol}: it is for CUDA {major}.{minor}, and CUDA 12.8 is needed")
        }
        Some(0) => format!(
            "it lacks {symbol} although it says that it is for CUDA {major}.{minor}: the library is not NVIDIA's, or incomplete"
        ),
        _ => format!(
            "it lacks {symbol}, and does not say which version it is: the library is a stub, or incomplete"
        ),
    }
}

type Library = libloading::Library;
