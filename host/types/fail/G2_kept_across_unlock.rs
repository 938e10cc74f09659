//! The slot was reserved under a lock that has been released.

use baton_host::StreamFence;
use baton_host::reservation::{Reservation, ReserveError, Usage};

fn record(reservation: &Reservation<StreamFence>, fence: StreamFence) -> Result<(), ReserveError> {
    let mut guard = reservation.lock().reserve(1)?;
    guard.unlock();
    let _ = guard.add(fence, Usage::Write);
    Ok(())
}

fn main() {}
