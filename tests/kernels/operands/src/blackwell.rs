//! Products into tensor memory.

use baton::global::TheWarpgroup;
use baton::pair_accumulator::PairAccs;
use baton::prelude::*;
use baton::stages::ByPairMma;
use baton::tensor_stages::TensorStages;

baton::shared! {
    /// Of `tensor_resident`.
    pub struct Resident in resident_parts {
        a: Stages<1, Tile<bf16, 128, 128>, ByBulk, ByMma>,
        b: Stages<2, Tile<bf16, 64, 128>, ByBulk, ByMma>,
        acc: Accs<2, 128, 32>,
    }
}

/// `blocks` blocks of 128 rows of A, each loaded once and multiplied by both halves of `tiles` tiles of 64 rows of B; writes each product.
#[baton::kernel(threads = 192)]
pub fn tensor_resident(
    cta: Cta<'_, Resident, 192>,
    a: TensorMap<Tile<bf16, 128, 128>>,
    b: TensorMap<Tile<bf16, 64, 128>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    blocks: u32,
    tiles: u32,
) -> Exit<'_> {
    let (cta, resident_parts::Parts { a: left, b: right, acc, .. }) = cta.claim();
    let (mut load_a, mut left) = left.split();
    let (mut load_b, mut right) = right.split();
    let (mut sums, mut results, tensor) = acc.split();
    let (mut joined, (drained, (a_loaded, b_loaded), issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..2 * blocks * tiles {
                let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                let (acc, values) = acc.ld::<32>(&mut wg, 0).wait_ld(&mut wg);
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
                for value in values {
                    if let Some(mut place) = mine.next() {
                        place.put(value);
                    }
                }
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for block in 0..blocks as i32 {
                    load_a.acquire(&mut t).load(&mut t, a.at(128 * block, 0));
                    for tile in 0..tiles as i32 {
                        load_b.acquire(&mut t).load(&mut t, b.at(64 * tile, 0));
                    }
                }
                (load_a.finish(&mut t), load_b.finish(&mut t))
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                for _ in 0..blocks {
                    let a = left.wait(&mut t).open(&mut t);
                    for _ in 0..tiles {
                        let b = right.wait(&mut t).open(&mut t);
                        let mut acc = sums.acquire(&mut t);
                        acc.mma_of(&mut t, a.operand(), b.operand().rows::<0, 32>());
                        acc.commit(&mut t);
                        let mut acc = sums.acquire(&mut t);
                        acc.mma_of(&mut t, a.operand(), b.operand().rows::<32, 32>());
                        acc.commit(&mut t);
                        b.release_by_commit(&mut t);
                    }
                    a.release_by_commit(&mut t);
                }
                sums.finish(&mut t)
            })
        }),
    ));
    let closed = tensor.dealloc(&mut joined, issued, drained);
    joined.exit((a_loaded, b_loaded, closed))
}

/// One CTA's 128 rows of A.
type PairA = Tile<bf16, 128, 64>;
/// Its half of the rows of B.
type PairB = Tile<bf16, 32, 64>;

baton::shared! {
    /// Of `pair_resident`.
    pub struct PairResident in pair_parts {
        a: Stages<1, PairA, ByBulk, ByPairMma>,
        b: Stages<2, PairB, ByBulk, ByPairMma>,
        acc: PairAccs<2, 64>,
    }
}

/// Of a pair of CTAs: 256 rows of A, loaded once, by `tiles` tiles of 64 rows of B, of which each loads 32; each CTA writes its 128 rows.
#[baton::kernel(threads = 192, cluster = 2)]
pub fn pair_resident(
    cta: Cta<'_, PairResident, 192>,
    a: TensorMap<PairA>,
    b: TensorMap<PairB>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    tiles: u32,
) -> Exit<'_> {
    let leader = cta.pair_leader();
    let rank = cta.cluster_rank().0 as i32;
    let (cta, pair_parts::Parts { a: left, b: right, acc, .. }) = cta.claim();
    let (mut load_a, mut left) = left.split();
    let (mut load_b, mut right) = right.split();
    let (mut sums, mut results, memory) = acc.split();
    let (joined, (drained, (a_loaded, b_loaded), issued)) = cta.roles((
        warpgroup(move |mut wg| {
            let mut mine = output.partition(&wg).into_iter();
            for _ in 0..tiles {
                let acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                let (acc, values) = acc.ld::<64>(&mut wg, 0).wait_ld(&mut wg);
                acc.fence_before_thread_sync(&mut wg).release(&mut wg);
                for value in values {
                    if let Some(mut place) = mine.next() {
                        place.put(value);
                    }
                }
            }
            results.finish(&mut wg)
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                load_a.acquire(&mut t).load(&mut t, a.at(128 * rank, 0));
                for tile in 0..tiles as i32 {
                    load_b.acquire(&mut t).load(&mut t, b.at(64 * tile + 32 * rank, 0));
                }
                (load_a.finish(&mut t), load_b.finish(&mut t))
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                if let Some(leader) = leader {
                    let a = left.wait_for_both(&mut t, leader).open(&mut t);
                    for _ in 0..tiles {
                        let b = right.wait_for_both(&mut t, leader).open(&mut t);
                        let mut acc = sums.acquire(&mut t, leader);
                        acc.mma_of(&mut t, a.operand(), b.operand());
                        acc.commit(&mut t);
                        b.release_by_commit(&mut t);
                    }
                    a.release_by_commit(&mut t);
                }
                sums.finish(&mut t)
            })
        }),
    ));
    let mut joined = joined.join_peers();
    let closed = memory.dealloc(&mut joined, issued, drained);
    joined.exit((a_loaded, b_loaded, closed))
}

macro_rules! majors {
    ($($(#[$doc:meta])* $name:ident in $module:ident, $parts:ident: $a:ty, $b:ty, $cols:literal, [$($of_a:tt)*] [$($of_b:tt)*], $k:literal by $ka:tt $kb:tt;)*) => {$(
        baton::shared! {
            $(#[$doc])*
            pub struct $module in $parts {
                a: Stages<2, $a, ByBulk, ByMma>,
                b: Stages<2, $b, ByBulk, ByMma>,
                acc: Accs<1, 128, $cols>,
            }
        }

        $(#[$doc])*
        #[baton::kernel(threads = 192)]
        pub fn $name(
            cta: Cta<'_, $module, 192>,
            a: TensorMap<$a>,
            b: TensorMap<$b>,
            output: GlobalPtr<f32, TheWarpgroup<0>>,
            steps: u32,
        ) -> Exit<'_> {
            let (cta, $parts::Parts { a: left, b: right, acc, .. }) = cta.claim();
            let (mut load_a, mut left) = left.split();
            let (mut load_b, mut right) = right.split();
            let (mut sums, mut results, tensor) = acc.split();
            let (mut joined, (drained, (a_loaded, b_loaded), issued)) = cta.roles((
                warpgroup(move |mut wg| {
                    let mut mine = output.partition(&wg).into_iter();
                    let mut acc = results.wait(&mut wg).fence_after_thread_sync(&mut wg);
                    let mut col = 0;
                    while col < $cols {
                        let (loaded, values) = acc.ld::<16>(&mut wg, col).wait_ld(&mut wg);
                        acc = loaded;
                        for value in values {
                            if let Some(mut place) = mine.next() {
                                place.put(value);
                            }
                        }
                        col += 16;
                    }
                    acc.fence_before_thread_sync(&mut wg).release(&mut wg);
                    results.finish(&mut wg)
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
                warp(move |w| {
                    w.elect(move |mut t| {
                        let mut acc = sums.acquire(&mut t);
                        for _ in 0..steps {
                            let a = left.wait(&mut t).open(&mut t);
                            let b = right.wait(&mut t).open(&mut t);
                            acc.mma_of(&mut t, a.operand()$($of_a)*, b.operand()$($of_b)*);
                            a.release_by_commit(&mut t);
                            b.release_by_commit(&mut t);
                        }
                        acc.commit(&mut t);
                        sums.finish(&mut t)
                    })
                }),
            ));
            let closed = tensor.dealloc(&mut joined, issued, drained);
            joined.exit((a_loaded, b_loaded, closed))
        }
    )*};
    (@at $map:ident $k:ident col) => { $map.at(0, $k) };
    (@at $map:ident $k:ident row) => { $map.at($k, 0) };
}
majors! {
    /// A as it is, B read transposed, in four panels: 128 × 256.
    tensor_turned_b in TurnedB, turned_b_parts: Tile<bf16, 128, 64>, Tile<bf16, 64, 256>, 256, [] [.transposed()], 64 by col row;
    /// The second half of A's rows, read transposed, by B as it is: 128 × 48.
    tensor_turned_a in TurnedA, turned_a_parts: Tile<bf16, 64, 256>, Tile<bf16, 48, 64>, 48, [.transposed().rows::<128, 128>()] [], 64 by row col;
    /// A by the last 80 of B's rows, both read transposed: 128 × 80, with 32 of K in a stage.
    tensor_turned_both in TurnedBoth, turned_both_parts: Tile<bf16, 32, 128>, Tile<bf16, 32, 256>, 80, [.transposed()] [.transposed().rows::<128, 80>()], 32 by row row;
}

/// Rows of K and of V in a step.
pub const STEP: usize = 64;

baton::shared! {
    /// Of `through_tensor_memory`: tensor memory of three shapes.
    pub struct Through in through_parts {
        q: Stages<1, Tile<bf16, 128, 64>, ByBulk, ByMma>,
        k: Stages<2, Tile<bf16, STEP, 64>, ByBulk, ByMma>,
        v: Stages<2, Tile<bf16, STEP, 128>, ByBulk, ByMma>,
        s: Accs<2, 128, STEP>,
        p: TensorStages<2, bf16, STEP>,
        o: Accs<1, 128, 128>,
    }
}

/// What a thread makes of a sum of the first product: a small integer.
pub fn p(sum: f32) -> f32 {
    ((16.0 * sum) as i32 & 3) as f32 - 1.0
}

/// As attention, with [`p`] in the place of the softmax: O is the sum over `steps` steps of `p(Q · Kᵀ) · V`. Q is loaded once, P comes from
/// threads through tensor memory, and V is read as it lies.
#[baton::kernel(threads = 192)]
pub fn through_tensor_memory(
    cta: Cta<'_, Through, 192>,
    q: TensorMap<Tile<bf16, 128, 64>>,
    k: TensorMap<Tile<bf16, STEP, 64>>,
    v: TensorMap<Tile<bf16, STEP, 128>>,
    output: GlobalPtr<f32, TheWarpgroup<0>>,
    steps: u32,
) -> Exit<'_> {
    let (cta, through_parts::Parts { q: qs, k: ks, v: vs, s: ss, p: ps, o: os, .. }) = cta.claim();
    let (mut load_q, mut qs) = qs.split();
    let (mut load_k, mut ks) = ks.split();
    let (mut load_v, mut vs) = vs.split();
    let (mut s_in, mut s_out, s_memory) = ss.split();
    let (mut p_in, mut p_out, p_memory) = ps.split();
    let (mut o_in, mut o_out, o_memory) = os.split();
    let (mut joined, (drained, loaded, issued)) = cta.roles((
        warpgroup(move |mut wg| {
            for _ in 0..steps {
                let s = s_out.wait(&mut wg).fence_after_thread_sync(&mut wg);
                let (s, sums) = s.ld::<STEP>(&mut wg, 0).wait_ld(&mut wg);
                s.fence_before_thread_sync(&mut wg).release(&mut wg);
                let value = |i: u32| bf16::from_f32(p(sums[i as usize]));
                let stage = p_in.acquire(&mut wg);
                let stage = stage.st::<16>(&mut wg, 0, value).wait_st(&mut wg);
                let stage = stage.st::<16>(&mut wg, 32, value).wait_st(&mut wg);
                stage.fence_before_thread_sync(&mut wg).publish(&mut wg);
            }
            let mut mine = output.partition(&wg).into_iter();
            let o = o_out.wait(&mut wg).fence_after_thread_sync(&mut wg);
            let (o, values) = o.ld::<128>(&mut wg, 0).wait_ld(&mut wg);
            o.fence_before_thread_sync(&mut wg).release(&mut wg);
            for value in values {
                if let Some(mut place) = mine.next() {
                    place.put(value);
                }
            }
            (s_out.finish(&mut wg), p_in.finish(&mut wg), o_out.finish(&mut wg))
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                load_q.acquire(&mut t).load(&mut t, q.at(0, 0));
                for step in 0..steps as i32 {
                    load_k.acquire(&mut t).load(&mut t, k.at(STEP as i32 * step, 0));
                    load_v.acquire(&mut t).load(&mut t, v.at(STEP as i32 * step, 0));
                }
                (load_q.finish(&mut t), load_k.finish(&mut t), load_v.finish(&mut t))
            })
        }),
        warp(move |w| {
            w.elect(move |mut t| {
                let q = qs.wait(&mut t).open(&mut t);
                let mut o = o_in.acquire(&mut t);
                for step in 0..steps + 1 {
                    if step < steps {
                        let k = ks.wait(&mut t).open(&mut t);
                        let mut s = s_in.acquire(&mut t);
                        s.mma_of(&mut t, q.operand(), k.operand());
                        s.commit(&mut t);
                        k.release_by_commit(&mut t);
                    }
                    if step > 0 {
                        let p = p_out.wait(&mut t).open(&mut t);
                        let v = vs.wait(&mut t).open(&mut t);
                        o.mma_of(&mut t, p.operand(), v.operand().transposed());
                        p.release_by_commit(&mut t);
                        v.release_by_commit(&mut t);
                    }
                }
                o.commit(&mut t);
                q.release_by_commit(&mut t);
                (s_in.finish(&mut t), p_out.finish(&mut t), o_in.finish(&mut t))
            })
        }),
    ));
    let (q, k, v) = loaded;
    let s = s_memory.dealloc(&mut joined, issued.0, drained.0);
    let p = p_memory.dealloc(&mut joined, issued.1, drained.1);
    let o = o_memory.dealloc(&mut joined, issued.2, drained.2);
    joined.exit((q, k, v, s, p, o))
}
