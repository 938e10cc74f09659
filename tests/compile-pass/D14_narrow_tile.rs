//! A tile whose rows are whole spans of its swizzle.

use baton::prelude::*;
use baton::tile::BulkTile;

const BYTES: u32 = <Tile<bf16, 128, 64> as BulkTile>::BYTES;

fn main() {
    assert!(BYTES > 0);
}
