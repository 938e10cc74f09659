//! Stage data whose elements lie outside the stage.

use baton::tile::{Elements, StageData};

struct Beyond;

impl StageData for Beyond {
    const BYTES: u32 = 4;
    const ALIGN: u32 = 4;
}

impl Elements for Beyond {
    type Element = u32;
    const LEN: u32 = 1;
    fn byte_offset(_: u32) -> u32 {
        1 << 20
    }
}

fn main() {}
