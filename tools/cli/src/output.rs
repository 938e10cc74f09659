//! Writing to the user, who may have stopped reading (`baton … | head`).

use std::fmt::Display;
use std::io::{ErrorKind, Result as IoResult, Write};

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
    fn only_a_reader_who_went_away_is_forgiven() {
        assert!(judge(Err(ErrorKind::BrokenPipe.into())).is_ok());
        let failure = judge(Err(ErrorKind::StorageFull.into())).expect_err("a full disk");
        assert_eq!(failure.exit_code(), exit_code::FILES);
    }
}
