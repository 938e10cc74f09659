//! An accumulator with fewer rows than tensor memory has lanes.

use baton::accumulator::{Accs, Accumulators};

const COLUMNS: u32 = <Accs<1, 64, 128> as Accumulators>::COLUMNS;

fn main() {
    assert!(COLUMNS > 0);
}
