//! Macros of baton.
