//! The MMAs of the fifth-generation tensor core with every qualifier said.
//!
//! [`tcgen05_mma`](super::tcgen05_mma) has a function for each qualifier alone; these take them together.
//! What a form need not say has a value that says the same: a mask of zeros leaves no lane out, `Discard`
//! keeps nothing in the collector, and a descriptor of zero columns that is zero names none. Where A lies is
//! the type of the operand: a descriptor (`u64`), [`Addr<Tmem>`](Addr), or [`Shifted`].
//!
//! ISA: *tcgen05.mma*, *tcgen05.mma.sp*, *tcgen05.mma.ws*, *tcgen05.mma.ws.sp*.

// An instruction has as many operands as it has.
#![allow(clippy::too_many_arguments)]

use super::addr::{Addr, Tmem};
#[cfg(target_arch = "nvptx64")]
use super::code;
use super::tcgen05::{CtaGroup, Group1, Group2, MmaKind};
use super::tcgen05_mma::{BlockKind, Buffer, Collector, Scalable};

mod sealed {
    pub trait Sealed {}
}

/// A group whose MMAs can leave lanes out: a bit for each lane of D.
pub trait Masked: CtaGroup {
    /// `[u32; 4]` for one CTA, `[u32; 8]` for two.
    type Lanes: Copy;
    #[doc(hidden)]
    fn padded(lanes: Self::Lanes) -> [u32; 8];
}

impl Masked for Group1 {
    type Lanes = [u32; 4];
    #[inline(always)]
    fn padded([a, b, c, d]: [u32; 4]) -> [u32; 8] {
        [a, b, c, d, 0, 0, 0, 0]
    }
}

impl Masked for Group2 {
    type Lanes = [u32; 8];
    #[inline(always)]
    fn padded(lanes: [u32; 8]) -> [u32; 8] {
        lanes
    }
}

/// Matrix A: a descriptor of shared memory, or an address of tensor memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no matrix A of an MMA",
    label = "expected `u64` (a descriptor), `Addr<Tmem>` or `Shifted`"
)]
pub trait Left: sealed::Sealed + Copy {
    #[doc(hidden)]
    const KIND: u8;
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// A matrix A that is taken as it lies.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no matrix A that this MMA takes",
    label = "expected `u64` (a descriptor) or `Addr<Tmem>`; only dense and sparse MMAs without block scales shift A"
)]
pub trait Unshifted: Left {}

/// `.ashift`: A in tensor memory, its rows, all but the last, shifted down by one. M is 128 or 256.
#[derive(Clone, Copy, Debug)]
pub struct Shifted(pub Addr<Tmem>);

impl sealed::Sealed for u64 {}
impl sealed::Sealed for Addr<Tmem> {}
impl sealed::Sealed for Shifted {}
impl Left for u64 {
    const KIND: u8 = 0;
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}
impl Left for Addr<Tmem> {
    const KIND: u8 = 1;
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.raw())
    }
}
impl Left for Shifted {
    const KIND: u8 = 2;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.0.bits()
    }
}
impl Unshifted for u64 {}
impl Unshifted for Addr<Tmem> {}

/// Refuses a shifted A that would stay in the collector.
const fn shift_is_not_collected<A: Left, C: Collector>() {
    assert!(
        A::KIND != 2 || C::USE >= 2,
        "rule D14: a shifted A cannot be `Fill`ed into the collector or `Use`d from it; say `LastUse` or `Discard`"
    );
}

/// As the `select!` of the parent module, for the qualifiers of this one.
#[cfg(target_arch = "nvptx64")]
macro_rules! choose {
    ($emit:ident [$($done:tt)*]) => { $emit!($($done)*) };
    ($emit:ident [$($done:tt)*] , $($rest:tt)+) => { choose!($emit [$($done)*] $($rest)+) };
    ($emit:ident [$($done:tt)*] masked $G:ident $($rest:tt)*) => {
        match const { <$G as CtaGroup>::CTAS } {
            1 => choose!($emit [$($done)* (".cta_group::1" "{{{m0}, {m1}, {m2}, {m3}}}" m0[0] m1[1] m2[2] m3[3])] $($rest)*),
            2 => choose!($emit [$($done)* (
                ".cta_group::2" "{{{m0}, {m1}, {m2}, {m3}, {m4}, {m5}, {m6}, {m7}}}"
                m0[0] m1[1] m2[2] m3[3] m4[4] m5[5] m6[6] m7[7]
            )] $($rest)*),
            // `CtaGroup` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] group $G:ident $($rest:tt)*) => {
        match const { <$G as CtaGroup>::CTAS } {
            1 => choose!($emit [$($done)* ".cta_group::1"] $($rest)*),
            2 => choose!($emit [$($done)* ".cta_group::2"] $($rest)*),
            // `CtaGroup` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] kind $K:ident $($rest:tt)*) => {
        match const { <$K as MmaKind>::KIND as u8 } {
            code::KIND_F16 => choose!($emit [$($done)* ".kind::f16"] $($rest)*),
            code::KIND_TF32 => choose!($emit [$($done)* ".kind::tf32"] $($rest)*),
            code::KIND_F8F6F4 => choose!($emit [$($done)* ".kind::f8f6f4"] $($rest)*),
            code::KIND_I8 => choose!($emit [$($done)* ".kind::i8"] $($rest)*),
            // There are no others.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] scalable $K:ident $($rest:tt)*) => {
        match const { <$K as MmaKind>::KIND as u8 } {
            code::KIND_F16 => choose!($emit [$($done)* ".kind::f16"] $($rest)*),
            code::KIND_TF32 => choose!($emit [$($done)* ".kind::tf32"] $($rest)*),
            // No other kind is `Scalable`.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] block $K:ident $($rest:tt)*) => {
        match const { <$K as BlockKind>::KIND } {
            0 => choose!($emit [$($done)* ".kind::mxf8f6f4.block_scale.scale_vec::1X"] $($rest)*),
            1 => choose!($emit [$($done)* ".kind::mxf8f6f4.block_scale.block32"] $($rest)*),
            2 => choose!($emit [$($done)* ".kind::mxf4.block_scale.scale_vec::2X"] $($rest)*),
            3 => choose!($emit [$($done)* ".kind::mxf4.block_scale.block32"] $($rest)*),
            4 => choose!($emit [$($done)* ".kind::mxf4nvf4.block_scale.scale_vec::2X"] $($rest)*),
            5 => choose!($emit [$($done)* ".kind::mxf4nvf4.block_scale.scale_vec::4X"] $($rest)*),
            6 => choose!($emit [$($done)* ".kind::mxf4nvf4.block_scale.block16"] $($rest)*),
            7 => choose!($emit [$($done)* ".kind::mxf4nvf4.block_scale.block32"] $($rest)*),
            // `BlockKind` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] left $A:ident $($rest:tt)*) => {
        match const { <$A as Left>::KIND } {
            0 => choose!($emit [$($done)* ("" "{a}" reg64 u64)] $($rest)*),
            1 => choose!($emit [$($done)* ("" "[{a}]" reg32 u32)] $($rest)*),
            2 => choose!($emit [$($done)* (".ashift" "[{a}]" reg32 u32)] $($rest)*),
            // `Left` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] unshifted $A:ident $($rest:tt)*) => {
        match const { <$A as Left>::KIND } {
            0 => choose!($emit [$($done)* ("" "{a}" reg64 u64)] $($rest)*),
            1 => choose!($emit [$($done)* ("" "[{a}]" reg32 u32)] $($rest)*),
            // `Unshifted` is implemented for these only.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] buffer $U:ident $($rest:tt)*) => {
        match const { <$U as Buffer>::NUMBER } {
            0 => choose!($emit [$($done)* ".collector::b0"] $($rest)*),
            1 => choose!($emit [$($done)* ".collector::b1"] $($rest)*),
            2 => choose!($emit [$($done)* ".collector::b2"] $($rest)*),
            3 => choose!($emit [$($done)* ".collector::b3"] $($rest)*),
            // `Buffer` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] collector $C:ident $($rest:tt)*) => {
        match const { <$C as Collector>::USE } {
            0 => choose!($emit [$($done)* "::fill"] $($rest)*),
            1 => choose!($emit [$($done)* "::use"] $($rest)*),
            2 => choose!($emit [$($done)* "::lastuse"] $($rest)*),
            3 => choose!($emit [$($done)* "::discard"] $($rest)*),
            // `Collector` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// One MMA: the text of its instruction, and what it has beside the operands `d`, `a` and `b` of all forms.
#[cfg(target_arch = "nvptx64")]
macro_rules! issue {
    ([$($text:tt)*] $d:ident, $a:ident: $class:ident $bits:ident, $b:ident, $accumulate:ident; $($operands:tt)*) => {
        asm!(
            "{{",
            ".reg .pred accumulate;",
            "setp.ne.b32 accumulate, {accumulate}, 0;",
            concat!($($text)*),
            "}}",
            accumulate = in(reg32) $accumulate as u32, d = in(reg32) $d.raw(),
            a = in($class) $a.bits() as $bits, b = in(reg64) $b,
            $($operands)*
            options(nostack)
        )
    };
}

macro_rules! full {
    (($d:tt) $($(#[$doc:meta])* $name:ident<$K:ident by $select:ident $(, $scale:ident)?> = $head:literal $(with $meta:ident)?;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
        ///
        /// # Safety
        /// 1. As for [`mma`](super::tcgen05::mma), or [`mma_tmem_a`](super::tcgen05::mma_tmem_a) with A in tensor
        ///    memory.
        $(#[doc = concat!(" 2. `", stringify!($meta), "` was written by completed operations, and is not written until completion was observed.")])?
        #[inline(always)]
        pub unsafe fn $name<G: Masked, K: $K, A: Left, C: Collector $(, const $scale: u32)?>(
            d: Addr<Tmem>,
            a: A,
            b: u64,
            $($meta: Addr<Tmem>,)?
            i: u32,
            lanes: G::Lanes,
            accumulate: bool,
        ) {
            const { shift_is_not_collected::<A, C>() };
            $(const { assert!($scale < 16, "rule D14: the accumulator is scaled by 2 to the power of at most -15") };)?
            device! {
                let lanes = G::padded(lanes);
                macro_rules! emit {
                    (
                        ($d group:literal $d mask:literal $d($d m:ident[$d at:literal])*) $d kind:literal
                        ($d shift:literal $d left:literal $d class:ident $d bits:ident) $d use_:literal
                    ) => {
                        issue!(
                            [
                                $head, $d group, $d kind, $d shift, ".collector::a", $d use_, " [{d}], ", $d left, ", {b}",
                                $(", [{", stringify!($meta), "}]",)? ", {i}, ", $d mask, ", accumulate",
                                $(", {", stringify!($scale), "}",)? ";"
                            ]
                            d, a: $d class $d bits, b, accumulate;
                            $($meta = in(reg32) $meta.raw(),)? i = in(reg32) i, $d($d m = in(reg32) lanes[$d at],)* $($scale = const $scale,)?
                        )
                    };
                }
                choose!(emit [] masked G, $select K, left A, collector C)
            }
        }
    )*};
}

full! {
    ($)

    /// `tcgen05.mma.cta_group::N.kind.collector::a::use [d], a, b, i, {m…}, accumulate;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Lanes of D whose bit in `lanes` is set are not written.
    mma_full<MmaKind by kind> = "tcgen05.mma";

    /// `tcgen05.mma.cta_group::N.kind.collector::a::use [d], a, b, i, {m…}, accumulate, SCALE;` PTX 8.6, sm_100f.
    ///
    /// D = A·B + D·2⁻ˢᶜᵃˡᵉ.
    mma_scaled_full<Scalable by scalable, SCALE> = "tcgen05.mma";

    /// `tcgen05.mma.sp.cta_group::N.kind.collector::a::use [d], a, b, [meta], i, {m…}, accumulate;` PTX 8.6,
    /// sm_100f, sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_full`] with a sparse A.
    mma_sp_full<MmaKind by kind> = "tcgen05.mma.sp" with meta;

    /// `tcgen05.mma.sp.cta_group::N.kind.collector::a::use [d], a, b, [meta], i, {m…}, accumulate, SCALE;` PTX
    /// 8.6, sm_100f.
    ///
    /// [`mma_scaled_full`] with a sparse A.
    mma_sp_scaled_full<Scalable by scalable, SCALE> = "tcgen05.mma.sp" with meta;
}

macro_rules! block_scaled {
    (($d:tt) $($(#[$doc:meta])* $name:ident = $head:literal $(with $meta:ident)?;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
        ///
        /// # Safety
        /// 1. As for [`mma_block_scale`](super::tcgen05_mma::mma_block_scale).
        $(#[doc = concat!(" 2. `", stringify!($meta), "` was written by completed operations, and is not written until completion was observed.")])?
        #[inline(always)]
        pub unsafe fn $name<G: CtaGroup, K: BlockKind, A: Unshifted, C: Collector>(
            d: Addr<Tmem>,
            a: A,
            b: u64,
            $($meta: Addr<Tmem>,)?
            i: u32,
            sfa: Addr<Tmem>,
            sfb: Addr<Tmem>,
            accumulate: bool,
        ) {
            device! {
                macro_rules! emit {
                    (
                        $d group:literal $d kind:literal
                        ($d shift:literal $d left:literal $d class:ident $d bits:ident) $d use_:literal
                    ) => {
                        issue!(
                            [
                                $head, $d group, $d kind, ".collector::a", $d use_, " [{d}], ", $d left, ", {b}",
                                $(", [{", stringify!($meta), "}]",)? ", {i}, [{sfa}], [{sfb}], accumulate;"
                            ]
                            d, a: $d class $d bits, b, accumulate;
                            $($meta = in(reg32) $meta.raw(),)? i = in(reg32) i, sfa = in(reg32) sfa.raw(), sfb = in(reg32) sfb.raw(),
                        )
                    };
                }
                choose!(emit [] group G, block K, unshifted A, collector C)
            }
        }
    )*};
}

block_scaled! {
    ($)

    /// `tcgen05.mma.cta_group::N.kind.block_scale.size.collector::a::use [d], a, b, i, [sfa], [sfb], accumulate;`
    /// PTX 8.6, sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX 8.8.
    mma_block_scale_full = "tcgen05.mma";

    /// `tcgen05.mma.sp.cta_group::N.kind.block_scale.size.collector::a::use [d], a, b, [meta], i, [sfa], [sfb],
    /// accumulate;` PTX 8.6, sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX 8.8.
    mma_sp_block_scale_full = "tcgen05.mma.sp" with meta;
}

macro_rules! weight_stationary {
    (($d:tt) $($(#[$doc:meta])* $name:ident = $head:literal $(with $meta:ident)?;)*) => {$(
        $(#[$doc])*
        ///
        /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
        ///
        /// # Safety
        /// 1. As for [`mma`](super::tcgen05::mma), or [`mma_tmem_a`](super::tcgen05::mma_tmem_a) with A in tensor
        ///    memory.
        $(#[doc = concat!(" 2. `", stringify!($meta), "` was written by completed operations, and is not written until completion was observed.")])?
        #[inline(always)]
        pub unsafe fn $name<K: MmaKind, A: Unshifted, U: Buffer, C: Collector>(
            d: Addr<Tmem>,
            a: A,
            b: u64,
            $($meta: Addr<Tmem>,)?
            i: u32,
            columns: u64,
            accumulate: bool,
        ) {
            device! {
                macro_rules! emit {
                    (
                        $d kind:literal ($d shift:literal $d left:literal $d class:ident $d bits:ident)
                        $d buffer:literal $d use_:literal
                    ) => {
                        issue!(
                            [
                                $head, ".cta_group::1", $d kind, $d buffer, $d use_, " [{d}], ", $d left, ", {b}",
                                $(", [{", stringify!($meta), "}]",)? ", {i}, accumulate, {columns};"
                            ]
                            d, a: $d class $d bits, b, accumulate;
                            $($meta = in(reg32) $meta.raw(),)? i = in(reg32) i, columns = in(reg64) columns,
                        )
                    };
                }
                choose!(emit [] kind K, unshifted A, buffer U, collector C)
            }
        }
    )*};
}

weight_stationary! {
    ($)

    /// `tcgen05.mma.ws.cta_group::1.kind.collector::bN::use [d], a, b, i, accumulate, columns;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Columns of B that `columns`, a zero-column descriptor, names count as zero.
    mma_ws_full = "tcgen05.mma.ws";

    /// `tcgen05.mma.ws.sp.cta_group::1.kind.collector::bN::use [d], a, b, [meta], i, accumulate, columns;` PTX
    /// 8.6, sm_100f, sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_ws_full`] with a sparse A.
    mma_ws_sp_full = "tcgen05.mma.ws.sp" with meta;
}
