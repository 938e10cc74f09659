//! Products of a warpgroup.

use baton::global::TheWarpgroup;
use baton::prelude::*;
use baton::wgmma::{Fragment, Product};

/// Two warpgroups drain a ring together.
type Two = (ByWgmma, ByWgmma);

baton::shared! {
    /// Of `resident`.
    pub struct Resident in resident_parts {
        a: Stages<1, Tile<bf16, 128, 128>, ByBulk, Two>,
        b: Stages<3, Tile<bf16, 48, 128>, ByBulk, Two>,
    }
}

macro_rules! half {
    ($half:literal, $a:ident, $b:ident, $output:ident, $blocks:ident, $tiles:ident) => {
        warpgroup(move |mut wg| {
            let mut mine = $output.partition(&wg).into_iter();
            for _ in 0..$blocks {
                let a = $a.wait(&mut wg).open(&mut wg);
                for _ in 0..$tiles {
                    let b = $b.wait(&mut wg).open(&mut wg);
                    let product = Product::<[f32; 24], _>::new(&mut wg).fence(&mut wg);
                    let rows = a.operand().rows::<{ 64 * $half }, 64>();
                    let product = product.mma_async_of(&mut wg, rows, b.operand());
                    let product = product.commit_group(&mut wg, b);
                    let (product, b) = product.wait_group::<0, _>(&mut wg);
                    b.release(&mut wg);
                    product.for_each(|_, value| {
                        if let Some(mut place) = mine.next() {
                            place.put(value);
                        }
                    });
                }
                a.wait_reads(&mut wg).release(&mut wg);
            }
        })
    };
}

/// `blocks` blocks of 128 rows of A, each loaded once and multiplied by `tiles` tiles of 48 rows of B; each warpgroup has 64 of the rows, and
/// writes the registers of each product.
#[baton::kernel(threads = 288)]
pub fn resident(
    cta: Cta<'_, Resident, 288>,
    a: TensorMap<Tile<bf16, 128, 128>>,
    b: TensorMap<Tile<bf16, 48, 128>>,
    upper: GlobalPtr<f32, TheWarpgroup<0>>,
    lower: GlobalPtr<f32, TheWarpgroup<1>>,
    blocks: u32,
    tiles: u32,
) -> Exit<'_> {
    let (cta, resident_parts::Parts { a: left, b: right, .. }) = cta.claim();
    let (mut load_a, (mut a0, mut a1)) = left.split_among();
    let (mut load_b, (mut b0, mut b1)) = right.split_among();
    let (joined, (_, _, (a_loaded, b_loaded))) = cta.roles((
        half!(0, a0, b0, upper, blocks, tiles),
        half!(1, a1, b1, lower, blocks, tiles),
        warp(move |w| {
            w.elect(move |mut t| {
                for block in 0..blocks as i32 {
                    load_a.acquire(&mut t).load(&mut t, a.at(128 * block, 0));
                    for tile in 0..tiles as i32 {
                        load_b.acquire(&mut t).load(&mut t, b.at(48 * tile, 0));
                    }
                }
                (load_a.finish(&mut t), load_b.finish(&mut t))
            })
        }),
    ));
    joined.exit((a_loaded, b_loaded))
}

baton::shared! {
    /// Of `summed`.
    pub struct Summed in summed_parts {
        a: Stages<2, Tile<bf16, 64, 64>, ByBulk, ByWgmma>,
        b: Stages<3, (Tile<bf16, 64, 64>, Tile<bf16, 64, 64>), ByThreads, ByWgmma>,
    }
}

/// A sum over `steps` stages of both rings, two groups under way: A comes by copies, and is multiplied by the sum of the two tiles that a warp
/// writes for each step. Both stages go back by one group.
#[baton::kernel(threads = 192)]
pub fn summed(
    cta: Cta<'_, Summed, 192>,
    a: TensorMap<Tile<bf16, 64, 64>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    steps: u32,
) -> Exit<'_> {
    let (cta, summed_parts::Parts { a: left, b: right, .. }) = cta.claim();
    let (mut loads, mut left) = left.split();
    let (mut fills, mut right) = right.split();
    let (joined, (_, loaded, _)) = cta.roles((
        warpgroup(move |mut wg| {
            let product = Product::<[f32; 32], _>::new(&mut wg).fence(&mut wg);
            let a = left.wait(&mut wg).open(&mut wg);
            let b = right.wait(&mut wg).open(&mut wg);
            let (one, two) = b.operands();
            let product = product.mma_async_of(&mut wg, a.operand(), one);
            let product = product.mma_async_of(&mut wg, a.operand(), two);
            let mut product = product.commit_group(&mut wg, (a, b));
            for _ in 1..steps {
                let a = left.wait(&mut wg).open(&mut wg);
                let b = right.wait(&mut wg).open(&mut wg);
                let (one, two) = b.operands();
                let next = product.mma_async_of(&mut wg, a.operand(), one);
                let next = next.mma_async_of(&mut wg, a.operand(), two);
                let next = next.commit_group(&mut wg, (a, b));
                let (next, (a, b)) = next.wait_group::<1, _>(&mut wg);
                a.release(&mut wg);
                b.release(&mut wg);
                product = next;
            }
            let (product, (a, b)) = product.wait_group::<0, _>(&mut wg);
            a.release(&mut wg);
            b.release(&mut wg);
            let mut mine = output.partition(&wg);
            product.for_each(|k, value| mine.put(k.into(), value));
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for step in 0..steps as i32 {
                    loads.acquire(&mut t).load(&mut t, a.at(0, 64 * step));
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            for step in 0..steps {
                let value = |i: u32| bf16::from_f32(crate::hopper::b(i, step));
                let stage = fills.acquire(&mut w).fill(&mut w, value);
                stage.fence_proxy_async(&mut w).publish(&mut w);
            }
        }),
    ));
    joined.exit((loaded,))
}

/// Element `i` of the two tiles that a warp of `summed` writes.
pub const fn b(i: u32, step: u32) -> f32 {
    ((i / 3 + i % 5 + step) % 7) as f32 - 3.0
}

macro_rules! majors {
    ($($(#[$doc:meta])* $name:ident in $module:ident, $parts:ident: $a:ty, $b:ty, [f32; $len:literal], [$($of_a:tt)*] [$($of_b:tt)*], $k:literal by $ka:tt $kb:tt;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            pub struct $module in $parts {
                a: Stages<2, $a, ByBulk, ByWgmma>,
                b: Stages<2, $b, ByBulk, ByWgmma>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 160)]
        pub fn $name(
            cta: Cta<'_, $module, 160>,
            a: TensorMap<$a>,
            b: TensorMap<$b>,
            output: GlobalPtr<f32, TheWarpgroup<0>>,
            steps: u32,
        ) -> Exit<'_> {
            let (cta, $parts::Parts { a: left, b: right, .. }) = cta.claim();
            let (mut load_a, mut left) = left.split();
            let (mut load_b, mut right) = right.split();
            let (joined, (_, (a_loaded, b_loaded))) = cta.roles((
                warpgroup(move |mut wg| {
                    let mut product = Product::<[f32; $len], _>::new(&mut wg);
                    for _ in 0..steps {
                        let a = left.wait(&mut wg).open(&mut wg);
                        let b = right.wait(&mut wg).open(&mut wg);
                        let fenced = product.fence(&mut wg);
                        let issued = fenced.mma_async_of(&mut wg, a.operand()$($of_a)*, b.operand()$($of_b)*);
                        let (settled, (a, b)) =
                            issued.commit_group(&mut wg, (a, b)).wait_group::<0, _>(&mut wg);
                        a.release(&mut wg);
                        b.release(&mut wg);
                        product = settled;
                    }
                    let mut mine = output.partition(&wg);
                    product.for_each(|k, value| mine.put(k.into(), value));
                }),
                warp(move |w| {
                    w.elect(move |mut t| {
                        for step in 0..steps as i32 {
                            let k = $k * step;
                            load_a.acquire(&mut t).load(&mut t, majors!(@at a k $ka));
                            load_b.acquire(&mut t).load(&mut t, majors!(@at b k $kb));
                        }
                        (load_a.finish(&mut t), load_b.finish(&mut t))
                    })
                }),
            ));
            joined.exit((a_loaded, b_loaded))
        }
    )*};
    (@at $map:ident $k:ident col) => { $map.at(0, $k) };
    (@at $map:ident $k:ident row) => { $map.at($k, 0) };
}
majors! {
    /// A as it is, B read transposed, in three panels: 64 × 192.
    turned_b in TurnedB, turned_b_parts: Tile<bf16, 64, 64>, Tile<bf16, 64, 192>, [f32; 96], [] [.transposed()], 64 by col row;
    /// The second half of A's rows, read transposed, by B as it is: 64 × 72.
    turned_a in TurnedA, turned_a_parts: Tile<bf16, 64, 128>, Tile<bf16, 72, 64>, [f32; 36], [.transposed().rows::<64, 64>()] [], 64 by row col;
    /// The first half of A's rows by the last 72 of B's, both read transposed: 64 × 72, with 32 of K in a stage.
    turned_both in TurnedBoth, turned_both_parts: Tile<bf16, 32, 128>, Tile<bf16, 32, 256>, [f32; 36], [.transposed().rows::<0, 64>()] [.transposed().rows::<128, 72>()], 32 by row row;
}

/// Rows of B that `fragments` multiplies by in each step.
pub const DEPTH: usize = 64;

baton::shared! {
    /// Of `fragments`.
    pub struct Fragments in fragments_parts { b: Stages<3, Tile<bf16, DEPTH, 128>, ByBulk, ByWgmma> }
}

/// Element (`row`, `col`) of A in step `step`.
pub const fn a(row: u32, col: u32, step: u32) -> f32 {
    ((row / 2 + 3 * col + 5 * step) % 7) as f32 - 3.0
}

/// A sum over `steps` steps of A, which the threads make and hold in registers, by 64 rows of B, which is read transposed. Two fragments go into
/// each group, each made and multiplied while others are under way.
#[baton::kernel(threads = 160)]
pub fn fragments(
    cta: Cta<'_, Fragments, 160>,
    b: TensorMap<Tile<bf16, DEPTH, 128>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    steps: u32,
) -> Exit<'_> {
    let (cta, fragments_parts::Parts { b: parts, .. }) = cta.claim();
    let (mut loads, mut stages) = parts.split();
    let (joined, (_, loaded)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut product = Product::<[f32; 64], _>::new(&mut wg);
            for step in 0..steps {
                let even = 2 * step;
                let one = Fragment::<bf16, _, 4>::new(&mut wg, |row, col| {
                    bf16::from_f32(a(row, col, even))
                });
                let first = stages.wait(&mut wg).open(&mut wg);
                let under_way = one.mma_async_of(&mut wg, product, first.operand().transposed());
                let two = Fragment::<bf16, _, 4>::new(&mut wg, |row, col| {
                    bf16::from_f32(a(row, col, even + 1))
                });
                let second = stages.wait(&mut wg).open(&mut wg);
                let under_way = two.mma_async_of(&mut wg, under_way, second.operand().transposed());
                let group = under_way.commit_group(&mut wg, (first, second));
                let (settled, (_, (_, (first, second)))) = group.wait_group::<0, _>(&mut wg);
                first.release(&mut wg);
                second.release(&mut wg);
                product = settled;
            }
            let mut mine = output.partition(&wg);
            product.for_each(|k, value| mine.put(k.into(), value));
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for step in 0..2 * steps as i32 {
                    loads.acquire(&mut t).load(&mut t, b.at(DEPTH as i32 * step, 0));
                }
                loads.finish(&mut t)
            })
        }),
    ));
    joined.exit((loaded,))
}
