//! A fence with an ordering that no fence has.

use baton::ptx::fence::fence;
use baton::scope::Gpu;
use baton::sem::Relaxed;

fn publish() {
    fence::<Relaxed, Gpu>();
}

fn main() {
    let _: fn() = publish;
}
