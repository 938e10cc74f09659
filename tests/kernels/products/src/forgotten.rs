//! What the types do not see and the builder refuses: a product, and copies, that are forgotten while they are under way.

use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::{Fragment, Product};

use crate::b;

baton::shared! {
    /// Up to four steps, of which no stage comes back.
    pub struct Forgotten in forgetting { b: Stages<4, Tile<bf16, 16, 64>, ByThreads, ByWgmma> }
}

/// Forgets products in flight, and puts other values into the registers that their instructions write and read (rule E2).
/// `with_bf16` waits in each round.
#[baton::kernel(threads = 160, no_stack)]
pub fn forgotten(
    cta: Cta<'_, Forgotten, 160>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    steps: u32,
) -> Exit<'_> {
    let (cta, forgetting::Parts { b: parts, .. }) = cta.claim();
    let (mut filling, mut stages) = parts.split();
    let (joined, _) = cta.roles((
        warpgroup(move |mut wg| {
            let mut step = 0;
            let product = loop {
                let value = |row, col| bf16::from_f32((row + col + step) as f32);
                let a = Fragment::<bf16, _, 4>::new(&mut wg, value);
                let stage = stages.wait(&mut wg);
                let product = Product::<[f32; 8], _>::new(&mut wg);
                let (product, stage) = a.mma_async(&mut wg, product, stage); // Forgotten below.
                let product = product.commit_group(&mut wg, stage);
                step += 1;
                if step == steps {
                    break product;
                }
                core::mem::forget(product);
            };
            let (product, (_, stage)) = product.wait_group::<0, _>(&mut wg);
            stage.release(&mut wg);
            output.partition(&wg).put(0, product.values()[0]);
        }),
        warp(move |mut w| {
            for _ in 0..steps {
                let value = |i: u32| bf16::from_f32(b(i) as f32);
                let stage = filling.acquire(&mut w).fill(&mut w, value);
                stage.fence_proxy_async(&mut w).publish(&mut w);
            }
        }),
    ));
    joined.exit(())
}

baton::shared! {
    /// A stage that nobody hands on.
    pub struct Copied in copying { words: Stages<1, Linear<u32, 128>, ByThreads, ByThreads> }
}

/// Forgets a stage while its copies are under way, and exits (rules B8, B9): nobody waits for the stage, and no proof is asked for.
/// Where `waits`, it waits; that is not every way.
#[baton::kernel(threads = 64, no_stack)]
pub fn forgotten_copies(cta: Cta<'_, Copied, 64>, input: ReadOnly<u32>, waits: u32) -> Exit<'_> {
    let (cta, copying::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    let (joined, _) = cta.roles((
        warp(move |mut w| {
            let stage = filling.acquire(&mut w).copy(&mut w, input, |i| i as u64); // Forgotten copies.
            if waits == 1 {
                stage.wait_copies(&mut w).publish(&mut w);
            } else {
                core::mem::forget(stage);
            }
        }),
        warp(move |mut w| {
            if waits == 1 {
                draining.wait(&mut w).release(&mut w);
            }
        }),
    ));
    joined.exit(())
}
