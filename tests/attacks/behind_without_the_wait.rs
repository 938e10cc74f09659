//! What is there behind the wait for the previous grid, without the wait.

use baton::global::ReadOnly;
use baton::previous::MayDepend;

fn read(input: ReadOnly<f32>) -> f32 {
    MayDepend::behind(input).get(0)
}

fn main() {}
