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
    Ok(as_llvm_writes(&ptx, arch))
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

/// The PTX as LLVM would have written it.
///
/// libNVVM declares its newest version of the language, which older drivers refuse: the lowest that knows the target stands here, and
/// what the instructions need is added where all PTX is finished. It repeats the place in the source before each line of an assembly, where
/// a comment is about the instruction on the next line.
fn as_llvm_writes(ptx: &str, arch: Arch) -> String {
    let (major, minor) = arch.first_ptx();
    let mut text = String::with_capacity(ptx.len());
    let mut assembly = false;
    for line in ptx.lines() {
        let trimmed = line.trim_start();
        match trimmed {
            "// begin inline asm" => assembly = true,
            "// end inline asm" => assembly = false,
            _ if assembly && (trimmed.starts_with(".loc") || trimmed.is_empty()) => continue,
            _ => {}
        }
        if trimmed.starts_with(".version ") {
            text += &format!(".version {major}.{minor}");
        } else {
            text += line;
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_lowest_of_the_target_and_assembly_is_in_one_piece() {
        let ptx = "//\n.version 9.5\n.target sm_100a, debug\n\t.loc 1 2 3\n\t// begin inline asm\n\t//@baton fence acquire\n\
                   \t.loc 1 2 3\nfence.acq_rel.gpu;\n\n\t// end inline asm\n\t.loc 1 4 3\n\tret;\n";
        assert_eq!(
            as_llvm_writes(ptx, Arch::Sm100a),
            "//\n.version 8.6\n.target sm_100a, debug\n\t.loc 1 2 3\n\t// begin inline asm\n\t//@baton fence acquire\n\
             fence.acq_rel.gpu;\n\t// end inline asm\n\t.loc 1 4 3\n\tret;\n"
        );
    }
}
