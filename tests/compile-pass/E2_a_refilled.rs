//! The registers of A are filled again behind the wait.

#[path = "../fixture/fragment.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>, stages: &mut Operands<'k>, a: A<'k>) {
    let stage = stages.wait(wg);
    let sum = Sum::new(wg);
    let (sum, stage) = a.mma_async(wg, sum, stage);
    let (_, (a, stage)) = sum.commit_group(wg, stage).wait_group::<0, _>(wg);
    stage.release(wg);
    let _ = a.fill(wg, |_, _| bf16::from_f32(1.0));
}

fn main() {
    let _ = multiply;
}
