//! What values become when they are stored as elements of another type: two at a time, as the hardware converts them.
//!
//! A sum in f32 that goes to a tile of bf16 is rounded with its neighbour, by one `cvt.rn.bf16x2.f32` (`F2FP` in machine code). One by one it
//! takes two conversions, and a third instruction to put both into one register.
//!
//! ISA: *cvt*.

use crate::float::{bf16, bf16x2, f16, f16x2};
use crate::tile::Element;

mod sealed {
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not stored as values of type `{V}` are rounded: the library knows no such conversion",
        label = "no conversion of the hardware",
        note = "rule D14: what `cvt` makes of a value is what the ISA says, and the library alone says that it does (PTX ISA 9.7.9.21)",
        note = "convert the values first: pass a closure to `put_with` or `put_product`"
    )]
    pub trait Sealed<V> {}
}

/// Element types that values of type `V` are stored as.
///
/// Each element type takes its own values, and [`bf16`] and [`f16`](struct@f16) also take f32, rounded to nearest, ties to even.
///
/// ```
/// use baton::float::bf16;
/// use baton::rounding::RoundsFrom;
///
/// // Eight bits of significand: 1 + 2⁻⁸ is half-way, and goes to the even one.
/// assert_eq!(bf16::round([1.0, 1.00390625]).map(bf16::to_f32), [1.0, 1.0]);
/// assert_eq!(u32::round([1, 2]), [1, 2]);
/// ```
#[diagnostic::on_unimplemented(
    message = "values of type `{V}` are not stored as elements of type `{Self}`",
    label = "cannot be rounded to `{Self}`",
    note = "rule D14: a tile of bf16 or f16 takes values of f32, two by one `cvt.rn` (PTX ISA 9.7.9.21), and every tile takes values of its own \
            element type",
    note = "convert the values first, or give the buffer another element type"
)]
pub trait RoundsFrom<V>: Element + sealed::Sealed<V> {
    /// Two neighbouring elements.
    fn round(values: [V; 2]) -> [Self; 2];
}

impl<E: Element> sealed::Sealed<E> for E {}
#[diagnostic::do_not_recommend]
impl<E: Element> RoundsFrom<E> for E {
    #[inline(always)]
    fn round(values: [E; 2]) -> [E; 2] {
        values
    }
}

macro_rules! halves {
    ($($half:ident $pair:ident)*) => {$(
        impl sealed::Sealed<f32> for $half {}
        #[diagnostic::do_not_recommend]
        impl RoundsFrom<f32> for $half {
            #[inline(always)]
            fn round([low, high]: [f32; 2]) -> [$half; 2] {
                let pair = $pair::from_f32(low, high);
                [pair.low(), pair.high()]
            }
        }
    )*};
}
halves! { bf16 bf16x2 f16 f16x2 }
