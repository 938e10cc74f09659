//! The environment variables of this process, taken once.
//!
//! Every program that the builder starts gets its whole environment from here, so what a child sees
//! is decided in one place, and a test can put its own programs on `PATH` without touching the
//! process that runs the tests.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Environment variables for the programs that the builder starts.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The variables of this process.
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable; an empty one counts as absent.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Whether a switch is on: set, and not to `0`.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0")
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes the variables that `unwanted` names.
    pub fn remove_if(&mut self, unwanted: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| !name.to_str().is_some_and(&unwanted));
    }

    /// A program: a path as it is, a bare name from `PATH`.
    pub fn find(&self, program: impl AsRef<Path>) -> Option<PathBuf> {
        let program = program.as_ref();
        if program.components().count() > 1 {
            return is_program(program).then(|| program.to_owned());
        }
        let path = self.get("PATH")?;
        std::env::split_paths(path).map(|dir| dir.join(program)).find(|file| is_program(file))
    }

    /// A command with exactly these variables.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.0).stdin(Stdio::null());
        command
    }
}

fn is_program(file: &Path) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}

/// What went wrong with a program, in one line: how it ended, and the last thing that it said.
pub(crate) fn failure(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
    // apt and pip put the reason on a line of its own, and general remarks after it.
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_reason = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.starts_with("e:") || line.starts_with("error") || line.contains("no space left")
    };
    match lines().find(is_reason).or_else(|| lines().next_back()) {
        Some(line) => format!("{line} ({})", output.status),
        None => output.status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_set_to_zero_is_off() {
        let mut env = Environment::default();
        assert!(!env.is_on("BATON_OFFLINE"));
        env.set("BATON_OFFLINE", "0");
        assert!(!env.is_on("BATON_OFFLINE"));
        env.set("BATON_OFFLINE", "1");
        assert!(env.is_on("BATON_OFFLINE"));
    }

    #[test]
    fn programs_come_from_the_given_path() {
        let mut env = Environment::of_process();
        assert!(env.find("sh").is_some());
        env.set("PATH", "/nonexistent");
        assert_eq!(env.find("sh"), None);
    }

    #[test]
    fn the_reason_of_a_failure_is_the_line_that_says_so() {
        let mut command = Environment::of_process().command("sh");
        let output = command
            .args(["-c", "echo note >&2; echo 'E: no such host' >&2; echo bye >&2; exit 3"])
            .output()
            .unwrap();
        assert_eq!(failure(&output), "E: no such host (exit status: 3)");
    }
}
