//! The accumulators: for each type and width of D one array, and the instruction whose text names all its registers.

#[cfg(target_arch = "nvptx64")]
use super::PairName;
use super::{Accumulator, Negatable, Pair, pair, sealed};
use crate::float::f16x2;

/// The accumulators of one type. `$family` chooses among the pairs that they accumulate.
macro_rules! accumulators {
    (($element:ident $family:ident $bounds:ident) $n:literal $len:literal [$($r:ident)*]) => {
        impl sealed::Array for [$element; $len] {}
        impl<P: $bounds> Accumulator<P> for [$element; $len] {
            const N: u32 = $n;

            #[inline(always)]
            unsafe fn shared<const NA: u32, const NB: u32, const TA: u32, const TB: u32>(self, a: u64, b: u64, accumulate: bool) -> Self {
                device! {
                    crate::ptx::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    macro_rules! emit {
                        ($k:literal $types:literal $end:literal) => {
                            asm!(
                                "{{",
                                ".reg .pred accumulate;",
                                "setp.ne.b32 accumulate, {accumulate}, 0;",
                                "//@baton collective wgmma.mma_async",
                                concat!(
                                    "wgmma.mma_async.sync.aligned.m64n", $n, $k, $types, " {{",
                                    comma!($($r)*), "}}, {a}, {b}, accumulate", $end, ";"
                                ),
                                "}}",
                                // The constants are there for the pairs that have them.
                                "// {na} {nb} {ta} {tb} {ea} {ma} {eb} {mb}",
                                accumulate = in(reg32) accumulate as u32, a = in(reg64) a, b = in(reg64) b,
                                na = const 1 - 2 * (NA as i32), nb = const 1 - 2 * (NB as i32), ta = const TA, tb = const TB,
                                ea = const P::NAME.exponents()[0], ma = const 7 - P::NAME.exponents()[0],
                                eb = const P::NAME.exponents()[1], mb = const 7 - P::NAME.exponents()[1],
                                $($r = inout(reg32) $r,)*
                                options(nostack)
                            )
                        };
                    }
                    $family!(emit P ", {na}, {nb}, {ta}, {tb}");
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn registers<const NA: u32, const NB: u32, const TB: u32>(self, a: [u32; 4], b: u64, accumulate: bool) -> Self {
                device! {
                    crate::ptx::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    macro_rules! emit {
                        ($k:literal $types:literal $end:literal) => {
                            asm!(
                                "{{",
                                ".reg .pred accumulate;",
                                "setp.ne.b32 accumulate, {accumulate}, 0;",
                                "//@baton collective wgmma.mma_async",
                                concat!(
                                    "wgmma.mma_async.sync.aligned.m64n", $n, $k, $types, " {{",
                                    comma!($($r)*), "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, accumulate", $end, ";"
                                ),
                                "}}",
                                "// {na} {nb} {tb} {ea} {ma} {eb} {mb}",
                                accumulate = in(reg32) accumulate as u32, b = in(reg64) b,
                                na = const 1 - 2 * (NA as i32), nb = const 1 - 2 * (NB as i32), tb = const TB,
                                ea = const P::NAME.exponents()[0], ma = const 7 - P::NAME.exponents()[0],
                                eb = const P::NAME.exponents()[1], mb = const 7 - P::NAME.exponents()[1],
                                a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                                $($r = inout(reg32) $r,)*
                                options(nostack)
                            )
                        };
                    }
                    $family!(emit P ", {na}, {nb}, {tb}");
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn fence(self) -> Self {
                device! {
                    crate::ptx::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    asm!(
                        "//@baton collective wgmma.fence",
                        "wgmma.fence.sync.aligned;",
                        concat!("//@baton handed" $(, " {", stringify!($r), "}")*),
                        $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$($element::from_register($r)),*]
                }
            }

            #[inline(always)]
            unsafe fn wait<const PENDING: u32>(self) -> Self {
                device! {
                    crate::ptx::anchor();
                    let [$($r),*] = self;
                    $(let mut $r = $element::into_register($r);)*
                    asm!(
                        "//@baton collective wgmma.wait_group",
                        "wgmma.wait_group.sync.aligned {pending};",
                        concat!("//@baton settled {pending}" $(, " {", stringify!($r), "}")*),
                        pending = const PENDING,
                        $($r = inout(reg32) $r,)*
                        options(nostack)
                    );
                    [$($element::from_register($r)),*]
                }
            }
        }
    };
}

/// `r0 r1 …` as the template of an operand list.
#[cfg(target_arch = "nvptx64")]
macro_rules! comma {
    ($first:ident $($r:ident)*) => { concat!("{", stringify!($first), "}" $(, ", {", stringify!($r), "}")*) };
}

/// The names as integers: rustc leaves out the arms of such a `match` that an instance does not take before
/// it generates code.
#[cfg(target_arch = "nvptx64")]
mod code {
    use super::PairName;
    pub const F16: u8 = PairName::F16 as u8;
    pub const BF16: u8 = PairName::Bf16 as u8;
    pub const TF32: u8 = PairName::Tf32 as u8;
    pub const E4M3E4M3: u8 = PairName::E4m3E4m3 as u8;
    pub const E4M3E5M2: u8 = PairName::E4m3E5m2 as u8;
    pub const E5M2E4M3: u8 = PairName::E5m2E4m3 as u8;
    pub const E5M2E5M2: u8 = PairName::E5m2E5m2 as u8;
    pub const S8S8: u8 = PairName::S8S8 as u8;
    pub const S8U8: u8 = PairName::S8U8 as u8;
    pub const U8S8: u8 = PairName::U8S8 as u8;
    pub const U8U8: u8 = PairName::U8U8 as u8;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! into_f32 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::F16 => $emit!("k16" ".f32.f16.f16" $t),
            code::BF16 => $emit!("k16" ".f32.bf16.bf16" $t),
            code::TF32 => $emit!("k8" ".f32.tf32.tf32" ", {na}, {nb}"),
            code::E4M3E4M3 | code::E4M3E5M2 | code::E5M2E4M3 | code::E5M2E5M2 => {
                $emit!("k32" ".f32.e{ea}m{ma}.e{eb}m{mb}" ", {na}, {nb}")
            }
            // No integers implement `IntoF32`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}
#[cfg(target_arch = "nvptx64")]
macro_rules! into_f16 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::F16 => $emit!("k16" ".f16.f16.f16" $t),
            code::E4M3E4M3 | code::E4M3E5M2 | code::E5M2E4M3 | code::E5M2E5M2 => {
                $emit!("k32" ".f16.e{ea}m{ma}.e{eb}m{mb}" ", {na}, {nb}")
            }
            // No others implement `IntoF16`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}
#[cfg(target_arch = "nvptx64")]
macro_rules! into_s32 {
    ($emit:ident $P:ident $t:literal) => {
        match const { $P::NAME as u8 } {
            code::S8S8 => $emit!("k32" ".s32.s8.s8" ""),
            code::S8U8 => $emit!("k32" ".s32.s8.u8" ""),
            code::U8S8 => $emit!("k32" ".s32.u8.s8" ""),
            code::U8U8 => $emit!("k32" ".s32.u8.u8" ""),
            // No floats implement `IntoS32`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// A pair that f32 accumulates.
#[diagnostic::on_unimplemented(
    message = "`wgmma` does not sum products of `{Self}` in f32",
    label = "the registers of another type",
    note = "rule D14: products of integers are summed in s32 (PTX ISA 9.7.15.2)",
    note = "give the product registers of s32: `Product::<[i32; N / 2], _>`"
)]
#[doc(hidden)]
pub trait IntoF32: Pair {}
/// A pair that f16 accumulates.
#[diagnostic::on_unimplemented(
    message = "`wgmma` does not sum products of `{Self}` in f16",
    label = "the registers of another type",
    note = "rule D14: f16 takes the products of f16 and of floats of 8 bits (PTX ISA 9.7.15.2)",
    note = "give the product registers of f32, `Product::<[f32; N / 2], _>`, or of s32 for integers"
)]
#[doc(hidden)]
pub trait IntoF16: Pair {}
/// A pair that s32 accumulates.
#[diagnostic::on_unimplemented(
    message = "`wgmma` does not sum products of `{Self}` in s32",
    label = "the registers of another type",
    note = "rule D14: s32 takes the products of integers of 8 bits (PTX ISA 9.7.15.2)",
    note = "give the product registers of f32: `Product::<[f32; N / 2], _>`"
)]
#[doc(hidden)]
pub trait IntoS32: Pair {}

macro_rules! families {
    ($($family:ident: $($pair:ident)*;)*) => { $($(impl $family for pair::$pair {})*)* };
}
families! {
    Negatable: F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoF32: F16 Bf16 Tf32 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoF16: F16 E4m3E4m3 E4m3E5m2 E5m2E4m3 E5m2E5m2;
    IntoS32: S8S8 S8U8 U8S8 U8U8;
}

/// An element of an accumulator and the register that it is in.
trait Register: Copy {
    fn into_register(self) -> u32;
    fn from_register(bits: u32) -> Self;
}
impl Register for f32 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_register(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
}
impl Register for f16x2 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_register(bits: u32) -> f16x2 {
        f16x2::from_bits(bits)
    }
}
impl Register for i32 {
    #[inline(always)]
    fn into_register(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn from_register(bits: u32) -> i32 {
        bits as i32
    }
}

/// Implements [`Accumulator`] for each width: `N length + registers` adds registers to those of the
/// widths before. Those marked `rare` cost most and are used least, so the device has them with `every-form` only.
macro_rules! widths {
    ($kind:tt [$($r:ident)*]) => {};
    ($kind:tt [$($r:ident)*] rare $n:literal $len:literal + $($new:ident)*; $($rest:tt)*) => {
        #[cfg(any(feature = "every-form", not(target_arch = "nvptx64")))]
        const _: () = {
            accumulators!($kind $n $len [$($r)* $($new)*]);
        };
        widths!($kind [$($r)* $($new)*] $($rest)*);
    };
    ($kind:tt [$($r:ident)*] $n:literal $len:literal + $($new:ident)*; $($rest:tt)*) => {
        accumulators!($kind $n $len [$($r)* $($new)*]);
        widths!($kind [$($r)* $($new)*] $($rest)*);
    };
}

widths! {
    (f32 into_f32 IntoF32) []
    8 4 + r0 r1 r2 r3;
    16 8 + r4 r5 r6 r7;
    24 12 + r8 r9 r10 r11;
    32 16 + r12 r13 r14 r15;
    40 20 + r16 r17 r18 r19;
    48 24 + r20 r21 r22 r23;
    56 28 + r24 r25 r26 r27;
    64 32 + r28 r29 r30 r31;
    72 36 + r32 r33 r34 r35;
    80 40 + r36 r37 r38 r39;
    88 44 + r40 r41 r42 r43;
    96 48 + r44 r45 r46 r47;
    104 52 + r48 r49 r50 r51;
    112 56 + r52 r53 r54 r55;
    120 60 + r56 r57 r58 r59;
    128 64 + r60 r61 r62 r63;
    rare 136 68 + r64 r65 r66 r67;
    144 72 + r68 r69 r70 r71;
    rare 152 76 + r72 r73 r74 r75;
    160 80 + r76 r77 r78 r79;
    rare 168 84 + r80 r81 r82 r83;
    176 88 + r84 r85 r86 r87;
    rare 184 92 + r88 r89 r90 r91;
    192 96 + r92 r93 r94 r95;
    rare 200 100 + r96 r97 r98 r99;
    208 104 + r100 r101 r102 r103;
    rare 216 108 + r104 r105 r106 r107;
    224 112 + r108 r109 r110 r111;
    rare 232 116 + r112 r113 r114 r115;
    240 120 + r116 r117 r118 r119;
    rare 248 124 + r120 r121 r122 r123;
    256 128 + r124 r125 r126 r127;
}

widths! {
    (f16x2 into_f16 IntoF16) []
    8 2 + r0 r1;
    16 4 + r2 r3;
    24 6 + r4 r5;
    32 8 + r6 r7;
    40 10 + r8 r9;
    48 12 + r10 r11;
    56 14 + r12 r13;
    64 16 + r14 r15;
    72 18 + r16 r17;
    80 20 + r18 r19;
    88 22 + r20 r21;
    96 24 + r22 r23;
    104 26 + r24 r25;
    112 28 + r26 r27;
    120 30 + r28 r29;
    128 32 + r30 r31;
    rare 136 34 + r32 r33;
    144 36 + r34 r35;
    rare 152 38 + r36 r37;
    160 40 + r38 r39;
    rare 168 42 + r40 r41;
    176 44 + r42 r43;
    rare 184 46 + r44 r45;
    192 48 + r46 r47;
    rare 200 50 + r48 r49;
    208 52 + r50 r51;
    rare 216 54 + r52 r53;
    224 56 + r54 r55;
    rare 232 58 + r56 r57;
    240 60 + r58 r59;
    rare 248 62 + r60 r61;
    256 64 + r62 r63;
}

widths! {
    (i32 into_s32 IntoS32) []
    8 4 + r0 r1 r2 r3;
    16 8 + r4 r5 r6 r7;
    24 12 + r8 r9 r10 r11;
    32 16 + r12 r13 r14 r15;
    48 24 + r16 r17 r18 r19 r20 r21 r22 r23;
    64 32 + r24 r25 r26 r27 r28 r29 r30 r31;
    80 40 + r32 r33 r34 r35 r36 r37 r38 r39;
    96 48 + r40 r41 r42 r43 r44 r45 r46 r47;
    112 56 + r48 r49 r50 r51 r52 r53 r54 r55;
    128 64 + r56 r57 r58 r59 r60 r61 r62 r63;
    144 72 + r64 r65 r66 r67 r68 r69 r70 r71;
    160 80 + r72 r73 r74 r75 r76 r77 r78 r79;
    176 88 + r80 r81 r82 r83 r84 r85 r86 r87;
    192 96 + r88 r89 r90 r91 r92 r93 r94 r95;
    208 104 + r96 r97 r98 r99 r100 r101 r102 r103;
    224 112 + r104 r105 r106 r107 r108 r109 r110 r111;
    240 120 + r112 r113 r114 r115 r116 r117 r118 r119;
    256 128 + r120 r121 r122 r123 r124 r125 r126 r127;
}
