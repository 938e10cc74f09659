//! CUDA C++ to a listing of machine code.

use std::path::{Path, PathBuf};
use std::process::Command;

use baton_builder::provision::{Store, cuda};
use baton_builder::{Arch, Environment};

/// nvcc, from a toolkit.
pub struct Nvcc(PathBuf);

impl Nvcc {
    pub fn find() -> Result<Self, String> {
        let home = ["CUDA_HOME", "CUDA_PATH"].into_iter().find_map(std::env::var_os);
        let nvcc = match home {
            Some(home) => Path::new(&home).join("bin/nvcc"),
            None => "nvcc".into(),
        };
        match Command::new(&nvcc).arg("--version").output() {
            Ok(output) if output.status.success() => Ok(Self(nvcc)),
            _ => Err(format!(
                "`{}` does not run: set CUDA_HOME to a CUDA 13 toolkit, or see --help",
                nvcc.display()
            )),
        }
    }

    /// Compiles a file of twins and lists its machine code.
    pub fn listing(&self, file: &str, arch: Arch) -> Result<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = baton_tests::root().join("target/baton-bench-sass");
        std::fs::create_dir_all(&out)
            .map_err(|error| format!("cannot make {}: {error}", out.display()))?;
        let cubin = out.join(file).with_extension("cubin");
        let output = Command::new(&self.0)
            .args(["-std=c++17", "-O3", "-cubin"])
            .arg(format!("-arch={arch}"))
            .arg(folder.join("cuda").join(file))
            .arg("-o")
            .arg(&cubin)
            .output()
            .map_err(|error| format!("nvcc: {error}"))?;
        match output.status.success() {
            true => listing(&cubin),
            false => Err(format!(
                "nvcc does not take {file}:\n{}",
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

/// What nvdisasm prints for a cubin.
pub fn listing(cubin: &Path) -> Result<String, String> {
    let environment = Environment::of_process();
    let store = Store::locate(&environment, || baton_tests::root().join("target"));
    let tools = cuda::find(&environment, &store, "nvdisasm");
    let tool = tools.iter().max_by_key(|tool| tool.release);
    let tool = tool.ok_or("there is no nvdisasm: `cargo baton doctor --fix` gets it")?;
    let output = Command::new(&tool.path)
        .arg("--print-code")
        .arg(cubin)
        .output()
        .map_err(|error| format!("nvdisasm: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("nvdisasm: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
