//! What the kernel writes is read by ordinary loads.

use baton::prelude::*;

fn double(values: GlobalPtr<u32>, cta: &Cta<'_, NoShared, 128>) {
    let mut mine = values.partition(cta);
    for k in 0..mine.len() {
        let old = mine.get(k);
        mine.put(k, 2 * old);
    }
}

fn main() {
    let _ = double;
}
