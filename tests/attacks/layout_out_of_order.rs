//! The macro behind `shared!`, given two fields in one place, and two in each other's.

use baton::layout::Layout;
use baton::prelude::*;

baton::__baton_layout! {
    pub Overlapping { [] [] [] } #[doc = ""] overlapping
    0 first: Exchange<u32, 32>, "" [] { [] [] [] };
    0 second: Exchange<u32, 64>, "" [] { [] [] [] };
}

baton::__baton_layout! {
    pub Exchanged { [] [] [] } #[doc = ""] exchanged
    1 first: Exchange<u32, 32>, "" [] { [] [] [] };
    0 second: Exchange<u32, 64>, "" [] { [] [] [] };
}

const BYTES: [u32; 2] = [<Overlapping as Layout>::BYTES, <Exchanged as Layout>::BYTES];

fn main() {
    let _ = BYTES;
}
