//! A field of a layout that says of itself that it is closed.

use baton::layout::{Base, Field};

struct Open;

impl Field for Open {
    const BYTES: u32 = 8;
    const ALIGN: u32 = 8;
    type Part<'k, Tag> = ();
    type Closed<'k, Tag> = ();
    unsafe fn init(_: Base, _: u32) {}
    unsafe fn part<'k, Tag>(_: Base, _: u32) {}
}

fn main() {}
