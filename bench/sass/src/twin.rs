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
        listing(&self.compile(file, arch, "cubin")?)
    }

    /// The PTX of a file of twins, without what nvcc remarks between instructions.
    pub fn ptx(&self, file: &str, arch: Arch) -> Result<String, String> {
        let path = self.compile(file, arch, "ptx")?;
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        // The head says which nvcc it was.
        let (head, body) = text.split_once(".version").ok_or("nvcc writes PTX with a version")?;
        let lines = body.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
        // Unused objects of the headers have names that depend on where the headers lie.
        let wanted = |line: &&str| !line.is_empty() && !line.contains("_INTERNAL_");
        let lines: Vec<&str> = lines.filter(wanted).collect();
        Ok(format!("{head}.version{}\n", lines.join("\n")))
    }

    /// Compiles a file of twins to a file of another kind.
    fn compile(&self, file: &str, arch: Arch, kind: &str) -> Result<PathBuf, String> {
        let out = baton_tests::root().join("target/baton-bench-sass");
        std::fs::create_dir_all(&out)
            .map_err(|error| format!("cannot make {}: {error}", out.display()))?;
        let path = std::path::absolute(out.join(file).with_extension(kind))
            .map_err(|error| format!("{}: {error}", out.display()))?;
        let output = Command::new(&self.0)
            .args(["-std=c++17", "-O3"])
            .arg(format!("-{kind}"))
            .arg(format!("-arch={arch}"))
            // By its name alone, which assertions put into the code.
            .current_dir(folder().join("cuda"))
            .arg(file)
            .arg("-o")
            .arg(&path)
            .output()
            .map_err(|error| format!("nvcc: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            // ptxas notes where it cannot overlap wgmma with anything.
            true if said.contains("serialized") => Err(format!("ptxas serializes {file}:\n{said}")),
            true => Ok(path),
            false => Err(format!("nvcc does not take {file}:\n{said}")),
        }
    }
}

/// The folder of this package.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
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
