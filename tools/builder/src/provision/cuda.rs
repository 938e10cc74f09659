//! The assembler and the disassemblers of the CUDA toolkit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Listener, Refusal, Store, offline, pip};
use crate::environment::Environment;
use crate::{Error, Progress};

/// The release that is fetched.
pub(super) const RELEASE: &str = "13.5";

/// The Python packages that hold the programs.
const PACKAGES: [&str; 3] = ["nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm", "nvidia-cuda-cuobjdump"];

/// Headers that those of cooperative groups include; their releases count otherwise.
const LIBRARY_HEADERS: &str = "nvidia-cuda-cccl==13.*";

/// The Python packages that the compiler of CUDA C++ needs: itself, its back end, its headers and the shared runtime.
const COMPILER: [&str; 4] =
    ["nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime"];

/// Where the programs lie inside the packages.
const BIN: &str = "nvidia/cu13/bin";

/// Each program, with what it is for.
pub const TOOLS: [(&str, &str); 3] = [
    ("ptxas", "machine code, registers and spills"),
    ("nvdisasm", "SASS listings"),
    ("cuobjdump", "resource usage of machine code"),
];

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Where.
    pub path: PathBuf,
    /// The CUDA release that it belongs to, major and minor.
    pub release: (u32, u32),
}

/// Every copy of the program on this machine that runs, in the order in which they are preferred:
/// the toolkit that the variables name, the usual place, `PATH`, our own copy.
pub fn find(env: &Environment, store: &Store, name: &str) -> Vec<Tool> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(|name| env.get(name));
    let mut places: Vec<PathBuf> =
        toolkits.map(|root| Path::new(root).join("bin").join(name)).collect();
    places.push(Path::new("/usr/local/cuda/bin").join(name));
    places.push(name.into());
    places.push(store.path(&entry()).join(BIN).join(name));
    let mut tools: Vec<Tool> = Vec::new();
    for path in places.iter().filter_map(|place| env.find(place)) {
        if tools.iter().any(|tool| tool.path == path) {
            continue;
        }
        tools.extend(release(env, &path).map(|release| Tool { path, release }));
    }
    tools
}

/// What the program says its release is: `Cuda compilation tools, release 13.5, V13.5.37`.
fn release(env: &Environment, program: &Path) -> Option<(u32, u32)> {
    let output = env.command(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, rest) = text.split_once("release ")?;
    let (major, rest) = rest.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What a person can do.
pub(crate) fn remedy() -> String {
    format!(
        "install a CUDA toolkit and set CUDA_HOME, or: pip download --no-deps {}=={RELEASE}.*",
        PACKAGES[0]
    )
}

fn entry() -> String {
    format!("cuda-{RELEASE}")
}

/// Fetches the programs into the store.
pub(crate) fn fetch(
    env: &Environment,
    store: &Store,
    listener: Listener<'_>,
) -> Result<PathBuf, Error> {
    let missing = |way: &str, reason: String| Error::Missing {
        what: "ptxas",
        tried: vec![(way.to_owned(), reason)],
        remedy: remedy(),
    };
    if let Some(reason) = offline(env) {
        return Err(missing("download", reason));
    }
    let installed = store.install(&entry(), |dir| {
        listener(&Progress::Fetching("ptxas and the disassemblers"));
        with_pip(env, dir, PACKAGES.iter().map(of_release), 300)?;
        works(env, dir, "ptxas")
    });
    match installed {
        Ok(path) => {
            let _ = fs::remove_file(store.path(&format!("{}.failed", entry())));
            Ok(path)
        }
        Err(Refusal::Closed(reason)) => Err(missing("Python packages", reason)),
        Err(Refusal::Fatal(error)) => Err(error),
    }
}

/// How long a failure is remembered.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Like [`fetch`], but gives up at once where it has failed a short time ago: a build must not wait
/// each time for a network that is not there. [`super::Doctor::fix`] tries again.
pub(crate) fn fetch_once(
    env: &Environment,
    store: &Store,
    listener: Listener<'_>,
) -> Result<PathBuf, Error> {
    let note = store.path(&format!("{}.failed", entry()));
    let written = fs::metadata(&note).and_then(|metadata| metadata.modified());
    let recent = written.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < PATIENCE));
    if let Some(reason) = recent.then(|| fs::read_to_string(&note).ok()).flatten() {
        return Err(Error::Missing {
            what: "ptxas",
            tried: vec![("an earlier build".to_owned(), reason)],
            remedy: format!("{}\nor try again: cargo baton doctor --fix", remedy()),
        });
    }
    let fetched = fetch(env, store, listener);
    if let Err(Error::Missing { tried, .. }) = &fetched
        && offline(env).is_none()
    {
        let reasons: Vec<_> = tried.iter().map(|(way, why)| format!("{way}: {why}")).collect();
        // If even this cannot be written, the next build tries again.
        let _ = fs::write(&note, reasons.join("; "));
    }
    fetched
}

/// The compiler of CUDA C++ and a release that knows the shared runtime `libcudart.so.13`: of a toolkit of this machine, or
/// fetched. Only tests need it, of what nvcc compiles.
pub(crate) fn nvcc(
    env: &Environment,
    store: &Store,
    listener: Listener<'_>,
) -> Result<PathBuf, Error> {
    let missing = |reason: String| Error::Missing {
        what: "nvcc",
        tried: vec![("download".to_owned(), reason)],
        remedy: "install a CUDA toolkit 13 and set CUDA_HOME".to_owned(),
    };
    // Our own copy of the assembler has an nvcc without its back end.
    let own = store.path(&entry());
    let toolkits = find(env, store, "nvcc");
    let usable = |tool: &&Tool| tool.release.0 == 13 && !tool.path.starts_with(&own);
    if let Some(tool) = toolkits.iter().find(usable) {
        return Ok(tool.path.clone());
    }
    let name = format!("nvcc-{RELEASE}-cccl");
    if let (None, Some(reason)) = (store.get(&name), offline(env)) {
        return Err(missing(reason));
    }
    let installed = store.install(&name, |dir| {
        listener(&Progress::Fetching("nvcc"));
        let packages = COMPILER.iter().map(of_release).chain([LIBRARY_HEADERS.to_owned()]);
        with_pip(env, dir, packages, 1000)?;
        set_run_bits(&dir.join("nvidia/cu13/nvvm/bin"))?;
        // What `-lcudart` looks for; the package has it by its full name only.
        let lib = dir.join("nvidia/cu13/lib");
        #[cfg(unix)]
        std::os::unix::fs::symlink("libcudart.so.13", lib.join("libcudart.so"))
            .map_err(Error::io("make the link", &lib))?;
        works(env, dir, "nvcc")
    });
    match installed {
        Ok(path) => Ok(path.join(BIN).join("nvcc")),
        Err(Refusal::Closed(reason)) => Err(missing(reason)),
        Err(Refusal::Fatal(error)) => Err(error),
    }
}

fn of_release(package: &&str) -> String {
    format!("{package}=={RELEASE}.*")
}

/// Downloads packages and unpacks them, which takes so many megabytes.
fn with_pip(
    env: &Environment,
    dir: &Path,
    packages: impl Iterator<Item = String>,
    megabytes: u64,
) -> Result<(), Refusal> {
    let packages: Vec<_> = packages.collect();
    pip::unpack(env, dir, &packages, megabytes)?;
    set_run_bits(&dir.join(BIN))?;
    Ok(())
}

/// Refuses a program that does not run here.
fn works(env: &Environment, dir: &Path, program: &str) -> Result<(), Refusal> {
    match release(env, &dir.join(BIN).join(program)) {
        Some(_) => Ok(()),
        None => {
            Err(Refusal::Closed(format!("the package's {program} does not run on this machine")))
        }
    }
}

/// Python's unzip forgets them.
fn set_run_bits(bin: &Path) -> Result<(), Error> {
    for file in fs::read_dir(bin).map_err(Error::io("read", bin))? {
        let path = file.map_err(Error::io("read", bin))?.path();
        #[cfg(unix)]
        if path.is_file() {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .map_err(Error::io("set the run bit of", &path))?;
        }
        #[cfg(not(unix))]
        drop(path);
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::Folder;

    const PTXAS: &str = "echo 'Cuda compilation tools, release 13.5, V13.5.37'";

    /// A Python whose pip downloads one wheel, and whose unzip forgets the run bits.
    const PYTHON: &str = r#"echo "$@" >> "$BENCH/python.log"
case "$*" in
*"pip download"*)
  while [ "$1" != --dest ]; do shift; done
  /bin/mkdir -p "$2" && : > "$2/nvcc.whl" ;;
*"zipfile -e"*)
  /bin/mkdir -p "$5/nvidia/cu13/bin" && printf '#!/bin/sh\necho release 13.5, V13.5.37\n' > "$5/nvidia/cu13/bin/ptxas" ;;
esac"#;

    fn bench(name: &str, python: Option<&str>) -> (Folder, Environment, Store) {
        let folder = Folder::new(name);
        let mut env = Environment::default();
        env.set("PATH", folder.path("bin"));
        env.set("BENCH", folder.path(""));
        if let Some(python) = python {
            folder.program("bin/python3", python);
        }
        let store = Store::at(folder.path("tools"));
        (folder, env, store)
    }

    #[test]
    fn the_wheels_are_unpacked_and_found() {
        let (folder, env, store) = bench("cuda-good", Some(PYTHON));
        fetch(&env, &store, &mut |_| {}).unwrap();
        let own =
            Tool { path: folder.path("tools/cuda-13.5/nvidia/cu13/bin/ptxas"), release: (13, 5) };
        assert!(find(&env, &store, "ptxas").contains(&own));
        // Offline afterwards.
        fs::remove_file(folder.path("bin/python3")).unwrap();
        fetch(&env, &store, &mut |_| {}).unwrap();
    }

    #[test]
    fn a_toolkit_that_is_there_comes_first() {
        let (folder, mut env, store) = bench("cuda-order", None);
        folder.program("bin/ptxas", &PTXAS.replace("13.5", "12.0"));
        folder.program("toolkit/bin/ptxas", PTXAS);
        env.set("CUDA_HOME", folder.path("toolkit"));
        let found = find(&env, &store, "ptxas");
        assert_eq!(found[0], Tool { path: folder.path("toolkit/bin/ptxas"), release: (13, 5) });
        assert_eq!(found.last().unwrap().release, (12, 0));
    }

    #[test]
    fn a_failed_download_says_why_and_is_not_repeated_by_builds() {
        let script = r#"echo "$@" >> "$BENCH/python.log"; echo 'ERROR: no network' >&2; exit 1"#;
        let (folder, env, store) = bench("cuda-network", Some(script));
        for _ in 0..2 {
            let error = fetch_once(&env, &store, &mut |_| {}).unwrap_err().to_string();
            assert!(error.contains("ERROR: no network"), "{error}");
            assert!(error.contains("CUDA_HOME"), "{error}");
        }
        let log = fs::read_to_string(folder.path("python.log")).unwrap();
        assert_eq!(log.lines().count(), 1, "{log}");
        assert_eq!(store.get("cuda-13.5"), None);

        // Whoever asks for it gets another try, and success is remembered.
        folder.program("bin/python3", PYTHON);
        fetch(&env, &store, &mut |_| {}).unwrap();
        fetch_once(&env, &store, &mut |_| {}).unwrap();
    }

    #[test]
    fn a_full_disk_leaves_nothing() {
        let script = PYTHON.replace("*\"zipfile -e\"*)", "*zipfile*) echo 'OSError: [Errno 28] No space left on device' >&2; exit 1 ;;\n*never*)");
        let (_folder, env, store) = bench("cuda-disk", Some(&script));
        let error = fetch(&env, &store, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("No space left on device"), "{error}");
        let files = fs::read_dir(store.root()).unwrap().map(|file| file.unwrap().file_name());
        assert_eq!(files.collect::<Vec<_>>(), ["cuda-13.5.lock"]);
    }

    #[test]
    fn without_python_the_message_says_so() {
        let (_folder, env, store) = bench("cuda-python", None);
        let error = fetch(&env, &store, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("there is no `python3` on PATH"), "{error}");
    }
}
