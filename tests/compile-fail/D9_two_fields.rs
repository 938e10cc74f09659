//! Two fields of a layout that together need more tensor memory than there is.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { first: Accs<2, 128, 192>, second: Accs<1, 128, 144> } }

const COLUMNS: u32 = <Smem as baton::layout::Layout>::COLUMNS;

fn main() {
    assert!(COLUMNS <= 512);
}
