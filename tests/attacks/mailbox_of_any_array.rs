//! Makes a mailbox of an array and a flag of which other CTAs know nothing.

use baton::prelude::*;
use baton::protocol::Mailbox;

fn mailbox(data: GlobalPtr<u32>, flag: GlobalPtr<u32>) -> Mailbox<u32, 0, 1> {
    Mailbox { data, flag }
}

fn main() {}
