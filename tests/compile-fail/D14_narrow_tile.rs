//! A tile whose rows are shorter than its swizzle.

use baton::prelude::*;
use baton::tile::BulkTile;

const BYTES: u32 = <Tile<bf16, 128, 32> as BulkTile>::BYTES;

fn main() {
    assert!(BYTES > 0);
}
