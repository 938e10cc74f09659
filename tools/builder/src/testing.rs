//! What the tests of this crate share: a folder that goes away with the test.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder for one test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty one. `name` must be that of one test only.
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("baton-builder-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path inside.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with its folders.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a shell script that can be run.
    ///
    /// Another process does the writing: a program cannot be started while anybody holds it open
    /// for writing, and what this process forks at the same moment would.
    #[cfg(unix)]
    pub fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let status = std::process::Command::new("/bin/sh")
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
            .arg(&path)
            .arg(script)
            .status();
        assert!(status.unwrap().success());
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
