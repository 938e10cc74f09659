//! Python packages: NVIDIA publishes its tools as such. They are unpacked and not installed.

use std::fs;
use std::path::Path;

use super::{Refusal, limited, room, run};
use crate::Error;
use crate::environment::Environment;

/// Downloads packages (`name==version`), and unpacks them side by side in a folder; so many megabytes are needed meanwhile.
pub(super) fn unpack(
    env: &Environment,
    dir: &Path,
    packages: &[String],
    megabytes: u64,
) -> Result<(), Refusal> {
    room(env, dir, megabytes)?;
    let python = ["python3", "python"].into_iter().find_map(|name| env.find(name));
    let python = python.ok_or_else(|| Refusal::Closed("there is no `python3` on PATH".into()))?;
    let wheels = dir.join("wheels");
    let mut pip = limited(env, &python);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"])
        .args(["--disable-pip-version-check", "--no-input", "--retries", "2", "--dest"])
        .arg(&wheels)
        .args(packages);
    run(&mut pip, "pip download")?;
    for wheel in fs::read_dir(&wheels).map_err(Error::io("read", &wheels))? {
        let wheel = wheel.map_err(Error::io("read", &wheels))?.path();
        let mut unzip = env.command(&python);
        unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(dir);
        run(&mut unzip, &format!("cannot unpack {}", wheel.display()))?;
    }
    fs::remove_dir_all(&wheels).map_err(Error::io("remove", &wheels))?;
    Ok(())
}
