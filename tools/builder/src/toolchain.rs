//! The compiler that builds kernels, and whether it is the one whose output is known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::environment::{Environment, failure};

/// The release whose code generation the flags and checks of this library were made for.
pub(crate) const RELEASE: &str = "1.95.0";

/// A Rust installation.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler.
    pub(crate) rustc: OsString,
    /// Its version number.
    pub release: String,
    /// Where it is installed.
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// The compiler that cargo would use in `dir` (the current folder if `None`).
    pub fn of(env: &Environment, dir: Option<&Path>) -> Result<Self, Error> {
        let rustc = env.get("RUSTC").unwrap_or("rustc".as_ref()).to_owned();
        let ask = |what: &[&str]| -> Result<String, Error> {
            let mut command = env.command(&rustc);
            if let Some(dir) = dir {
                command.current_dir(dir);
            }
            let output = command.args(what).output().map_err(|error| {
                Error::Setup(format!(
                    "cannot run `{}`: {error}\ninstall Rust {RELEASE} with rustup",
                    rustc.display()
                ))
            })?;
            if !output.status.success() {
                return Err(Error::Setup(format!(
                    "`{} {}` failed: {}\ninstall Rust {RELEASE}: rustup toolchain install {RELEASE}",
                    rustc.display(),
                    what.join(" "),
                    failure(&output)
                )));
            }
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = ask(&["--version", "--verbose"])?;
        let release = version
            .lines()
            .find_map(|line| line.strip_prefix("release: "))
            .ok_or_else(|| Error::Setup(format!("rustc says no release:\n{version}")))?
            .to_owned();
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
        Ok(Self { rustc, release, sysroot })
    }

    /// Refuses compilers whose output nobody has checked, unless `BATON_ANY_RUSTC` is set.
    pub(crate) fn check(&self, env: &Environment) -> Result<(), Error> {
        if self.release == RELEASE || env.is_on("BATON_ANY_RUSTC") {
            return Ok(());
        }
        Err(Error::Setup(format!(
            "kernels are built with Rust {RELEASE}, whose code generation for GPUs is known; this is {}\n\
             put `channel = \"{RELEASE}\"` into rust-toolchain.toml (or set BATON_ANY_RUSTC=1 to try anyway)",
            self.release
        )))
    }
}
