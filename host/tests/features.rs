//! The library with one of its two devices: it compiles without a warning.
//!
//! Cargo checks it in a folder of its own below the target folder, where it finds its answer of the last time.

use std::path::Path;
use std::process::Command;

/// Checks the library with these features; what the compiler says.
fn checked(features: &str) -> String {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("features");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--offline", "--lib", "--no-default-features", "--features", features])
        .arg("--manifest-path")
        .arg(library.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "with the features `{features}`:\n{said}");
    said
}

#[test]
fn either_device_can_be_left_out() {
    for features in ["gpu", "emulator"] {
        // Cargo repeats the warnings of what it does not check again.
        let said = checked(features);
        let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning")).collect();
        assert!(warnings.is_empty(), "with the features `{features}`:\n{said}");
    }
}
