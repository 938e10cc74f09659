//! What [`shared!`](crate::shared) expands to.
//!
//! All that is computed of the fields is computed of one list of types, in one `impl` that stands where the author wrote them: the
//! places in memory, the parts, the bytes of the launch and those of the kernel's metadata. The module of the tags names
//! none of the author's types, because in another module the same words may mean another type: its `Parts` asks
//! [`PartOf`] for them, which is implemented where they stand.

use super::{Base, column_of, offset_of};

/// The tag of one field of a layout.
///
/// # Safety
/// The type is its own: no other has the same values, by subtyping neither.
pub unsafe trait Tag {
    /// The field's place in the declaration, so that two fields of one layout have different tags.
    const INDEX: usize;
}

/// A layout whose fields lie behind each other.
pub trait Placed {
    /// Bytes and alignment of each.
    const FIELDS: &'static [(u32, u32)];
    /// Columns of tensor memory of each.
    const COLUMNS: &'static [u32];
}

/// Where the field `INDEX` of the layout at `base` lies.
#[inline(always)]
pub fn place<L: Placed, const INDEX: usize>(base: Base) -> Base {
    base.offset(const { offset_of(L::FIELDS, INDEX) })
}

/// Where the tensor memory of the field `INDEX` of the layout begins, whose memory begins at `tensor`.
#[inline(always)]
pub fn columns<L: Placed, const INDEX: usize>(tensor: u32) -> u32 {
    tensor + const { column_of(L::COLUMNS, INDEX) }
}

/// The type of the part whose tag is `Tag`, for the module in which `Self` is.
pub trait PartOf<'k, Tag> {
    /// That type.
    type Part;
}

/// A layout, its tags and its parts: what `shared!` writes when it has looked at the names. Each field comes with the
/// parameters of the layout, because a macro cannot repeat one list inside another.
///
/// Sound whatever it is given: what stands beside `unsafe` is names, types and bounds, never tokens as they come, and the
/// tags are types that are made here, without attributes that could take them away.
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_layout {
    (
        $(#[$attribute:meta])*
        $visibility:vis $name:ident
        { [$($t:ident)*] [$($n:ident: $n_type:ident)*] [$($bounded:ty: [$($bound:path),*] [$($outlived:lifetime)*])*] }
        $(#[doc = $module_doc:literal])* $module:ident
        $(
            $index:tt $field:ident: $ty:ty, $tag_doc:literal [$($field_attribute:meta),*]
            { [$($ft:ident)*] [$($fn:ident: $fn_type:ident)*]
              [$($field_bounded:ty: [$($field_bound:path),*] [$($field_outlived:lifetime)*])*] };
        )*
    ) => {
        $(#[$attribute])*
        $visibility struct $name<$($t,)* $(const $n: $crate::macro_support::core::primitive::$n_type,)*>(
            $crate::macro_support::core::marker::PhantomData<fn() -> ($($t,)*)>
        )
        where
            $($bounded: $($bound +)* $($outlived +)*,)*;

        $(#[doc = $module_doc])*
        #[allow(non_camel_case_types)]
        $visibility mod $module {
            $(
                #[doc = $tag_doc]
                pub enum $field {}
                // SAFETY: an enum of this module, without parameters: no other field has it (I8).
                unsafe impl $crate::layout::Tag for $field {
                    const INDEX: $crate::macro_support::core::primitive::usize = $index;
                }
            )*

            /// The parts of the layout, under the names of its fields: what `cta.claim()` returns.
            pub struct Parts<'k, $($t,)* $(const $n: $crate::macro_support::core::primitive::$n_type,)*>
            where
                $(__Types<$($ft,)* $($fn,)*>: $crate::layout::PartOf<'k, $field>,)*
            {
                $(
                    $(#[$field_attribute])*
                    pub $field: <__Types<$($ft,)* $($fn,)*> as $crate::layout::PartOf<'k, $field>>::Part,
                )*
            }

            /// Knows the types of the parts.
            #[doc(hidden)]
            pub struct __Types<$($t,)* $(const $n: $crate::macro_support::core::primitive::$n_type,)*>(
                $crate::macro_support::core::marker::PhantomData<fn() -> ($($t,)*)>
            );
        }

        $(
            impl<'k, $($ft,)* $(const $fn: $crate::macro_support::core::primitive::$fn_type,)*>
                $crate::layout::PartOf<'k, $module::$field> for $module::__Types<$($ft,)* $($fn,)*>
            where
                $($field_bounded: $($field_bound +)* $($field_outlived +)*,)*
            {
                type Part = <$ty as $crate::layout::Field>::Part<'k, $module::$field>;
            }
        )*

        impl<$($t,)* $(const $n: $crate::macro_support::core::primitive::$n_type,)*> $crate::layout::Placed for $name<$($t,)* $($n,)*>
        where
            $($bounded: $($bound +)* $($outlived +)*,)*
        {
            const FIELDS: &'static [($crate::macro_support::core::primitive::u32, $crate::macro_support::core::primitive::u32)] =
                &[$((<$ty as $crate::layout::Field>::BYTES, <$ty as $crate::layout::Field>::ALIGN)),*];
            const COLUMNS: &'static [$crate::macro_support::core::primitive::u32] = &[$(<$ty as $crate::layout::Field>::COLUMNS),*];
        }

        // SAFETY: `offset_of` and `column_of` place the fields behind each other (I7), each is initialised and handed out once, in its own place, and
        // no two of them have one tag (I8). Peers have the same layout, and so agree on what its types say (I23).
        unsafe impl<$($t,)* $(const $n: $crate::macro_support::core::primitive::$n_type,)*> $crate::layout::Layout for $name<$($t,)* $($n,)*>
        where
            $($bounded: $($bound +)* $($outlived +)*,)*
        {
            const BYTES: $crate::macro_support::core::primitive::u32 = {
                $crate::macro_support::in_order([$($index),*]);
                $crate::macro_support::in_order([$(<$module::$field as $crate::layout::Tag>::INDEX),*]);
                let fields = <Self as $crate::layout::Placed>::FIELDS;
                $crate::layout::offset_of(fields, fields.len())
            };
            const COLUMNS: $crate::macro_support::core::primitive::u32 = $crate::layout::columns_of_all(
                &[$((<$ty as $crate::layout::Field>::COLUMNS, <$ty as $crate::layout::Field>::PAIR)),*],
                <Self as $crate::layout::Placed>::COLUMNS,
            );
            const PAIR: $crate::macro_support::core::primitive::bool = false $(|| <$ty as $crate::layout::Field>::PAIR)*;
            const CLUSTER: $crate::macro_support::core::primitive::u32 = $crate::layout::cluster_of(
                &[$((<$ty as $crate::layout::Field>::CLUSTER, <$ty as $crate::layout::Field>::ARRIVES_ON_CLUSTER)),*],
            );
            const ARRIVES_ON_CLUSTER: $crate::macro_support::core::primitive::bool = false $(|| <$ty as $crate::layout::Field>::ARRIVES_ON_CLUSTER)*;
            const ASKS: $crate::macro_support::core::primitive::u32 = $crate::layout::one_field_that_asks(&[$(<$ty as $crate::layout::Field>::ASKS),*]);
            const REMOTE_BARRIERS: $crate::macro_support::core::primitive::bool = false $(|| <$ty as $crate::layout::Field>::REMOTE_BARRIERS)*;
            type Parts<'k> = $module::Parts<'k, $($t,)* $($n,)*>;
            type Closed<'k> = $crate::__baton_closed!('k $(($module::$field, $ty))*);
            #[inline(always)]
            unsafe fn init(base: $crate::layout::Base, threads: $crate::macro_support::core::primitive::u32) {
                $(
                    // SAFETY: the field's own place (I7); the caller promises the rest.
                    unsafe {
                        <$ty as $crate::layout::Field>::init($crate::layout::place::<Self, $index>(base), threads)
                    };
                )*
            }
            #[inline(always)]
            unsafe fn parts<'k>(base: $crate::layout::Base, tensor: $crate::macro_support::core::primitive::u32) -> Self::Parts<'k> {
                $module::Parts {
                    $(
                        // SAFETY: the field's own place (I7); the caller promises the rest.
                        $field: unsafe {
                            <$ty as $crate::layout::Field>::part(
                                $crate::layout::place::<Self, $index>(base),
                                $crate::layout::columns::<Self, $index>(tensor),
                            )
                        },
                    )*
                }
            }
        }
    };
}

/// The proofs that the fields are no longer used, those that are not `()`.
#[doc(hidden)]
#[macro_export]
macro_rules! __baton_closed {
    ($k:lifetime) => { () };
    ($k:lifetime ($tag:path, $ty:ty) $($rest:tt)*) => {
        <<$ty as $crate::layout::Field>::Closed<$k, $tag> as $crate::layout::Proof>::Before<
            $crate::__baton_closed!($k $($rest)*)
        >
    };
}
