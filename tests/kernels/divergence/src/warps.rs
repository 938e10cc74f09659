//! A warp whose lanes part.

use baton::global::TheWarp;
use baton::prelude::*;

use crate::for_a_warp;

for_a_warp! {
    /// Wrong: one lane alone comes to the barrier.
    barrier_of_one_lane |me, input, n, out| {
        if me.lane() == 0 { // branch
            me.barrier() // meets
        }
    }

    /// Wrong: each lane comes as often as its number says.
    barrier_by_lane_count |me, input, n, out| {
        for _ in 0..me.lane() { // branch
            me.barrier(); // meets
        }
    }

    /// Wrong: the lower half shuffles.
    shuffle_of_a_half |me, input, n, out| {
        if me.lane() < 16 { // branch
            out = me.shfl(n, 3) // meets
        }
    }

    /// Wrong: a lane that read zero skips the sum.
    skipped_round |me, input, n, out| {
        for round in 0..n {
            let word = input.get((32 * round + me.lane()) as u64); // differs
            if word == 0 { // branch
                continue;
            }
            out += me.sum(word); // meets
        }
    }

    /// Wrong: what a lane read for itself decides.
    by_a_word_of_its_own |me, input, n, out| {
        let word = input.get(me.lane() as u64); // differs
        if word > 3 { // branch
            me.barrier(); // meets
        }
    }

    /// Wrong: two trip counts in one warp.
    two_trip_counts |me, input, n, out| {
        let rounds = if me.lane() < 16 { 3 } else { 4 };
        for round in 0..rounds { // branch
            out += me.shfl(5 * round + me.lane(), round) // meets
        }
    }

    /// Wrong: the last lane stays away.
    all_lanes_but_one |me, input, n, out| {
        if me.lane() != 31 { // branch
            out = me.shfl_down(n + me.lane(), 1) // meets
        }
    }

    /// Wrong: a table answers odd and even lanes differently.
    from_a_table |me, input, n, out| {
        let rounds = [3u32, 4][(me.lane() % 2) as usize];
        for _ in 0..rounds { // branch
            me.barrier(); // meets
            out += 1
        }
    }

    /// Wrong: each lane in its turn.
    in_turn |me, input, n, out| {
        for turn in 0..n {
            if turn == me.lane() { // branch
                me.barrier(); // meets
                out += turn
            }
        }
    }

    /// Wrong: a lane leaves the loop when its number comes.
    leaves_in_turn |me, input, n, out| {
        for turn in 0..n {
            me.barrier(); // meets
            if turn == me.lane() { // branch
                break;
            }
            out += turn
        }
    }

    /// Wrong: lanes whose first condition fails do not vote.
    vote_behind_and |me, input, n, out| {
        let small = input.get(me.lane() as u64) < 5; // differs
        if small && me.any(n > 3) { // meets
            out = 1
        }
    }

    /// Wrong: each lane works until its own number is one.
    until_own_end |me, input, n, out| {
        let mut number = input.get(me.lane() as u64);
        while number != 1 { // branch
            number = if number & 1 == 0 { number / 2 } else { number * 3 + 1 };
            out += me.sum(1u32); // meets
        }
    }

    /// Wrong: arms by quarter of the warp.
    arms_by_lane |me, input, n, out| {
        match me.lane() / 8 { // branch
            0 => me.barrier(),
            1 => out = 4,
            2 => out = me.shfl(n, 1),
            _ => out = 3,
        }
    }

    /// Wrong: what the neighbour read decides.
    by_the_neighbours_word |me, input, n, out| {
        let word = me.shfl_xor(input.get(me.lane() as u64), 1);
        if word == 3 { // branch
            me.barrier() // meets
        }
    }

    /// Wrong: the own bit of a ballot.
    own_bit_of_a_ballot |me, input, n, out| {
        let votes = me.ballot(input.get(me.lane() as u64) > 2);
        if votes >> me.lane() & 1 == 1 { // branch
            me.barrier() // meets
        }
    }

    /// Wrong: a lane stops to look when it has found something, and remembers that.
    found_or_not |me, input, n, out| {
        let mut found = false;
        for at in 0..n {
            if input.get_nc((at + me.lane()) as u64) == 9 {
                found = true;
                break;
            }
        }
        if found {
            me.barrier() // meets
        }
    }

    /// Wrong: the smaller of a count and the lane.
    at_most_the_lane |me, input, n, out| {
        for _ in 0..n.min(me.lane()) { // branch
            out += me.sum(1u32) // meets
        }
    }

    /// Wrong: a lane leaves two loops at once.
    leaves_two_loops |me, input, n, out| {
        'rows: for row in 0..n {
            for column in 0..n {
                if input.get((row * n + column + me.lane()) as u64) == 0 {
                    break 'rows;
                }
            }
            me.barrier(); // meets
            out += 1
        }
    }

    /// Wrong: what each lane kept in an array of its own.
    from_an_array_of_its_own |me, input, n, out| {
        let mut kept = [0u32; 16];
        for round in 0..n {
            kept[(round % 16) as usize] = input.get((32 * round + me.lane()) as u64)
        }
        for _ in 0..kept[(n / 3 % 16) as usize] { // branch
            out += me.sum(1u32) // meets
        }
    }

    /// What the warp voted is one for all.
    by_a_ballot |me, input, n, out| {
        if me.ballot(input.get(me.lane() as u64) > 4) != 0 {
            me.barrier();
            out = 1
        }
    }

    /// One lane's word, shuffled to all.
    by_a_shuffled_word |me, input, n, out| {
        let word = input.get(me.lane() as u64);
        for _ in 0..me.shfl(word, 7) {
            me.barrier();
            out += 1
        }
    }

    /// All read one word.
    by_one_word |me, input, n, out| {
        for _ in 0..input.get(3) {
            me.barrier();
            out += 1
        }
    }

    /// Lanes work apart, and meet again before the barrier.
    apart_in_between |me, input, n, out| {
        if me.lane() == 0 {
            out = input.get(0)
        }
        me.barrier();
        out += if me.lane() < n { 2 } else { 3 };
        me.barrier();
    }

    /// A loop of each lane's length, with nothing in it.
    own_loop_before |me, input, n, out| {
        for at in 0..me.lane() {
            out += input.get(at as u64)
        }
        me.barrier();
        out = me.shfl(out, 3);
    }

    /// An assertion about each lane's word: who fails it stops everything.
    asserted |me, input, n, out| {
        for round in 0..n {
            baton::assert!(input.get((32 * round + me.lane()) as u64) < 9);
            me.barrier();
        }
    }

    /// As many rounds as lanes voted.
    as_many_as_voted |me, input, n, out| {
        let rounds = me.ballot(input.get(me.lane() as u64) > 4).count_ones();
        for _ in 0..rounds {
            out += me.shfl(out + me.lane(), 1)
        }
    }

    /// A loop that all leave when all are done.
    until_all_are_done |me, input, n, out| {
        let mut number = input.get(me.lane() as u64);
        loop {
            if me.all(number == 1) {
                break;
            }
            if number != 1 {
                number = if number & 1 == 0 { number / 2 } else { number * 3 + 1 };
                out += 1
            }
        }
    }

    /// The lane's number divided by more than it can be.
    nothing_of_the_lane |me, input, n, out| {
        for _ in 0..(me.lane() / 32 + n) {
            me.barrier();
            out += 1
        }
    }

    /// Strides of a warp, with lanes beyond the end that add nothing.
    strides |me, input, n, out| {
        let mut first = 0u64;
        while first < input.len() {
            let own = first + me.lane() as u64;
            let word = if own < input.len() { input.get(own) } else { 0 };
            out += me.sum(word);
            first += 32
        }
    }

    /// The lane to shuffle from is read, and one for all.
    from_a_lane_that_was_read |me, input, n, out| {
        let from = input.get(1);
        for _ in 0..me.shfl(3 * me.lane(), from) {
            me.barrier();
            out += 1
        }
    }

    /// The sum of a warp decides.
    by_a_sum |me, input, n, out| {
        let sum = me.sum(input.get(me.lane() as u64));
        if sum > 3 {
            me.barrier();
            out = sum
        } else {
            out = me.shfl(sum, 0)
        }
    }

    /// All leave when one wants to.
    leaves_by_a_vote |me, input, n, out| {
        for round in 0..n {
            let done = input.get((32 * round + me.lane()) as u64) == 0;
            if me.any(done) {
                break;
            }
            out += me.sum(round)
        }
    }

    /// A first round that is different, for all.
    first_round |me, input, n, out| {
        let mut first = true;
        for round in 0..n {
            if !first {
                me.barrier()
            }
            if me.lane() == round {
                out = round
            }
            first = false;
            me.barrier();
        }
    }
}
