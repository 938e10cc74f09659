//! Nothing, as the proof that everything has ended.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use baton::token::{Closes, ProofOf};

impl<'k> Closes<'k, Smem> for () {}
impl<'k> ProofOf<'k, smem::c> for () {}

fn main() {}
