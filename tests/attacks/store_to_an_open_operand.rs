//! Stores to an operand in tensor memory that matrix instructions read.

#[path = "../fixture/operands.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(
    thread: &mut Issuer<'k>,
    wg: &mut Makers<'k>,
    made: &mut TensorConsumer<'k, smem::p, Makers<'k>, 2, bf16, 64>,
) {
    let p = made.wait(thread).open(thread);
    let _ = p.st::<32>(wg, 0, |_| bf16::ZERO);
}

fn main() {
    let _ = multiply;
}
