//! Many programs at once: one crate with a module for each, checked, repaired and built together.
//!
//! An error of the compiler belongs to the module that it names. Where it names statements of edits, these go, and the rest
//! is checked again, a few times; what still does not compile is given up. So what becomes of a program does not depend on
//! its neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use baton_builder::{Arch, Builder, Environment, Faults, Ptxas};
use baton_campaign::Campaign;
use baton_emulator::Program as Module;
use baton_ptx::lines::LineTable;
use serde_json::Value;

use crate::judge::{End, Subject, Values, Wrong};
use crate::program::{Material, Number, Program, made};
use crate::seed::Seed;
use crate::{Error, Result, read, root, shadow, statics, write};

/// Times that a program is repaired.
const REPAIRS: usize = 8;

/// Where programs are built, and with which library.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// The folder of the crate `baton`.
    pub library: PathBuf,
    /// Where the generated crate lies.
    pub folder: PathBuf,
    /// Where cargo checks it.
    pub target: PathBuf,
    /// What programs are made of.
    pub material: Material,
    /// Schedules for each program.
    pub schedules: u64,
}

/// What became of a program.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The program, without what did not type.
    pub program: Program,
    /// Its text.
    pub text: String,
    /// What its edits did.
    pub notes: Vec<String>,
    /// How it ended.
    pub end: End,
}

/// A program on its way.
struct Candidate {
    program: Program,
    text: String,
    notes: Vec<String>,
    repairs: usize,
    end: Option<End>,
}

/// What the compiler says of a module: the lines that errors name, first those that they are about.
#[derive(Default)]
struct Errors {
    primary: BTreeSet<usize>,
    secondary: BTreeSet<usize>,
    /// The text of the first, with its code.
    first: String,
    /// Whether one is about the syntax, or comes before types.
    early: bool,
}

impl Workshop {
    /// For the library of this repository, in its target folder below `name`.
    pub fn new(name: &str) -> Result<Self> {
        Self::with(name, root().join("kernel-lib"))
    }

    /// For another library, the same but for what a test has changed.
    pub fn with(name: &str, library: PathBuf) -> Result<Self> {
        let root = root();
        let target = root.join("target/programs");
        let material = Material {
            seeds: crate::seed::load(&root)?,
            statics: statics::find(&library)?,
            vocabulary: shadow::vocabulary(&library)?,
        };
        let folder = target.join(name);
        Ok(Self { library, folder, target: target.join("check"), material, schedules: 6 })
    }

    /// Only programs of these kernels.
    pub fn only(mut self, names: &[&str]) -> Self {
        self.material.seeds.retain(|seed| names.contains(&&*seed.name));
        self
    }

    /// The programs with these numbers.
    pub fn programs(&self, numbers: impl IntoIterator<Item = Number>) -> Vec<Program> {
        numbers.into_iter().map(|number| Program::new(number, &self.material)).collect()
    }

    /// The kernels as they are.
    pub fn kernels(&self) -> Vec<Program> {
        let number = |seed| Number { seed: 0, case: seed as u64 };
        let seeds = 0..self.material.seeds.len();
        seeds.map(|seed| Program::unedited(number(seed), seed)).collect()
    }

    /// Checks, builds and runs programs; the outcomes in their order.
    pub fn run(&self, programs: Vec<Program>, campaign: &Campaign) -> Result<Vec<Outcome>> {
        let mut candidates: Vec<Candidate> =
            programs.into_iter().map(|program| self.candidate(program)).collect();
        // What the kernels of programs with names in the way compute.
        let given = candidates.len();
        let shadowed: BTreeSet<usize> = candidates
            .iter()
            .filter(|candidate| candidate.program.shadow.is_some())
            .map(|candidate| candidate.program.seed)
            .collect();
        for seed in shadowed {
            let number = Number { seed: 0, case: seed as u64 };
            candidates.push(self.candidate(Program::unedited(number, seed)));
        }
        self.check(&mut candidates)?;
        self.build(&mut candidates, given, campaign)?;
        candidates.truncate(given);
        Ok(candidates
            .into_iter()
            .map(|Candidate { program, text, notes, end, .. }| {
                let end = end.unwrap_or_else(|| End::Refused(vec!["it has no kernel".into()]));
                Outcome { program, text, notes, end }
            })
            .collect())
    }

    fn candidate(&self, program: Program) -> Candidate {
        let source = program.source(&self.material);
        Candidate { program, text: source.text, notes: source.notes, repairs: 0, end: None }
    }

    fn module(&self, name: &str) -> PathBuf {
        self.folder.join("src").join(name).with_extension("rs")
    }

    /// Writes the crate with the programs that are still under way.
    fn write<'a>(&self, programs: impl Iterator<Item = &'a Candidate>) -> Result<()> {
        let manifest = format!(
            "[package]\nname = \"programs-kernel\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\nbaton = {{ package = \"baton-gpu\", path = {:?} }}\n",
            self.library
        );
        write(&self.folder.join("Cargo.toml"), &manifest)?;
        for file in ["Cargo.lock", "rust-toolchain.toml"] {
            let copy = self.folder.join(file);
            if !copy.is_file() {
                write(&copy, &read(&root().join(file))?)?;
            }
        }
        let mut library = String::from("#![no_std]\n#![allow(warnings)]\n");
        for candidate in programs {
            let name = candidate.program.number.name();
            write(&self.module(&name), &candidate.text)?;
            library += &format!("mod {name};\n");
        }
        write(&self.folder.join("src/lib.rs"), &library)
    }

    /// Has the compiler look at all programs until nothing is left that it does not take.
    fn check(&self, candidates: &mut [Candidate]) -> Result<()> {
        loop {
            self.write(candidates.iter().filter(|candidate| candidate.end.is_none()))?;
            let errors = self.errors()?;
            if errors.is_empty() {
                return Ok(());
            }
            for candidate in candidates.iter_mut().filter(|candidate| candidate.end.is_none()) {
                let name = candidate.program.number.name();
                if let Some(errors) = errors.get(&name) {
                    self.repair(candidate, errors);
                }
            }
        }
    }

    /// Takes out the statements of edits that errors are about, or gives the program up.
    fn repair(&self, candidate: &mut Candidate, errors: &Errors) {
        let made = made(&candidate.text);
        let at = |line: &usize| made.iter().find(|made| (made.first..=made.last).contains(line));
        let mut doomed: BTreeSet<String> = BTreeSet::new();
        let primary: Vec<_> = errors.primary.iter().map(at).collect();
        doomed.extend(primary.iter().flatten().map(|made| made.name.clone()));
        if primary.iter().any(Option::is_none) {
            // What stands in the kernel itself no longer types because of a statement that is named beside it.
            doomed.extend(errors.secondary.iter().filter_map(at).map(|made| made.name.clone()));
        }
        if doomed.is_empty() || errors.early || candidate.repairs == REPAIRS {
            candidate.end = Some(End::NotCompiled(errors.first.clone()));
            return;
        }
        candidate.repairs += 1;
        candidate.program.without.extend(doomed);
        let source = candidate.program.source(&self.material);
        (candidate.text, candidate.notes) = (source.text, source.notes);
    }

    /// What `cargo check` says, by module; nothing if it takes the crate.
    fn errors(&self) -> Result<BTreeMap<String, Errors>> {
        let problem = |problem: String| Error::Crate { path: self.folder.clone(), problem };
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .current_dir(&self.folder)
            .args(["check", "--offline", "--message-format=json", "--target-dir"])
            .arg(&self.target)
            .env_remove("RUSTFLAGS")
            .output()
            .map_err(|error| problem(format!("cargo does not start: {error}")))?;
        let mut errors: BTreeMap<String, Errors> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            let message = &message["message"];
            if message["level"] == "error" {
                note(message, &mut errors);
            }
        }
        if !output.status.success() && errors.is_empty() {
            return Err(problem(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(errors)
    }

    /// Builds what compiles, and runs what the builder takes.
    fn build(&self, candidates: &mut [Candidate], given: usize, campaign: &Campaign) -> Result<()> {
        let built = loop {
            self.write(candidates.iter().filter(|candidate| candidate.end.is_none()))?;
            if candidates.iter().all(|candidate| candidate.end.is_some()) {
                return Ok(());
            }
            let builder = Builder::new(&self.folder)
                .arch(Arch::Sm100a)
                .ptxas(Ptxas::Off)
                .faults(Faults::Collect)
                .out_dir(self.folder.join("out"))
                .target_dir(root().join("target/baton-device"))
                .environment(environment());
            match builder.build() {
                Ok(output) => break output,
                Err(error) => {
                    let baton_builder::Error::Compile { messages, .. } = &error else {
                        return Err(error.into());
                    };
                    // Constants that are wrong are seen when code is made.
                    if !blame(candidates, messages) {
                        return Err(error.into());
                    }
                }
            }
        };
        let binary = &built.binaries[0];
        let lines = LineTable::parse(&read(&binary.lines)?).ok();
        let module = Arc::new(Module::load(&read(&binary.ptx)?, "programs.ptx", lines)?);
        let mut shared = BTreeMap::new();
        for kernel in &binary.kernels {
            let findings: Vec<_> = kernel.findings.iter().map(ToString::to_string).collect();
            let dynamic = kernel.declared.as_ref().map_or(0, |declared| declared.dynamic_shared);
            shared.insert(kernel.name.clone(), (dynamic, findings));
        }
        let mut jobs = Vec::new();
        for (at, candidate) in candidates.iter_mut().enumerate() {
            if candidate.end.is_some() {
                continue;
            }
            match shared.get(&candidate.program.number.name()) {
                Some((dynamic, findings)) if findings.is_empty() => jobs.push((at, *dynamic)),
                Some((_, findings)) => candidate.end = Some(End::Refused(findings.clone())),
                None => {}
            }
        }
        let mut references: BTreeMap<usize, Values> = BTreeMap::new();
        let (plain, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|(at, _)| *at >= given);
        for (at, dynamic) in plain {
            let seed = &self.material.seeds[candidates[at].program.seed];
            let (end, values) = candidates[at].subject(&module, dynamic, seed).run(self.schedules);
            if end == End::Silent {
                references.insert(candidates[at].program.seed, values);
            } else {
                blame_kernel(candidates, seed, &end);
            }
            candidates[at].end = Some(end);
        }
        let subjects: Vec<Subject<'_>> = jobs
            .iter()
            .map(|&(at, dynamic)| {
                let program = &candidates[at].program;
                let mut subject =
                    candidates[at].subject(&module, dynamic, &self.material.seeds[program.seed]);
                if program.shadow.is_some() {
                    subject.expected = references.get(&program.seed).map(Vec::as_slice);
                }
                subject
            })
            .collect();
        let schedules = self.schedules;
        let ends = campaign.each(&subjects, |subject| subject.run(schedules).0);
        for ((at, _), end) in jobs.into_iter().zip(ends) {
            candidates[at].end = Some(end);
        }
        Ok(())
    }
}

impl Candidate {
    fn subject<'a>(&'a self, module: &'a Arc<Module>, shared: u32, seed: &'a Seed) -> Subject<'a> {
        let (kernel, launch) = (self.program.number.name(), &seed.launch);
        Subject { module, kernel, shared, launch, text: &self.text, expected: None }
    }
}

/// A kernel of the repository is not silent: so is each program that it would be compared with.
fn blame_kernel(candidates: &mut [Candidate], seed: &Seed, end: &End) {
    let wrong = Wrong {
        rule: "unedited".into(),
        schedule: 0,
        report: format!("the unedited kernel of `{}` ends so: {end}", seed.name),
    };
    let shadowed = candidates.iter_mut().filter(|c| c.end.is_none() && c.program.shadow.is_some());
    if let Some(first) = shadowed.into_iter().next() {
        first.end = Some(End::Wrong(wrong));
    }
}

/// The environment without what cargo tells a build script.
fn environment() -> Environment {
    let mut environment = Environment::of_process();
    environment.set("BATON_OFFLINE", "1");
    environment
}

/// The modules that a text of the compiler names.
fn named(text: &str) -> BTreeSet<&str> {
    let parts = text.split("src/").skip(1);
    parts.filter_map(|part| part.split_once(".rs")).map(|(name, _)| name).collect()
}

/// Gives up the programs that the compiler's words name; says whether there are any.
fn blame(candidates: &mut [Candidate], messages: &str) -> bool {
    let names = named(messages);
    let mut any = false;
    for candidate in candidates.iter_mut().filter(|candidate| candidate.end.is_none()) {
        if names.contains(&*candidate.program.number.name()) {
            let first = messages.lines().find(|line| line.contains("error"));
            candidate.end = Some(End::NotCompiled(first.unwrap_or_default().to_owned()));
            any = true;
        }
    }
    any
}

/// Notes an error with the modules that it names.
fn note(message: &Value, errors: &mut BTreeMap<String, Errors>) {
    let code = message["code"]["code"].as_str();
    let text = message["message"].as_str().unwrap_or_default();
    let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
    for span in spans {
        // What a macro makes is where the macro is called.
        let mut at = span;
        loop {
            let file = at["file_name"].as_str().unwrap_or_default();
            if let Some(name) = named(file).into_iter().next() {
                let entry = errors.entry(name.to_owned()).or_default();
                if entry.first.is_empty() {
                    entry.first = format!("{}: {text}", code.unwrap_or("error"));
                }
                entry.early |= code.is_none();
                let primary = span["is_primary"].as_bool().unwrap_or_default();
                let lines = if primary { &mut entry.primary } else { &mut entry.secondary };
                lines.extend(at["line_start"].as_u64().map(|line| line as usize));
            }
            match at["expansion"]["span"].is_object() {
                true => at = &at["expansion"]["span"],
                false => break,
            }
        }
    }
}

/// The folder of a workshop that has been left.
pub fn clear(folder: &Path) {
    // What is left is written over.
    let _ = std::fs::remove_dir_all(folder.join("src"));
}
