//! A token that is sent anyway.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

struct Wrap<T>(T);

unsafe fn sends<T: Send>(_: T) {}

fn escape<'k>(thread: LoadThread<'_>) {
    let _ = || unsafe { sends(Wrap(thread)) };
}

fn main() {}
