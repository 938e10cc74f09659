//! The command `baton`.
fn main() {}
