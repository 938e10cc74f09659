//! The call that does everything, one step after the other.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use baton_ptx::Module;

use crate::cargo::{self, Cargo, Package};
use crate::check::{Finding, Severity, check, spilled};
use crate::environment::Environment;
use crate::post::{self, annotations};
use crate::provision::cuda::Tool;
use crate::provision::{Store, cuda, nvvm as libnvvm, rust_src};
use crate::ptxas::{self, Outcome, Usage};
use crate::toolchain::Toolchain;
use crate::{Arch, Error, image, nvvm};

/// What is being done, for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Something is downloaded.
    Fetching(&'a str),
    /// The nested cargo runs.
    Compiling {
        /// The kernel crate.
        package: &'a str,
        /// The target.
        arch: Arch,
    },
    /// The PTX is finished and checked.
    Checking {
        /// The kernel crate.
        package: &'a str,
        /// The target.
        arch: Arch,
    },
    /// ptxas runs.
    Assembling {
        /// The kernel crate.
        package: &'a str,
        /// The target.
        arch: Arch,
    },
    /// Something is missing that is not needed.
    Without(&'a str),
    /// Something in the PTX may be wrong.
    Warning(&'a Finding),
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching(what) => write!(f, "fetching {what}"),
            Self::Compiling { package, arch } => write!(f, "compiling {package} for {arch}"),
            Self::Checking { package, arch } => write!(f, "checking {package} for {arch}"),
            Self::Assembling { package, arch } => write!(f, "assembling {package} for {arch}"),
            Self::Without(what) => f.write_str(what),
            Self::Warning(finding) => write!(f, "{finding}"),
        }
    }
}

/// Whether ptxas runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ptxas {
    /// If it is there or can be fetched; without it there are no cubins and no statistics.
    #[default]
    Auto,
    /// It has to.
    Required,
    /// It does not.
    Off,
}

impl Ptxas {
    /// What `BATON_PTXAS` says.
    pub fn of(env: &Environment) -> Result<Self, Error> {
        let Some(value) = env.get("BATON_PTXAS") else { return Ok(Self::Auto) };
        match value.to_str() {
            Some("auto") => Ok(Self::Auto),
            Some("required") => Ok(Self::Required),
            Some("off") => Ok(Self::Off),
            _ => Err(Error::Setup(format!(
                "BATON_PTXAS is `{}`; it can be auto, required or off. A ptxas of your own is found on PATH or below CUDA_HOME",
                value.display()
            ))),
        }
    }
}

/// Who makes PTX of what rustc has understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// LLVM, inside rustc.
    #[default]
    Llvm,
    /// NVIDIA's libNVVM, of rustc's LLVM IR: for sm_100 and later. It is found in a CUDA toolkit, or fetched by package name. Of several
    /// targets, those before are LLVM's still, with a warning.
    Nvvm,
}

impl Backend {
    /// The variable that chooses one.
    pub const VARIABLE: &str = "BATON_BACKEND";

    /// What the variable says.
    pub fn of(env: &Environment) -> Result<Self, Error> {
        let Some(value) = env.get(Self::VARIABLE) else { return Ok(Self::Llvm) };
        let name = value.to_string_lossy();
        name.parse().map_err(|error| Error::Setup(format!("{}: {error}", Self::VARIABLE)))
    }

    /// The name: `nvvm`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Llvm => "llvm",
            Self::Nvvm => "nvvm",
        }
    }
}

/// A name that is no backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend(String);

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a backend; there are llvm and nvvm", self.0)
    }
}

impl std::error::Error for UnknownBackend {}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        let known = [Self::Llvm, Self::Nvvm].into_iter().find(|backend| backend.name() == name);
        known.ok_or_else(|| UnknownBackend(name.to_owned()))
    }
}

/// What becomes of a kernel that a check finds fault with, and of what the compiler says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// The build fails, and the compiler speaks to the terminal.
    #[default]
    Refuse,
    /// The PTX is written all the same: the findings are those of [`Kernel::findings`], and the compiler's words are in
    /// [`Error::Compile`]. For who builds many kernels at once, of which some are wrong.
    Collect,
}

/// Builds one kernel crate. See the [crate's documentation](crate).
#[must_use = "nothing is built before `build` is called"]
pub struct Builder<'a> {
    kernel: PathBuf,
    archs: Vec<Arch>,
    features: Vec<String>,
    out_dir: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    backend: Option<Backend>,
    ptxas: Option<Ptxas>,
    faults: Faults,
    env: Environment,
    progress: Box<dyn FnMut(&Progress<'_>) + 'a>,
}

impl<'a> Builder<'a> {
    /// For the kernel crate in this folder, relative to the caller's manifest (in a build script)
    /// or to the current folder (elsewhere).
    pub fn new(kernel: impl Into<PathBuf>) -> Self {
        Self {
            kernel: kernel.into(),
            archs: Vec::new(),
            features: Vec::new(),
            out_dir: None,
            target_dir: None,
            backend: None,
            ptxas: None,
            faults: Faults::Refuse,
            env: Environment::of_process(),
            progress: Box::new(|_| {}),
        }
    }

    /// Adds a target. Each gets its own binary in the image.
    pub fn arch(mut self, arch: Arch) -> Self {
        if !self.archs.contains(&arch) {
            self.archs.push(arch);
        }
        self
    }

    /// Adds targets.
    pub fn archs(self, archs: impl IntoIterator<Item = Arch>) -> Self {
        archs.into_iter().fold(self, Self::arch)
    }

    /// Switches on features of the kernel crate: those with which the host program depends on it. A launch refuses a
    /// kernel whose shape or parameters differ between the two builds.
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features.extend(features.into_iter().map(Into::into));
        self
    }

    /// Where the files go; a build script's `OUT_DIR` if nothing is said.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(dir.into());
        self
    }

    /// Where the nested cargo works; a folder below the caller's target folder if nothing is said.
    pub fn target_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(dir.into());
        self
    }

    /// Who makes the PTX; `BATON_BACKEND` decides if nothing is said.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Whether ptxas runs; `BATON_PTXAS` decides if nothing is said.
    pub fn ptxas(mut self, ptxas: Ptxas) -> Self {
        self.ptxas = Some(ptxas);
        self
    }

    /// Whether a kernel with findings fails the build.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Uses these environment variables instead of the process's.
    pub fn environment(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// Who is told what is being done.
    pub fn progress(mut self, progress: impl FnMut(&Progress<'_>) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Builds. In a build script it also tells cargo which files were read.
    pub fn build(mut self) -> Result<Output, Error> {
        let build_script = BuildScript::of(&self.env);
        let root = match &build_script {
            Some(script) => script.manifest_dir.clone(),
            None => std::env::current_dir()
                .map_err(Error::io("find the current folder", Path::new(".")))?,
        };
        let kernel = root.join(&self.kernel);
        let archs = self.chosen_archs()?;
        let ptxas_mode = self.chosen_ptxas()?;
        let backend = self.backend.map_or_else(|| Backend::of(&self.env), Ok)?;

        let toolchain = Toolchain::of(&self.env, kernel.is_dir().then_some(&*kernel))?;
        toolchain.check(&self.env)?;
        let cargo = Cargo { env: &self.env, toolchain: &toolchain };
        let package = cargo.package(&kernel)?;
        let script_out = build_script.as_ref().map(|script| script.out_dir.as_path());
        let target_dir = match &self.target_dir {
            Some(dir) => root.join(dir),
            None => cargo::target_dir(script_out, &package),
        };
        let out_dir = match (&self.out_dir, script_out) {
            (Some(dir), _) => root.join(dir),
            (None, Some(dir)) => dir.to_owned(),
            (None, None) => {
                return Err(Error::Setup(
                    "outside a build script, Builder::out_dir must say where the files go".into(),
                ));
            }
        };
        fs::create_dir_all(&out_dir).map_err(Error::io("create", &out_dir))?;

        let store = Store::locate(&self.env, || target_dir.clone());
        let sources = rust_src::provide(&self.env, &toolchain, &store, &mut self.progress)?;
        let library = match backend {
            Backend::Llvm => None,
            Backend::Nvvm if archs.iter().any(|&arch| nvvm::takes(arch)) => {
                Some(libnvvm::provide(&self.env, &store, &mut self.progress)?)
            }
            Backend::Nvvm => return Err(nvvm::too_old(&archs)),
        };
        let mut without = Vec::new();
        let assembler = match ptxas_mode {
            Ptxas::Off => None,
            mode => match assembler(&self.env, &store, &archs, &mut self.progress) {
                Ok(tool) => Some(tool),
                Err(error) if mode == Ptxas::Required => return Err(error),
                Err(error) => {
                    let note = format!("no machine code: {error}");
                    (self.progress)(&Progress::Without(&note));
                    without.push(note);
                    None
                }
            },
        };

        // The first that fits: what was fetched may lie inside the workspace.
        let roots = [(sources.library().to_owned(), "library"), (package.workspace.clone(), "")];
        let mut watched = Vec::new();
        let mut binaries = Vec::new();
        for &arch in &archs {
            let name = &package.name;
            (self.progress)(&Progress::Compiling { package: name, arch });
            let backend = match backend {
                Backend::Nvvm if !nvvm::takes(arch) => {
                    let note = format!("{arch} is compiled by LLVM: {}", nvvm::TAKES);
                    (self.progress)(&Progress::Without(&note));
                    without.push(note);
                    Backend::Llvm
                }
                backend => backend,
            };
            let compiled = Cargo { env: &self.env, toolchain: &toolchain }.compile(
                &package,
                arch,
                backend,
                &self.features,
                &sources,
                &target_dir,
                self.faults,
            )?;
            watched.extend(compiled.sources);
            let ptx = match &library {
                Some(library) if backend == Backend::Nvvm => {
                    &nvvm::compile(library, &compiled.text, name, arch)?
                }
                _ => &compiled.text,
            };
            (self.progress)(&Progress::Checking { package: name, arch });
            let mut finished = finish(ptx, &package, arch, &roots, self.faults)?;
            for warning in &finished.warnings {
                (self.progress)(&Progress::Warning(warning));
            }
            let files = Files::new(&out_dir, &package.library, arch);
            files.write(&finished)?;
            let mut usage = None;
            if let Some(tool) = &assembler {
                (self.progress)(&Progress::Assembling { package: name, arch });
                let before = finished.warnings.len();
                usage = Some(files.assemble(&self.env, tool, &package, arch, &mut finished)?);
                for warning in &finished.warnings[before..] {
                    (self.progress)(&Progress::Warning(warning));
                }
            } else {
                files.remove_cubin()?;
            }
            binaries.push(files.binary(arch, finished, usage));
        }
        let output = Output {
            name: package.library.clone(),
            package: package.name.clone(),
            image: out_dir.join(format!("{}.rs", package.library)),
            binaries,
        };
        write(&output.image, &image::expression(&output))?;
        if build_script.is_some() {
            tell_cargo(watched, &package, &store)?;
            let warnings = output.binaries.iter().flat_map(|binary| &binary.warnings);
            for warning in without.into_iter().chain(warnings.map(ToString::to_string)) {
                println!("cargo::warning={}", warning.replace('\n', "; "));
            }
        }
        Ok(output)
    }

    fn chosen_archs(&self) -> Result<Vec<Arch>, Error> {
        let Some(named) = self.env.get("BATON_ARCH") else {
            if self.archs.is_empty() {
                return Err(Error::Setup(
                    "no target: say Builder::arch(Arch::Sm100a), or set BATON_ARCH".into(),
                ));
            }
            return Ok(self.archs.clone());
        };
        let named = named.to_string_lossy();
        let mut archs = Vec::new();
        for name in named.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let arch: Arch =
                name.parse().map_err(|error| Error::Setup(format!("BATON_ARCH: {error}")))?;
            if !archs.contains(&arch) {
                archs.push(arch);
            }
        }
        if archs.is_empty() {
            return Err(Error::Setup("BATON_ARCH names no target".into()));
        }
        Ok(archs)
    }

    fn chosen_ptxas(&self) -> Result<Ptxas, Error> {
        self.ptxas.map_or_else(|| Ptxas::of(&self.env), Ok)
    }
}

/// What cargo tells a build script.
struct BuildScript {
    manifest_dir: PathBuf,
    out_dir: PathBuf,
}

impl BuildScript {
    fn of(env: &Environment) -> Option<Self> {
        let manifest_dir = env.get("CARGO_MANIFEST_DIR")?.into();
        // `cargo run` sets the manifest's folder too, but only build scripts have an output folder
        // and a host.
        env.get("HOST")?;
        Some(Self { manifest_dir, out_dir: env.get("OUT_DIR")?.into() })
    }
}

/// The newest enough ptxas, fetched if there is none.
fn assembler(
    env: &Environment,
    store: &Store,
    archs: &[Arch],
    listener: &mut dyn FnMut(&Progress<'_>),
) -> Result<Tool, Error> {
    let needed = archs.iter().map(|arch| arch.toolkit()).max().unwrap_or_default();
    let enough = |tool: &Tool| tool.release >= needed;
    if let Some(tool) = cuda::find(env, store, "ptxas").into_iter().find(enough) {
        return Ok(tool);
    }
    cuda::fetch_once(env, store, listener)?;
    cuda::find(env, store, "ptxas").into_iter().find(enough).ok_or_else(|| {
        Error::Setup(format!(
            "no ptxas on this machine is of CUDA {}.{} or later, which the target needs; {}",
            needed.0,
            needed.1,
            cuda::remedy()
        ))
    })
}

/// PTX that has passed all checks.
struct Finished {
    text: String,
    lines: baton_ptx::lines::LineTable,
    entries: Vec<Entry>,
    /// What the kernels say of themselves.
    kernels: Vec<annotations::Kernel>,
    warnings: Vec<Finding>,
}

/// An entry point, before ptxas has seen it.
struct Entry {
    name: String,
    declared: Option<Declared>,
    findings: Vec<Finding>,
}

fn finish(
    raw: &str,
    package: &Package,
    arch: Arch,
    roots: &post::Roots,
    faults: Faults,
) -> Result<Finished, Error> {
    let wrong = |message| Error::Ptx { package: package.name.clone(), arch, message };
    let name = format!("{}.{arch}.ptx", package.library);
    let mut processed = post::process(raw, &name, roots).map_err(wrong)?;
    if faults == Faults::Collect {
        // Slow is no fault.
        processed.annotations.kernels.iter_mut().for_each(|kernel| kernel.no_stack = false);
    }
    let module = Module::parse(&processed.text, &name)
        .map_err(|error| wrong(format!("after post-processing: {error}")))?;
    let findings = check(&module, &processed.lines, &processed.annotations, arch);
    let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    if faults == Faults::Refuse && refused {
        return Err(Error::Checks { package: package.name.clone(), arch, findings });
    }
    let (warnings, findings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.severity == Severity::Warning);
    let entries = module.functions.iter().filter(|function| {
        function.kind == baton_ptx::FunctionKind::Entry && function.body.is_some()
    });
    let entry = |function: &baton_ptx::Function| {
        let mut annotated = processed.annotations.kernels.iter();
        let declared = annotated.find(|kernel| *kernel.name == *function.name);
        let its = findings.iter().filter(|finding| concerns(finding, &module, function));
        Entry {
            name: function.name.to_string(),
            findings: its.cloned().collect(),
            declared: declared.map(|kernel| Declared {
                threads: kernel.threads,
                cluster: kernel.cluster,
                dynamic_shared: kernel.shared,
                parameters: function.params.iter().map(|param| param.bytes).collect(),
                signatures: processed.annotations.signatures(&kernel.name),
            }),
        }
    };
    Ok(Finished {
        entries: entries.map(entry).collect(),
        kernels: processed.annotations.kernels,
        text: processed.text,
        lines: processed.lines,
        warnings,
    })
}

/// Whether a finding is about a kernel: its line stands in it, or in a function that is not a kernel and that it may call.
/// What has no line names the kernel, or is about all of them.
fn concerns(finding: &Finding, module: &Module, kernel: &baton_ptx::Function) -> bool {
    let Some(line) = finding.ptx_line else {
        let named = |name: &str| finding.message.contains(&format!("`{name}`"));
        let entries = module.functions.iter().filter(|f| f.kind == baton_ptx::FunctionKind::Entry);
        return named(&kernel.name) || !entries.into_iter().any(|entry| named(&entry.name));
    };
    let bodies = module.functions.iter().filter(|function| function.body.is_some());
    let holder = bodies.filter(|function| function.line <= line).max_by_key(|f| f.line);
    match holder {
        Some(holder) if holder.kind == baton_ptx::FunctionKind::Entry => holder.name == kernel.name,
        Some(holder) => calls(module, kernel).contains(&&*holder.name),
        None => true,
    }
}

/// The functions that a kernel may reach by name.
pub(crate) fn calls<'a>(module: &'a Module, kernel: &'a baton_ptx::Function) -> Vec<&'a str> {
    let mut found: Vec<&str> = vec![&kernel.name];
    let mut at = 0;
    while let Some(&name) = found.get(at) {
        let body = module.function(name).and_then(|function| function.body.as_ref());
        for instruction in body.into_iter().flat_map(|body| &body.instructions) {
            let text = module.text(instruction);
            if text.starts_with("call") {
                let named = |f: &&baton_ptx::Function| {
                    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
                        .any(|word| *word == *f.name)
                };
                let callees = module.functions.iter().filter(named).map(|f| &*f.name);
                let new: Vec<_> = callees.filter(|callee| !found.contains(callee)).collect();
                found.extend(new);
            }
        }
        at += 1;
    }
    found
}

/// The files of one target.
struct Files {
    ptx: PathBuf,
    lines: PathBuf,
    cubin: PathBuf,
}

impl Files {
    fn new(dir: &Path, library: &str, arch: Arch) -> Self {
        let file = |extension: &str| dir.join(format!("{library}.{arch}.{extension}"));
        Self { ptx: file("ptx"), lines: file("lines"), cubin: file("cubin") }
    }

    fn write(&self, finished: &Finished) -> Result<(), Error> {
        write(&self.ptx, &finished.text)?;
        write(&self.lines, &finished.lines.to_string())
    }

    fn remove_cubin(&self) -> Result<(), Error> {
        match fs::remove_file(&self.cubin) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove the old cubin", &self.cubin)(error))
            }
            _ => Ok(()),
        }
    }

    fn assemble(
        &self,
        env: &Environment,
        tool: &Tool,
        package: &Package,
        arch: Arch,
        finished: &mut Finished,
    ) -> Result<std::collections::BTreeMap<String, Usage>, Error> {
        match ptxas::assemble(env, tool, arch, &self.ptx, &self.cubin, &finished.lines)? {
            Outcome::Assembled(usage) => {
                let of = |kernel: &annotations::Kernel| spilled(kernel, *usage.get(&kernel.name)?);
                let (warnings, findings): (Vec<_>, Vec<_>) =
                    (finished.kernels.iter().filter_map(of))
                        .partition(|finding| finding.severity == Severity::Warning);
                if !findings.is_empty() {
                    return Err(Error::Checks { package: package.name.clone(), arch, findings });
                }
                finished.warnings.extend(warnings);
                Ok(usage)
            }
            Outcome::Refused(findings) => {
                Err(Error::Assemble { package: package.name.clone(), arch, findings })
            }
        }
    }

    fn binary(
        self,
        arch: Arch,
        finished: Finished,
        usage: Option<std::collections::BTreeMap<String, Usage>>,
    ) -> Binary {
        let kernel = |entry: Entry| Kernel {
            usage: usage.as_ref().map(|usage| usage.get(&entry.name).copied().unwrap_or_default()),
            declared: entry.declared,
            findings: entry.findings,
            name: entry.name,
        };
        Binary {
            arch,
            ptx: self.ptx,
            lines: self.lines,
            cubin: usage.is_some().then_some(self.cubin),
            kernels: finished.entries.into_iter().map(kernel).collect(),
            warnings: finished.warnings,
        }
    }
}

/// Writes a file unless it holds that already, so that what depends on it is not built again.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).map_err(Error::io("write", path))
}

/// Which files and variables the result depends on.
fn tell_cargo(sources: Vec<PathBuf>, package: &Package, store: &Store) -> Result<(), Error> {
    let mut watched = std::collections::BTreeSet::new();
    for source in &sources {
        // The manifest that the source belongs to is the nearest one above it.
        let manifests = source.ancestors().skip(1).map(|dir| dir.join("Cargo.toml"));
        watched.extend(manifests.into_iter().find(|manifest| manifest.is_file()));
    }
    watched.extend(sources);
    watched.insert(package.manifest.clone());
    for file in ["Cargo.toml", "Cargo.lock"] {
        watched.insert(package.workspace.join(file));
    }
    // It changes when ptxas arrives.
    watched.insert(store.ensure_stamp()?);
    for file in watched.iter().filter(|file| file.exists()) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    for name in [
        "BATON_ARCH",
        "BATON_PTXAS",
        "BATON_BACKEND",
        "BATON_TOOLS_DIR",
        "BATON_ANY_RUSTC",
        "CUDA_HOME",
        "CUDA_PATH",
    ] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    Ok(())
}

/// What was built. In the output folder, for a kernel crate `foo-kernel` and each target:
///
/// | file | holds |
/// |---|---|
/// | `foo_kernel.sm_100a.ptx` | the PTX |
/// | `foo_kernel.sm_100a.lines` | from its lines to Rust source ([`baton_ptx::lines`]) |
/// | `foo_kernel.sm_100a.cubin` | machine code, if ptxas was there |
/// | `foo_kernel.rs` | one expression of type `baton_host::Image`, for `baton_host::image!` |
#[derive(Clone, Debug)]
pub struct Output {
    /// The kernel crate's name with underscores.
    pub name: String,
    /// Its package name.
    pub package: String,
    /// The generated Rust expression.
    pub image: PathBuf,
    /// One for each target.
    pub binaries: Vec<Binary>,
}

/// What was built for one target.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The target.
    pub arch: Arch,
    /// The PTX.
    pub ptx: PathBuf,
    /// The side table of lines.
    pub lines: PathBuf,
    /// Machine code, if ptxas was there.
    pub cubin: Option<PathBuf>,
    /// The entry points.
    pub kernels: Vec<Kernel>,
    /// What may be wrong with them.
    pub warnings: Vec<Finding>,
}

/// How an entry point is launched, by `#[baton::kernel]` and the compiled parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Threads of a CTA.
    pub threads: [u32; 3],
    /// CTAs of a cluster; all zero if it is not launched in clusters.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Bytes of each parameter.
    pub parameters: Vec<u64>,
    /// What each parameter is, as `#[baton::kernel]` says it in numbers.
    pub signatures: Vec<[u64; 3]>,
}

/// One entry point.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// What its attribute declares; `None` if it has none.
    pub declared: Option<Declared>,
    /// What ptxas says, if it was there.
    pub usage: Option<Usage>,
    /// What is wrong with it; nothing unless the build was to collect that ([`Faults::Collect`]).
    pub findings: Vec<Finding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Package {
        Package {
            name: "copied".into(),
            library: "copied".into(),
            manifest: "/Cargo.toml".into(),
            workspace: "/".into(),
            target_dir: "/target".into(),
        }
    }

    const COPIED: &str = include_str!("../tests/data/copied_barrier.raw.ptx");

    #[test]
    fn what_the_compiler_really_does_to_barriers_is_seen() {
        let source = include_str!("../tests/data/copied_barrier.rs");
        let call = source.lines().position(|line| line == "    bar_sync();").unwrap() as u32 + 1;
        let roots = [(PathBuf::from("/"), "")];
        let Err(Error::Checks { findings, .. }) =
            finish(COPIED, &package(), Arch::Sm90a, &roots, Faults::Refuse)
        else {
            panic!("the copy was not seen")
        };
        let [finding] = &*findings else { panic!("{findings:?}") };
        let places: Vec<_> =
            finding.frames.iter().map(|frame| (&*frame.file, frame.line)).collect();
        assert_eq!(places, [("src/lib.rs", 10), ("src/lib.rs", call)], "{finding}");
    }

    #[test]
    fn what_is_found_stands_with_its_kernel_where_it_is_collected() {
        let other = "\n.visible .entry other()\n{\n\tret;\n}\n";
        let at = COPIED.find("\t.section").unwrap_or(COPIED.len());
        let text = format!("{}{other}{}", &COPIED[..at], &COPIED[at..]);
        let finished = finish(&text, &package(), Arch::Sm90a, &[], Faults::Collect).unwrap();
        let counts: Vec<_> =
            finished.entries.iter().map(|e| (e.name == "other", e.findings.len())).collect();
        assert!(counts.contains(&(true, 0)) && counts.contains(&(false, 1)), "{counts:?}");
    }

    #[test]
    fn text_that_is_no_ptx_is_an_error_with_its_place() {
        let broken = COPIED.replace("setp.ge.u32", "setp.ge.u32 ]");
        let error = finish(&broken, &package(), Arch::Sm90a, &[], Faults::Refuse)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("`copied` for sm_90a"), "{error}");
        let line = COPIED.lines().position(|line| line.contains("setp.ge")).unwrap() + 1;
        assert!(error.contains(&format!(":{line}:")), "{error}");
    }

    #[test]
    fn text_that_ends_anywhere_is_no_reason_to_panic() {
        for end in 0..COPIED.len() {
            let _ = finish(&COPIED[..end], &package(), Arch::Sm90a, &[], Faults::Refuse);
        }
        for line in COPIED.lines().filter(|line| line.starts_with(".b")) {
            let _ = finish(
                &COPIED.replace(line, ".b8 255"),
                &package(),
                Arch::Sm90a,
                &[],
                Faults::Refuse,
            );
        }
    }

    fn archs(names: Option<&str>, builder: Builder<'_>) -> Result<Vec<Arch>, String> {
        let mut env = Environment::default();
        if let Some(names) = names {
            env.set("BATON_ARCH", names);
        }
        builder.environment(env).chosen_archs().map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_decides_about_targets() {
        let builder = || Builder::new("k").arch(Arch::Sm100a).arch(Arch::Sm100a);
        assert_eq!(archs(None, builder()), Ok(vec![Arch::Sm100a]));
        assert_eq!(archs(Some("sm_90a, sm_80"), builder()), Ok(vec![Arch::Sm90a, Arch::Sm80]));
        assert!(archs(Some("sm_9"), builder()).unwrap_err().contains("`sm_9` is not a target"));
        assert!(archs(None, Builder::new("k")).unwrap_err().contains("no target"));
    }
}
