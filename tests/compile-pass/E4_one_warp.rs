//! The warpgroup does.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(wg: &mut Threads<'k>) {
    let _ = Product::<[f32; 64], _>::new(wg);
}

fn main() {
    let _ = multiply;
}
