//! The sources of Rust's library, from which `core` is compiled for the GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{Listener, Refusal, Store, debian, limited, offline, program, room, run};
use crate::environment::{Environment, failure};
use crate::toolchain::Toolchain;
use crate::{Error, Progress};

/// Where the sources are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RustSrc {
    /// In the toolchain, where cargo looks by itself.
    Toolchain(PathBuf),
    /// In the store; cargo has to be told.
    Store(PathBuf),
}

impl RustSrc {
    /// The folder `library`.
    pub fn library(&self) -> &Path {
        match self {
            Self::Toolchain(library) | Self::Store(library) => library,
        }
    }
}

/// The sources that belong to this compiler, if they are there.
pub fn find(toolchain: &Toolchain, store: &Store) -> Option<RustSrc> {
    let complete = |library: &PathBuf| {
        library.join("Cargo.lock").is_file() && library.join("core/src/lib.rs").is_file()
    };
    let library = toolchain.sysroot.join("lib/rustlib/src/rust/library");
    if complete(&library) {
        return Some(RustSrc::Toolchain(library));
    }
    let library = store.path(&entry(toolchain)).join("library");
    complete(&library).then_some(RustSrc::Store(library))
}

/// The sources, fetched if they are missing.
pub(crate) fn provide(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    listener: Listener<'_>,
) -> Result<RustSrc, Error> {
    provide_on(env, toolchain, store, &debian::Machine::this(), listener)
}

fn provide_on(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    machine: &debian::Machine,
    listener: Listener<'_>,
) -> Result<RustSrc, Error> {
    if let Some(found) = find(toolchain, store) {
        return Ok(found);
    }
    let mut tried = Vec::new();
    if let Some(reason) = offline(env) {
        tried.push(("download".to_owned(), reason));
    } else {
        match store.locked("rustup", || with_rustup(env, toolchain, store, listener)) {
            Ok(found) => return Ok(found),
            Err(Refusal::Closed(reason)) => tried.push(("rustup".to_owned(), reason)),
            Err(Refusal::Fatal(error)) => return Err(error),
        }
        let package = format!("Debian package `rust-src` {}", toolchain.release);
        let installed = store.install(&entry(toolchain), |dir| {
            listener(&Progress::Fetching("the sources of Rust's library"));
            with_apt(env, toolchain, machine, dir)
        });
        match installed {
            Ok(_) => match find(toolchain, store) {
                Some(found) => return Ok(found),
                None => tried.push((package, "it does not hold `library/core`".to_owned())),
            },
            Err(Refusal::Closed(reason)) => tried.push((package, reason)),
            Err(Refusal::Fatal(error)) => return Err(error),
        }
    }
    Err(Error::Missing {
        what: "the source of `core` (rust-src)",
        tried,
        remedy: remedy(toolchain),
    })
}

/// What a person can do.
pub(crate) fn remedy(toolchain: &Toolchain) -> String {
    format!(
        "with a network: rustup component add rust-src --toolchain {0}\n\
         or unpack the same version's sources so that `{1}` exists",
        toolchain.release,
        toolchain.sysroot.join("lib/rustlib/src/rust/library/Cargo.lock").display()
    )
}

fn entry(toolchain: &Toolchain) -> String {
    format!("rust-src-{}", toolchain.release)
}

fn with_rustup(
    env: &Environment,
    toolchain: &Toolchain,
    store: &Store,
    listener: Listener<'_>,
) -> Result<RustSrc, Refusal> {
    // Another process may have added the component while this one waited for the lock.
    if let Some(found) = find(toolchain, store) {
        return Ok(found);
    }
    if env.get("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0") {
        return Err(Refusal::Closed("RUSTUP_AUTO_INSTALL=0 forbids it".into()));
    }
    let rustup = program(env, "rustup")?;
    // rustup names an installation's folder after the toolchain.
    let name = toolchain.sysroot.file_name().unwrap_or(toolchain.release.as_ref()).to_owned();
    listener(&Progress::Fetching("rustup's component rust-src"));
    let mut command = limited(env, &rustup);
    command.args(["component", "add", "rust-src", "--toolchain"]).arg(name);
    run(&mut command, "rustup component add")?;
    find(toolchain, store)
        .ok_or_else(|| Refusal::Closed("it succeeded, but the sources are not there".into()))
}

fn with_apt(
    env: &Environment,
    toolchain: &Toolchain,
    machine: &debian::Machine,
    dir: &Path,
) -> Result<(), Refusal> {
    room(env, dir, 250)?;
    let archive = debian::download(env, machine, "rust-src", &toolchain.release, dir)?;
    let version = &toolchain.release;
    unpack(env, &archive, &format!("./usr/src/rustc-{version}/library"), dir)?;
    // Only `library` is kept: the archive and the package lists are of no use any more.
    for file in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let path = file.map_err(Error::io("read", dir))?.path();
        let removed = match path.file_name() {
            Some(name) if name == "library" => Ok(()),
            _ if path.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}

/// Unpacks one folder of a Debian package into `dir`, under its last name.
fn unpack(env: &Environment, archive: &Path, folder: &str, dir: &Path) -> Result<(), Refusal> {
    let what = |program: &str| format!("cannot unpack {}: {program}", archive.display());
    let closed =
        |program: &'static str| move |error| Refusal::Closed(format!("{}: {error}", what(program)));
    let depth = folder.split('/').count() - 1;
    let mut reader = env
        .command(program(env, "dpkg-deb")?)
        .arg("--fsys-tarfile")
        .arg(archive)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(closed("dpkg-deb"))?;
    let mut tar = env.command(program(env, "tar")?);
    tar.args(["--extract", "--no-same-owner", &format!("--strip-components={depth}")]);
    tar.arg("--directory").arg(dir).arg(folder);
    if let Some(pipe) = reader.stdout.take() {
        tar.stdin(pipe);
    }
    let output = tar.output();
    // Whatever became of tar, the reader has lost its pipe and ends.
    drop(tar);
    let read = reader.wait().map_err(closed("dpkg-deb"))?;
    let output = output.map_err(closed("tar"))?;
    if !output.status.success() {
        return Err(Refusal::Closed(format!("{}: {}", what("tar"), failure(&output))));
    }
    if !read.success() {
        return Err(Refusal::Closed(format!("{}: {read}", what("dpkg-deb"))));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::testing::Folder;

    /// A machine with nothing but the programs that a test puts on it.
    struct Bench {
        folder: Folder,
        env: Environment,
        toolchain: Toolchain,
        store: Store,
        machine: debian::Machine,
    }

    /// An apt that knows one package and writes down what it is asked.
    const APT: &str = r#"echo "$@" >> "$BENCH/apt.log"
case "$*" in
*download*) echo archive > rust-src_1.95.0-1_all.deb ;;
esac"#;

    /// A dpkg-deb whose archive holds the library and something that is not wanted.
    const DPKG: &str = r#"cd "$BENCH" && /bin/mkdir -p a/usr/src/rustc-1.95.0/library/core/src a/usr/src/rustc-1.95.0/compiler
: > a/usr/src/rustc-1.95.0/library/Cargo.lock
: > a/usr/src/rustc-1.95.0/library/core/src/lib.rs
: > a/usr/src/rustc-1.95.0/compiler/big
cd a && exec "$TAR" --create ./usr"#;

    impl Bench {
        fn new(name: &str) -> Self {
            let folder = Folder::new(name);
            let tar = Environment::of_process().find("tar").unwrap();
            let mut env = Environment::default();
            env.set("PATH", folder.path("bin"));
            env.set("BENCH", folder.path(""));
            env.set("TAR", &tar);
            folder.write("apt/sources.list", "deb mirror://x/debian bookworm main\n");
            folder.write("os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
            folder.write("sysroot/bin/rustc", "");
            Self {
                toolchain: Toolchain {
                    rustc: "rustc".into(),
                    release: "1.95.0".into(),
                    sysroot: folder.path("sysroot"),
                },
                store: Store::at(folder.path("tools")),
                machine: debian::Machine {
                    apt: folder.path("apt"),
                    os_release: folder.path("os-release"),
                },
                env,
                folder,
            }
        }

        fn real_tar(&self) {
            self.folder.program("bin/tar", "exec \"$TAR\" \"$@\"");
        }

        fn provide(&self) -> Result<RustSrc, Error> {
            let Self { env, toolchain, store, machine, .. } = self;
            provide_on(env, toolchain, store, machine, &mut |_| {})
        }

        fn log(&self) -> String {
            fs::read_to_string(self.folder.path("apt.log")).unwrap_or_default()
        }

        /// What lies in the store, locks aside.
        fn left(&self) -> Vec<String> {
            let files = fs::read_dir(self.store.root()).unwrap();
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            names.filter(|name| !name.ends_with(".lock")).collect()
        }
    }

    #[test]
    fn the_package_is_unpacked_and_used_offline_afterwards() {
        let mut bench = Bench::new("rust-src-good");
        bench.folder.program("bin/apt-get", APT);
        bench.folder.program("bin/dpkg-deb", DPKG);
        bench.real_tar();
        let library = bench.store.path("rust-src-1.95.0").join("library");
        assert_eq!(bench.provide().unwrap(), RustSrc::Store(library.clone()));
        let kept: Vec<_> = fs::read_dir(library.parent().unwrap()).unwrap().collect();
        assert_eq!(kept.len(), 1, "only the library is kept: {kept:?}");
        let log = bench.log();
        assert!(log.contains("download rust-src=1.95.0*"), "{log}");
        assert!(log.contains("Dir::Etc::SourceParts=/dev/null"), "{log}");

        bench.env.set("PATH", "/nonexistent");
        assert_eq!(bench.provide().unwrap(), RustSrc::Store(library));
    }

    #[test]
    fn without_a_network_each_way_says_why_and_nothing_is_left() {
        let bench = Bench::new("rust-src-network");
        bench.folder.program("bin/rustup", "echo 'error: could not download' >&2; exit 1");
        bench.folder.program(
            "bin/apt-get",
            "echo 'E: Failed to fetch the index' >&2; echo 'E: Some index files failed' >&2; exit 100",
        );
        let error = bench.provide().unwrap_err().to_string();
        for expected in [
            "rust-src",
            "rustup: rustup component add: error: could not download",
            "trixie-backports: apt-get update: E: Failed to fetch the index",
            "rustup component add rust-src --toolchain 1.95.0",
        ] {
            assert!(error.contains(expected), "{expected:?} is not in\n{error}");
        }
        assert_eq!(bench.left(), [""; 0]);
    }

    #[test]
    fn a_full_disk_leaves_nothing() {
        let bench = Bench::new("rust-src-disk");
        bench.folder.program("bin/apt-get", APT);
        bench.folder.program("bin/dpkg-deb", DPKG);
        // It has written something before it fails.
        bench.folder.program(
            "bin/tar",
            r#"while [ "$1" != --directory ]; do shift; done
: > "$2/half"
echo 'tar: x: Cannot write: No space left on device' >&2; exit 2"#,
        );
        let error = bench.provide().unwrap_err().to_string();
        assert!(error.contains("cannot unpack"), "{error}");
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(bench.left(), [""; 0]);
    }

    #[test]
    fn nothing_begins_that_cannot_fit() {
        let bench = Bench::new("rust-src-room");
        bench.folder.program("bin/apt-get", APT);
        bench.folder.program("bin/df", "echo head; echo '/dev/x 20480 0 20480 0% /x'");
        let error = bench.provide().unwrap_err().to_string();
        assert!(error.contains("has 20 MB, and 250 MB are needed"), "{error}");
        assert_eq!((bench.log(), bench.left()), (String::new(), vec![]));
    }

    #[test]
    fn a_download_that_never_ends_is_ended() {
        let bench = Bench::new("rust-src-stalled");
        bench.folder.program("bin/apt-get", APT);
        bench.folder.program("bin/timeout", r#"echo "$@" >> "$BENCH/timeout.log"; exit 124"#);
        let error = bench.provide().unwrap_err().to_string();
        assert!(error.contains("apt-get update: ended after 15m"), "{error}");
        assert_eq!(bench.left(), [""; 0]);
        let log = fs::read_to_string(bench.folder.path("timeout.log")).unwrap();
        assert!(log.contains("bin/apt-get"), "{log}");
    }

    #[test]
    fn rustup_is_left_alone_where_its_owner_says_so() {
        let mut bench = Bench::new("rust-src-forbidden");
        bench.folder.program("bin/rustup", r#": > "$BENCH/called""#);
        bench.env.set("RUSTUP_AUTO_INSTALL", "0");
        let error = bench.provide().unwrap_err().to_string();
        assert!(error.contains("RUSTUP_AUTO_INSTALL=0 forbids it"), "{error}");
        assert!(!bench.folder.path("called").exists());
    }

    #[test]
    fn rustup_comes_first_where_it_may() {
        let bench = Bench::new("rust-src-rustup");
        bench.folder.program(
            "bin/rustup",
            r#"l="$BENCH/sysroot/lib/rustlib/src/rust/library"
/bin/mkdir -p "$l/core/src" && : > "$l/Cargo.lock" && : > "$l/core/src/lib.rs""#,
        );
        bench.folder.program("bin/apt-get", APT);
        assert!(matches!(bench.provide().unwrap(), RustSrc::Toolchain(_)));
        assert_eq!(bench.log(), "");
    }

    #[test]
    fn two_at_once_fetch_once() {
        let bench = Bench::new("rust-src-two");
        bench.folder.program("bin/apt-get", APT);
        bench.folder.program("bin/dpkg-deb", DPKG);
        bench.real_tar();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| bench.provide().unwrap());
            }
        });
        assert_eq!(bench.log().matches(" download ").count(), 1, "{}", bench.log());
    }

    #[test]
    fn nothing_is_asked_when_downloads_are_switched_off() {
        let mut bench = Bench::new("rust-src-offline");
        bench.folder.program("bin/apt-get", APT);
        bench.env.set("BATON_OFFLINE", "1");
        let error = bench.provide().unwrap_err().to_string();
        assert!(error.contains("BATON_OFFLINE is set"), "{error}");
        assert_eq!(bench.log(), "");
    }
}
