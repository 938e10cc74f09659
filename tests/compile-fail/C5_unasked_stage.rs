//! Reads the stage of a `try_wait` without looking at its answer.

use baton::prelude::*;
use baton::stages::Consumer;
use baton::token::Role;

type Words = Stages<2, Linear<u32, 32>, ByThreads, ByThreads>;
type Reader<'k> = Thread<'k, Role<0>>;

fn first<'k>(thread: &mut Reader<'k>, words: &mut Consumer<'k, (), Words, Reader<'k>, 2>) -> u32 {
    let attempt = words.try_wait(thread);
    attempt.get(0)
}

fn main() {
    let _ = first;
}
