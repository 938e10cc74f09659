//! `baton new PATH`: a project of one's own, outside the repository.
//!
//! It is an ordinary cargo workspace: a kernel crate, a host program and a build script that compiles
//! the one for the other. `cargo run` works in it at once. Made by a `baton` that was built in the repository,
//! it has the repository's crates as path dependencies, and the versions of all others are those that the repository is
//! tested with, because its lock file goes along. Made by one that was installed from a registry, it has them from there.
//!
//! The folder appears whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::workspace::Workspace;
use crate::{Failure, Result, exit_code, output};

/// `baton new`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to make; its last part names the project, its package and its program
    path: PathBuf,

    /// Name of the project [default: the folder's]
    #[arg(long)]
    name: Option<String>,

    /// Take the crates from the registry, although the repository is at hand
    #[arg(long)]
    registry: bool,
}

/// The files of a project. `{name}` is its name, `{module}` the same as Rust spells it; `{library}`, `{host}` and `{builder}`
/// are where the crates come from.
const TEMPLATE: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.in")),
    ("build.rs", include_str!("new/template/build.rs.in")),
    ("src/main.rs", include_str!("new/template/src/main.rs.in")),
    ("kernel/Cargo.toml", include_str!("new/template/kernel/Cargo.toml.in")),
    ("kernel/src/lib.rs", include_str!("new/template/kernel/src/lib.rs.in")),
    ("README.md", include_str!("new/template/README.md.in")),
    (".gitignore", "/target\n"),
    ("rust-toolchain.toml", include_str!("new/template/rust-toolchain.toml")),
];

/// Names that are fine for cargo but would hide a crate that the project uses.
const TAKEN: [&str; 11] = [
    "alloc",
    "baton",
    "baton-builder",
    "baton-emulator",
    "baton-host",
    "baton-macros",
    "baton-ptx",
    "core",
    "proc-macro",
    "std",
    "test",
];

const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while",
];

impl Arguments {
    /// Runs the command.
    pub fn run(self) -> Result<u8> {
        let name = self.name()?;
        check_name(&name)?;
        let project = self.path;
        if project.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!("`{}` exists already", project.display()))
                .help("choose another folder"));
        }
        let repository = if self.registry { None } else { Workspace::repository() };
        write_project(repository.as_ref(), &project, &name)?;
        output::line(format_args!("made {}", project.display()))?;
        output::line(format_args!("next: cd {} && cargo run", shell_word(&project)))?;
        Ok(exit_code::SUCCESS)
    }

    fn name(&self) -> Result<String> {
        let last = || Some(self.path.file_name()?.to_str()?.to_owned());
        self.name.clone().or_else(last).ok_or_else(|| {
            Failure::usage(format!("`{}` names no project", self.path.display()))
                .help("name it with --name")
        })
    }
}

/// Refuses what cannot name a package, its program and its folder at once.
fn check_name(name: &str) -> Result<()> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > 64 {
        "it has more than 64 characters"
    } else if !starts_well || !name.chars().all(allowed) {
        "a name starts with a lower-case letter and has lower-case letters, digits, `-` and `_`"
    } else if KEYWORDS.contains(&name) {
        "it is a word of the Rust language"
    } else if TAKEN.contains(&name) {
        "a crate that the project uses has it"
    } else {
        return Ok(());
    };
    let failure = Failure::usage(format!("`{name}` cannot name a project")).because(why);
    Err(failure.help("for example: baton new my-kernels"))
}

fn write_project(repository: Option<&Workspace>, project: &Path, name: &str) -> Result<()> {
    let (Some(parent), Some(folder)) = (project.parent(), project.file_name()) else {
        return Err(Failure::usage(format!("`{}` is no path for a folder", project.display())));
    };
    fs::create_dir_all(parent).map_err(|error| Failure::file("make the folder", parent, &error))?;
    let partial = parent.join(format!(".{}.{}", folder.to_string_lossy(), std::process::id()));
    let written = fill(repository, &partial, name).and_then(|()| {
        fs::rename(&partial, project)
            .map_err(|error| Failure::file("make the folder", project, &error))
    });
    if written.is_err() {
        // The first error is the one to tell; what is left over has a name that says so.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

fn fill(repository: Option<&Workspace>, folder: &Path, name: &str) -> Result<()> {
    let write = |file: &str, text: &[u8]| {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Failure::file("write", &path, &error))
    };
    let module = name.replace('-', "_");
    let [library, host, builder] =
        ["kernel-lib", "host", "tools/builder"].map(|folder| from(repository, folder));
    let (library, host, builder) = (library?, host?, builder?);
    for (file, text) in TEMPLATE {
        let text = text
            .replace("{name}", name)
            .replace("{module}", &module)
            .replace("{library}", &library)
            .replace("{host}", &host)
            .replace("{builder}", &builder);
        write(file, text.as_bytes())?;
    }
    if let Some(repository) = repository {
        let lock = repository.root().join("Cargo.lock");
        let bytes = fs::read(&lock).map_err(|error| Failure::file("read", &lock, &error))?;
        write("Cargo.lock", &bytes)?;
    }
    Ok(())
}

/// Where a manifest says that a crate of ours comes from: all have this program's version.
fn from(repository: Option<&Workspace>, folder: &str) -> Result<String> {
    let Some(repository) = repository else {
        return Ok(concat!("version = \"", env!("CARGO_PKG_VERSION"), "\"").to_owned());
    };
    let path = repository.root().join(folder);
    let text = path.to_str().ok_or_else(|| {
        Failure::usage(format!(
            "the path of the repository, `{}`, is no valid text",
            path.display()
        ))
        .because("cargo's manifests are UTF-8")
        .help("move the repository")
    })?;
    // A path in a manifest is a TOML string.
    Ok(format!("path = \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A path as a shell reads it back.
fn shell_word(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cargo_or_rust_would_stumble_over_are_refused() {
        for good in ["a", "my-kernels", "gemm_2", "x-1"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in
            ["", "-x", "1st", "Two", "a b", "a/b", "..", "ünde", "match", "baton", "core", &long]
        {
            let message = check_name(bad).expect_err(bad).to_string();
            assert!(message.contains(&format!("`{bad}` cannot name a project")), "{message}");
            assert!(message.contains("why: "), "{message}");
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("my-kernels");
        for repository in [Workspace::repository(), None] {
            write_project(repository.as_ref(), &project, "my-kernels").unwrap();
            for (file, _) in TEMPLATE {
                let text = fs::read_to_string(project.join(file)).unwrap();
                for placeholder in ["{name}", "{module}", "{library}", "{host}", "{builder}"] {
                    assert!(!text.contains(placeholder), "{placeholder} in {file}");
                }
            }
            let lock = project.join("Cargo.lock").is_file();
            assert_eq!(lock, repository.is_some(), "the registry's versions are cargo's to choose");
            assert_eq!(
                fs::read_dir(folder.path()).unwrap().count(),
                1,
                "nothing else is left over"
            );
            fs::remove_dir_all(&project).unwrap();
        }
    }

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        assert_eq!(shell_word(Path::new("./a-b/c.d")), "./a-b/c.d");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
    }
}
