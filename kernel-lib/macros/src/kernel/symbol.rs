//! Names that an entry point may have.
//!
//! The name of a kernel is its symbol in the PTX, where it meets those of the library, of the compiler, of Rust's runtime and of
//! the driver. One that is theirs would hide them, or be taken for them, without a word.

use syn::{Error, Ident, Result};

/// What the driver and the device's runtime provide, and what LLVM takes for the C function of that name.
const PROVIDED: &[&str] = &[
    "abort",
    "aligned_alloc",
    "bcmp",
    "calloc",
    "exit",
    "free",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "printf",
    "putchar",
    "puts",
    "realloc",
    "strcmp",
    "strcpy",
    "strlen",
    "vprintf",
];

/// Where a program begins, for linkers and loaders.
const STARTS: &[&str] = &["main", "start", "_start", "_init", "_fini"];

/// Words of PTX that ptxas refuses as names.
const PTX: &[&str] = &["WARP_SZ"];

/// Beginnings of names, and whose they are.
const BEGINNINGS: &[(&str, &str)] = &[
    (
        "__",
        "what begins with two underscores is the compiler's, the library's and the driver's (`__baton_dropped_stage`, `__assertfail`)",
    ),
    ("baton_", "what begins with `baton_` is the library's (`baton_dynamic_shared`)"),
    (
        "rust_",
        "what begins with `rust_` is of Rust's runtime (`rust_begin_unwind`, `rust_eh_personality`)",
    ),
    ("cuda", "what begins with `cuda` is of CUDA's runtime (`cudaDeviceSynchronize`)"),
    ("llvm", "what begins with `llvm` is the compiler's"),
    ("nvvm", "what begins with `nvvm` is the compiler's"),
    ("_Z", "what begins with `_Z` looks like a mangled name of C++ or Rust"),
    ("_R", "what begins with `_R` looks like a mangled name of Rust"),
];

/// An error where the name cannot be an entry point's.
pub fn check(name: &Ident) -> Result<()> {
    let text = name.to_string();
    match objection(&text) {
        None => Ok(()),
        Some(why) => Err(Error::new(
            name.span(),
            format!(
                "a kernel cannot be called `{text}`: its name is its symbol in the PTX, and {why}; call it otherwise, \
                 such as `{}`",
                other(&text)
            ),
        )),
    }
}

fn objection(name: &str) -> Option<String> {
    if name.starts_with("r#") {
        return Some("a raw identifier is none there".into());
    }
    if !name.is_ascii() {
        return Some("PTX has ASCII letters, digits, `_` and `$` only".into());
    }
    if let Some((_, whose)) = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)) {
        return Some((*whose).into());
    }
    if PROVIDED.contains(&name) || is_mathematical(name) {
        return Some("compilers and drivers know a function of C by that name".into());
    }
    if STARTS.contains(&name) {
        return Some("programs begin at that symbol".into());
    }
    PTX.contains(&name).then(|| "PTX has that word for itself".into())
}

/// The functions of C's `math.h`, whose names a compiler gives to what it calls for an operation on floats.
fn is_mathematical(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp10",
        "exp2",
        "expm1",
        "fabs",
        "fdim",
        "floor",
        "fma",
        "fmax",
        "fmaximum",
        "fmin",
        "fminimum",
        "fmod",
        "frexp",
        "hypot",
        "ilogb",
        "j0",
        "j1",
        "jn",
        "ldexp",
        "lgamma",
        "lgamma_r",
        "log",
        "log10",
        "log1p",
        "log2",
        "modf",
        "nextafter",
        "pow",
        "remainder",
        "remquo",
        "rint",
        "round",
        "roundeven",
        "scalbn",
        "sin",
        "sincos",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tgamma",
        "trunc",
        "y0",
        "y1",
        "yn",
    ];
    NAMES.contains(&name)
        || ["f", "l", "f16", "f128"]
            .iter()
            .any(|suffix| name.strip_suffix(suffix).is_some_and(|stem| NAMES.contains(&stem)))
}

/// A name that looks like it and can be a kernel's.
fn other(name: &str) -> String {
    let letters: String = name
        .trim_start_matches("r#")
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    let stem = letters.trim_matches('_');
    if stem.is_empty() { "my_kernel".into() } else { format!("my_{stem}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_refused_and_the_ones_proposed_are_not() {
        for name in [
            "__baton_dropped_stage",
            "__dynamic_shared",
            "baton_dynamic_shared",
            "vprintf",
            "memcpy",
            "bcmp",
            "fmodf",
            "sqrt",
            "main",
            "_start",
            "rust_begin_unwind",
            "cudaDeviceSynchronize",
            "r#in",
            "größe",
            "WARP_SZ",
            "_ZN4core",
            "_RNv",
            "llvm_kernel",
            "__",
            "é",
        ] {
            assert!(objection(name).is_some(), "{name}");
            assert!(objection(&other(name)).is_none(), "{name}: {}", other(name));
        }
    }

    #[test]
    fn names_of_kernels_are_taken() {
        for name in [
            "gemm",
            "_k",
            "add",
            "reg",
            "exponent",
            "Gemm",
            "x86",
            "sinf_of",
            "k_param_0",
            "startle",
            "core",
        ] {
            assert!(objection(name).is_none(), "{name}");
        }
    }
}
