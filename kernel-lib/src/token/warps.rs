//! How many warps the roles of a CTA are together, counted in types so that the compiler says at the kernel's own line
//! where they do not come out.

use super::sealed;

/// `N` warps: what the roles of a CTA are together.
pub struct Warps<const N: u32>(());

impl<const N: u32> sealed::Sealed for Warps<N> {}

/// How many warps a role has: one or four.
#[doc(hidden)]
pub trait RoleSize: sealed::Sealed {
    /// Their number.
    const WARPS: u32;
}
impl RoleSize for Warps<1> {
    const WARPS: u32 = 1;
}
impl RoleSize for Warps<4> {
    const WARPS: u32 = 4;
}

/// Warps behind which a role of `Size` can start.
#[diagnostic::on_unimplemented(
    message = "a warpgroup cannot start behind `{Self}` of other roles",
    label = "a warpgroup that starts between multiples of four warps",
    note = "rule D12: a warpgroup starts at a warp whose number is a multiple of four, so that warp `i` of it reaches lanes `32 * i` to \
            `32 * i + 31` of tensor memory (PTX ISA 9.7.16.2.3.1)",
    note = "put the warpgroups first: `cta.roles((warpgroup(…), warp(…), warp(…)))`"
)]
#[doc(hidden)]
pub trait Before<Size: RoleSize>: sealed::Sealed {
    /// All of them, with those of the role.
    type Together: sealed::Sealed;
}

/// The warps of a CTA of `THREADS` threads.
#[diagnostic::on_unimplemented(
    message = "the roles together are `{Self}`, and the CTA has {THREADS} threads",
    label = "not all threads of the CTA have a role, or more have one than there are",
    note = "rule F1: each warp of the CTA has one role, so that each barrier of all of them meets all of them (PTX ISA, bar/barrier)",
    note = "count 32 threads for each `warp(…)` and 128 for each `warpgroup(…)`: add the role that is missing, or write their sum in \
            `#[baton::kernel(threads = …)]` and in the type of `Cta`"
)]
#[doc(hidden)]
pub trait AreThreads<const THREADS: u32>: sealed::Sealed {}

macro_rules! warps {
    ($($n:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Before<Warps<1>> for Warps<$n> {
            type Together = Warps<{ $n + 1 }>;
        }
        #[diagnostic::do_not_recommend]
        impl AreThreads<{ 32 * ($n + 1) }> for Warps<{ $n + 1 }> {}
    )*};
}
warps! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 }

macro_rules! warpgroups {
    ($($n:literal)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Before<Warps<4>> for Warps<{ 4 * $n }> {
            type Together = Warps<{ 4 * $n + 4 }>;
        }
    )*};
}
warpgroups! { 0 1 2 3 4 5 }
