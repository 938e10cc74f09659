//! The nested cargo that compiles a kernel crate for the GPU.
//!
//! It runs in a target folder of its own, because the outer cargo holds the lock of the caller's,
//! and with an environment of its own, because what cargo tells a build script would confuse it.
//! All kernel crates share that folder, and all targets share `core`: `-Ctarget-cpu` goes only to
//! the last crate, after `--`, and link-time optimisation generates all code there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::environment::{Environment, failure};
use crate::provision::rust_src::RustSrc;
use crate::toolchain::Toolchain;
use crate::{Arch, Backend, Error, Faults};

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The profile of device code. Its name is also that of the folder below the target folder.
const PROFILE: &str = "baton-device";

/// Everything that a device build needs to differ from a release build.
const PROFILE_SETTINGS: [&str; 11] = [
    "inherits=\"release\"",
    "opt-level=3",
    // Without it the panics of `core` stay behind as unresolved symbols.
    "lto=\"fat\"",
    "codegen-units=1",
    "panic=\"abort\"",
    // Read for the side table of lines, then stripped.
    "debug=\"line-tables-only\"",
    "strip=\"none\"",
    "debug-assertions=false",
    "overflow-checks=false",
    "incremental=false",
    "rpath=false",
];

/// Flags for every crate of the device build.
///
/// The compiler does not know that a barrier must be reached by all threads together, and copies
/// it into both arms of a branch where that saves a jump. These switch off the passes that do so;
/// [`crate::check`] looks whether they were enough.
const FLAGS: [&str; 7] = [
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-force-attribute=convergent",
    "-Cllvm-args=-simplifycfg-max-small-block-size=0",
    "-Cllvm-args=-jump-threading-threshold=0",
    "-Cllvm-args=-disable-early-taildup",
    // ptxas unrolls loops itself, and knows the machine.
    "-Cllvm-args=-unroll-runtime=false",
    // ptxas cannot parse this section.
    "-Zno-generate-arange-section",
];

/// A kernel crate, as cargo describes it.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub name: String,
    /// The library's name: with underscores.
    pub library: String,
    pub manifest: PathBuf,
    pub workspace: PathBuf,
    pub target_dir: PathBuf,
}

/// What is the same for all builds of one call.
pub(crate) struct Cargo<'a> {
    pub env: &'a Environment,
    pub toolchain: &'a Toolchain,
}

impl Cargo<'_> {
    fn command(&self, dir: &Path) -> std::process::Command {
        let cargo = self.env.get("CARGO").unwrap_or("cargo".as_ref());
        let mut command = nested_environment(self.env).command(cargo);
        command.current_dir(dir).env("RUSTC", &self.toolchain.rustc);
        if self.env.is_on("BATON_OFFLINE") {
            command.env("CARGO_NET_OFFLINE", "true");
        }
        command
    }

    /// Reads the manifest in `dir`.
    pub fn package(&self, dir: &Path) -> Result<Package, Error> {
        let manifest = dir.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(Error::Setup(format!(
                "there is no kernel crate in {}: it has no Cargo.toml\n\
                 give Builder::new the folder of the kernel crate, relative to the caller's manifest",
                dir.display()
            )));
        }
        let output = self
            .command(dir)
            .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
            .arg(&manifest)
            .output()
            .map_err(Error::io("run cargo in", dir))?;
        let unreadable = |reason: String| {
            Error::Setup(format!("cargo cannot read {}: {reason}", manifest.display()))
        };
        if !output.status.success() {
            return Err(unreadable(failure(&output)));
        }
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| unreadable(format!("its answer is not JSON: {error}")))?;
        describe(&metadata, &manifest)
            .ok_or_else(|| unreadable("it holds no package with a library (src/lib.rs)".into()))
    }

    /// Compiles the package, with debug information: to PTX, or to the IR from which libNVVM makes it.
    #[expect(clippy::too_many_arguments, reason = "what cargo is to be told, said once")]
    pub fn compile(
        &self,
        package: &Package,
        arch: Arch,
        backend: Backend,
        features: &[String],
        sources: &RustSrc,
        target_dir: &Path,
        faults: Faults,
    ) -> Result<Compiled, Error> {
        // The compiler writes to a place that cargo does not guard.
        let folder = target_dir.join("ptx");
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let lock = folder.join("lock");
        let guard = File::create(&lock).map_err(Error::io("open the lock", &lock))?;
        guard.lock().map_err(Error::io("lock", &lock))?;

        // Cargo keeps each feature set of each manifest apart and takes it for fresh, so the PTX is kept apart too.
        let mut build = DefaultHasher::new();
        (&package.manifest, features).hash(&mut build);
        let build = build.finish();
        let (kind, ending) = match backend {
            Backend::Llvm => ("asm", "ptx"),
            Backend::Nvvm => ("llvm-ir", "ll"),
        };
        let file = folder.join(format!("{}.{arch}.{build:016x}.raw.{ending}", package.library));
        let emit = (kind, &*file);
        self.rustc(package, arch, features, sources, target_dir, emit, faults)?;
        if !file.is_file() {
            // Cargo thinks that nothing has changed, but somebody has removed the file.
            self.clean(package, target_dir)?;
            self.rustc(package, arch, features, sources, target_dir, emit, faults)?;
        }
        let text =
            fs::read_to_string(&file).map_err(Error::io("read what the compiler wrote", &file))?;
        let dep_info =
            target_dir.join(TRIPLE).join(PROFILE).join(format!("lib{}.d", package.library));
        let dep_info = fs::read_to_string(&dep_info)
            .map_err(Error::io("read the list of sources", &dep_info))?;
        Ok(Compiled { text, sources: parse_dep_info(&dep_info) })
    }

    /// Downloads the crates that `core`'s workspace names, so that builds need no network later.
    pub fn fetch_dependencies(&self, sources: &RustSrc) -> Result<(), Error> {
        let library = sources.library();
        let output = self
            .command(library)
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["fetch", "--quiet", "--locked", "--target", TRIPLE, "--manifest-path"])
            .arg(library.join("Cargo.toml"))
            .output()
            .map_err(Error::io("run cargo in", library))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Missing {
            what: "a crate that Rust's library depends on",
            tried: vec![("cargo fetch".into(), failure(&output))],
            remedy: "with a network: cargo baton doctor --fix, or any build of a kernel".into(),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what cargo is to be told, passed on once")]
    fn rustc(
        &self,
        package: &Package,
        arch: Arch,
        features: &[String],
        sources: &RustSrc,
        target_dir: &Path,
        (kind, file): (&str, &Path),
        faults: Faults,
    ) -> Result<(), Error> {
        let dir = package.manifest.parent().unwrap_or(&package.manifest);
        let mut command = self.command(dir);
        // Only here: nothing else may depend on unstable features.
        command.env("RUSTC_BOOTSTRAP", "1");
        command.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
        if let RustSrc::Store(library) = sources {
            command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
        }
        command.args([
            "rustc",
            "--quiet",
            "--lib",
            "--crate-type",
            "staticlib",
            "-Zbuild-std=core",
        ]);
        command.args(["--target", TRIPLE, "--profile", PROFILE]);
        command.arg("--manifest-path").arg(&package.manifest);
        command.arg("--target-dir").arg(target_dir);
        for setting in PROFILE_SETTINGS {
            command.arg("--config").arg(format!("profile.{PROFILE}.{setting}"));
        }
        if !features.is_empty() {
            command.arg("--features").arg(features.join(","));
        }
        let colour = match self.env.get("CARGO_TERM_COLOR").and_then(|value| value.to_str()) {
            Some(choice @ ("always" | "never")) => choice,
            _ if std::io::stderr().is_terminal() => "always",
            _ => "never",
        };
        command.args(["--color", colour]);
        if faults == Faults::Collect {
            command.arg("--message-format=json");
        }
        let mut emit = OsString::from(format!("--emit={kind}="));
        emit.push(file);
        command.arg("--").arg(format!("-Ctarget-cpu={arch}")).arg(emit);
        let (success, messages, errors) = match faults {
            Faults::Refuse => {
                let status = command.status().map_err(Error::io("run cargo in", dir))?;
                (status.success(), String::new(), Vec::new())
            }
            Faults::Collect => {
                command.args(["-Awarnings"]);
                let output = command.output().map_err(Error::io("run cargo in", dir))?;
                let errors = compiler_errors(&String::from_utf8_lossy(&output.stdout));
                let mut messages = String::new();
                for error in &errors {
                    messages += error["rendered"].as_str().unwrap_or_default();
                }
                messages += &String::from_utf8_lossy(&output.stderr);
                (output.status.success(), messages, errors)
            }
        };
        if success {
            Ok(())
        } else {
            Err(Error::Compile { package: package.name.clone(), arch, messages, errors })
        }
    }

    fn clean(&self, package: &Package, target_dir: &Path) -> Result<(), Error> {
        let dir = package.manifest.parent().unwrap_or(&package.manifest);
        let mut command = self.command(dir);
        command.args(["clean", "--quiet", "--target", TRIPLE, "--profile", PROFILE]);
        command.args(["--config", &format!("profile.{PROFILE}.inherits=\"release\"")]);
        command.arg("--manifest-path").arg(&package.manifest);
        command.arg("--target-dir").arg(target_dir).args(["--package", &package.name]);
        command.status().map_err(Error::io("run cargo in", dir))?;
        Ok(())
    }
}

/// What a device build gives.
pub(crate) struct Compiled {
    /// The PTX, or the IR.
    pub text: String,
    /// The source files that it was made from.
    pub sources: Vec<PathBuf>,
}

/// The environment without what cargo and rustup's wrappers put there for this process.
fn nested_environment(env: &Environment) -> Environment {
    const KEPT: [&str; 9] = [
        "CARGO_HOME",
        "CARGO_MAKEFLAGS",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
        "CARGO_TARGET_DIR",
        "CARGO_LOG",
    ];
    let mut env = env.clone();
    env.remove_if(|name| {
        let cargo = name.starts_with("CARGO") || name.starts_with("__CARGO");
        (cargo && !KEPT.iter().any(|kept| name.starts_with(kept)))
            || ["RUSTC", "RUSTDOC", "CLIPPY_", "DEP_"].iter().any(|prefix| name.starts_with(prefix))
            || ["RUSTFLAGS", "TARGET", "HOST", "OUT_DIR", "PROFILE", "OPT_LEVEL", "DEBUG"]
                .contains(&name)
    });
    env
}

/// The compiler's errors among the lines that cargo writes as JSON.
pub fn compiler_errors(lines: &str) -> Vec<serde_json::Value> {
    let message = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_error = line["message"]["level"] == "error";
        is_error.then(|| line["message"].take())
    };
    lines.lines().filter_map(message).collect()
}

/// Finds the package of `manifest` in what `cargo metadata` says.
fn describe(metadata: &serde_json::Value, manifest: &Path) -> Option<Package> {
    let path = |value: &serde_json::Value| value.as_str().map(PathBuf::from);
    let same = |value: &serde_json::Value| {
        let canonical = |path: &Path| path.canonicalize().ok();
        path(value).is_some_and(|other| canonical(&other) == canonical(manifest))
    };
    let packages = metadata["packages"].as_array()?;
    let package = packages.iter().find(|package| same(&package["manifest_path"]))?;
    let is_library = |target: &&serde_json::Value| {
        let kinds = target["kind"].as_array();
        kinds.is_some_and(|kinds| {
            kinds.iter().any(|kind| matches!(kind.as_str(), Some("lib" | "rlib" | "staticlib")))
        })
    };
    let library = package["targets"].as_array()?.iter().find(is_library)?;
    Some(Package {
        name: package["name"].as_str()?.to_owned(),
        library: library["name"].as_str()?.replace('-', "_"),
        manifest: path(&package["manifest_path"])?,
        workspace: path(&metadata["workspace_root"])?,
        target_dir: path(&metadata["target_directory"])?,
    })
}

/// The target folder of device builds: below the topmost folder above `OUT_DIR` that cargo has
/// marked as a cache (under `--target` there is a second mark further down), else below the
/// workspace's target folder.
pub(crate) fn target_dir(out_dir: Option<&Path>, package: &Package) -> PathBuf {
    let marked = |dir: &&Path| dir.join("CACHEDIR.TAG").is_file();
    let outer = out_dir.and_then(|dir| dir.ancestors().filter(marked).last());
    outer.unwrap_or(&package.target_dir).join(PROFILE)
}

/// The prerequisites in a dependency file of the form that make reads.
fn parse_dep_info(text: &str) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    for line in text.lines() {
        let Some((_, prerequisites)) = line.split_once(": ") else { continue };
        let mut file = String::new();
        let mut chars = prerequisites.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => file.extend(chars.next()),
                ' ' => {
                    files.insert(std::mem::take(&mut file));
                }
                _ => file.push(char),
            }
        }
        files.insert(file);
    }
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_nested_cargo_does_not_hear_of_the_outer_one() {
        let mut env = Environment::default();
        for name in [
            "PATH",
            "CARGO",
            "CARGO_HOME",
            "CARGO_PKG_NAME",
            "CARGO_NET_OFFLINE",
            "CARGO_FEATURE_X",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTFLAGS",
            "DEP_Z_ROOT",
            "TARGET",
            "OUT_DIR",
            "RUSTUP_TOOLCHAIN",
        ] {
            env.set(name, "x");
        }
        let nested = nested_environment(&env);
        let kept: Vec<_> = ["PATH", "CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_TOOLCHAIN"].into();
        for name in &kept {
            assert!(nested.get(name).is_some(), "{name}");
        }
        let mut rest = nested;
        rest.remove_if(|name| kept.contains(&name));
        assert_eq!(format!("{rest:?}"), format!("{:?}", Environment::default()));
    }

    #[test]
    fn dependency_files_may_hold_spaces() {
        let text = "/t/libk.d: /a/lib.rs /a/with\\ space.rs /b.rs\n";
        assert_eq!(
            parse_dep_info(text),
            ["/a/lib.rs", "/a/with space.rs", "/b.rs"].map(PathBuf::from)
        );
    }

    #[test]
    fn the_topmost_cache_folder_is_shared_by_all_targets() {
        let folder = Folder::new("cargo-target");
        folder.write("t/CACHEDIR.TAG", "");
        folder.write("t/triple/CACHEDIR.TAG", "");
        folder.write("t/triple/release/build/x/out/file", "");
        let package = Package {
            name: "k".into(),
            library: "k".into(),
            manifest: "/k/Cargo.toml".into(),
            workspace: "/k".into(),
            target_dir: "/k/target".into(),
        };
        let out_dir = folder.path("t/triple/release/build/x/out");
        assert_eq!(target_dir(Some(&out_dir), &package), folder.path("t/baton-device"));
        assert_eq!(target_dir(None, &package), Path::new("/k/target/baton-device"));
    }
}
