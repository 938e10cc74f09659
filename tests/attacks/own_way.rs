//! A way of one's own to fill, to drain, or to see, of which one says what a state allows.

use baton::path::{
    Empty, Full, HandsBackTo, HandsOnTo, ReleasedFor, SequencedFor, ThreadsReadWhereDrained,
    Wanted, Written,
};
use baton::stages::{ByThreads, DrainsLike};

struct Mine;

impl HandsOnTo<Mine> for Empty {}
impl HandsBackTo<Mine> for Full {}
impl ThreadsReadWhereDrained<Mine> for Full {}
impl DrainsLike<Mine> for ByThreads {}
impl ReleasedFor<Mine> for Written {}
impl SequencedFor<Mine> for Wanted {}

fn main() {}
