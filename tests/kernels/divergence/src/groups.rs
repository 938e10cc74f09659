//! A warpgroup whose warps part.

use baton::global::TheWarpgroup;
use baton::prelude::*;

use crate::for_a_group;

for_a_group! {
    /// Wrong: one warp of four comes.
    one_warp_of_four |me, input, n, out| {
        if me.warp_index() == 1 {
            me.barrier() // meets
        }
    }

    /// Wrong: what a shuffle answers is of one warp.
    shuffled_in_each_warp |me, input, n, out| {
        let rounds = me.shfl(input.get(me.rank() as u64), 0); // differs
        for _ in 0..rounds { // branch
            me.barrier(); // meets
            out += 1
        }
    }

    /// Wrong: so is what a vote answers.
    voted_in_each_warp |me, input, n, out| {
        if me.any(input.get(me.rank() as u64) > 4) { // branch
            me.barrier(); // meets
            out = 1
        }
    }

    /// Wrong: more and more of the group come.
    ranks_below |me, input, n, out| {
        for round in 0..n {
            if me.rank() < 32 * round { // branch
                me.barrier(); // meets
                out += 1
            }
        }
    }

    /// A collective of one warp.
    warp_by_itself |me, input, n, out| {
        if me.warp_index() == 1 {
            out = me.shfl(n + me.rank(), 3)
        }
        me.barrier();
    }

    /// Each warp as often as its number.
    warps_count_apart |me, input, n, out| {
        for round in 0..me.warp_index() {
            out += me.shfl(n + me.rank(), round)
        }
        me.barrier();
    }

    /// Each warp as often as its first word says, with collectives of the warp.
    sums_of_each_warp |me, input, n, out| {
        let rounds = me.shfl(input.get(me.rank() as u64), 0);
        for _ in 0..rounds {
            out += me.sum(3u32)
        }
        me.barrier();
    }
}
