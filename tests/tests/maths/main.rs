//! Functions of floats: how far each is from the exact value, and that device and host agree to the last bit.
//!
//! `docs/maths.md` has the worst errors over all arguments of f16 and bf16, and every 61st of `f32`. Each run looks at a sample and compares it with that
//! page; the whole, and the page, are made by:
//!
//! ```text
//! BATON_LONG=1 BATON_BLESS=1 cargo test --release -p baton-tests --test maths
//! ```

mod device;
mod errors;
mod reference;
