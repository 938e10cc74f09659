//! What can go wrong, said once and fully: what, where, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Arch;
use crate::check::Finding;

/// Why there is no kernel.
///
/// `Debug` prints the same text as `Display`, because a `build.rs` whose `main` returns this error
/// shows it through `Debug`.
#[non_exhaustive]
pub enum Error {
    /// Something is wrong with the call or with the machine's set-up.
    Setup(String),
    /// A file could not be read or written.
    Io {
        /// What was being done: "write the PTX".
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A part of the tool chain is missing, and none of the ways to get it worked.
    Missing {
        /// The part.
        what: &'static str,
        /// Each way that was tried, and why it failed.
        tried: Vec<(String, String)>,
        /// What to do.
        remedy: String,
    },
    /// The kernel crate does not compile; the compiler has said why.
    Compile {
        /// The kernel crate.
        package: String,
        /// The target.
        arch: Arch,
        /// What it has said, where that was collected ([`crate::Faults::Collect`]) rather than shown.
        messages: String,
        /// Its errors in JSON, as `rustc --error-format=json` writes them, where they were collected: for who looks for the
        /// places that they name.
        errors: Vec<serde_json::Value>,
    },
    /// The compiler's output is not the PTX that the builder knows how to read.
    Ptx {
        /// The kernel crate.
        package: String,
        /// The target.
        arch: Arch,
        /// What is wrong with it.
        message: String,
    },
    /// The PTX breaks rules that the compiler does not know.
    Checks {
        /// The kernel crate.
        package: String,
        /// The target.
        arch: Arch,
        /// Each broken rule with its place, and what may be one.
        findings: Vec<Finding>,
    },
    /// libNVVM does not take the compiler's IR.
    Nvvm {
        /// The kernel crate.
        package: String,
        /// The target.
        arch: Arch,
        /// What it has said.
        log: String,
    },
    /// ptxas does not take the PTX.
    Assemble {
        /// The kernel crate.
        package: String,
        /// The target.
        arch: Arch,
        /// Its messages, with Rust places.
        findings: Vec<Finding>,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(message) => f.write_str(message),
            Self::Io { action, path, source } => {
                write!(f, "cannot {action}: {}: {source}", path.display())
            }
            Self::Missing { what, tried, remedy } => {
                writeln!(f, "{what} is missing and could not be fetched:")?;
                for (way, reason) in tried {
                    writeln!(f, "  {way}: {reason}")?;
                }
                write!(f, "{remedy}")
            }
            Self::Compile { package, arch, messages, .. } => {
                write!(f, "kernel crate `{package}` was not compiled for {arch}: ")?;
                match &**messages {
                    "" => f.write_str("cargo says why above"),
                    messages => write!(f, "cargo says\n{messages}"),
                }
            }
            Self::Ptx { package, arch, message } => {
                write!(f, "the PTX of `{package}` for {arch} cannot be used: {message}")
            }
            Self::Checks { package, arch, findings } => {
                write!(f, "the PTX of `{package}` for {arch} breaks its rules:")?;
                findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
            }
            Self::Nvvm { package, arch, log } => {
                write!(f, "libNVVM does not take the IR of `{package}` for {arch}:\n{log}")
            }
            Self::Assemble { package, arch, findings } => {
                write!(f, "ptxas does not take the PTX of `{package}` for {arch}:")?;
                findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
