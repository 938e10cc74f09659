//! Two fields of a layout would each allocate tensor memory.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { first: Accs<1, 128, 64>, second: Accs<1, 128, 64> } }

const COLUMNS: u32 = <Smem as baton::layout::Layout>::COLUMNS;

fn main() {
    assert!(COLUMNS <= 512);
}
