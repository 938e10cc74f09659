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

use crate::global::{GlobalPtr, read_global, write_global};
use crate::path::{
    Acquired, Awaited, Empty, FlagObserved, Full, ObservedRelaxed, ReleasedAt, ReleasedFor,
    Writable, Written,
};
use crate::ptx;
use crate::ptx::addr::{Addr, Global};
use crate::scope::{Gpu, Includes, Scope};
use crate::sem::{AcqRel, Acquire, Relaxed, Release};
use crate::shared_access::check;
use crate::tile::Element;
use crate::token::{Brand, Cta, Marks, SameSet, Set, StaysWithItsThreads};

/// An array and a flag in global memory, used by two CTAs at the scope `S`.
pub struct Mailbox<'k, T, S> {
    data: u64,
    len: u64,
    flag: u64,
    brand: Brand<'k>,
    types: Marks<(T, S)>,
}

impl<'k, T: Element, S: Scope> Mailbox<'k, T, S> {
    /// Claims the memory of a mailbox.
    ///
    /// # Safety
    /// 1. `flag` has at least one element, and element 0 is zero when the launch begins (rule A14).
    /// 2. Every CTA claims the same `data` and `flag`, once, and touches neither otherwise during the launch.
    /// 3. Every CTA passes the same `sender` and `receiver` to [`ends`](Self::ends).
    #[inline(always)]
    pub unsafe fn claim<L, const THREADS: u32>(
        cta: &Cta<'k, L, THREADS>,
        data: GlobalPtr<T>,
        flag: GlobalPtr<u32>,
    ) -> Self {
        let _ = cta;
        Mailbox {
            data: data.address().raw(),
            len: data.len(),
            flag: flag.address().raw(),
            brand: PhantomData,
            types: PhantomData,
        }
    }

    /// Gives each CTA its end by its index along x: the CTA `sender` sends to the CTA `receiver`.
    #[inline(always)]
    pub fn ends<L, const THREADS: u32>(
        self, // A9: an end is handed out once
        cta: &Cta<'k, L, THREADS>,
        sender: u32,
        receiver: u32,
    ) -> End<'k, T, S, Cta<'k, L, THREADS>>
    where
        S: Includes<Gpu>,
    {
        let crate::index::CtaIndex { x, y, z } = cta.index();
        let first = y == 0 && z == 0 && sender != receiver;
        if first && x == sender {
            End::Sender(Outbox::new(self.data, self.len, self.flag))
        } else if first && x == receiver {
            End::Receiver(Inbox::new(self.data, self.len, self.flag))
        } else {
            End::Neither
        }
    }
}

/// What a CTA got of a mailbox.
pub enum End<'k, T, S, C> {
    /// It sends.
    Sender(Outbox<'k, T, S, C, Empty>),
    /// It receives.
    Receiver(Inbox<'k, T, S, C, Awaited>),
    /// It is neither.
    Neither,
}

macro_rules! end {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<'k, T, S, C, State> {
            data: u64,
            len: u64,
            flag: u64,
            brand: Brand<'k>,
            types: Marks<(T, S, C, State)>,
            stays: StaysWithItsThreads,
        }

        impl<'k, T: Element, S: Scope, C: Set, State> $name<'k, T, S, C, State> {
            #[inline(always)]
            fn new(data: u64, len: u64, flag: u64) -> Self {
                $name { data, len, flag, brand: PhantomData, types: PhantomData, stays: PhantomData }
            }

            #[inline(always)]
            fn become_state<Next>(self) -> $name<'k, T, S, C, Next> {
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

impl<'k, T: Element, S: Scope, C: Set, State> Outbox<'k, T, S, C, State> {
    /// Writes the elements that this thread owns (thread `r` of `n` owns `r`, `r + n`, …; rule A13).
    #[inline(always)]
    pub fn fill<U>(
        self,
        set: &mut U,
        mut value: impl FnMut(u64) -> T,
    ) -> Outbox<'k, T, S, C, Written>
    where
        U: SameSet<C>,
        State: Writable,
    {
        let mut index = set.rank() as u64;
        while index < self.len {
            // SAFETY: in range, this thread's own, and unread until the flag is set.
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
        self, // A9: the message is the receiver's now
        set: &mut U,
    ) where
        U: SameSet<C>,
        State: HasMessage,
    {
        let flag = self.flag();
        set.barrier();
        // SAFETY: the flag is this mailbox's, written by this thread alone.
        set.lead(|| unsafe { ptx::st::st::<Release, S, Global, u32>(flag, 1) });
    }

    /// A release fence at scope `F`, for the relaxed store that follows (rule A4).
    ///
    /// # PTX
    /// The set's barrier, then `fence.acq_rel.F` (ISA 8.8, third release pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn fence_release<F: Scope, U>(self, set: &mut U) -> Outbox<'k, T, S, C, ReleasedAt<F>>
    where
        U: SameSet<C>,
        State: HasMessage,
    {
        set.barrier();
        ptx::fence::fence::<AcqRel, F>();
        self.become_state()
    }

    /// Sets the flag with a relaxed store, behind the release fence.
    ///
    /// # PTX
    /// `st.relaxed.S.global.u32` by one thread. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn store_relaxed<U>(
        self, // A9: the message is the receiver's now
        set: &mut U,
    ) where
        U: SameSet<C>,
        State: ReleasedFor<S>,
    {
        let flag = self.flag();
        // SAFETY: the flag is this mailbox's, written by this thread alone.
        set.lead(|| unsafe { ptx::st::st::<Relaxed, S, Global, u32>(flag, 1) });
    }
}

/// The message has been written.
#[diagnostic::on_unimplemented(
    message = "there is no message to send: the outbox is `{Self}`",
    note = "rule A1: the receiver reads every element; write them with `.fill(&mut cta, |index| …)` first"
)]
pub trait HasMessage {}
impl HasMessage for Written {}

impl<'k, T: Element, S: Scope, C: Set, State> Inbox<'k, T, S, C, State> {
    /// Waits for the flag with an acquire; each thread of the set waits itself.
    ///
    /// # PTX
    /// A loop over `ld.acquire.S.global.u32` (ISA 8.8, first acquire pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn wait<U>(self, set: &mut U) -> Inbox<'k, T, S, C, Full>
    where
        U: SameSet<C>,
    {
        let _ = set;
        // SAFETY: the flag is this mailbox's.
        while unsafe { ptx::ld::ld::<Acquire, S, Global, u32>(self.flag()) } == 0 {}
        self.become_state()
    }

    /// Waits for the flag with relaxed loads; nothing may be read before [`fence_acquire`](Self::fence_acquire)
    /// (rule A3).
    ///
    /// # PTX
    /// A loop over `ld.relaxed.S.global.u32`. PTX 6.0, sm_70.
    #[inline(always)]
    pub fn wait_relaxed<U>(self, set: &mut U) -> Inbox<'k, T, S, C, ObservedRelaxed>
    where
        U: SameSet<C>,
    {
        let _ = set;
        // SAFETY: the flag is this mailbox's.
        while unsafe { ptx::ld::ld::<Relaxed, S, Global, u32>(self.flag()) } == 0 {}
        self.become_state()
    }

    /// Makes the relaxed loads an acquire pattern, at scope `F` (rule A5: it must include the flag's).
    ///
    /// # PTX
    /// `fence.acq_rel.F` (ISA 8.8, third acquire pattern). PTX 6.0, sm_70.
    #[inline(always)]
    pub fn fence_acquire<F, U>(self, set: &mut U) -> Inbox<'k, T, S, C, Full>
    where
        F: Includes<S>,
        U: SameSet<C>,
        State: FlagObserved,
    {
        let _ = set;
        ptx::fence::fence::<AcqRel, F>();
        self.become_state()
    }

    /// Element `index` of the message. Traps when it is out of range.
    #[inline(always)]
    pub fn get(&self, index: u64) -> T
    where
        State: FlagObserved + Acquired,
    {
        check(index < self.len);
        // SAFETY: in range; the message was acquired, and the sender writes no more.
        unsafe { read_global(self.element(index)) }
    }
}
