//! A fence that orders what precedes it before what other threads see.

use baton::ptx::fence::fence;
use baton::scope::Gpu;
use baton::sem::Release;

fn publish() {
    fence::<Release, Gpu>();
}

fn main() {
    let _: fn() = publish;
}
