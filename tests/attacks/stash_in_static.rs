//! A token kept in a static.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use std::sync::Mutex;

static STASH: Mutex<Option<LoadThread<'static>>> = Mutex::new(None);

fn stash<'k>(thread: LoadThread<'_>) {
    *STASH.lock().unwrap() = Some(thread);
}

fn main() {}
