//! Matrices spread over the registers of a warp.
//!
//! `ldmatrix` and `stmatrix` move 8×8 tiles of 16-bit elements between shared memory and the registers
//! that `mma.sync` expects; `mma.sync` multiplies them, synchronously, in registers alone.
//!
//! ISA: *ldmatrix*, *stmatrix*, *movmatrix*, *mma*. Left out: 8-bit tiles, integer, 8-bit, double, sparse and
//! block-scaled `mma.sync`, `wmma`.

use super::addr::{Addr, SharedCta};
use crate::float::f16x2;

mod sealed {
    pub trait Sealed {}
}

/// The registers of one, two or four tiles: `[u32; 1]`, `[u32; 2]` or `[u32; 4]`.
#[diagnostic::on_unimplemented(
    message = "ldmatrix and stmatrix have no form that moves `{Self}`",
    label = "expected `[u32; 1]`, `[u32; 2]` or `[u32; 4]`: one register for each 8×8 tile"
)]
pub trait Tiles: sealed::Sealed + Copy {
    #[doc(hidden)]
    unsafe fn load(addr: Addr<SharedCta>) -> Self;
    #[doc(hidden)]
    unsafe fn load_transposed(addr: Addr<SharedCta>) -> Self;
    #[doc(hidden)]
    unsafe fn store(self, addr: Addr<SharedCta>);
    #[doc(hidden)]
    unsafe fn store_transposed(self, addr: Addr<SharedCta>);
}

macro_rules! tiles {
    ($($n:literal $list:literal: $($r:ident)*;)*) => {$(
        impl sealed::Sealed for [u32; $n] {}
        impl Tiles for [u32; $n] {
            tiles!(@load load "" $n $list $($r)*);
            tiles!(@load load_transposed ".trans" $n $list $($r)*);
            tiles!(@store store "" $n $list $($r)*);
            tiles!(@store store_transposed ".trans" $n $list $($r)*);
        }
    )*};
    (@load $name:ident $trans:literal $n:literal $list:literal $($r:ident)*) => {
        #[inline(always)]
        unsafe fn $name(addr: Addr<SharedCta>) -> Self {
            device! {
                super::anchor();
                $(let $r: u32;)*
                asm!(
                    "//@baton collective ldmatrix",
                    concat!("ldmatrix.sync.aligned.m8n8.x", $n, $trans, ".shared::cta.b16 ", $list, ", [{addr}];"),
                    addr = in(reg32) addr.raw(), $($r = out(reg32) $r,)* options(nostack)
                );
                [$($r),*]
            }
        }
    };
    (@store $name:ident $trans:literal $n:literal $list:literal $($r:ident)*) => {
        #[inline(always)]
        unsafe fn $name(self, addr: Addr<SharedCta>) {
            device! {
                super::anchor();
                let [$($r),*] = self;
                asm!(
                    "//@baton collective stmatrix",
                    concat!("stmatrix.sync.aligned.m8n8.x", $n, $trans, ".shared::cta.b16 [{addr}], ", $list, ";"),
                    addr = in(reg32) addr.raw(), $($r = in(reg32) $r,)* options(nostack)
                )
            }
        }
    };
}

tiles! {
    1 "{{{a}}}": a;
    2 "{{{a}, {b}}}": a b;
    4 "{{{a}, {b}, {c}, {d}}}": a b c d;
}

macro_rules! moves {
    (load: $($(#[$doc:meta])* $name:ident = $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Lane *l* gives the address of row *l* mod 8 of tile *l* / 8, and receives two elements of each tile.
        ///
        /// ISA: *ldmatrix*. Can break A9, A13, B6, F1.
        ///
        /// # Safety
        /// 1. A whole converged warp executes it.
        /// 2. Each row's 16 bytes are aligned to 16, live and initialised, and nobody writes them at the same time.
        #[inline(always)]
        pub unsafe fn $name<R: Tiles>(addr: Addr<SharedCta>) -> R {
            // SAFETY: the obligations are those of this function.
            unsafe { R::$method(addr) }
        }
    )*};
    (store: $($(#[$doc:meta])* $name:ident = $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// The inverse of the load.
        ///
        /// ISA: *stmatrix*. Can break A9, A13, B1, B7, F1.
        ///
        /// # Safety
        /// 1. A whole converged warp executes it.
        /// 2. Each row's 16 bytes are aligned to 16, live and writable, and nobody else accesses them at the same
        ///    time.
        #[inline(always)]
        pub unsafe fn $name<R: Tiles>(addr: Addr<SharedCta>, registers: R) {
            // SAFETY: the obligations are those of this function.
            unsafe { registers.$method(addr) }
        }
    )*};
}

moves! { load:
    /// `ldmatrix.sync.aligned.m8n8.xN.shared::cta.b16 r, [a];` PTX 6.5, sm_75.
    ldmatrix = load;
    /// `ldmatrix.sync.aligned.m8n8.xN.trans.shared::cta.b16 r, [a];` PTX 6.5, sm_75. Each tile transposed.
    ldmatrix_trans = load_transposed;
}
moves! { store:
    /// `stmatrix.sync.aligned.m8n8.xN.shared::cta.b16 [a], r;` PTX 7.8, sm_90.
    stmatrix = store;
    /// `stmatrix.sync.aligned.m8n8.xN.trans.shared::cta.b16 [a], r;` PTX 7.8, sm_90. Each tile transposed.
    stmatrix_trans = store_transposed;
}

/// `movmatrix.sync.aligned.m8n8.trans.b16 d, a;` PTX 7.8, sm_75.
///
/// An 8×8 tile of 16-bit elements, transposed among the registers of the warp.
///
/// ISA: *movmatrix*. Can break F1.
///
/// # Safety
/// 1. A whole converged warp executes it.
#[inline(always)]
pub unsafe fn movmatrix_trans(tile: u32) -> u32 {
    device! {
        super::anchor();
        let transposed: u32;
        asm!(
            "//@baton collective movmatrix",
            "movmatrix.sync.aligned.m8n8.trans.b16 {}, {};",
            out(reg32) transposed, in(reg32) tile, options(nomem, nostack)
        );
        transposed
    }
}

/// The products differ in mnemonic and in how many registers A and B have.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident($element:ident $from:expr, $to:expr; $d:literal $dn:literal [$($dr:ident)*], $a:literal $an:literal [$($ar:ident)*], $b:literal $bn:literal [$($br:ident)*]) = $text:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// D = A·B + D, in the fragments that the ISA draws.
        ///
        /// ISA: *mma*. Can break F1.
        ///
        /// # Safety
        /// 1. A whole converged warp executes it.
        #[inline(always)]
        pub unsafe fn $name(d: [$element; $dn], a: [u32; $an], b: [u32; $bn]) -> [$element; $dn] {
            device! {
                super::anchor();
                let to: fn($element) -> u32 = $to;
                let from: fn(u32) -> $element = $from;
                let [$($dr),*] = d;
                $(let mut $dr = to($dr);)*
                let [$($ar),*] = a;
                let [$($br),*] = b;
                asm!(
                    "//@baton collective mma.sync",
                    concat!("mma.sync.aligned.", $text, " ", $d, ", ", $a, ", ", $b, ", ", $d, ";"),
                    $($dr = inout(reg32) $dr,)* $($ar = in(reg32) $ar,)* $($br = in(reg32) $br,)*
                    options(nomem, nostack)
                );
                [$(from($dr)),*]
            }
        }
    )*};
}

products! {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k16_f32_f16(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}, {a2}, {a3}}}" 4 [a0 a1 a2 a3], "{{{b0}, {b1}}}" 2 [b0 b1]) = "m16n8k16.row.col.f32.f16.f16.f32";
    /// `mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 d, a, b, d;` PTX 6.5, sm_75.
    mma_m16n8k8_f32_f16(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}}}" 2 [a0 a1], "{{{b0}}}" 1 [b0]) = "m16n8k8.row.col.f32.f16.f16.f32";
    /// `mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k16_f16_f16(f16x2 f16x2::from_bits, f16x2::to_bits; "{{{d0}, {d1}}}" 2 [d0 d1],
        "{{{a0}, {a1}, {a2}, {a3}}}" 4 [a0 a1 a2 a3], "{{{b0}, {b1}}}" 2 [b0 b1]) = "m16n8k16.row.col.f16.f16.f16.f16";
    /// `mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 d, a, b, d;` PTX 6.5, sm_75.
    mma_m16n8k8_f16_f16(f16x2 f16x2::from_bits, f16x2::to_bits; "{{{d0}, {d1}}}" 2 [d0 d1],
        "{{{a0}, {a1}}}" 2 [a0 a1], "{{{b0}}}" 1 [b0]) = "m16n8k8.row.col.f16.f16.f16.f16";
    /// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k16_f32_bf16(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}, {a2}, {a3}}}" 4 [a0 a1 a2 a3], "{{{b0}, {b1}}}" 2 [b0 b1]) = "m16n8k16.row.col.f32.bf16.bf16.f32";
    /// `mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k8_f32_bf16(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}}}" 2 [a0 a1], "{{{b0}}}" 1 [b0]) = "m16n8k8.row.col.f32.bf16.bf16.f32";
    /// `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k8_f32_tf32(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}, {a2}, {a3}}}" 4 [a0 a1 a2 a3], "{{{b0}, {b1}}}" 2 [b0 b1]) = "m16n8k8.row.col.f32.tf32.tf32.f32";
    /// `mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 d, a, b, d;` PTX 7.0, sm_80.
    mma_m16n8k4_f32_tf32(f32 f32::from_bits, f32::to_bits; "{{{d0}, {d1}, {d2}, {d3}}}" 4 [d0 d1 d2 d3],
        "{{{a0}, {a1}}}" 2 [a0 a1], "{{{b0}}}" 1 [b0]) = "m16n8k4.row.col.f32.tf32.tf32.f32";
}
