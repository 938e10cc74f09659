//! The warpgroup loads it.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn drain<'k>(wg: &mut Epilogue<'k>, results: &mut Results<'k, Epilogue<'k>>) {
    let _acc = results.wait(wg);
}

fn main() {
    let _ = drain;
}
