//! An accumulator with a row for each lane.

use baton::accumulator::{Accs, Accumulators};

const COLUMNS: u32 = <Accs<1, 128, 128> as Accumulators>::COLUMNS;

fn main() {
    assert!(COLUMNS > 0);
}
