//! The memory-order rules, judged on compiled Rust.
//!
//! The builder makes PTX of the corrected twins (`tests/kernels/memory-order`), and the memory model
//! judges it: the twin forbids the bad outcome and has no race; the same PTX with a fence, a scope or a
//! wait weakened allows it. So the rule is sufficient, and each part of it is needed.

mod across_ctas;
mod pair;
mod shared_memory;
mod tensor_memory;
