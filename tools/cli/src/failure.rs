//! Why a command failed, told so that the reader knows what to do next.

use std::fmt;
use std::path::Path;

use crate::exit_code;

/// What happened, why, and what to do: the only error of this crate.
#[derive(Debug)]
pub struct Failure {
    exit_code: u8,
    what: String,
    why: Option<String>,
    help: Option<String>,
}

impl Failure {
    /// A failure that ends the process with `exit_code` (one of [`crate::exit_code`]).
    pub fn new(exit_code: u8, what: impl Into<String>) -> Self {
        Self { exit_code, what: what.into(), why: None, help: None }
    }

    /// The command line asks for what cannot be.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(exit_code::USAGE, what)
    }

    /// A file or folder could not be read or written: the message names it.
    pub fn file(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let failure = Self::new(exit_code::FILES, format!("cannot {action} `{}`", path.display()));
        failure.because(error)
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, why: impl fmt::Display) -> Self {
        self.why = Some(why.to_string());
        self
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        let parts = [("why", &self.why), ("help", &self.help)];
        for (label, part) in parts.iter().filter_map(|(l, p)| p.as_ref().map(|p| (l, p))) {
            let mut lines = part.trim_end().lines();
            write!(f, "\n  {label}: {}", lines.next().unwrap_or_default())?;
            let indent = label.len() + 4;
            for line in lines {
                write!(f, "\n{:indent$}{line}", "")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_line_and_long_parts_line_up() {
        let failure = Failure::usage("no example is called `gem`")
            .because("the examples are packages below examples/")
            .help("did you mean `gemm`?\nall of them: ring, gemm");
        assert_eq!(
            failure.to_string(),
            "error: no example is called `gem`\n  \
               why: the examples are packages below examples/\n  \
               help: did you mean `gemm`?\n        all of them: ring, gemm"
        );
    }
}
