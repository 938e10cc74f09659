//! Conversions to integers that round to nearest and saturate.
//!
//! `as` truncates and saturates (`cvt.rzi`), as Rust does everywhere.

mod sealed {
    pub trait Sealed {}
}

/// An integer to which [`cvt_rni_sat`] converts.
pub trait RoundTo: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn round(value: f32) -> Self;
}

macro_rules! integers {
    ($($ty:ident $class:ident $register:ident $text:literal;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl RoundTo for $ty {
            #[inline(always)]
            fn round(value: f32) -> Self {
                instruction!(
                    concat!("cvt.rni.sat.", $text, ".f32 {}, {};"),
                    (reg32 value) -> $class $register,
                    value.round_ties_even() as $ty as $register
                ) as $ty
            }
        }
    )*};
}
integers! {
    u8 reg16 u16 "u8";
    i8 reg16 i16 "s8";
    u16 reg16 u16 "u16";
    i16 reg16 i16 "s16";
    u32 reg32 u32 "u32";
    i32 reg32 i32 "s32";
    u64 reg64 u64 "u64";
    i64 reg64 i64 "s64";
}

/// The nearest integer, ties to even, within the type's range; NaN gives 0.
///
/// # PTX
/// `cvt.rni.sat.u8.f32` and the like, PTX 1.0, sm_20.
///
/// ```
/// use baton::math::cvt_rni_sat;
/// assert_eq!(cvt_rni_sat::<u8>(2.5), 2);
/// assert_eq!(cvt_rni_sat::<u8>(-3.0), 0);
/// assert_eq!(cvt_rni_sat::<i8>(300.0), 127);
/// ```
#[inline(always)]
pub fn cvt_rni_sat<T: RoundTo>(value: f32) -> T {
    T::round(value)
}
