//! A fence that leads to a state about which everything is true.

use baton::path::{ProxyFence, Written};

enum Anything {}

impl ProxyFence<Anything> for Written {}

fn main() {}
