//! The workspace that the command works on, and the programs and kernel crates in it.
//!
//! It is the one that the current folder lies in: a checkout of this repository, whose programs are the examples, or a
//! project of one's own, whose programs are those of its packages. Elsewhere it is the repository that this executable was built
//! from, if it is still there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use baton_builder::Backend;
use serde_json::Value;

use crate::{Failure, Result, cargo, exit_code};

/// The device library's package.
const LIBRARY: &str = "baton-gpu";

/// What a host program uses: a crate that depends on this is none of kernels.
const HOST: &str = "baton-host";

/// Where kernels are built.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    kind: Kind,
    backend: Option<Backend>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A checkout of this repository.
    Repository,
    /// Somebody's project.
    Project,
}

/// A package that has a program to run: in the repository those below `examples/`.
#[derive(Clone, Debug)]
pub struct Example {
    /// Name of the package, of its folder and of its executable.
    pub name: String,
    /// The manifest's description.
    pub description: String,
    /// Targets that its kernels are written for (`package.metadata.baton.targets`), best first.
    pub targets: Vec<String>,
    /// Its kernel crate; some run the kernels of other examples.
    pub kernels: Option<KernelCrate>,
    /// Its place among the runs of a bundle (`package.metadata.baton.rank`); low ones come first.
    pub rank: u64,
    /// How a bundle runs it (`package.metadata.baton.bundle`).
    pub runs: Vec<BundledRun>,
}

/// A crate that is compiled for the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCrate {
    /// Name of the package.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// One run of an example in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledRun {
    /// Arguments beside those that all examples take.
    pub arguments: String,
    /// The same where there is little time, as on the emulator.
    pub tiny: String,
    /// It is ended after so many seconds.
    pub seconds: u64,
}

impl Default for BundledRun {
    fn default() -> Self {
        Self { arguments: String::new(), tiny: String::new(), seconds: 60 }
    }
}

impl Workspace {
    /// Finds the workspace; see the module's comment.
    pub fn find() -> Result<Self> {
        let here = env::current_dir().ok();
        let repository = Self::repository_around();
        // A project may lie inside a checkout: whatever is nearer is meant.
        let other = |project: &Self| repository.as_ref().is_none_or(|at| at.root != project.root);
        let project = here.as_deref().and_then(Self::project).filter(other);
        project.or(repository).or_else(Self::built_from).ok_or_else(|| {
            Failure::usage("there is no project with kernels here")
                .because(format!(
                    "no package of a cargo workspace around this folder depends on `{LIBRARY}`"
                ))
                .help("change into one, or make one: baton new my-kernels")
        })
    }

    /// The repository around the current folder, or that which this executable was built from, if it is still there.
    pub fn repository() -> Option<Self> {
        Self::repository_around().or_else(Self::built_from)
    }

    fn repository_around() -> Option<Self> {
        let here = env::current_dir().ok()?;
        here.ancestors().find_map(Self::checkout)
    }

    fn built_from() -> Option<Self> {
        Self::checkout(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")))
    }

    fn checkout(folder: &Path) -> Option<Self> {
        if !is_root(folder) {
            return None;
        }
        let root = folder.canonicalize().ok()?;
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        Some(Self { target: root.join(target), root, kind: Kind::Repository, backend: None })
    }

    /// The cargo workspace around a folder, if a package of it has kernels.
    fn project(folder: &Path) -> Option<Self> {
        let output = cargo::in_folder(folder).args(cargo::METADATA).output().ok()?;
        let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
        let packages = metadata["packages"].as_array()?;
        if !packages.iter().any(|package| depends(package, LIBRARY)) {
            return None;
        }
        let path = |key: &str| metadata[key].as_str().map(PathBuf::from);
        Some(Self {
            root: path("workspace_root")?,
            target: path("target_directory")?,
            kind: Kind::Project,
            backend: None,
        })
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same, with kernels compiled so.
    pub fn with_backend(self, backend: Option<Backend>) -> Self {
        Self { backend, ..self }
    }

    /// Who makes the kernels' PTX, if the user has chosen.
    pub fn backend(&self) -> Option<Backend> {
        self.backend
    }

    /// Cargo's target folder.
    pub fn target_dir(&self) -> &Path {
        &self.target
    }

    /// Whether it is a checkout of this repository.
    pub fn is_repository(&self) -> bool {
        self.kind == Kind::Repository
    }

    /// The toolchain that `rust-toolchain.toml` pins.
    pub fn toolchain(&self) -> Option<String> {
        let text = fs::read_to_string(self.root.join("rust-toolchain.toml")).ok()?;
        let channel = text.lines().find_map(|line| line.strip_prefix("channel"))?;
        Some(channel.trim_start_matches([' ', '=']).trim().trim_matches('"').to_owned())
    }

    /// All programs, smallest first where the manifests say so (`package.metadata.baton.order`),
    /// then by name.
    pub fn examples(&self) -> Result<Vec<Example>> {
        let metadata = cargo::metadata(self)?;
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let among = self.is_repository().then(|| self.root.join("examples"));
        let mut examples: Vec<(u64, Example)> = packages
            .iter()
            .filter_map(|package| example(package, packages, among.as_deref()))
            .collect();
        examples.sort_by(|(o, a), (p, b)| (o, &a.name).cmp(&(p, &b.name)));
        Ok(examples.into_iter().map(|(_, example)| example).collect())
    }

    /// The program of that name; the failure names the near matches and the whole list.
    pub fn example(&self, name: &str) -> Result<Example> {
        let examples = self.examples()?;
        let names: Vec<String> = examples.iter().map(|example| example.name.clone()).collect();
        let found = examples.into_iter().find(|example| example.name == name);
        found.ok_or_else(|| self.unknown(name, &names))
    }

    /// The only program, where no name was given.
    pub fn only_example(&self) -> Result<Example> {
        let mut examples = self.examples()?;
        match (examples.pop(), examples.len()) {
            (Some(only), 0) => Ok(only),
            (last, _) => {
                let names = examples.into_iter().chain(last).map(|example| example.name);
                Err(unnamed(self.program(), &names.collect::<Vec<_>>()))
            }
        }
    }

    /// The kernel crate of that name, or that of the program of that name.
    pub fn kernels(&self, name: &str) -> Result<KernelCrate> {
        let examples = self.examples()?;
        let own: Vec<&KernelCrate> = examples.iter().filter_map(|e| e.kernels.as_ref()).collect();
        let by_program = examples.iter().find(|example| example.name == name);
        let by_crate = || own.iter().find(|kernels| kernels.name == name).copied();
        match (
            by_program,
            by_program.and_then(|example| example.kernels.as_ref()).or_else(by_crate),
        ) {
            (_, Some(kernels)) => Ok(kernels.clone()),
            (Some(_), None) => Err(no_own_kernels(name, &examples)),
            (None, None) => {
                let names: Vec<String> = examples.iter().map(|e| e.name.clone()).collect();
                Err(self.unknown(name, &names))
            }
        }
    }

    /// The only kernel crate, where no name was given.
    pub fn only_kernels(&self) -> Result<KernelCrate> {
        let mut all: Vec<_> = self.examples()?.into_iter().filter_map(|e| e.kernels).collect();
        all.dedup();
        match (all.pop(), all.len()) {
            (Some(only), 0) => Ok(only),
            (last, _) => {
                let names = all.into_iter().chain(last).map(|kernels| kernels.name);
                Err(unnamed("kernel crate", &names.collect::<Vec<_>>()))
            }
        }
    }

    /// What a program of this workspace is called.
    fn program(&self) -> &'static str {
        if self.is_repository() { "example" } else { "program" }
    }

    fn unknown(&self, name: &str, names: &[String]) -> Failure {
        unknown(self.program(), name, names)
    }
}

fn is_root(folder: &Path) -> bool {
    ["kernel-lib/Cargo.toml", "tools/cli/Cargo.toml", "tools/builder/Cargo.toml"]
        .iter()
        .all(|file| folder.join(file).is_file())
}

/// Whether a package's own code (not its tests, not its build script) uses another package.
fn depends(package: &Value, on: &str) -> bool {
    let listed = package["dependencies"].as_array().into_iter().flatten();
    listed.into_iter().any(|dependency| dependency["name"] == on && dependency["kind"].is_null())
}

/// Reads one package of `cargo metadata`; none where it has no program, or does not stand `among` the examples.
fn example(package: &Value, all: &[Value], among: Option<&Path>) -> Option<(u64, Example)> {
    let folder = folder(package)?;
    let has_program = package["targets"].as_array()?.iter().any(|target| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
    });
    if !has_program || among.is_some_and(|examples| folder.parent() != Some(examples)) {
        return None;
    }
    let mut used = all.iter().filter(|other| {
        let name = other["name"].as_str().unwrap_or_default();
        depends(package, name) && depends(other, LIBRARY) && !depends(other, HOST)
    });
    // An example's own kernels stand in its folder; a project may have them anywhere.
    let own = |other: &&Value| {
        among.is_none() || self::folder(other).is_some_and(|at| at.starts_with(folder))
    };
    let kernels = used.find(own).and_then(|kernels| {
        let name = kernels["name"].as_str()?.to_owned();
        Some(KernelCrate { name, folder: self::folder(kernels)?.to_owned() })
    });
    let ours = &package["metadata"]["baton"];
    let targets = ours["targets"].as_array().into_iter().flatten();
    let example = Example {
        name: package["name"].as_str()?.to_owned(),
        description: package["description"].as_str().unwrap_or("(no description)").to_owned(),
        targets: targets.filter_map(Value::as_str).map(str::to_owned).collect(),
        kernels,
        rank: ours["rank"].as_u64().unwrap_or(u64::MAX),
        runs: bundled_runs(&ours["bundle"]),
    };
    Some((ours["order"].as_u64().unwrap_or(u64::MAX), example))
}

fn folder(package: &Value) -> Option<&Path> {
    Path::new(package["manifest_path"].as_str()?).parent()
}

/// The runs that a manifest lists; one without arguments where it lists none.
fn bundled_runs(listed: &Value) -> Vec<BundledRun> {
    let text = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let run = |run: &Value| BundledRun {
        arguments: text(run, "arguments"),
        tiny: text(run, "tiny"),
        seconds: run["seconds"].as_u64().unwrap_or(BundledRun::default().seconds),
    };
    match listed.as_array() {
        Some(listed) if !listed.is_empty() => listed.iter().map(run).collect(),
        _ => vec![BundledRun::default()],
    }
}

fn no_own_kernels(example: &str, all: &[Example]) -> Failure {
    let others = all.iter().filter(|example| example.kernels.is_some());
    let others: Vec<&str> = others.map(|example| example.name.as_str()).collect();
    Failure::usage(format!(
        "`{example}` has no kernels of its own, it runs those of other examples"
    ))
    .help(format!("these have some: {}", others.join(", ")))
}

/// No name was given, and there is not exactly one to be meant.
fn unnamed(what: &str, names: &[String]) -> Failure {
    match names {
        [] => Failure::usage(format!("there is no {what} in this workspace")),
        names => Failure::usage(format!("this workspace has more than one {what}"))
            .help(format!("name one: {}", names.join(", "))),
    }
}

fn unknown(what: &str, name: &str, names: &[String]) -> Failure {
    let near: Vec<String> =
        near_matches(name, names).into_iter().map(|near| format!("`{near}`")).collect();
    let mut help = String::new();
    if !near.is_empty() {
        help = format!("did you mean {}?\n", near.join(" or "));
    }
    help += &match names {
        [] => format!("there is no {what} in this workspace"),
        names => format!("the {what}s are: {}", names.join(", ")),
    };
    Failure::new(exit_code::USAGE, format!("no {what} is called `{name}`")).help(help)
}

/// Names that a reader may have meant, nearest first.
fn near_matches<'a>(name: &str, names: &'a [String]) -> Vec<&'a str> {
    let mut near: Vec<(f64, &str)> = names
        .iter()
        .map(|candidate| {
            let part = !name.is_empty() && candidate.contains(name);
            (if part { 1.0 } else { strsim::jaro_winkler(name, candidate) }, candidate.as_str())
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_and_a_part_of_a_name_are_near() {
        let names = ["bulk-copy", "gemm-blackwell", "message-passing", "ring"].map(str::to_owned);
        assert_eq!(near_matches("gem-blackwel", &names), ["gemm-blackwell"]);
        assert_eq!(near_matches("gemm", &names), ["gemm-blackwell"]);
        assert_eq!(near_matches("softmax", &names), [""; 0]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_list() {
        let names = ["ring", "bulk-copy"].map(str::to_owned);
        let text = unknown("example", "rang", &names).to_string();
        assert!(text.contains("did you mean `ring`?"), "{text}");
        assert!(text.contains("the examples are: ring, bulk-copy"), "{text}");
    }

    #[test]
    fn runs_are_read_and_default_to_one() {
        let listed = serde_json::json!([{ "arguments": "--n 5", "seconds": 7 }]);
        let run = BundledRun { arguments: "--n 5".into(), tiny: String::new(), seconds: 7 };
        assert_eq!(bundled_runs(&listed), [run]);
        assert_eq!(bundled_runs(&Value::Null), [BundledRun::default()]);
    }

    #[test]
    fn the_repository_of_this_crate_is_found() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.root().join("tools/cli/src/workspace.rs").is_file());
        assert_eq!(workspace.toolchain().as_deref(), Some("1.95.0"));
    }
}
