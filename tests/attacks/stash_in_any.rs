//! A token kept behind `dyn Any`, to be taken out as that of another kernel.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

use std::any::Any;

fn stash<'k>(thread: LoadThread<'k>) {
    let stash: Box<dyn Any> = Box::new(thread);
    let _ = stash;
}

fn main() {}
