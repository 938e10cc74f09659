//! Warps whose lanes do not part, though it takes a closer look to see it.

use baton::global::TheWarp;
use baton::prelude::*;

use crate::for_a_warp;

for_a_warp! {
    /// A flag that is set in a branch that all take.
    remembered_flag |me, input, n, out| {
        let mut pending = false;
        for at in 0..n {
            if input.get(at as u64) > 3 {
                me.barrier();
                if me.lane() == 0 {
                    out += input.get(7)
                }
                pending = true
            } else {
                me.barrier()
            }
        }
        if pending {
            me.barrier();
            out += 1
        }
    }

    /// An array of each lane that holds the same in all.
    array_of_equal_words |me, input, n, out| {
        let mut kept = [0u32; 16];
        for at in 0..n {
            kept[(at % 16) as usize] = input.get(at as u64)
        }
        for _ in 0..kept[(n / 3 % 16) as usize] {
            out += me.sum(1u32)
        }
    }

    /// Refused though right: two arrays on the stack, of which one holds the same in all lanes. The analysis knows the stack as
    /// one cell.
    equal_words_beside_own |me, input, n, out| {
        let mut equal = [0u32; 16];
        let mut own = [0u32; 16];
        for at in 0..n {
            equal[(at % 16) as usize] = input.get(at as u64);
            own[(at % 16) as usize] = input.get((at + me.lane()) as u64)
        }
        for _ in 0..equal[(n / 3 % 16) as usize] {
            out += me.sum(own[(n / 5 % 16) as usize])
        }
    }

    /// A butterfly leaves one sum in all lanes.
    butterfly |me, input, n, out| {
        let mut sum = input.get(me.lane() as u64);
        let mut distance = 16;
        while distance > 0 {
            sum += me.shfl_xor(sum, distance);
            distance /= 2
        }
        if sum > 9 {
            me.barrier();
            out = sum
        }
    }

    /// Arms by a parameter.
    arms_by_parameter |me, input, n, out| {
        match n {
            0 => me.barrier(),
            1 => out = me.sum(1u32),
            2 => out = me.shfl(me.lane(), 3),
            3 => {
                me.barrier();
                out = 4
            }
            4 => out = me.ballot(me.lane() > 3),
            5 => out = me.shfl_up(me.lane(), 3),
            _ => (),
        }
    }

    /// Lanes go two ways and bring the same count.
    one_count_by_two_ways |me, input, n, out| {
        let rounds = if input.get(me.lane() as u64) == 2 {
            out = 5;
            n
        } else {
            n
        };
        for _ in 0..rounds {
            me.barrier()
        }
    }

    /// Lanes part in many ways inside a loop that all run equally often.
    apart_in_a_loop |me, input, n, out| {
        for at in 0..n {
            if me.lane() > at {
                if input.get((at + me.lane()) as u64) > 2 {
                    out += 1;
                    continue;
                }
                out += 2
            } else {
                out += 3
            }
        }
        me.barrier();
        for from in 0..n {
            out += me.shfl(out, from)
        }
    }

    /// A count that goes up in a branch that all take.
    counted_in_an_arm |me, input, n, out| {
        let mut even = 0u32;
        for at in 0..n {
            if input.get(at as u64) % 2 == 0 {
                even += 1
            }
        }
        for _ in 0..even {
            me.barrier()
        }
    }
}

baton::shared! {
    pub struct OneWarp in one_warp { words: Stages<2, Linear<u32, 32>, ByThreads, ByThreads> }
}

/// Where barriers lie is computed in both arms of the branch that initialises them.
#[baton::kernel(threads = 32)]
pub fn ring_of_one_warp(cta: Cta<'_, OneWarp, 32>, out: GlobalPtr<u32>) -> Exit<'_> {
    let mut mine = out.partition(&cta);
    let (mut cta, one_warp::Parts { words, .. }) = cta.claim();
    let (mut filling, mut draining) = words.split();
    filling.acquire(&mut cta).fill(&mut cta, |i| i).publish(&mut cta);
    let stage = draining.wait(&mut cta);
    mine.put(0, stage.get(31));
    stage.release(&mut cta);
    filling.acquire(&mut cta).fill(&mut cta, |i| i).publish(&mut cta);
    draining.wait(&mut cta).release(&mut cta);
    cta.join().exit(())
}
