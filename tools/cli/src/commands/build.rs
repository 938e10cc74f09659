//! `baton build [NAME]`: what the compiler makes of a kernel crate.
//!
//! The steps and checks are those of a build script; the result goes to a file or, as text, to
//! stdout instead of into an executable.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use baton_builder::provision::{Store, cuda};
use baton_builder::{Arch, Backend, Binary, Builder, Environment, Error, Kernel, Progress, Ptxas};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::commands::doctor;
use crate::workspace::{KernelCrate, Workspace};
use crate::{Failure, Result, exit_code, output};

/// `baton build`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The kernel crate, or the program (in the repository: the example) whose it is [default: the only one]
    #[arg(value_name = "NAME")]
    kernels: Option<String>,

    /// GPU target, e.g. sm_100a
    #[arg(long)]
    arch: Arch,

    /// Who makes the PTX: llvm, or nvvm [default: what BATON_BACKEND says, else llvm]
    #[arg(long)]
    backend: Option<Backend>,

    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::Ptx)]
    emit: Emit,

    /// File to write [default: stdout, for text]
    #[arg(short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Describe the kernels as JSON
    #[arg(long, requires = "output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The finished PTX; beside a file also its source lines, with the ending .lines
    Ptx,
    /// Machine code, from ptxas
    Cubin,
    /// A listing of the machine code, from nvdisasm
    Sass,
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        if self.emit == Emit::Cubin && self.output.is_none() {
            return Err(Failure::usage("a cubin is no text for a terminal")
                .help("name a file: -o kernels.cubin"));
        }
        let workspace = Workspace::find()?;
        let kernels = match &self.kernels {
            Some(name) => workspace.kernels(name)?,
            None => workspace.only_kernels()?,
        };
        doctor::provision(&workspace)?;
        let environment = doctor::environment(&workspace);

        let binary = self.binary(&workspace, &kernels)?;
        let bytes = match self.emit {
            Emit::Ptx => read(&binary.ptx)?,
            Emit::Cubin => read(cubin(&binary)?)?,
            Emit::Sass => {
                let store = doctor::store(&workspace, &environment);
                listing(&environment, &store, cubin(&binary)?)?
            }
        };
        let Some(file) = &self.output else {
            output::bytes(&bytes)?;
            return Ok(exit_code::SUCCESS);
        };
        output::file(file, &bytes)?;
        if self.emit == Emit::Ptx {
            // Where `check` looks for the way back to the source.
            let lines = file.with_extension("lines");
            output::file(&lines, &read(&binary.lines)?)?;
        }
        if self.json {
            output::line(format_args!("{:#}", as_json(file, &binary)))?;
        } else {
            let name = self.kernels.as_ref().unwrap_or(&kernels.name);
            output::line(format_args!("{}: {name} for {}", file.display(), self.arch))?;
            binary.kernels.iter().try_for_each(|kernel| output::line(line(kernel)))?;
        }
        Ok(exit_code::SUCCESS)
    }

    fn binary(&self, workspace: &Workspace, kernels: &KernelCrate) -> Result<Binary> {
        let mut environment = doctor::environment(workspace);
        // The command line has named the target.
        environment.remove_if(|name| name == "BATON_ARCH");
        let ptxas = match (
            Ptxas::of(&environment).map_err(|error| Failure::usage(error.to_string()))?,
            self.emit,
        ) {
            (asked, Emit::Ptx) => asked,
            (Ptxas::Off, Emit::Cubin | Emit::Sass) => {
                return Err(Failure::usage("there is no machine code with BATON_PTXAS=off")
                    .help("unset BATON_PTXAS, or ask for the PTX: --emit ptx"));
            }
            (_, Emit::Cubin | Emit::Sass) => Ptxas::Required,
        };
        let show_steps = std::io::stderr().is_terminal();
        if let Some(backend) = self.backend {
            environment.set(Backend::VARIABLE, backend.name());
        }
        let built = Builder::new(&kernels.folder)
            .arch(self.arch)
            .ptxas(ptxas)
            .out_dir(workspace.target_dir().join("baton-build").join(&kernels.name))
            .environment(environment)
            .progress(|step| {
                if show_steps || matches!(step, Progress::Warning(_)) {
                    output::remark(step);
                }
            })
            .build();
        let mut output = built.map_err(|error| not_built(&kernels.name, &error))?;
        output.binaries.pop().ok_or_else(|| {
            Failure::new(exit_code::BUILD, format!("nothing was built for {}", self.arch))
        })
    }
}

fn not_built(kernels: &str, error: &Error) -> Failure {
    let code = match error {
        Error::Missing { .. } | Error::Setup(_) => exit_code::MISSING,
        Error::Io { .. } => exit_code::FILES,
        _ => exit_code::BUILD,
    };
    Failure::new(code, format!("`{kernels}` was not built")).because(error)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Failure::file("read", path, &error))
}

fn cubin(binary: &Binary) -> Result<&Path> {
    binary.cubin.as_deref().ok_or_else(|| {
        Failure::new(exit_code::MISSING, "there is no machine code, because ptxas did not run")
            .help("`baton doctor` says what is missing, `baton doctor --fix` gets it")
    })
}

/// What nvdisasm prints for a cubin.
fn listing(environment: &Environment, store: &Store, cubin: &Path) -> Result<Vec<u8>> {
    let no_listing = |why: String| {
        Failure::new(exit_code::MISSING, "the machine code could not be listed")
            .because(why)
            .help("`baton doctor` says what is missing, `baton doctor --fix` gets it")
    };
    let tools = cuda::find(environment, store, "nvdisasm");
    // An older one may not know the target.
    let newest = tools.iter().max_by_key(|tool| tool.release);
    let tool = newest.ok_or_else(|| no_listing("there is no nvdisasm".to_owned()))?;
    let output = environment
        .command(&tool.path)
        .arg("--print-code")
        .arg(cubin)
        .output()
        .map_err(|error| no_listing(error.to_string()))?;
    if !output.status.success() {
        return Err(no_listing(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(output.stdout)
}

fn line(kernel: &Kernel) -> String {
    let usage = kernel.usage.map_or("registers not known without ptxas".to_owned(), |usage| {
        format!(
            "{} registers, {} bytes spilled, {} bytes of stack",
            usage.registers, usage.spill_bytes, usage.stack_bytes
        )
    });
    format!("  {}: {usage}, {} bytes of dynamic shared memory", kernel.name, dynamic_shared(kernel))
}

fn dynamic_shared(kernel: &Kernel) -> u32 {
    kernel.declared.as_ref().map_or(0, |declared| declared.dynamic_shared)
}

fn as_json(file: &Path, binary: &Binary) -> Value {
    let kernel = |kernel: &Kernel| {
        json!({
            "name": kernel.name,
            "dynamic_shared": dynamic_shared(kernel),
            "registers": kernel.usage.map(|usage| usage.registers),
            "spill_bytes": kernel.usage.map(|usage| usage.spill_bytes),
            "stack_bytes": kernel.usage.map(|usage| usage.stack_bytes),
            "static_shared": kernel.usage.map(|usage| usage.static_shared),
        })
    };
    json!({
        "file": file.display().to_string(),
        "target": binary.arch.name(),
        "kernels": binary.kernels.iter().map(kernel).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_builder::Usage;

    #[test]
    fn what_ptxas_did_not_say_is_not_shown_as_zero() {
        let mut kernel =
            Kernel { name: "scale".into(), declared: None, usage: None, findings: Vec::new() };
        assert!(line(&kernel).contains("not known"), "{}", line(&kernel));
        kernel.usage = Some(Usage { registers: 40, ..Usage::default() });
        assert!(
            line(&kernel).contains("scale: 40 registers, 0 bytes spilled"),
            "{}",
            line(&kernel)
        );
    }
}
