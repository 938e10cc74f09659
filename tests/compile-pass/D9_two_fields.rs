//! Two fields of a layout that together need as much tensor memory as there is.

use baton::prelude::*;

baton::shared! { pub struct Smem in smem { first: Accs<2, 128, 192>, second: Accs<1, 128, 128> } }

const COLUMNS: u32 = <Smem as baton::layout::Layout>::COLUMNS;

fn main() {
    assert_eq!(COLUMNS, 512);
}
