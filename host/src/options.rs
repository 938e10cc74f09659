//! How an emulator runs, whether there is one or not.

use baton_emulator::Options;

/// How an emulator runs, and what.
#[derive(Clone, Debug, Default)]
pub struct EmulatorOptions {
    /// Seed, schedule, step limit and memory limit.
    pub machine: Options,
    /// The target of the images to load (`"sm_100a"`); by default the first that an image has.
    pub arch: Option<String>,
}

impl EmulatorOptions {
    /// The same, with this seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.machine.seed = seed;
        self
    }

    /// The same, without the search for hazards.
    pub fn with_unchecked(mut self, unchecked: bool) -> Self {
        self.machine.unchecked = unchecked;
        self
    }

    /// The same; disputed hazards are errors rather than warnings.
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.machine.strict = strict;
        self
    }

    /// The same; launches record what ran when.
    pub fn with_trace(mut self, trace: bool) -> Self {
        self.machine.trace = trace;
        self
    }

    /// The same, for images' code for this target.
    pub fn with_arch(mut self, arch: impl Into<String>) -> Self {
        self.arch = Some(arch.into());
        self
    }
}
