//! Which proofs close a layout: one for each field that needs one, in the fields' order.
//!
//! What a layout needs and what the kernel passes are two tuples; they are compared place by place, so that the compiler
//! names the field whose proof is missing, stands elsewhere, or is one too many.

use core::marker::PhantomData;

use crate::accumulator::Deallocated;

use super::Finished;

/// The proofs that no asynchronous operation uses the memory of the layout `L` any more.
///
/// # Safety
/// `Self` is `L::Closed<'k>`.
#[diagnostic::on_unimplemented(
    message = "the exit takes a tuple of proofs, and `{Self}` is none",
    label = "not a tuple",
    note = "rules B9 and D8: a CTA exits with a proof for each field that bulk copies, matrix instructions or peers use (PTX ISA 9.7.9.25.2, \
            9.7.16.7.1)",
    note = "write `exit((proof,))` for one proof, `exit((first, second))` for two, in the order of the fields, and `exit(())` for none"
)]
pub unsafe trait Closes<'k, L> {}
// SAFETY: each place of one tuple has the type of that place in the other, and both have as many (I15, I21).
unsafe impl<'k, L: crate::layout::Layout, P> Closes<'k, L> for P
where
    P: Places,
    L::Closed<'k>: Places,
    P::At0: StandsFor<<L::Closed<'k> as Places>::At0>,
    P::At1: StandsFor<<L::Closed<'k> as Places>::At1>,
    P::At2: StandsFor<<L::Closed<'k> as Places>::At2>,
    P::At3: StandsFor<<L::Closed<'k> as Places>::At3>,
    P::At4: StandsFor<<L::Closed<'k> as Places>::At4>,
    P::At5: StandsFor<<L::Closed<'k> as Places>::At5>,
    P::At6: StandsFor<<L::Closed<'k> as Places>::At6>,
    P::At7: StandsFor<<L::Closed<'k> as Places>::At7>,
{
}

/// A tuple of at most eight, place by place; [`Nothing`] stands behind its end.
#[doc(hidden)]
pub trait Places: tuples::Sealed {
    type At0;
    type At1;
    type At2;
    type At3;
    type At4;
    type At5;
    type At6;
    type At7;
}

/// No proof.
#[doc(hidden)]
pub enum Nothing {}

/// Seals the tuples: who could place a type among them could exit with what it does not own.
mod tuples {
    pub trait Sealed {}
}

macro_rules! places {
    ($(($($proof:ident $at:ident),*) ($($behind:ident),*);)*) => {$(
        impl<$($proof),*> tuples::Sealed for ($($proof,)*) {}
        #[diagnostic::do_not_recommend]
        impl<$($proof),*> Places for ($($proof,)*) {
            $(type $at = $proof;)*
            $(type $behind = Nothing;)*
        }
    )*};
}
places! {
    () (At0, At1, At2, At3, At4, At5, At6, At7);
    (A At0) (At1, At2, At3, At4, At5, At6, At7);
    (A At0, B At1) (At2, At3, At4, At5, At6, At7);
    (A At0, B At1, C At2) (At3, At4, At5, At6, At7);
    (A At0, B At1, C At2, D At3) (At4, At5, At6, At7);
    (A At0, B At1, C At2, D At3, E At4) (At5, At6, At7);
    (A At0, B At1, C At2, D At3, E At4, F At5) (At6, At7);
    (A At0, B At1, C At2, D At3, E At4, F At5, G At6) (At7);
    (A At0, B At1, C At2, D At3, E At4, F At5, G At6, H At7) ();
}

/// The same type as `Needed`, said so that the compiler can tell what else it is.
///
/// # Safety
/// `Self` is `Needed`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` stands where the exit needs `{Needed}`",
    label = "the proof of another field",
    note = "rules B9 and D8: a CTA exits with a proof for each field that bulk copies, matrix instructions or peers use, and no field's \
            proof stands for another's (PTX ISA 9.7.9.25.2, 9.7.16.7.1)",
    note = "pass a tuple with the proofs in the order of the layout's fields, each from the field's own end; fields that need none are \
            left out"
)]
#[doc(hidden)]
pub unsafe trait StandsFor<Needed> {}
// SAFETY: one type (I8, I21).
unsafe impl<T> StandsFor<T> for T {}

/// Seals what nothing implements: a field's tag is the kernel's own type, which could.
mod missing {
    pub trait Sealed<What: ?Sized> {}
}

/// What was begun through the ring of the field `Tag`: the bulk copies into its stages.
pub struct FillsOf<Tag>(PhantomData<Tag>);
/// What was begun through the staging buffer of the field `Tag`: the bulk stores out of it.
pub struct StoresOf<Tag>(PhantomData<Tag>);
/// What peers of the cluster do with the region of the field `Tag`.
pub struct ExchangeOf<Tag>(PhantomData<Tag>);
/// What was given through the relay of the field `Tag`: the stores into the next CTA.
pub struct PassedOf<Tag>(PhantomData<Tag>);
/// What was asked for through the takeover of the field `Tag`.
pub struct RequestsOf<Tag>(PhantomData<Tag>);

/// Nothing implements it: it is here for what the compiler says of a ring that is not closed.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit while bulk copies fill the ring `{Tag}`: the proof that they have ended is missing",
    label = "no proof for the field `{Tag}`",
    note = "rule B9: a CTA exits after every bulk copy that uses its shared memory has completed (PTX ISA 9.7.9.25.2)",
    note = "end the role that fills `{Tag}` with its producer's `finish(&mut t)`, and pass what `cta.roles(…)` returns of that role: one proof \
            for each field that needs one, in the order of the fields"
)]
#[doc(hidden)]
pub trait RingFinished<Tag>: missing::Sealed<Tag> {}
// SAFETY: there is none: nothing satisfies the bound.
unsafe impl<'k, Tag> StandsFor<Finished<'k, FillsOf<Tag>>> for Nothing where
    Nothing: RingFinished<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of a staging buffer that is not closed.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit while bulk stores read the staging buffer `{Tag}`: the proof that they have ended is missing",
    label = "no proof for the field `{Tag}`",
    note = "rule B9: a CTA exits after every bulk copy that uses its shared memory has completed (PTX ISA 9.7.9.25.2)",
    note = "call `.finish(&mut set)` on the staging buffer `{Tag}` behind its last store, and pass what it returns: one proof for each field \
            that needs one, in the order of the fields"
)]
#[doc(hidden)]
pub trait StagingFinished<Tag>: missing::Sealed<Tag> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Finished<'k, StoresOf<Tag>>> for Nothing where
    Nothing: StagingFinished<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of a region of a cluster that is not closed.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit while peers of the cluster use its region `{Tag}`: the proof that the exchange has ended is missing",
    label = "no proof for the field `{Tag}`",
    note = "rule F3: the exit is where the CTAs of a cluster meet last, and comes behind the wait for the last arrival on the cluster's \
            barrier (PTX ISA 5.1.6, barrier.cluster)",
    note = "call `.close(&mut cta)` on the region `{Tag}` behind its last `wait`, and pass what it returns: one proof for each field that \
            needs one, in the order of the fields"
)]
#[doc(hidden)]
pub trait ExchangeClosed<Tag>: missing::Sealed<Tag> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Finished<'k, ExchangeOf<Tag>>> for Nothing where
    Nothing: ExchangeClosed<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of a relay that is not closed.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit while its stores into the next one may be under way: the proof that what went through `{Tag}` was taken is \
               missing",
    label = "no proof for the field `{Tag}`",
    note = "rules B9 and F3: `st.async` stores into another CTA's shared memory, which has to be there until the store completes (PTX ISA \
            9.7.9.13, 5.1.6)",
    note = "call `.finish(&mut set)` on the giving end of `{Tag}`, and pass what it returns: one proof for each field that needs one, in the \
            order of the fields"
)]
#[doc(hidden)]
pub trait RelayFinished<Tag>: missing::Sealed<Tag> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Finished<'k, PassedOf<Tag>>> for Nothing where
    Nothing: RelayFinished<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of a takeover that is not closed.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit while an answer to the takeover `{Tag}` may be written: the proof that the last has landed is missing",
    label = "no proof for the field `{Tag}`",
    note = "rules B9 and F8: a CTA exits when the last answer has landed, which is the one that says that no cluster is left (PTX ISA, \
            clusterlaunchcontrol.try_cancel)",
    note = "end the role that asks with `asker.ask_until_refused(&mut t)`, or with `finish(&mut t)` behind the refusal, and pass what \
            `cta.roles(…)` returns of that role: one proof for each field that needs one, in the order of the fields"
)]
#[doc(hidden)]
pub trait TakeoverRefused<Tag>: missing::Sealed<Tag> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Finished<'k, RequestsOf<Tag>>> for Nothing where
    Nothing: TakeoverRefused<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of tensor memory that is not deallocated.
#[diagnostic::on_unimplemented(
    message = "the CTA would exit with the tensor memory of `{Tag}` allocated: the proof that it was given back is missing",
    label = "no proof for the field `{Tag}`",
    note = "rule D8: what `tcgen05.alloc` allocated is deallocated before the kernel exits (PTX ISA 9.7.16.7.1)",
    note = "call `.dealloc(&mut joined, issued, drained)` on the tensor memory of `{Tag}` with the proofs of its two ends, or \
            `.dealloc(&mut joined)` on what was never split, and pass what it returns: one proof for each field that needs one, in the \
            order of the fields"
)]
#[doc(hidden)]
pub trait TensorMemoryFreed<Tag>: missing::Sealed<Tag> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Deallocated<'k, Tag>> for Nothing where
    Nothing: TensorMemoryFreed<Tag>
{
}

/// Nothing implements it: it is here for what the compiler says of a proof that no field is left for.
#[diagnostic::on_unimplemented(
    message = "no field of this layout is left for `{Self}` to close: one proof too many",
    label = "one proof too many",
    note = "rules B9 and D8: a CTA exits with one proof for each field that bulk copies, matrix instructions or peers use (PTX ISA \
            9.7.9.25.2, 9.7.16.7.1)",
    note = "leave it out: rings and regions of threads need no proof, and the ends of tensor memory give theirs to `dealloc`"
)]
#[doc(hidden)]
pub trait FieldIsLeft: missing::Sealed<Self> {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Nothing> for Finished<'k, Tag> where Finished<'k, Tag>: FieldIsLeft {}
// SAFETY: as above.
unsafe impl<'k, Tag> StandsFor<Nothing> for Deallocated<'k, Tag> where
    Deallocated<'k, Tag>: FieldIsLeft
{
}
