//! Programs that nobody wrote.
//!
//! The library claims that safe code cannot break the rules. This crate looks for code that does: it edits real kernels
//! on their syntax trees and puts typed moves between their statements, lets the compiler say what types, builds the rest,
//! and runs it under many strict schedules of the emulator. Whatever the compiler takes must end in one of a few ways
//! ([`judge::End`]); any other end is a hole in the types, or a false accusation of the emulator.
//!
//! ```text
//!   seed kernels ─▶ edits, moves ─▶ cargo check ─▶ one device build ─▶ schedules ─▶ ends
//!                                     ▲      │
//!                                     └repair┘
//! ```
//!
//! - [`seed`]: the kernels, what their variables are, and how they are launched;
//! - [`moves`]: what may be called on a value of which kind; [`table`]: all else that the library has;
//! - [`walk`]: the statements of a kernel, with what is in scope there;
//! - [`statics`]: functions that would make something out of nothing;
//! - [`insert`]: statements made of moves; [`balance`]: those on both ends of a ring; [`edit`]: all other edits;
//! - [`shadow`]: names in the way of the macros; [`neutral`]: edits that cannot change the result;
//! - [`program`]: program `i`, which follows from a seed and `i` alone;
//! - [`batch`]: what becomes of many programs at once; [`errors`]: what the compiler says of each; [`judge`]: what the emulator says; [`limits`]: what is known;
//! - [`campaign`]: many programs; [`journal`]: what a long one leaves behind; [`shrink`]: fewer edits that show the same.
//!
//! What it can miss: docs/programs.md.

use std::path::{Path, PathBuf};

pub mod balance;
pub mod batch;
pub mod campaign;
pub mod edit;
pub mod errors;
pub mod insert;
pub mod journal;
pub mod judge;
pub mod limits;
pub mod moves;
pub mod neutral;
pub mod program;
pub mod seed;
pub mod shadow;
pub mod shrink;
pub mod statics;
pub mod table;
pub mod walk;

/// Why programs cannot be made or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The generated crate cannot be checked even without a program.
    #[error("the generated crate in {} cannot be checked: {problem}", path.display())]
    Crate {
        /// Its folder.
        path: PathBuf,
        /// What cargo says.
        problem: String,
    },
    /// The device build failed, and no program can be to blame: the machine is.
    #[error(transparent)]
    Build(#[from] baton_builder::Error),
}

/// What everything here gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The top folder of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

fn read(path: &Path) -> Result<String> {
    let path = path.to_owned();
    std::fs::read_to_string(&path).map_err(|source| Error::File { action: "read", path, source })
}

/// Writes a file, unless it holds that already: cargo looks at the time.
fn write(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let error = |source| Error::File { action: "write", path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(error)?;
    }
    std::fs::write(path, text).map_err(error)
}
