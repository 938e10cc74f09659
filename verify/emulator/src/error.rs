//! What can go wrong, said with the place in the PTX and in the Rust source.

use crate::mbarrier::MbarrierError;
use crate::tcgen05;
use crate::tensor_map::{TensorMapError, TileError};
use baton_ptx::lines::Frame;
use std::fmt;

/// Why a program could not be loaded or run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] baton_ptx::ParseError),
    /// The module cannot be loaded.
    #[error("module `{module}`: {problem}")]
    Load {
        /// Its name.
        module: String,
        /// What is wrong.
        problem: String,
    },
    /// The launch does not fit the kernel.
    #[error("launch of kernel `{kernel}`: {problem}")]
    Launch {
        /// Its name.
        kernel: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The host used device memory wrongly.
    #[error("{0}")]
    Host(String),
    /// An instruction did what it must not.
    #[error(transparent)]
    Fault(#[from] Box<Failure>),
    /// Nothing can go on.
    #[error(transparent)]
    Deadlock(#[from] Box<Deadlock>),
    /// [`crate::Options::step_limit`] was reached.
    #[error(
        "kernel `{kernel}` ran {limit} thread-instructions without ending; raise the step limit, or look for a loop that does not end"
    )]
    StepLimit {
        /// The kernel.
        kernel: String,
        /// The limit.
        limit: u64,
    },
}

/// An instruction of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The function that holds it.
    pub function: String,
    /// 1-based line of the PTX.
    pub line: u32,
    /// The text of the instruction.
    pub text: String,
    /// Rust source, innermost first.
    pub frames: Vec<Frame>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {} `{}`", self.line, self.text)?;
        for (i, frame) in self.frames.iter().enumerate() {
            write!(f, "{}{frame}", if i == 0 { " at " } else { ", called from " })?;
        }
        Ok(())
    }
}

/// Threads of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Index of the CTA in the grid.
    pub block: [u32; 3],
    /// Number of the warp in the CTA.
    pub warp: u32,
    /// One bit for each lane.
    pub lanes: u32,
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "block ({x}, {y}, {z}) warp {} ", self.warp)?;
        match self.lanes {
            u32::MAX => f.write_str("all lanes"),
            lanes if lanes.count_ones() == 1 => write!(f, "lane {}", lanes.trailing_zeros()),
            lanes => {
                f.write_str("lanes ")?;
                let mut first = true;
                let mut lane = 0;
                while lane < 32 {
                    if lanes >> lane & 1 == 0 {
                        lane += 1;
                        continue;
                    }
                    let run = (!(lanes >> lane)).trailing_zeros().min(32 - lane);
                    if !first {
                        f.write_str(", ")?;
                    }
                    first = false;
                    match run {
                        1 => write!(f, "{lane}")?,
                        run => write!(f, "{lane} to {}", lane + run - 1)?,
                    }
                    lane += run;
                }
                Ok(())
            }
        }
    }
}

/// A [`Fault`] with its place.
#[derive(Clone, Debug, thiserror::Error)]
#[error("kernel `{kernel}`: {fault}\n  {site}\n  {threads}; seed {seed}")]
pub struct Failure {
    /// The kernel.
    pub kernel: String,
    /// What happened.
    pub fault: Fault,
    /// The instruction.
    pub site: Site,
    /// Who executed it.
    pub threads: Threads,
    /// Replays the run.
    pub seed: u64,
}

/// What an instruction did wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are named after what the messages say")]
pub enum Fault {
    #[error("{bytes} bytes of {space} memory at {address:#x} are out of bounds: {detail}")]
    OutOfBounds { space: &'static str, address: u64, bytes: u64, detail: String },
    #[error("{space} address {address:#x} is not a multiple of {align}")]
    Misaligned { space: &'static str, address: u64, align: u64 },
    #[error(
        "{space} address {address:#x} belongs to the CTA of cluster rank {rank}, which has exited (rule F3)"
    )]
    PeerExited { space: &'static str, address: u64, rank: u32 },
    #[error("write to read-only memory at {address:#x}")]
    ReadOnly { address: u64 },
    #[error(
        "ordinary {what} touches the mbarrier at shared address {address:#x}; only mbarrier instructions may, until `mbarrier.inval`"
    )]
    MbarrierBytes { what: &'static str, address: u32 },
    #[error("mbarrier at shared address {address:#x}: {error}")]
    Mbarrier { address: u32, error: MbarrierError },
    #[error("mbarrier.pending_count: {error}")]
    State { error: MbarrierError },
    #[error("multimem address {address:#x} in another instruction than a multimem one (rule A11)")]
    Multimem { address: u64 },
    #[error(
        "`.aligned` instruction executed by lanes {active:#010x} of a warp whose live lanes are {live:#010x}: data-dependent divergence around a collective (rule F4)"
    )]
    Divergent { active: u32, live: u32 },
    #[error(
        "member mask {mask:#010x} does not name lane {lane}, which executes the instruction (rule F1)"
    )]
    NotMember { mask: u32, lane: u32 },
    #[error(
        "lanes of one warp give different member masks, and not every named lane is here (rule F1)"
    )]
    MixedMasks,
    #[error("barrier {id}: {problem} (rule F7)")]
    Barrier { id: u32, problem: String },
    #[error("cluster barrier: {problem} (rule F2)")]
    ClusterBarrier { problem: &'static str },
    #[error("clusterlaunchcontrol: {problem} (rule F8)")]
    LaunchControl { problem: &'static str },
    #[error("trap")]
    Trap,
    #[error("device assertion `{message}` failed in {function}, {file}:{line}")]
    Assert { message: String, function: String, file: String, line: u32 },
    #[error("unknown instruction: {text}")]
    Unknown { text: String },
    #[error("call of `{name}`, which nothing defines")]
    Unresolved { name: String },
    #[error("{0}")]
    Call(String),
    #[error("{what} of {bytes} bytes: {problem}")]
    Bulk { what: &'static str, bytes: u64, problem: String },
    #[error("tensor map: {0}")]
    TensorMap(#[from] TensorMapError),
    #[error("{0}")]
    Tile(#[from] TileError),
    #[error("{0}")]
    TensorMemory(#[from] tcgen05::TensorMemoryError),
    #[error("{0}")]
    TensorAccess(#[from] tcgen05::AccessError),
    #[error("{0}")]
    Mma(#[from] tcgen05::MmaError),
    #[error("{0}")]
    SharedDescriptor(#[from] tcgen05::DescriptorError),
    #[error("{0}")]
    InstructionDescriptor(#[from] tcgen05::InstructionDescriptorError),
    #[error(
        "the CTA exits with {columns} columns of tensor memory allocated; dealloc them before the exit (rule D8)"
    )]
    TensorLeak { columns: u32 },
    #[error("{what}; wait for its completion first (rule {rule})")]
    InFlight { what: &'static str, rule: &'static str },
    #[error("{instruction}: {problem} (rule {rule})")]
    Pair { instruction: &'static str, problem: &'static str, rule: &'static str },
    #[error("{instruction} at tensor memory lane {lane}; use a multiple of 32 (rule D14)")]
    ShiftLane { instruction: &'static str, lane: u32 },
    #[error("wgmma: {problem}")]
    Wgmma { problem: String },
    #[error("{instruction} issued by {lanes} lanes; one thread issues it (rule D11)")]
    ManyIssuers { instruction: &'static str, lanes: u32 },
    #[error(
        "{instruction}: the lanes of the warp give different values of {what}, which is one for all of them (rule F4)"
    )]
    LanesDiffer { instruction: &'static str, what: &'static str },
    #[error("device memory is exhausted: {0}")]
    Memory(String),
}

/// Nothing can run, and no asynchronous operation is pending.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// The kernel.
    pub kernel: String,
    /// Every path of every warp that has not ended.
    pub waiters: Vec<Waiter>,
    /// Replays the run.
    pub seed: u64,
}

/// Lanes that wait.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Who.
    pub threads: Threads,
    /// Where.
    pub site: Site,
    /// For what.
    pub reason: String,
    /// The rule that is broken, where what it waits for tells.
    pub rule: Option<&'static str>,
}

impl Deadlock {
    /// The rule that is broken, where the waiters tell: bytes that no copy brings (C8), a phase that has come and gone
    /// (C13), or what all of them wait for.
    pub fn rule(&self) -> Option<&'static str> {
        let mut rules = self.waiters.iter().map(|waiter| waiter.rule);
        let alone = ["C8", "C13"].into_iter().find(|rule| rules.clone().any(|r| r == Some(rule)));
        alone.or_else(|| {
            rules.clone().all(|rule| rule.is_some()).then(|| rules.next().flatten()).flatten()
        })
    }
}

impl std::error::Error for Deadlock {}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 24;
        let n = self.waiters.len();
        write!(f, "kernel `{}`: deadlock: nothing can run; {n} waiting", self.kernel)?;
        for waiter in self.waiters.iter().take(SHOWN) {
            write!(f, "\n  {}: {}\n    {}", waiter.threads, waiter.reason, waiter.site)?;
        }
        if n > SHOWN {
            write!(f, "\n  and {} more", n - SHOWN)?;
        }
        write!(f, "\n  seed {}", self.seed)
    }
}
