//! The set of threads that a strong operation is directed at.
//!
//! A scope is relative to the thread that executes the operation: *its* CTA, *its* cluster, *its*
//! GPU, the whole system. Two strong operations order anything between two threads only if each of
//! the two scopes contains the other thread (PTX ISA 8.5 *Scope*, 8.7 *Morally strong operations*).
//! A `.cta` flag therefore never hands anything to another CTA, whatever its `.release` or
//! `.acquire` says. A warp is not a scope.
//!
//! [`Includes`] is that containment as a bound: `S: Includes<T>` holds when every thread in scope `T`
//! of a thread is in its scope `S` too.

mod sealed {
    pub trait Sealed {}
}

/// The scope as a value, for the choice of the instruction's text.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// A scope qualifier: [`Cta`], [`Cluster`], [`Gpu`] or [`Sys`].
///
/// ISA: 8.5 *Scope*.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scope",
    label = "expected one of the scopes `Cta`, `Cluster`, `Gpu`, `Sys`",
    note = "PTX ISA 8.5: the scopes are .cta, .cluster, .gpu and .sys; a warp is not a scope"
)]
pub trait Scope: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const LEVEL: Level;
}

/// A scope that does not reach beyond the cluster: what an `mbarrier` can order.
///
/// ISA: *mbarrier.arrive*, *mbarrier.try_wait* (`.scope = { .cta, .cluster }`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` reaches beyond the cluster, and an mbarrier does not",
    label = "mbarrier instructions take `Cta` or `Cluster`",
    note = "PTX ISA, mbarrier.arrive and mbarrier.try_wait: .scope is .cta or .cluster",
    note = "to hand data to another cluster use a flag in global memory at `Gpu` or `Sys` (rule A5)"
)]
pub trait WithinCluster: Scope {}

/// Every thread that is in scope `Inner` of a thread is in scope `Self` of it too.
///
/// ISA: 8.5 *Scope*, 8.7 *Morally strong operations*. Rule A5.
#[diagnostic::on_unimplemented(
    message = "scope `{Self}` does not include scope `{Inner}` (rule A5)",
    label = "`{Self}` is narrower than `{Inner}`, so the two sides do not synchronise",
    note = "PTX ISA 8.5 and 8.7: two operations are morally strong only if each scope includes the other thread",
    note = "give both sides the wider scope: `Cta` < `Cluster` < `Gpu` < `Sys`"
)]
pub trait Includes<Inner: Scope>: Scope {}

macro_rules! scopes {
    ($($(#[$doc:meta])* $name:ident includes $($inner:ident)*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Scope for $name {
            const LEVEL: Level = Level::$name;
        }
        $(#[diagnostic::do_not_recommend] impl Includes<$inner> for $name {})*
    )*};
}

scopes! {
    /// `.cta`: the threads of the executing thread's CTA.
    Cta includes Cta;
    /// `.cluster`: the threads of the executing thread's cluster. PTX 7.8, sm_90.
    Cluster includes Cta Cluster;
    /// `.gpu`: the threads of every kernel on the executing thread's device.
    Gpu includes Cta Cluster Gpu;
    /// `.sys`: all threads, those of the host and of other devices too.
    Sys includes Cta Cluster Gpu Sys;
}

impl WithinCluster for Cta {}
impl WithinCluster for Cluster {}
