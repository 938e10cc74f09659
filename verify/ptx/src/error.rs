//! What is said about a text that is not PTX.

/// A syntax or name error in a PTX text: where it is, what stood there and what should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{column}: found {found}, expected {expected}")]
pub struct ParseError {
    /// The name of the text, as the caller of [`crate::Module::parse`] gave it.
    pub name: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// What stands there.
    pub found: String,
    /// What would have been right.
    pub expected: String,
}
