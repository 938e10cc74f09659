//! A fact about a state of the library.

use baton::path::{AfterThreadSync, Observed};

impl AfterThreadSync for Observed {}

fn main() {}
