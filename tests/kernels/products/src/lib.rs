//! One product of a warpgroup for each type of factors: A · Bᵀ, where A has 64 rows and B 16, each row 128 bytes.
//!
//! Element `i` of A is made of the byte `a(i)`, and of B of `b(i)`; each thread writes the registers that it holds.
#![no_std]

use baton::float::{e4m3, e5m2};
use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::Product;

/// What element `i` of A is made of: small, and not the same in any two rows.
pub const fn a(i: u32) -> u8 {
    ((i / 7 + i % 5) % 6) as u8
}

/// What element `i` of B is made of.
pub const fn b(i: u32) -> u8 {
    ((i / 3 + i % 4) % 5) as u8
}

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident in $module:ident: $element:ty, $k:literal, $sum:ty, $from:expr;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            pub struct $module in $name {
                ab: Stages<1, (Tile<$element, 64, $k>, Tile<$element, 16, $k>), ByThreads, ByWgmma>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            output: GlobalPtr<$sum, TheWarpgroup<0>>,
        ) -> Exit<'_> {
            let (cta, $name::Parts { ab, .. }) = cta.claim();
            let (mut filling, mut stages) = ab.split();
            let (joined, _) = cta.roles((
                warpgroup(move |mut wg| {
                    let product = Product::<[$sum; 8], _>::new(&mut wg).fence(&mut wg);
                    let stage = stages.wait(&mut wg);
                    let (product, stage) = product.mma_async(&mut wg, stage);
                    let product = product.commit_group(&mut wg, stage);
                    let (product, stage) = product.wait_group::<0, _>(&mut wg);
                    stage.release(&mut wg);
                    let mut mine = output.partition(&wg);
                    let mut k = 0;
                    for value in product.values() {
                        mine.put(k, value);
                        k += 1;
                    }
                }),
                warp(move |mut w| {
                    let from: fn(u8) -> $element = $from;
                    let value =
                        |i: u32| from(if i < 64 * $k { a(i) } else { b(i - 64 * $k) });
                    let stage = filling.acquire(&mut w).fill(&mut w, value);
                    stage.fence_proxy_async(&mut w).publish(&mut w);
                }),
            ));
            joined.exit(())
        }
    )*};
}
products! {
    /// bf16 into f32.
    of_bf16 in OfBf16: bf16, 64, f32, |byte| bf16::from_f32(byte as f32);
    /// f16 into f32.
    of_f16 in OfF16: f16, 64, f32, |byte| f16::from_f32(byte as f32);
    /// tf32 into f32.
    of_tf32 in OfTf32: f32, 32, f32, |byte| byte as f32;
    /// u8 into i32: 250 and more.
    of_u8 in OfU8: u8, 128, i32, |byte| 250 + byte;
    /// i8 into i32: also below zero.
    of_i8 in OfI8: i8, 128, i32, |byte| byte as i8 - 3;
    /// e4m3 into f32: 1, 1.125, …
    of_e4m3 in OfE4m3: e4m3, 128, f32, |byte| e4m3::from_bits(0x38 + byte);
    /// e5m2 into f32: 1, 1.25, …
    of_e5m2 in OfE5m2: e5m2, 128, f32, |byte| e5m2::from_bits(0x3c + byte);
}
