//! Atomics: words in global memory that threads of several CTAs touch at once, and what seeing one permits.
//!
//! [`GlobalPtr::atomics`] turns an array into [`Atomics`] of one type and one scope, for the whole launch: accesses at
//! two sizes or two scopes would race (rule A7). Each operation names its `.sem` as a type, as in PTX.
//!
//! To see a value is one thing, to read what its writer did before is another. Every operation that may observe
//! something gives a [`Seen`], whose type says how:
//!
//! | operation | witness | behind [`fence_acquire`](Seen::fence_acquire) |
//! |---|---|---|
//! | `ld.acquire`, `atom.acquire`, `atom.acq_rel` | [`ByAcquire`] | |
//! | `ld.relaxed`, `atom.relaxed`, `atom.release` | [`ByRelaxedRead`] | [`ByAcquire`] (ISA 8.8, third acquire pattern) |
//! | `red` | [`ByReduction`] | nothing: `red` does not head an acquire pattern (ISA 8.11.1, rule A2) |
//!
//! A value alone never opens data, because the value says whether anything was published. The
//! [protocols](crate::protocol) put the two together.

use core::marker::PhantomData;

use crate::global::GlobalPtr;
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::ptx::atom::{Add, Bitwise, Compare, Exchange, MinMax};
use crate::ptx::word::Word32;
use crate::scope::{Includes, Scope};
use crate::sem::{AcqRel, Acquire, AtomSem, LoadSem, RedSem, Relaxed, Release, Sem, StoreSem};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::{Brand, Cta, Marks, StaysWithItsThreads, sealed};

/// An array of words of type `T`, all accesses to which are strong and at the scope `S`.
pub struct Atomics<'k, T, S> {
    address: u64,
    len: u64,
    brand: Brand<'k>,
    types: Marks<(T, S)>,
}

/// One word of [`Atomics`].
pub struct Atomic<'k, T, S> {
    address: u64,
    brand: Brand<'k>,
    types: Marks<(T, S)>,
}

macro_rules! copies {
    ($($name:ident)*) => {$(
        impl<T, S> Clone for $name<'_, T, S> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, S> Copy for $name<'_, T, S> {}
    )*};
}
copies! { Atomics Atomic }

impl<T: Element, O> GlobalPtr<T, O> {
    /// The array as atomics of scope `S`.
    ///
    /// # Safety
    /// 1. Every thread that touches the array during the launch does so through atomics of this type and scope
    ///    (rule A7), and is in the scope `S` of every other such thread (rule A5).
    /// 2. The elements hold what the kernel's protocol takes for their state at the start of a launch (rule A14).
    #[inline(always)]
    pub unsafe fn atomics<'k, S: Scope, L, const THREADS: u32>(
        self, // A7: a location is accessed at one size and at one scope; choose the widest that its users need
        cta: &Cta<'k, L, THREADS>,
    ) -> Atomics<'k, T, S> {
        let _ = cta;
        Atomics {
            address: self.address().raw(),
            len: self.len(),
            brand: PhantomData,
            types: PhantomData,
        }
    }
}

impl<'k, T: Element, S: Scope> Atomics<'k, T, S> {
    /// Word `index`. Traps when it is out of range.
    #[inline(always)]
    pub fn at(&self, index: u64) -> Atomic<'k, T, S> {
        check(index < self.len);
        Atomic {
            address: self.address + index * size_of::<T>() as u64,
            brand: PhantomData,
            types: PhantomData,
        }
    }
}

impl<'k, T: Element + Word32, S: Scope> Atomics<'k, T, S> {
    /// Words `index` to `index + 3`, by one instruction. Traps when they are not all in the array, or not on a 16-byte
    /// boundary.
    ///
    /// # PTX
    /// `ld.M.S.global.v4.b32`, PTX 6.0, sm_70 (ISA *ld*, *Vectors*): four loads of one word each, in no particular order
    /// (rule A12).
    #[inline(always)]
    pub fn load_v4<M: LoadSem + Reads>(&self, index: u64) -> SeenVector<'k, T, S, M::How, 4> {
        check(4 <= self.len && index <= self.len - 4);
        let at = self.address + index * size_of::<T>() as u64;
        check(at % 16 == 0);
        // SAFETY: in range and aligned; all accesses are strong, of one size and scope, by the claim (I24).
        let values = unsafe { ptx::wide::ld_v4::<M, S, Global, T>(Addr::from_raw(at)) };
        SeenVector { values, brand: PhantomData, types: PhantomData, stays: PhantomData }
    }
}

/// `N` neighbouring words, each seen by an access of its own.
pub struct SeenVector<'k, T, S, How, const N: usize> {
    values: [T; N],
    brand: Brand<'k>,
    types: Marks<(S, How)>,
    stays: StaysWithItsThreads,
}

/// What one access has seen.
#[diagnostic::on_unimplemented(
    message = "`{Self}` was seen by several accesses, in no particular order",
    label = "a vector is not one atomic unit",
    note = "rule A12: a vector load is a load of each element, in an order that nobody promises; that one element is new says \
            nothing of \
            the next (PTX ISA 8.2.4)",
    note = "take the witnesses of the elements, `.elements()`, each of which stands for its own word; or put flag and payload \
            into one \
            word of 32 or 64 bits"
)]
pub trait OneAccess: sealed::Sealed {}
impl<T, S, How> sealed::Sealed for Seen<'_, T, S, How> {}
impl<T, S, How> OneAccess for Seen<'_, T, S, How> {}

impl<'k, T: Copy, S: Scope, How, const N: usize> SeenVector<'k, T, S, How, N> {
    /// The witness of each element.
    #[inline(always)]
    pub fn elements(
        self, // A12: each element has a witness of its own; go on with what this returns
    ) -> [Seen<'k, T, S, How>; N] {
        self.values.map(Seen::new)
    }

    /// One witness for all elements, for what one access has seen: which a vector is not (rule A12).
    #[inline(always)]
    pub fn whole(
        self, // A12: what one access has seen; go on with what this returns
    ) -> Seen<'k, [T; N], S, How>
    where
        Self: OneAccess,
    {
        unreachable!()
    }
}

/// Seen by an acquire operation, or behind an acquire fence.
pub enum ByAcquire {}
/// Seen by an operation that does not acquire.
pub enum ByRelaxedRead {}
/// Not seen at all: a reduction returns nothing.
pub enum ByReduction {}

/// An ordering of an operation that reads, and how it sees.
pub trait Reads: Sem {
    /// [`ByAcquire`] or [`ByRelaxedRead`].
    type How;
}
impl Reads for Relaxed {
    type How = ByRelaxedRead;
}
impl Reads for Release {
    type How = ByRelaxedRead;
}
impl Reads for Acquire {
    type How = ByAcquire;
}
impl Reads for AcqRel {
    type How = ByAcquire;
}

/// A witness that an acquire fence makes an acquire pattern.
#[diagnostic::on_unimplemented(
    message = "a reduction observes nothing, so no fence behind it acquires: the witness is `{Self}`",
    label = "`red` does not head an acquire pattern",
    note = "rule A2: `red` followed by an acquire fence is no acquire pattern (PTX ISA 8.11.1)",
    note = "use `atom`, which returns the old value: `fetch_add`, `fetch_min`, … instead of `red_add`, `red_min`, …"
)]
pub trait HeadsAcquirePattern: sealed::Sealed {}
impl sealed::Sealed for ByAcquire {}
impl sealed::Sealed for ByRelaxedRead {}
impl sealed::Sealed for ByReduction {}
#[diagnostic::do_not_recommend]
impl HeadsAcquirePattern for ByAcquire {}
#[diagnostic::do_not_recommend]
impl HeadsAcquirePattern for ByRelaxedRead {}

/// A witness of an acquire pattern.
#[diagnostic::on_unimplemented(
    message = "what was seen was not acquired: the witness is `{Self}`",
    label = "no acquire pattern yet",
    note = "rule A3: a relaxed load or a relaxed `atom` is no permission to read what was published (PTX ISA 8.8: an acquire \
            pattern \
            ends in an acquire operation or a fence)",
    note = "call `.fence_acquire::<Gpu>()` first, or arrive with an operation that acquires"
)]
pub trait IsAcquired: sealed::Sealed {}
#[diagnostic::do_not_recommend]
impl IsAcquired for ByAcquire {}

/// Witness that this thread's operation at scope `S` saw a value, and how.
pub struct Seen<'k, T, S, How> {
    value: T,
    brand: Brand<'k>,
    types: Marks<(S, How)>,
    stays: StaysWithItsThreads,
}

impl<'k, T: Copy, S: Scope, How> Seen<'k, T, S, How> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Seen { value, brand: PhantomData, types: PhantomData, stays: PhantomData }
    }

    /// The value. It may be old already.
    #[inline(always)]
    pub fn value(&self) -> T {
        self.value
    }

    /// Makes the read an acquire pattern: what its writer released comes before what follows.
    ///
    /// # PTX
    /// `fence.acquire.F`, PTX 8.6, sm_90; before that `fence.acq_rel.F`, PTX 6.0, sm_70 (ISA 9.7.13.4, 8.8). `F` must include the scope of the word (rule A5).
    #[inline(always)]
    pub fn fence_acquire<F>(
        self, // A3: the order is known of the value that this returns; go on with that
    ) -> Seen<'k, T, S, ByAcquire>
    where
        How: HeadsAcquirePattern,
        F: Includes<S>,
    {
        ptx::fence::fence_acquire::<F>();
        Seen::new(self.value)
    }
}

impl<T, S> Atomic<'_, T, S> {
    /// # Safety
    /// 1. A word of type `T` lies at `address` in global memory, and every access to it during the launch is strong, of
    ///    that size and scope.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(address: u64) -> Self {
        Atomic { address, brand: PhantomData, types: PhantomData }
    }

    /// The address.
    #[inline(always)]
    pub(crate) fn raw(&self) -> u64 {
        self.address
    }
}

impl<'k, T: Element, S: Scope> Atomic<'k, T, S> {
    #[inline(always)]
    fn addr(&self) -> Addr<Global> {
        Addr::from_raw(self.address)
    }

    /// `ld.M.S.global`, PTX 6.0, sm_70 (ISA 9.7.9.8).
    #[inline(always)]
    pub fn load<M: LoadSem + Reads>(&self) -> Seen<'k, T, S, M::How> {
        // SAFETY: in range by `at`; all accesses are strong, of one size and scope, by the claim (I24).
        Seen::new(unsafe { ptx::ld::ld::<M, S, Global, T>(self.addr()) })
    }

    /// `st.M.S.global`, PTX 6.0, sm_70 (ISA 9.7.9.12).
    #[inline(always)]
    pub fn store<M: StoreSem>(&self, value: T) {
        // SAFETY: as in `load`.
        unsafe { ptx::st::st::<M, S, Global, T>(self.addr(), value) }
    }

    /// `atom.M.S.global.cas`, PTX 6.0, sm_70 (ISA 9.7.13.6): stores `new` if the word is `expected`. Gives the old
    /// value.
    #[inline(always)]
    pub fn compare_exchange<M: AtomSem + Reads>(
        &self,
        expected: T,
        new: T,
    ) -> Seen<'k, T, S, M::How>
    where
        T: Compare,
    {
        // SAFETY: as in `load`.
        Seen::new(unsafe { ptx::atom::atom_cas::<M, S, Global, T>(self.addr(), expected, new) })
    }
}

macro_rules! atoms {
    ($($name:ident $class:ident $atom:ident $mnemonic:literal;)*) => {
        impl<'k, T: Element, S: Scope> Atomic<'k, T, S> {$(
            #[doc = concat!("`atom.M.S.global.", $mnemonic, "`, PTX 6.0, sm_70 (ISA 9.7.13.6). Gives the old value.")]
            #[inline(always)]
            pub fn $name<M: AtomSem + Reads>(&self, value: T) -> Seen<'k, T, S, M::How>
            where
                T: $class,
            {
                // SAFETY: as in `load`.
                Seen::new(unsafe { ptx::atom::$atom::<M, S, Global, T>(self.addr(), value) })
            }
        )*}
    };
}
atoms! {
    fetch_add Add atom_add "add";
    fetch_min MinMax atom_min "min";
    fetch_max MinMax atom_max "max";
    fetch_and Bitwise atom_and "and";
    fetch_or Bitwise atom_or "or";
    fetch_xor Bitwise atom_xor "xor";
    exchange Exchange atom_exch "exch";
}

macro_rules! reds {
    ($($name:ident $class:ident $red:ident $mnemonic:literal;)*) => {
        impl<'k, T: Element, S: Scope> Atomic<'k, T, S> {$(
            #[doc = concat!("`red.M.S.global.", $mnemonic, "`, PTX 6.0, sm_70 (ISA 9.7.13.7). Observes nothing (rule A2).")]
            #[inline(always)]
            pub fn $name<M: RedSem>(&self, value: T) -> Seen<'k, (), S, ByReduction>
            where
                T: $class,
            {
                // SAFETY: as in `load`.
                unsafe { ptx::red::$red::<M, S, Global, T>(self.addr(), value) };
                Seen::new(())
            }
        )*}
    };
}
reds! {
    red_add Add red_add "add";
    red_min MinMax red_min "min";
    red_max MinMax red_max "max";
    red_and Bitwise red_and "and";
    red_or Bitwise red_or "or";
    red_xor Bitwise red_xor "xor";
}

/// An ordering that releases.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not release what was written before the arrival",
    label = "missing release",
    note = "rule A4: what a thread wrote is published by a release pattern, not by a relaxed operation alone (PTX ISA 8.8)",
    note = "use `arrive::<AcqRel, _>`, or `arrive::<Release, _>`"
)]
pub trait Releases: Sem {}
#[diagnostic::do_not_recommend]
impl Releases for Release {}
#[diagnostic::do_not_recommend]
impl Releases for AcqRel {}
