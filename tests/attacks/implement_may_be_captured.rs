//! Tokens that say that they may be captured.

use baton::token::{ItsThreads, MayBeCaptured};

impl MayBeCaptured for ItsThreads {}

fn main() {}
