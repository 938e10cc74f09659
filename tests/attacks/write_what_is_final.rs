//! Writes to what every CTA may be reading.

use baton::held::Final;
use baton::prelude::*;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn spoil<'k>(cta: &mut Threads<'k>, table: Final<u32, Threads<'k>>) {
    table.update(cta, |_, old| old + 1);
}

fn main() {}
