//! The host's half of a kernel's signature.
//!
//! A kernel crate is compiled twice: for the GPU, where `#[baton::kernel]` makes an entry point,
//! and for the host, where the same attribute makes a function of the same name that takes the
//! same arguments and returns a [`Call`]: everything a launch needs except the grid. So a wrong or
//! missing argument is an ordinary type error in the host program, and the block shape, the cluster
//! shape and the shared memory of a kernel cannot be given wrongly, because they are not given at
//! all.
//!
//! What a device type looks like on the host is the associated type [`KernelParam::Host`]:
//!
//! | kernel parameter | host argument | bytes |
//! |---|---|---|
//! | `u8` … `u64`, `i8` … `i64`, `usize`, `isize`, `f32`, `f64` | the same | its own |
//! | `ReadOnly<T>` | [`DeviceSlice<'a, T>`](DeviceSlice) | address and length, 16 |
//! | `GlobalPtr<T>` | [`DeviceSliceMut<'a, T>`](DeviceSliceMut) | address and length, 16 |
//! | `TensorMap<Tile, A>` | [`TensorMap<'a, Tile, A>`](TensorMap) | 128 |
//! | a [protocol](crate::protocol) | [`SyncWords<'a, N>`](SyncWords) and [`DeviceSliceMut<'a, T>`](DeviceSliceMut) | 32 or 48 |
//!
//! The lifetimes are those of the buffers: a [`Call`] borrows every buffer that its kernel may
//! touch, mutably where it may write. `baton-host` makes these values and consumes the call; this
//! module only says how they look, so that kernel crates need nothing but this library.
//!
//! Every value knows the [`DeviceId`] of the device whose memory it points into, and a launch
//! compares: an address of one device means something else, or nothing, on another.

extern crate std;

use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;
use std::vec::Vec;

use crate::global::{Load, ReceiveParam};

/// A type that a kernel can take as a parameter, and what the host passes for it.
///
/// Implemented for the scalars that PTX parameters have, and for the typed pointers and tensor maps
/// of this library. References are missing on purpose: another thread may write what a kernel's
/// `&T` points to, and `noalias` would let the compiler assume that nobody does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel parameter",
    label = "not a kernel parameter",
    note = "kernels take integers, `f32`, `f64`, `ReadOnly<T>`, `GlobalPtr<T>`, `TensorMap<Tile>` and the token of their threads",
    note = "a reference is no parameter, because other threads may touch what it points to: use `ReadOnly<T>` or `GlobalPtr<T>`",
    note = "rule A14: words by which CTAs synchronise are parameters only as part of a protocol, whose words the host zeroes for each \
            launch: `SpinLock<T>`, `Semaphore<T>`, `GridExchange<T>` and the others of `baton::protocol`"
)]
pub trait KernelParam: ReceiveParam {
    /// What the host passes for this parameter.
    type Host<'a>;

    /// Appends this parameter's bytes, as the kernel's entry reads them.
    fn push(host: Self::Host<'_>, params: &mut Params);
}

macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        impl KernelParam for $scalar {
            type Host<'a> = $scalar;

            fn push(host: $scalar, params: &mut Params) {
                params.push_bytes(&host.to_le_bytes());
            }
        }
    )*};
}
scalars! { u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

impl KernelParam for usize {
    type Host<'a> = usize;

    fn push(host: usize, params: &mut Params) {
        // The device is a 64-bit target whatever the host is.
        u64::push(host as u64, params);
    }
}

impl KernelParam for isize {
    type Host<'a> = isize;

    fn push(host: isize, params: &mut Params) {
        i64::push(host as i64, params);
    }
}

/// A value that can lie in device memory and be copied to and from the host byte by byte.
///
/// # Safety
/// 1. Every pattern of `size_of::<Self>()` bytes is a valid value: device code, another schedule or
///    a poisoned buffer may leave any bytes there.
/// 2. There are no padding bytes, so that a copy reads only initialised bytes.
/// 3. The layout is fixed (`repr(C)`, `repr(transparent)` or primitive), and the same on the host
///    and on `nvptx64`.
/// 4. It holds no pointer or reference to host memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lie in a device buffer",
    note = "numbers, `bf16`, `f16` and arrays of them can; for a struct of your own, see the obligations of `baton::launch::DeviceValue`"
)]
pub unsafe trait DeviceValue: Copy + Send + Sync + 'static {}

macro_rules! plain_numbers {
    ($($number:ty)*) => {$(
        // SAFETY: a primitive number has every bit pattern as a value (1), no padding (2), the same
        // little-endian layout on both sides (3), so that both builds mean the same by it (I27), and is no pointer (4).
        unsafe impl DeviceValue for $number {}
    )*};
}
plain_numbers! { u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

// SAFETY: both are `repr(transparent)` over `u16`.
unsafe impl DeviceValue for crate::float::bf16 {}
// SAFETY: as above.
unsafe impl DeviceValue for crate::float::f16 {}

// SAFETY: both are `repr(transparent)` over `u8`.
unsafe impl DeviceValue for crate::float::e4m3 {}
// SAFETY: as above.
unsafe impl DeviceValue for crate::float::e5m2 {}

// SAFETY: an array is its elements in a row, without padding between them (1 to 4 by element).
unsafe impl<T: DeviceValue, const N: usize> DeviceValue for [T; N] {}

/// Names one device of this process, so that memory of one is not passed to another.
///
/// Device libraries hand these out; equal ids mean the same address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(u64);

impl DeviceId {
    /// An id that no earlier call in this process returned.
    pub fn unique() -> Self {
        use core::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Who answers for device memory that kernels are given: a launch asks it what it touches, so that it can wait for those
/// that use the same.
///
/// Device libraries implement it for what they lend memory from.
pub trait Owner: Send + Sync {
    /// Adds what a kernel touches that is given the memory, and may write it if `writes`.
    fn touch(&self, writes: bool, touched: &mut Touched);
}

/// What the kernel of a [`Call`] may touch, as the owners of its memory say. Each is kept until the call is gone.
#[derive(Debug, Default)]
pub struct Touched(Vec<(Arc<dyn Any + Send + Sync>, bool)>);

impl Touched {
    /// Adds something of the device library's, and whether the kernel may write it.
    pub fn push(&mut self, what: Arc<dyn Any + Send + Sync>, writes: bool) {
        self.0.push((what, writes));
    }

    /// All of it, in the order of the parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<dyn Any + Send + Sync>, bool)> {
        self.0.iter().map(|(what, writes)| (what, *writes))
    }
}

macro_rules! owned {
    ($($what:ident<$life:lifetime $(, $argument:ident)*> $([const $n:ident])?;)*) => {$(
        impl<$life $(, $argument)* $(, const $n: usize)?> $what<$life $(, $argument)* $(, $n)?> {
            /// The same, of memory that `owner` answers for.
            ///
            /// # Safety
            /// What `owner` adds to [`Touched`] is all of the device library's that the memory is a part of.
            pub unsafe fn owned_by(
                mut self, // G1: a launch waits for what the owner names; go on with what this returns
                owner: &$life dyn Owner,
            ) -> Self {
                self.owner = Some(owner);
                self
            }
        }
    )*};
}
owned! {
    DeviceSlice<'a, T>;
    DeviceSliceMut<'a, T>;
    SyncWords<'a> [const N];
}

/// Device memory that a kernel reads: the host argument for a `ReadOnly<T>`.
///
/// Like `&'a [T]`, except that the host cannot look through it.
pub struct DeviceSlice<'a, T> {
    device: DeviceId,
    address: u64,
    len: u64,
    owner: Option<&'a dyn Owner>,
    borrow: PhantomData<&'a [T]>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

/// Device memory that a kernel may write: the host argument for a `GlobalPtr<T>`.
///
/// Like `&'a mut [T]`, except that the host cannot look through it.
pub struct DeviceSliceMut<'a, T> {
    device: DeviceId,
    address: u64,
    len: u64,
    owner: Option<&'a dyn Owner>,
    borrow: PhantomData<&'a mut [T]>,
}

macro_rules! slices {
    ($slice:ident, $access:literal) => {
        impl<'a, T> $slice<'a, T> {
            /// Memory at `address` of `device`.
            ///
            /// # Safety
            /// For `'a`, `device` must have `len` values of `T` at `address`, aligned for `T`,
            #[doc = $access]
            pub unsafe fn from_raw(device: DeviceId, address: u64, len: u64) -> Self {
                Self { device, address, len, owner: None, borrow: PhantomData }
            }

            /// The device whose memory this is.
            pub fn device(&self) -> DeviceId {
                self.device
            }

            /// Where it begins, in that device's generic address space.
            pub fn address(&self) -> u64 {
                self.address
            }

            /// How many values of `T` it has.
            pub fn len(&self) -> u64 {
                self.len
            }

            /// Whether it has none.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }
        }

        impl<T> fmt::Debug for $slice<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($slice))
                    .field("address", &format_args!("{:#x}", self.address))
                    .field("len", &self.len)
                    .finish()
            }
        }
    };
}
slices!(DeviceSlice, "and nothing may write them except kernels that are given them otherwise.");
slices!(DeviceSliceMut, "and nothing else may access them.");

/// Words of device memory that are zero when the launch begins: the host argument for the state of a
/// [protocol](crate::protocol) (rule A14).
///
/// At least one object of `N` words of 32 bits. It is neither `Copy` nor `Clone`, and a call consumes it, so no
/// launch gets what an earlier one left: `baton-host`'s `SyncBuffer::reset` zeroes the words and gives the next.
pub struct SyncWords<'a, const N: usize> {
    device: DeviceId,
    address: u64,
    objects: u64,
    owner: Option<&'a dyn Owner>,
    borrow: PhantomData<&'a mut [u32]>,
}

impl<const N: usize> SyncWords<'_, N> {
    /// `objects` times `N` words at `address` of `device`.
    ///
    /// # Safety
    /// 1. For the lifetime, `device` must have the words, at least one object of them, at `address`, aligned to 4, and
    ///    nothing else may access them.
    /// 2. They must be zero when the kernel that is given them begins.
    pub unsafe fn from_raw(device: DeviceId, address: u64, objects: u64) -> Self {
        Self { device, address, objects, owner: None, borrow: PhantomData }
    }

    /// The device whose memory this is.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// How many objects of `N` words there are.
    pub fn objects(&self) -> u64 {
        self.objects
    }
}

impl<const N: usize> fmt::Debug for SyncWords<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncWords").field("words", &N).field("objects", &self.objects).finish()
    }
}

/// The 128 opaque bytes of an encoded tensor map, aligned as the tensor unit wants them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct EncodedTensorMap(pub [u64; 16]);

/// A tensor map: the host argument for a kernel's `TensorMap<Tile, A>`.
///
/// It describes a tensor in a device buffer, cut into tiles of type `Tile`, and borrows that buffer
/// for `'a`: shared if kernels only [`Load`] through it, exclusively if they
/// [`Store`](crate::global::Store), and so the one is `Copy` and the other is not. Only `baton-host` can encode one, because only the device's driver
/// knows the format.
pub struct TensorMap<'a, Tile, A = Load> {
    device: DeviceId,
    encoded: EncodedTensorMap,
    owner: Option<(&'a dyn Owner, bool)>,
    borrow: PhantomData<&'a ()>,
    tile: PhantomData<fn() -> (Tile, A)>,
}

impl<Tile> Clone for TensorMap<'_, Tile, Load> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Tile> Copy for TensorMap<'_, Tile, Load> {}

impl<'a, Tile, A> TensorMap<'a, Tile, A> {
    /// The same, of a tensor that `owner` answers for, and that kernels store into if `writes`.
    ///
    /// # Safety
    /// What `owner` adds to [`Touched`] is all of the device library's that the tensor is a part of, and kernels that
    /// get the map only load if `writes` is `false`.
    pub unsafe fn owned_by(
        mut self, // G1: a launch waits for what the owner names; go on with the map that this returns
        owner: &'a dyn Owner,
        writes: bool,
    ) -> Self {
        self.owner = Some((owner, writes));
        self
    }

    /// A tensor map from what the device's driver encoded.
    ///
    /// # Safety
    /// 1. `encoded` must be a tensor map of `device` whose element type, box and swizzle are those of
    ///    `Tile`.
    /// 2. For the lifetime, the memory that it describes must stay allocated, and nothing may write it
    ///    (for [`Load`]) or access it otherwise (for [`Store`](crate::global::Store)).
    pub unsafe fn from_encoded(device: DeviceId, encoded: EncodedTensorMap) -> Self {
        Self { device, encoded, owner: None, borrow: PhantomData, tile: PhantomData }
    }

    /// The device whose memory it describes.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The encoded form.
    pub fn encoded(&self) -> &EncodedTensorMap {
        &self.encoded
    }
}

impl<Tile, A> fmt::Debug for TensorMap<'_, Tile, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorMap").field("device", &self.device).finish_non_exhaustive()
    }
}

/// What the host's half of a kernel says of one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its type, for messages.
    pub of_type: &'static str,
    /// What has to be the same in the compiled kernel.
    pub signature: [u64; 3],
}

/// The bytes of a kernel's parameters, in order, and the devices that they point into.
#[derive(Debug, Default)]
pub struct Params {
    bytes: Vec<Vec<u8>>,
    arguments: Vec<Argument>,
    devices: Vec<(usize, DeviceId)>,
    touched: Touched,
    co_resident: bool,
    /// Some parameter points into memory that the kernel may touch at once.
    touches_at_once: bool,
    /// Some parameter points into memory that the kernel touches only behind the grids before it.
    touches_later: bool,
}

impl Params {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends what the host passes for the parameter `name` of type `P`, and that it is of this type (rule G6).
    #[doc(hidden)]
    pub fn pass<'a, P: KernelParam>(&mut self, name: &'static str, host: P::Host<'a>) {
        let signature = P::SIGNATURE.named(name);
        self.arguments.push(Argument { name, of_type: core::any::type_name::<P>(), signature });
        P::push(host, self);
    }

    /// Appends a parameter of these bytes (little endian).
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.push(bytes.to_vec());
    }

    /// Appends address and length of memory to read.
    pub fn push_slice<T>(&mut self, slice: &DeviceSlice<'_, T>) {
        self.touches(slice.owner, false);
        self.push_span(slice.device, slice.address, slice.len);
    }

    /// Appends address and length of memory to write.
    pub fn push_slice_mut<T>(&mut self, slice: &DeviceSliceMut<'_, T>) {
        self.touches(slice.owner, true);
        self.push_span(slice.device, slice.address, slice.len);
    }

    /// Appends a tensor map by value.
    pub fn push_tensor_map<Tile, A>(&mut self, map: &TensorMap<'_, Tile, A>) {
        if let Some((owner, writes)) = map.owner {
            self.touches(Some(owner), writes);
        }
        self.points_into(map.device);
        self.bytes.push(map.encoded.0.iter().flat_map(|word| word.to_le_bytes()).collect());
    }

    /// Appends the words of a protocol and the array that they guard.
    pub(crate) fn push_guarded<T, const N: usize, const M: usize>(
        &mut self,
        words: SyncWords<'_, N>,
        data: [DeviceSliceMut<'_, T>; M],
    ) {
        self.touches(words.owner, true);
        self.points_into(words.device);
        let mut bytes: Vec<u8> =
            [words.address, words.objects].iter().flat_map(|word| word.to_le_bytes()).collect();
        for slice in data {
            self.touches(slice.owner, true);
            self.points_into(slice.device);
            bytes.extend([slice.address, slice.len].iter().flat_map(|word| word.to_le_bytes()));
        }
        self.bytes.push(bytes);
    }

    /// The kernel waits for CTAs of its own grid, so all of them have to be on the device at the same time (rule F5).
    pub(crate) fn require_co_residency(&mut self) {
        self.co_resident = true;
    }

    fn push_span(&mut self, device: DeviceId, address: u64, len: u64) {
        self.points_into(device);
        self.bytes.push([address, len].iter().flat_map(|word| word.to_le_bytes()).collect());
    }

    /// Appends a parameter whose memory the kernel touches only when the grids before it have completed (rule F6).
    pub(crate) fn push_dependent(&mut self, push: impl FnOnce(&mut Self)) {
        let before = self.touches_at_once;
        push(self);
        self.touches_at_once = before;
        self.touches_later = true;
    }

    fn touches(&mut self, owner: Option<&dyn Owner>, writes: bool) {
        if let Some(owner) = owner {
            owner.touch(writes, &mut self.touched);
        }
    }

    fn points_into(&mut self, device: DeviceId) {
        self.touches_at_once = true;
        self.devices.push((self.bytes.len(), device));
    }
}

/// What a kernel's attribute fixed about its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a CTA: x, y, z.
    pub threads: [u32; 3],
    /// CTAs of a cluster, for kernels that are launched in clusters.
    pub cluster: Option<[u32; 3]>,
    /// CTAs that must fit on one multiprocessor at the same time (`.minnctapersm`).
    pub min_ctas: u32,
    /// Bytes of dynamic shared memory, from the kernel's typed layout.
    pub dynamic_shared: u32,
}

/// A kernel with its arguments, ready to be launched on a grid.
///
/// `#[baton::kernel]` makes the functions that return this; `baton_host::Device::launch` takes it.
/// `'a` is the borrow of every buffer among the arguments.
#[derive(Debug)]
#[must_use = "a call does nothing until a device launches it"]
pub struct Call<'a> {
    kernel: &'static str,
    shape: Shape,
    params: Params,
    borrows: PhantomData<&'a mut ()>,
}

impl Call<'_> {
    /// A call of the entry point `kernel`.
    ///
    /// # Safety
    /// 1. `params` must be what the entry of that name reads, one for one, in every module that
    ///    this call is launched from.
    /// 2. The memory that they point into must stay borrowed for the lifetime of the result.
    /// 3. `shape` must be the shape that the entry was compiled for.
    #[doc(hidden)]
    pub unsafe fn new(kernel: &'static str, shape: Shape, params: Params) -> Self {
        Self { kernel, shape, params, borrows: PhantomData }
    }

    /// The name of the kernel's entry point.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// What the kernel's attribute fixed.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The bytes of each parameter, in order.
    pub fn params(&self) -> &[Vec<u8>] {
        &self.params.bytes
    }

    /// What each parameter is for the host; none in a call that `#[baton::kernel]` did not make.
    pub fn arguments(&self) -> &[Argument] {
        &self.params.arguments
    }

    /// Whether every CTA of the grid waits for every other, so that a grid that does not fit the device at once must
    /// be refused (rule F5).
    pub fn co_resident(&self) -> bool {
        self.params.co_resident
    }

    /// Whether all memory that the kernel touches is [`Dependent`](crate::previous::Dependent) on the grids before it, so
    /// that it may be started before they have completed (rule F6).
    pub fn is_dependent(&self) -> bool {
        // A kernel without such a parameter has no wait at its exit either.
        self.params.touches_later && !self.params.touches_at_once
    }

    /// What the kernel may touch, as far as its memory has owners.
    pub fn touched(&self) -> &Touched {
        &self.params.touched
    }

    /// The parameters that point into a device's memory: index and device.
    pub fn devices(&self) -> &[(usize, DeviceId)] {
        &self.params.devices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn parameters_are_pushed_in_order_as_the_entry_reads_them() {
        let device = DeviceId::unique();
        // SAFETY: the slices are only taken apart.
        let (read, write) = unsafe {
            (
                DeviceSlice::<u32>::from_raw(device, 0x1122, 3),
                DeviceSliceMut::<u8>::from_raw(device, 0x3344, 5),
            )
        };
        // SAFETY: the map is only taken apart.
        let map = unsafe { TensorMap::<()>::from_encoded(device, EncodedTensorMap([7; 16])) };

        let mut params = Params::new();
        i16::push(-2, &mut params);
        params.push_slice(&read);
        f32::push(1.0, &mut params);
        params.push_slice_mut(&write);
        usize::push(9, &mut params);
        params.push_tensor_map(&map);

        let pair = |address: u64, len: u64| [address.to_le_bytes(), len.to_le_bytes()].concat();
        let shape = Shape { threads: [1; 3], cluster: None, min_ctas: 1, dynamic_shared: 0 };
        // SAFETY: never launched.
        let call = unsafe { Call::new("none", shape, params) };
        assert_eq!(
            call.params(),
            [
                vec![0xfe, 0xff],
                pair(0x1122, 3),
                vec![0, 0, 0x80, 0x3f],
                pair(0x3344, 5),
                vec![9, 0, 0, 0, 0, 0, 0, 0],
                7u64.to_le_bytes().repeat(16),
            ]
        );
        assert_eq!(call.devices(), [(1, device), (3, device), (5, device)]);
    }

    #[test]
    fn a_call_is_dependent_if_all_its_memory_is() {
        use crate::global::ReadOnly;
        use crate::previous::Dependent;
        // SAFETY: the slice is only taken apart.
        let slice = || unsafe { DeviceSlice::<u32>::from_raw(DeviceId::unique(), 256, 1) };
        let is_dependent = |push: &dyn Fn(&mut Params)| {
            let mut params = Params::new();
            u32::push(3, &mut params);
            push(&mut params);
            <Dependent<ReadOnly<u32>>>::push(slice(), &mut params);
            let shape = Shape { threads: [1; 3], cluster: None, min_ctas: 1, dynamic_shared: 0 };
            // SAFETY: never launched.
            let call = unsafe { Call::new("none", shape, params) };
            assert_eq!(call.params().len(), call.devices().len() + 1);
            call.is_dependent()
        };
        assert!(is_dependent(&|_| ()));
        assert!(!is_dependent(&|params| <ReadOnly<u32>>::push(slice(), params)));
    }

    #[test]
    fn devices_have_ids_of_their_own() {
        assert_ne!(DeviceId::unique(), DeviceId::unique());
    }
}
