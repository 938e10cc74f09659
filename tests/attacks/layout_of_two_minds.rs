//! Layouts that are not the same in both builds, or whose names mean two things.
#![allow(unused_imports)]

use baton::prelude::*;

baton::shared! {
    pub struct Sometimes in sometimes {
        #[cfg(target_arch = "nvptx64")]
        small: Exchange<u32, 32>,
        large: Exchange<u32, 64>,
    }
}

baton::shared! {
    #[cfg_attr(target_arch = "nvptx64", repr(C))]
    pub struct Changed in changed { large: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Hides<tags: Tags> in tags { one: Exchange<u32, 64>, two: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Twice<one: Clone> in twice { one: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Named in named { Parts: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Empty in empty {}
}

baton::shared! {
    pub struct Same in same { one: Exchange<u32, 64>, one: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Bounded<T> where for<'a> &'a T: Copy in bounded { one: Exchange<u32, 64> }
}

baton::shared! {
    pub struct Constant<const N: Number> in constant { one: Exchange<u32, N> }
}

fn main() {}
