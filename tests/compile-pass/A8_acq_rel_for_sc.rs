//! The fence between the announcement and the look is in the one order of all such fences.

use baton::prelude::*;
use baton::protocol::Side;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn add<'k>(cta: &mut Threads<'k>, side: &mut Side<u32, Gpu, Threads<'k>>) {
    if let Some(held) = side.announce(cta).fence_sc::<Gpu, _>(cta).look(cta) {
        held.update(cta, |_, old| old + 1).release(cta);
    }
}

fn main() {
    let _ = add;
}
