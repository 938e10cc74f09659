//! Protocols between the CTAs of a grid, as kernel parameters.
//!
//! A kernel that takes `total: SpinLock<f32>` has said all that its CTAs must agree on: which words synchronise them, at
//! which scope, and which array those words guard. Every thread gets the parameter from its entry, so no two CTAs can
//! take the same word for different things (rule A7), and nothing is claimed. The host passes the array and the
//! words; the words are a [`SyncWords`], which the host zeroes for each launch and which serves
//! one (rule A14).
//!
//! | protocol | who holds the array | host argument |
//! |---|---|---|
//! | [`Mailbox`] | the CTA that writes it; then the CTA that reads it | words, array |
//! | [`SpinLock`], [`TicketLock`] | one set at a time; the second in the order of arrival | words, array |
//! | [`Dekker`] | one of two sides at a time, by loads and stores | words, array |
//! | [`RwLock`] | one set at a time to write, or any number to read | words, array |
//! | [`Semaphore`] | the CTAs along z, in that order, tile by tile | words (one for each tile), array |
//! | [`LastArrival`] | each CTA its part; then the last to arrive all of it, to read | words, array |
//! | [`Once`] | the first to come, to fill it; then everybody, to read | words, array |
//! | [`GridExchange`] | each thread its elements of one array, all threads another, in turns | words, two arrays |
//! | [`SeqLock`] | one writer at a time; readers never wait for each other | words, array |
//! | [`Queue`] | each element is the pusher's, then the popper's | words (two more than elements), array |
//!
//! What a set may do with an array while it holds it is [`Held`](crate::held::Held)'s part.
//!
//! # Why a hand-over is one
//! The thread that hands on has its set's barrier behind its set's accesses (ISA 8.9.4) and makes a release pattern on the
//! word; the thread that takes over makes an acquire pattern that reads from it, or from a read-modify-write that
//! continues it, and its set's barrier passes that on (ISA 8.8, 8.9.2; causality is transitive). Both are at the scope
//! `S`, which includes every CTA of the grid (rule A5).

use core::marker::PhantomData;

use crate::atomic::Atomic;
use crate::global::ReceiveParam;
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{DeviceSliceMut, KernelParam, Params, SyncWords};
use crate::signature::{Kind, Signature};

mod dekker;
mod grid;
mod last_arrival;
mod lock;
mod mailbox;
mod once;
mod queue;
mod rwlock;
mod semaphore;
mod seqlock;

pub use dekker::{Announced, Dekker, Leave, Side};
pub use grid::{Grid, GridExchange};
pub use last_arrival::{Arrival, Contribution, LastArrival};
pub use lock::{SpinLock, TicketLock, Unlock, UnlockTicket};
pub use mailbox::{End, HasMessage, Inbox, Mailbox, Outbox};
pub use once::Once;
pub use queue::Queue;
pub use rwlock::{RwLock, UnlockRead, UnlockWrite};
pub use semaphore::{Pass, Semaphore};
pub use seqlock::SeqLock;

/// Words that the host zeroed for this launch, and the array that they guard; `S` is the scope of every access to the
/// words.
#[repr(C)]
struct Guarded<T, S> {
    words: u64,
    objects: u64,
    data: u64,
    len: u64,
    types: PhantomData<fn() -> (T, S)>,
}

impl<T, S> Clone for Guarded<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S> Copy for Guarded<T, S> {}

impl<T, S> Guarded<T, S> {
    /// Word `index`.
    ///
    /// # Safety
    /// 1. There is one.
    #[inline(always)]
    unsafe fn word(&self, index: u64) -> Word<S> {
        // SAFETY: the words are `u32`, in range by the caller; the parameter's type makes every thread access them at
        // this scope (I23, I24).
        unsafe { Word::from_raw(self.words + 4 * index) }
    }
}

/// A word of a protocol. It never leaves this module, so its lifetime says nothing.
type Word<S> = Atomic<'static, u32, S>;

macro_rules! parameters {
    ($($name:ident: $words:literal;)*) => {$(
        // SAFETY: four 64-bit words, as the host pushes them: the synchronisation words and how many objects they are, then the array
        // (I27).
        unsafe impl<T: crate::tile::Element, S> ReceiveParam for $name<T, S> {
            type Abi = Self;
            const SIGNATURE: Signature = Signature::array(Kind::$name, T::TYPE);
            #[inline(always)]
            unsafe fn receive(abi: Self, _: impl FnOnce() -> u64) -> Self {
                abi
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl<T: crate::tile::Element, S> KernelParam for $name<T, S> {
            type Host<'a> = (SyncWords<'a, $words>, DeviceSliceMut<'a, T>);
            fn push((words, data): Self::Host<'_>, params: &mut Params) {
                params.push_guarded(words, [data]);
            }
        }
    )*};
}
parameters! {
    SpinLock: 1;
    Dekker: 2;
    TicketLock: 2;
    RwLock: 1;
    Semaphore: 1;
    Once: 1;
    LastArrival: 1;
    SeqLock: 1;
    Queue: 1;
}
