//! Each lock reserves for itself.

use baton_host::StreamFence;
use baton_host::reservation::{Reservation, ReserveError, Usage};

fn record(reservation: &Reservation<StreamFence>, fence: StreamFence) -> Result<(), ReserveError> {
    let guard = reservation.lock().reserve(1)?;
    guard.unlock();
    let mut guard = reservation.lock().reserve(1)?;
    let _ = guard.add(fence, Usage::Write);
    Ok(())
}

fn main() {
    let _ = record;
}
