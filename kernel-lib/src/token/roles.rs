//! Roles: each warp of a CTA runs the closure of its own, and one thread of a warp may be elected.

use core::marker::PhantomData;

use crate::ptx;

use super::warps::{AreThreads, Before, RoleSize, Warps};
use super::{Brand, Set, StaysWithItsThreads, WARP, sealed};

/// The four warps of a role, aligned to four.
pub struct Warpgroup<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads);

/// The one warp of a role.
pub struct Warp<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads);

/// The one thread that the warp of role `R` elected.
pub struct Thread<'k, R>(Brand<'k>, PhantomData<R>, StaysWithItsThreads); // F1: elected; take it from `warp.elect`

/// The role at position `I` of a call of [`Cta::roles`](super::Cta::roles).
pub struct Role<const I: u32>(());

/// A position in [`Cta::roles`](super::Cta::roles).
pub trait RolePosition: sealed::Sealed {
    /// Its number, which is also what its named barrier follows from (rule F7).
    const INDEX: u32;
}

impl<const I: u32> sealed::Sealed for Role<I> {}
impl<const I: u32> RolePosition for Role<I> {
    const INDEX: u32 = I;
}

/// What the closure of a role, or of an elected thread, may return: proofs and nothing else.
///
/// The threads that did not run the closure need the value too, so it must hold no data.
///
/// # Safety
/// A value of the type carries no data, and may exist in every thread of the CTA although the closure that returned it
/// has not ended in the threads that run it: whoever acts on it passes a barrier of the whole CTA first, or lets the CTA end,
/// which takes the end of all its threads.
#[diagnostic::on_unimplemented(
    message = "a role cannot return `{Self}`",
    label = "only proofs leave a role",
    note = "the threads of other roles did not compute it: regions, witnesses and values stay with the threads that hold them \
            (rules A9, F1)",
    note = "end the closure with `()` or with what `finish(…)` returns"
)]
pub unsafe trait RoleReturn: sealed::Sealed {
    /// # Safety
    /// The closure that returns `Self` has ended, or will have when the CTA exits and before the next barrier of the
    /// whole CTA is passed, in the threads that run it.
    #[doc(hidden)]
    unsafe fn conjure() -> Self;
}

macro_rules! role_returns {
    ($(($($t:ident),*))*) => {$(
        impl<$($t: RoleReturn),*> sealed::Sealed for ($($t,)*) {}
        // SAFETY: holds nothing but proofs (I5).
        unsafe impl<$($t: RoleReturn),*> RoleReturn for ($($t,)*) {
            #[inline(always)]
            unsafe fn conjure() -> Self {
                // SAFETY: the caller's promise holds for each part.
                unsafe { ($(<$t as RoleReturn>::conjure(),)*) }
            }
        }
    )*};
}
#[allow(unused_unsafe, clippy::unused_unit, clippy::missing_safety_doc)]
mod role_returns {
    use super::*;
    role_returns! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }
}

/// A role of four warps; see [`warpgroup`].
pub struct WarpgroupRole<'k, R, F, T>(F, Brand<'k>, PhantomData<(R, T)>);

/// A role of one warp; see [`warp`].
pub struct WarpRole<'k, R, F, T>(F, Brand<'k>, PhantomData<(R, T)>);

/// Four warps run `body` together. The first of them is a multiple of four (rule D12), or [`Cta::roles`](super::Cta::roles)
/// does not take them.
#[inline(always)]
pub fn warpgroup<'k, R, F, T>(body: F) -> WarpgroupRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warpgroup<'k, R>) -> T + Send + 'k, // A9: a role owns what it uses; move it in
    T: RoleReturn,
{
    WarpgroupRole(body, PhantomData, PhantomData)
}

/// One warp runs `body`.
#[inline(always)]
pub fn warp<'k, R, F, T>(body: F) -> WarpRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warp<'k, R>) -> T + Send + 'k, // A9: a role owns what it uses; move it in
    T: RoleReturn,
{
    WarpRole(body, PhantomData, PhantomData)
}

/// A role whose closure takes the token of position `I`.
#[diagnostic::on_unimplemented(
    message = "this role stands at position {I} of the tuple, and its closure takes the token of another position",
    label = "the token of another role",
    note = "rule F7: a role's barrier has the number and the count that follow from its position in `cta.roles((…))`; two roles \
            with one \
            position would meet at one named barrier (PTX ISA, bar/barrier)",
    note = "take `Warp<'k, Role<{I}>>` or `Warpgroup<'k, Role<{I}>>`, or leave the type of the token to be inferred: `warp(move \
            |mut w| …)`"
)]
pub trait AtPosition<const I: u32>: sealed::Sealed {}
#[diagnostic::do_not_recommend]
impl<const I: u32, F, T> AtPosition<I> for WarpRole<'_, Role<I>, F, T> {}
#[diagnostic::do_not_recommend]
impl<const I: u32, F, T> AtPosition<I> for WarpgroupRole<'_, Role<I>, F, T> {}

/// One role of a tuple of roles.
pub trait RoleSpec<'k>: sealed::Sealed {
    /// How many warps it has.
    type Size: RoleSize;
    /// What its closure returns.
    type Return: RoleReturn;
    /// # Safety
    /// Called once, in exactly the threads of the role, all of which are here.
    #[doc(hidden)]
    unsafe fn run(self) -> Self::Return;
}

impl<R, F, T> sealed::Sealed for WarpgroupRole<'_, R, F, T> {}
impl<'k, R, F, T> RoleSpec<'k> for WarpgroupRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warpgroup<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    type Size = Warps<4>;
    type Return = T;
    #[inline(always)]
    unsafe fn run(self) -> T {
        (self.0)(Warpgroup(PhantomData, PhantomData, PhantomData))
    }
}

impl<R, F, T> sealed::Sealed for WarpRole<'_, R, F, T> {}
impl<'k, R, F, T> RoleSpec<'k> for WarpRole<'k, R, F, T>
where
    R: RolePosition,
    F: FnOnce(Warp<'k, R>) -> T + Send + 'k,
    T: RoleReturn,
{
    type Size = Warps<1>;
    type Return = T;
    #[inline(always)]
    unsafe fn run(self) -> T {
        (self.0)(Warp(PhantomData, PhantomData, PhantomData))
    }
}

/// A tuple of roles that together are the warps of a CTA of `THREADS` threads.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of roles",
    note = "rule F1: each warp of the CTA has one role",
    note = "pass a tuple of `warpgroup(…)` and `warp(…)`, in the order of the warps, one to six roles"
)]
pub trait Roles<'k, const THREADS: u32>: tuples::Sealed {
    /// What the closures return.
    type Returns;
    /// The warps of each role, a digit for each.
    #[doc(hidden)]
    const SIZES: u32;
    /// # Safety
    /// Called once by every thread of the CTA, with the index of its warp.
    #[doc(hidden)]
    unsafe fn run(self, warp: u32) -> Self::Returns;
}

/// The warps of a list of roles, the last role first.
macro_rules! together {
    () => { Warps<0> };
    ($last:ident $($before:ident)*) => {
        <together!($($before)*) as Before<<$last as RoleSpec<'k>>::Size>>::Together
    };
}

macro_rules! roles {
    ($(($($index:literal $role:ident $field:tt behind [$($before:ident)*]),*) [$($all:ident)*])*) => {$(
        impl<$($role),*> tuples::Sealed for ($($role,)*) {}
        impl<'k, $($role),*, const THREADS: u32> Roles<'k, THREADS> for ($($role,)*)
        where
            $($role: AtPosition<$index> + RoleSpec<'k>,)*
            $(together!($($before)*): Before<$role::Size>,)*
            together!($($all)*): AreThreads<THREADS>,
        {
            type Returns = ($($role::Return,)*);
            const SIZES: u32 = {
                let mut sizes = 0;
                $(sizes = 10 * sizes + <$role::Size as RoleSize>::WARPS;)*
                sizes
            };
            #[inline(always)]
            unsafe fn run(self, warp: u32) -> Self::Returns {
                let ends = const {
                    let mut next = 0;
                    let mut ends = [0; 6];
                    $(
                        next += $role::Size::WARPS;
                        ends[$index] = next;
                    )*
                    ends
                };
                // The bodies of the other roles are not dropped: what they own belongs to the threads that run them.
                let roles = core::mem::ManuallyDrop::new(self);
                // One choice, and not one for each role: ptxas sees that a warp has done with its role where that ends.
                $(
                    if warp < ends[$index] {
                        // SAFETY: each thread comes to one arm, once, and the tuple is used no more.
                        let role = unsafe { core::ptr::read(&raw const roles.$field) };
                        // SAFETY: exactly the threads of the role come here, once each, by the chain of comparisons (I1, I2).
                        let proof = unsafe { role.run() };
                        core::mem::forget(proof);
                    } else
                )* {
                    // SAFETY: the roles' warps are those of the CTA, by the bound on them (I1), and no other is launched (I27).
                    unsafe { core::hint::unreachable_unchecked() }
                }
                // SAFETY: what takes the proofs either is the CTA's end, to which all roles belong, or stands behind
                // `Joined`'s barrier (I5).
                unsafe { ($($role::Return::conjure(),)*) }
            }
        }
    )*};
}
/// Seals the tuples of roles, apart from the tuples of proofs.
mod tuples {
    pub trait Sealed {}
}
roles! {
    (0 A 0 behind []) [A]
    (0 A 0 behind [], 1 B 1 behind [A]) [B A]
    (0 A 0 behind [], 1 B 1 behind [A], 2 C 2 behind [B A]) [C B A]
    (0 A 0 behind [], 1 B 1 behind [A], 2 C 2 behind [B A], 3 D 3 behind [C B A]) [D C B A]
    (0 A 0 behind [], 1 B 1 behind [A], 2 C 2 behind [B A], 3 D 3 behind [C B A], 4 E 4 behind [D C B A]) [E D C B A]
    (0 A 0 behind [], 1 B 1 behind [A], 2 C 2 behind [B A], 3 D 3 behind [C B A], 4 E 4 behind [D C B A], 5 F 5 behind [E D C B A]) [F E D C B A]
}

impl<'k, R: RolePosition> Warp<'k, R> {
    /// Elects one lane, which runs `body`; the others have nothing more to do in this role.
    ///
    /// Consumes the warp: what `body` owns is advanced by the elected lane alone, so the other lanes' copies
    /// would be stale.
    ///
    /// # PTX
    /// `elect.sync _|p, 0xffffffff;` PTX 8.0, sm_90 (ISA 9.7.13.14).
    #[inline(always)]
    pub fn elect<F, T>(
        self, // F1: the lanes that are not elected have nothing more to do; put all that one thread does into this closure
        body: F,
    ) -> T
    where
        F: FnOnce(Thread<'k, R>) -> T + Send + 'k, // A9: the thread owns what it uses; move it in
        T: RoleReturn,
    {
        // SAFETY: the warp's token says that all its lanes are here (I1, I2).
        if unsafe { ptx::warp::elect_sync(u32::MAX) } {
            core::mem::forget(body(Thread(PhantomData, PhantomData, PhantomData)));
        } else {
            core::mem::forget(body);
        }
        // SAFETY: the role that returns the proof has ended when `body` has, in the elected lane; nobody acts on it before (I5).
        unsafe { T::conjure() }
    }
}

impl<R: RolePosition> Warpgroup<'_, R> {
    /// Index of this thread's warp in the warpgroup, 0 to 3.
    #[inline(always)]
    pub fn warp_index(&self) -> u32 {
        self.rank() / WARP
    }
}
