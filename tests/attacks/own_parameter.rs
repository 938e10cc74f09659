//! A kernel parameter of one's own, which says for itself what the host passes and that it is the same behind the wait.

use baton::launch::{KernelParam, Params};
use baton::previous::MayDepend;

struct Mine;

impl KernelParam for Mine {
    type Host<'a> = u64;
    fn push(host: u64, params: &mut Params) {
        params.push_bytes(&host.to_le_bytes());
    }
}

impl MayDepend for Mine {
    type Behind = Mine;
    fn behind(self) -> Mine {
        self
    }
}

fn main() {}
