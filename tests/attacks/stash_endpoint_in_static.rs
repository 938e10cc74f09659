//! An end of a ring kept in a static, which it may be sent to.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use std::sync::Mutex;

static STASH: Mutex<Option<Loads<'static>>> = Mutex::new(None);

fn stash<'k>(loads: Loads<'_>) {
    *STASH.lock().unwrap() = Some(loads);
}

fn main() {}
