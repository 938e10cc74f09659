//! The set's barrier, and a fence that is left out, lead to a state of one's own, about which one says what is wanted.

use baton::alias::Aliases;
use baton::path::{AliasFence, Empty, SyncsTo, VisibleThroughTheAlias, VisibleToTheSet, Written};
use baton::prelude::*;

enum Mine {}

impl SyncsTo<Mine> for Written {}
impl AliasFence<Mine> for Empty {}
impl VisibleToTheSet for Mine {}
impl VisibleThroughTheAlias for Mine {}

type Own<'k> = Cta<'k, NoShared, 128>;

fn read<'k>(cta: &mut Own<'k>, array: Aliases<'k, u32, Own<'k>, Empty>) -> u32 {
    let array = array.fill(cta, |i| i as u32);
    array.sync::<_, Mine>(cta).get(5)
}

fn main() {}
