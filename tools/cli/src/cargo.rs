//! Cargo as a child process.
//!
//! Commands run in the workspace's top folder, so that its toolchain file holds wherever the user
//! stands. Diagnostics of broken code are cargo's own and go to stderr unchanged.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use baton_builder::Backend;
use serde_json::Value;

use crate::progress::Progress;
use crate::workspace::Workspace;
use crate::{Failure, Result, exit_code};

/// Cargo, to be run in the workspace; under cargo (`cargo baton`) the same one.
pub fn command(workspace: &Workspace) -> Command {
    let mut command = in_folder(workspace.root());
    if let Some(backend) = workspace.backend() {
        command.env(Backend::VARIABLE, backend.name());
    }
    command
}

/// Cargo, to be run in a folder.
pub fn in_folder(folder: &Path) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(folder);
    command
}

/// What describes the packages of a workspace, and touches nothing.
pub const METADATA: [&str; 5] = ["metadata", "--no-deps", "--offline", "--format-version", "1"];

/// Cargo could not be started.
pub fn not_started(error: &std::io::Error) -> Failure {
    Failure::new(exit_code::MISSING, "cargo could not be started")
        .because(error)
        .help("install Rust 1.95.0 with rustup and put cargo on the PATH")
}

/// Cargo ran, and what it said or how it ended could not be read.
pub fn lost(error: &std::io::Error) -> Failure {
    Failure::new(exit_code::FILES, "cargo's answer could not be read").because(error)
}

/// The workspace's packages as cargo describes them.
pub fn metadata(workspace: &Workspace) -> Result<Value> {
    let output = command(workspace).args(METADATA).output().map_err(|error| not_started(&error))?;
    let unreadable = |why: String| {
        Failure::new(exit_code::BUILD, "the workspace could not be read").because(why)
    };
    if !output.status.success() {
        return Err(unreadable(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| unreadable(error.to_string()))
}

/// Builds packages in release and returns the path of each one's executable, in their order.
pub fn executables(workspace: &Workspace, packages: &[&str]) -> Result<Vec<PathBuf>> {
    let progress = Progress::start(format!("building {}", packages.join(", ")));
    let color = if std::io::stderr().is_terminal() { "always" } else { "never" };
    let mut command = command(workspace);
    command.args(["build", "--release", "--quiet", "--color", color]);
    command.args(["--message-format", "json-render-diagnostics"]);
    for package in packages {
        command.args(["--package", package]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&error))?;

    let stdout = child.stdout.take().into_iter();
    let stderr = child.stderr.take().into_iter();
    let found = thread::scope(|scope| {
        scope.spawn(|| stderr.for_each(|pipe| lines(pipe, |line| progress.print(line))));
        let mut found = vec![None; packages.len()];
        let mut finished = 0;
        stdout.for_each(|pipe| {
            lines(pipe, |line| {
                let message: Value = serde_json::from_str(line).unwrap_or_default();
                let Some(name) = message["target"]["name"].as_str() else { return };
                finished += 1;
                progress.step(format!("{finished} crates, last {name}"));
                let executable = message["executable"].as_str();
                let asked_for = packages.iter().position(|package| *package == name);
                if let (Some(executable), Some(index)) = (executable, asked_for) {
                    found[index] = Some(PathBuf::from(executable));
                }
            });
        });
        found
    });
    let status = child.wait().map_err(|error| lost(&error))?;
    drop(progress);

    let what = format!("{} did not build", packages.join(", "));
    if let Some(signal) = status.signal() {
        return Err(Failure::new(exit_code::BUILD, what)
            .because(format!("cargo was ended by signal {signal}"))
            .help(
                "if nobody stopped it, memory may have run out: try again with CARGO_BUILD_JOBS=1",
            ));
    }
    if !status.success() {
        return Err(Failure::new(exit_code::BUILD, what).help("cargo's message stands above"));
    }
    let all: Option<Vec<PathBuf>> = found.into_iter().collect();
    all.ok_or_else(|| {
        Failure::new(exit_code::BUILD, what)
            .because("a package has no executable of its own name")
            .help("give its [[bin]] the package's name")
    })
}

/// Builds a package in release and returns the path of its shared library.
pub fn library(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    let progress = Progress::start(format!("building {package}"));
    let output = command(workspace)
        .args(["build", "--release", "--quiet", "--message-format", "json-render-diagnostics"])
        .args(["--package", package])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| not_started(&error))?;
    drop(progress);
    let failed = || Failure::new(exit_code::BUILD, format!("{package} did not build"));
    if !output.status.success() {
        return Err(failed().help("cargo's message stands above"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let files =
        messages.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let mut files = files.filter_map(|file| file.as_str().map(PathBuf::from));
    let is_library = |file: &PathBuf| {
        let name = format!("lib{}.so", package.replace('-', "_"));
        file.file_name().is_some_and(|file| *file == *name)
    };
    let file = files.find(is_library);
    file.ok_or_else(|| failed().because("it has no shared library"))
}

/// An executable without its symbols and debug information, which are most of it. Where neither the toolchain nor the
/// machine has a program for that, as it is.
pub fn without_symbols(workspace: &Workspace, program: &Path) -> Result<Vec<u8>> {
    let bare = program.with_extension("bare");
    let strips = |mut command: Command| {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let stripped = objcopies(workspace).into_iter().any(|objcopy| {
        let mut command = Command::new(objcopy);
        command.arg("--strip-all").args([program, &bare]);
        strips(command)
    });
    let from = if stripped { &bare } else { program };
    let bytes = fs::read(from).map_err(|error| Failure::file("read", from, &error));
    if stripped {
        // It is in the target folder, which is not precious.
        let _ = fs::remove_file(&bare);
    }
    bytes
}

/// Programs that can strip, the toolchain's own first.
fn objcopies(workspace: &Workspace) -> Vec<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let sysroot = Command::new(rustc)
        .args(["--print", "sysroot"])
        .current_dir(workspace.root())
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    let targets = fs::read_dir(Path::new(&sysroot).join("lib/rustlib"));
    let own = targets.into_iter().flatten().flatten().map(|target| target.path());
    own.map(|target| target.join("bin/rust-objcopy"))
        .filter(|objcopy| objcopy.is_file())
        .chain([PathBuf::from("objcopy")])
        .collect()
}

/// Calls `each` with every line until the pipe closes; a line that is no UTF-8 is shown as far as it is.
fn lines(pipe: impl Read, mut each: impl FnMut(&str)) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        each(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        line.clear();
    }
}
