//! A state of one's own, of which one says what holds.

use baton::path::{FencedForWgmma, ReadableByWgmma, RegistersSettled, Writable};
use baton::protocol::HasMessage;

enum Mine {}

impl Writable for Mine {}
impl RegistersSettled for Mine {}
impl FencedForWgmma for Mine {}
impl ReadableByWgmma for Mine {}
impl HasMessage for Mine {}

fn main() {}
