//! libNVVM, NVIDIA's compiler from LLVM IR to PTX.

use std::path::{Path, PathBuf};

use super::cuda::RELEASE;
use super::{Listener, Refusal, Store, offline, pip};
use crate::environment::Environment;
use crate::{Error, Progress, nvvm};

/// The Python package that holds it.
const PACKAGE: &str = "nvidia-nvvm";

/// Where it lies inside the package.
const PLACE: &str = "nvidia/cu13/lib/libnvvm.so.4";

/// Where it lies inside a toolkit.
const IN_TOOLKIT: &str = "nvvm/lib64/libnvvm.so";

/// What it is for.
pub const PURPOSE: &str = "the second road to PTX (BATON_BACKEND=nvvm)";

/// A copy on this machine that can be loaded: of the toolkit that the variables name, of that in the usual place, our own. Beside it the
/// version of its interface.
pub fn find(env: &Environment, store: &Store) -> Option<(PathBuf, (i32, i32))> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(|name| env.get(name));
    toolkits
        .map(|root| Path::new(root).join(IN_TOOLKIT))
        .chain([Path::new("/usr/local/cuda").join(IN_TOOLKIT), store.path(&entry()).join(PLACE)])
        .filter(|path| path.is_file())
        .find_map(|path| nvvm::version(&path).map(|version| (path, version)))
}

/// What a person can do.
pub(crate) fn remedy() -> String {
    format!(
        "install a CUDA toolkit and set CUDA_HOME, or: pip download --no-deps {PACKAGE}=={RELEASE}.*"
    )
}

fn entry() -> String {
    format!("nvvm-{RELEASE}")
}

/// The library, fetched if it is nowhere.
pub(crate) fn provide(
    env: &Environment,
    store: &Store,
    listener: Listener<'_>,
) -> Result<PathBuf, Error> {
    if let Some((path, _)) = find(env, store) {
        return Ok(path);
    }
    let missing = |way: &str, reason: String| Error::Missing {
        what: "libNVVM",
        tried: vec![(way.to_owned(), reason)],
        remedy: remedy(),
    };
    if let Some(reason) = offline(env) {
        return Err(missing("download", reason));
    }
    let installed = store.install(&entry(), |dir| {
        listener(&Progress::Fetching("libNVVM"));
        pip::unpack(env, dir, &[format!("{PACKAGE}=={RELEASE}.*")], 400)?;
        match nvvm::version(&dir.join(PLACE)) {
            Some(_) => Ok(()),
            None => Err(Refusal::Closed("the package's libNVVM cannot be loaded".into())),
        }
    });
    match installed {
        Ok(path) => Ok(path.join(PLACE)),
        Err(Refusal::Closed(reason)) => Err(missing("Python package", reason)),
        Err(Refusal::Fatal(error)) => Err(error),
    }
}
