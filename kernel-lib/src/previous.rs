//! What the grid before this one wrote, under programmatic dependent launch.
//!
//! A grid may begin while the one that it depends on still runs, to prepare what does not depend on it. A kernel that takes
//! `input: Dependent<ReadOnly<f32>>` says which of its parameters do, and opens them behind
//! [`PreviousGrid::wait`], which every thread that reads them calls (rule F6). The host starts a grid early only if all
//! memory that its kernel touches is behind a [`Dependent`]
//! ([`Call::is_dependent`](crate::launch::Call::is_dependent)); otherwise it waits, and so does nobody in the kernel.
//!
//! A kernel with such a parameter waits once more where it exits, whether it has opened the parameter or not. Without, a grid
//! that touches nothing could end before the one that it depends on, and the next one, which waits for it alone, would read
//! what the first still writes.
//!
//! ```
//! use baton::prelude::*;
//! use baton::previous::{Dependent, PreviousGrid, launch_dependents};
//!
//! #[baton::kernel(threads = 128)]
//! fn scale(
//!     cta: Cta<'_, NoShared, 128>,
//!     input: Dependent<ReadOnly<f32>>,
//!     output: Dependent<GlobalPtr<f32>>,
//! ) -> Exit<'_> {
//!     let mut cta = cta;
//!     let previous = PreviousGrid::wait(&mut cta);
//!     let input = input.after(&previous);
//!     for mut place in output.after(&previous).partition(&cta) {
//!         place.put(2.0 * input.get(place.index()));
//!     }
//!     launch_dependents(&mut cta);
//!     let (cta, ()) = cta.claim();
//!     cta.join().exit(())
//! }
//! # fn main() {}
//! ```

use core::marker::PhantomData;

use crate::global::{BehindTheWait, GlobalPtr, ReadOnly, ReceiveParam, TensorMap};
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{KernelParam, Params};
use crate::protocol;
use crate::ptx;
use crate::signature::Signature;
use crate::tile::{BulkTile, Element};
use crate::token::{Marks, Set, StaysWithItsThreads, sealed};

/// Witness that the grids that this one depends on have completed, and that what they wrote is visible to this thread of
/// the set `S`.
pub struct PreviousGrid<S> {
    set: Marks<S>,
    stays: StaysWithItsThreads,
}

impl<S: Set> PreviousGrid<S> {
    /// Waits for the grids that this one depends on; each thread of the set waits itself. At once where the host has not
    /// started this grid early.
    ///
    /// # PTX
    /// `griddepcontrol.wait`, PTX 7.8, sm_90 (ISA *griddepcontrol*).
    #[inline(always)]
    pub fn wait(set: &mut S) -> Self {
        let _ = set;
        ptx::control::griddepcontrol_wait();
        PreviousGrid { set: PhantomData, stays: PhantomData }
    }
}

/// Lets grids that depend on this one be started, once every CTA has said so or ended. It publishes nothing: they wait for
/// this grid's end.
///
/// # PTX
/// `griddepcontrol.launch_dependents`, PTX 7.8, sm_90 (ISA *griddepcontrol*).
#[inline(always)]
pub fn launch_dependents<S: Set>(set: &mut S) {
    let _ = set;
    ptx::control::griddepcontrol_launch_dependents();
}

/// The wait at the exit of a kernel that may have been started early.
#[inline(always)]
#[doc(hidden)]
pub fn complete_in_order() {
    ptx::control::griddepcontrol_wait();
}

/// What says that the previous grid has completed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say that the grid before this one has completed",
    label = "missing `griddepcontrol.wait`",
    note = "rule F6: under programmatic dependent launch a grid begins while the one that it depends on still writes; what that \
            wrote is \
            visible behind `griddepcontrol.wait` in the thread that reads it (PTX ISA, griddepcontrol)",
    note = "write `let previous = PreviousGrid::wait(&mut set);` and then `.after(&previous)`"
)]
pub trait PreviousCompleted: sealed::Sealed {}
impl<S> sealed::Sealed for PreviousGrid<S> {}
impl<S> PreviousCompleted for PreviousGrid<S> {}

/// A kernel parameter whose memory the previous grid may be writing or reading.
#[repr(transparent)]
pub struct Dependent<P>(P);

impl<P: MayDepend> Dependent<P> {
    /// The parameter, behind the wait.
    #[inline(always)]
    pub fn after<W: PreviousCompleted>(
        self, // F6: the array of the grid before is there behind the wait; go on with what this returns
        previous: &W,
    ) -> P::Behind {
        let _ = previous;
        // SAFETY: by the witness, which is of this thread's own wait (I4, I24).
        unsafe { self.0.behind() }
    }
}

/// A parameter that grids before this one may be using.
pub trait MayDepend: ReceiveParam {
    /// What it is behind the wait: the parameter, which says where it matters that it was written during the launch (rule
    /// A10).
    type Behind;
    /// # Safety
    /// 1. The grids before this one have completed, as this thread has seen.
    #[doc(hidden)]
    unsafe fn behind(self) -> Self::Behind;
}

impl<T: Element> MayDepend for ReadOnly<T> {
    type Behind = ReadOnly<T, BehindTheWait>;
    #[inline(always)]
    unsafe fn behind(self) -> Self::Behind {
        self.behind_the_wait()
    }
}

impl<T: Element, const FROM: u32, const TO: u32, S> MayDepend
    for protocol::Mailbox<T, FROM, TO, S>
{
    type Behind = Self;
    #[inline(always)]
    unsafe fn behind(self) -> Self {
        self
    }
}

impl<T: BulkTile, A> MayDepend for TensorMap<T, A>
where
    Self: ReceiveParam,
{
    type Behind = Self;
    #[inline(always)]
    unsafe fn behind(self) -> Self {
        self
    }
}

macro_rules! as_they_are {
    ($(($parameter:ident: $bound:ident, $other:ident) $t:ty;)*) => {$(
        impl<$parameter: $bound, $other> MayDepend for $t {
            type Behind = Self;
            #[inline(always)]
            unsafe fn behind(self) -> Self {
                self
            }
        }
    )*};
}
as_they_are! {
    (T: Element, O) GlobalPtr<T, O>;
    (T: Element, S) protocol::SpinLock<T, S>;
    (T: Element, S) protocol::TicketLock<T, S>;
    (T: Element, S) protocol::RwLock<T, S>;
    (T: Element, S) protocol::Dekker<T, S>;
    (T: Element, S) protocol::Semaphore<T, S>;
    (T: Element, S) protocol::LastArrival<T, S>;
    (T: Element, S) protocol::Once<T, S>;
    (T: Element, S) protocol::GridExchange<T, S>;
    (T: Element, S) protocol::SeqLock<T, S>;
    (T: Element, S) protocol::Queue<T, S>;
}

// SAFETY: the parameter itself (I24, I27).
unsafe impl<P: ReceiveParam> ReceiveParam for Dependent<P> {
    type Abi = P::Abi;
    const ALIGN: u32 = P::ALIGN;
    const DEPENDENT: bool = true;
    const SIGNATURE: Signature = P::SIGNATURE.dependent();
    #[inline(always)]
    unsafe fn receive(abi: P::Abi, address: impl FnOnce() -> u64) -> Self {
        // SAFETY: the caller's promise.
        Dependent(unsafe { P::receive(abi, address) })
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<P: KernelParam> KernelParam for Dependent<P> {
    type Host<'a> = P::Host<'a>;
    fn push(host: P::Host<'_>, params: &mut Params) {
        params.push_dependent(|params| P::push(host, params));
    }
}
