//! States and ways of one's own, by the traits that say what they are.

use baton::path::{State, Way};

enum Mine {}

impl State for Mine {}
impl Way for Mine {}

fn main() {}
