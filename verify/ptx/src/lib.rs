//! PTX text to a tree of instructions with their source lines.
//!
//! The tree is generic: an instruction is a guard, a mnemonic with its modifiers and a list of
//! operands, whatever the mnemonic is. So a new instruction of a new PTX version parses without a
//! change here, and only who executes or checks it has to know it. Names are resolved: registers
//! to dense numbers per function, labels to instruction positions, variables to the parameter or
//! declaration that is meant where the name stands (`{}` scopes included, as inline assembly uses
//! them).
//!
//! [`Module::parse`] reads a module; [`lines::LineTable`] is the side table that leads from a PTX
//! line to the Rust source it came from; [`flow::Graph`] is the control flow of a function.
//!
//! Left out: textures and surfaces beyond their syntax, and the debug sections, of which only the
//! place in the text is kept ([`Section`]).

mod error;
pub mod flow;
pub mod forms;
mod lexer;
pub mod lines;
mod parser;
mod tree;

pub use error::ParseError;
pub use tree::*;
