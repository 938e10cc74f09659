//! Announces one side a second time while it holds the array.

use baton::prelude::*;
use baton::protocol::Side;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn two<'k>(cta: &mut Threads<'k>, side: &mut Side<u32, Gpu, Threads<'k>>) {
    let first = side.announce(cta).fence_sc::<Gpu, _>(cta).look(cta);
    let second = side.announce(cta).fence_sc::<Gpu, _>(cta).look(cta);
    if let (Some(first), Some(second)) = (first, second) {
        first.release(cta);
        second.release(cta);
    }
}

fn main() {
    let _ = two;
}
