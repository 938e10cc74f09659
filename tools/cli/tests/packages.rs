//! What would be published: each crate packages, carries what a reader of it needs, and is enough to make a project from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder);
    command
}

/// The packages that may be published, as cargo describes them.
fn published() -> Vec<Value> {
    let answer = stdout_of(cargo(&root()).args(baton_cli::cargo::METADATA));
    let metadata: Value = serde_json::from_str(&answer).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("there are packages").clone();
    packages.into_iter().filter(|package| package["publish"].is_null()).collect()
}

/// Packs all of them, and unpacks them side by side.
fn unpacked(packages: &[Value]) -> Vec<(String, PathBuf)> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    if target.exists() {
        fs::remove_dir_all(&target).expect("the last run's packages");
    }
    let mut pack = cargo(&root());
    pack.args(["package", "--offline", "--allow-dirty", "--no-verify", "--target-dir"])
        .arg(&target);
    for package in packages {
        pack.arg("--package").arg(package["name"].as_str().expect("a name"));
    }
    stdout_of(&mut pack);
    let unpack = |package: &Value| {
        let name = package["name"].as_str().expect("a name").to_owned();
        let folder = format!("{name}-{}", package["version"].as_str().expect("a version"));
        stdout_of(
            Command::new("tar")
                .args(["xzf", &format!("package/{folder}.crate")])
                .current_dir(&target),
        );
        (name, target.join(folder))
    };
    packages.iter().map(unpack).collect()
}

/// A project that `baton new` makes as an installed `baton` does, with the packages in place of the registry.
fn project(packages: &[(String, PathBuf)]) -> PathBuf {
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("from-packages");
    if project.exists() {
        fs::remove_dir_all(&project).expect("the last run's project");
    }
    stdout_of(Command::new(env!("CARGO_BIN_EXE_baton")).args(["new", "--registry"]).arg(&project));
    let mut config = String::from("[patch.crates-io]\n");
    for (name, folder) in packages {
        config += &format!("{name} = {{ path = {folder:?} }}\n");
    }
    fs::create_dir(project.join(".cargo")).expect("a folder");
    fs::write(project.join(".cargo/config.toml"), config).expect("cargo's settings");
    // The versions that the repository is tested with; a user's cargo chooses.
    fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).expect("the lock file");
    project
}

#[test]
fn each_crate_packages_and_a_project_can_be_made_of_the_packages() {
    let packages = published();
    for package in &packages {
        let name = &package["name"];
        for list in ["keywords", "categories"] {
            assert!(package[list].as_array().is_some_and(|l| !l.is_empty()), "{name}: {list}");
        }
        assert!(package["rust_version"].is_string(), "{name}: rust-version");
    }
    let unpacked = unpacked(&packages);
    for (name, folder) in &unpacked {
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "Cargo.toml"] {
            let text = fs::read_to_string(folder.join(file));
            assert!(text.is_ok_and(|text| text.len() > 200), "{name}: {file}");
        }
    }

    let project = project(&unpacked);
    let resolved = stdout_of(cargo(&project).args(["tree", "--offline", "--prefix", "none"]));
    for crate_ in ["baton-gpu", "baton-host", "baton-builder", "baton-emulator"] {
        let line = resolved.lines().find(|line| line.starts_with(&format!("{crate_} ")));
        let line = line.unwrap_or_else(|| panic!("{crate_} is not used:\n{resolved}"));
        assert!(line.contains("packages"), "not from the package: {line}");
    }

    // Compiling everything once more takes minutes.
    if baton_campaign::is_long() {
        let ran = stdout_of(
            cargo(&project)
                .args(["run", "--release", "--quiet", "--offline"])
                .env(
                    "CARGO_TARGET_DIR",
                    Path::new(env!("CARGO_TARGET_TMPDIR")).join("from-packages-target"),
                )
                .env("BATON_TOOLS_DIR", root().join("target/baton-tools"))
                .env("BATON_DEVICE", "emulator"),
        );
        assert!(ran.contains("10000 elements scaled by 2.5, 0 wrong"), "{ran}");
    }
}
