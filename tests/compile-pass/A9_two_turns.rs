//! One turn, in which everything is done.

use baton::prelude::*;
use baton::protocol::Semaphore;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn add(cta: &mut Threads<'_>, tiles: Semaphore<f32>) {
    let tile = tiles.take_turn(cta);
    tile.update(cta, |_, sum| sum + 1.0).update(cta, |_, sum| sum + 2.0).release(cta);
}

fn main() {
    let _ = add;
}
