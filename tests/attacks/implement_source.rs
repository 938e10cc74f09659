//! A source that fills a stage without filling it.

use baton::stages::Fills;

struct Nothing;

impl<D> Fills<D> for Nothing {
    const BYTES: u32 = 0;
    unsafe fn begin(self, _: baton::layout::Base, _: baton::layout::Base) {}
}

fn main() {}
