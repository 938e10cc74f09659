//! An end that was leaked is shared by two roles.

#[path = "../fixture/pipeline.rs"]
mod fixture;
use fixture::*;

fn both<'k>(cta: Cta<'k, baton::layout::Claimed<Smem>, 192>, reads: Reads<'k>) {
    let leaked: &'k mut Reads<'k> = Box::leak(Box::new(reads));
    let _ = cta.roles((
        warpgroup(|_| ()),
        warp(move |_| {
            let _stolen = leaked;
        }),
        warp(move |mut w| leaked.wait(&mut w).release(&mut w)),
    ));
}

fn main() {}
