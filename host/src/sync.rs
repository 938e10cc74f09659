//! The locks that reservations are made of.
//!
//! One module names them, so that a test can put a model checker's locks in their place: it compiles
//! the reservations again, beside a module of this name.

pub(crate) use std::sync::{Mutex, MutexGuard};
