//! Finds the parts of the tool chain that a Rust installation does not bring, and fetches them.
//!
//! The sources of `core` ([`rust_src`]), without which nothing can be compiled for the GPU; the assembler ([`cuda`]), without
//! which only machine code and its statistics are missing; and libNVVM ([`nvvm`]), for who asks for its road. What is fetched goes into the [`Store`]; nothing outside it is touched, except that
//! rustup adds its own component where it may.
//!
//! Fetching is by package name through the machine's own package managers, with the sources,
//! mirrors and proxies that they are set up for.

pub mod cuda;
mod debian;
pub mod nvvm;
mod pip;
pub mod rust_src;
mod store;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub use store::Store;

use crate::cargo::Cargo;
use crate::environment::{Environment, failure};
use crate::toolchain::Toolchain;
use crate::{Backend, Error, Progress, Ptxas};

/// Who hears what is being done.
pub(crate) type Listener<'a> = &'a mut dyn FnMut(&Progress<'_>);

/// Why one way to get something did not work.
pub(crate) enum Refusal {
    /// This way is closed; another may be open.
    Closed(String),
    /// Nothing else will work either.
    Fatal(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// How long a download may take, for `timeout`.
const LIMIT: &str = "15m";

/// A command that is ended when it takes longer than any download should: apt waits for ever when
/// the disk is full. Without `timeout` on this machine it has to be ended by hand.
fn limited(env: &Environment, program: &Path) -> Command {
    match env.find("timeout") {
        Some(timeout) => {
            let mut command = env.command(timeout);
            command.args(["--foreground", "--kill-after=10s", LIMIT]).arg(program);
            command
        }
        None => env.command(program),
    }
}

/// Refuses to begin what cannot fit: so many megabytes are needed while unpacking.
fn room(env: &Environment, dir: &Path, megabytes: u64) -> Result<(), Refusal> {
    let Some(df) = env.find("df") else { return Ok(()) };
    let Ok(output) = env.command(df).arg("-Pk").arg(dir).output() else { return Ok(()) };
    let text = String::from_utf8_lossy(&output.stdout);
    // Filesystem, blocks, used, available, capacity, mounted on.
    let available = text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3));
    match available.and_then(|kilobytes| kilobytes.parse::<u64>().ok()) {
        Some(kilobytes) if kilobytes < megabytes * 1024 => Err(Refusal::Closed(format!(
            "no space left: {} has {} MB, and {megabytes} MB are needed; BATON_TOOLS_DIR names \
             another folder",
            dir.display(),
            kilobytes / 1024
        ))),
        _ => Ok(()),
    }
}

/// Runs a program of the machine. Its failure closes the way that needs it.
fn run(command: &mut Command, what: &str) -> Result<Output, Refusal> {
    let output = command.output().map_err(|error| Refusal::Closed(format!("{what}: {error}")))?;
    match output.status.code() {
        Some(0) => Ok(output),
        // What `timeout` says of a command that it has ended.
        Some(124 | 137) => Err(Refusal::Closed(format!(
            "{what}: ended after {LIMIT}; look whether the network answers and the disk has room"
        ))),
        _ => Err(Refusal::Closed(format!("{what}: {}", failure(&output)))),
    }
}

/// The program, or the reason why this way is closed.
fn program(env: &Environment, name: &str) -> Result<PathBuf, Refusal> {
    env.find(name).ok_or_else(|| Refusal::Closed(format!("there is no `{name}` on PATH")))
}

/// Nothing may be downloaded: `BATON_OFFLINE`, or cargo's own switch.
fn offline(env: &Environment) -> Option<String> {
    let on = |name| env.is_on(name) && env.get(name).is_some_and(|value| value != "false");
    ["BATON_OFFLINE", "CARGO_NET_OFFLINE"]
        .into_iter()
        .find(|name| on(name))
        .map(|name| format!("{name} is set"))
}

/// One line of the report of [`Doctor`].
#[derive(Clone, Debug)]
pub struct Item {
    /// The part: "ptxas".
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// Whether nothing works without it.
    pub required: bool,
    /// Where it is, or that it is not.
    pub state: State,
}

/// Whether a part is there.
#[derive(Clone, Debug)]
pub enum State {
    /// It is.
    Found {
        /// Its version, where it says one.
        version: Option<String>,
        /// Where.
        place: PathBuf,
    },
    /// `BATON_PTXAS=off` says to do without it.
    Off,
    /// It is not.
    Missing {
        /// How to get it.
        remedy: String,
    },
}

impl Item {
    /// Whether the part is there.
    pub fn is_found(&self) -> bool {
        matches!(self.state, State::Found { .. })
    }

    /// Whether it is not, and nobody said to do without.
    pub fn is_missing(&self) -> bool {
        matches!(self.state, State::Missing { .. })
    }
}

/// Looks over the tool chain, and completes it.
#[derive(Clone, Debug)]
pub struct Doctor {
    env: Environment,
    store: Store,
}

impl Doctor {
    /// For this process. `target_dir` is where cargo puts what it builds; tools go below it when
    /// this library is not used from a checkout.
    pub fn new(target_dir: impl Into<PathBuf>) -> Self {
        let env = Environment::of_process();
        let store = Store::locate(&env, || target_dir.into());
        Self { env, store }
    }

    /// With other variables and another folder for tools.
    pub fn with(env: Environment, store: Store) -> Self {
        Self { env, store }
    }

    /// Where fetched tools are kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What is there and what is not.
    pub fn items(&self) -> Vec<Item> {
        let toolchain = Toolchain::of(&self.env, None);
        let rustc = match &toolchain {
            Ok(toolchain) => State::Found {
                version: Some(toolchain.release.clone()),
                place: toolchain.sysroot.clone(),
            },
            Err(error) => State::Missing { remedy: error.to_string() },
        };
        let sources = match toolchain.as_ref().ok() {
            None => State::Missing { remedy: "rustc comes first".into() },
            Some(toolchain) => match rust_src::find(toolchain, &self.store) {
                Some(found) => State::Found {
                    version: Some(toolchain.release.clone()),
                    place: found.library().to_owned(),
                },
                None => State::Missing { remedy: rust_src::remedy(toolchain) },
            },
        };
        let mut items = vec![
            Item { name: "rustc", purpose: "compiles kernels", required: true, state: rustc },
            Item {
                name: "rust-src",
                purpose: "`core` for the GPU",
                required: true,
                state: sources,
            },
        ];
        let ptxas = Ptxas::of(&self.env);
        for (tool, purpose) in cuda::TOOLS {
            let state = match &ptxas {
                Ok(Ptxas::Off) => State::Off,
                Err(error) => State::Missing { remedy: error.to_string() },
                Ok(Ptxas::Auto | Ptxas::Required) => self.tool(tool),
            };
            let required = tool == "ptxas" && matches!(ptxas, Ok(Ptxas::Required) | Err(_));
            items.push(Item { name: tool, purpose, required, state });
        }
        let state = match nvvm::find(&self.env, &self.store) {
            Some((place, (major, minor))) => {
                State::Found { version: Some(format!("{major}.{minor}")), place }
            }
            None => State::Missing { remedy: nvvm::remedy() },
        };
        let required = matches!(Backend::of(&self.env), Ok(Backend::Nvvm));
        items.push(Item { name: "libnvvm", purpose: nvvm::PURPOSE, required, state });
        items
    }

    fn tool(&self, name: &str) -> State {
        match cuda::find(&self.env, &self.store, name).into_iter().next() {
            Some(found) => State::Found {
                version: Some(format!("{}.{}", found.release.0, found.release.1)),
                place: found.path,
            },
            None => State::Missing { remedy: cuda::remedy() },
        }
    }

    /// The compiler of CUDA C++, for tests of what it makes: found, or fetched.
    pub fn nvcc(&self, mut progress: impl FnMut(&Progress<'_>)) -> Result<PathBuf, Error> {
        cuda::nvcc(&self.env, &self.store, &mut progress)
    }

    /// Fetches what is missing, so that builds need no network afterwards. Everything is tried; the
    /// first error is returned.
    pub fn fix(&self, mut progress: impl FnMut(&Progress<'_>)) -> Result<(), Error> {
        let toolchain = Toolchain::of(&self.env, None)?;
        let sources = rust_src::provide(&self.env, &toolchain, &self.store, &mut progress);
        let missing = Ptxas::of(&self.env)? != Ptxas::Off
            && cuda::TOOLS
                .iter()
                .any(|(tool, _)| cuda::find(&self.env, &self.store, tool).is_empty());
        let tools = match missing {
            true => cuda::fetch(&self.env, &self.store, &mut progress).map(drop),
            false => Ok(()),
        };
        let library = nvvm::provide(&self.env, &self.store, &mut progress).map(drop);
        let cargo = Cargo { env: &self.env, toolchain: &toolchain };
        sources.and_then(|sources| cargo.fetch_dependencies(&sources)).and(tools).and(library)
    }
}
