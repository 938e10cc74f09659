//! What the device library says about kernels in comments, and what becomes of it.
//!
//! | comment | effect |
//! |---|---|
//! | `//@baton kernel NAME threads=X,Y,Z cluster=X,Y,Z min_ctas=N smem=BYTES no_stack=N` | `.reqntid`, `.explicitcluster` and `.reqnctapercluster` (unless 0,0,0), `.minnctapersm` (unless 0); with 1, local memory is an error |
//! | `//@baton param NAME INDEX align=N signature=N,N,N` | that parameter's `.align` is raised (0: it is left as it is); what it is, for a launch to compare |
//! | `//@baton collective MNEMONIC` | the next instruction is a site for [`crate::check`] |
//! | `//@baton fence ORDER` | the next `fence.acq_rel` becomes `fence.ORDER` where the target has that ([`super::fences`]) |
//! | `//@baton nc` | the next `ld.global.nc` was asked for |
//! | `//@baton handed REGISTERS` | behind a `wgmma.fence`: the registers are a product's, for [`crate::check`] |
//! | `//@baton settled N REGISTERS` | behind a `wgmma.wait_group N`: it gives these back |
//! | `//@baton same SET` | the next `mov` moves one value for all threads of the set, as its author says |
//! | `//@baton copies` | the next `cp.async.commit_group` is of copies that fill a stage |
//! | `//@baton agree SET REG` | the set comes here together, and the register has to hold one value in it |
//! | `//@baton roles SIZES` | the CTA comes here together, to become roles of so many warps |
//! | `//@baton end FIELD END HOLDER` | who comes here holds the end of the field, as this set |
//! | `//@baton opened REG WHAT HOLDER` | likewise the parameter whose memory begins at the register |
//!
//! The last four stand for themselves and not for the instruction behind them ([`stands_alone`]).

use baton_ptx::{FunctionKind, Module};

use super::Edit;

/// A kernel's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub name: String,
    pub line: u32,
    pub threads: [u32; 3],
    /// All zero if it is not launched in clusters.
    pub cluster: [u32; 3],
    pub min_ctas: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether local memory is an error.
    pub no_stack: bool,
}

/// What is said of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    kernel: String,
    line: u32,
    index: usize,
    align: u32,
    signature: [u64; 3],
}

impl Param {
    /// The words behind `param`, if they are as the library writes them.
    fn read<'a>(mut words: impl Iterator<Item = &'a str>, line: u32) -> Option<Self> {
        let kernel = words.next()?.to_owned();
        let index = words.next()?.parse().ok()?;
        let align: u32 = words.next()?.strip_prefix("align=")?.parse().ok()?;
        let signature = three(words.next()?.strip_prefix("signature=")?)?;
        let fits = words.next().is_none() && (align == 0 || align.is_power_of_two());
        fits.then_some(Self { kernel, line, index, align, signature })
    }
}

/// Whether a comment says something of its own place, whatever instruction comes behind it.
pub(crate) fn stands_alone(text: &str) -> bool {
    matches!(text.split_whitespace().next(), Some("agree" | "roles" | "end" | "opened"))
}

/// All comments of a module that speak of kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    pub kernels: Vec<Kernel>,
    params: Vec<Param>,
}

impl Annotations {
    /// Reads the comments.
    pub fn read(module: &Module) -> Result<Self, String> {
        let mut annotations = Self::default();
        for comment in &module.comments {
            let mut words = comment.text.split_whitespace();
            let bad =
                |what: &str| format!("line {}: `//@baton {}`: {what}", comment.line, comment.text);
            match words.next() {
                Some("kernel") => {
                    let name = words.next().ok_or_else(|| bad("lacks the kernel's name"))?;
                    let mut kernel = Kernel {
                        name: name.to_owned(),
                        line: comment.line,
                        threads: [0; 3],
                        cluster: [0; 3],
                        min_ctas: 0,
                        shared: 0,
                        no_stack: false,
                    };
                    for word in words {
                        let (key, value) =
                            word.split_once('=').ok_or_else(|| bad("is not key=value"))?;
                        let number = || value.parse().map_err(|_| bad("is not a number"));
                        let shape = || shape(value).ok_or_else(|| bad("is not X,Y,Z"));
                        match key {
                            "threads" => kernel.threads = shape()?,
                            "cluster" => kernel.cluster = shape()?,
                            "min_ctas" => kernel.min_ctas = number()?,
                            "smem" => kernel.shared = number()?,
                            "no_stack" => kernel.no_stack = number()? != 0,
                            _ => return Err(bad(&format!("has the unknown key `{key}`"))),
                        }
                    }
                    let threads: u64 = kernel.threads.iter().map(|&n| u64::from(n)).product();
                    if !(1..=1024).contains(&threads) {
                        return Err(bad("needs threads=X,Y,Z with 1 to 1024 threads in all"));
                    }
                    annotations.kernels.push(kernel);
                }
                Some("param") => {
                    let param = Param::read(words, comment.line);
                    let expected = "is not `param NAME INDEX align=N signature=N,N,N` with 0 or a power of two to align to";
                    annotations.params.push(param.ok_or_else(|| bad(expected))?);
                }
                // Sites inside functions; the checks read them.
                Some("collective" | "nc" | "fence" | "handed" | "settled" | "same" | "copies") => {}
                Some(_) if stands_alone(&comment.text) => {}
                _ => return Err(bad("is unknown; library and builder are of different versions")),
            }
        }
        Ok(annotations)
    }

    /// What each parameter of the kernel is, in their order.
    pub fn signatures(&self, kernel: &str) -> Vec<[u64; 3]> {
        let mut its: Vec<_> = self.params.iter().filter(|param| param.kernel == kernel).collect();
        its.sort_unstable_by_key(|param| param.index);
        its.into_iter().map(|param| param.signature).collect()
    }

    /// Writes the directives.
    pub fn apply(&self, module: &Module, edit: &mut Edit<'_>) -> Result<(), String> {
        let entry = |name: &str, line: u32| {
            module
                .function(name)
                .filter(|function| function.kind == FunctionKind::Entry)
                .ok_or_else(|| format!("line {line}: there is no entry `{name}`"))
        };
        for kernel in &self.kernels {
            let function = entry(&kernel.name, kernel.line)?;
            let brace = match &function.body {
                Some(body) if edit.line(body.line).trim_start().starts_with('{') => body.line,
                _ => return Err(format!("entry `{}` has no body on its own line", kernel.name)),
            };
            let mut directive = |name: &str, arguments: &str| {
                if function.directive(name).is_none() {
                    edit.insert_before(brace, format!(".{name}{arguments}"));
                }
            };
            let [x, y, z] = kernel.threads;
            directive("reqntid", &format!(" {x}, {y}, {z}"));
            if kernel.cluster != [0; 3] {
                let [x, y, z] = kernel.cluster;
                directive("explicitcluster", "");
                directive("reqnctapercluster", &format!(" {x}, {y}, {z}"));
            }
            if kernel.min_ctas != 0 {
                directive("minnctapersm", &format!(" {}", kernel.min_ctas));
            }
        }
        for kernel in &self.kernels {
            let declared = entry(&kernel.name, kernel.line)?.params.len();
            let mut said: Vec<_> = self
                .params
                .iter()
                .filter(|param| param.kernel == kernel.name)
                .map(|param| param.index)
                .collect();
            said.sort_unstable();
            if !said.iter().copied().eq(0..declared) {
                return Err(format!(
                    "line {}: `{}` has {declared} parameter(s), and `//@baton param` speaks of {said:?}; library and builder are of \
                     different versions",
                    kernel.line, kernel.name
                ));
            }
        }
        for param in &self.params {
            let function = entry(&param.kernel, param.line)?;
            let declared = function.params.get(param.index).ok_or_else(|| {
                format!("line {}: `{}` has no parameter {}", param.line, param.kernel, param.index)
            })?;
            if declared.align >= param.align {
                continue;
            }
            let text = edit.line(declared.line);
            let old = format!(".align {} ", declared.align);
            if !text.contains(&old) {
                return Err(format!(
                    "line {}: parameter {} of `{}` has no alignment to raise: {}",
                    declared.line,
                    param.index,
                    param.kernel,
                    text.trim()
                ));
            }
            let new = text.replacen(&old, &format!(".align {} ", param.align), 1);
            edit.replace(declared.line, new);
        }
        Ok(())
    }
}

fn shape(text: &str) -> Option<[u32; 3]> {
    three(text)
}

fn three<N: std::str::FromStr>(text: &str) -> Option<[N; 3]> {
    let mut numbers = text.split(',').map(|number| number.parse().ok());
    let shape = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(shape)
}

#[cfg(test)]
mod tests {
    use super::super::process;

    const KERNEL: &str = "\
.version 8.0
.target sm_90a
.address_size 64
//@baton kernel k threads=128,1,1 cluster=2,1,1 min_ctas=1 smem=1024
//@baton param k 0 align=0 signature=1,2,3
//@baton param k 1 align=64 signature=4,5,6
.visible .entry k(
\t.param .u64 .ptr .align 1 k_param_0,
\t.param .align 8 .b8 k_param_1[128]
)
{
\tret;
}
";

    #[test]
    fn comments_become_directives() {
        let text = process(KERNEL, "k", &[]).unwrap().text;
        let expected = "\
.visible .entry k(
\t.param .u64 .ptr .align 1 k_param_0,
\t.param .align 64 .b8 k_param_1[128]
)
.reqntid 128, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
.minnctapersm 1
{
\tret;
}
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_kernel_without_cluster_or_minimum_says_nothing_of_them() {
        let plain = KERNEL.replace("cluster=2,1,1 min_ctas=1", "cluster=0,0,0 min_ctas=0");
        let text = process(&plain, "k", &[]).unwrap().text;
        assert!(text.contains(".reqntid 128, 1, 1\n{"), "{text}");
    }

    #[test]
    fn a_parameter_without_a_wish_is_left_alone() {
        let text = process(&KERNEL.replace("align=64", "align=0"), "k", &[]).unwrap().text;
        assert!(text.contains(".param .align 8 .b8 k_param_1[128]"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (from, to, expected) in [
            ("kernel k ", "kernel q ", "there is no entry `q`"),
            ("threads=128,1,1", "threads=128,16,1", "1 to 1024 threads"),
            ("threads=128,1,1", "threads=128,1", "is not X,Y,Z"),
            ("min_ctas=1", "min_ctas=one", "is not a number"),
            ("smem=1024", "shared=1024", "unknown key `shared`"),
            ("param k 1", "param k 2", "has 2 parameter(s)"),
            ("param k 1", "param k 0", "has 2 parameter(s)"),
            ("signature=4,5,6", "", "is not `param NAME INDEX"),
            ("signature=4,5,6", "signature=4,5", "is not `param NAME INDEX"),
            ("param k 0 align=0", "param k 0 align=64", "no alignment to raise"),
            ("align=64", "align=48", "power of two"),
            ("param k", "prm k", "different versions"),
        ] {
            let error = process(&KERNEL.replace(from, to), "k", &[]).err().unwrap();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
