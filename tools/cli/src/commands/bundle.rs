//! `baton bundle`: examples as executables, for a GPU machine that has no Rust.
//!
//! A bundle is a folder: the release executables with their kernels inside, a script that runs them
//! one after the other and writes one JSON log, and a page that says how. Each program takes
//! `--device` and `--json`; with the latter it ends with one line that is a JSON object.
//!
//! The folder appears whole or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use baton_builder::Arch;
use clap::Args;
use serde_json::json;

use crate::commands::doctor;
use crate::repository::Repository;
use crate::{Failure, Result, cargo, exit_code, output};

/// What a bundle holds unless the user names something else: the examples that run on Hopper.
const EXAMPLES: [&str; 3] = ["message-passing", "ring", "bulk-copy"];

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

    /// Examples to pack [default: message-passing ring bulk-copy]
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
        let repository = Repository::find()?;
        let names: Vec<&str> = match self.examples.as_slice() {
            [] => EXAMPLES.to_vec(),
            examples => examples.iter().map(String::as_str).collect(),
        };
        for name in &names {
            repository.example(name)?;
        }
        doctor::provision(&repository)?;

        let mut programs = Vec::new();
        for (name, path) in names.iter().zip(cargo::executables(&repository, &names)?) {
            let program = fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?;
            if !has_kernels_for(&program, self.arch) {
                return Err(Failure::new(
                    exit_code::BUILD,
                    format!("`{name}` has no kernels for {}", self.arch),
                )
                .help("its build.rs names the targets that it is built for"));
            }
            programs.push((*name, program));
        }
        write_bundle(&self.out, self.arch, &programs)?;
        let names = names.join(", ");
        output::line(format_args!("{}: {names} for {}", self.out.display(), self.arch))?;
        output::line("copy it to the GPU machine and start run.sh there")?;
        Ok(exit_code::SUCCESS)
    }
}

/// Whether PTX for the target lies in an executable (it is embedded as text).
fn has_kernels_for(program: &[u8], arch: Arch) -> bool {
    let target = format!(".target {arch}");
    occurrences(program, target.as_bytes())
        .any(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
}

/// The newest version of the C library that the programs ask for.
fn c_library(programs: &[(&str, Vec<u8>)]) -> Option<(u32, u32)> {
    let versions = programs.iter().flat_map(|(_, program)| occurrences(program, b"GLIBC_"));
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

fn write_bundle(out: &Path, arch: Arch, programs: &[(&str, Vec<u8>)]) -> Result<()> {
    let name = out
        .file_name()
        .ok_or_else(|| Failure::usage(format!("`{}` cannot name a new folder", out.display())))?;
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(|error| Failure::file("make the folder", parent, &error))?;
    let partial = parent.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = fill(&partial, arch, programs).and_then(|()| {
        fs::rename(&partial, out).map_err(|error| Failure::file("make the folder", out, &error))
    });
    if written.is_err() {
        // The first error is the one to tell; what is left over has a name that says so.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

fn fill(folder: &Path, arch: Arch, programs: &[(&str, Vec<u8>)]) -> Result<()> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(|error| Failure::file("make the folder", &bin, &error))?;
    let write = |path: PathBuf, bytes: &[u8], mode: u32| {
        fs::write(&path, bytes)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| Failure::file("write", &path, &error))
    };
    for (name, program) in programs {
        write(bin.join(name), program, 0o755)?;
    }
    let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
    let c_library = c_library(programs).map(|(major, minor)| format!("{major}.{minor}"));
    let contents = json!({
        "baton": env!("CARGO_PKG_VERSION"),
        "target": arch.name(),
        "glibc": c_library,
        "programs": names,
    });
    let list: String = names.iter().map(|name| format!("- `bin/{name}`\n")).collect();
    let page = PAGE
        .replace("{target}", arch.name())
        .replace("{programs}", list.trim_end())
        .replace("{glibc}", c_library.as_deref().unwrap_or("(any)"));
    write(folder.join("bundle.json"), format!("{contents}\n").as_bytes(), 0o644)?;
    write(folder.join("run.sh"), SCRIPT.as_bytes(), 0o755)?;
    write(folder.join("README.md"), page.as_bytes(), 0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_recognised_in_full() {
        assert!(has_kernels_for(b"\x7fELF.. .version 8.0\n.target sm_90a\n", Arch::Sm90a));
        assert!(!has_kernels_for(b".target sm_90a\n", Arch::Sm90));
        assert!(!has_kernels_for(b"no kernels", Arch::Sm90a));
    }

    #[test]
    fn the_newest_c_library_counts() {
        let programs = [("a", b"GLIBC_2.9\0GLIBC_2.34\0GLIBC_PRIVATE\0".to_vec())];
        assert_eq!(c_library(&programs), Some((2, 34)));
    }

    /// Programs that behave like examples, and one that prints what JSON has to escape and fails.
    #[test]
    fn the_script_logs_every_program_and_fails_when_one_does() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("deep/bundle");
        let good = b"#!/bin/sh\necho \"hello $*\"\necho '{\"verified\": true}'\n".to_vec();
        let bad =
            b"#!/bin/sh\nprintf 'tab\\there \"quoted\" back\\\\slash\\n' >&2\nexit 3\n".to_vec();

        write_bundle(&out, Arch::Sm90a, &[("a-good", good.clone()), ("b-bad", bad)]).unwrap();
        let (status, log) = run_script(&out);
        assert_eq!(status, Some(1));
        assert_eq!((&log["passed"], &log["failed"]), (&json!(1), &json!(1)));
        assert_eq!(log["bundle"]["target"], json!("sm_90a"));
        assert_eq!(log["runs"][0]["program"], json!("a-good"));
        assert_eq!(log["runs"][0]["report"], json!({"verified": true}));
        assert_eq!(log["runs"][0]["output"], json!("hello --device emulator --json"));
        assert_eq!(log["runs"][1]["exit_code"], json!(3));
        assert_eq!(log["runs"][1]["report"], json!(null));
        assert_eq!(log["runs"][1]["errors"], json!("tab\there \"quoted\" back\\slash"));

        let out = folder.path().join("all-good");
        write_bundle(&out, Arch::Sm90a, &[("good", good)]).unwrap();
        assert_eq!(run_script(&out).0, Some(0));
        let entries = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(entries, 2, "nothing is left over beside the two bundles");
    }

    fn run_script(bundle: &Path) -> (Option<i32>, serde_json::Value) {
        let log = bundle.join("log.json");
        let output = std::process::Command::new(bundle.join("run.sh"))
            .args(["--log".as_ref(), log.as_os_str()])
            .args(["--device", "emulator"])
            .output()
            .unwrap();
        let text = fs::read_to_string(&log).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        (output.status.code(), json)
    }
}
