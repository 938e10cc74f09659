//! Gives the tensor memory of a pair back twice.

use baton::pair::{Pair, PairTensor};
use baton::token::PeersJoined;

baton::shared! {
    pub struct Smem in smem { tensor: Pair<256> }
}

type Joined<'k> = PeersJoined<'k, baton::layout::Claimed<Smem>, 128>;

fn twice<'k>(joined: &mut Joined<'k>, tensor: PairTensor<'k, smem::tensor>) {
    let _closed = tensor.dealloc(joined);
    let _again = tensor.dealloc(joined);
}

fn main() {
    let _ = twice;
}
