//! The lock of a reservation that is gone.

use baton_host::StreamFence;
use baton_host::reservation::{Guard, Reservation};

fn locked<'r>() -> Guard<'r, StreamFence> {
    let reservation = Reservation::new();
    reservation.lock()
}

fn main() {}
