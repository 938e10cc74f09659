//! Names of entry points that the macros cannot judge, because they see one function at a time: the device build refuses them.

use std::fs;

use baton_builder::{Arch, Builder, Error, Ptxas};
use baton_tests::root;

/// What the device build says of a crate with these kernels.
fn refusal(name: &str, source: &str) -> String {
    let folder = root().join("target/baton-tests/symbols");
    let package = folder.join(name);
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         baton = {{ path = {:?} }}\n",
        root().join("kernel-lib").canonicalize().expect("the library")
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
    fs::write(package.join("src/lib.rs"), format!("#![no_std]\nuse baton::prelude::*;\n{source}"))
        .expect("a source file");
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock"))
        .expect("the versions of the repository");
    let built = Builder::new(&package)
        .arch(Arch::Sm100a)
        .ptxas(Ptxas::Off)
        .target_dir(folder.join("target"))
        .out_dir(package.join("out"))
        .build();
    match built {
        Ok(_) => String::from("nothing"),
        Err(Error::Compile { .. }) => String::from("the compiler has said why"),
        Err(error) => error.to_string(),
    }
}

const PLAIN: &str =
    "(cta: Cta<'_, NoShared, 32>) -> Exit<'_> { let (cta, ()) = cta.claim(); cta.join().exit(()) }";

fn kernel(name: &str) -> String {
    format!("#[baton::kernel(threads = 32)] pub fn {name}{PLAIN}\n")
}

#[test]
fn experiments() {
    let twice = format!(
        "pub mod a {{ use super::*; {} }} pub mod b {{ use super::*; {} }}",
        kernel("k"),
        kernel("k")
    );
    for (name, source) in [
        ("twice", twice),
        (
            "dropped",
            format!(
                "{}#[unsafe(no_mangle)] pub extern \"C\" fn __baton_dropped_stage() {{}}",
                kernel("k")
            ),
        ),
        (
            "called",
            format!(
                "{}#[used] static K: [usize; 1] = [0]; pub fn f() -> usize {{ k as usize }} #[unsafe(no_mangle)] pub extern \"C\" fn g() -> usize {{ k as usize }}",
                kernel("k")
            ),
        ),
        ("calls", format!("{}#[unsafe(no_mangle)] pub extern \"C\" fn g() {{ k() }}", kernel("k"))),
    ] {
        println!("== {name}");
        println!("{}", refusal(name, &source));
    }
}
