//! Products whose type says of instructions what was not done.

use baton::ptx::wgmma::pair;
use baton::wgmma::{Beside, Commits, Continues, Groups, InShared, Opened};

type Kind = InShared<pair::Bf16>;

fn under_way() -> Opened<Kind, ()> {
    Continues::open(())
}

fn commit(open: Opened<Kind, ()>) {
    let _ = Commits::commit(open, ());
    let _ = Groups::with((), ());
    let _ = Beside::beside((), ());
}

fn main() {}
