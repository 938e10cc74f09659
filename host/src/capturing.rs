//! What this thread may not do just now: wait on the host, or call the driver at all.

use std::cell::Cell;
use std::io::Write;
use std::thread;

use crate::error::Error;
use crate::reservation::Asking;

thread_local! {
    static CAPTURES: Cell<bool> = const { Cell::new(false) };
    static CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread may neither wait nor give work: it captures, or it is in a callback of a stream.
pub(crate) fn is_held_back() -> bool {
    CAPTURES.get() || CALLBACK.get()
}

pub(crate) fn set(captures: bool) {
    CAPTURES.set(captures);
}

pub(crate) fn asking() -> Asking {
    if is_held_back() { Asking::Forbidden } else { Asking::Allowed }
}

/// Refuses what a capture forbids, and what a callback must not do.
pub(crate) fn forbid(doing: &str) -> Result<(), Error> {
    not_in_callback(doing)?;
    if CAPTURES.get() { Err(Error::Capturing { doing: doing.into() }) } else { Ok(()) }
}

/// Refuses what a callback must not do: give work to a device.
pub(crate) fn not_in_callback(doing: &str) -> Result<(), Error> {
    if CALLBACK.get() { Err(Error::InCallback { doing: doing.into() }) } else { Ok(()) }
}

/// Runs a callback of a stream. A panic must not reach the driver, so its message is all that is left of it.
pub(crate) fn in_callback(callback: impl FnOnce()) {
    let before = CALLBACK.replace(true);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback));
    CALLBACK.set(before);
    if let Err(said) = ended {
        // What it panicked with is the caller's, and may panic once more when it is dropped.
        std::mem::forget(said);
        let text = "a callback of a stream has panicked; the stream goes on";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Does what ends something: here, or on a thread of its own if this one is in a callback, where the driver must not be
/// called.
pub(crate) fn elsewhere(end: impl FnOnce() + Send + 'static) {
    if CALLBACK.get() {
        // Without a thread, what would have been given back is not.
        let _ = thread::Builder::new().name("baton end".into()).spawn(end);
    } else {
        end();
    }
}
