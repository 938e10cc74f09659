//! The oldest compiler that builds the device library is the one that its manifest names.
//!
//! The host's side runs where there is one: the compiler that `BATON_OLDEST_RUSTC` names, a toolchain of rustup, or the system's. Debian
//! has 1.85, as `rustc`, or as `rustc-web` in its older release. Edition 2024 takes none before it.
//!
//! The device's side needs rustup's toolchains with their `rust-src`, and is built with each of [`OLDER`] that is there: with and
//! without the feature `rust-cuda`, of which docs/rust-cuda.md says what these tests show.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_campaign::is_long;
use baton_tests::{packages, root};

/// The version that the library's manifest names.
fn oldest() -> String {
    let packages = packages();
    let version = |name: &str| {
        let package = packages.iter().find(|package| package["name"] == name).expect("a package");
        package["rust_version"].as_str().expect("a manifest that names its compiler").to_owned()
    };
    assert_eq!(version("baton-gpu"), version("baton-macros"));
    version("baton-gpu")
}

/// A compiler of that version, if this machine has one.
fn compiler(version: &str) -> Option<PathBuf> {
    let named = env::var_os("BATON_OLDEST_RUSTC").map(PathBuf::from);
    // It may be installed under either name.
    let rustup = [version.to_owned(), format!("{version}.0")].into_iter().filter_map(|toolchain| {
        let which =
            Command::new("rustup").args(["which", "rustc", "--toolchain", &toolchain]).output();
        let found = which.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&found.stdout).trim().into())
    });
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
         [lib]\npath = {source:?}\n\n[dependencies]\nbaton = {{ package = \"baton-gpu\", path = {:?} }}\n",
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

/// A release or nightly of rustup whose device builds are checked.
struct Older {
    name: &'static str,
    /// Whether it is tried each time; the others cost half a minute each.
    always: bool,
    kernels: &'static [Kernels],
}

/// The oldest, and those that Rust-CUDA's repository pinned in August 2025 and in April 2026.
const OLDER: [Older; 3] = [
    // Its LLVM has no sm_100a.
    Older { name: "1.85.0", always: true, kernels: KERNELS.split_at(2).0 },
    Older { name: PINNED, always: false, kernels: &KERNELS },
    Older { name: "nightly-2026-04-02", always: false, kernels: &KERNELS },
];

/// What Rust-CUDA's repository pinned when its compiler was last read.
const PINNED: &str = "nightly-2025-06-23";

/// Why a toolchain cannot be tried, if it cannot.
fn lacks(toolchain: &str) -> Option<String> {
    let output =
        Command::new("rustup").args(["run", toolchain, "rustc", "--print", "sysroot"]).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return Some(format!("this machine has no {toolchain}"));
    };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let library = sysroot.join("lib/rustlib/src/rust/library");
    if !library.is_dir() {
        return Some(format!("{toolchain} has no rust-src"));
    }
    let fetched = cargo(toolchain)
        .args(["fetch", "--quiet", "--locked", "--target", TRIPLE, "--manifest-path"])
        .arg(library.join("Cargo.toml"))
        .output()
        .expect("cargo starts");
    (!fetched.status.success())
        .then(|| format!("what core of {toolchain} depends on cannot be fetched"))
}

const TRIPLE: &str = "nvptx64-nvidia-cuda";

fn cargo(toolchain: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "cargo"]);
    // Its unstable flags are those of the device build alone.
    command.env("RUSTC_BOOTSTRAP", "1").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    command.env_remove("CARGO_TARGET_DIR");
    command
}

/// Kernels of an example, copied, for a target: PTX from an older compiler.
fn device_build(toolchain: &str, example: &str, arch: &str, rust_cuda: bool) -> String {
    let sort = if rust_cuda { "rust-cuda" } else { "device" };
    let folder = root().join("target/baton-tests/older").join(format!("{toolchain}-{sort}"));
    let name = format!("{example}-kernel");
    let source = folder.join(&name).join("src");
    fs::create_dir_all(&source).expect("a folder");
    let kernels = root().join("examples").join(example).join("kernel/src");
    for entry in fs::read_dir(kernels).expect("kernels") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, source.join(path.file_name().expect("a name"))).expect("a copy");
    }
    let mut dependency =
        format!("path = {:?}", root().join("kernel-lib").canonicalize().expect("the library"));
    let mut attributes = vec!["feature(asm_experimental_arch)"];
    if rust_cuda {
        dependency += ", features = [\"rust-cuda\"]";
        attributes =
            vec!["feature(asm_experimental_arch,register_tool)", "register_tool(nvvm_internal)"];
        // `cuda_std` has one; this stands for it.
        let handler = "\n#[cfg(target_arch = \"nvptx64\")]\n#[panic_handler]\n\
                       fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
        let text = fs::read_to_string(source.join("lib.rs")).expect("kernels") + handler;
        fs::write(source.join("lib.rs"), text).expect("a source file");
    }
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbaton = {{ package = \"baton-gpu\", {dependency} }}\n\n[workspace]\n\n\
         [profile.release]\nlto = \"fat\"\ncodegen-units = 1\npanic = \"abort\"\n"
    );
    fs::write(folder.join(&name).join("Cargo.toml"), manifest).expect("a manifest");
    let ptx = folder.join(format!("{example}.ptx"));
    let output = cargo(toolchain)
        .args(["rustc", "--quiet", "--lib", "--release", "--crate-type", "staticlib"])
        .args(["-Zbuild-std=core", "--target", TRIPLE, "--target-dir"])
        .arg(folder.join("target"))
        .arg("--")
        .arg(format!("-Ctarget-cpu={arch}"))
        .arg(format!("--emit=asm={}", ptx.display()))
        .args(attributes.iter().map(|attribute| format!("-Zcrate-attr={attribute}")))
        .current_dir(folder.join(&name))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} for {arch} with {toolchain}:\n{said}");
    fs::read_to_string(ptx).expect("rustc wrote it")
}

/// Kernels of an example, for a target, whose PTX has to hold an instruction.
type Kernels = (&'static str, &'static str, &'static str);

const KERNELS: [Kernels; 3] = [
    ("ring", "sm_80", "mbarrier.arrive"),
    ("gemm-hopper", "sm_90a", "wgmma.mma_async"),
    ("gemm-blackwell", "sm_100a", "tcgen05.mma"),
];

#[test]
fn device_code_builds_with_older_compilers() {
    for Older { name, always, kernels } in OLDER {
        let lack = match always || is_long() {
            true => lacks(name),
            false => Some("set BATON_LONG=1".into()),
        };
        if let Some(lack) = lack {
            println!("not tested: device code with {name}: {lack}");
            continue;
        }
        for &(example, arch, instruction) in kernels {
            let ptx = device_build(name, example, arch, false);
            assert!(ptx.contains(".visible .entry "), "{example} with {name} has no entry");
            assert!(ptx.contains(instruction), "{example} with {name} has no {instruction}");
            println!("{name}: {example} for {arch}");
        }
    }
}

#[test]
fn what_rust_cuda_s_compiler_does_not_take_is_left_out_for_it() {
    let lack = if is_long() { lacks(PINNED) } else { Some("set BATON_LONG=1".into()) };
    if let Some(lack) = lack {
        println!("not tested: the feature `rust-cuda` with {PINNED}: {lack}");
        return;
    }
    for (example, arch, instruction) in KERNELS {
        let ptx = device_build(PINNED, example, arch, true);
        // LLVM's own backend ignores the attribute that makes an entry of it.
        assert!(!ptx.contains(".entry"), "{example}: an entry of LLVM's kind");
        assert!(ptx.contains(".visible .func "), "{example}: nothing that another crate can see");
        assert!(!ptx.contains("activemask"), "{example}: LLVM's intrinsic");
        assert!(ptx.contains(instruction), "{example} has no {instruction}");
    }
}

#[test]
fn the_library_keeps_to_what_rust_cuda_s_compiler_takes() {
    let mut folders = vec![root().join("kernel-lib/src"), root().join("kernel-lib/macros/src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("launch.rs") {
                // The host's side.
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
                for (i, line) in code.enumerate() {
                    for refused in ["= sym ", "label {", "sync::atomic", "compiler_fence"] {
                        let place = format!("{}:{}", path.display(), i + 1);
                        assert!(!line.contains(refused), "{place}: `{refused}` is not taken there");
                    }
                }
                files += 1;
            }
        }
    }
    assert!(files > 60, "{files} files");
}
