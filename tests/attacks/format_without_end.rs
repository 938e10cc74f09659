//! A format string with more conversions than arguments, and no NUL.

struct Line;

impl<A: baton::print::Arguments> baton::print::Format<A> for Line {
    const FORMAT: &'static [u8] = b"%s %s %s";
}

fn main() {}
