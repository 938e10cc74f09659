//! The slot is reserved first.

use baton_host::StreamFence;
use baton_host::reservation::{AddError, Reservation, ReserveError, Usage};

fn record(
    reservation: &Reservation<StreamFence>,
    fence: StreamFence,
) -> Result<Result<(), AddError>, ReserveError> {
    let mut guard = reservation.lock().reserve(1)?;
    Ok(guard.add(fence, Usage::Write))
}

fn main() {
    let _ = record;
}
