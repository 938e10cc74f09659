//! What a memory operation orders besides itself.
//!
//! The qualifiers of PTX's `.sem` are types here, and for each family of instructions one trait says
//! which of them it has. So `st` with [`Acquire`] is not a wrong program, it is not a program: PTX
//! has no such instruction (rule A6).
//!
//! - [`Weak`]: no ordering, and a data race if another thread may touch the location meanwhile.
//! - [`Relaxed`]: strong, so it may race, but orders nothing besides its own location.
//! - [`Acquire`]: what follows in this thread comes after the release whose value it read.
//! - [`Release`]: what precedes in this thread comes before the acquire that reads its value.
//! - [`AcqRel`]: both, on a read-modify-write or a fence.
//! - [`Sc`]: a fence that also takes part in one total order of such fences.
//! - [`Volatile`]: relaxed at system scope, and exactly as often as written. It never synchronises.
//!
//! ISA: 8.4 *Operation types*, 8.8 *Release and acquire patterns*.

mod sealed {
    pub trait Sealed {}
}

/// The qualifier as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
    Volatile,
}

/// Any of the `.sem` qualifiers.
///
/// ISA: 8.4 *Operation types*.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a memory ordering",
    label = "expected `Weak`, `Relaxed`, `Acquire`, `Release`, `AcqRel`, `Sc` or `Volatile`"
)]
pub trait Sem: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const ORDER: Order;
}

/// An ordering that a strong `ld` has: [`Relaxed`] or [`Acquire`].
///
/// ISA: *ld*. Rule A6.
#[diagnostic::on_unimplemented(
    message = "a strong load cannot be `{Self}` (rule A6)",
    label = "`ld` takes `Relaxed` or `Acquire` with a scope",
    note = "PTX ISA, ld: .relaxed.scope and .acquire.scope; a load has nothing to release, and .sc exists on fences only",
    note = "for a weak load use `ld_weak`; for a volatile one `ld_volatile`, which does not synchronise"
)]
pub trait LoadSem: Sem {}

/// An ordering that a strong `st` has: [`Relaxed`] or [`Release`].
///
/// ISA: *st*. Rule A6.
#[diagnostic::on_unimplemented(
    message = "a strong store cannot be `{Self}` (rule A6)",
    label = "`st` takes `Relaxed` or `Release` with a scope",
    note = "PTX ISA, st: .relaxed.scope and .release.scope; a store reads nothing to acquire, and .sc exists on fences only",
    note = "for a weak store use `st_weak`; for a volatile one `st_volatile`, which does not synchronise"
)]
pub trait StoreSem: Sem {}

/// An ordering that `atom` has: [`Relaxed`], [`Acquire`], [`Release`] or [`AcqRel`].
///
/// ISA: *atom*. Rule A6.
#[diagnostic::on_unimplemented(
    message = "`atom` cannot be `{Self}` (rule A6)",
    label = "`atom` takes `Relaxed`, `Acquire`, `Release` or `AcqRel` with a scope",
    note = "PTX ISA, atom: .relaxed, .acquire, .release, .acq_rel; sequential consistency needs `fence.sc` beside it"
)]
pub trait AtomSem: Sem {}

/// An ordering that `red` has: [`Relaxed`] or [`Release`].
///
/// ISA: *red*; 8.11.1 says why a reduction never heads an acquire pattern. Rules A2, A6.
#[diagnostic::on_unimplemented(
    message = "`red` cannot be `{Self}` (rule A6)",
    label = "`red` takes `Relaxed` or `Release` with a scope",
    note = "PTX ISA, red: .relaxed and .release; a reduction returns no value, so it observes nothing to acquire (rule A2)",
    note = "use `atom` where the old value has to be observed"
)]
pub trait RedSem: Sem {}

/// An ordering that a thread fence has: [`Sc`], [`AcqRel`], [`Acquire`] or [`Release`].
///
/// ISA: *membar/fence*. Rule A6.
#[diagnostic::on_unimplemented(
    message = "a fence cannot be `{Self}` (rule A6)",
    label = "`fence` takes `Sc`, `AcqRel`, `Acquire` or `Release` with a scope",
    note = "PTX ISA, membar/fence: .sc, .acq_rel, .acquire, .release"
)]
pub trait FenceSem: Sem {}

/// An ordering that an arrive on a barrier has: [`Release`] or [`Relaxed`].
///
/// ISA: *mbarrier.arrive*, *barrier.cluster*. Rule A6.
#[diagnostic::on_unimplemented(
    message = "an arrive on a barrier cannot be `{Self}` (rule A6)",
    label = "an arrive takes `Release`, or `Relaxed` beside a fence",
    note = "PTX ISA, mbarrier.arrive and barrier.cluster.arrive: .release (the default) or .relaxed"
)]
pub trait ArriveSem: Sem {}

/// An ordering that a wait on an mbarrier has: [`Acquire`] or [`Relaxed`].
///
/// ISA: *mbarrier.test_wait, mbarrier.try_wait*. Rules A6, C6.
#[diagnostic::on_unimplemented(
    message = "a wait on an mbarrier cannot be `{Self}` (rule A6)",
    label = "a wait takes `Acquire`, or `Relaxed` before a fence",
    note = "PTX ISA, mbarrier.try_wait: .acquire (the default) or .relaxed; after .relaxed nothing may be read without a fence (rule C6)"
)]
pub trait WaitSem: Sem {}

macro_rules! orderings {
    ($($(#[$doc:meta])* $name:ident: $($family:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Sem for $name {
            const ORDER: Order = Order::$name;
        }
        $(#[diagnostic::do_not_recommend] impl $family for $name {})*
    )*};
}

orderings! {
    /// No ordering, no right to race: ordinary data.
    Weak: ;
    /// `.relaxed`: strong, orders only its own location.
    Relaxed: LoadSem StoreSem AtomSem RedSem ArriveSem WaitSem;
    /// `.acquire`: later operations of this thread stay after it.
    Acquire: LoadSem AtomSem FenceSem WaitSem;
    /// `.release`: earlier operations of this thread stay before it.
    Release: StoreSem AtomSem RedSem FenceSem ArriveSem;
    /// `.acq_rel`: both.
    AcqRel: AtomSem FenceSem;
    /// `.sc`: a fence in the total order of sequentially consistent fences.
    Sc: FenceSem;
    /// `.volatile`: relaxed at system scope, never merged or removed, and no way to synchronise.
    Volatile: ;
}
