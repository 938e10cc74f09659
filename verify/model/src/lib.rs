//! The axiomatic PTX memory model as a program.
//!
//! A litmus test asks whether an outcome of a small concurrent program can happen. This crate answers
//! by the axioms of chapter 8 of the PTX ISA (9.4): it enumerates the executions of the program,
//! keeps those that the axioms admit, and shows one that has the outcome.
//!
//! ```
//! use baton_model::litmus::Test;
//!
//! let test = Test::parse(
//!     "location x global u32 = 0
//!      location flag global u32 = 0
//!      thread T0 cta=0:
//!        st.weak.u32 [x], 1
//!        st.release.gpu.u32 [flag], 1
//!      thread T1 cta=1:
//!        ld.acquire.gpu.u32 r0, [flag]
//!        ld.weak.u32 r1, [x]
//!      exists: T1:r0 == 1 && T1:r1 == 0",
//!     "mp.litmus",
//! )?;
//! let verdict = baton_model::judge(&test.program, &test.condition, &Default::default())?;
//! assert!(!verdict.allowed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The definitions stand in one module each, beside their section numbers: [`strong`] (8.7),
//! [`pattern`] (8.8), [`observation`] (8.9.2), [`synchronise`] and [`barrier`] (8.9.4), [`causality`]
//! (8.9.5), [`coherence`] (8.9.6, 8.9.7), [`axioms`] and [`thin_air`] (8.10), [`race`] (8.7.1).
//! `docs/memory-model.md` explains them with pictures and says what was chosen where the text leaves
//! room ([`options::Choices`]).
//!
//! [`kernel`] takes the threads of compiled kernels instead of a litmus file: that is how a wrapper's
//! Rust source, through rustc and LLVM, is shown to keep its guarantee.
//!
//! What the crate can miss: loops beyond `unroll`, and programs whose values or paths are too many
//! to enumerate, which are errors and never a verdict.

pub mod axioms;
pub mod barrier;
pub mod candidate;
pub mod causality;
pub mod coherence;
mod demand;
pub mod event;
pub mod execution;
mod finals;
mod interleave;
pub mod judge;
pub mod kernel;
pub mod letters;
pub mod limited;
pub mod litmus;
pub mod local;
pub mod observation;
pub mod options;
pub mod pattern;
pub mod program;
pub mod race;
pub mod reads;
pub mod relation;
pub mod relevance;
pub mod scope;
mod search;
pub mod strong;
mod symmetry;
pub mod synchronise;
pub mod thin_air;
pub mod undefined;
pub mod witness;

pub use judge::{Incomplete, Outcome, Verdict, judge, judge_directed, outcomes};
pub use options::{Choices, Clause, Clauses, Options};
pub use undefined::Undefined;

/// Why a program could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A racing read of wide values can return too many combinations of bytes.
    #[error(
        "a read of `{0}` can return more than 4096 values: use fewer different values or narrower types"
    )]
    TooManyValues(String),
    /// A thread has too many paths and values.
    #[error("thread `{0}` can run in more than 65536 ways: split the test")]
    TooManyPaths(String),
    /// An access does not lie inside one declared location.
    #[error("thread `{thread}`, line {line}: an access outside the declared locations")]
    OutOfBounds {
        /// Which thread.
        thread: String,
        /// Line of the instruction.
        line: usize,
    },
    /// The search did not end.
    #[error("no verdict after {0} steps: the test is too large")]
    TooLarge(u64),
}
