//! The words of one launch in a second, which would find what the first left.

use baton::launch::{Call, SyncWords};
use baton::prelude::*;
use baton::protocol::GridExchange;

#[baton::kernel(threads = 32)]
pub fn wait(cta: Cta<'_, NoShared, 32>, cells: GridExchange<u32>) -> Exit<'_> {
    drop(cells);
    let (cta, ()) = cta.claim();
    cta.join().exit(())
}

type Slice<'a> = baton::launch::DeviceSliceMut<'a, u32>;

fn twice<'a>(word: SyncWords<'a, 1>, [a, b, c, d]: [Slice<'a>; 4]) -> [Call<'a>; 2] {
    [wait((word, a, b)), wait((word, c, d))]
}

fn main() {}
