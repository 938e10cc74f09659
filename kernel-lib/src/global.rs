//! Global memory as a kernel sees it: typed pointers and tensor maps, all of them kernel parameters.
//!
//! A kernel gets no references: another thread may write behind them, and `noalias` would let the compiler
//! use the read-only cache or move loads across synchronisation. [`ReadOnly`] is what nobody writes during the
//! launch (the host lends the buffer by `&`), [`GlobalPtr`] what this kernel alone may touch (`&mut`), and a
//! [`TensorMap`] describes a matrix to the bulk copy engine, in boxes of its tile type.

use core::marker::PhantomData;

#[cfg(not(target_arch = "nvptx64"))]
use crate::launch;
use crate::ptx::addr::{Addr, Generic, Global};
use crate::ptx::policy::{Hint, NoHint, Policy};
use crate::ptx::{ld, sreg, st};
use crate::require;
use crate::shared_access::{check, unpack_all};
use crate::signature::{Kind, Signature};
use crate::tile::{BulkTile, Element};
use crate::token::{Cta, Role, Set, Warp, Warpgroup};

/// An array in global memory that nobody writes during the launch (rule A10).
///
/// `W` says since when: [`BeforeTheLaunch`], or [`BehindTheWait`] where an earlier grid may have written it while this one
/// already ran.
#[repr(C)]
pub struct ReadOnly<T, W = BeforeTheLaunch> {
    address: u64,
    len: u64,
    types: PhantomData<fn() -> (T, W)>,
}

/// All of the array was written before the launch began.
pub enum BeforeTheLaunch {}
/// All of the array was written before `griddepcontrol.wait` returned.
pub enum BehindTheWait {}

impl<T, W> Clone for ReadOnly<T, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, W> Copy for ReadOnly<T, W> {}

/// Memory that is the same from the beginning of the launch to its end, so that any cache may have it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may be written while the kernel runs",
    label = "not read-only for the whole launch",
    note = "rule A10: `ld.global.nc` and textures read through a cache that is outside the memory model, so what the kernel, or a \
            grid that \
            it overlaps, writes may never be seen (PTX ISA 8.6, ld.global.nc)",
    note = "take the array as `ReadOnly<T>`, which the host lends by `&`; or read it with `.get(…)`"
)]
pub trait UnwrittenDuringTheLaunch: sealed::Sealed {}
impl<T> sealed::Sealed for ReadOnly<T> {}
impl<T> UnwrittenDuringTheLaunch for ReadOnly<T> {}

impl<T: Element> ReadOnly<T> {
    /// The same array, behind the wait for the grids that may have written it.
    #[inline(always)]
    pub(crate) fn behind_the_wait(self) -> ReadOnly<T, BehindTheWait> {
        ReadOnly { address: self.address, len: self.len, types: PhantomData }
    }
}

impl<T: Element, W> ReadOnly<T, W> {
    /// Element `index`, through the read-only cache. Traps when it is out of range.
    ///
    /// # PTX
    /// `ld.global.nc`, PTX 3.1, sm_35 (ISA *ld.global.nc*).
    #[inline(always)]
    pub fn get_nc(&self, index: u64) -> T
    where
        Self: UnwrittenDuringTheLaunch,
    {
        check(index < self.len);
        let at = Addr::from_raw(self.address + index * size_of::<T>() as u64);
        // SAFETY: in range, and nobody writes the array from the beginning of the launch on (I24).
        unsafe { ld::ld_nc(at) }
    }

    /// `N` neighbouring elements from `index` on, through the read-only cache. Traps when they are not all in the array, or not on a 16-byte
    /// boundary.
    ///
    /// ```
    /// use baton::prelude::*;
    ///
    /// /// Sums of 32 elements each.
    /// #[baton::kernel(threads = 64)]
    /// fn sums(cta: Cta<'_, NoShared, 64>, elements: ReadOnly<f32>, output: GlobalPtr<f32>) -> Exit<'_> {
    ///     for mut sum in output.partition(&cta) {
    ///         sum.put(elements.get_nc_chunk::<32>(32 * sum.index()).iter().sum());
    ///     }
    ///     cta.claim().0.join().exit(())
    /// }
    /// # fn main() {}
    /// ```
    ///
    /// # PTX
    /// `ld.global.nc.v4.b32` for each 16 bytes, PTX 3.1, sm_35 (ISA *ld.global.nc*).
    #[inline(always)]
    pub fn get_nc_chunk<const N: usize>(&self, index: u64) -> [T; N]
    where
        Self: UnwrittenDuringTheLaunch,
    {
        const {
            require(
                N > 0 && N <= 512 && (N * size_of::<T>()) % 16 == 0,
                "rule D14: elements are read in steps of 16 bytes: choose `N` so",
            )
        };
        let first = self.chunk(index, N as u32);
        unpack_all(|byte| {
            // SAFETY: in range and aligned, and nobody writes the array from the beginning of the launch on (I24).
            unsafe { ld::ld_nc_v4(first.offset(byte as u32)) }
        })
    }

    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `index`. Traps when it is out of range.
    ///
    /// # PTX
    /// `ld.global`, weak (ISA 9.7.9.8).
    #[inline(always)]
    pub fn get(&self, index: u64) -> T {
        check(index < self.len);
        // SAFETY: in range, and nobody writes the array during the launch: the host lends it by `&` (I24).
        unsafe { read_global(Addr::from_raw(self.address + index * size_of::<T>() as u64)) }
    }
}

impl<T: Element, W> ReadOnly<T, W> {
    /// The address of the matrix of `rows` × `cols` elements that begins at element `first`. Traps when it is not all in the
    /// array.
    #[inline(always)]
    pub(crate) fn matrix(&self, first: u64, rows: u32, cols: u32) -> u64 {
        let elements = rows as u64 * cols as u64;
        check(elements <= self.len && first <= self.len - elements);
        self.address + first * size_of::<T>() as u64
    }

    /// The address of `count` neighbouring elements, 16 bytes, from `index` on. Traps when they are not all in the array, or
    /// not on a 16-byte boundary.
    #[inline(always)]
    pub(crate) fn chunk(&self, index: u64, count: u32) -> Addr<Global> {
        check(count as u64 <= self.len && index <= self.len - count as u64);
        let at = self.address + index * size_of::<T>() as u64;
        check(at % 16 == 0);
        Addr::from_raw(at)
    }
}

/// An array in global memory that the launch may write; no other argument of the launch overlaps it.
///
/// `O` says which threads of each CTA own its elements: all of them ([`EveryThread`]), or those of one role
/// ([`TheWarp`], [`TheWarpgroup`]), where one role alone writes results. It stands in the type, because every
/// thread has to deal the elements out to the same owners.
#[repr(C)]
pub struct GlobalPtr<T, O = EveryThread> {
    address: u64,
    len: u64,
    types: PhantomData<fn() -> (T, O)>,
}

/// All threads of the CTA own elements.
pub enum EveryThread {}
/// The one warp of the role at position `ROLE` of [`Cta::roles`] owns the elements.
pub enum TheWarp<const ROLE: u32> {}
/// The four warps of the role at position `ROLE` of [`Cta::roles`] own the elements.
pub enum TheWarpgroup<const ROLE: u32> {}

/// Nobody owns the elements: they are the places of [edited tensor maps](crate::edited_map), one for each CTA. It stands in the type,
/// because the CTAs of a grid may run different code on one array.
pub enum TheMaps {}

/// The set of threads that `O` names.
///
/// # Safety
/// No other set of the CTA has `Owns<O>`, so that no two sets deal out the same elements.
#[diagnostic::on_unimplemented(
    message = "the elements of this array do not belong to the threads of `{Self}`",
    label = "belongs to `{O}`",
    note = "rule A13: each plain element has one owner, and the array's type says which threads they are: `GlobalPtr<T>` is dealt \
            out by the whole CTA, `GlobalPtr<T, TheWarp<I>>` and `GlobalPtr<T, TheWarpgroup<I>>` in the role at position `I`",
    note = "take an array whose type names the threads that use it here"
)]
pub unsafe trait Owns<O>: Set {}
// SAFETY: there is one such set (I1, I16).
unsafe impl<L, const THREADS: u32> Owns<EveryThread> for Cta<'_, L, THREADS> {}
// SAFETY: one role stands at the position (I1, I16), and has as many threads in every CTA (I23).
unsafe impl<const ROLE: u32> Owns<TheWarp<ROLE>> for Warp<'_, Role<ROLE>> {}
// SAFETY: one role stands at the position (I1, I16), and has as many threads in every CTA (I23).
unsafe impl<const ROLE: u32> Owns<TheWarpgroup<ROLE>> for Warpgroup<'_, Role<ROLE>> {}

/// An array whose elements the set `S` owns; implemented by [`GlobalPtr`] alone.
pub trait DealtTo<S: Set>: sealed::Sealed {
    /// The type of the elements.
    type Element: Element;
    /// # Safety
    /// As for `GlobalPtr::partition_of`.
    #[doc(hidden)]
    unsafe fn partition_in(&self, set: &S, cta: [u32; 3]) -> Partition<Self::Element>;
}

mod sealed {
    pub trait Sealed {}
}

impl<T, O> sealed::Sealed for GlobalPtr<T, O> {}
impl<T: Element, O, S: Owns<O>> DealtTo<S> for GlobalPtr<T, O> {
    type Element = T;
    #[inline(always)]
    unsafe fn partition_in(&self, set: &S, cta: [u32; 3]) -> Partition<T> {
        // SAFETY: the caller's promise.
        unsafe { self.partition_of(set, cta) }
    }
}

impl<T: Element, O> GlobalPtr<T, O> {
    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, dealt out to the owning threads of the grid: the thread of rank `r` in its set of `n`, in
    /// CTA `b` of `c`, owns elements `n b + r`, `n b + r + n c`, `n b + r + 2 n c`, … (rule A13).
    ///
    /// Needs no `unsafe`: the set is part of the array's type and the array is consumed, so no element has two
    /// owners.
    #[inline(always)]
    pub fn partition<S: Owns<O>>(
        self, // A13: an array is dealt out once; call `work.partition(&mut w, &mut array)` for the elements that a `Takeover` brings
        set: &S,
    ) -> Partition<T> {
        // SAFETY: this CTA is the one of its index, and the array, which is this thread's parameter (I24), is consumed (I16).
        unsafe { self.partition_of(set, [sreg::ctaid_x(), sreg::ctaid_y(), sreg::ctaid_z()]) }
    }

    /// The elements that this thread would own in the CTA of index `cta`.
    ///
    /// # Safety
    /// 1. Of all CTAs, this one alone acts for the CTA of that index.
    /// 2. The array is this thread's own parameter, and no other thread is given it.
    #[inline(always)]
    pub(crate) unsafe fn partition_of<S: Owns<O>>(&self, set: &S, cta: [u32; 3]) -> Partition<T> {
        let [x, y, z] = cta.map(u64::from);
        let [nx, ny, nz] = [sreg::nctaid_x(), sreg::nctaid_y(), sreg::nctaid_z()].map(u64::from);
        let threads = S::THREADS as u64;
        let first = (x + nx * (y + ny * z)) * threads + set.rank() as u64;
        let step = threads * nx * ny * nz;
        Partition { address: self.address, first, step, len: self.len, element: PhantomData }
    }

    /// An element through the read-only cache, for memory that nobody writes: which a `GlobalPtr` is not (rule A10).
    #[inline(always)]
    pub fn get_nc(&self, index: u64) -> T
    where
        Self: UnwrittenDuringTheLaunch,
    {
        let _ = index;
        unreachable!()
    }

    /// The address, for code that claims the memory in its own way.
    #[inline(always)]
    pub fn address(&self) -> Addr<Global> {
        Addr::from_raw(self.address)
    }
}

/// The elements of a [`GlobalPtr`] that one thread owns.
///
/// `Send`, so that a role can own it: a role's closure runs in the thread that made it.
pub struct Partition<T> {
    address: u64,
    first: u64,
    step: u64,
    /// Of the whole array.
    len: u64,
    element: PhantomData<T>,
}

/// The elements of a [`Partition`], one after the other.
pub struct OwnElements<'a, T> {
    address: u64,
    index: u64,
    step: u64,
    len: u64,
    partition: PhantomData<&'a mut T>,
}

/// One element of a [`Partition`].
pub struct OwnElement<'a, T> {
    at: Addr<Global>,
    index: u64,
    partition: PhantomData<&'a mut T>,
}

impl<'a, T: Element> Iterator for OwnElements<'a, T> {
    type Item = OwnElement<'a, T>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.index;
        if index >= self.len {
            return None;
        }
        // The host launches at most 2⁵⁰ CTAs, and an array has fewer than 2⁵⁷ bytes: this does not wrap.
        self.index = index + self.step;
        let at = Addr::from_raw(self.address + index * size_of::<T>() as u64);
        Some(OwnElement { at, index, partition: PhantomData })
    }
}

impl<T: Element> IntoIterator for Partition<T> {
    type Item = OwnElement<'static, T>;
    type IntoIter = OwnElements<'static, T>;

    /// All of this thread's elements, once.
    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        let Partition { address, first, step, len, .. } = self;
        OwnElements { address, index: first, step, len, partition: PhantomData }
    }
}

impl<T: Element> OwnElement<'_, T> {
    /// Its index in the whole array.
    #[inline(always)]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Reads it.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: in range, and this thread's own (I16).
        unsafe { read_global(self.at) }
    }

    /// Writes it.
    #[inline(always)]
    pub fn put(&mut self, value: T) {
        // SAFETY: in range, and this thread's own (I16).
        unsafe { write_global(self.at, value) }
    }
}

impl<T: Element> Partition<T> {
    /// How many elements this thread owns. A division: to visit them all, [`elements`](Self::elements) costs less.
    #[inline(always)]
    pub fn len(&self) -> u64 {
        if self.is_empty() { 0 } else { (self.len - self.first - 1) / self.step + 1 }
    }

    /// Whether this thread owns none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first >= self.len
    }

    /// This thread's elements, in order.
    #[inline(always)]
    pub fn elements(&mut self) -> OwnElements<'_, T> {
        let &mut Partition { address, first, step, len, .. } = self;
        OwnElements { address, index: first, step, len, partition: PhantomData }
    }

    /// The index in the whole array of this thread's element `k`.
    #[inline(always)]
    pub fn index(&self, k: u64) -> u64 {
        self.first.wrapping_add(k.wrapping_mul(self.step))
    }

    /// Reads this thread's element `k`. Traps when there is none.
    #[inline(always)]
    pub fn get(&self, k: u64) -> T {
        // SAFETY: in range, and this thread's own (I16).
        unsafe { read_global(self.place(k)) }
    }

    /// Writes this thread's element `k`. Traps when there is none.
    #[inline(always)]
    pub fn put(&mut self, k: u64, value: T) {
        // SAFETY: in range, and this thread's own (I16).
        unsafe { write_global(self.place(k), value) }
    }

    /// An element through the read-only cache, for memory that nobody writes: which a partition is not (rule A10).
    #[inline(always)]
    pub fn get_nc(&self, k: u64) -> T
    where
        Self: UnwrittenDuringTheLaunch,
    {
        let _ = k;
        unreachable!()
    }

    /// Where element `k` of this thread lies. Traps when there is none: a `k` that is no element's could wrap to
    /// the index of another thread's.
    #[inline(always)]
    fn place(&self, k: u64) -> Addr<Global> {
        // Without the division where it is the first.
        check(if k == 0 { !self.is_empty() } else { k < self.len() });
        Addr::from_raw(self.address + self.index(k) * size_of::<T>() as u64)
    }
}

/// Loads one element of global memory with a weak `ld.global`.
///
/// # Safety
/// 1. `at` is aligned and inside an allocation.
/// 2. Nobody writes it without synchronisation between.
#[inline(always)]
pub(crate) unsafe fn read_global<T: Element>(at: Addr<Global>) -> T {
    // SAFETY: the caller's promise; by address, so that the compiler assumes nothing about who else may write it (I26).
    unsafe { ld::ld_weak(at) }
}

/// Stores one element of global memory with a weak `st.global`.
///
/// # Safety
/// 1. `at` is aligned and inside an allocation.
/// 2. Nobody else touches it without synchronisation between.
#[inline(always)]
pub(crate) unsafe fn write_global<T: Element>(at: Addr<Global>, value: T) {
    // SAFETY: the caller's promise.
    unsafe { st::st_weak(at, value) }
}

/// A matrix in global memory, described to the bulk copy engine in boxes of the tile `T`.
///
/// The box is the tile's, so the bytes that a load delivers are the bytes that its barrier expects (rule C8). A
/// map is for [`Load`] or for [`Store`]: the host lends the matrix by `&` or by `&mut`, so that no launch reads
/// through one map what it writes through another.
pub struct TensorMap<T, A = Load> {
    address: u64,
    tile: PhantomData<fn() -> (T, A)>,
}

/// A tensor map that bulk copies read through.
pub enum Load {}
/// A tensor map that bulk copies write through.
pub enum Store {}

impl<T, A> Clone for TensorMap<T, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, A> Copy for TensorMap<T, A> {}

impl<T: BulkTile, A> TensorMap<T, A> {
    /// The tile whose first element is at (`row`, `col`) of the matrix. What lies outside the matrix is zero
    /// on a load and left out on a store.
    #[inline(always)]
    pub fn at(&self, row: i32, col: i32) -> TileAt<T, A> {
        TileAt { map: self.address, row, col, hint: NoHint, tile: PhantomData }
    }

    /// The address of the map itself, for code on layer 0.
    #[inline(always)]
    pub fn address(&self) -> Addr<Generic> {
        Addr::from_raw(self.address)
    }

    /// Fetches the map itself into the cache of the copy engine.
    ///
    /// # PTX
    /// `prefetch.tensormap`, PTX 8.0, sm_90 (ISA 9.7.9.21).
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: the address of a tensor map that the host encoded (I24).
        unsafe { crate::ptx::tensor::prefetch_tensormap(Addr::from_raw(self.address)) }
    }
}

/// One tile of a matrix: what a load reads, or a store writes; with a [cache policy](crate::cache), or [`NoHint`].
pub struct TileAt<T, A = Load, H = NoHint> {
    pub(crate) map: u64,
    pub(crate) row: i32,
    pub(crate) col: i32,
    pub(crate) hint: H,
    tile: PhantomData<fn() -> (T, A)>,
}

impl<T, A> TileAt<T, A> {
    /// The same tile, with what the L2 cache should do with it.
    ///
    /// ```
    /// use baton::cache::{evict_first, evict_last};
    /// use baton::prelude::*;
    ///
    /// type A = Tile<bf16, 128, 64>;
    /// type B = Tile<bf16, 64, 64>;
    /// type Ring = Stages<4, (A, B), ByBulk, ByThreads>;
    ///
    /// /// Loads tiles of A, each once, beside those of B, which all CTAs load.
    /// fn load<'k, Tag, R: baton::token::RolePosition>(
    ///     t: &mut Thread<'k, R>,
    ///     loads: &mut baton::stages::Producer<'k, Tag, Ring, Thread<'k, R>, 4>,
    ///     a: TensorMap<A>,
    ///     b: TensorMap<B>,
    ///     k: i32,
    /// ) {
    ///     let from = (a.at(0, k).cached(evict_first()), b.at(0, k).cached(evict_last()));
    ///     loads.acquire(t).load(t, from);
    /// }
    /// ```
    ///
    /// # PTX
    /// `.L2::cache_hint` on each copy of the tile, PTX 8.0, sm_90 (ISA 9.7.9.25.5).
    #[inline(always)]
    pub fn cached(
        self, // C8: the stage's bytes are loaded once; pass the tile that this returns to `load`, or to `store`
        policy: Policy,
    ) -> TileAt<T, A, Policy> {
        let TileAt { map, row, col, tile, .. } = self;
        TileAt { map, row, col, hint: policy, tile }
    }
}

/// A tile of a matrix that bulk stores may write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a place that a store may write",
    label = "not a tile of a matrix that is stored to",
    note = "rule G1: a matrix is lent to a launch to be read or to be written, and its map says which, so that no launch writes what another \
            one reads",
    note = "take the map as `TensorMap<_, Store>`, for which the host lends the matrix by `&mut`, and store a tile of its own shape"
)]
pub trait StoreTarget<T: BulkTile>: sealed::Sealed {
    /// A cache policy, or none.
    #[doc(hidden)]
    type Hint: Hint;
    #[doc(hidden)]
    fn place(self) -> TileAt<T, Store, Self::Hint>;
}
impl<T, H> TileAt<T, Store, H> {
    /// One place for all of the set, whose leader stores there.
    #[inline(always)]
    pub(crate) fn agreed<S: Set>(&self, set: &mut S) {
        set.agree_on(self.map);
        set.agree_on(self.row as u32);
        set.agree_on(self.col as u32);
    }
}

impl<T, A, H> sealed::Sealed for TileAt<T, A, H> {}
#[diagnostic::do_not_recommend]
impl<T: BulkTile, H: Hint> StoreTarget<T> for TileAt<T, Store, H> {
    type Hint = H;
    #[inline(always)]
    fn place(self) -> TileAt<T, Store, H> {
        self
    }
}

impl<T> TileAt<T> {
    /// The tile at (`row`, `col`) of what the map at the generic address `map` describes.
    #[inline(always)]
    pub(crate) fn through(map: u64, row: i32, col: i32) -> Self {
        TileAt { map, row, col, hint: NoHint, tile: PhantomData }
    }
}

/// How the entry of a kernel receives a parameter.
///
/// # Safety
/// `Abi` has the size and alignment that the host's `KernelParam` of the type pushes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one of the library's kernel parameters",
    note = "rule G6: what the host passes and what the entry reads have the same bytes, which the library says of its own parameters alone",
    note = "take numbers, `ReadOnly<T>`, `GlobalPtr<T>`, `TensorMap<Tile>` or a protocol"
)]
#[doc(hidden)]
pub unsafe trait ReceiveParam: Sized {
    /// What stands in the parameter list.
    type Abi;
    /// Alignment that the parameter needs beyond its type's own; 0 if none.
    const ALIGN: u32 = 0;
    /// Whether its memory may be touched by the grids before this one while the kernel runs.
    const DEPENDENT: bool = false;
    /// What a launch compares with what the host passed.
    const SIGNATURE: Signature;
    /// # Safety
    /// `abi` is a parameter of the running kernel, and `address` gives its generic address.
    unsafe fn receive(abi: Self::Abi, address: impl FnOnce() -> u64) -> Self;
}

macro_rules! scalars {
    ($($t:ty = $kind:ident)*) => {$(
        // SAFETY: the scalar itself, of one size on both sides (I27).
        unsafe impl ReceiveParam for $t {
            type Abi = $t;
            const SIGNATURE: Signature = Signature::number(Kind::$kind);
            #[inline(always)]
            unsafe fn receive(abi: $t, _: impl FnOnce() -> u64) -> $t { abi }
        }
    )*};
}
scalars! {
    u8 = U8 u16 = U16 u32 = U32 u64 = U64 i8 = I8 i16 = I16 i32 = I32 i64 = I64 usize = Usize isize = Isize f32 = F32 f64 = F64
}

// SAFETY: two 64-bit words, address and length, as the host pushes them (I27).
unsafe impl<T: Element> ReceiveParam for ReadOnly<T> {
    type Abi = Self;
    const SIGNATURE: Signature = Signature::array(Kind::ReadOnly, T::TYPE);
    #[inline(always)]
    unsafe fn receive(abi: Self, _: impl FnOnce() -> u64) -> Self {
        abi
    }
}

// SAFETY: two 64-bit words, address and length, as the host pushes them (I27).
unsafe impl<T: Element, O> ReceiveParam for GlobalPtr<T, O> {
    type Abi = Self;
    const SIGNATURE: Signature = Signature::array(Kind::GlobalPtr, T::TYPE);
    #[inline(always)]
    unsafe fn receive(abi: Self, _: impl FnOnce() -> u64) -> Self {
        abi
    }
}

/// The 128 bytes of a tensor map in the parameter list.
#[doc(hidden)]
#[repr(C)]
pub struct TensorMapBytes([u64; 16]);

macro_rules! tensor_maps {
    ($($way:ident = $stores:literal)*) => {$(
        // SAFETY: 128 bytes, as the host pushes them (I27); the entry's metadata raises the alignment to 64.
        unsafe impl<T: BulkTile> ReceiveParam for TensorMap<T, $way> {
            type Abi = TensorMapBytes;
            const ALIGN: u32 = 64;
            const SIGNATURE: Signature = Signature::map::<T>(T::Element::TYPE, $stores);
            #[inline(always)]
            unsafe fn receive(_: TensorMapBytes, address: impl FnOnce() -> u64) -> Self {
                TensorMap { address: address(), tile: PhantomData }
            }
        }
    )*};
}
tensor_maps! { Load = false Store = true }

#[cfg(not(target_arch = "nvptx64"))]
mod host_params {
    use super::*;
    use launch::{DeviceSlice, DeviceSliceMut, KernelParam, Params};

    impl<T: Element> KernelParam for ReadOnly<T> {
        type Host<'a> = DeviceSlice<'a, T>;
        fn push(host: DeviceSlice<'_, T>, params: &mut Params) {
            params.push_slice(&host);
        }
    }
    impl<T: Element, O> KernelParam for GlobalPtr<T, O> {
        type Host<'a> = DeviceSliceMut<'a, T>;
        fn push(host: DeviceSliceMut<'_, T>, params: &mut Params) {
            params.push_slice_mut(&host);
        }
    }
    impl<T: BulkTile, A> KernelParam for TensorMap<T, A>
    where
        Self: ReceiveParam,
    {
        type Host<'a> = launch::TensorMap<'a, T, A>;
        fn push(host: launch::TensorMap<'_, T, A>, params: &mut Params) {
            params.push_tensor_map(&host);
        }
    }
}
