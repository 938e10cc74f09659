//! Opens a stage that threads hand back.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(thread: &mut Issuer<'k>, read: &mut ReadEnd<'k>) {
    let _ = read.wait(thread).open(thread);
}

fn main() {
    let _ = multiply;
}
