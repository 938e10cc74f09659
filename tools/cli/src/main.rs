//! The command `baton`; everything lives in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_cli::main()
}
