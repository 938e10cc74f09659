//! Two answers for one stage.

use baton::prelude::*;
use baton::stages::Consumer;
use baton::token::Role;

type Words = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;
type Reader<'k> = Thread<'k, Role<0>>;

fn both<'k>(thread: &mut Reader<'k>, words: &mut Consumer<'k, (), Words, Reader<'k>, 2>) {
    let (first, second) = (words.try_wait(thread), words.try_wait(thread));
    let _ = (first.completed(), second.completed());
}

fn main() {}
