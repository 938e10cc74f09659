//! Deals the places of tensor maps out to threads, as another CTA would not.

use baton::global::TheMaps;
use baton::prelude::*;

fn deal(cta: &Cta<'_, NoShared, 64>, places: GlobalPtr<u64, TheMaps>) {
    for mut place in places.partition(cta) {
        place.put(0);
    }
}

fn main() {}
