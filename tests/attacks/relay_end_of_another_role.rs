//! Fills in two roles what one end hands out.

#[path = "../fixture/relay.rs"]
mod fixture;
use fixture::*;

fn share<'k>(cta: Threads<'k>, values: baton::relay::RelayPart<'k, smem::values, 2, u32, 64, 2>) {
    let (mut giving, _taking) = values.split::<_, Threads<'k>>();
    let _ = cta.roles((
        warp(|mut w| {
            giving.acquire(&mut w).fill(&mut w, |i| i).publish::<Cluster, _>(&mut w);
        }),
        warp(|mut w| {
            giving.acquire(&mut w).fill(&mut w, |i| i).publish::<Cluster, _>(&mut w);
        }),
    ));
}

fn main() {
    let _ = share;
}
