//! Splits one ring twice.

use baton::prelude::*;
use baton::stages::StagesPart;

type Ring = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;

baton::shared! {
    pub struct Smem in smem { ring: Ring }
}

fn ends<'k, S: Set>(ring: StagesPart<'k, smem::ring, Ring>) {
    let (_fills, _) = ring.split::<S, S, 2>();
    let (_fills_too, _) = ring.split::<S, S, 2>();
}

fn main() {
    let _ = ends::<baton::token::Thread<'static, baton::token::Role<0>>>;
}
