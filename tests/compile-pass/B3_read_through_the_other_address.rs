//! The fence stands between the two addresses.

use baton::alias::Aliases;
use baton::path::Empty;
use baton::prelude::*;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn exchange<'k>(cta: &mut Threads<'k>, array: Aliases<'k, u32, Threads<'k>, Empty>) -> u32 {
    let array = array.fill(cta, |i| i as u32).fence_proxy_alias(cta).sync(cta);
    array.get(0)
}

fn main() {
    let _ = exchange;
}
