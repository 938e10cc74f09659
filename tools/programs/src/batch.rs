//! Many programs at once: one crate with a module for each, checked, repaired and built together.
//!
//! An error of the compiler belongs to the module that it names. Where it names statements of edits, these go, and the rest
//! is checked again, a few times; what still does not compile is given up. So what becomes of a program does not depend on
//! its neighbours. A crate that fails and names no module is taken apart: each half is a crate of its own, down to the program
//! that fails alone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use baton_builder::{Arch, Builder, Environment, Faults, Ptxas};
use baton_campaign::Campaign;
use baton_emulator::Program as Module;
use baton_ptx::lines::LineTable;

use crate::errors::{self, Errors};
use crate::insert::Found;
use crate::judge::{End, Subject, Values, Wrong, kept};
use crate::program::{Keeps, Material, Number, Program, Source, made};
use crate::seed::Seed;
use crate::{Error, Result, read, root, shadow, statics, table, write};

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
    /// Where it is built for the device.
    pub device: PathBuf,
    /// What programs are made of.
    pub material: Material,
    /// Schedules for each program.
    pub schedules: u64,
    /// What the kernels leave that have run, by their names.
    references: RefCell<BTreeMap<String, Values>>,
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
    keeps: Keeps,
    repairs: usize,
    end: Option<End>,
}

/// A kernel of a device build.
struct Built {
    candidate: usize,
    module: Arc<Module>,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

/// What came of a set of programs.
enum Attempt {
    /// The compiler takes them all.
    Taken,
    /// The kernels that the builder has no finding about.
    Built(Vec<Built>),
    /// Errors of some of the programs.
    Errors(BTreeMap<String, Errors>),
    /// A failure that names none of them.
    Unnamed(Failure),
}

/// Why a crate did not become PTX that the emulator loads.
struct Failure {
    /// The compiler's first error.
    error: Option<String>,
    /// All that is said.
    text: String,
}

impl Failure {
    /// How a program ends that fails so alone.
    fn end(self) -> End {
        match self.error {
            Some(error) => End::NotCompiled(error),
            None => End::Wrong(Wrong { rule: "unbuilt".into(), schedule: 0, report: self.text }),
        }
    }
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
            found: Found { statics: statics::find(&library)?, moves: table::find(&library)?.moves },
            vocabulary: shadow::vocabulary(&library)?,
        };
        let folder = target.join(name);
        let (target, references) = (target.join("check"), RefCell::default());
        let device = root.join("target/baton-device");
        Ok(Self { library, folder, target, device, material, schedules: 6, references })
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
        // What the kernels compute of programs that are to compute the same.
        let given = candidates.len();
        let compared: BTreeSet<usize> = candidates
            .iter()
            .filter(|candidate| candidate.program.is_compared())
            .map(|candidate| candidate.program.seed)
            .filter(|seed| !self.references.borrow().contains_key(&self.material.seeds[*seed].name))
            .collect();
        for seed in compared {
            // Of no campaign, so that no program has its name.
            let number = Number { seed: u64::MAX, case: seed as u64 };
            candidates.push(self.candidate(Program::unedited(number, seed)));
        }
        let mut built = Vec::new();
        for arch in [Arch::Sm100a, Arch::Sm90a] {
            let is_for_it = |at: &usize| self.arch(&candidates[*at]) == arch;
            let set: Vec<usize> = (0..candidates.len()).filter(is_for_it).collect();
            self.settle(&mut candidates, set, &mut built)?;
        }
        self.judge(&mut candidates, given, built, campaign);
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
        let Source { text, notes, keeps } = program.source(&self.material);
        Candidate { program, text, notes, keeps, repairs: 0, end: None }
    }

    /// What a program is compiled for.
    fn arch(&self, candidate: &Candidate) -> Arch {
        self.material.seeds[candidate.program.seed].arch
    }

    fn module(&self, name: &str) -> PathBuf {
        self.folder.join("src").join(name).with_extension("rs")
    }

    /// Writes the crate with these programs.
    fn write(&self, candidates: &[Candidate], set: &[usize]) -> Result<()> {
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
        for &at in set {
            let name = candidates[at].program.number.name();
            write(&self.module(&name), &candidates[at].text)?;
            library += &format!("mod {name};\n");
        }
        write(&self.folder.join("src/lib.rs"), &library)
    }

    /// Repairs and builds programs until each has its end or its PTX. What fails and names nobody is halved.
    fn settle(
        &self,
        candidates: &mut [Candidate],
        mut set: Vec<usize>,
        built: &mut Vec<Built>,
    ) -> Result<()> {
        // Those that the compiler has not been heard to take.
        let mut doubtful = set.clone();
        loop {
            let under_way = |at: &usize| candidates[*at].end.is_none();
            set.retain(under_way);
            doubtful.retain(under_way);
            let attempt = match doubtful.is_empty() {
                true if set.is_empty() => return Ok(()),
                true => self.build(candidates, &set)?,
                false => self.check(candidates, &doubtful)?,
            };
            match attempt {
                Attempt::Taken => doubtful.clear(),
                Attempt::Built(kernels) => {
                    built.extend(kernels);
                    return Ok(());
                }
                Attempt::Errors(errors) => {
                    // Behind an error of syntax nobody is looked at. Whoever has none is done, but for what the build finds.
                    let early = errors.values().any(|errors| errors.early);
                    let from = if doubtful.is_empty() { &set } else { &doubtful };
                    let mut again = Vec::new();
                    for &at in from {
                        match errors.get(&candidates[at].program.number.name()) {
                            Some(errors) => {
                                self.repair(&mut candidates[at], errors);
                                again.push(at);
                            }
                            None if early => again.push(at),
                            None => {}
                        }
                    }
                    doubtful = again;
                }
                Attempt::Unnamed(failure) => {
                    // Without any program it is not theirs.
                    if !matches!(self.check(candidates, &[])?, Attempt::Taken) {
                        let (path, problem) = (self.folder.clone(), failure.text);
                        return Err(Error::Crate { path, problem });
                    }
                    let failed = if doubtful.is_empty() { &set } else { &doubtful };
                    if let [alone] = failed[..] {
                        candidates[alone].end = Some(failure.end());
                        continue;
                    }
                    let other = set.split_off(set.len() / 2);
                    self.settle(candidates, set, built)?;
                    return self.settle(candidates, other, built);
                }
            }
        }
    }

    /// The crate of a set of programs, and what becomes of it where it fails.
    fn crate_of(
        &self,
        candidates: &[Candidate],
        set: &[usize],
    ) -> Result<impl Fn(&[serde_json::Value], String) -> Attempt + use<>> {
        self.write(candidates, set)?;
        let names: BTreeSet<String> =
            set.iter().map(|&at| candidates[at].program.number.name()).collect();
        Ok(move |messages: &[serde_json::Value], text: String| {
            let errors = errors::by_module(messages, &names);
            if errors.is_empty() {
                Attempt::Unnamed(Failure { error: messages.first().map(errors::told), text })
            } else {
                Attempt::Errors(errors)
            }
        })
    }

    /// What the compiler says of the types of a set of programs.
    fn check(&self, candidates: &[Candidate], set: &[usize]) -> Result<Attempt> {
        let failed = self.crate_of(candidates, set)?;
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .current_dir(&self.folder)
            .args(["check", "--offline", "--message-format=json", "--target-dir"])
            .arg(&self.target)
            .env_remove("RUSTFLAGS")
            .output()
            .map_err(|source| Error::File {
                action: "run cargo in",
                path: self.folder.clone(),
                source,
            })?;
        if output.status.success() {
            return Ok(Attempt::Taken);
        }
        let messages = baton_builder::compiler_errors(&String::from_utf8_lossy(&output.stdout));
        Ok(failed(&messages, String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Builds a set of programs, all for one target, for the device. A constant that is wrong for the types of one is seen here, when code is made.
    fn build(&self, candidates: &mut [Candidate], set: &[usize]) -> Result<Attempt> {
        let failed = self.crate_of(candidates, set)?;
        let builder = Builder::new(&self.folder)
            .arch(self.arch(&candidates[set[0]]))
            .ptxas(Ptxas::Off)
            .faults(Faults::Collect)
            .out_dir(self.folder.join("out"))
            .target_dir(&self.device)
            .environment(environment());
        let output = match builder.build() {
            Ok(output) => output,
            Err(baton_builder::Error::Compile { errors, messages, .. }) => {
                return Ok(failed(&errors, messages));
            }
            Err(
                error @ (baton_builder::Error::Ptx { .. } | baton_builder::Error::Checks { .. }),
            ) => {
                return Ok(failed(&[], error.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let binary = &output.binaries[0];
        let lines = LineTable::parse(&read(&binary.lines)?).ok();
        let module = match Module::load(&read(&binary.ptx)?, "programs.ptx", lines) {
            Ok(module) => Arc::new(module),
            Err(error) => return Ok(failed(&[], error.to_string())),
        };
        let kernels: BTreeMap<&str, _> =
            binary.kernels.iter().map(|kernel| (&*kernel.name, kernel)).collect();
        let mut built = Vec::new();
        for &at in set {
            let name = candidates[at].program.number.name();
            let Some(kernel) = kernels.get(&*name) else { continue };
            if kernel.findings.is_empty() {
                let shared = kernel.declared.as_ref().map_or(0, |declared| declared.dynamic_shared);
                built.push(Built { candidate: at, module: Arc::clone(&module), shared });
            } else {
                let findings = kernel.findings.iter().map(ToString::to_string).collect();
                candidates[at].end = Some(kept(candidates[at].keeps, End::Refused(findings)));
            }
        }
        Ok(Attempt::Built(built))
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

    /// Runs what the builder takes.
    fn judge(
        &self,
        candidates: &mut [Candidate],
        given: usize,
        built: Vec<Built>,
        campaign: &Campaign,
    ) {
        let (plain, built): (Vec<_>, Vec<_>) =
            built.into_iter().partition(|built| built.candidate >= given);
        let schedules = self.schedules;
        let subjects: Vec<Subject<'_>> = plain
            .iter()
            .map(|built| {
                let candidate = &candidates[built.candidate];
                candidate.subject(built, &self.material.seeds[candidate.program.seed])
            })
            .collect();
        let ends = campaign.each(&subjects, |subject| subject.run(schedules));
        for (built, (end, values)) in plain.iter().zip(ends) {
            let candidate = &mut candidates[built.candidate];
            if end == End::Silent {
                let name = self.material.seeds[candidate.program.seed].name.clone();
                self.references.borrow_mut().insert(name, values);
            }
            candidate.end = Some(end);
        }
        // A kernel of the repository that is not silent is to blame for what would be compared with it.
        let (programs, kernels) = candidates.split_at_mut(given);
        for kernel in kernels.iter().filter(|kernel| kernel.end != Some(End::Silent)) {
            let mut compared = programs.iter_mut().filter(|program| {
                program.end.is_none()
                    && program.program.is_compared()
                    && program.program.seed == kernel.program.seed
            });
            if let Some(first) = compared.next() {
                first.end = Some(kernel.blamed(&self.material.seeds[kernel.program.seed]));
            }
        }
        let built: Vec<Built> =
            built.into_iter().filter(|built| candidates[built.candidate].end.is_none()).collect();
        let references = self.references.borrow();
        let subjects: Vec<Subject<'_>> = built
            .iter()
            .map(|built| {
                let candidate = &candidates[built.candidate];
                let program = &candidate.program;
                let seed = &self.material.seeds[program.seed];
                let mut subject = candidate.subject(built, seed);
                if program.is_compared() {
                    subject.expected = references.get(&seed.name).map(Vec::as_slice);
                }
                subject
            })
            .collect();
        let ends = campaign.each(&subjects, |subject| subject.run(schedules).0);
        for (built, end) in built.into_iter().zip(ends) {
            candidates[built.candidate].end = Some(end);
        }
    }
}

impl Candidate {
    fn subject<'a>(&'a self, built: &'a Built, seed: &'a Seed) -> Subject<'a> {
        let (kernel, launch) = (self.program.number.name(), &seed.launch);
        let Built { module, shared, .. } = built;
        let (shared, keeps) = (*shared, self.keeps);
        Subject { module, kernel, shared, launch, text: &self.text, expected: None, keeps }
    }

    /// How a program ends whose kernel has ended so, unedited.
    fn blamed(&self, seed: &Seed) -> End {
        let end = self.end.as_ref().map_or("without PTX".to_owned(), ToString::to_string);
        End::Wrong(Wrong {
            rule: "unedited".into(),
            schedule: 0,
            report: format!("the unedited kernel of `{}` ends so: {end}", seed.name),
        })
    }
}

/// The environment without what cargo tells a build script.
fn environment() -> Environment {
    let mut environment = Environment::of_process();
    environment.set("BATON_OFFLINE", "1");
    environment
}

/// The folder of a workshop that has been left.
pub fn clear(folder: &Path) {
    // What is left is written over.
    let _ = std::fs::remove_dir_all(folder.join("src"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant of the library that fails for the types of one program is told where the library asks for it, and names no
    /// program: the others run all the same.
    #[test]
    fn what_fails_when_code_is_made_ends_one_program() {
        let workshop = Workshop::new("unnamed").unwrap().only(&["reads", "fragments", "unequal"]);
        let mut candidates: Vec<Candidate> =
            workshop.kernels().into_iter().map(|program| workshop.candidate(program)).collect();
        let failing =
            candidates.iter_mut().find(|c| c.text.contains("Fragment::<bf16, _, 4>")).unwrap();
        failing.text = failing.text.replace("Fragment::<bf16, _, 4>", "Fragment::<bf16, _, 5>");
        let set: Vec<usize> = (0..candidates.len()).collect();
        // Its types are right, and what fails does not name anybody.
        assert!(matches!(workshop.check(&candidates, &set).unwrap(), Attempt::Taken));
        let attempt = workshop.build(&mut candidates, &set).unwrap();
        assert!(matches!(attempt, Attempt::Unnamed(failure) if failure.text.contains("D14")));
        let mut built = Vec::new();
        workshop.settle(&mut candidates, set, &mut built).unwrap();
        assert_eq!(built.len(), 2);
        let given = candidates.len();
        workshop.judge(&mut candidates, given, built, &Campaign::new("one that fails", 3, 3));
        for candidate in &candidates {
            match &candidate.end {
                Some(End::NotCompiled(why)) if candidate.text.contains("_, 5>") => {
                    assert!(why.starts_with("E0080: ") && why.contains("rule D14"), "{why}");
                }
                end => assert_eq!(*end, Some(End::Silent)),
            }
        }
    }

    #[test]
    fn what_fails_without_an_error_of_the_compiler_is_a_finding() {
        let failure = |error| Failure { error, text: "rustc was killed".into() };
        assert!(matches!(failure(None).end(), End::Wrong(wrong) if wrong.rule == "unbuilt"));
        let error = "E0080: evaluation panicked".to_owned();
        assert_eq!(failure(Some(error.clone())).end(), End::NotCompiled(error));
    }
}
