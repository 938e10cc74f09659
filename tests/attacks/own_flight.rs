//! A kind of instructions that follows every other, and what is under way in a type of one's own.

use baton::ptx::wgmma::pair;
use baton::token::{Role, Warpgroup};
use baton::wgmma::{Beside, Commits, Continues, FollowedBy, Groups, InShared, Kind, Waits};

struct Mine;

impl Kind for Mine {}
impl FollowedBy<Mine> for InShared<pair::Bf16> {}
impl Continues<Mine> for () {
    type Groups = ();
    type A = ();
}
impl<G> Commits<G> for Mine {
    type Next = ();
}
impl Beside<Mine> for (Mine, Mine) {
    type All = ();
}
impl Groups for Mine {
    type With<G> = ();
}
impl<'k> Waits<Warpgroup<'k, Role<0>>, 0> for Mine {
    type State = baton::path::Settled;
    type Rest = ();
    type Done = ();
}

fn main() {}
