//! Writing to the user, who may have stopped reading (`baton … | head`).

use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Result as IoResult, Write};
use std::path::Path;

use tempfile::Builder;

use crate::{Failure, Result, exit_code};

/// Writes text to stdout. A reader who went away is no error; a full disk behind stdout is.
pub fn text(text: impl Display) -> Result<()> {
    bytes(text.to_string().as_bytes())
}

/// Writes text and a line end to stdout, as [`text`] does.
pub fn line(line: impl Display) -> Result<()> {
    text(format_args!("{line}\n"))
}

/// Writes bytes to stdout, as [`text`] does.
pub fn bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    judge(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes a remark to stderr. There is nobody to tell if that fails.
pub fn remark(remark: impl Display) {
    let _ = writeln!(std::io::stderr(), "{remark}");
}

/// Writes a file whole or not at all: what stood there before is there until the new one is complete.
pub fn file(path: &Path, bytes: &[u8]) -> Result<()> {
    whole(path, bytes).map_err(|error| Failure::file("write", path, &error))
}

fn whole(path: &Path, bytes: &[u8]) -> IoResult<()> {
    // What is reached through a link is replaced, not the link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(|about| !about.is_file()) {
        // A pipe or a device.
        return fs::write(path, bytes);
    }
    if before.as_ref().is_some_and(|about| about.permissions().readonly()) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let permissions = before.map_or_else(of_a_new_file, |about| about.permissions());
    let mut builder = Builder::new();
    let mut partial = builder.prefix(".baton-").permissions(permissions).tempfile_in(folder)?;
    partial.write_all(bytes)?;
    partial.as_file().sync_all()?;
    partial.persist(path)?;
    Ok(())
}

/// What anybody may do with it whom the process's mask does not hinder.
fn of_a_new_file() -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(0o666)
}

fn judge(written: IoResult<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(exit_code::FILES, "cannot write to stdout").because(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        file(&path, b"one").expect("a new file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("out", &link).expect("a link");
        let open = fs::File::open(&path).expect("readable");
        file(&link, b"two").expect("through the link");
        assert_eq!(fs::read(&path).expect("readable"), b"two");
        assert!(fs::symlink_metadata(&link).expect("still there").is_symlink());
        // Whoever had it open has the old contents: it was not written over.
        assert_eq!(std::io::read_to_string(open).expect("readable"), "one");
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 2);
        let lost = file(&folder.path().join("no/out"), b"").expect_err("no folder");
        assert_eq!(lost.exit_code(), exit_code::FILES);
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        file(Path::new("/dev/null"), b"nothing").expect("a device takes it");
    }

    #[test]
    fn only_a_reader_who_went_away_is_forgiven() {
        assert!(judge(Err(ErrorKind::BrokenPipe.into())).is_ok());
        let failure = judge(Err(ErrorKind::StorageFull.into())).expect_err("a full disk");
        assert_eq!(failure.exit_code(), exit_code::FILES);
    }
}
