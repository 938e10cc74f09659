//! The GPU targets that the pinned compiler can generate code for.

use std::fmt;
use std::str::FromStr;

macro_rules! archs {
    ($($(#[$doc:meta])* $variant:ident $name:literal $capability:tt $toolkit:tt $ptx:tt;)*) => {
        /// A target of code generation, as `-Ctarget-cpu` and ptxas spell it.
        ///
        /// A plain target runs on later GPUs too, an `f` target on its family, an `a` target on
        /// exactly one compute capability; `tcgen05` needs `f` or `a`, `wgmma` needs `sm_90a`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Arch {
            $($(#[$doc])* #[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Arch {
            /// Every target, oldest first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name: `sm_100a`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The compute capability, major and minor.
            pub const fn capability(self) -> (u32, u32) {
                match self { $(Self::$variant => $capability,)* }
            }

            /// The first CUDA release whose ptxas knows the target.
            pub(crate) const fn toolkit(self) -> (u32, u32) {
                match self { $(Self::$variant => $toolkit,)* }
            }

            /// The first version of PTX that knows the target, as LLVM declares it.
            pub(crate) const fn first_ptx(self) -> (u32, u32) {
                match self { $(Self::$variant => $ptx,)* }
            }
        }
    };
}

archs! {
    Sm75 "sm_75" (7, 5) (10, 0) (6, 3);
    Sm80 "sm_80" (8, 0) (11, 0) (7, 0);
    Sm86 "sm_86" (8, 6) (11, 1) (7, 1);
    Sm87 "sm_87" (8, 7) (11, 5) (7, 4);
    Sm89 "sm_89" (8, 9) (11, 8) (7, 8);
    Sm90 "sm_90" (9, 0) (11, 8) (7, 8);
    Sm90a "sm_90a" (9, 0) (12, 0) (8, 0);
    Sm100 "sm_100" (10, 0) (12, 8) (8, 6);
    Sm100f "sm_100f" (10, 0) (12, 9) (8, 8);
    Sm100a "sm_100a" (10, 0) (12, 8) (8, 6);
    Sm103 "sm_103" (10, 3) (12, 9) (8, 8);
    Sm103f "sm_103f" (10, 3) (12, 9) (8, 8);
    Sm103a "sm_103a" (10, 3) (12, 9) (8, 8);
    Sm110 "sm_110" (11, 0) (13, 0) (9, 0);
    Sm110f "sm_110f" (11, 0) (13, 0) (9, 0);
    Sm110a "sm_110a" (11, 0) (13, 0) (9, 0);
    Sm120 "sm_120" (12, 0) (12, 8) (8, 7);
    Sm120f "sm_120f" (12, 0) (12, 9) (8, 8);
    Sm120a "sm_120a" (12, 0) (12, 8) (8, 7);
    Sm121 "sm_121" (12, 1) (12, 9) (8, 8);
    Sm121f "sm_121f" (12, 1) (12, 9) (8, 8);
    Sm121a "sm_121a" (12, 1) (12, 9) (8, 8);
}

impl Arch {
    /// The most shared memory that a CTA can ask for, in bytes.
    pub const fn shared_memory(self) -> u32 {
        1024 * match self.capability() {
            (7, 5) => 64,
            (8, 0 | 7) => 163,
            (8, _) | (12, _) => 99,
            _ => 227,
        }
    }
}

impl Arch {
    /// Whether a driver can compile PTX for this target for a GPU that `gpu` names: PTX for a plain target runs on every
    /// later GPU, that of a family (`f`) on later ones of the same major number, and that of one architecture (`a`) on no
    /// other.
    pub fn runs_on(self, gpu: Self) -> bool {
        let (own, other) = (self.capability(), gpu.capability());
        match self.name().as_bytes().last() {
            Some(b'a') => own == other,
            Some(b'f') => own.0 == other.0 && own.1 <= other.1,
            _ => own <= other,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArch(String);

impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a target; there are", self.0)?;
        for (i, arch) in Arch::ALL.iter().enumerate() {
            write!(f, "{} {arch}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownArch {}

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        let known = Self::ALL.iter().find(|arch| arch.name() == name);
        known.copied().ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            let (major, minor) = arch.capability();
            let digits = arch.name().trim_matches(|c: char| !c.is_ascii_digit());
            assert_eq!(digits, format!("{major}{minor}"));
        }
    }

    #[test]
    fn ptx_goes_forward_as_far_as_its_features_do() {
        assert!(Arch::Sm80.runs_on(Arch::Sm100a) && !Arch::Sm100.runs_on(Arch::Sm90a));
        assert!(Arch::Sm100f.runs_on(Arch::Sm103a) && !Arch::Sm100f.runs_on(Arch::Sm110a));
        assert!(!Arch::Sm103f.runs_on(Arch::Sm100a));
        assert!(Arch::Sm90a.runs_on(Arch::Sm90) && !Arch::Sm90a.runs_on(Arch::Sm100a));
    }

    #[test]
    fn a_wrong_name_lists_the_right_ones() {
        let message = "sm_99".parse::<Arch>().unwrap_err().to_string();
        assert!(message.starts_with("`sm_99` is not a target"), "{message}");
        assert!(message.contains("sm_90a, sm_100,"), "{message}");
    }
}
