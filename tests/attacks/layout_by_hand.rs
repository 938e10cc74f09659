//! The macro behind `shared!`, given what `shared!` does not give it: an attribute that takes the tags away, and tokens that end its
//! `unsafe impl` to begin another.
#![allow(unused_imports)]

use baton::prelude::*;

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
