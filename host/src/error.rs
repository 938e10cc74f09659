//! What can go wrong on the host, and what to do about it.
//!
//! Every text names the thing that failed (image, kernel, buffer, parameter), what was expected and
//! found, and a way out. Messages of the driver are captured as text when they happen: they can only
//! be asked for while the driver library is there.

use std::fmt;

use crate::reservation::Failure;

/// A failed operation of a device.
///
/// `Debug` prints the same text as `Display`, because a `main` that returns this error shows it through `Debug`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no CUDA driver.
    #[error(
        "no GPU: the CUDA driver library is not on this machine; install NVIDIA's driver, or use the emulator (BATON_DEVICE=emulator)"
    )]
    NoDriver,

    /// There is a driver, but it cannot be used.
    #[error(
        "no GPU: the CUDA driver does not work: {reason}; check it with nvidia-smi, or use the emulator (BATON_DEVICE=emulator)"
    )]
    UnusableDriver {
        /// What the driver answered.
        reason: String,
    },

    /// There is a driver, but not that many GPUs.
    #[error(
        "no GPU {index}: the driver shows {count}, numbered from 0; CUDA_VISIBLE_DEVICES may hide others"
    )]
    NoSuchGpu {
        /// The GPU that was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },

    /// The choice of device is none of the words.
    #[error("`{given}` is no device: choose auto, gpu, gpu:N (N from 0) or emulator")]
    BadChoice {
        /// What was given.
        given: String,
    },

    /// The GPU cannot run any code of the image.
    #[error(
        "the kernels of `{image}` are built for {built}, and {gpu} is sm_{major}{minor}: build them for it, or run them on the emulator (BATON_DEVICE=emulator)"
    )]
    NoFittingCode {
        /// The image.
        image: &'static str,
        /// Its targets.
        built: String,
        /// The GPU's name.
        gpu: String,
        /// Its compute capability.
        major: u32,
        /// Its compute capability.
        minor: u32,
    },

    /// The driver refused every piece of code that should fit.
    #[error("{gpu} did not load the kernels of `{image}`:{attempts}")]
    NotLoaded {
        /// The image.
        image: &'static str,
        /// The GPU's name.
        gpu: String,
        /// One line for each piece of code that was tried.
        attempts: String,
    },

    /// The emulator was told to run a target that the image does not have.
    #[error("the kernels of `{image}` are not built for {arch}, only for {built}")]
    NoSuchTarget {
        /// The image.
        image: &'static str,
        /// The target that was asked for.
        arch: String,
        /// Its targets.
        built: String,
    },

    /// The side table of an image cannot be read.
    #[error(
        "the source lines of `{image}` for {arch} are damaged ({reason}): build the kernels again"
    )]
    DamagedLines {
        /// The image.
        image: &'static str,
        /// The target.
        arch: &'static str,
        /// What is wrong.
        reason: String,
    },

    /// A launch that cannot be.
    #[error("kernel `{kernel}` was not launched: {problem}")]
    BadLaunch {
        /// The kernel.
        kernel: &'static str,
        /// Why.
        problem: BadLaunch,
    },

    /// A kernel that was launched and failed on a GPU.
    #[error(
        "kernel `{kernel}` failed on {gpu}: {reason}; the GPU cannot be used further by this process. The emulator (BATON_DEVICE=emulator) names the line"
    )]
    KernelFailed {
        /// The kernel.
        kernel: &'static str,
        /// The GPU's name.
        gpu: String,
        /// What the driver said.
        reason: String,
    },

    /// The emulator refused or ended something: out of bounds, deadlock, trap and so on.
    #[error(transparent)]
    Emulator(#[from] Box<baton_emulator::Error>),

    /// The library was built without one of its devices.
    #[error("this program was built without {what}: enable the feature `{feature}` of baton-host")]
    NotBuilt {
        /// What is missing.
        what: &'static str,
        /// The feature that has it.
        feature: &'static str,
    },

    /// No memory is left, and waiting for what was being given back has not helped.
    #[error(
        "allocating {bytes} bytes on {device}: {reason}; drop buffers that are not needed, or use smaller ones"
    )]
    OutOfMemory {
        /// What was asked for.
        bytes: u64,
        /// The device.
        device: String,
        /// What the driver said.
        reason: String,
    },

    /// A callback of a stream would have given work to a device.
    #[error(
        "{doing}: a callback of a stream may not give work to a device or wait for one: let it tell another thread"
    )]
    InCallback {
        /// What would have been done.
        doing: String,
    },

    /// A device call failed.
    #[error("{doing}: {reason}")]
    Driver {
        /// What was being done.
        doing: String,
        /// What the driver said.
        reason: String,
    },

    /// The GPU has failed so badly that nothing of this process works on it any more.
    #[error(
        "{doing}: {reason}; the GPU cannot be used further by this process. The emulator (BATON_DEVICE=emulator) names the line of a kernel that caused it"
    )]
    DeviceLost {
        /// What was being done when it was noticed.
        doing: String,
        /// What the driver said.
        reason: String,
    },

    /// Work that a stream was given has failed.
    #[error(
        "{what} failed, or work that it waited for: {failure}; its stream does nothing more, and buffers that it was to write are unknown until they are overwritten"
    )]
    WorkFailed {
        /// The work.
        what: String,
        /// Why.
        failure: Failure,
    },

    /// A buffer whose writer has failed.
    #[error(
        "{doing}: the contents are unknown, because work that was to write them has failed ({failure}); overwrite the whole buffer first"
    )]
    ContentsUnknown {
        /// What was to be done with them.
        doing: String,
        /// Why the writer failed.
        failure: Failure,
    },

    /// A fence or graph of another device.
    #[error(
        "the fence or graph is of another device: streams wait only for their own device's work"
    )]
    ForeignFence,

    /// A buffer of another device.
    #[error(
        "{doing}: a buffer is of another device than the stream: copy it to a buffer of this one first"
    )]
    ForeignBuffer {
        /// What was to be done.
        doing: &'static str,
    },

    /// A part of a buffer that it does not have.
    #[error("elements {first} to {end} are no range of the {len} that there are")]
    OutOfRange {
        /// Where the range begins.
        first: usize,
        /// Where it ends.
        end: usize,
        /// Elements of what it is a range of.
        len: usize,
    },

    /// What this device has no meaning for.
    #[error("{what}: {device} has no such thing; the program needs a GPU for it")]
    Unsupported {
        /// What was to be done.
        what: &'static str,
        /// The device.
        device: String,
    },

    /// A GPU whose managed memory the host must not look at while kernels run.
    #[error(
        "managed memory on {device}: the host and this GPU cannot use it at the same time; use a `Buffer`, and `Pinned` memory for what the host looks at"
    )]
    NoManagedMemory {
        /// The GPU.
        device: String,
    },

    /// A graph with memory that the host looks at by references.
    #[error(
        "{doing}: managed memory cannot be captured, because the host may be looking at it when the graph is launched; capture a `Buffer`"
    )]
    ManagedInGraph {
        /// What was to be captured.
        doing: String,
    },

    /// A copy between a GPU and an emulator.
    #[error(
        "copying from {from} to {to}: copies between devices are between GPUs or between emulators; read and write instead"
    )]
    NoPeers {
        /// The source's device.
        from: String,
        /// The destination's.
        to: String,
    },

    /// A copy between buffers whose lengths differ.
    #[error(
        "the buffers have {from} and {to} elements: copies are of all of both, so the lengths must be equal: copy a part with `slice`"
    )]
    BufferLengths {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },

    /// The host would wait while a stream's work is captured.
    #[error(
        "{doing}: this thread captures a stream's work, and nothing may wait on the host until that has ended"
    )]
    Capturing {
        /// What would have waited.
        doing: String,
    },

    /// The driver has refused to end the capture of a stream, so what that is given would be put down and never done.
    #[error(
        "{doing}: the driver has not ended the capture of this stream, and what it is given would not be done; drop it and \
         make another"
    )]
    StillCaptured {
        /// What was given.
        doing: String,
    },

    /// A buffer is larger than an address space.
    #[error("a buffer of {len} elements of {size} bytes is larger than the address space")]
    TooLarge {
        /// Elements.
        len: usize,
        /// Bytes of each.
        size: usize,
    },

    /// A copy between host and device where the lengths differ.
    #[error(
        "the buffer has {buffer} elements and the host slice {host}: copies are of all of both; copy a part with `slice`"
    )]
    LengthMismatch {
        /// Elements of the buffer.
        buffer: usize,
        /// Elements of the slice.
        host: usize,
    },

    /// A matrix that its buffer cannot hold.
    #[error(
        "a matrix of {rows} rows, {cols} columns and a pitch of {pitch} elements does not fit a buffer of {len} elements{hint}"
    )]
    MatrixDoesNotFit {
        /// Rows.
        rows: u64,
        /// Columns.
        cols: u64,
        /// Elements from a row to the next.
        pitch: u64,
        /// Elements of the buffer.
        len: usize,
        /// What to do about it.
        hint: &'static str,
    },

    /// A copy between matrices of different shapes.
    #[error(
        "the matrices have {from:?} and {to:?} rows and columns: a copy is of all of both, so they must be equal"
    )]
    MatrixShapes {
        /// Rows and columns of the source.
        from: (u64, u64),
        /// Rows and columns of the destination.
        to: (u64, u64),
    },

    /// A tensor that its buffer cannot hold.
    #[error(
        "a tensor of {dims:?} elements with strides of {strides:?} elements does not fit a buffer of {len}: its last element would be number {last}"
    )]
    TensorDoesNotFit {
        /// Elements in each dimension, the innermost first.
        dims: Vec<u64>,
        /// Elements from one index to the next, in dimensions 1 and up.
        strides: Vec<u64>,
        /// The number of the last element, from 0.
        last: u128,
        /// Elements of the buffer.
        len: usize,
    },

    /// A tensor that the tensor unit cannot address.
    #[error("{what}: {reason}")]
    BadTensorMap {
        /// The tensor and its tile.
        what: String,
        /// What is wrong, and what to do.
        reason: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a kernel was not launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadLaunch {
    /// The module has no such kernel.
    #[error("module `{module}` has {known}; is it the image of the crate that has the kernel?")]
    UnknownKernel {
        /// The image.
        module: &'static str,
        /// Its kernels.
        known: String,
    },

    /// The module was loaded on another device.
    #[error("the module `{module}` is loaded on another device: load it on this one too")]
    ForeignModule {
        /// The image.
        module: &'static str,
    },

    /// A buffer or tensor map of another device is among the arguments.
    #[error(
        "its parameter {parameter} (from 0) points into another device's memory: allocate the buffer on the device that launches"
    )]
    ForeignMemory {
        /// Which.
        parameter: usize,
    },

    /// The compiled kernel's parameters are not what the call passes.
    #[error(
        "its parameter {parameter} (from 0) has {compiled} bytes in the compiled kernel, but the call passes {passed}: image and kernel crate are of different versions, build both again"
    )]
    WrongParameter {
        /// Which.
        parameter: usize,
        /// Bytes in the kernel; 0 if it has no such parameter.
        compiled: usize,
        /// Bytes in the call; 0 if it passes none.
        passed: usize,
    },

    /// Kernel crate and compiled kernel disagree about what a parameter is.
    #[error(
        "rule G6: its parameter {parameter} (from 0), for the host `{name}: {passed}`, is of another type, or has another name, in the compiled \
         kernel: a type that asks its target or a feature is one type here and another there; give `Builder` and the host's dependency the same \
         features, write the type without `cfg`, and build both again"
    )]
    OtherParameter {
        /// Which.
        parameter: usize,
        /// Its name for the host.
        name: &'static str,
        /// Its type for the host.
        passed: &'static str,
    },

    /// Kernel crate and compiled kernel disagree about the launch.
    #[error(
        "it was compiled for {compiled} {what}, but the call has {called}: the kernel crate was built with other features or `cfg`s for the host than \
         for the device, or the image is of another version; give `Builder` and the host's dependency the same features, and build both again"
    )]
    WrongShape {
        /// Of what.
        what: &'static str,
        /// In the kernel.
        compiled: String,
        /// In the call.
        called: String,
    },

    /// The cluster shape was compiled in, and the call has another.
    #[error(
        "it was compiled for clusters of {compiled:?}, but the call has {called:?}: image and kernel crate are of different versions, build both again"
    )]
    WrongCluster {
        /// In the kernel.
        compiled: [u32; 3],
        /// In the call.
        called: [u32; 3],
    },

    /// The grid has no CTA.
    #[error("the grid {grid:?} has no CTA: every extent must be at least 1")]
    EmptyGrid {
        /// The grid.
        grid: [u32; 3],
    },

    /// The grid is too large.
    #[error("the grid {grid:?} is larger than {limit:?}")]
    GridTooLarge {
        /// The grid.
        grid: [u32; 3],
        /// The device's limit.
        limit: [u32; 3],
    },

    /// The grid has more CTAs than kernels can number the threads of.
    #[error("the grid {grid:?} has more than {limit} CTAs: launch fewer, and let each do more")]
    TooManyCtas {
        /// The grid.
        grid: [u32; 3],
        /// The most that a grid has, on any device.
        limit: u64,
    },

    /// The grid is not made of whole clusters.
    #[error(
        "the grid {grid:?} is not made of whole clusters of {cluster:?}: round it up to a multiple"
    )]
    PartialCluster {
        /// The grid.
        grid: [u32; 3],
        /// The kernel's cluster.
        cluster: [u32; 3],
    },

    /// The cluster is too large, or the device has none.
    #[error(
        "a cluster of {ctas} CTAs is more than the {limit} that {device} can schedule together"
    )]
    ClusterTooLarge {
        /// CTAs of the kernel's cluster.
        ctas: u64,
        /// The device's limit.
        limit: u32,
        /// The device.
        device: String,
    },

    /// Every CTA of the grid waits for every other, and they are not all there at the same time.
    #[error(
        "rule F5: it has a barrier of the whole grid, and {device} has at most {limit} of the grid's {ctas} CTAs at the same time: launch fewer, and let each do more"
    )]
    NotCoResident {
        /// CTAs of the grid.
        ctas: u64,
        /// The device's limit.
        limit: u64,
        /// The device.
        device: String,
    },

    /// The block is empty or too large.
    #[error(
        "its {threads:?} threads are not between 1 and {limit}, the most that {device} runs as one CTA of this kernel"
    )]
    BadBlock {
        /// Threads of a CTA.
        threads: [u32; 3],
        /// The device's limit for this kernel.
        limit: u32,
        /// The device.
        device: String,
    },

    /// More shared memory than the device has.
    #[error(
        "it needs {dynamic} bytes of dynamic and {fixed} of static shared memory, and {device} gives a CTA {limit}: use fewer stages or smaller tiles"
    )]
    SharedMemory {
        /// Dynamic bytes, from the kernel's layout.
        dynamic: u32,
        /// Static bytes.
        fixed: u32,
        /// The device's limit.
        limit: u32,
        /// The device.
        device: String,
    },
}
