//! An array at an address of one's own.

use baton::prelude::*;

fn forge() -> GlobalPtr<u32> {
    GlobalPtr { address: 0, len: u64::MAX, types: core::marker::PhantomData }
}

fn main() {}
