//! `baton new NAME`: a project of one's own, outside the repository.
//!
//! It is an ordinary cargo workspace: a kernel crate, a host program and a build script that compiles
//! the one for the other. `cargo run` works in it at once. The crates of this repository are path
//! dependencies; the versions of all others are the ones that the repository is tested with, because
//! its lock file goes along.
//!
//! The folder appears whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::repository::Repository;
use crate::{Failure, Result, exit_code, output};

/// `baton new`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of the project: its folder, its package and its program
    name: String,

    /// Folder to make it in [default: where you are]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    path: PathBuf,
}

/// The files of a project. `{name}` is its name, `{module}` the same as Rust spells it, and
/// `{repository}` the path of this repository.
const TEMPLATE: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.in")),
    ("build.rs", include_str!("new/template/build.rs.in")),
    ("src/main.rs", include_str!("new/template/src/main.rs.in")),
    ("kernel/Cargo.toml", include_str!("new/template/kernel/Cargo.toml.in")),
    ("kernel/src/lib.rs", include_str!("new/template/kernel/src/lib.rs.in")),
    ("README.md", include_str!("new/template/README.md.in")),
    (".gitignore", "/target\n"),
];

/// Files that a project takes from the repository as they are.
const COPIES: [&str; 2] = ["rust-toolchain.toml", "Cargo.lock"];

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
        check_name(&self.name)?;
        let repository = Repository::find()?;
        let project = self.path.join(&self.name);
        if project.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!("`{}` exists already", project.display()))
                .help("choose another name, or another folder with --path"));
        }
        write_project(&repository, &project, &self.name)?;
        output::line(format_args!("made {}", project.display()))?;
        output::line(format_args!("next: cd {} && cargo run", shell_word(&project)))?;
        Ok(exit_code::SUCCESS)
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

fn write_project(repository: &Repository, project: &Path, name: &str) -> Result<()> {
    // Both are there, because `project` was joined from a folder and a checked name.
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

fn fill(repository: &Repository, folder: &Path, name: &str) -> Result<()> {
    let write = |file: &str, text: &[u8]| {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Failure::file("write", &path, &error))
    };
    let module = name.replace('-', "_");
    let root = repository.root().to_str().ok_or_else(|| {
        let root = repository.root().display();
        Failure::usage(format!("the path of the repository, `{root}`, is no valid text"))
            .because("cargo's manifests are UTF-8")
            .help("move the repository")
    })?;
    for (file, text) in TEMPLATE {
        // A path in a manifest is a TOML string.
        let text = text
            .replace("{name}", name)
            .replace("{module}", &module)
            .replace("{repository}", &root.replace('\\', "\\\\").replace('"', "\\\""));
        write(file, text.as_bytes())?;
    }
    for file in COPIES {
        let original = repository.root().join(file);
        let bytes =
            fs::read(&original).map_err(|error| Failure::file("read", &original, &error))?;
        write(file, &bytes)?;
    }
    Ok(())
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
        write_project(&Repository::find().unwrap(), &project, "my-kernels").unwrap();
        for (file, _) in TEMPLATE {
            let text = fs::read_to_string(project.join(file)).unwrap();
            for placeholder in ["{name}", "{module}", "{repository}"] {
                assert!(!text.contains(placeholder), "{placeholder} in {file}");
            }
        }
        assert!(project.join("rust-toolchain.toml").is_file());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left over");
    }

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        assert_eq!(shell_word(Path::new("./a-b/c.d")), "./a-b/c.d");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
    }
}
