//! What the builder makes of a kernel crate, and which of it a device can run.
//!
//! Everything here is `const` data: the builder writes one [`Image`] expression, [`image!`] includes
//! it, and the executable carries its kernels with it.

use std::fmt;
use std::str::FromStr;

/// A compiled kernel crate: the same kernels for one or more targets.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The name of the kernel crate, with underscores.
    pub name: &'static str,
    /// One for each target.
    pub binaries: &'static [Binary],
}

/// A kernel crate compiled for one target.
#[derive(Clone, Copy)]
pub struct Binary {
    /// The target: `"sm_100a"`.
    pub arch: &'static str,
    /// The PTX.
    pub ptx: &'static str,
    /// The side table from PTX lines to Rust source lines.
    pub lines: &'static str,
    /// What ptxas made of the PTX, if it was there.
    pub cubin: Option<&'static [u8]>,
    /// The kernels, with what ptxas said of them.
    pub kernels: &'static [KernelInfo],
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binary")
            .field("arch", &self.arch)
            .field("ptx_bytes", &self.ptx.len())
            .field("cubin_bytes", &self.cubin.map(<[u8]>::len))
            .field("kernels", &self.kernels)
            .finish()
    }
}

/// What is known of a kernel after the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name of the entry point.
    pub name: &'static str,
    /// Registers of a thread; `None` if ptxas was not there, and then the next two are not known
    /// either.
    pub registers: Option<u32>,
    /// Bytes that a thread spills to local memory.
    pub spill_bytes: u32,
    /// Bytes of a thread's stack frame.
    pub stack_bytes: u32,
    /// Bytes of static shared memory of a CTA.
    pub static_shared: u32,
    /// The launch that its code was compiled for; `None` for PTX that `#[baton::kernel]` did not make.
    pub declared: Option<Declared>,
}

/// What `#[baton::kernel]` wrote into the compiled kernel about its launches. The kernel crate is compiled twice, and a
/// call comes from the host's half: a launch compares the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Threads of a CTA: x, y, z.
    pub threads: [u32; 3],
    /// CTAs of a cluster; all zero for a kernel without clusters.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Bytes of each parameter.
    pub parameters: &'static [u64],
    /// What each parameter is, in the numbers of `baton::launch::Argument`.
    pub signatures: &'static [[u64; 3]],
}

/// The [`Image`] of the kernel crate of that name (with underscores), which `build.rs` has built:
/// `static KERNELS: baton_host::Image = baton_host::image!("ring_kernel");`.
#[macro_export]
macro_rules! image {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"))
    };
}

impl Image {
    /// The binary for this target.
    pub fn binary(&self, arch: &str) -> Option<&'static Binary> {
        self.binaries.iter().find(|binary| binary.arch == arch)
    }

    /// The targets, for messages.
    pub(crate) fn archs(&self) -> String {
        match self.binaries {
            [] => "no target".into(),
            binaries => binaries.iter().map(|binary| binary.arch).collect::<Vec<_>>().join(", "),
        }
    }
}

impl Binary {
    /// What is known of the kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&'static KernelInfo> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// A target as its name spells it: which GPUs can run code that was compiled for it.
///
/// The rules, for a GPU of compute capability `major.minor`:
///
/// | target | machine code runs on | PTX runs on |
/// |---|---|---|
/// | `sm_90` | the same major, this minor or later | every later GPU |
/// | `sm_100f` | the same major, this minor or later | the same |
/// | `sm_90a` | exactly this | exactly this |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    /// The compute capability that the name gives.
    pub capability: (u32, u32),
    /// What the suffix says about other GPUs.
    pub features: Features,
}

/// How far beyond its own GPU a target's code carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Features {
    /// No suffix: only what later GPUs keep.
    Portable,
    /// `f`: what the family has.
    Family,
    /// `a`: everything that this one GPU has.
    Specific,
}

impl FromStr for Arch {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")).ok_or(())?;
        let (number, features) = match number.as_bytes().last() {
            Some(b'a') => (&number[..number.len() - 1], Features::Specific),
            Some(b'f') => (&number[..number.len() - 1], Features::Family),
            _ => (number, Features::Portable),
        };
        if number.len() < 2 || !number.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(());
        }
        let number: u32 = number.parse().map_err(|_| ())?;
        Ok(Self { capability: (number / 10, number % 10), features })
    }
}

impl Arch {
    /// Whether machine code for this target runs on a GPU of that compute capability.
    pub fn machine_code_runs_on(self, gpu: (u32, u32)) -> bool {
        match self.features {
            Features::Specific => self.capability == gpu,
            Features::Family | Features::Portable => {
                self.capability.0 == gpu.0 && self.capability.1 <= gpu.1
            }
        }
    }

    /// Whether a driver can compile PTX for this target for a GPU of that compute capability.
    pub fn ptx_runs_on(self, gpu: (u32, u32)) -> bool {
        match self.features {
            Features::Portable => self.capability <= gpu,
            Features::Family | Features::Specific => self.machine_code_runs_on(gpu),
        }
    }

    /// Orders the targets that run on a GPU by how well they fit it.
    #[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the emulator runs every target"))]
    fn fit(self) -> ((u32, u32), Features) {
        (self.capability, self.features)
    }
}

/// Code of an image that can run on a GPU.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the emulator runs every target"))]
pub(crate) enum Candidate {
    Cubin(&'static Binary, &'static [u8]),
    Ptx(&'static Binary),
}

/// Everything in `image` that a GPU of that compute capability can run, best first: machine code
/// before PTX, the nearest target before older ones.
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the emulator runs every target"))]
pub(crate) fn candidates(image: &Image, gpu: (u32, u32)) -> Vec<Candidate> {
    let mut binaries: Vec<(Arch, &'static Binary)> = image
        .binaries
        .iter()
        .filter_map(|binary| Some((binary.arch.parse().ok()?, binary)))
        .collect();
    binaries.sort_by_key(|(arch, _)| std::cmp::Reverse(arch.fit()));
    let cubins = binaries
        .iter()
        .filter(|(arch, _)| arch.machine_code_runs_on(gpu))
        .filter_map(|(_, binary)| Some(Candidate::Cubin(binary, binary.cubin?)));
    let ptx = binaries
        .iter()
        .filter(|(arch, _)| arch.ptx_runs_on(gpu))
        .map(|(_, binary)| Candidate::Ptx(binary));
    cubins.chain(ptx).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn binary(arch: &'static str, cubin: Option<&'static [u8]>) -> Binary {
        Binary { arch, ptx: "", lines: "", cubin, kernels: &[] }
    }

    fn found(binaries: &'static [Binary], gpu: (u32, u32)) -> Vec<String> {
        candidates(&Image { name: "k", binaries }, gpu)
            .iter()
            .map(|candidate| match candidate {
                Candidate::Cubin(binary, _) => format!("cubin {}", binary.arch),
                Candidate::Ptx(binary) => format!("ptx {}", binary.arch),
            })
            .collect()
    }

    #[test]
    fn names_of_targets() {
        let parse = |name: &str| name.parse::<Arch>().map(|arch| (arch.capability, arch.features));
        assert_eq!(parse("sm_90a"), Ok(((9, 0), Features::Specific)));
        assert_eq!(parse("sm_103"), Ok(((10, 3), Features::Portable)));
        assert_eq!(parse("compute_100f"), Ok(((10, 0), Features::Family)));
        for bad in ["", "sm_", "sm_a", "sm_9", "90a", "sm_90b", "sm_9é"] {
            assert_eq!(parse(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn machine_code_of_the_nearest_target_comes_first() {
        static BINARIES: [Binary; 4] = [
            binary("sm_80", Some(&[])),
            binary("sm_90", Some(&[])),
            binary("sm_90a", Some(&[])),
            binary("sm_100a", Some(&[])),
        ];
        assert_eq!(
            found(&BINARIES, (9, 0)),
            ["cubin sm_90a", "cubin sm_90", "ptx sm_90a", "ptx sm_90", "ptx sm_80"]
        );
        assert_eq!(found(&BINARIES, (12, 0)), ["ptx sm_90", "ptx sm_80"]);
        assert_eq!(found(&BINARIES, (7, 5)), [""; 0]);
    }

    #[test]
    fn specific_code_runs_on_its_own_gpu_only_and_family_code_on_its_family() {
        static BINARIES: [Binary; 2] = [binary("sm_100a", None), binary("sm_100f", Some(&[]))];
        assert_eq!(found(&BINARIES, (10, 0)), ["cubin sm_100f", "ptx sm_100a", "ptx sm_100f"]);
        assert_eq!(found(&BINARIES, (10, 3)), ["cubin sm_100f", "ptx sm_100f"]);
        assert_eq!(found(&BINARIES, (12, 0)), [""; 0]);
        assert_eq!(found(&BINARIES, (9, 0)), [""; 0]);
    }
}
