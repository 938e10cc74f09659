//! Two owners of one CTA's turn.

use baton::protocol::Semaphore;

fn copies(tiles: Semaphore<f32>) -> [Semaphore<f32>; 2] {
    [tiles.clone(), tiles]
}

fn main() {}
