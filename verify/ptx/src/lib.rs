//! PTX text to instructions with source lines.
