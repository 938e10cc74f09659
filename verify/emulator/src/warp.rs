//! A warp: registers of 32 lanes, and the paths that its lanes follow.
//!
//! A *path* is a set of lanes at one instruction. Lanes that part at a branch become two paths,
//! both of which can run, so that one may wait for the other; a *join* at the branch's
//! post-dominator collects them again. Lanes that exit are taken out of the joins that expect
//! them.

use crate::ir::{Dst, LANES, Lanes32, Lanes64, NO_JOIN, each};
use crate::undefined::Cells;
use crate::wgmma::Loans;
use std::collections::HashMap;

pub(crate) const FULL: u32 = u32::MAX;

/// The registers of a warp; frames of a call lie behind those of the caller.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub r32: Vec<Lanes32>,
    pub r64: Vec<Lanes64>,
    pub p: Vec<u32>,
    /// Carry flags.
    pub carry: u32,
}

/// Where the registers and the local memory of a frame begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub func: u32,
    pub r32: u32,
    pub r64: u32,
    pub p: u32,
    pub local: u32,
}

impl Registers {
    #[inline(always)]
    pub fn put32(&mut self, frame: &Frame, dst: Dst, mask: u32, value: &Lanes32) {
        match dst {
            Dst::R32(slot) => blend(&mut self.r32[(frame.r32 + slot) as usize], mask, value),
            Dst::R16(slot) => {
                let cut = each(value, |v| v & 0xFFFF);
                blend(&mut self.r32[(frame.r32 + slot) as usize], mask, &cut);
            }
            Dst::R64(slot) => {
                let wide = each(value, u64::from);
                blend(&mut self.r64[(frame.r64 + slot) as usize], mask, &wide);
            }
            Dst::R128(slot) => {
                let wide = each(value, u64::from);
                blend(&mut self.r64[(frame.r64 + slot) as usize], mask, &wide);
                blend(&mut self.r64[(frame.r64 + slot + 1) as usize], mask, &[0; LANES]);
            }
            Dst::Pred(slot) => {
                let bits = (0..LANES).fold(0, |b, i| b | u32::from(value[i] & 1 == 1) << i);
                self.put_pred(frame, Dst::Pred(slot), mask, bits);
            }
            Dst::Sink => {}
        }
    }

    #[inline(always)]
    pub fn put64(&mut self, frame: &Frame, dst: Dst, mask: u32, value: &Lanes64) {
        match dst {
            Dst::R64(slot) => blend(&mut self.r64[(frame.r64 + slot) as usize], mask, value),
            dst => {
                let cut = each(value, |v| v as u32);
                self.put32(frame, dst, mask, &cut);
            }
        }
    }

    #[inline(always)]
    pub fn put_pred(&mut self, frame: &Frame, dst: Dst, mask: u32, bits: u32) {
        match dst {
            Dst::Pred(slot) => {
                let p = &mut self.p[(frame.p + slot) as usize];
                *p = *p & !mask | bits & mask;
            }
            Dst::Sink => {}
            dst => {
                let value = std::array::from_fn(|i| bits >> i & 1);
                self.put32(frame, dst, mask, &value);
            }
        }
    }

    /// Writes one lane.
    pub fn put_lane(&mut self, frame: &Frame, dst: Dst, lane: usize, value: u64) {
        match dst {
            Dst::R32(slot) => self.r32[(frame.r32 + slot) as usize][lane] = value as u32,
            Dst::R16(slot) => self.r32[(frame.r32 + slot) as usize][lane] = value as u32 & 0xFFFF,
            Dst::R64(slot) => self.r64[(frame.r64 + slot) as usize][lane] = value,
            dst => self.put64(frame, dst, 1 << lane, &[value; LANES]),
        }
    }
}

#[inline(always)]
fn blend<T: Copy>(into: &mut [T; LANES], mask: u32, value: &[T; LANES]) {
    if mask == FULL {
        *into = *value;
    } else {
        for i in 0..LANES {
            if mask >> i & 1 == 1 {
                into[i] = value[i];
            }
        }
    }
}

/// What a path that does not run waits for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wait {
    /// The phase of an mbarrier of this CTA; the test is made again when one changes.
    Mbarrier {
        offset: u32,
        parity: Option<u32>,
        state: u64,
        /// The phase that was open when the path began to wait.
        since: u64,
    },
    /// A CTA barrier, whose release writes the result of a reduction.
    Bar {
        id: u32,
        d: Dst,
    },
    Cluster,
    /// Other lanes of the mask, at a warp collective.
    Lanes {
        mask: u32,
        pc: u32,
        func: u32,
    },
    /// Asynchronous operations of this warp.
    Agents(&'static str),
    /// Free tensor memory.
    Columns(u32),
    /// A change of memory, after many rounds of a loop that only looks.
    Change {
        address: u64,
    },
    /// Nothing: a loop of one branch.
    Endless,
}

/// How often a path has looked at memory in vain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spin {
    pub site: (u32, u32),
    pub value: u64,
    pub rounds: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub frame: Frame,
    /// The call instruction.
    pub pc: u32,
}

/// A wait on an mbarrier that has said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub offset: u32,
    /// The parity or the state that it asked for.
    pub value: u64,
    /// The phase that was open.
    pub since: u64,
}

/// Lanes that follow one program counter.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub mask: u32,
    pub pc: u32,
    pub frame: Frame,
    pub callers: Vec<Caller>,
    /// The innermost join that expects these lanes.
    pub join: u32,
    pub wait: Option<Wait>,
    pub spin: Spin,
    /// The wait that it makes again and again.
    pub asked: Option<Asked>,
    /// Parked on [`Wait::Change`] so often without any change in between.
    pub parked: u32,
    /// Instructions behind the wait at `pc` that have gone before it.
    pub ahead: u32,
}

/// Instructions of a function are numbered with this many bits in a site.
pub(crate) const SITE_BITS: u32 = 20;

impl Path {
    /// Its instruction, as one number.
    pub fn site(&self) -> u32 {
        self.frame.func << SITE_BITS | self.pc
    }
}

/// `Join::pc` of the join at the return of a call.
pub(crate) const AT_RETURN: u32 = NO_JOIN - 1;

#[derive(Debug)]
pub(crate) struct Join {
    pub pc: u32,
    pub depth: u32,
    /// Lanes that will come here or exit.
    pub expected: u32,
    pub parent: u32,
    /// The lanes that have come.
    pub arrived: Option<Path>,
    pub live: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Slot of its CTA.
    pub cta: u32,
    /// Number in the CTA.
    pub index: u32,
    /// Lanes that it has.
    pub lanes: u32,
    /// Those that have not exited.
    pub live: u32,
    pub regs: Registers,
    /// Local memory: `stride` bytes for each lane.
    pub local: Vec<u8>,
    pub stride: usize,
    pub tid: [Lanes32; 3],
    pub paths: Vec<Path>,
    pub joins: Vec<Join>,
    /// Bulk groups and `cp.async` groups that each lane has committed.
    pub bulk_groups: Lanes32,
    pub small_groups: Lanes32,
    /// Lanes between `barrier.cluster.arrive` and `wait`, and the phase they wait for.
    pub cluster_arrived: u32,
    pub cluster_phase: u64,
    /// Registers that `wgmma` has.
    pub loans: Loans,
    /// Registers that `tcgen05.ld` fills until the next `wait::ld`, each with that instruction.
    pub fills: HashMap<u32, u32>,
    /// What nothing has written; see [`crate::undefined`].
    pub undefined: Cells,
    pub ready: bool,
}

impl Warp {
    pub fn depth(path: &Path) -> u32 {
        path.callers.len() as u32
    }

    pub fn new_join(&mut self, join: Join) -> u32 {
        if let Some(i) = self.joins.iter().position(|j| !j.live) {
            self.joins[i] = join;
            return i as u32;
        }
        self.joins.push(join);
        self.joins.len() as u32 - 1
    }

    /// Lanes leave the join `from` and those around it, up to `until` (kept) or all.
    pub fn leave(&mut self, from: u32, lanes: u32, until: u32) {
        let mut at = from;
        while at != NO_JOIN && at != until {
            let join = &mut self.joins[at as usize];
            join.expected &= !lanes;
            at = join.parent;
            if join.expected == 0 {
                join.live = false;
            }
        }
    }

    /// Makes room for a frame. Returns the bytes by which local memory has grown.
    pub fn reserve(&mut self, frame: &Frame, func: &crate::ir::Func) -> u64 {
        let grow = |have: usize, base: u32, more: u32| have.max((base + more) as usize);
        let n = grow(self.regs.r32.len(), frame.r32, func.n32);
        self.regs.r32.resize(n, [0; LANES]);
        let n = grow(self.regs.r64.len(), frame.r64, func.n64);
        self.regs.r64.resize(n, [0; LANES]);
        let n = grow(self.regs.p.len(), frame.p, func.np);
        self.regs.p.resize(n, 0);
        let stride = grow(self.stride, frame.local, func.local);
        let growth = (stride - self.stride) * LANES;
        if growth != 0 {
            let mut local = vec![crate::memory::FRESH; stride * LANES];
            for lane in 0..LANES {
                local[lane * stride..][..self.stride]
                    .copy_from_slice(&self.local[lane * self.stride..][..self.stride]);
            }
            self.local = local;
            self.stride = stride;
        }
        growth as u64
    }
}
