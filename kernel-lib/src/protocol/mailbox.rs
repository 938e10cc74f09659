//! Mailbox: one CTA writes an array in global memory, another reads it, and a flag hands it over.
//!
//! The message-passing pattern of ISA 8.10 as a pair of typestates. The sender's data is plain; what makes it
//! readable is the release pattern on the flag, the acquire pattern on the flag, and scopes that include both
//! CTAs:
//!
//! | sender | receiver |
//! |---|---|
//! | `fill`, `send` (`st.release`) | `wait` (`ld.acquire`), `get` |
//! | `fill`, `fence_release`, `store_relaxed` | `wait_relaxed`, `fence_acquire`, `get` |
//!
//! Each half can be combined with either half of the other side. A flag that was only seen (rules A1, A3), a
//! store that nothing was released before (A4), or a scope that does not reach the other CTA (A5) has the
//! wrong type.

use core::marker::PhantomData;

use super::Guarded;
#[cfg(not(target_arch = "nvptx64"))]
use super::{DeviceSliceMut, KernelParam, Params, SyncWords};
use crate::global::{ReceiveParam, read_global, write_global};
use crate::path::{
    Acquired, Awaited, Empty, FlagObserved, Full, ObservedRelaxed, ReleasedAt, ReleasedFor, State,
    Writable, Written,
};
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::ptx::sreg;
use crate::require;
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{Acquire, Relaxed, Release};
use crate::shared_access::check;
use crate::signature::{Kind, Signature};
use crate::tile::Element;
use crate::token::{Marks, SameSet, Set, StaysWithItsThreads};

/// An array that the CTA `FROM` writes, once, and the CTA `TO` then reads: a kernel parameter. The numbers are those of the CTAs
/// along x.
///
/// They stand in the type, so that all CTAs of a launch agree about who sends. In every other CTA the mailbox is nobody's, and
/// in a grid that lacks one of the two nobody sends, or nobody receives.
///
/// ```
/// use baton::prelude::*;
/// use baton::protocol::{End, Mailbox};
///
/// /// CTA 1 gets what CTA 0 has written.
/// #[baton::kernel(threads = 128)]
/// fn send(cta: Cta<'_, NoShared, 128>, mail: Mailbox<u32, 0, 1>, output: GlobalPtr<u32>) -> Exit<'_> {
///     let mut cta = cta;
///     let mut mine = output.partition(&cta);
///     match mail.end(&mut cta) {
///         End::Sender(outbox) => outbox.fill(&mut cta, |i| i as u32).send(&mut cta),
///         End::Receiver(inbox) => {
///             let inbox = inbox.wait(&mut cta);
///             mine.put(0, inbox.get(0));
///         }
///         End::Neither => {}
///     }
///     let (cta, ()) = cta.claim();
///     cta.join().exit(())
/// }
/// # fn main() {}
/// ```
#[repr(transparent)]
pub struct Mailbox<T, const FROM: u32, const TO: u32, S = Gpu>(Guarded<T, S>); // A14: words of the host's; take it as a parameter

// SAFETY: four 64-bit words, as the host pushes them: the flag and how many there are, then the array (I27).
unsafe impl<T: Element, const FROM: u32, const TO: u32, S> ReceiveParam
    for Mailbox<T, FROM, TO, S>
{
    type Abi = Self;
    const SIGNATURE: Signature = Signature::array(Kind::Mailbox, T::TYPE);
    #[inline(always)]
    unsafe fn receive(abi: Self, _: impl FnOnce() -> u64) -> Self {
        abi
    }
}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: Element, const FROM: u32, const TO: u32, S> KernelParam for Mailbox<T, FROM, TO, S> {
    type Host<'a> = (SyncWords<'a, 1>, DeviceSliceMut<'a, T>);
    fn push((flag, data): Self::Host<'_>, params: &mut Params) {
        params.push_guarded(flag, [data]);
    }
}

impl<T: Element, const FROM: u32, const TO: u32, S: Scope> Mailbox<T, FROM, TO, S> {
    /// Gives each CTA its end, for one of its sets of threads.
    #[inline(always)]
    pub fn end<C: Set>(
        self, // A9: an end is one set's; go on with the one that this returns
        set: &mut C,
    ) -> End<T, S, C>
    where
        S: Includes<Gpu>,
    {
        const {
            require(
                FROM != TO,
                "rule A9: a CTA does not send to itself: give the mailbox two numbers",
            )
        };
        let _ = set;
        let Guarded { words, data, len, .. } = self.0;
        ptx::mark::opened_mailbox::<C>(words);
        let x = sreg::ctaid_x();
        let first = sreg::ctaid_y() == 0 && sreg::ctaid_z() == 0;
        if first && x == FROM {
            End::Sender(Outbox::new(data, len, words))
        } else if first && x == TO {
            End::Receiver(Inbox::new(data, len, words))
        } else {
            End::Neither
        }
    }
}

/// What a set of a CTA got of a mailbox.
pub enum End<T, S, C> {
    /// It sends.
    Sender(Outbox<T, S, C, Empty>),
    /// It receives.
    Receiver(Inbox<T, S, C, Awaited>),
    /// It is neither.
    Neither,
}

macro_rules! end {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T, S, C, State> {
            data: u64,
            len: u64,
            flag: u64,
            types: Marks<(T, S, C, State)>,
            stays: StaysWithItsThreads,
        }

        impl<T: Element, S: Scope, C: Set, State> $name<T, S, C, State> {
            #[inline(always)]
            fn new(data: u64, len: u64, flag: u64) -> Self {
                $name { data, len, flag, types: PhantomData, stays: PhantomData }
            }

            #[inline(always)]
            fn become_state<Next>(self) -> $name<T, S, C, Next> {
                $name::new(self.data, self.len, self.flag)
            }

            #[inline(always)]
            fn flag(&self) -> Addr<Global> {
                Addr::from_raw(self.flag)
            }

            #[inline(always)]
            fn element(&self, index: u64) -> Addr<Global> {
                Addr::from_raw(self.data + index * size_of::<T>() as u64)
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
        }
    };
}

end! {
    /// The sending end of a mailbox, in a state of [`crate::path`].
    Outbox
}
end! {
    /// The receiving end of a mailbox, in a state of [`crate::path`].
    Inbox
}

impl<T: Element, S: Scope, C: Set, State> Outbox<T, S, C, State> {
    /// Writes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self, // A9: the elements are written; go on with the box that this returns
        set: &mut U,
        mut value: impl FnMut(u64) -> T,
    ) -> Outbox<T, S, C, Written>
    where
        U: SameSet<C>,
        State: Writable,
    {
        let mut index = set.rank() as u64;
        while index < self.len {
            // SAFETY: in range, this thread's own (I16), and unread until the flag is set (I13).
            unsafe { write_global(self.element(index), value(index)) };
            index += U::THREADS as u64;
        }
        self.become_state()
    }

    /// Sets the flag with a release: the message is the receiver's.
    ///
    /// # PTX
    /// The set's barrier, then `st.release.S.global.u32` by one thread (ISA 8.8, first release pattern). PTX 6.0,
    /// sm_70.
    #[inline(always)]
    pub fn send<U>(
        self, // A9: the message is the receiver's now; use one mailbox for each message
        set: &mut U,
    ) where
        U: SameSet<C>,
        State: HasMessage,
    {
        let flag = self.flag();
        set.barrier_for(flag.raw());
        // SAFETY: the flag is this mailbox's (I24), written by this thread alone, once: the box is consumed (I9, I25).
        set.lead(|| unsafe { ptx::st::st::<Release, S, Global, u32>(flag, 1) });
    }

    /// A release fence at scope `F`, for the relaxed store that follows (rule A4).
    ///
    /// # PTX
    /// The set's barrier, then `fence.release.F`, before sm_90 `fence.acq_rel.F` (ISA 8.8, third release pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn fence_release<F: Scope, U>(
        self, // A4: the fence stands before what the box that this returns publishes; go on with that
        set: &mut U,
    ) -> Outbox<T, S, C, ReleasedAt<F>>
    where
        U: SameSet<C>,
        State: HasMessage,
    {
        set.barrier();
        ptx::fence::fence_release::<F>();
        self.become_state()
    }

    /// Sets the flag with a relaxed store, behind the release fence.
    ///
    /// # PTX
    /// `st.relaxed.S.global.u32` by one thread. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn store_relaxed<U>(
        self, // A9: the message is the receiver's now; use one mailbox for each message
        set: &mut U,
    ) where
        U: SameSet<C>,
        State: ReleasedFor<S>,
    {
        let flag = self.flag();
        set.agree_on(flag.raw());
        // SAFETY: the flag is this mailbox's (I24), written by this thread alone, once: the box is consumed (I9, I25).
        set.lead(|| unsafe { ptx::st::st::<Relaxed, S, Global, u32>(flag, 1) });
    }
}

/// The message has been written.
#[diagnostic::on_unimplemented(
    message = "there is no message to send: the outbox is `{Self}`",
    note = "rule A1: the receiver reads every element; write them with `.fill(&mut cta, |index| …)` first"
)]
pub trait HasMessage: State {}
impl HasMessage for Written {}

impl<T: Element, S: Scope, C: Set, State> Inbox<T, S, C, State> {
    /// Waits for the flag with an acquire; each thread of the set waits itself.
    ///
    /// # PTX
    /// A loop over `ld.acquire.S.global.u32` (ISA 8.8, first acquire pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn wait<U>(
        self, // A1: the message has come to the box that this returns; go on with that
        set: &mut U,
    ) -> Inbox<T, S, C, Full>
    where
        U: SameSet<C>,
    {
        let _ = set;
        // SAFETY: the flag is this mailbox's (I24), accessed at this size and scope alone (I25).
        while unsafe { ptx::ld::ld::<Acquire, S, Global, u32>(self.flag()) } == 0 {}
        self.become_state()
    }

    /// Waits for the flag with relaxed loads; nothing may be read before [`fence_acquire`](Self::fence_acquire)
    /// (rule A3).
    ///
    /// # PTX
    /// A loop over `ld.relaxed.S.global.u32`. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn wait_relaxed<U>(
        self, // A3: the message has come to the box that this returns, and is not ordered; go on with that
        set: &mut U,
    ) -> Inbox<T, S, C, ObservedRelaxed>
    where
        U: SameSet<C>,
    {
        let _ = set;
        // SAFETY: the flag is this mailbox's (I24), accessed at this size and scope alone (I25).
        while unsafe { ptx::ld::ld::<Relaxed, S, Global, u32>(self.flag()) } == 0 {}
        self.become_state()
    }

    /// Makes the relaxed loads an acquire pattern, at scope `F` (rule A5: it must include the flag's).
    ///
    /// # PTX
    /// `fence.acquire.F`, before sm_90 `fence.acq_rel.F` (ISA 8.8, third acquire pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn fence_acquire<F, U>(
        self, // A3: the order is known of the box that this returns; go on with that
        set: &mut U,
    ) -> Inbox<T, S, C, Full>
    where
        F: Includes<S>,
        U: SameSet<C>,
        State: FlagObserved,
    {
        let _ = set;
        ptx::fence::fence_acquire::<F>();
        self.become_state()
    }

    /// Element `index` of the message. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T
    where
        State: FlagObserved + Acquired,
    {
        check(index < self.len);
        // SAFETY: in range; the message was acquired, and the sender writes no more (I13, I14, I25).
        unsafe { read_global(self.element(index)) }
    }
}
