//! The launch of a kernel, with parameters that are not its own.

use baton::launch::{Call, Params};

fn forge<'a>() -> Call<'a> {
    baton::macro_support::call("gemm", 192, 0, 1, 0, Params::new())
}

fn main() {}
