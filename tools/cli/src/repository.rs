//! The repository that the command works on, and the examples in it.
//!
//! It is the one that the current folder lies in; elsewhere (an installed `baton`, a project made by
//! `baton new`) the one that this executable was built from.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Failure, Result, cargo, exit_code};

/// A checkout of this repository.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
}

/// A package below `examples/` that has a program to run.
#[derive(Clone, Debug)]
pub struct Example {
    /// Name of the package, of its folder and of its executable.
    pub name: String,
    /// The manifest's description.
    pub description: String,
    /// Targets that its kernels are written for (`package.metadata.baton.targets`), best first.
    pub targets: Vec<String>,
    /// Folder of its kernel crate.
    pub kernel: PathBuf,
    /// Its place among the runs of a bundle (`package.metadata.baton.rank`); low ones come first.
    pub rank: u64,
    /// How a bundle runs it (`package.metadata.baton.bundle`).
    pub runs: Vec<BundledRun>,
}

impl Example {
    /// Whether it has a kernel crate; some run the kernels of other examples.
    pub fn has_own_kernels(&self) -> bool {
        self.kernel.join("Cargo.toml").is_file()
    }
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

impl Repository {
    /// Finds the repository; see the module's comment.
    pub fn find() -> Result<Self> {
        let here = env::current_dir().ok();
        let above = here.iter().flat_map(|folder| folder.ancestors());
        let built_from = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let root = above.chain([built_from]).find(|folder| is_root(folder)).ok_or_else(|| {
            Failure::usage("the baton repository was not found")
                .because(format!(
                    "neither the current folder lies in it nor is it at `{}`, where this program \
                     was built",
                    built_from.display()
                ))
                .help("change into a clone of the repository, or install again from one: cargo install --path tools/cli")
        })?;
        let root =
            root.canonicalize().map_err(|error| Failure::file("open the folder", root, &error))?;
        Ok(Self { root })
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The toolchain that `rust-toolchain.toml` pins.
    pub fn toolchain(&self) -> Option<String> {
        let text = fs::read_to_string(self.root.join("rust-toolchain.toml")).ok()?;
        let channel = text.lines().find_map(|line| line.strip_prefix("channel"))?;
        Some(channel.trim_start_matches([' ', '=']).trim().trim_matches('"').to_owned())
    }

    /// All examples, smallest first where the manifests say so (`package.metadata.baton.order`),
    /// then by name.
    pub fn examples(&self) -> Result<Vec<Example>> {
        let metadata = cargo::metadata(self)?;
        let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let folder = self.root.join("examples");
        let mut examples: Vec<(u64, Example)> =
            packages.iter().filter_map(|package| example(package, &folder)).collect();
        examples.sort_by(|(o, a), (p, b)| (o, &a.name).cmp(&(p, &b.name)));
        Ok(examples.into_iter().map(|(_, example)| example).collect())
    }

    /// The example of that name; the failure names the near matches and the whole list.
    pub fn example(&self, name: &str) -> Result<Example> {
        let examples = self.examples()?;
        let names: Vec<String> = examples.iter().map(|example| example.name.clone()).collect();
        let found = examples.into_iter().find(|example| example.name == name);
        found.ok_or_else(|| unknown_example(name, &names))
    }
}

fn is_root(folder: &Path) -> bool {
    ["kernel-lib/Cargo.toml", "tools/cli/Cargo.toml", "tools/builder/Cargo.toml"]
        .iter()
        .all(|file| folder.join(file).is_file())
}

/// Reads one package of `cargo metadata`; none where it is not an example's host program.
fn example(package: &Value, examples: &Path) -> Option<(u64, Example)> {
    let folder = Path::new(package["manifest_path"].as_str()?).parent()?;
    let has_program = package["targets"].as_array()?.iter().any(|target| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
    });
    if folder.parent()? != examples || !has_program {
        return None;
    }
    let ours = &package["metadata"]["baton"];
    let targets = ours["targets"].as_array().into_iter().flatten();
    let example = Example {
        name: package["name"].as_str()?.to_owned(),
        description: package["description"].as_str().unwrap_or("(no description)").to_owned(),
        targets: targets.filter_map(Value::as_str).map(str::to_owned).collect(),
        kernel: folder.join("kernel"),
        rank: ours["rank"].as_u64().unwrap_or(u64::MAX),
        runs: bundled_runs(&ours["bundle"]),
    };
    Some((ours["order"].as_u64().unwrap_or(u64::MAX), example))
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

fn unknown_example(name: &str, names: &[String]) -> Failure {
    let near: Vec<String> =
        near_matches(name, names).into_iter().map(|near| format!("`{near}`")).collect();
    let mut help = String::new();
    if !near.is_empty() {
        help = format!("did you mean {}?\n", near.join(" or "));
    }
    help += &match names {
        [] => "there is no example in this repository".to_owned(),
        names => format!("the examples are: {}", names.join(", ")),
    };
    Failure::new(exit_code::USAGE, format!("no example is called `{name}`")).help(help)
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
        let text = unknown_example("rang", &names).to_string();
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
        let repository = Repository::find().unwrap();
        assert!(repository.root().join("tools/cli/src/repository.rs").is_file());
        assert_eq!(repository.toolchain().as_deref(), Some("1.95.0"));
    }
}
