//! A fence that leads to a state about which everything is true.

use baton::path::{HasContents, ProxyFence};

enum Anything {}

impl HasContents for Anything {}
impl ProxyFence for Anything {
    type Fenced = Anything;
}

fn main() {}
