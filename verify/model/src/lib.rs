//! The axiomatic PTX memory model as a program.
