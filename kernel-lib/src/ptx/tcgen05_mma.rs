//! The other MMAs of the fifth-generation tensor core: block-scaled, sparse, weight-stationary, with
//! hints to the collector and with lanes left out.
//!
//! What [`tcgen05::mma`](super::tcgen05::mma) says of order and completion goes for all of them. `a` and `b`
//! are descriptors of matrices in shared memory, `i` is the instruction descriptor; the functions that end in
//! `_tmem_a` take A from tensor memory.
//!
//! Several of these qualifiers together are in [`tcgen05_mma_full`](super::tcgen05_mma_full).
//!
//! ISA: *tcgen05.mma*, *tcgen05.mma.sp*, *tcgen05.mma.ws*, *tcgen05.mma.ws.sp*.

// An instruction has as many operands as it has.
#![allow(clippy::too_many_arguments)]

use super::addr::{Addr, Tmem};
#[cfg(target_arch = "nvptx64")]
use super::code;
use super::tcgen05::{CtaGroup, MmaKind, kind};

mod sealed {
    pub trait Sealed {}
}

/// What becomes of an operand in its collector buffer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no use of a collector buffer",
    label = "expected `Fill`, `Use`, `LastUse` or `Discard`"
)]
pub trait Collector: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const USE: u8;
}

/// One of the four collector buffers of weight-stationary MMAs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no collector buffer",
    label = "expected `Buffer0`, `Buffer1`, `Buffer2` or `Buffer3`"
)]
pub trait Buffer: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const NUMBER: u8;
}

/// A kind of MMA with a factor for each block, and how large the blocks are.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no block-scaled kind (rule D14)",
    label = "expected one of `Mxf8f6f4…`, `Mxf4…`, `Mxf4nvf4…`"
)]
pub trait BlockKind: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const KIND: u8;
}

/// A kind whose accumulator an MMA can scale.
#[diagnostic::on_unimplemented(
    message = "the accumulator of `{Self}` cannot be scaled (rule D14)",
    label = "expected `kind::F16` or `kind::Tf32`"
)]
pub trait Scalable: MmaKind {}
impl Scalable for kind::F16 {}
impl Scalable for kind::Tf32 {}

macro_rules! names {
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

names! { Collector USE:
    /// `fill`: what is read stays in the buffer.
    Fill 0;
    /// `use`: it is there already, and stays.
    Use 1;
    /// `lastuse`: it is there already, and is not needed after this.
    LastUse 2;
    /// `discard`: nothing is kept.
    Discard 3;
}

names! { Buffer NUMBER:
    /// `b0`
    Buffer0 0;
    /// `b1`
    Buffer1 1;
    /// `b2`
    Buffer2 2;
    /// `b3`
    Buffer3 3;
}

names! { BlockKind KIND:
    /// `.kind::mxf8f6f4.block_scale.scale_vec::1X`
    Mxf8f6f4 0;
    /// `.kind::mxf8f6f4.block_scale.block32`
    Mxf8f6f4Block32 1;
    /// `.kind::mxf4.block_scale.scale_vec::2X`
    Mxf4 2;
    /// `.kind::mxf4.block_scale.block32`
    Mxf4Block32 3;
    /// `.kind::mxf4nvf4.block_scale.scale_vec::2X`
    Mxf4nvf4Vec2 4;
    /// `.kind::mxf4nvf4.block_scale.scale_vec::4X`
    Mxf4nvf4Vec4 5;
    /// `.kind::mxf4nvf4.block_scale.block16`
    Mxf4nvf4Block16 6;
    /// `.kind::mxf4nvf4.block_scale.block32`
    Mxf4nvf4Block32 7;
}

/// As the `select!` of the parent module, for the qualifiers of this one too.
#[cfg(target_arch = "nvptx64")]
macro_rules! choose {
    ($emit:ident [$($done:tt)*]) => { $emit!($($done)*) };
    ($emit:ident [$($done:tt)*] , $($rest:tt)+) => { choose!($emit [$($done)*] $($rest)+) };
    ($emit:ident [$($done:tt)*] text $text:literal $($rest:tt)*) => {
        choose!($emit [$($done)* $text] $($rest)*)
    };
    ($emit:ident [$($done:tt)*] cta_group $G:ident $($rest:tt)*) => {
        match $G::CTAS {
            1 => choose!($emit [$($done)* ".cta_group::1"] $($rest)*),
            2 => choose!($emit [$($done)* ".cta_group::2"] $($rest)*),
            // `CtaGroup` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] mma_kind $K:ident $($rest:tt)*) => {
        match const { $K::KIND as u8 } {
            code::KIND_F16 => choose!($emit [$($done)* ".kind::f16"] $($rest)*),
            code::KIND_TF32 => choose!($emit [$($done)* ".kind::tf32"] $($rest)*),
            code::KIND_F8F6F4 => choose!($emit [$($done)* ".kind::f8f6f4"] $($rest)*),
            code::KIND_I8 => choose!($emit [$($done)* ".kind::i8"] $($rest)*),
            // There are no others.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] block_kind $K:ident $($rest:tt)*) => {
        match $K::KIND {
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
    ($emit:ident [$($done:tt)*] collector $C:ident $($rest:tt)*) => {
        choose!($emit [$($done)* ".collector::a"] collector_of $C $($rest)*)
    };
    ($emit:ident [$($done:tt)*] collector_of $C:ident $($rest:tt)*) => {
        match $C::USE {
            0 => choose!($emit [$($done)* "::fill"] $($rest)*),
            1 => choose!($emit [$($done)* "::use"] $($rest)*),
            2 => choose!($emit [$($done)* "::lastuse"] $($rest)*),
            3 => choose!($emit [$($done)* "::discard"] $($rest)*),
            // `Collector` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
    ($emit:ident [$($done:tt)*] buffer $U:ident $($rest:tt)*) => {
        match $U::NUMBER {
            0 => choose!($emit [$($done)* ".collector::b0"] $($rest)*),
            1 => choose!($emit [$($done)* ".collector::b1"] $($rest)*),
            2 => choose!($emit [$($done)* ".collector::b2"] $($rest)*),
            3 => choose!($emit [$($done)* ".collector::b3"] $($rest)*),
            // `Buffer` is sealed over these.
            _ => core::hint::unreachable_unchecked(),
        }
    };
}

/// The MMAs differ in mnemonic and operands; all accumulate or not.
macro_rules! mmas {
    (($d:tt) $($(#[$doc:meta])* $name:ident<$($g:ident: $bound:ident),* $([$n:ident])?; $($select:ident $of:tt),*>($($arg:ident: $ty:ty = $class:ident $value:expr),*) = $head:literal $operands:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<$($g: $bound,)* $(const $n: u32)?>($($arg: $ty,)* accumulate: bool) {
            device! {
                macro_rules! emit {
                    ($d($d qualifier:literal)*) => {
                        asm!(
                            "{{",
                            ".reg .pred accumulate;",
                            "setp.ne.b32 accumulate, {accumulate}, 0;",
                            concat!($head, $d($d qualifier,)* " ", $operands, ";"),
                            "}}",
                            accumulate = in(reg32) accumulate as u32, $($arg = in($class) $value,)*
                            $($n = const $n,)?
                            options(nostack)
                        )
                    };
                }
                choose!(emit [] $($select $of),*)
            }
        }
    )*};
}

mmas! {
    ($)

    /// `tcgen05.mma.cta_group::N.kind.collector::a::use [d], a, b, i, accumulate;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Says what becomes of A in the collector buffer. A hint: the source stays as it is until completion.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    mma_collect<G: CtaGroup, K: MmaKind, C: Collector; cta_group G, mma_kind K, collector C>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma" "[{d}], {a}, {b}, {i}, accumulate";

    /// `tcgen05.mma.cta_group::N.kind.collector::a::use [d], [a], b, i, accumulate;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_collect`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    mma_collect_tmem_a<G: CtaGroup, K: MmaKind, C: Collector; cta_group G, mma_kind K, collector C>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma" "[{d}], [{a}], {b}, {i}, accumulate";

    /// `tcgen05.mma.sp.cta_group::N.kind [d], a, b, [meta], i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// A is sparse; `meta` says where in tensor memory the positions of its elements are.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    /// 2. `meta` was written by completed operations, and is not written until completion was observed.
    mma_sp<G: CtaGroup, K: MmaKind; cta_group G, mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i) = "tcgen05.mma.sp" "[{d}], {a}, {b}, [{meta}], {i}, accumulate";

    /// `tcgen05.mma.sp.cta_group::N.kind [d], [a], b, [meta], i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_sp`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. `meta` was written by completed operations, and is not written until completion was observed.
    mma_sp_tmem_a<G: CtaGroup, K: MmaKind; cta_group G, mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i) = "tcgen05.mma.sp" "[{d}], [{a}], {b}, [{meta}], {i}, accumulate";

    /// `tcgen05.mma.cta_group::N.kind [d], a, b, i, accumulate, SCALE;` PTX 8.6, sm_100f.
    ///
    /// D = A·B + D·2⁻ˢᶜᵃˡᵉ.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    /// 2. `SCALE` is at most 15.
    mma_scaled<G: CtaGroup, K: Scalable [SCALE]; cta_group G, mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma" "[{d}], {a}, {b}, {i}, accumulate, {SCALE}";

    /// `tcgen05.mma.cta_group::N.kind [d], [a], b, i, accumulate, SCALE;` PTX 8.6, sm_100f.
    ///
    /// [`mma_scaled`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. `SCALE` is at most 15.
    mma_scaled_tmem_a<G: CtaGroup, K: Scalable [SCALE]; cta_group G, mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma" "[{d}], [{a}], {b}, {i}, accumulate, {SCALE}";

    /// `tcgen05.mma.cta_group::N.kind.ashift [d], [a], b, i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// The rows of A, all but the last, are shifted down by one.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. M is 128 or 256.
    mma_ashift<G: CtaGroup, K: MmaKind; cta_group G, mma_kind K, text ".ashift">(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma" "[{d}], [{a}], {b}, {i}, accumulate";

    /// `tcgen05.mma.cta_group::N.kind.block_scale.size [d], a, b, i, [sfa], [sfb], accumulate;` PTX 8.6,
    /// sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX 8.8.
    ///
    /// Each block of A and of B has a factor of its own; they lie in tensor memory, at `sfa` and `sfb`.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    /// 2. The factors were written by completed operations, and are not written until completion was observed.
    mma_block_scale<G: CtaGroup, K: BlockKind; cta_group G, block_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i, sfa: Addr<Tmem> = reg32 sfa.raw(), sfb: Addr<Tmem> = reg32 sfb.raw()) = "tcgen05.mma" "[{d}], {a}, {b}, {i}, [{sfa}], [{sfb}], accumulate";

    /// `tcgen05.mma.cta_group::N.kind.block_scale.size [d], [a], b, i, [sfa], [sfb], accumulate;` PTX 8.6,
    /// sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX 8.8.
    ///
    /// [`mma_block_scale`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. The factors were written by completed operations, and are not written until completion was observed.
    mma_block_scale_tmem_a<G: CtaGroup, K: BlockKind; cta_group G, block_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i, sfa: Addr<Tmem> = reg32 sfa.raw(), sfb: Addr<Tmem> = reg32 sfb.raw()) = "tcgen05.mma" "[{d}], [{a}], {b}, {i}, [{sfa}], [{sfb}], accumulate";

    /// `tcgen05.mma.sp.cta_group::N.kind.block_scale.size [d], a, b, [meta], i, [sfa], [sfb], accumulate;`
    /// PTX 8.6, sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX 8.8.
    ///
    /// Block-scaled and sparse.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    /// 2. The factors and `meta` were written by completed operations, and are not written until completion was observed.
    mma_sp_block_scale<G: CtaGroup, K: BlockKind; cta_group G, block_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i, sfa: Addr<Tmem> = reg32 sfa.raw(), sfb: Addr<Tmem> = reg32 sfb.raw()) = "tcgen05.mma.sp" "[{d}], {a}, {b}, [{meta}], {i}, [{sfa}], [{sfb}], accumulate";

    /// `tcgen05.mma.sp.cta_group::N.kind.block_scale.size [d], [a], b, [meta], i, [sfa], [sfb],
    /// accumulate;` PTX 8.6, sm_100f, sm_110f; `.kind::mxf4nvf4`: PTX 8.7; `.block16` and `.block32`: PTX
    /// 8.8.
    ///
    /// [`mma_sp_block_scale`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. The factors and `meta` were written by completed operations, and are not written until completion was observed.
    mma_sp_block_scale_tmem_a<G: CtaGroup, K: BlockKind; cta_group G, block_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i, sfa: Addr<Tmem> = reg32 sfa.raw(), sfb: Addr<Tmem> = reg32 sfb.raw()) = "tcgen05.mma.sp" "[{d}], [{a}], {b}, [{meta}], {i}, [{sfa}], [{sfb}], accumulate";

    /// `tcgen05.mma.ws.cta_group::1.kind [d], a, b, i, accumulate;` PTX 8.6, sm_100f, sm_110f; `.kind::i8`:
    /// PTX 8.6, sm_100a, sm_110a.
    ///
    /// Weight-stationary: B stays in the collector, for small M.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    mma_ws<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma.ws" "[{d}], {a}, {b}, {i}, accumulate";

    /// `tcgen05.mma.ws.cta_group::1.kind [d], [a], b, i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_ws`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    mma_ws_tmem_a<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma.ws" "[{d}], [{a}], {b}, {i}, accumulate";

    /// `tcgen05.mma.ws.sp.cta_group::1.kind [d], a, b, [meta], i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Weight-stationary and sparse.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    /// 2. `meta` was written by completed operations, and is not written until completion was observed.
    mma_ws_sp<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i) = "tcgen05.mma.ws.sp" "[{d}], {a}, {b}, [{meta}], {i}, accumulate";

    /// `tcgen05.mma.ws.sp.cta_group::1.kind [d], [a], b, [meta], i, accumulate;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_ws_sp`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    /// 2. `meta` was written by completed operations, and is not written until completion was observed.
    mma_ws_sp_tmem_a<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, meta: Addr<Tmem> = reg32 meta.raw(), i: u32 = reg32 i) = "tcgen05.mma.ws.sp" "[{d}], [{a}], {b}, [{meta}], {i}, accumulate";

    /// `tcgen05.mma.ws.cta_group::1.kind.collector::bN::use [d], a, b, i, accumulate;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Says what becomes of B in one of the four collector buffers.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    mma_ws_collect<K: MmaKind, U: Buffer, C: Collector; text ".cta_group::1", mma_kind K, buffer U, collector_of C>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma.ws" "[{d}], {a}, {b}, {i}, accumulate";

    /// `tcgen05.mma.ws.cta_group::1.kind.collector::bN::use [d], [a], b, i, accumulate;` PTX 8.6, sm_100f,
    /// sm_110f; `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_ws_collect`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    mma_ws_collect_tmem_a<K: MmaKind, U: Buffer, C: Collector; text ".cta_group::1", mma_kind K, buffer U, collector_of C>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i) = "tcgen05.mma.ws" "[{d}], [{a}], {b}, {i}, accumulate";

    /// `tcgen05.mma.ws.cta_group::1.kind [d], a, b, i, accumulate, columns;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// Columns of B that `columns`, a zero-column descriptor, names count as zero.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma`](super::tcgen05::mma).
    mma_ws_zero_columns<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: u64 = reg64 a, b: u64 = reg64 b, i: u32 = reg32 i, columns: u64 = reg64 columns) = "tcgen05.mma.ws" "[{d}], {a}, {b}, {i}, accumulate, {columns}";

    /// `tcgen05.mma.ws.cta_group::1.kind [d], [a], b, i, accumulate, columns;` PTX 8.6, sm_100f, sm_110f;
    /// `.kind::i8`: PTX 8.6, sm_100a, sm_110a.
    ///
    /// [`mma_ws_zero_columns`] with A in tensor memory.
    ///
    /// ISA: *tcgen05.mma*. Can break B1, D4, D5, D6, D7, D10, D11, D14.
    ///
    /// # Safety
    /// 1. As for [`mma_tmem_a`](super::tcgen05::mma_tmem_a).
    mma_ws_zero_columns_tmem_a<K: MmaKind; text ".cta_group::1", mma_kind K>(d: Addr<Tmem> = reg32 d.raw(), a: Addr<Tmem> = reg32 a.raw(), b: u64 = reg64 b, i: u32 = reg32 i, columns: u64 = reg64 columns) = "tcgen05.mma.ws" "[{d}], [{a}], {b}, {i}, accumulate, {columns}";
}

/// `tcgen05.mma.cta_group::1.kind [d], a, b, i, {m…}, accumulate;` PTX 8.6, sm_100f, sm_110f; `.kind::i8`:
/// PTX 8.6, sm_100a, sm_110a.
///
/// Lanes of D whose bit in `lanes` is set are not written.
///
/// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
///
/// # Safety
/// 1. As for [`mma`](super::tcgen05::mma).
#[inline(always)]
pub unsafe fn mma_disable_lanes<K: MmaKind>(
    d: Addr<Tmem>,
    a: u64,
    b: u64,
    i: u32,
    lanes: [u32; 4],
    accumulate: bool,
) {
    device! {
        macro_rules! emit {
            ($kind:literal) => {
                asm!(
                    "{{",
                    ".reg .pred accumulate;",
                    "setp.ne.b32 accumulate, {accumulate}, 0;",
                    concat!("tcgen05.mma.cta_group::1", $kind, " [{d}], {a}, {b}, {i}, {{{m0}, {m1}, {m2}, {m3}}}, accumulate;"),
                    "}}",
                    accumulate = in(reg32) accumulate as u32, d = in(reg32) d.raw(), a = in(reg64) a,
                    b = in(reg64) b, i = in(reg32) i, m0 = in(reg32) lanes[0], m1 = in(reg32) lanes[1], m2 = in(reg32) lanes[2], m3 = in(reg32) lanes[3], options(nostack)
                )
            };
        }
        select!(emit [] mma_kind K)
    }
}

/// `tcgen05.mma.cta_group::2.kind [d], a, b, i, {m…}, accumulate;` PTX 8.6, sm_100f, sm_110f; `.kind::i8`:
/// PTX 8.6, sm_100a, sm_110a.
///
/// Lanes of D whose bit in `lanes` is set are not written.
///
/// ISA: *tcgen05.mma*. Can break B1, D5, D6, D7, D10, D11, D14.
///
/// # Safety
/// 1. As for [`mma`](super::tcgen05::mma) with `Group2`.
#[inline(always)]
pub unsafe fn mma_disable_lanes_pair<K: MmaKind>(
    d: Addr<Tmem>,
    a: u64,
    b: u64,
    i: u32,
    lanes: [u32; 8],
    accumulate: bool,
) {
    device! {
        macro_rules! emit {
            ($kind:literal) => {
                asm!(
                    "{{",
                    ".reg .pred accumulate;",
                    "setp.ne.b32 accumulate, {accumulate}, 0;",
                    concat!("tcgen05.mma.cta_group::2", $kind, " [{d}], {a}, {b}, {i}, {{{m0}, {m1}, {m2}, {m3}, {m4}, {m5}, {m6}, {m7}}}, accumulate;"),
                    "}}",
                    accumulate = in(reg32) accumulate as u32, d = in(reg32) d.raw(), a = in(reg64) a,
                    b = in(reg64) b, i = in(reg32) i, m0 = in(reg32) lanes[0], m1 = in(reg32) lanes[1], m2 = in(reg32) lanes[2], m3 = in(reg32) lanes[3], m4 = in(reg32) lanes[4], m5 = in(reg32) lanes[5], m6 = in(reg32) lanes[6], m7 = in(reg32) lanes[7], options(nostack)
                )
            };
        }
        select!(emit [] mma_kind K)
    }
}
