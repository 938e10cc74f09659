//! What [`shared!`](crate::shared) expands to.
//!
//! All that a layout needs is computed from one tuple of (tag, field), which the macro writes where the author wrote
//! the fields: the places in memory, the parts, the bytes of the launch and those of the kernel's metadata. The module
//! of the tags names no type of the author's, because in another module the same words may mean another type.

use super::{Base, Field, Proof, offset_of};
use crate::require;

/// What one field needs of the CTA and of the launch.
#[derive(Clone, Copy)]
pub struct Needs {
    pub(super) bytes: u32,
    pub(super) align: u32,
    pub(super) columns: u32,
    pub(super) pair: bool,
    pub(super) cluster: u32,
    pub(super) arrives_on_cluster: bool,
    pub(super) asks: u32,
    remote_barriers: bool,
}

impl Needs {
    const fn of<F: Field>() -> Self {
        Needs {
            bytes: F::BYTES,
            align: F::ALIGN,
            columns: F::COLUMNS,
            pair: F::PAIR,
            cluster: F::CLUSTER,
            arrives_on_cluster: F::ARRIVES_ON_CLUSTER,
            asks: F::ASKS,
            remote_barriers: F::REMOTE_BARRIERS,
        }
    }

    /// A field that is nothing but memory.
    #[cfg(test)]
    pub(super) const fn memory(bytes: u32, align: u32) -> Self {
        Needs {
            bytes,
            align,
            columns: 0,
            pair: false,
            cluster: 0,
            arrives_on_cluster: false,
            asks: 0,
            remote_barriers: false,
        }
    }
}

/// A layout that `shared!` declares.
pub trait Declared {
    /// Its fields.
    type Fields: Fields;
}

/// The fields of the layout `L`.
pub type FieldsOf<L> = <L as Declared>::Fields;

/// What each field of the layout `L` needs.
pub const fn needs<L: Declared>() -> &'static [Needs] {
    <L::Fields as Fields>::NEEDS
}

/// Bytes of all of them.
pub const fn bytes_of(needs: &[Needs]) -> u32 {
    offset_of(needs, needs.len())
}

/// The tag of one field of a layout.
///
/// # Safety
/// The type is its own: no other has the same values, by subtyping neither.
pub unsafe trait Tag {
    /// The field's place in the declaration, so that two fields of one layout have different tags.
    const INDEX: usize;
}

/// The fields of a layout: a tuple of (tag, field), in the order of the declaration.
///
/// # Safety
/// `init` and `parts` call each field's once, with its own place in [`NEEDS`](Self::NEEDS) and its own tag, which no other
/// field has.
pub unsafe trait Fields {
    /// What each needs.
    const NEEDS: &'static [Needs];
    /// Whether the tensor memory is that of a pair of CTAs.
    const PAIR: bool;
    /// Whether a field arrives on the cluster's barrier.
    const ARRIVES_ON_CLUSTER: bool;
    /// Whether a field has mbarriers that the async proxy or another CTA reaches.
    const REMOTE_BARRIERS: bool;
    /// The part of each.
    type Parts<'k>;
    /// The proofs that they are no longer used, without those that are `()`.
    type Closed<'k>;
    /// # Safety
    /// As [`Field::init`], of the whole.
    unsafe fn init(base: Base, threads: u32);
    /// # Safety
    /// As [`Field::part`], of the whole.
    unsafe fn parts<'k>(base: Base, tensor: u32) -> Self::Parts<'k>;
}

/// Whether one of the fields has the property.
macro_rules! any {
    ($needs:expr, $property:ident) => {{
        let (mut found, mut i) = (false, 0);
        while i < $needs.len() {
            found |= $needs[i].$property;
            i += 1;
        }
        found
    }};
}

/// The proofs of the fields, from the last to the first.
macro_rules! closed {
    ($k:lifetime) => { () };
    ($k:lifetime ($tag:ident $field:ident) $($rest:tt)*) => {
        <<$field as Field>::Closed<$k, $tag> as Proof>::Before<closed!($k $($rest)*)>
    };
}

macro_rules! fields {
    ($(($($index:literal $tag:ident $field:ident),*))*) => {$(
        // SAFETY: `offset_of` places the fields behind each other, each is asked for its part once, and tags of different
        // indices are different; without `NEEDS` there is no place.
        unsafe impl<$($tag: Tag, $field: Field),*> Fields for ($(($tag, $field),)*) {
            const NEEDS: &'static [Needs] = {
                $(require($tag::INDEX == $index, "each field has the tag that stands in its place");)*
                &[$(Needs::of::<$field>()),*]
            };
            const PAIR: bool = any!(Self::NEEDS, pair);
            const ARRIVES_ON_CLUSTER: bool = any!(Self::NEEDS, arrives_on_cluster);
            const REMOTE_BARRIERS: bool = any!(Self::NEEDS, remote_barriers);
            type Parts<'k> = ($($field::Part<'k, $tag>,)*);
            type Closed<'k> = closed!('k $(($tag $field))*);
            #[inline(always)]
            unsafe fn init(base: Base, threads: u32) {
                let _ = (base, threads);
                $(
                    // SAFETY: the field's own place; the caller promises the rest.
                    unsafe { $field::init(base.offset(const { offset_of(Self::NEEDS, $index) }), threads) };
                )*
            }
            #[inline(always)]
            unsafe fn parts<'k>(base: Base, tensor: u32) -> Self::Parts<'k> {
                let _ = (base, tensor);
                ($(
                    // SAFETY: the field's own place; the caller promises the rest.
                    unsafe { $field::part(base.offset(const { offset_of(Self::NEEDS, $index) }), tensor) },
                )*)
            }
        }
    )*};
}
fields! {
    ()
    (0 T0 F0)
    (0 T0 F0, 1 T1 F1)
    (0 T0 F0, 1 T1 F1, 2 T2 F2)
    (0 T0 F0, 1 T1 F1, 2 T2 F2, 3 T3 F3)
    (0 T0 F0, 1 T1 F1, 2 T2 F2, 3 T3 F3, 4 T4 F4)
    (0 T0 F0, 1 T1 F1, 2 T2 F2, 3 T3 F3, 4 T4 F4, 5 T5 F5)
    (0 T0 F0, 1 T1 F1, 2 T2 F2, 3 T3 F3, 4 T4 F4, 5 T5 F5, 6 T6 F6)
    (0 T0 F0, 1 T1 F1, 2 T2 F2, 3 T3 F3, 4 T4 F4, 5 T5 F5, 6 T6 F6, 7 T7 F7)
}

/// A layout, its tags and its parts: what `shared!` writes when it has looked at the names.
///
/// Sound whatever it is given: what stands beside `unsafe` is names, types and bounds, never tokens as they come, and the
/// tags are types that are made here, without attributes that could take them away.
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_layout {
    (
        $(#[$attribute:meta])*
        $visibility:vis $name:ident
        [$($parameter:ident)*] [$($constant:ident: $constant_type:ty,)*]
        [$($bounded:ty: [$($bound:path),*] [$($outlived:lifetime)*],)*]
        $(#[doc = $module_doc:literal])* $module:ident
        $($index:tt $field:ident: $ty:ty, $tag_doc:literal [$($field_attribute:meta),*];)*
    ) => {
        $(#[$attribute])*
        $visibility struct $name<$($parameter,)* $(const $constant: $constant_type,)*>(
            $crate::macro_support::core::marker::PhantomData<fn() -> ($($parameter,)*)>
        )
        where
            $($bounded: $($bound +)* $($outlived +)*,)*;

        $(#[doc = $module_doc])*
        #[allow(non_camel_case_types)]
        $visibility mod $module {
            $(
                #[doc = $tag_doc]
                pub enum $field {}
                // SAFETY: an enum of this module, without parameters.
                unsafe impl $crate::layout::Tag for $field {
                    const INDEX: $crate::macro_support::core::primitive::usize = $index;
                }
            )*
            /// The parts of the layout, under the names of its fields: what `cta.claim()` returns.
            pub struct Parts<$($field),*> {
                $(
                    $(#[$field_attribute])*
                    pub $field: $field,
                )*
            }
        }

        impl<$($parameter,)* $(const $constant: $constant_type,)*> $crate::layout::Declared
            for $name<$($parameter,)* $($constant,)*>
        where
            $($bounded: $($bound +)* $($outlived +)*,)*
        {
            type Fields = ($(($module::$field, $ty),)*);
        }

        // SAFETY: all is computed from one tuple of fields, each of which has its own tag.
        unsafe impl<$($parameter,)* $(const $constant: $constant_type,)*> $crate::layout::Layout
            for $name<$($parameter,)* $($constant,)*>
        where
            $($bounded: $($bound +)* $($outlived +)*,)*
        {
            const BYTES: $crate::macro_support::core::primitive::u32 =
                $crate::layout::bytes_of($crate::layout::needs::<Self>());
            const COLUMNS: $crate::macro_support::core::primitive::u32 =
                $crate::layout::one_field_of_tensor_memory($crate::layout::needs::<Self>());
            const PAIR: $crate::macro_support::core::primitive::bool =
                <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::PAIR;
            const CLUSTER: $crate::macro_support::core::primitive::u32 =
                $crate::layout::cluster_of($crate::layout::needs::<Self>());
            const ARRIVES_ON_CLUSTER: $crate::macro_support::core::primitive::bool =
                <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::ARRIVES_ON_CLUSTER;
            const ASKS: $crate::macro_support::core::primitive::u32 =
                $crate::layout::one_field_that_asks($crate::layout::needs::<Self>());
            const REMOTE_BARRIERS: $crate::macro_support::core::primitive::bool =
                <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::REMOTE_BARRIERS;
            type Parts<'k> = $module::Parts<
                $(<$ty as $crate::layout::Field>::Part<'k, $module::$field>),*
            >;
            type Closed<'k> = <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::Closed<'k>;
            #[inline(always)]
            unsafe fn init(base: $crate::layout::Base, threads: $crate::macro_support::core::primitive::u32) {
                // SAFETY: the caller's promises.
                unsafe { <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::init(base, threads) }
            }
            #[inline(always)]
            unsafe fn parts<'k>(
                base: $crate::layout::Base,
                tensor: $crate::macro_support::core::primitive::u32,
            ) -> Self::Parts<'k> {
                #[allow(unused_variables)]
                // SAFETY: the caller's promises.
                let parts = unsafe {
                    <$crate::layout::FieldsOf<Self> as $crate::layout::Fields>::parts(base, tensor)
                };
                $module::Parts { $($field: parts.$index),* }
            }
        }
    };
}
