//! The twins' PTX, kept in `ptx/` so that they are tested where there is no nvcc: the test `mutants` leaves out each of
//! their synchronising instructions.

use std::fs;
use std::path::PathBuf;

use crate::twin::{Nvcc, folder};
use crate::{SOURCES, Source};

fn path(source: &Source) -> PathBuf {
    folder().join("ptx").join(source.twins).with_extension("ptx")
}

/// Writes all files anew.
pub fn write(nvcc: &Nvcc) -> Result<(), String> {
    for source in &SOURCES {
        let (path, ptx) = (path(source), nvcc.ptx(source.twins, source.arch)?);
        fs::write(&path, ptx)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Whether all files are what nvcc makes of the sources. Another version of nvcc makes others, and says nothing.
pub fn check(nvcc: &Nvcc) -> Result<(), String> {
    for source in &SOURCES {
        let path = path(source);
        let kept = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let made = nvcc.ptx(source.twins, source.arch)?;
        let head = |text: &str| text.split(".version").next().unwrap_or_default().to_owned();
        if head(&kept) == head(&made) && kept != made {
            return Err(format!(
                "ptx/{} is not what nvcc makes of cuda/{}: write it anew with --bless",
                path.file_name().unwrap_or_default().display(),
                source.twins
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_ptx_is_what_nvcc_makes() {
        match Nvcc::find() {
            Ok(nvcc) => check(&nvcc).unwrap(),
            Err(error) => println!("not checked: {error}"),
        }
    }
}
