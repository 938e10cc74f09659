//! Moving data in and out of tensor memory by the other shapes, and within it.
//!
//! `cp` and `shift` are asynchronous operations of one thread that a `commit` completes, as an MMA is. The
//! loads and stores are those of [`tcgen05`](super::tcgen05) with other shapes: how many lanes, and how many
//! bits of each lane, one register of the warp covers.
//!
//! ISA: *tcgen05.cp*, *tcgen05.shift*, *tcgen05.ld*, *tcgen05.st*. Left out: `tcgen05.ld.red`, `.16x32bx2`,
//! `.pack::16b` and `.unpack::16b`, the decompressing formats of `cp` for shapes other than `.128x256b`.

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
    /// `tcgen05.cp.cta_group::N.128x256b.b8x16.b6x16_p32 [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_128x256b_b6x16_p32 = ".128x256b.b8x16.b6x16_p32";
    /// `tcgen05.cp.cta_group::N.128x256b.b8x16.b4x16_p64 [taddr], desc;` PTX 8.6, sm_100f, sm_110f.
    cp_128x256b_b4x16_p64 = ".128x256b.b8x16.b4x16_p64";
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

/// The registers that one access of a shape moves in a lane: `[u32; M × N]` for `.xN`, where M is 1 for
/// `.16x64b`, 2 for `.16x128b`, 4 for `.16x256b`.
#[diagnostic::on_unimplemented(
    message = "tcgen05.ld and tcgen05.st have no form of this shape that moves `{Self}`",
    label = "expected `[u32; M * N]` with N a power of two from 1 to 128, and at most 128 registers",
    note = "PTX ISA, tcgen05.ld: M is 1 for .16x64b, 2 for .16x128b, 4 for .16x256b"
)]
pub trait Shaped<S: Shape>: sealed::Sealed + Copy {
    #[doc(hidden)]
    unsafe fn ld(taddr: Addr<Tmem>) -> Self;
    #[doc(hidden)]
    unsafe fn st(self, taddr: Addr<Tmem>);
}

/// The shape of an access: [`Lanes16x64`], [`Lanes16x128`] or [`Lanes16x256`].
pub trait Shape: sealed::Sealed + Copy + 'static {}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl sealed::Sealed for $name {}
        impl Shape for $name {}
    )*};
}

shapes! {
    /// `.16x64b`
    Lanes16x64;
    /// `.16x128b`
    Lanes16x128;
    /// `.16x256b`
    Lanes16x256;
}

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

/// Implements [`Shaped`] for one shape and array.
macro_rules! shaped {
    ($len:literal $shape:ident $text:literal [$first:ident $($r:ident)*]) => {
        impl Shaped<$shape> for [u32; $len] {
            #[inline(always)]
            unsafe fn ld(taddr: Addr<Tmem>) -> Self {
                device! {
                    super::anchor();
                    let $first: u32;
                    $(let $r: u32;)*
                    asm!(
                        "//@baton collective tcgen05.ld",
                        concat!(
                            "tcgen05.ld.sync.aligned", $text, ".b32 {{{", stringify!($first), "}",
                            $(", {", stringify!($r), "}",)* "}}, [{taddr}];"
                        ),
                        taddr = in(reg32) taddr.raw(),
                        $first = out(reg32) $first, $($r = out(reg32) $r,)*
                        options(nostack)
                    );
                    [$first, $($r),*]
                }
            }

            #[inline(always)]
            unsafe fn st(self, taddr: Addr<Tmem>) {
                device! {
                    super::anchor();
                    let [$first, $($r),*] = self;
                    asm!(
                        "//@baton collective tcgen05.st",
                        concat!(
                            "tcgen05.st.sync.aligned", $text, ".b32 [{taddr}], {{{", stringify!($first), "}",
                            $(", {", stringify!($r), "}",)* "}};"
                        ),
                        taddr = in(reg32) taddr.raw(),
                        $first = in(reg32) $first, $($r = in(reg32) $r,)*
                        options(nostack)
                    )
                }
            }
        }
    };
}

/// Implements [`Shaped`] for each length: `length (shape text)… + registers` adds registers to those of the
/// lengths before.
macro_rules! lengths {
    ([$($r:ident)*]) => {};
    ([$($r:ident)*] $len:literal ($($shape:ident $text:literal)*) + $($new:ident)*; $($rest:tt)*) => {
        impl sealed::Sealed for [u32; $len] {}
        lengths!(@each $len ($($shape $text)*) [$($r)* $($new)*]);
        lengths!([$($r)* $($new)*] $($rest)*);
    };
    (@each $len:literal ($($shape:ident $text:literal)*) $registers:tt) => {
        $(shaped!($len $shape $text $registers);)*
    };
}

lengths! {
    []
    1 (Lanes16x64 ".16x64b.x1") + r0;
    2 (Lanes16x64 ".16x64b.x2" Lanes16x128 ".16x128b.x1") + r1;
    4 (Lanes16x64 ".16x64b.x4" Lanes16x128 ".16x128b.x2" Lanes16x256 ".16x256b.x1") + r2 r3;
    8 (Lanes16x64 ".16x64b.x8" Lanes16x128 ".16x128b.x4" Lanes16x256 ".16x256b.x2") + r4 r5 r6 r7;
    16 (Lanes16x64 ".16x64b.x16" Lanes16x128 ".16x128b.x8" Lanes16x256 ".16x256b.x4") + r8 r9 r10 r11
        r12 r13 r14 r15;
    32 (Lanes16x64 ".16x64b.x32" Lanes16x128 ".16x128b.x16" Lanes16x256 ".16x256b.x8") + r16 r17 r18 r19
        r20 r21 r22 r23 r24 r25 r26 r27 r28 r29 r30 r31;
    64 (Lanes16x64 ".16x64b.x64" Lanes16x128 ".16x128b.x32" Lanes16x256 ".16x256b.x16") + r32 r33 r34
        r35 r36 r37 r38 r39 r40 r41 r42 r43 r44 r45 r46 r47 r48 r49 r50 r51 r52 r53 r54 r55 r56 r57 r58
        r59 r60 r61 r62 r63;
    128 (Lanes16x64 ".16x64b.x128" Lanes16x128 ".16x128b.x64" Lanes16x256 ".16x256b.x32") + r64 r65 r66
        r67 r68 r69 r70 r71 r72 r73 r74 r75 r76 r77 r78 r79 r80 r81 r82 r83 r84 r85 r86 r87 r88 r89 r90
        r91 r92 r93 r94 r95 r96 r97 r98 r99 r100 r101 r102 r103 r104 r105 r106 r107 r108 r109 r110 r111
        r112 r113 r114 r115 r116 r117 r118 r119 r120 r121 r122 r123 r124 r125 r126 r127;
}
