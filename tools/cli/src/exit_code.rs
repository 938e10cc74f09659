//! What the exit codes of `baton` mean. `run` is the exception: it ends with the example's own code.

/// Done, and everything that was checked is right.
pub const SUCCESS: u8 = 0;

/// It ran, and the answer is no: a test failed, a result is wrong.
pub const FAILED: u8 = 1;

/// The command line asks for something that does not exist or cannot be (clap uses the same code).
pub const USAGE: u8 = 2;

/// The machine lacks something that could not be provisioned.
pub const MISSING: u8 = 3;

/// Code did not compile, or the built kernels failed a check.
pub const BUILD: u8 = 4;

/// A file or folder could not be read or written.
pub const FILES: u8 = 5;
