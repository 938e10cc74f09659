//! A fence is added without a slot for it.

use baton_host::StreamFence;
use baton_host::reservation::{AddError, Reservation, Usage};

fn record(reservation: &Reservation<StreamFence>, fence: StreamFence) -> Result<(), AddError> {
    let mut guard = reservation.lock();
    guard.add(fence, Usage::Write)
}

fn main() {}
