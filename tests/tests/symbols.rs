//! Symbols that the macros cannot judge, because they see one function at a time: the device build refuses them.

use std::fs;
use std::path::{Path, PathBuf};

use baton_builder::{Arch, Builder, Error, Output, Ptxas};
use baton_tests::root;

fn folder() -> PathBuf {
    root().join("target/baton-tests/symbols")
}

/// A package of kernels on the library, and on the packages beside it that are named.
fn package(name: &str, dependencies: &[&str], source: &str) -> PathBuf {
    let package = folder().join(name);
    fs::create_dir_all(package.join("src")).expect("a folder");
    let mut manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         baton = {{ package = \"baton-gpu\", path = {:?} }}\n",
        root().join("kernel-lib").canonicalize().expect("the library")
    );
    for dependency in dependencies {
        manifest.push_str(&format!("{dependency} = {{ path = \"../{dependency}\" }}\n"));
    }
    fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
    let source = format!("#![no_std]\nuse baton::prelude::*;\n{source}");
    fs::write(package.join("src/lib.rs"), source).expect("a source file");
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock"))
        .expect("the versions of the repository");
    package
}

fn build(package: &Path) -> Result<Output, Error> {
    Builder::new(package)
        .arch(Arch::Sm100a)
        .ptxas(Ptxas::Off)
        .target_dir(folder().join("target"))
        .out_dir(package.join("out"))
        .build()
}

/// A kernel that does nothing.
fn kernel(name: &str) -> String {
    format!(
        "#[baton::kernel(threads = 32)]\npub fn {name}(cta: Cta<'_, NoShared, 32>) -> Exit<'_> {{\n    \
         let (cta, ()) = cta.claim();\n    cta.join().exit(())\n}}\n"
    )
}

fn refusal(name: &str, source: &str) -> String {
    match build(&package(name, &[], source)) {
        Ok(_) => panic!("`{name}` was built"),
        Err(error @ Error::Checks { .. }) => error.to_string(),
        Err(error) => panic!("`{name}`: {error}"),
    }
}

#[test]
fn what_shows_a_dropped_token_is_not_defined_by_the_kernels() {
    let source =
        kernel("k") + "#[unsafe(no_mangle)]\npub extern \"C\" fn __baton_dropped_stage() {}\n";
    let refused = refusal("defines-dropped", &source);
    assert!(refused.contains("the kernels define the symbol `__baton_dropped_stage`"), "{refused}");
}

#[test]
fn an_entry_point_is_no_function() {
    let source = kernel("k")
        + "#[unsafe(no_mangle)]\npub extern \"C\" fn address() -> usize {\n    k as *const () as usize\n}\n";
    let refused = refusal("takes-address", &source);
    assert!(refused.contains("this uses the entry point `k` as a function"), "{refused}");
    assert!(refused.contains("src/lib.rs:"), "{refused}");
}

#[test]
fn two_crates_with_kernels_of_one_name_are_refused() {
    let below = package("first-of-two", &[], &kernel("k"));
    build(&below).unwrap_or_else(|error| panic!("alone: {error}"));
    let both = package(
        "second-of-two",
        &["first-of-two"],
        &format!("pub use first_of_two as first;\n{}", kernel("k")),
    );
    match build(&both) {
        Err(Error::Compile { .. }) => {}
        Ok(_) => panic!("one of the kernels was left out"),
        Err(error) => panic!("{error}"),
    }
}
