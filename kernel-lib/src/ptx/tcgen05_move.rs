//! Moving data in and out of tensor memory by the other shapes, and within it.
//!
//! `cp` and `shift` are asynchronous operations of one thread that a `commit` completes, as an MMA is. The
//! loads and stores are those of [`tcgen05`](super::tcgen05) with other shapes: how many lanes, and how many
//! bits of each lane, one register of the warp covers.
//!
//! A shape is a type, the number of repetitions is the length of the array of registers, and half-width
//! numbers are moved by functions of their own (`_pack`, `_unpack`): a register is then two neighbouring
//! columns, of which it holds the lower halves.
//!
//! ISA: *tcgen05.cp*, *tcgen05.shift*, *tcgen05.ld*, *tcgen05.st*.

use super::addr::{Addr, Tmem};
use super::tcgen05::CtaGroup;

mod sealed {
    pub trait Sealed {}
}

macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident = $shape:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *tcgen05.cp*. Can break B1, D5, D6, D7, D10, D11, D14.
        ///
        /// # Safety
        /// 1. One thread executes it; with `Group2`, one thread of the pair.
        /// 2. The descriptor is legal, and what it names lies in live shared memory, last written through the
        ///    async proxy or fenced (`fence.proxy.async`), and not written until completion was observed.
        /// 3. The columns from `taddr` are allocated, and earlier accesses to them are ordered before this one.
        #[inline(always)]
        pub unsafe fn $name<G: CtaGroup>(taddr: Addr<Tmem>, desc: u64) {
            device! {
                macro_rules! emit {
                    ($group:literal) => {
                        asm!(
                            concat!("tcgen05.cp", $group, $shape, " [{}], {};"),
                            in(reg32) taddr.raw(), in(reg64) desc, options(nostack)
                        )
                    };
                }
                select!(emit [] cta_group G)
            }
        }
    )*};
}

copies! {
    /// `tcgen05.cp.cta_group::N.128x256b [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_128x256b = ".128x256b";
    /// `tcgen05.cp.cta_group::N.4x256b [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_4x256b = ".4x256b";
    /// `tcgen05.cp.cta_group::N.128x128b [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_128x128b = ".128x128b";
    /// `tcgen05.cp.cta_group::N.64x128b.warpx2::02_13 [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_64x128b_warpx2_02_13 = ".64x128b.warpx2::02_13";
    /// `tcgen05.cp.cta_group::N.64x128b.warpx2::01_23 [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_64x128b_warpx2_01_23 = ".64x128b.warpx2::01_23";
    /// `tcgen05.cp.cta_group::N.32x128b.warpx4 [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_32x128b_warpx4 = ".32x128b.warpx4";
}

/// What a decompressing copy spreads over the lanes: one of the shapes of the plain copies.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no shape of tcgen05.cp",
    label = "expected `Rows128x256`, `Rows4x256`, `Rows128x128`, `Rows64x128Pairs02`, `Rows64x128Pairs01` or `Rows32x128`"
)]
pub trait CopyShape: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const SHAPE: u8;
}

/// How sixteen numbers lie in the sixteen bytes that a decompressing copy makes sixteen bytes of.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source format of tcgen05.cp",
    label = "expected `B6x16P32` or `B4x16P64`"
)]
pub trait CopyFormat: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const FORMAT: u8;
}

macro_rules! choices {
    ($class:ident $item:ident: $($(#[$doc:meta])* $name:ident $number:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl $class for $name {
            const $item: u8 = $number;
        }
    )*};
}

choices! { CopyShape SHAPE:
    /// `.128x256b`
    Rows128x256 0;
    /// `.4x256b`
    Rows4x256 1;
    /// `.128x128b`
    Rows128x128 2;
    /// `.64x128b.warpx2::02_13`
    Rows64x128Pairs02 3;
    /// `.64x128b.warpx2::01_23`
    Rows64x128Pairs01 4;
    /// `.32x128b.warpx4`
    Rows32x128 5;
}

choices! { CopyFormat FORMAT:
    /// `.b6x16_p32`: 6 bits each, and 32 bits of padding.
    B6x16P32 0;
    /// `.b4x16_p64`: 4 bits each, and 64 bits of padding.
    B4x16P64 1;
}

/// `tcgen05.cp.cta_group::N.shape.b8x16.format [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
///
/// A copy that makes bytes of narrower numbers on the way.
///
/// ISA: *tcgen05.cp*. Can break B1, D5, D6, D7, D10, D11, D14.
///
/// # Safety
/// 1. As for [`cp_128x256b`].
#[inline(always)]
pub unsafe fn cp_decompress<G: CtaGroup, S: CopyShape, F: CopyFormat>(
    taddr: Addr<Tmem>,
    desc: u64,
) {
    device! {
        macro_rules! emit {
            ($group:literal) => {
                match const { S::SHAPE } {
                    0 => emit_shape!($group ".128x256b"),
                    1 => emit_shape!($group ".4x256b"),
                    2 => emit_shape!($group ".128x128b"),
                    3 => emit_shape!($group ".64x128b.warpx2::02_13"),
                    4 => emit_shape!($group ".64x128b.warpx2::01_23"),
                    5 => emit_shape!($group ".32x128b.warpx4"),
                    // `CopyShape` is sealed over these.
                    _ => core::hint::unreachable_unchecked(),
                }
            };
        }
        macro_rules! emit_shape {
            ($group:literal $shape:literal) => {
                match const { F::FORMAT } {
                    0 => emit_format!($group $shape ".b6x16_p32"),
                    1 => emit_format!($group $shape ".b4x16_p64"),
                    // `CopyFormat` is sealed over these.
                    _ => core::hint::unreachable_unchecked(),
                }
            };
        }
        macro_rules! emit_format {
            ($group:literal $shape:literal $format:literal) => {
                asm!(
                    concat!("tcgen05.cp", $group, $shape, ".b8x16", $format, " [{}], {};"),
                    in(reg32) taddr.raw(), in(reg64) desc, options(nostack)
                )
            };
        }
        select!(emit [] cta_group G)
    }
}

/// `tcgen05.shift.cta_group::N.down [taddr];` PTX 8.6, sm_100a, sm_103a, sm_110a.
///
/// Moves the rows of a matrix, all but the last, down by one lane.
///
/// ISA: *tcgen05.shift*. Can break D5, D7, D10, D11.
///
/// # Safety
/// 1. One thread executes it; with `Group2`, one thread of the pair.
/// 2. The lane of `taddr` is a multiple of 32; the columns are allocated, and earlier accesses to them are
///    ordered before this one.
#[inline(always)]
pub unsafe fn shift_down<G: CtaGroup>(taddr: Addr<Tmem>) {
    device! {
        macro_rules! emit {
            ($group:literal) => {
                asm!(concat!("tcgen05.shift", $group, ".down [{}];"), in(reg32) taddr.raw(), options(nostack))
            };
        }
        select!(emit [] cta_group G)
    }
}

/// The registers that one access of a shape moves in a lane: `[u32; M × N]` for `.xN`, where M is 2 for
/// `.16x128b`, 4 for `.16x256b` and 1 for the others.
#[diagnostic::on_unimplemented(
    message = "tcgen05.ld and tcgen05.st have no form of this shape that moves `{Self}`",
    label = "expected `[u32; M * N]` with N a power of two from 1 to 128, and at most 128 registers",
    note = "PTX ISA, tcgen05.ld: M is 2 for .16x128b, 4 for .16x256b and 1 for the others"
)]
pub trait Shaped<S: Shape>: sealed::Sealed + Copy {
    #[doc(hidden)]
    unsafe fn ld(taddr: Addr<Tmem>) -> Self;
    #[doc(hidden)]
    unsafe fn ld_pack(taddr: Addr<Tmem>) -> Self;
    #[doc(hidden)]
    unsafe fn st(self, taddr: Addr<Tmem>);
    #[doc(hidden)]
    unsafe fn st_unpack(self, taddr: Addr<Tmem>);
}

/// The registers of a load that also reduces them: `[u32; N]` with N from 2 on.
#[diagnostic::on_unimplemented(
    message = "tcgen05.ld.red has no form of this shape that moves `{Self}`",
    label = "expected `[u32; N]` with N a power of two from 2 to 128, of `Lanes32x32` or `Lanes16x32x2`"
)]
pub trait Reduced<S: Shape>: Shaped<S> {
    #[doc(hidden)]
    unsafe fn ld_red<O: Extremum, T: Compared>(taddr: Addr<Tmem>) -> (Self, [u32; 1]);
}

/// The shape of an access: [`Lanes32x32`], [`Lanes16x64`], [`Lanes16x128`], [`Lanes16x256`] or
/// [`Lanes16x32x2`].
pub trait Shape: sealed::Sealed + Copy + 'static {}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident $(<$split:ident>)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name $(<const $split: u32>)?;
        impl $(<const $split: u32>)? sealed::Sealed for $name $(<$split>)? {}
        impl $(<const $split: u32>)? Shape for $name $(<$split>)? {}
    )*};
}

shapes! {
    /// `.32x32b`, as of [`ld_32x32b`](super::tcgen05::ld_32x32b).
    Lanes32x32;
    /// `.16x64b`
    Lanes16x64;
    /// `.16x128b`
    Lanes16x128;
    /// `.16x256b`
    Lanes16x256;
    /// `.16x32bx2`: lanes 16 to 31 of the warp access the same lanes of tensor memory as lanes 0 to 15,
    /// `SPLIT` columns further on.
    Lanes16x32x2<SPLIT>;
}

/// Whether a reducing load keeps the least or the greatest value.
pub trait Extremum: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const GREATEST: bool;
}

/// `.min`
#[derive(Clone, Copy, Debug)]
pub struct Min;
/// `.max`
#[derive(Clone, Copy, Debug)]
pub struct Max;
impl sealed::Sealed for Min {}
impl sealed::Sealed for Max {}
impl Extremum for Min {
    const GREATEST: bool = false;
}
impl Extremum for Max {
    const GREATEST: bool = true;
}

/// How a reducing load compares.
#[diagnostic::on_unimplemented(
    message = "tcgen05.ld.red does not compare `{Self}`",
    label = "expected `u32`, `i32`, `f32`, `FloatAbs`, `FloatNan` or `FloatAbsNan`"
)]
pub trait Compared: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const HOW: u8;
}

choices! { Compared HOW:
    /// `.abs.f32`: by absolute value.
    FloatAbs 3;
    /// `.NaN.f32`: a NaN among the values is the result.
    FloatNan 4;
    /// `.abs.NaN.f32`: both.
    FloatAbsNan 5;
}

macro_rules! compared {
    ($($ty:ty: $how:literal;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Compared for $ty {
            const HOW: u8 = $how;
        }
    )*};
}
compared! { u32: 0; i32: 1; f32: 2; }

/// `tcgen05.ld.sync.aligned.shape.xN.b32 r, [taddr];` PTX 8.6, sm_100f, sm_110f.
///
/// Asynchronous: the registers hold the values only after `wait::ld`; pass them through
/// [`settle`](super::tcgen05::settle) or [`wait_ld_of`](super::tcgen05::wait_ld_of) before any use.
///
/// ISA: *tcgen05.ld*. Can break D1, D3, D11, D12.
///
/// # Safety
/// 1. As for [`ld_32x32b`](super::tcgen05::ld_32x32b).
#[inline(always)]
pub unsafe fn ld<S: Shape, R: Shaped<S>>(taddr: Addr<Tmem>) -> R {
    // SAFETY: the obligations are those of this function.
    unsafe { R::ld(taddr) }
}

/// `tcgen05.ld.sync.aligned.shape.xN.pack::16b.b32 r, [taddr];` PTX 8.6, sm_100f, sm_110f.
///
/// As [`ld`], of twice as many columns: a register is the lower halves of two.
///
/// ISA: *tcgen05.ld*. Can break D1, D3, D11, D12.
///
/// # Safety
/// 1. As for [`ld_32x32b`](super::tcgen05::ld_32x32b).
#[inline(always)]
pub unsafe fn ld_pack<S: Shape, R: Shaped<S>>(taddr: Addr<Tmem>) -> R {
    // SAFETY: the obligations are those of this function.
    unsafe { R::ld_pack(taddr) }
}

/// `tcgen05.ld.red.sync.aligned.shape.xN.op.type r, red, [taddr];` PTX 8.8, sm_103f, sm_110f.
///
/// As [`ld`], and the least or greatest of what each thread reads, as bits of its type: that register too
/// holds its value only after `wait::ld`.
///
/// ISA: *tcgen05.ld*. Can break D1, D3, D11, D12.
///
/// # Safety
/// 1. As for [`ld_32x32b`](super::tcgen05::ld_32x32b).
#[inline(always)]
pub unsafe fn ld_red<S: Shape, R: Reduced<S>, O: Extremum, T: Compared>(
    taddr: Addr<Tmem>,
) -> (R, [u32; 1]) {
    // SAFETY: the obligations are those of this function.
    unsafe { R::ld_red::<O, T>(taddr) }
}

/// `tcgen05.st.sync.aligned.shape.xN.b32 [taddr], r;` PTX 8.6, sm_100f, sm_110f.
///
/// Asynchronous: complete after [`wait_st`](super::tcgen05::wait_st).
///
/// ISA: *tcgen05.st*. Can break D1, D4, D11, D12.
///
/// # Safety
/// 1. As for [`st_32x32b`](super::tcgen05::st_32x32b).
#[inline(always)]
pub unsafe fn st<S: Shape, R: Shaped<S>>(taddr: Addr<Tmem>, registers: R) {
    // SAFETY: the obligations are those of this function.
    unsafe { registers.st(taddr) }
}

/// `tcgen05.st.sync.aligned.shape.xN.unpack::16b.b32 [taddr], r;` PTX 8.6, sm_100f, sm_110f.
///
/// As [`st`], of twice as many columns: each takes half a register.
///
/// ISA: *tcgen05.st*. Can break D1, D4, D11, D12.
///
/// # Safety
/// 1. As for [`st_32x32b`](super::tcgen05::st_32x32b).
#[inline(always)]
pub unsafe fn st_unpack<S: Shape, R: Shaped<S>>(taddr: Addr<Tmem>, registers: R) {
    // SAFETY: the obligations are those of this function.
    unsafe { registers.st_unpack(taddr) }
}

/// A load of the registers named, and of their reduction if there is one.
#[cfg(target_arch = "nvptx64")]
macro_rules! load {
    ($taddr:ident $text:expr; $($split:ident)?; $($red:ident)?; [$first:ident $($r:ident)*]) => {{
        super::anchor();
        let $first: u32;
        $(let $r: u32;)*
        $(let $red: u32;)?
        asm!(
            "//@baton collective tcgen05.ld",
            concat!(
                "tcgen05.ld", $text, " {{{", stringify!($first), "}", $(", {", stringify!($r), "}",)* "}}, ",
                $("{", stringify!($red), "}, ",)? "[{taddr}]" $(, ", {", stringify!($split), "}")?, ";"
            ),
            taddr = in(reg32) $taddr.raw(), $($split = const $split,)?
            $first = out(reg32) $first, $($r = out(reg32) $r,)*
            $($red = out(reg32) $red,)?
            options(nostack)
        );
        ([$first, $($r),*] $(, [$red])?)
    }};
}

/// A store of the registers named.
#[cfg(target_arch = "nvptx64")]
macro_rules! store {
    ($taddr:ident $text:expr; $($split:ident)?; [$first:ident $($r:ident)*] = $registers:ident) => {{
        super::anchor();
        let [$first, $($r),*] = $registers;
        asm!(
            "//@baton collective tcgen05.st",
            concat!(
                "tcgen05.st.sync.aligned", $text, ".b32 [{taddr}]" $(, ", {", stringify!($split), "}")?, ", {{{",
                stringify!($first), "}", $(", {", stringify!($r), "}",)* "}};"
            ),
            taddr = in(reg32) $taddr.raw(), $($split = const $split,)?
            $first = in(reg32) $first, $($r = in(reg32) $r,)*
            options(nostack)
        )
    }};
}

/// Implements [`Shaped`] for one shape and array, and [`Reduced`] where `red` stands.
macro_rules! shaped {
    ($len:literal $shape:ident $(<$split:ident>)? $text:literal $registers:tt) => {
        impl $(<const $split: u32>)? Shaped<$shape $(<$split>)?> for [u32; $len] {
            #[inline(always)]
            unsafe fn ld(taddr: Addr<Tmem>) -> Self {
                device! { load!(taddr concat!(".sync.aligned", $text, ".b32"); $($split)?;; $registers) }
            }

            #[inline(always)]
            unsafe fn ld_pack(taddr: Addr<Tmem>) -> Self {
                device! { load!(taddr concat!(".sync.aligned", $text, ".pack::16b.b32"); $($split)?;; $registers) }
            }

            #[inline(always)]
            unsafe fn st(self, taddr: Addr<Tmem>) {
                device! { store!(taddr $text; $($split)?; $registers = self) }
            }

            #[inline(always)]
            unsafe fn st_unpack(self, taddr: Addr<Tmem>) {
                device! { store!(taddr concat!($text, ".unpack::16b"); $($split)?; $registers = self) }
            }
        }
    };
    ($len:literal $shape:ident $(<$split:ident>)? $text:literal red $registers:tt) => {
        shaped!($len $shape $(<$split>)? $text $registers);
        impl $(<const $split: u32>)? Reduced<$shape $(<$split>)?> for [u32; $len] {
            #[inline(always)]
            unsafe fn ld_red<O: Extremum, T: Compared>(taddr: Addr<Tmem>) -> (Self, [u32; 1]) {
                device! {
                    macro_rules! emit {
                        ($op:literal) => {
                            match const { T::HOW } {
                                0 => emit_as!($op ".u32"),
                                1 => emit_as!($op ".s32"),
                                2 => emit_as!($op ".f32"),
                                3 => emit_as!($op ".abs.f32"),
                                4 => emit_as!($op ".NaN.f32"),
                                5 => emit_as!($op ".abs.NaN.f32"),
                                // `Compared` is sealed over these.
                                _ => core::hint::unreachable_unchecked(),
                            }
                        };
                    }
                    macro_rules! emit_as {
                        ($op:literal $type:literal) => {
                            load!(
                                taddr concat!(".red.sync.aligned", $text, $op, $type);
                                $($split)?; red; $registers
                            )
                        };
                    }
                    match const { O::GREATEST } {
                        false => emit!(".min"),
                        true => emit!(".max"),
                    }
                }
            }
        }
    };
}

/// Implements [`Shaped`] for each length: `length { shapes } + registers` adds registers to those of the
/// lengths before.
macro_rules! lengths {
    ([$($r:ident)*]) => {};
    ([$($r:ident)*] $len:literal { $($shape:ident $(<$split:ident>)? $text:literal $($red:ident)?;)* } + $($new:ident)*; $($rest:tt)*) => {
        impl sealed::Sealed for [u32; $len] {}
        lengths!(@each $len [$({$shape $(<$split>)? $text $($red)?})*] [$($r)* $($new)*]);
        lengths!([$($r)* $($new)*] $($rest)*);
    };
    (@each $len:literal [$({$($shape:tt)*})*] $registers:tt) => {
        $(shaped!($len $($shape)* $registers);)*
    };
}

lengths! {
    []
    1 {
        Lanes32x32 ".32x32b.x1";
        Lanes16x32x2<SPLIT> ".16x32bx2.x1";
        Lanes16x64 ".16x64b.x1";
    } + r0;
    2 {
        Lanes32x32 ".32x32b.x2" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x2" red;
        Lanes16x64 ".16x64b.x2";
        Lanes16x128 ".16x128b.x1";
    } + r1;
    4 {
        Lanes32x32 ".32x32b.x4" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x4" red;
        Lanes16x64 ".16x64b.x4";
        Lanes16x128 ".16x128b.x2";
        Lanes16x256 ".16x256b.x1";
    } + r2 r3;
    8 {
        Lanes32x32 ".32x32b.x8" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x8" red;
        Lanes16x64 ".16x64b.x8";
        Lanes16x128 ".16x128b.x4";
        Lanes16x256 ".16x256b.x2";
    } + r4 r5 r6 r7;
    16 {
        Lanes32x32 ".32x32b.x16" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x16" red;
        Lanes16x64 ".16x64b.x16";
        Lanes16x128 ".16x128b.x8";
        Lanes16x256 ".16x256b.x4";
    } + r8 r9 r10 r11 r12 r13 r14 r15;
    32 {
        Lanes32x32 ".32x32b.x32" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x32" red;
        Lanes16x64 ".16x64b.x32";
        Lanes16x128 ".16x128b.x16";
        Lanes16x256 ".16x256b.x8";
    } + r16 r17 r18 r19 r20 r21 r22 r23 r24 r25 r26 r27 r28 r29 r30 r31;
    64 {
        Lanes32x32 ".32x32b.x64" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x64" red;
        Lanes16x64 ".16x64b.x64";
        Lanes16x128 ".16x128b.x32";
        Lanes16x256 ".16x256b.x16";
    } + r32 r33 r34 r35 r36 r37 r38 r39 r40 r41 r42 r43 r44 r45 r46 r47 r48 r49 r50 r51 r52 r53
        r54 r55 r56 r57 r58 r59 r60 r61 r62 r63;
    128 {
        Lanes32x32 ".32x32b.x128" red;
        Lanes16x32x2<SPLIT> ".16x32bx2.x128" red;
        Lanes16x64 ".16x64b.x128";
        Lanes16x128 ".16x128b.x64";
        Lanes16x256 ".16x256b.x32";
    } + r64 r65 r66 r67 r68 r69 r70 r71 r72 r73 r74 r75 r76 r77 r78 r79 r80 r81 r82 r83 r84 r85
        r86 r87 r88 r89 r90 r91 r92 r93 r94 r95 r96 r97 r98 r99 r100 r101 r102 r103 r104 r105
        r106 r107 r108 r109 r110 r111 r112 r113 r114 r115 r116 r117 r118 r119 r120 r121 r122 r123
        r124 r125 r126 r127;
}
