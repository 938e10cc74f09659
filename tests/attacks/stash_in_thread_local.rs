//! A token kept in a thread's own variable.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use std::cell::RefCell;

thread_local! {
    static STASH: RefCell<Option<LoadThread<'static>>> = const { RefCell::new(None) };
}

fn stash<'k>(thread: LoadThread<'_>) {
    STASH.with_borrow_mut(|stash| *stash = Some(thread));
}

fn main() {}
