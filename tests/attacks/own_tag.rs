//! A tensor map in use by loads into one ring, of which one says that it loads into another of one's own.

#[path = "../fixture/group.rs"]
mod fixture;
use fixture::*;

use baton::path::{LoadsInto, MapInUse};

impl LoadsInto<smem::b> for MapInUse<smem::a> {}

fn main() {}
