//! A mailbox claimed without the promise that its flag is zero.

use baton::mailbox::Mailbox;
use baton::prelude::*;

fn mailbox(cta: &Cta<'_, NoShared, 32>, data: GlobalPtr<u32>, flag: GlobalPtr<u32>) {
    let _: Mailbox<u32, Gpu> = Mailbox::claim(cta, data, flag);
}

fn main() {}
