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

const FIRST: u32 = <Overlapping as Layout>::BYTES;
const SECOND: u32 = <Exchanged as Layout>::BYTES;

fn main() {
    let _ = (FIRST, SECOND);
}
