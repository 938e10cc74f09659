//! The oldest compiler that builds the device library is the one that its manifest names.
//!
//! Runs where there is one: the compiler that `BATON_OLDEST_RUSTC` names, a toolchain of rustup, or the system's. Debian
//! has 1.85, as `rustc`, or as `rustc-web` in its older release. Edition 2024 takes none before it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_tests::{packages, root};

/// The version that the library's manifest names.
fn oldest() -> String {
    let packages = packages();
    let version = |name: &str| {
        let package = packages.iter().find(|package| package["name"] == name).expect("a package");
        package["rust_version"].as_str().expect("a manifest that names its compiler").to_owned()
    };
    assert_eq!(version("baton"), version("baton-macros"));
    version("baton")
}

/// A compiler of that version, if this machine has one.
fn compiler(version: &str) -> Option<PathBuf> {
    let named = env::var_os("BATON_OLDEST_RUSTC").map(PathBuf::from);
    let rustup = Command::new("rustup").args(["which", "rustc", "--toolchain", version]).output();
    let rustup = rustup.ok().filter(|output| output.status.success());
    let rustup = rustup.map(|output| String::from_utf8_lossy(&output.stdout).trim().into());
    named.into_iter().chain(rustup).chain(["/usr/bin/rustc".into()]).find(|path: &PathBuf| {
        let said = Command::new(path).arg("--version").output();
        let is = format!("rustc {version}.");
        said.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(&is))
    })
}

/// A package whose library is the source file of kernels.
fn package(folder: &Path, name: &str, source: &Path) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = {source:?}\n\n[dependencies]\nbaton = {{ path = {:?} }}\n",
        root().join("kernel-lib").canonicalize().expect("the library")
    );
    let folder = folder.join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
}

#[test]
fn the_library_and_kernels_on_it_build_with_the_oldest_compiler() {
    let version = oldest();
    let Some(rustc) = compiler(&version) else {
        println!("not tested: this machine has no rustc {version} (set BATON_OLDEST_RUSTC to one)");
        return;
    };
    let folder = root().join("target/baton-tests/oldest");
    fs::create_dir_all(&folder).expect("a folder");
    let kernels = ["protocols", "ring", "bulk-copy", "gemm-hopper", "takeover"];
    for kernel in kernels {
        let source = root().join("examples").join(kernel).join("kernel/src/lib.rs");
        package(&folder, kernel, &source.canonicalize().expect("kernels"));
    }
    let workspace = format!("[workspace]\nresolver = \"2\"\nmembers = {kernels:?}\n");
    fs::write(folder.join("Cargo.toml"), workspace).expect("a manifest");
    let sibling = rustc.with_file_name("cargo");
    let cargo = if sibling.is_file() { sibling } else { env!("CARGO").into() };
    // Built, not only checked: constants of generic code are evaluated no sooner.
    let output = Command::new(cargo)
        .args(["build", "--workspace", "--offline", "--target-dir"])
        .arg(folder.join("target"))
        .env("RUSTC", &rustc)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(&folder)
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "with rustc {version}:\n{said}");
}
