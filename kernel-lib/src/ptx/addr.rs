//! Addresses that say which state space they point into.
//!
//! LLVM does not infer state spaces through inline assembly, and a generic access to shared memory
//! costs more and says less. So an address keeps its space as a type parameter and its natural width:
//! 32 bits for shared and tensor memory, 64 for global and generic. An [`Addr`] is a number: it owns
//! nothing and grants nothing.
//!
//! ISA: *State spaces*; 8.3 for which of them the memory model covers.

use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// The state space as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Generic,
    Global,
    SharedCta,
    SharedCluster,
    Tmem,
    Local,
    Const,
}

/// A state space.
pub trait Space: sealed::Sealed + Copy + 'static {
    /// The width of an address in this space: `u32` or `u64`.
    type Bits: Copy + Into<u64> + PartialEq + core::fmt::LowerHex;
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    fn narrow(bits: u64) -> Self::Bits;
}

/// A space of bytes that `ld`, `st`, `atom` and `red` reach directly.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that loads and stores reach directly",
    label = "expected `Global`, `SharedCta` or `SharedCluster`",
    note = "tensor memory is reached through tcgen05 instructions; a generic address has to be converted first (`cvta_to`)"
)]
pub trait Memory: Reached {}

/// A space that `ld`, `st`, `atom` and `red` reach: [`Memory`], or the generic addresses of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that this access reaches",
    label = "expected `Global`, `SharedCta`, `SharedCluster` or `Generic`",
    note = "tensor memory is reached through tcgen05 instructions; `Local` and `Const` by weak accesses only"
)]
pub trait Reached: Stored {}

/// A space that weak and volatile stores, and volatile loads, reach: [`Reached`] and [`Local`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that a plain store reaches",
    label = "expected `Global`, `SharedCta`, `SharedCluster`, `Generic` or `Local`"
)]
pub trait Stored: Loaded {}

/// A space that weak loads reach: [`Stored`] and [`Const`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that a plain load reaches",
    label = "expected `Global`, `SharedCta`, `SharedCluster`, `Generic`, `Local` or `Const`"
)]
pub trait Loaded: Space {}

/// Shared memory, of this CTA or of the cluster.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not shared memory",
    label = "expected `SharedCta` or `SharedCluster`"
)]
pub trait Shared: Memory {}

/// A space whose addresses count bytes.
pub trait Bytes: Space {}

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident($bits:ident): $($class:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Space for $name {
            type Bits = $bits;
            const KIND: Kind = Kind::$name;
            #[inline(always)]
            fn narrow(bits: u64) -> $bits {
                bits as $bits
            }
        }
        $(impl $class for $name {})*
    )*};
}

spaces! {
    /// The generic space, into which the others are mapped.
    Generic(u64): Bytes Loaded Stored Reached;
    /// `.global`: device memory.
    Global(u64): Bytes Loaded Stored Reached Memory;
    /// `.shared::cta`: shared memory of the executing CTA.
    SharedCta(u32): Bytes Loaded Stored Reached Memory Shared;
    /// `.shared::cluster`: shared memory of any CTA of the cluster. PTX 7.8, sm_90.
    SharedCluster(u32): Bytes Loaded Stored Reached Memory Shared;
    /// `.local`: memory of the thread alone. Only weak and volatile accesses reach it.
    Local(u64): Bytes Loaded Stored;
    /// `.const`: constant memory of the launch. Only weak loads reach it.
    Const(u64): Bytes Loaded;
    /// Tensor memory: lane in bits 31 to 16, column in bits 15 to 0. PTX 8.6, sm_100a.
    Tmem(u32): ;
}

/// An address in the state space `Sp`.
#[repr(transparent)]
pub struct Addr<Sp: Space> {
    bits: Sp::Bits,
    space: PhantomData<Sp>,
}

impl<Sp: Space> Clone for Addr<Sp> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<Sp: Space> Copy for Addr<Sp> {}

impl<Sp: Space> PartialEq for Addr<Sp> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<Sp: Space> Eq for Addr<Sp> {}

impl<Sp: Space> core::fmt::Debug for Addr<Sp> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}:{:#x}", Sp::KIND, self.bits)
    }
}

impl<Sp: Space> Addr<Sp> {
    /// The address with this number. Any number makes an address; using it is what is unsafe.
    #[inline(always)]
    pub const fn from_raw(bits: Sp::Bits) -> Self {
        Addr { bits, space: PhantomData }
    }

    /// The number.
    #[inline(always)]
    pub const fn raw(self) -> Sp::Bits {
        self.bits
    }

    /// The number, widened: what the instructions' bodies, generic over the space, pass on.
    #[inline(always)]
    pub(crate) fn widened(self) -> u64 {
        self.bits.into()
    }
}

impl<Sp: Bytes> Addr<Sp> {
    /// The address `bytes` further on, wrapping at the width of the space.
    #[inline(always)]
    pub fn offset(self, bytes: u32) -> Self {
        Self::from_raw(Sp::narrow(self.widened().wrapping_add(u64::from(bytes))))
    }
}

impl Addr<Global> {
    /// The address `bytes` further on, for offsets that 32 bits do not hold.
    #[inline(always)]
    pub fn offset_wide(self, bytes: u64) -> Self {
        Self::from_raw(self.raw().wrapping_add(bytes))
    }
}

impl Addr<SharedCta> {
    /// The same byte, seen as an address of the cluster's shared memory.
    ///
    /// The window of `.shared::cta` lies inside that of `.shared::cluster`, at the same numbers.
    #[inline(always)]
    pub const fn in_cluster(self) -> Addr<SharedCluster> {
        Addr::from_raw(self.bits)
    }
}

impl Addr<Tmem> {
    /// The cell `lanes` lanes and `columns` columns further on.
    #[inline(always)]
    pub const fn cell(self, lanes: u32, columns: u32) -> Self {
        Addr::from_raw(self.bits.wrapping_add(lanes << 16).wrapping_add(columns))
    }
}
