//! Throws the registers of A away while the instructions read them, and has others in their place.

#[path = "../fixture/fragment.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, a: A<'k>) {
    let stage = stages.wait(wg);
    let sum = Sum::new(wg);
    let (sum, (_, stage)) = a.mma_async(wg, sum, stage);
    let other = A::new(wg, |_, _| bf16::from_f32(1.0));
    let (_, stage) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
    let _ = other;
}

fn main() {
    let _ = multiply;
}
