//! What instructions under way are, and what they read.
//!
//! A product in flight holds what its instructions use, so that nothing of it is had without the wait: the registers of A since
//! the instruction, the stages since `commit_group`. Its type says of which kind the instructions are too, because only those of
//! one kind follow each other into the same registers without another fence (E1).

use core::marker::PhantomData;

use super::Fragment;
use crate::dropped::{self, Hand};
use crate::path::{Committed, Multiplied, ReadByWgmma, Settled};
use crate::stages::{Ring, Slot};
use crate::tile::Element;
use crate::token::{Marks, SameSet, Set};

/// Seals the kinds of instructions, and what may be under way: a product's type is what the library's own methods made it.
mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not one of the library's kinds of `wgmma` instructions",
        note = "rule E1: which instructions follow each other without a fence is what the hardware says of their types",
        note = "take the product and the stage that `mma_async` returns"
    )]
    pub trait Kind {}

    /// Parts of what a product has under way, each with a trait of its own that says so.
    macro_rules! parts_of_a_flight {
        ($($part:ident)*) => {$(
            #[diagnostic::on_unimplemented(
                message = "`{Self}` does not say what a product of `wgmma` has under way",
                note = "rules E2 and E3: registers and stages come back for what the library's own methods have begun, and for nothing else",
                note = "leave the type to be inferred: it goes from `mma_async` through `commit_group` to `wait_group`"
            )]
            pub trait $part {}
        )*};
    }
    parts_of_a_flight! { Flight Groups Fragments }
}

/// A kind of instructions, which decides whether they may follow each other.
pub trait Kind: sealed::Kind {}
impl<T: sealed::Kind> Kind for T {}

/// Instructions whose factors, of the types `P`, are both in shared memory.
pub struct InShared<P>(PhantomData<P>);
/// Instructions whose factors are of the types `P`, with A in registers.
pub struct InRegisters<P>(PhantomData<P>);

/// Instructions of the kind `I` that belong to no group yet, and read the fragments `A`; `G` are the groups before them.
pub struct Open<I, G, A> {
    groups: G,
    a: A,
    /// A product in flight is not dropped: its registers would be anyone's.
    hand: Hand<dropped::Product>,
    kind: Marks<I>,
}

/// Groups of instructions of the kind `I`, the oldest first; of each, what it reads.
pub struct InGroups<I, G> {
    groups: G,
    kind: Marks<I>,
}

impl<P> sealed::Kind for InShared<P> {}
impl<P> sealed::Kind for InRegisters<P> {}
impl<I: Kind, G: sealed::Groups, A: sealed::Fragments> sealed::Flight for Open<I, G, A> {}
impl<I: Kind, G: sealed::Groups> sealed::Flight for InGroups<I, G> {}
impl sealed::Flight for () {}
impl sealed::Groups for () {}
impl<A> sealed::Groups for (A,) {}
impl<A, B> sealed::Groups for (A, B) {}
impl<A, B, C> sealed::Groups for (A, B, C) {}
impl sealed::Fragments for () {}
impl<F, Older: sealed::Fragments> sealed::Fragments for (F, Older) {}

/// What is under way behind one more instruction of the kind `I`.
pub type Opened<I, Flight> = Open<I, <Flight as Continues<I>>::Groups, <Flight as Continues<I>>::A>;

/// The kind of an instruction that may follow one of the kind `Self` into the same registers, without a fence: the same.
#[diagnostic::on_unimplemented(
    message = "instructions of another kind may still write these registers, and no fence stands between: under way are `{Self}`",
    label = "missing `wgmma.wait_group` and `wgmma.fence` before `{I}`",
    note = "rule E1: only instructions of one shape follow each other into the same registers without a `wgmma.fence`; the types \
            of the \
            factors decide on it, and registers of A are accesses of their own (PTX ISA 9.7.15.7.1)",
    note = "call `.commit_group(&mut wg, stage)`, `.wait_group::<0, _>(&mut wg)` and `.fence(&mut wg)` first"
)]
pub trait FollowedBy<I: Kind>: Kind {}
#[diagnostic::do_not_recommend]
impl<P> FollowedBy<InShared<P>> for InShared<P> {}
#[diagnostic::do_not_recommend]
impl<P> FollowedBy<InRegisters<P>> for InRegisters<P> {}
// With one implementation for each kind, the compiler would take the next instruction's to be that, and name the types that
// differ instead of the rule.
#[diagnostic::do_not_recommend]
impl<P> FollowedBy<Nothing> for InShared<P> {}
#[diagnostic::do_not_recommend]
impl<P> FollowedBy<Nothing> for InRegisters<P> {}
/// The kind of no instruction.
pub enum Nothing {}
impl sealed::Kind for Nothing {}

/// What may be under way when an instruction of the kind `I` is issued: nothing, or others of its kind.
pub trait Continues<I: Kind>: sealed::Flight {
    /// The groups under way.
    #[doc(hidden)]
    type Groups;
    /// The fragments that instructions in no group read.
    #[doc(hidden)]
    type A;
    /// # Safety
    /// 1. An instruction of the kind `I` is issued, into the registers of the product whose this is.
    #[doc(hidden)]
    unsafe fn open(self) -> Opened<I, Self>
    where
        Self: Sized;
}
impl<I: Kind> Continues<I> for () {
    type Groups = ();
    type A = ();
    #[inline(always)]
    unsafe fn open(self) -> Open<I, (), ()> {
        Open { groups: (), a: (), hand: Hand::new(), kind: PhantomData }
    }
}
impl<J: FollowedBy<I>, I: Kind, G: sealed::Groups> Continues<I> for InGroups<J, G> {
    type Groups = G;
    type A = ();
    #[inline(always)]
    unsafe fn open(self) -> Open<I, G, ()> {
        Open { groups: self.groups, a: (), hand: Hand::new(), kind: PhantomData }
    }
}
impl<J: FollowedBy<I>, I: Kind, G: sealed::Groups, A: sealed::Fragments> Continues<I>
    for Open<J, G, A>
{
    type Groups = G;
    type A = A;
    #[inline(always)]
    unsafe fn open(self) -> Open<I, G, A> {
        let Open { groups, a, hand, .. } = self;
        Open { groups, a, hand, kind: PhantomData }
    }
}

impl<I, G, A> Open<I, G, A> {
    /// The last instruction reads `fragment`.
    #[inline(always)]
    pub(super) fn reading<F>(self, fragment: F) -> Open<I, G, (F, A)> {
        let Open { groups, a, hand, .. } = self;
        Open { groups, a: (fragment, a), hand, kind: PhantomData }
    }
}

/// What `commit_group` makes a group of, together with `G`.
pub trait Commits<G>: sealed::Flight {
    /// What is under way then.
    type Next;
    /// # Safety
    /// 1. `wgmma.commit_group` was issued, and this group, or an older one, is what reads `read` and the fragments that this holds.
    #[doc(hidden)]
    unsafe fn commit(self, read: G) -> Self::Next;
}
impl<I: Kind, Before: Groups, A: Beside<G>, G> Commits<G> for Open<I, Before, A> {
    type Next = InGroups<I, Before::With<A::All>>;
    #[inline(always)]
    unsafe fn commit(self, read: G) -> Self::Next {
        let Open { groups, a, hand, .. } = self;
        hand.settle();
        // SAFETY: the caller's promise.
        let read = unsafe { a.beside(read) };
        // SAFETY: as above.
        InGroups { groups: unsafe { groups.with(read) }, kind: PhantomData }
    }
}
// Nothing was issued, which `HasIssued` tells better.
impl<G> Commits<G> for () {
    type Next = ();
    #[inline(always)]
    unsafe fn commit(self, _: G) {}
}
impl<I: Kind, Before: sealed::Groups, G> Commits<G> for InGroups<I, Before> {
    type Next = Self;
    #[inline(always)]
    unsafe fn commit(self, _: G) -> Self {
        self
    }
}

/// Fragments that a group reads besides `G`; the newest is outermost.
pub trait Beside<G>: sealed::Fragments {
    /// All that the group reads, the oldest fragment first.
    type All;
    /// # Safety
    /// 1. As for [`Commits::commit`].
    #[doc(hidden)]
    unsafe fn beside(self, read: G) -> Self::All;
}
impl<G> Beside<G> for () {
    type All = G;
    #[inline(always)]
    unsafe fn beside(self, read: G) -> G {
        read
    }
}
impl<F, Older: Beside<(F, G)>, G> Beside<G> for (F, Older) {
    type All = Older::All;
    #[inline(always)]
    unsafe fn beside(self, read: G) -> Self::All {
        // SAFETY: the caller's promise.
        unsafe { self.1.beside((self.0, read)) }
    }
}

/// Stages that one group reads and that go back with it: a stage, a pair, or none, where all that it reads stay open.
///
/// # Safety
/// Not dropped: what is thrown away with a product in flight fails the build.
#[diagnostic::on_unimplemented(
    message = "no instruction of this warpgroup reads `{Self}`",
    label = "not what `mma_async` returned",
    note = "rule E3: a group holds the stages that its instructions read, and a wait gives them back as free (PTX ISA 9.7.15.7.3)",
    note = "pass the stage that `mma_async` returned, or a pair of such"
)]
pub unsafe trait ReadTogether<S: Set> {
    /// The same stages when the reads have ended.
    type Ended;
    /// # Safety
    /// 1. A wait has covered the group.
    #[doc(hidden)]
    unsafe fn ended(self) -> Self::Ended;
}

// SAFETY: its destructor says so.
unsafe impl<'k, Tag, R: Ring, RS: Set, S: SameSet<RS>> ReadTogether<S>
    for Slot<'k, Tag, R, RS, ReadByWgmma>
{
    type Ended = Slot<'k, Tag, R, RS, Multiplied>;
    #[inline(always)]
    unsafe fn ended(self) -> Self::Ended {
        self.become_state()
    }
}

// SAFETY: nothing to drop. The stages of such a group stay open.
unsafe impl<S: Set> ReadTogether<S> for () {
    type Ended = ();
    #[inline(always)]
    unsafe fn ended(self) {}
}

// SAFETY: its parts'.
unsafe impl<S: Set, A: ReadTogether<S>, B: ReadTogether<S>> ReadTogether<S> for (A, B) {
    type Ended = (A::Ended, B::Ended);
    #[inline(always)]
    unsafe fn ended(self) -> Self::Ended {
        // SAFETY: the caller's promise.
        unsafe { (self.0.ended(), self.1.ended()) }
    }
}

// SAFETY: it comes into a group beside a stage only, because `commit_group` alone puts it there (I15).
unsafe impl<E: Element, S: Set, const STEPS: usize> ReadTogether<S>
    for Fragment<E, S, STEPS, ReadByWgmma>
{
    type Ended = Fragment<E, S, STEPS>;
    #[inline(always)]
    unsafe fn ended(self) -> Self::Ended {
        // Nothing else is put into the registers before the wait.
        self.in_place().become_state()
    }
}

/// Up to two groups under way, the oldest first, to which one more is added.
#[diagnostic::on_unimplemented(
    message = "a product has at most three groups under way, and these are no fewer: `{Self}`",
    note = "rule E2: `wait_group` tells apart at most three (PTX ISA 9.7.15.7.3)",
    note = "call `.wait_group::<2, _>(&mut wg)` or less before the next `mma_async`"
)]
pub trait Groups: sealed::Groups {
    /// With one more.
    type With<G>;
    /// # Safety
    /// 1. As for [`Commits::commit`], for the groups that this holds and what the newest reads.
    #[doc(hidden)]
    unsafe fn with<G>(self, newest: G) -> Self::With<G>;
}
impl Groups for () {
    type With<G> = (G,);
    #[inline(always)]
    unsafe fn with<G>(self, newest: G) -> (G,) {
        (newest,)
    }
}
impl<A> Groups for (A,) {
    type With<G> = (A, G);
    #[inline(always)]
    unsafe fn with<G>(self, newest: G) -> (A, G) {
        (self.0, newest)
    }
}
impl<A, B> Groups for (A, B) {
    type With<G> = (A, B, G);
    #[inline(always)]
    unsafe fn with<G>(self, newest: G) -> (A, B, G) {
        (self.0, self.1, newest)
    }
}

/// Groups of which a wait lets the newest `N` be incomplete.
#[diagnostic::on_unimplemented(
    message = "a wait that lets {N} groups be incomplete does not fit the groups under way: `{Self}`",
    note = "rules E2 and E3: a wait lets at most so many groups be incomplete as are under way besides the oldest (PTX ISA \
            9.7.15.7.3)",
    note = "call `.wait_group::<0, _>(&mut wg)`, which waits for all; `wait_group::<1, _>` waits for all but the newest of two, \
            `wait_group::<2, _>` for all but the newest two of three"
)]
pub trait Waits<S: Set, const N: u32>: sealed::Flight {
    /// [`Settled`] when nothing is under way any more, else [`Committed`].
    type State;
    /// What is still under way.
    type Rest;
    /// The stages that are free.
    type Done;
    /// # Safety
    /// 1. The wait has returned.
    #[doc(hidden)]
    unsafe fn split(self) -> (Self::Rest, Self::Done);
}
// Nothing is in a group, which `HasCommitted` tells better.
impl<S: Set, const N: u32> Waits<S, N> for () {
    type State = Settled;
    type Rest = ();
    type Done = ();
    #[inline(always)]
    unsafe fn split(self) -> ((), ()) {
        ((), ())
    }
}
impl<S: Set, I: Kind, G: sealed::Groups, A: sealed::Fragments, const N: u32> Waits<S, N>
    for Open<I, G, A>
{
    type State = Settled;
    type Rest = Self;
    type Done = ();
    #[inline(always)]
    unsafe fn split(self) -> (Self, ()) {
        (self, ())
    }
}
impl<S: Set, I: Kind, A: ReadTogether<S>> Waits<S, 0> for InGroups<I, (A,)> {
    type State = Settled;
    type Rest = ();
    type Done = A::Ended;
    #[inline(always)]
    unsafe fn split(self) -> (Self::Rest, Self::Done) {
        // SAFETY: the caller's promise.
        ((), unsafe { self.groups.0.ended() })
    }
}
impl<S: Set, I: Kind, A: ReadTogether<S>, B: ReadTogether<S>> Waits<S, 0> for InGroups<I, (A, B)> {
    type State = Settled;
    type Rest = ();
    type Done = (A::Ended, B::Ended);
    #[inline(always)]
    unsafe fn split(self) -> (Self::Rest, Self::Done) {
        // SAFETY: the caller's promise.
        ((), unsafe { (self.groups.0.ended(), self.groups.1.ended()) })
    }
}
impl<S: Set, I: Kind, A: ReadTogether<S>, B> Waits<S, 1> for InGroups<I, (A, B)> {
    type State = Committed;
    type Rest = InGroups<I, (B,)>;
    type Done = A::Ended;
    #[inline(always)]
    unsafe fn split(self) -> (Self::Rest, Self::Done) {
        // SAFETY: the caller's promise; the newest group is B: the type lists the groups as they were made, and nobody else makes such a
        // type (I15, I18).
        (InGroups { groups: (self.groups.1,), kind: PhantomData }, unsafe { self.groups.0.ended() })
    }
}
impl<S: Set, I: Kind, A: ReadTogether<S>, B, C> Waits<S, 2> for InGroups<I, (A, B, C)> {
    type State = Committed;
    type Rest = InGroups<I, (B, C)>;
    type Done = A::Ended;
    #[inline(always)]
    unsafe fn split(self) -> (Self::Rest, Self::Done) {
        // SAFETY: the caller's promise; the newest groups are B and C, as above (I15, I18).
        (InGroups { groups: (self.groups.1, self.groups.2), kind: PhantomData }, unsafe {
            self.groups.0.ended()
        })
    }
}
