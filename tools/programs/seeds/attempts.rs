//! A chain of two rings: bulk copies fill the first, a warp moves each stage to the second, another warp writes it out.
use baton::global::TheWarp;
use baton::prelude::*;

baton::shared! {
    /// Two rings.
    pub struct Smem in smem {
        incoming: Stages<2, Tile<u32, 8, 32>, ByBulk, ByThreads>,
        turned: Stages<2, Linear<u32, 256>, ByThreads, ByThreads>,
    }
}

/// Turns `rounds` tiles round.
#[baton::kernel(threads = 96)]
pub fn attempts(
    cta: Cta<'_, Smem, 96>,
    input: TensorMap<Tile<u32, 8, 32>>,
    output: GlobalPtr<u32, TheWarp<2>>,
    rounds: u32,
) -> Exit<'_> {
    let (cta, smem::Parts { incoming, turned, .. }) = cta.claim();
    let (mut loads, mut stages) = incoming.split();
    let (mut filling, mut draining) = turned.split();
    let (joined, (loaded, (), ())) = cta.roles((
        warp(move |w| {
            w.elect(move |mut t| {
                for round in 0..rounds as i32 {
                    loads.acquire(&mut t).load(&mut t, input.at(8 * round, 0));
                }
                loads.finish(&mut t)
            })
        }),
        warp(move |mut w| {
            for _ in 0..rounds {
                let from = stages.wait(&mut w);
                let to = filling.acquire(&mut w).fill(&mut w, |i| from.get(255 - i));
                from.fence_proxy_async(&mut w).release(&mut w);
                to.sync(&mut w).publish(&mut w);
            }
        }),
        warp(move |mut w| {
            let mut mine = output.partition(&w).into_iter();
            for _ in 0..rounds {
                let stage = draining.wait(&mut w);
                for row in 0..8 {
                    if let Some(mut place) = mine.next() {
                        place.put(stage.get(32 * row + w.lane()));
                    }
                }
                stage.release(&mut w);
            }
        }),
    ));
    joined.exit((loaded,))
}
