//! What the tests of this package share: the examples, and their kernels built as a build script
//! would build them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_builder::provision::{Store, cuda};
use baton_builder::{Arch, Backend, Binary, Builder, Environment, Ptxas};
use baton_ptx::lines::LineTable;
use serde_json::Value;

pub mod code;

/// The top folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The packages of the workspace as cargo describes them.
///
/// # Panics
/// If cargo cannot read the workspace.
pub fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    metadata["packages"].as_array().expect("there are packages").clone()
}

/// An example, and the targets that its manifest names (`package.metadata.baton.targets`).
#[derive(Clone, Debug)]
pub struct Example {
    /// Its package and its folder.
    pub name: String,
    /// What its kernels are written for.
    pub targets: Vec<Arch>,
}

/// All examples that have kernels of their own.
///
/// # Panics
/// If a manifest names something that is no target.
pub fn examples() -> Vec<Example> {
    let example = |package: &Value| {
        let targets = package["metadata"]["baton"]["targets"].as_array()?;
        let target = |name: &Value| {
            let name = name.as_str().expect("a target is a string");
            name.parse().unwrap_or_else(|error| panic!("{}: {error}", package["name"]))
        };
        Some(Example {
            name: package["name"].as_str()?.to_owned(),
            targets: targets.iter().map(target).collect(),
        })
    };
    let has_kernels = |example: &Example| {
        root().join("examples").join(&example.name).join("kernel/Cargo.toml").is_file()
    };
    packages().iter().filter_map(example).filter(has_kernels).collect()
}

/// The kernels of an example, for one target.
#[derive(Debug)]
pub struct Kernels {
    /// The finished PTX.
    pub ptx: String,
    /// From its lines to Rust source.
    pub lines: LineTable,
    /// The files, and what ptxas said.
    pub binary: Binary,
}

/// Builds the kernels of an example. ptxas has to be there.
///
/// # Panics
/// If they do not build.
pub fn kernels(example: &str, arch: Arch) -> Kernels {
    kernels_by(example, arch, Backend::Llvm)
}

/// The same, by the compiler that is named.
///
/// # Panics
/// If they do not build.
pub fn kernels_by(example: &str, arch: Arch, backend: Backend) -> Kernels {
    built(&root().join("examples").join(example).join("kernel"), example, arch, backend)
}

/// Builds one of the kernel crates in `tests/kernels`. ptxas has to be there.
///
/// # Panics
/// If it does not build.
pub fn test_kernels(name: &str, arch: Arch) -> Kernels {
    built(&root().join("tests/kernels").join(name), name, arch, Backend::Llvm)
}

fn built(crate_at: &Path, name: &str, arch: Arch, backend: Backend) -> Kernels {
    let output = Builder::new(crate_at)
        .arch(arch)
        .backend(backend)
        .ptxas(Ptxas::Required)
        .out_dir(root().join("target/baton-tests").join(backend.name()).join(name))
        .build()
        .unwrap_or_else(|error| panic!("{name} for {arch}: {error}"));
    let [binary] = <[Binary; 1]>::try_from(output.binaries).expect("one target, one binary");
    let read = |path: &Path| {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let lines = LineTable::parse(&read(&binary.lines)).expect("the builder's own table");
    Kernels { ptx: read(&binary.ptx), lines, binary }
}

impl Kernels {
    /// The machine code as nvdisasm writes it.
    ///
    /// # Panics
    /// If nvdisasm is not there, or does not take the cubin.
    pub fn listing(&self) -> String {
        let environment = Environment::of_process();
        let store = Store::locate(&environment, || root().join("target"));
        let tools = cuda::find(&environment, &store, "nvdisasm");
        let tool = tools.iter().max_by_key(|tool| tool.release).expect("nvdisasm is provisioned");
        let cubin = self.binary.cubin.as_ref().expect("ptxas was required");
        let output = Command::new(&tool.path).arg("--print-code").arg(cubin).output();
        let output = output.expect("nvdisasm starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a listing is text")
    }
}
