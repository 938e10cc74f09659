//! Takes a second turn at a tile that the next CTA has by then.

use baton::prelude::*;
use baton::protocol::Semaphore;

type Threads<'k> = Cta<'k, NoShared, 128>;

fn add(cta: &mut Threads<'_>, tiles: Semaphore<f32>) {
    tiles.take_turn(cta).update(cta, |_, sum| sum + 1.0).release(cta);
    tiles.take_turn(cta).update(cta, |_, sum| sum + 2.0).release(cta);
}

fn main() {
    let _ = add;
}
