//! `baton run [NAME]`: everything from a clean clone to a checked result.
//!
//! Pieces that are missing are provisioned, the example is built in release, and then it runs where
//! the user stands, with the user's arguments; its exit code is the command's.

use std::process::{Command, ExitStatus};

use baton_builder::Backend;
use clap::Args;
use serde_json::json;

use crate::cargo;
use crate::commands::doctor;
use crate::workspace::{Example, Workspace};
use crate::{Failure, Result, exit_code, output};

/// `baton run`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// List the programs instead: what each shows, where it runs, and which crate has its kernels
    #[arg(long)]
    list: bool,

    /// With `--list`: as JSON
    #[arg(long, requires = "list")]
    json: bool,

    /// Who makes the kernels' PTX: llvm, or nvvm [default: what BATON_BACKEND says, else llvm]
    #[arg(long)]
    backend: Option<Backend>,

    /// The program (in the repository: the example), then its own arguments [default: the only one]
    ///
    /// All examples take --device auto|gpu|emulator, --seed N and --json.
    #[arg(value_name = "NAME [ARGUMENTS]", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

impl Arguments {
    /// The example asked for.
    pub fn example(&self) -> Option<&str> {
        self.command.first().map(String::as_str)
    }

    /// What the example is to be called with. A `--` behind its name, as `cargo run` wants it, says no more than the name.
    pub fn arguments(&self) -> &[String] {
        match self.command.get(1..).unwrap_or_default() {
            [dashes, rest @ ..] if dashes == "--" => rest,
            all => all,
        }
    }

    /// Whether the list is asked for.
    pub fn list(&self) -> bool {
        self.list
    }

    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let workspace = Workspace::find()?.with_backend(self.backend);
        match self.example() {
            Some(name) => run_example(&workspace, &workspace.example(name)?, self.arguments()),
            None if self.list => print_list(&workspace.examples()?, self.json),
            None => run_example(&workspace, &workspace.only_example()?, &[]),
        }
    }
}

fn run_example(workspace: &Workspace, example: &Example, arguments: &[String]) -> Result<u8> {
    doctor::provision(workspace)?;
    let executables = cargo::executables(workspace, &[&example.name])?;
    let status = Command::new(&executables[0])
        .args(arguments)
        .status()
        .map_err(|error| Failure::file("start", &executables[0], &error))?;
    Ok(exit_code_of(status))
}

/// The code of a finished program; one ended by a signal gets what a shell would report.
pub(crate) fn exit_code_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit_code::FAILED)
}

fn print_list(examples: &[Example], as_json: bool) -> Result<u8> {
    if as_json {
        let entries: Vec<_> = examples
            .iter()
            .map(|example| {
                json!({
                    "name": example.name,
                    "description": example.description,
                    "targets": example.targets,
                    "kernels": example.kernels.as_ref().map(|kernels| &kernels.name),
                })
            })
            .collect();
        output::line(format_args!("{:#}", json!(entries)))?;
        return Ok(exit_code::SUCCESS);
    }
    let width = examples.iter().map(|example| example.name.len()).max().unwrap_or(0);
    for example in examples {
        output::line(format_args!("{:width$}  {}", example.name, example.description))?;
        output::line(format_args!("{:width$}  needs: {}", "", needs(&example.targets)))?;
        if let Some(kernels) = &example.kernels {
            output::line(format_args!("{:width$}  kernels: {}", "", kernels.name))?;
        }
    }
    Ok(exit_code::SUCCESS)
}

/// Where an example runs, from the targets of its kernels.
fn needs(targets: &[String]) -> String {
    match targets {
        [] => "nothing (runs on the emulator)".to_owned(),
        targets => format!("a GPU of {}, or nothing (runs on the emulator)", targets.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_gets_its_arguments_with_and_without_dashes() {
        let of = |command: &[&str]| {
            let command = command.iter().map(|&word| word.to_owned()).collect();
            Arguments { list: false, json: false, backend: None, command }.arguments().join(" ")
        };
        assert_eq!(of(&["ring"]), "");
        assert_eq!(of(&["ring", "--seed", "1"]), "--seed 1");
        assert_eq!(of(&["ring", "--", "--seed", "1"]), "--seed 1");
        assert_eq!(of(&["ring", "--json", "--"]), "--json --");
    }

    #[test]
    fn a_program_s_code_is_ours_and_a_signal_is_told_as_shells_do() {
        let end_of = |script| Command::new("sh").args(["-c", script]).status().unwrap();
        assert_eq!(exit_code_of(end_of("exit 7")), 7);
        assert_eq!(exit_code_of(end_of("kill -9 $$")), 137);
    }
}
