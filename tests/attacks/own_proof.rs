//! A proof of one's own, which closes a field and takes the place of the others.

use baton::layout::{Proof, Proofs};

struct Nothing;

impl Proof for Nothing {
    type Before<Rest: Proofs> = ();
}
impl Proofs for Nothing {
    type With<First> = ();
}

fn main() {}
