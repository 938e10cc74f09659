//! `baton bundle`: examples as executables, for a GPU machine that has no Rust.
//!
//! A bundle is a folder: the release executables with their kernels inside, a plan of what to run with which arguments
//! and for how long, a script that does so and writes one readable log and one JSON log, and a page that says how. Each
//! program takes `--device` and `--report FILE`, to which it writes a line that is a JSON object.
//!
//! What an example is run with stands in its manifest (`package.metadata.baton.bundle`). Examples whose kernels are for
//! another GPU than the bundle is for stay in the plan, as skipped.
//!
//! The folder appears whole or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use baton_builder::Arch;
use clap::Args;
use serde_json::json;

use crate::commands::doctor;
use crate::workspace::{Example, Workspace};
use crate::{Failure, Result, cargo, exit_code, output};

/// What a bundle may come to.
const LIMIT: usize = 60 << 20;

const SCRIPT: &str = include_str!("bundle/run.sh");
const PAGE: &str = include_str!("bundle/README.md");

/// `baton bundle`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to make
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// GPU target of the machine that the bundle is for
    #[arg(long, default_value = "sm_90a")]
    arch: Arch,

    /// Examples to pack [default: all that have kernels for the target]
    #[arg(value_name = "EXAMPLE")]
    examples: Vec<String>,
}

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        if self.out.exists() {
            return Err(Failure::usage(format!("`{}` exists already", self.out.display()))
                .help("name a folder that does not exist, or remove this one"));
        }
        let workspace = Workspace::find()?;
        let mut examples = match self.examples.as_slice() {
            [] => workspace.examples()?,
            names => names.iter().map(|name| workspace.example(name)).collect::<Result<_>>()?,
        };
        // The order of equal ranks is that of the list.
        examples.sort_by_key(|example| example.rank);
        let (packed, skipped): (Vec<_>, Vec<_>) = match self.examples.as_slice() {
            [] => examples.into_iter().partition(|example| runs_on(example, self.arch)),
            _ => (examples, Vec::new()),
        };
        doctor::provision(&workspace)?;

        let names: Vec<&str> = packed.iter().map(|example| example.name.as_str()).collect();
        let mut programs = Vec::new();
        for (example, path) in packed.iter().zip(cargo::executables(&workspace, &names)?) {
            let program = cargo::without_symbols(&workspace, &path)?;
            if !has_kernels_for(&program, self.arch) {
                return Err(Failure::new(
                    exit_code::BUILD,
                    format!("`{}` has no kernels for {}", example.name, self.arch),
                )
                .help("its build.rs names the targets that it is built for"));
            }
            programs.push(Packed { example: example.clone(), program });
        }
        let bytes: usize = programs.iter().map(|packed| packed.program.len()).sum();
        if bytes > LIMIT {
            let mebibytes = |bytes: usize| bytes.div_ceil(1 << 20);
            return Err(Failure::new(
                exit_code::FAILED,
                format!("the bundle would have {} MiB", mebibytes(bytes)),
            )
            .because(format!("it may have {} MiB", mebibytes(LIMIT)))
            .help(
                "name fewer examples, or put `objcopy` on the PATH: symbols make most of a program",
            ));
        }
        write_bundle(&self.out, self.arch, &programs, &skipped)?;
        let names = names.join(", ");
        output::line(format_args!("{}: {names} for {}", self.out.display(), self.arch))?;
        for example in &skipped {
            output::line(format_args!("not packed: {}, which {}", example.name, needs(example)))?;
        }
        output::line("copy it to the GPU machine and start run.sh there")?;
        Ok(exit_code::SUCCESS)
    }
}

/// An example with its executable.
struct Packed {
    example: Example,
    program: Vec<u8>,
}

/// Whether a GPU of the target can run an example's kernels.
fn runs_on(example: &Example, gpu: Arch) -> bool {
    example
        .targets
        .iter()
        .filter_map(|target| target.parse().ok())
        .any(|arch: Arch| arch.runs_on(gpu))
}

fn needs(example: &Example) -> String {
    format!("needs a GPU of {}", example.targets.join(" or "))
}

/// Whether PTX that a GPU of the target can run lies in an executable (it is embedded as text).
fn has_kernels_for(program: &[u8], gpu: Arch) -> bool {
    occurrences(program, b".target ").any(|rest| {
        let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        let name = str::from_utf8(&rest[..end.unwrap_or(rest.len())]).unwrap_or_default();
        name.parse().is_ok_and(|arch: Arch| arch.runs_on(gpu))
    })
}

/// The newest version of the C library that the programs ask for.
fn c_library<'a>(programs: impl Iterator<Item = &'a [u8]>) -> Option<(u32, u32)> {
    let versions = programs.flat_map(|program| occurrences(program, b"GLIBC_"));
    versions.filter_map(version).max()
}

fn version(text: &[u8]) -> Option<(u32, u32)> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
    let mut parts = str::from_utf8(&text[..end]).ok()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What follows each occurrence of `word`.
fn occurrences<'a>(bytes: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let windows = bytes.windows(word.len()).enumerate();
    windows.filter(move |(_, window)| *window == word).map(move |(at, _)| &bytes[at + word.len()..])
}

/// The lines of the plan; `|` stands between the fields, in none of which it may be.
fn plan(programs: &[Packed], skipped: &[Example]) -> Result<String> {
    let mut plan = String::new();
    let mut line = |fields: [&str; 4]| {
        if fields.iter().any(|field| field.contains(['|', '\n'])) {
            return Err(Failure::new(
                exit_code::BUILD,
                format!("the arguments of `{}` cannot stand in a plan", fields[1]),
            )
            .help("leave out `|` and line ends in package.metadata.baton.bundle"));
        }
        plan += &fields.join("|");
        plan += "\n";
        Ok(())
    };
    for example in skipped {
        line(["skip", &example.name, &needs(example), ""])?;
    }
    for Packed { example, .. } in programs {
        for run in &example.runs {
            line([&run.seconds.to_string(), &example.name, &run.arguments, &run.tiny])?;
        }
    }
    Ok(plan)
}

fn write_bundle(out: &Path, arch: Arch, programs: &[Packed], skipped: &[Example]) -> Result<()> {
    let name = out
        .file_name()
        .ok_or_else(|| Failure::usage(format!("`{}` cannot name a new folder", out.display())))?;
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(|error| Failure::file("make the folder", parent, &error))?;
    let partial = parent.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fill(&partial, arch, programs, skipped).and_then(|()| {
        fs::rename(&partial, out).map_err(|error| Failure::file("make the folder", out, &error))
    });
    if written.is_err() {
        // The first error is the one to tell; what is left over has a name that says so.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

fn fill(folder: &Path, arch: Arch, programs: &[Packed], skipped: &[Example]) -> Result<()> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(|error| Failure::file("make the folder", &bin, &error))?;
    let write = |path: PathBuf, bytes: &[u8], mode: u32| {
        fs::write(&path, bytes)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| Failure::file("write", &path, &error))
    };
    for Packed { example, program } in programs {
        write(bin.join(&example.name), program, 0o755)?;
    }
    let names: Vec<&str> = programs.iter().map(|packed| packed.example.name.as_str()).collect();
    let left_out: Vec<&str> = skipped.iter().map(|example| example.name.as_str()).collect();
    let c_library = c_library(programs.iter().map(|packed| packed.program.as_slice()))
        .map(|(major, minor)| format!("{major}.{minor}"));
    let contents = json!({
        "baton": env!("CARGO_PKG_VERSION"),
        "target": arch.name(),
        "glibc": c_library,
        "programs": names,
        "skipped": left_out,
    });
    let list: String = programs
        .iter()
        .map(|Packed { example, .. }| {
            format!("- `bin/{}`: {}\n", example.name, example.description)
        })
        .collect();
    let skipped_list: String = skipped
        .iter()
        .map(|example| format!("\nNot in this bundle: {}, which {}.", example.name, needs(example)))
        .collect();
    let page = PAGE
        .replace("{target}", arch.name())
        .replace("{programs}", list.trim_end())
        .replace("{skipped}", &skipped_list)
        .replace("{glibc}", c_library.as_deref().unwrap_or("(any)"));
    write(folder.join("bundle.json"), format!("{contents}\n").as_bytes(), 0o644)?;
    write(folder.join("plan"), plan(programs, skipped)?.as_bytes(), 0o644)?;
    write(folder.join("run.sh"), SCRIPT.as_bytes(), 0o755)?;
    write(folder.join("README.md"), format!("{}\n", page.trim_end()).as_bytes(), 0o644)
}

#[cfg(test)]
mod tests;
