//! Two roles own one array, through an owner of one's own.

use baton::global::Owns;
use baton::token::{Role, Warp};

struct Both;

impl Owns<Both> for Warp<'_, Role<0>> {}
impl Owns<Both> for Warp<'_, Role<1>> {}

fn main() {}
