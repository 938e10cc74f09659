//! One product of a warpgroup for each type of factors: A · Bᵀ, where A has 64 rows and B 16, each row 128 bytes.
//!
//! Element `i` of A is made of the byte `a(i)`, and of B of `b(i)`; each thread writes the registers that it holds.
#![no_std]

#[cfg(feature = "forgets")]
mod forgotten;
pub mod stored;

use baton::float::{e4m3, e5m2, f16x2};
use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::{Fragment, Product};

/// What element `i` of A is made of: small, and not the same in any two rows.
pub const fn a(i: u32) -> u8 {
    ((i / 7 + i % 5) % 6) as u8
}

/// What element `i` of B is made of.
pub const fn b(i: u32) -> u8 {
    ((i / 3 + i % 4) % 5) as u8
}

/// The bits of the numbers from 0 to 5 in e4m3: a register, where a table would lie in memory.
const INTEGERS: u64 = 0x4a48_4440_3800;

macro_rules! products {
    ($($(#[$doc:meta])* $name:ident in $module:ident: $element:ty, $k:literal, $sum:ty, $registers:ty, $from:expr;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            pub struct $module in $name {
                ab: Stages<1, (Tile<$element, 64, $k>, Tile<$element, 16, $k>), ByThreads, ByWgmma>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160, no_stack)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            output: GlobalPtr<$sum, TheWarpgroup<0>>,
        ) -> Exit<'_> {
            let (cta, $name::Parts { ab, .. }) = cta.claim();
            let (mut filling, mut stages) = ab.split();
            let (joined, _) = cta.roles((
                warpgroup(move |mut wg| {
                    let product = Product::<$registers, _>::new(&mut wg).fence(&mut wg);
                    let stage = stages.wait(&mut wg);
                    let (product, stage) = product.mma_async(&mut wg, stage);
                    let product = product.commit_group(&mut wg, stage);
                    let (product, stage) = product.wait_group::<0, _>(&mut wg);
                    stage.release(&mut wg);
                    let mut mine = output.partition(&wg);
                    product.for_each(|k, value| mine.put(k.into(), value));
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
    of_bf16 in OfBf16: bf16, 64, f32, [f32; 8], |byte| bf16::from_f32(byte as f32);
    /// f16 into f32.
    of_f16 in OfF16: f16, 64, f32, [f32; 8], |byte| f16::from_f32(byte as f32);
    /// f16 into f16: what it sums are small integers, and exact.
    of_f16_in_f16 in OfF16InF16: f16, 64, f16, [f16x2; 4], |byte| f16::from_f32(byte as f32);
    /// tf32 into f32.
    of_tf32 in OfTf32: f32, 32, f32, [f32; 8], |byte| byte as f32;
    /// u8 into i32: 250 and more.
    of_u8 in OfU8: u8, 128, i32, [i32; 8], |byte| 250 + byte;
    /// i8 into i32: also below zero.
    of_i8 in OfI8: i8, 128, i32, [i32; 8], |byte| byte as i8 - 3;
    /// e4m3 into f32: 1, 1.125, …
    of_e4m3 in OfE4m3: e4m3, 128, f32, [f32; 8], |byte| e4m3::from_bits(0x38 + byte);
    /// e4m3 into f16: 0, 1, 2, …
    of_e4m3_in_f16 in OfE4m3InF16: e4m3, 128, f16, [f16x2; 4], |byte| e4m3::from_bits((INTEGERS >> (8 * byte)) as u8);
    /// e5m2 into f32: 1, 1.25, …
    of_e5m2 in OfE5m2: e5m2, 128, f32, [f32; 8], |byte| e5m2::from_bits(0x3c + byte);
}

macro_rules! mixed {
    ($($(#[$doc:meta])* $name:ident in $module:ident: $a:ty, $b:ty, $sum:ty, $registers:ty;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            pub struct $module in $name {
                ab: Stages<1, (Tile<$a, 64, 128>, Tile<$b, 16, 128>), ByBulk, ByWgmma>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160, no_stack)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            a: TensorMap<Tile<$a, 64, 128>>,
            b: TensorMap<Tile<$b, 16, 128>>,
            output: GlobalPtr<$sum, TheWarpgroup<0>>,
        ) -> Exit<'_> {
            let (cta, $name::Parts { ab, .. }) = cta.claim();
            let (mut loads, mut stages) = ab.split();
            let (joined, (_, loaded)) = cta.roles((
                warpgroup(move |mut wg| {
                    let product = Product::<$registers, _>::new(&mut wg).fence(&mut wg);
                    let stage = stages.wait(&mut wg);
                    let (product, stage) = product.mma_async(&mut wg, stage);
                    let product = product.commit_group(&mut wg, stage);
                    let (product, stage) = product.wait_group::<0, _>(&mut wg);
                    stage.release(&mut wg);
                    let mut mine = output.partition(&wg);
                    product.for_each(|k, value| mine.put(k.into(), value));
                }),
                warp(move |w| {
                    w.elect(move |mut t| {
                        loads.acquire(&mut t).load(&mut t, (a.at(0, 0), b.at(0, 0)));
                        loads.finish(&mut t)
                    })
                }),
            ));
            joined.exit((loaded,))
        }
    )*};
}
mixed! {
    /// e4m3 by e5m2 into f32.
    of_e4m3_e5m2 in OfE4m3E5m2: e4m3, e5m2, f32, [f32; 8];
    /// e5m2 by e4m3 into f32.
    of_e5m2_e4m3 in OfE5m2E4m3: e5m2, e4m3, f32, [f32; 8];
    /// u8 by i8 into i32.
    of_u8_i8 in OfU8I8: u8, i8, i32, [i32; 8];
}

/// Rounds of the products with A in registers.
pub const ROUNDS: u32 = 3;

macro_rules! from_registers {
    ($($(#[$doc:meta])* $name:ident in $module:ident: $a:ty, $b:ty, $k:literal, $steps:literal, $sum:ty, $registers:ty, $from_a:expr, $from_b:expr;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            #[allow(non_camel_case_types)]
            pub struct $module in $name {
                b: Stages<2, Tile<$b, 16, $k>, ByThreads, ByWgmma>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160, no_stack)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            output: GlobalPtr<$sum, TheWarpgroup<0>>,
        ) -> Exit<'_> {
            let (cta, $name::Parts { b: parts, .. }) = cta.claim();
            let (mut filling, mut stages) = parts.split();
            let (joined, _) = cta.roles((
                warpgroup(move |mut wg| {
                    let from: fn(u8) -> $a = $from_a;
                    let mut product = Product::<$registers, _>::new(&mut wg);
                    for round in 0..ROUNDS {
                        // Row by row, all rounds of a row behind each other.
                        let value = |row, col| from(a((row * ROUNDS + round) * $k + col));
                        let fragment = Fragment::<$a, _, $steps>::new(&mut wg, value);
                        let stage = stages.wait(&mut wg);
                        let (issued, stage) = fragment.mma_async(&mut wg, product, stage);
                        let committed = issued.commit_group(&mut wg, stage);
                        let (settled, (_, stage)) = committed.wait_group::<0, _>(&mut wg);
                        stage.release(&mut wg);
                        product = settled;
                    }
                    let mut mine = output.partition(&wg);
                    product.for_each(|k, value| mine.put(k.into(), value));
                }),
                warp(move |mut w| {
                    let from: fn(u8) -> $b = $from_b;
                    for round in 0..ROUNDS {
                        let value = |i: u32| from(b((i / $k * ROUNDS + round) * $k + i % $k));
                        let stage = filling.acquire(&mut w).fill(&mut w, value);
                        stage.fence_proxy_async(&mut w).publish(&mut w);
                    }
                }),
            ));
            joined.exit(())
        }
    )*};
}
from_registers! {
    /// bf16 into f32, A in registers.
    with_bf16 in WithBf16: bf16, bf16, 64, 4, f32, [f32; 8], |byte| bf16::from_f32(byte as f32), |byte| bf16::from_f32(byte as f32);
    /// f16 into f16, A in registers.
    with_f16_in_f16 in WithF16InF16: f16, f16, 64, 4, f16, [f16x2; 4], |byte| f16::from_f32(byte as f32), |byte| f16::from_f32(byte as f32);
    /// tf32 into f32, A in registers.
    with_tf32 in WithTf32: f32, f32, 64, 8, f32, [f32; 8], |byte| byte as f32, |byte| byte as f32;
    /// e4m3 by e5m2 into f32, A in registers.
    with_e4m3_e5m2 in WithE4m3E5m2: e4m3, e5m2, 128, 4, f32, [f32; 8], |byte| e4m3::from_bits(0x38 + byte), |byte| e5m2::from_bits(0x3c + byte);
    /// i8 by u8 into i32, A in registers.
    with_i8_u8 in WithI8U8: i8, u8, 128, 4, i32, [i32; 8], |byte| byte as i8 - 3, |byte| 250 + byte;
}

/// Columns of a product that two CTAs have the second operand of together.
pub const SHARED_COLS: usize = 128;

baton::shared! {
    /// Of `together`.
    pub struct Together in together_parts {
        ab: Stages<3, (Tile<bf16, 64, 64>, ToAll<Tile<bf16, SHARED_COLS, 64>, 2>), ByBulk, ByWgmma>,
    }
}

/// Each CTA of a cluster multiplies its 64 rows of `a` with the columns that both load for each other, `tiles` times, and writes the
/// registers of each product.
#[baton::kernel(threads = 160, no_stack, cluster = 2)]
pub fn together(
    cta: Cta<'_, Together, 160>,
    a: TensorMap<Tile<bf16, 64, 64>>,
    b: TensorMap<Tile<bf16, { SHARED_COLS / 2 }, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    tiles: u32,
    steps: u32,
) -> Exit<'_> {
    let row = 64 * cta.cluster_rank().0 as i32;
    let (cta, together_parts::Parts { ab, .. }) = cta.claim();
    let (mut loads, mut stages) = ab.split();
    let (joined, (_, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..tiles {
                let product = Product::<[f32; SHARED_COLS / 2], _>::new(&mut wg).fence(&mut wg);
                let stage = stages.wait(&mut wg);
                let (product, stage) = product.mma_async(&mut wg, stage);
                let mut product = product.commit_group(&mut wg, stage);
                let mut step = 1;
                while step < steps {
                    let stage = stages.wait(&mut wg);
                    let (next, stage) = product.mma_async(&mut wg, stage);
                    let (next, read) =
                        next.commit_group(&mut wg, stage).wait_group::<1, _>(&mut wg);
                    read.release(&mut wg);
                    product = next;
                    step += 1;
                }
                let (product, read) = product.wait_group::<0, _>(&mut wg);
                read.release(&mut wg);
                product.for_each(|_, value| {
                    if let Some(mut place) = mine.next() {
                        place.put(value);
                    }
                });
            }
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let mut tile = 0;
                while tile < tiles {
                    let mut step = 0;
                    while step < steps {
                        let k = (64 * step) as i32;
                        let from = (a.at(128 * tile as i32 + row, k), b.at(0, k));
                        loads.acquire(&mut t).load(&mut t, from);
                        step += 1;
                    }
                    tile += 1;
                }
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}
