//! One warp of the four begins to multiply.

#[path = "../fixture/hopper.rs"]
mod fixture;
use fixture::*;

fn multiply<'k>(warp: &mut Warp<'k, Role<1>>) {
    Product::<[f32; 64], _>::new(warp);
}

fn main() {
    let _ = multiply;
}
