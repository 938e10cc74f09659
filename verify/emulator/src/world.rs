//! The state of a running launch that warps share: CTAs, clusters, memory, agents.

use crate::async_ops::{Agent, SharedPlace};
use crate::detect::Detector;
use crate::error::Fault;
use crate::ir::*;
use crate::launch::Launch;
use crate::mbarrier::Mbarriers;
use crate::memory::*;
use crate::program::Program;
use crate::rng::Rng;
use crate::tcgen05::TensorMemory;
use crate::trace::Recorder;
use crate::warp::{Frame, Warp};
use crate::wgmma::Product;
use std::collections::HashMap;

/// The lanes of a mask.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros();
        mask &= mask - 1;
        Some(lane as usize)
    })
}

/// How an instruction leaves its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On to the next instruction, which the path already points to.
    Next,
    /// The same, and others may run first.
    Visible,
    /// Waits; the path says for what.
    Blocked,
    /// The path is gone: its lanes exited or wait at a join.
    Gone,
}

/// What may let others go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A phase completed.
    Mbarrier(SharedPlace),
    /// A CTA barrier completed; the reductions of its predicates.
    Bar {
        cta: u32,
        id: u32,
        and: bool,
        or: bool,
        popc: u32,
    },
    Cluster(u32),
    /// An agent of this warp took a step.
    Agent(u32),
    /// Tensor memory of this CTA was freed.
    Columns(u32),
    /// Memory that somebody watches may have changed.
    Change,
    /// Paths of this warp went on.
    Released(u32),
}

/// A CTA barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bar {
    /// Threads that this round needs, if it has begun; `None` inside: all of the CTA.
    pub round: Option<Option<u32>>,
    pub arrived: u32,
    pub and: bool,
    pub or: bool,
    pub popc: u32,
    /// The last who arrived: warp, lane and site.
    pub last: (u32, u32, u32),
}

/// What threads of a CTA have said is one value, at one instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Same {
    /// How often each thread has come.
    pub rounds: Vec<u32>,
    /// The value of each set's rounds that not all of its threads have come to, and how many have.
    pub open: HashMap<(u32, u32), (u64, u32)>,
}

pub(crate) const BARS: usize = 16;

pub(crate) struct Cta {
    /// Index in the grid.
    pub index: [u32; 3],
    pub cluster: u32,
    /// Rank in the cluster.
    pub rank: u32,
    pub shared: Vec<u8>,
    pub barriers: Mbarriers,
    pub bars: [Bar; BARS],
    pub tensor: Option<Box<TensorMemory>>,
    /// Whether its tcgen05 instructions are those of a pair.
    pub paired: Option<bool>,
    /// Warp slots.
    pub warps: Vec<u32>,
    /// Threads of whole warps, and those of them that have exited or never were.
    pub threads: u32,
    pub exited: u32,
    /// What its threads have passed to `same`, by instruction.
    pub same: HashMap<u32, Same>,
    /// Of those, the ones that never were.
    pub absent: u32,
    pub done: bool,
}

#[derive(Default)]
pub(crate) struct Cluster {
    /// Slots, by rank.
    pub ctas: Vec<u32>,
    /// The cluster barrier: threads that arrived, completed phases.
    pub arrived: u32,
    pub phase: u64,
    pub live_ctas: u32,
    pub id: [u32; 3],
    /// One of its threads has seen that no cluster was left to cancel.
    pub refused: bool,
}

pub(crate) struct World<'p> {
    pub program: &'p Program,
    pub launch: &'p Launch,
    pub memory: &'p mut Memory,
    /// Addresses of the module's variables inside their spaces.
    pub symbols: Vec<u64>,
    /// The kernel parameters, laid out.
    pub params: Vec<u8>,
    pub static_shared: u32,
    /// Where the grid barrier of a cooperative launch lies; else 0.
    pub workspace: u64,
    pub ctas: Vec<Cta>,
    pub clusters: Vec<Cluster>,
    pub agents: Vec<Agent>,
    pub issued: u64,
    /// `wgmma` products that not all warps of their warpgroup have issued.
    pub gathering: Vec<Product>,
    /// Accumulators whose registers are lent.
    pub accumulators: HashMap<u64, Vec<Lanes32>>,
    pub events: Vec<Event>,
    /// The next cluster of the grid to start, and how many there are.
    pub next_cluster: u64,
    pub cluster_count: u64,
    /// Addresses that parked paths look at.
    pub watches: Vec<u64>,
    pub rng: Rng,
    /// The warp that runs.
    pub current: u32,
    pub instructions: u64,
    /// Bytes of local memory of all warps.
    pub local: u64,
    pub output: String,
    /// What the device has allocated, in this launch or in one before.
    pub heap: &'p mut Vec<u64>,
    /// How answers of clusterlaunchcontrol are spelled in this launch: they mean something to its instructions only.
    pub opaque: [u64; 2],
    /// The lanes whose access failed, where the fault is not of all.
    pub culprits: u32,
    /// Finds what is not ordered, unless it is off.
    pub trace: Option<Box<Recorder>>,
    pub detect: Option<Box<Detector>>,
}

/// Bytes that an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global(usize),
    /// CTA slot and offset.
    Shared(u32, usize),
    /// In `Warp::local`.
    Local(usize),
    Param(usize),
}

impl World<'_> {
    /// The index of a cluster in the grid of clusters.
    pub fn cluster_index(&self, number: u64) -> [u32; 3] {
        let shape = self.launch.cluster_shape();
        let n: [u64; 3] = std::array::from_fn(|i| u64::from(self.launch.grid[i] / shape[i]).max(1));
        [(number % n[0]) as u32, (number / n[0] % n[1]) as u32, (number / n[0] / n[1]) as u32]
    }

    // ---- operands ----

    #[inline(always)]
    pub fn fetch32(&self, warp: &Warp, frame: &Frame, src: Src) -> Lanes32 {
        match src {
            Src::R32(slot) => warp.regs.r32[(frame.r32 + slot) as usize],
            Src::Imm(value) => [value as u32; LANES],
            src => self.fetch32_rare(warp, frame, src),
        }
    }

    #[inline(always)]
    pub fn fetch32_all(&self, warp: &Warp, frame: &Frame, [a, b, c]: [Src; 3]) -> [Lanes32; 3] {
        [self.fetch32(warp, frame, a), self.fetch32(warp, frame, b), self.fetch32(warp, frame, c)]
    }

    #[inline(never)]
    fn fetch32_rare(&self, warp: &Warp, frame: &Frame, src: Src) -> Lanes32 {
        match src {
            Src::Special(Special::Tid(axis)) if axis < 3 => warp.tid[axis as usize],
            Src::Pred(_) | Src::NotPred(_) => {
                let bits = self.fetch_pred(warp, frame, src);
                std::array::from_fn(|i| bits >> i & 1)
            }
            src => each(&self.fetch64(warp, frame, src), |v| v as u32),
        }
    }

    #[inline(always)]
    pub fn fetch64(&self, warp: &Warp, frame: &Frame, src: Src) -> Lanes64 {
        match src {
            Src::R64(slot) => warp.regs.r64[(frame.r64 + slot) as usize],
            Src::R32(slot) => each(&warp.regs.r32[(frame.r32 + slot) as usize], u64::from),
            Src::Imm(value) => [value; LANES],
            src => self.fetch64_rare(warp, frame, src),
        }
    }

    #[inline(always)]
    pub fn fetch64_all(&self, warp: &Warp, frame: &Frame, [a, b, c]: [Src; 3]) -> [Lanes64; 3] {
        [self.fetch64(warp, frame, a), self.fetch64(warp, frame, b), self.fetch64(warp, frame, c)]
    }

    #[inline(never)]
    fn fetch64_rare(&self, warp: &Warp, frame: &Frame, src: Src) -> Lanes64 {
        let value = match src {
            Src::R64(slot) | Src::R128(slot) => {
                return warp.regs.r64[(frame.r64 + slot) as usize];
            }
            Src::R32(slot) => {
                return each(&warp.regs.r32[(frame.r32 + slot) as usize], u64::from);
            }
            Src::Imm(value) => value,
            Src::Pred(_) | Src::NotPred(_) => {
                let bits = self.fetch_pred(warp, frame, src);
                return std::array::from_fn(|i| u64::from(bits >> i & 1));
            }
            Src::Symbol(var, offset) => {
                let address = self.symbols[var as usize].wrapping_add(offset as u64);
                match self.program.vars[var as usize].space {
                    baton_ptx::Space::Shared => {
                        let rank = self.ctas[warp.cta as usize].rank;
                        u64::from(rank << RANK_SHIFT) + address
                    }
                    _ => address,
                }
            }
            Src::Local(offset) => u64::from(frame.local + offset),
            Src::Param(offset) => u64::from(offset),
            Src::Function(f) => FUNCTION_WINDOW << 32 | u64::from(f),
            Src::Special(special) => return self.special(warp, special),
            Src::Sum32(slot, more) => {
                let register = &warp.regs.r32[(frame.r32 + slot) as usize];
                return each(register, |v| u64::from(v.wrapping_add(more as u32)));
            }
            Src::Sum64(slot, more) => {
                let register = &warp.regs.r64[(frame.r64 + slot) as usize];
                return each(register, |v| v.wrapping_add(more as u64));
            }
        };
        [value; LANES]
    }

    #[inline(always)]
    pub fn fetch_pred(&self, warp: &Warp, frame: &Frame, src: Src) -> u32 {
        match src {
            Src::Pred(slot) => warp.regs.p[(frame.p + slot) as usize],
            Src::NotPred(slot) => !warp.regs.p[(frame.p + slot) as usize],
            Src::Imm(value) => {
                if value & 1 == 1 {
                    u32::MAX
                } else {
                    0
                }
            }
            src => {
                let value = self.fetch32(warp, frame, src);
                (0..LANES).fold(0, |bits, i| bits | u32::from(value[i] != 0) << i)
            }
        }
    }

    fn special(&self, warp: &Warp, special: Special) -> Lanes64 {
        let cta = &self.ctas[warp.cta as usize];
        let cluster = &self.clusters[cta.cluster as usize];
        let shape = self.launch.cluster_shape();
        let axis = |v: [u32; 3], i: u8| u64::from(v.get(usize::from(i)).copied().unwrap_or(0));
        let lane = |f: fn(u32) -> u32| std::array::from_fn(|i| u64::from(f(i as u32)));
        let value = match special {
            Special::Tid(3) => 0,
            Special::Tid(i) => return warp.tid[usize::from(i)].map(u64::from),
            Special::Ntid(i) => axis(self.launch.block, i),
            Special::Ctaid(i) => axis(cta.index, i),
            Special::Nctaid(i) => axis(self.launch.grid, i),
            Special::LaneId => return lane(|l| l),
            Special::WarpId => u64::from(warp.index),
            Special::NwarpId => u64::from(cta.threads / 32),
            Special::SmId => u64::from(warp.cta),
            Special::NsmId => crate::launch::RESIDENT as u64,
            // The address of the grid barrier, its high half first.
            Special::EnvReg(1) => self.workspace >> 32,
            Special::EnvReg(2) => self.workspace & 0xFFFF_FFFF,
            Special::GridId | Special::EnvReg(_) | Special::Zero => 0,
            Special::IsExplicitCluster => u64::from(self.launch.cluster != [0; 3]),
            Special::ClusterId(i) => axis(cluster.id, i),
            Special::NclusterId(i) => {
                axis(std::array::from_fn(|a| self.launch.grid[a] / shape[a]), i)
            }
            Special::ClusterCtaid(i) => axis(std::array::from_fn(|a| cta.index[a] % shape[a]), i),
            Special::ClusterNctaid(i) => axis(shape, i),
            Special::ClusterCtarank => u64::from(cta.rank),
            Special::ClusterNctarank => u64::from(shape.iter().product::<u32>()),
            Special::LanemaskEq => return lane(|l| 1 << l),
            Special::LanemaskLe => return lane(|l| u32::MAX >> (31 - l)),
            Special::LanemaskLt => return lane(|l| (1u32 << l) - 1),
            Special::LanemaskGe => return lane(|l| u32::MAX << l),
            Special::LanemaskGt => return lane(|l| !(u32::MAX >> (31 - l))),
            // Time is the number of instructions executed: a run depends on nothing else.
            Special::Clock | Special::GlobalTimer => self.instructions,
            Special::ClockHi | Special::GlobalTimerHi => self.instructions >> 32,
            Special::DynamicSmem => u64::from(self.launch.dynamic_shared),
            Special::TotalSmem => cta.shared.len() as u64,
        };
        [value; LANES]
    }

    /// The addresses of an operand. In a named space they are 32 bits wide, but for global ones.
    #[inline(always)]
    pub fn addresses(&self, warp: &Warp, frame: &Frame, addr: &Addr, space: MemSpace) -> Lanes64 {
        match (space, addr.base) {
            (MemSpace::Shared | MemSpace::SharedCluster | MemSpace::Local, Src::R32(slot)) => {
                let base = &warp.regs.r32[(frame.r32 + slot) as usize];
                each(base, |base| u64::from(base.wrapping_add(addr.offset as u32)))
            }
            _ => {
                let base = self.fetch64(warp, frame, addr.base);
                let wide =
                    matches!(space, MemSpace::Generic | MemSpace::Global | MemSpace::Multimem);
                let keep = if wide { u64::MAX } else { 0xFFFF_FFFF };
                each(&base, |base| base.wrapping_add(addr.offset as u64) & keep)
            }
        }
    }

    // ---- places ----

    /// Where `bytes` bytes at `address` lie, checked for bounds and alignment.
    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    pub fn resolve(
        &mut self,
        warp: &Warp,
        lane: usize,
        space: MemSpace,
        address: u64,
        bytes: u64,
        align: u64,
        write: bool,
    ) -> Result<Place, Fault> {
        self.culprits = 1 << lane;
        let place = self.place(warp, lane, (space, address), (bytes, align), write)?;
        self.culprits = 0;
        Ok(place)
    }

    pub fn place(
        &mut self,
        warp: &Warp,
        lane: usize,
        (space, address): (MemSpace, u64),
        (bytes, align): (u64, u64),
        write: bool,
    ) -> Result<Place, Fault> {
        let (space, address) = if space == MemSpace::Generic {
            let low = address & 0xFFFF_FFFF;
            match address >> 32 {
                SHARED_WINDOW => (MemSpace::SharedCluster, low),
                LOCAL_WINDOW => (MemSpace::Local, low),
                PARAM_WINDOW => (MemSpace::Param, low),
                _ => (MemSpace::Global, address),
            }
        } else {
            (space, address)
        };
        if address & (align - 1) != 0 {
            return Err(Fault::Misaligned { space: space_name(space), address, align });
        }
        match space {
            MemSpace::Global | MemSpace::Generic if address >> MULTIMEM.trailing_zeros() == 1 => {
                Err(Fault::Multimem { address })
            }
            // On one device there is one replica, which its own address reaches as well.
            MemSpace::Multimem => {
                Ok(Place::Global(self.memory.locate(address & !MULTIMEM, bytes, write)?))
            }
            MemSpace::Global | MemSpace::Generic => {
                // A parameter's address may stand where a global one is asked for (`ld.const`).
                Ok(Place::Global(self.memory.locate(address, bytes, write)?))
            }
            MemSpace::Shared | MemSpace::SharedCluster => {
                let rank = (address >> RANK_SHIFT) as u32;
                let mut slot = warp.cta;
                let own = &self.ctas[slot as usize];
                if rank != own.rank {
                    let cluster = &self.clusters[own.cluster as usize];
                    match cluster.ctas.get(rank as usize) {
                        Some(&other) if space == MemSpace::SharedCluster => slot = other,
                        _ => {
                            return Err(Fault::OutOfBounds {
                                space: space_name(space),
                                address,
                                bytes,
                                detail: format!(
                                    "it names cluster rank {rank}, the CTA has rank {} of {}",
                                    own.rank,
                                    cluster.ctas.len()
                                ),
                            });
                        }
                    }
                }
                let cta = &self.ctas[slot as usize];
                if cta.done {
                    return Err(Fault::PeerExited { space: space_name(space), address, rank });
                }
                let offset =
                    (address & ((1 << RANK_SHIFT) - 1)).wrapping_sub(u64::from(SHARED_BASE));
                if offset.saturating_add(bytes) > cta.shared.len() as u64 {
                    return Err(Fault::OutOfBounds {
                        space: space_name(space),
                        address,
                        bytes,
                        detail: format!(
                            "the CTA has {} bytes from {:#x}",
                            cta.shared.len(),
                            rank << RANK_SHIFT | SHARED_BASE
                        ),
                    });
                }
                Ok(Place::Shared(slot, offset as usize))
            }
            MemSpace::Local => {
                if address.saturating_add(bytes) > warp.stride as u64 {
                    return Err(Fault::OutOfBounds {
                        space: "local",
                        address,
                        bytes,
                        detail: format!("the thread has {} bytes", warp.stride),
                    });
                }
                Ok(Place::Local(lane * warp.stride + address as usize))
            }
            MemSpace::Param => {
                if write {
                    return Err(Fault::ReadOnly { address });
                }
                if address.saturating_add(bytes) > self.params.len() as u64 {
                    return Err(Fault::OutOfBounds {
                        space: "parameter",
                        address,
                        bytes,
                        detail: format!("the kernel has {} bytes of parameters", self.params.len()),
                    });
                }
                Ok(Place::Param(address as usize))
            }
        }
    }

    pub fn view<'a>(&'a self, warp: &'a Warp, place: Place, bytes: usize) -> &'a [u8] {
        match place {
            Place::Global(at) => self.memory.slice(at, bytes),
            Place::Shared(cta, at) => &self.ctas[cta as usize].shared[at..at + bytes],
            Place::Local(at) => &warp.local[at..at + bytes],
            Place::Param(at) => &self.params[at..at + bytes],
        }
    }

    /// Bytes to be written. Writing to an mbarrier is an error of the caller's site.
    pub fn view_mut<'a>(
        &'a mut self,
        warp: &'a mut Warp,
        place: Place,
        bytes: usize,
    ) -> Result<&'a mut [u8], Fault> {
        match place {
            Place::Global(at) => Ok(self.memory.slice_mut(at, bytes)),
            Place::Shared(slot, at) => {
                let cta = &mut self.ctas[slot as usize];
                if let Some(offset) = cta.barriers.overlapping(at as u32, bytes as u32) {
                    let address = SHARED_BASE + offset;
                    return Err(Fault::MbarrierBytes { what: "store", address });
                }
                Ok(&mut cta.shared[at..at + bytes])
            }
            Place::Local(at) => Ok(&mut warp.local[at..at + bytes]),
            Place::Param(at) => Err(Fault::ReadOnly { address: at as u64 }),
        }
    }
}

pub(crate) fn space_name(space: MemSpace) -> &'static str {
    match space {
        MemSpace::Generic => "generic",
        MemSpace::Global => "global",
        MemSpace::Shared => "shared",
        MemSpace::SharedCluster => "shared::cluster",
        MemSpace::Multimem => "multimem",
        MemSpace::Local => "local",
        MemSpace::Param => "parameter",
    }
}
