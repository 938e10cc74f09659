//! Opens a stage that `tcgen05.mma` hands back.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut Issuer<'k>, right: &mut RightEnd<'k>) {
    right.wait(thread).open(thread).release_by_commit(thread);
}

fn main() {
    let _ = multiply;
}
