//! A role that returns data in a type of its own.

use baton::token::RoleReturn;

struct Data(u32);

impl RoleReturn for Data {
    fn conjure() -> Self {
        Data(0)
    }
}

fn main() {}
