//! The sources of Rust's library, from which `core` is compiled for the GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{Listener, Refusal, Store, debian, offline, program, run};
use crate::environment::{Environment, failure};
use crate::toolchain::Toolchain;
use crate::{Error, Progress};

/// Where the sources are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RustSrc {
    /// In the toolchain, where cargo looks by itself.
    Toolchain(PathBuf),
    /// In the store; cargo has to be told.
    Store(PathBuf),
}

impl RustSrc {
    /// The folder `library`.
    pub fn library(&self) -> &Path {
        match self {
            Self::Toolchain(library) | Self::Store(library) => library,
        }
    }
}

/// The sources that belong to this compiler, if they are there.
pub fn find(toolchain: &Toolchain, store: &Store) -> Option<RustSrc> {
    let complete = |library: &PathBuf| {
        library.join("Cargo.lock").is_file() && library.join("core/src/lib.rs").is_file()
    };
    let library = toolchain.sysroot.join("lib/rustlib/src/rust/library");
    if complete(&library) {
        return Some(RustSrc::Toolchain(library));
    }
    let library = store.path(&entry(toolchain)).join("library");
    complete(&library).then_some(RustSrc::Store(library))
}

/// The sources, fetched if they are missing.
pub(crate) fn provide(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    listener: Listener<'_>,
) -> Result<RustSrc, Error> {
    provide_on(env, toolchain, store, &debian::Machine::this(), listener)
}

fn provide_on(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    machine: &debian::Machine,
    listener: Listener<'_>,
) -> Result<RustSrc, Error> {
    if let Some(found) = find(toolchain, store) {
        return Ok(found);
    }
    let mut tried = Vec::new();
    if let Some(reason) = offline(env) {
        tried.push(("download".to_owned(), reason));
    } else {
        match store.locked("rustup", || with_rustup(env, toolchain, store, listener)) {
            Ok(found) => return Ok(found),
            Err(Refusal::Closed(reason)) => tried.push(("rustup".to_owned(), reason)),
            Err(Refusal::Fatal(error)) => return Err(error),
        }
        let package = format!("Debian package `rust-src` {}", toolchain.release);
        let installed = store.install(&entry(toolchain), |dir| {
            listener(&Progress::Fetching("the sources of Rust's library"));
            with_apt(env, toolchain, machine, dir)
        });
        match installed {
            Ok(_) => match find(toolchain, store) {
                Some(found) => return Ok(found),
                None => tried.push((package, "it does not hold `library/core`".to_owned())),
            },
            Err(Refusal::Closed(reason)) => tried.push((package, reason)),
            Err(Refusal::Fatal(error)) => return Err(error),
        }
    }
    Err(Error::Missing {
        what: "the source of `core` (rust-src)",
        tried,
        remedy: remedy(toolchain),
    })
}

/// What a person can do.
pub(crate) fn remedy(toolchain: &Toolchain) -> String {
    format!(
        "with a network: rustup component add rust-src --toolchain {0}\n\
         or unpack the same version's sources so that `{1}` exists",
        toolchain.release,
        toolchain.sysroot.join("lib/rustlib/src/rust/library/Cargo.lock").display()
    )
}

fn entry(toolchain: &Toolchain) -> String {
    format!("rust-src-{}", toolchain.release)
}

fn with_rustup(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    listener: Listener<'_>,
) -> Result<RustSrc, Refusal> {
    // Another process may have added the component while this one waited for the lock.
    if let Some(found) = find(toolchain, store) {
        return Ok(found);
    }
    if env.get("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0") {
        return Err(Refusal::Closed("RUSTUP_AUTO_INSTALL=0 forbids it".into()));
    }
    let rustup = program(env, "rustup")?;
    // rustup names an installation's folder after the toolchain.
    let name = toolchain.sysroot.file_name().unwrap_or(toolchain.release.as_ref()).to_owned();
    listener(&Progress::Fetching("rustup's component rust-src"));
    let mut command = env.command(rustup);
    command.args(["component", "add", "rust-src", "--toolchain"]).arg(name);
    run(&mut command, "rustup component add")?;
    find(toolchain, store)
        .ok_or_else(|| Refusal::Closed("it succeeded, but the sources are not there".into()))
}

fn with_apt(
    env: &Environment,
    toolchain: &Toolchain,
    machine: &debian::Machine,
    dir: &Path,
) -> Result<(), Refusal> {
    let archive = debian::download(env, machine, "rust-src", &toolchain.release, dir)?;
    let version = &toolchain.release;
    unpack(env, &archive, &format!("./usr/src/rustc-{version}/library"), dir)?;
    // Only `library` is kept: the archive and the package lists are of no use any more.
    for file in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let path = file.map_err(Error::io("read", dir))?.path();
        let removed = match path.file_name() {
            Some(name) if name == "library" => Ok(()),
            _ if path.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}

/// Unpacks one folder of a Debian package into `dir`, under its last name.
fn unpack(env: &Environment, archive: &Path, folder: &str, dir: &Path) -> Result<(), Refusal> {
    let what = |program: &str| format!("cannot unpack {}: {program}", archive.display());
    let closed =
        |program: &'static str| move |error| Refusal::Closed(format!("{}: {error}", what(program)));
    let depth = folder.split('/').count() - 1;
    let mut reader = env
        .command(program(env, "dpkg-deb")?)
        .arg("--fsys-tarfile")
        .arg(archive)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(closed("dpkg-deb"))?;
    let mut tar = env.command(program(env, "tar")?);
    tar.args(["--extract", "--no-same-owner", &format!("--strip-components={depth}")]);
    tar.arg("--directory").arg(dir).arg(folder);
    if let Some(pipe) = reader.stdout.take() {
        tar.stdin(pipe);
    }
    let output = tar.output();
    // Whatever became of tar, the reader has lost its pipe and ends.
    drop(tar);
    let read = reader.wait().map_err(closed("dpkg-deb"))?;
    let output = output.map_err(closed("tar"))?;
    if !output.status.success() {
        return Err(Refusal::Closed(format!("{}: {}", what("tar"), failure(&output))));
    }
    if !read.success() {
        return Err(Refusal::Closed(format!("{}: {read}", what("dpkg-deb"))));
    }
    Ok(())
}
