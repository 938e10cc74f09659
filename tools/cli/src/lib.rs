//! The command `baton`.
//!
//! In the repository it is `cargo baton …` (an alias); `cargo install --path tools/cli` makes it
//! `baton`. A command is one module below [`commands`], and all of them keep to three habits:
//!
//! * what goes wrong becomes a [`Failure`]: what happened, why, and what to do about it, with one
//!   of the [`exit_code`]s;
//! * cargo does the building and its own words about broken code reach the terminal unchanged;
//! * what may take longer than a second shows that it lives ([`progress`]).

pub mod cargo;
pub mod commands;
pub mod exit_code;
pub mod failure;
pub mod output;
pub mod progress;
pub mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use failure::Failure;

/// Result of everything that a command does.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "baton",
    version,
    about = "GPU kernels in Rust whose synchronisation the compiler checks",
    after_help = "Start with `baton run --list`, then `baton run EXAMPLE`."
)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build an example, run it and check its result
    Run(commands::run::Arguments),
    /// Run the whole test suite
    Test(commands::test::Arguments),
    /// Compile an example's kernels to PTX, a cubin or SASS
    Build(commands::build::Arguments),
    /// Run a kernel of any PTX on the emulator, under many schedules
    Check(commands::check::Arguments),
    /// Run a CUDA program, host code and all, on the emulator
    Cuda(commands::cuda::Arguments),
    /// Judge litmus tests by the memory model
    Litmus(commands::litmus::Arguments),
    /// Say what the builder found on this machine, what is missing and how to get it
    Doctor(commands::doctor::Arguments),
    /// Start a project of your own: kernel crate, host program, build script
    New(commands::new::Arguments),
    /// Pack examples as executables for a GPU machine that has no Rust
    Bundle(commands::bundle::Arguments),
}

/// Runs the command line of this process; a failure is printed, and its code becomes the process's.
pub fn main() -> ExitCode {
    let done = match CommandLine::parse().command {
        Command::Run(arguments) => arguments.run(),
        Command::Test(arguments) => arguments.run(),
        Command::Build(arguments) => arguments.run(),
        Command::Check(arguments) => arguments.run(),
        Command::Cuda(arguments) => arguments.run(),
        Command::Litmus(arguments) => arguments.run(),
        Command::Doctor(arguments) => arguments.run(),
        Command::New(arguments) => arguments.run(),
        Command::Bundle(arguments) => arguments.run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::remark(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn arguments_after_an_example_belong_to_it() {
        let line = ["baton", "run", "gemm-blackwell", "--m", "300", "--json", "--list"];
        let Command::Run(run) = CommandLine::parse_from(line).command else {
            panic!("`run` parsed as another command");
        };
        assert_eq!(run.example(), Some("gemm-blackwell"));
        assert_eq!(run.arguments(), ["--m", "300", "--json", "--list"]);
        assert!(!run.list());
    }

    #[test]
    fn flags_before_an_example_are_ours() {
        let Command::Run(run) = CommandLine::parse_from(["baton", "run", "--list"]).command else {
            panic!("`run` parsed as another command");
        };
        assert!(run.list());
        assert_eq!(run.example(), None);
    }
}
