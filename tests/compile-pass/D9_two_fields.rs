//! One field has all accumulators.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { both: Accs<2, 128, 64> } }

const COLUMNS: u32 = <Smem as baton::layout::Layout>::COLUMNS;

fn main() {
    assert!(COLUMNS <= 512);
}
