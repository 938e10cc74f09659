//! The second road to PTX: rustc's LLVM IR through NVIDIA's own compiler, libNVVM.
//!
//! rustc cannot mark inline assembly as convergent, so on the first road LLVM is kept from copying collectives by switching passes off, and
//! [`crate::check`] looks whether that was enough. Here the IR is rewritten on the way ([`rewrite`]): each assembly is marked, and copying is
//! excluded at its root. And a second compiler's code can be laid beside the first's.
//!
//! libNVVM reads two dialects of IR: LLVM's of today for compute capability 10.0 and later, that of LLVM 7 for those before. Only the
//! first is written here.

mod library;
mod rewrite;

use std::path::Path;

use crate::{Arch, Error};

pub(crate) use library::version;

/// PTX of a module of LLVM IR as rustc has written it.
pub(crate) fn compile(path: &Path, ir: &str, package: &str, arch: Arch) -> Result<String, Error> {
    let refused = |log: String| Error::Nvvm { package: package.to_owned(), arch, log };
    let library = library::Library::open(path)?;
    // sm_90a is compute_90a here.
    let compute = arch.name().replace("sm_", "compute_");
    if library.llvm_version(&compute).is_none_or(|version| version < FIRST_MODERN) {
        return Err(Error::Setup(format!(
            "the libNVVM at {} does not know {arch}; a newer one does: unset CUDA_HOME, and `baton doctor --fix` gets one",
            path.display()
        )));
    }
    let ptx = library.compile(&rewrite::modern(ir), package, &compute).map_err(refused)?;
    Ok(lowest_version(&ptx, arch))
}

/// For which targets this road is.
pub(crate) const TAKES: &str = "the road through libNVVM is for sm_100 and later; for those before it reads another dialect of IR, which is not written yet";

/// Whether this road leads to a target.
pub(crate) fn takes(arch: Arch) -> bool {
    arch.capability() >= (10, 0)
}

/// It leads to none of these.
pub(crate) fn too_old(archs: &[Arch]) -> Error {
    let names: Vec<_> = archs.iter().map(|arch| arch.name()).collect();
    Error::Setup(format!("{TAKES}\nbuild for {} without BATON_BACKEND=nvvm", names.join(", ")))
}

/// The first version of LLVM whose IR has the form that rustc writes.
const FIRST_MODERN: i32 = 16;

/// libNVVM declares its newest version of PTX, which older drivers refuse. The lowest that knows the target stands here instead, as
/// LLVM writes it; what the instructions need is added where all PTX is finished.
fn lowest_version(ptx: &str, arch: Arch) -> String {
    let (major, minor) = arch.first_ptx();
    let line = |line: &str| match line.trim_start().starts_with(".version ") {
        true => format!(".version {major}.{minor}\n"),
        false => format!("{line}\n"),
    };
    ptx.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_lowest_of_the_target() {
        let ptx = "//\n.version 9.5\n.target sm_100a, debug\nret;\n";
        assert_eq!(
            lowest_version(ptx, Arch::Sm100a),
            "//\n.version 8.6\n.target sm_100a, debug\nret;\n"
        );
    }
}
