//! The folder that fetched tools live in, and the one way to put something there.
//!
//! An entry appears whole or not at all: it is made in a folder of its own beside its final place
//! and renamed into it. A file lock makes a second process wait and then find the entry, and what a
//! killed process left behind is removed under the same lock by the next one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::environment::Environment;

/// Where fetched tools are kept.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The folder for tools: `BATON_TOOLS_DIR`, else `target/baton-tools` of the repository that
    /// this library was compiled in, else `baton-tools` below the caller's target folder.
    pub fn locate(env: &Environment, target_dir: impl FnOnce() -> PathBuf) -> Self {
        let root = match env.get("BATON_TOOLS_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => match repository() {
                Some(repository) => repository.join("target/baton-tools"),
                None => target_dir().join("baton-tools"),
            },
        };
        Self { root }
    }

    /// A store in this folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the entry is, or would be.
    pub fn path(&self, entry: &str) -> PathBuf {
        self.root.join(entry)
    }

    /// The entry, if it is there.
    pub fn get(&self, entry: &str) -> Option<PathBuf> {
        let path = self.path(entry);
        path.is_dir().then_some(path)
    }

    /// A file that changes whenever an entry appears.
    pub fn stamp(&self) -> PathBuf {
        self.root.join("stamp")
    }

    /// Makes sure that the stamp exists, so that it can be watched.
    pub(crate) fn ensure_stamp(&self) -> Result<PathBuf, Error> {
        let stamp = self.stamp();
        if !stamp.exists() {
            self.create_root()?;
            fs::write(&stamp, "").map_err(Error::io("write", &stamp))?;
        }
        Ok(stamp)
    }

    /// Runs `work` while no other process holds the lock of that name.
    pub(crate) fn locked<T, E: From<Error>>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.create_root()?;
        let path = self.root.join(format!("{name}.lock"));
        let lock = File::create(&path).map_err(Error::io("open the lock", &path))?;
        lock.lock().map_err(Error::io("lock", &path))?;
        work()
    }

    /// The entry, made by `fill` in the folder that it is given if it is not there yet.
    pub(crate) fn install<E: From<Error>>(
        &self,
        entry: &str,
        fill: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(path) = self.get(entry) {
            return Ok(path);
        }
        self.locked(entry, || {
            if let Some(path) = self.get(entry) {
                return Ok(path);
            }
            let unfinished = Unfinished::new(self.root.join(format!(".{entry}.unfinished")))?;
            fill(&unfinished.0)?;
            let path = self.path(entry);
            fs::rename(&unfinished.0, &path).map_err(Error::io("install", &path))?;
            let stamp = self.stamp();
            fs::write(&stamp, entry).map_err(Error::io("write", &stamp))?;
            Ok(path)
        })
    }

    fn create_root(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.root).map_err(Error::io(
            "create the folder for tools (BATON_TOOLS_DIR names another)",
            &self.root,
        ))
    }
}

/// A folder that is removed unless it was renamed away.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: PathBuf) -> Result<Self, Error> {
        remove(&path).map_err(Error::io("remove what an interrupted run left", &path))?;
        let unfinished = Self(path);
        let created = fs::create_dir(&unfinished.0);
        created.map_err(Error::io("create a folder for the download", &unfinished.0))?;
        Ok(unfinished)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nothing more can be done here; the next run removes it.
        let _ = remove(&self.0);
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The checkout that this library was compiled in, if it still is one that people work in.
///
/// A checkout that cargo made for a git dependency is not: it is shared and cargo owns it.
fn repository() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    let here = root.join("tools/builder/Cargo.toml").is_file()
        && root.join("kernel-lib/Cargo.toml").is_file()
        && !root.join(".cargo-ok").exists();
    here.then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn two_at_once_fill_once() {
        let folder = Folder::new("store-two");
        let store = Store::at(folder.path("tools"));
        let fills = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let path = store.install::<Error>("entry", |dir| {
                        fills.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(50));
                        fs::write(dir.join("file"), "whole").map_err(Error::io("write", dir))
                    });
                    let text = fs::read_to_string(path.unwrap().join("file")).unwrap();
                    assert_eq!(text, "whole");
                });
            }
        });
        assert_eq!(fills.into_inner(), 1);
    }

    #[test]
    fn a_failed_fill_leaves_nothing() {
        let folder = Folder::new("store-failed");
        let store = Store::at(folder.path("tools"));
        let result = store.install("entry", |dir| {
            fs::write(dir.join("half"), "").unwrap();
            Err(Error::Setup("disk full".into()))
        });
        assert_eq!(result.unwrap_err().to_string(), "disk full");
        let mut left: Vec<_> =
            fs::read_dir(store.root()).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["entry.lock"]);
    }

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let folder = Folder::new("store-killed");
        let store = Store::at(folder.path("tools"));
        fs::create_dir_all(store.root().join(".entry.unfinished")).unwrap();
        fs::write(store.root().join(".entry.unfinished/half"), "").unwrap();
        let path = store.install::<Error>("entry", |_| Ok(())).unwrap();
        assert!(!path.join("half").exists());
    }
}
