//! Does in one thread what the library does for its set, and votes at its barrier.

use baton::held::{HandsOn, Held};
use baton::path::Handed;
use baton::prelude::*;
use baton::protocol::Unlock;
use baton::token::Role;

fn lead(w: &mut Warp<'_, Role<0>>) -> bool {
    w.lead(|| baton::println!("one of them"));
    w.barrier_any(true)
}

fn by_a_bound<S: Set>(set: &mut S) -> bool {
    set.lead(|| baton::println!("one of them"));
    set.barrier_any(true)
}

fn unlock<P: HandsOn>(next: P) {
    next.hand_on();
    next.settle();
}

fn main() {
    let _: fn(Held<u32, Warp<'_, Role<0>>, Handed, Unlock<Gpu>>) = |_| {};
}
