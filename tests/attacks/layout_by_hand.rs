//! The macro behind `shared!`, given what `shared!` does not give it: one index for two fields, an attribute that takes the
//! tags away, and tokens that end its `unsafe impl` to begin another.

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

baton::__baton_layout! {
    pub Elsewhere { [] [] [] } #[cfg(false)] elsewhere
    0 first: Exchange<u32, 32>, "" [] { [] [] [] };
}

baton::__baton_layout! {
    pub Ended { [> Send for Holds {} struct Rest<] [] [] } #[doc = ""] ended
    0 first: Exchange<u32, 32>, "" [] { [] [] [] };
}

struct Holds(*mut u32);

fn main() {}
