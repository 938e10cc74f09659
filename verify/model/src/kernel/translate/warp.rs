//! What the threads of a warp do together: barriers, votes, elections.

use baton_ptx::Operand as Ptx;

use super::super::{KernelError, KernelThread};
use super::Translator;
use crate::program::{Op, Operand, Poll, Vote};

/// Numbers of the barriers of warps: past all that a thread block has.
const WARPS: u64 = 1 << 16;

impl Translator<'_> {
    /// The modelled threads of this thread's warp, itself among them.
    pub(super) fn warp(&self) -> (u64, Vec<&KernelThread>) {
        let tid = |thread: &KernelThread| {
            let tid =
                thread.special.iter().find(|(name, _)| name.trim_start_matches('%') == "tid.x");
            tid.map_or(0, |(_, tid)| *tid)
        };
        let warp = |thread: &KernelThread| (thread.place.cta, tid(thread) / 32);
        let mut mates: Vec<&KernelThread> =
            self.setup.threads.iter().filter(|other| warp(other) == warp(self.thread)).collect();
        mates.sort_by_key(|mate| tid(mate));
        (tid(self.thread) / 32, mates)
    }

    /// Whether this is the thread of its warp that `elect.sync` elects: the first modelled one.
    pub(super) fn is_elected(&self) -> bool {
        let (_, mates) = self.warp();
        mates.first().is_none_or(|first| std::ptr::eq(*first, self.thread))
    }

    /// `bar.warp.sync`: a barrier of the modelled threads of the warp, all of which must take part.
    pub(super) fn warp_barrier(
        &self,
        instruction: &baton_ptx::Instruction,
        nothing: Op,
    ) -> Result<Op, KernelError> {
        let (warp, mates) = self.warp();
        if mates.len() <= 1 {
            return Ok(nothing);
        }
        let mask = match instruction.operands.first() {
            Some(Ptx::Register(register)) => self.constant(register.0 as usize),
            Some(Ptx::Int(mask)) => Some(*mask),
            _ => None,
        };
        if mask.is_none_or(|mask| mask as u32 != u32::MAX) {
            return Err(self.error(instruction, "the mask of a whole warp, -1"));
        }
        Ok(Op::Barrier {
            id: Operand::Immediate(u128::from(WARPS + warp)),
            count: Some(mates.len() as u32),
            waits: true,
            vote: None,
        })
    }

    /// A number of threads, as the modelled ones are.
    pub(super) fn modelled(
        &self,
        instruction: &baton_ptx::Instruction,
        position: usize,
        count: i64,
    ) -> i64 {
        let counts = position == 1 && instruction.opcode() != "cp";
        let known = self.setup.counts.iter().find(|(from, _)| counts && i64::from(*from) == count);
        known.map_or(count, |(_, to)| i64::from(*to))
    }

    /// `bar.red` over the modelled threads of a CTA. How many of all threads say yes is not known.
    pub(super) fn vote(&self, instruction: &baton_ptx::Instruction) -> Result<Op, KernelError> {
        let op = match (instruction.has("and"), instruction.has("or")) {
            (true, false) => Poll::And,
            (false, true) => Poll::Or,
            _ => return Err(self.error(instruction, "a vote by `.and` or `.or`")),
        };
        let (id, count, own) = match &*instruction.operands {
            [_, id, own] => (id, None, own),
            [_, id, count, own] => (id, Some(count), own),
            _ => return Err(self.error(instruction, "the barrier's number and a predicate")),
        };
        let id = self.operand(instruction, id)?;
        let count = match count.map(|count| self.operand(instruction, count)).transpose()? {
            None => None,
            Some(Operand::Immediate(count)) => Some(count as i64),
            Some(Operand::Register(register)) => {
                let known = self.constant(register);
                Some(known.ok_or_else(|| self.error(instruction, "a constant count of threads"))?)
            }
        };
        let known = |count: i64| {
            let given = self.setup.counts.iter().find(|(from, _)| i64::from(*from) == count);
            given.map_or(count as u32, |(_, to)| *to)
        };
        let own = match own {
            Ptx::Register(register) => (register.0 as usize, false),
            Ptx::Not(register) => (register.0 as usize, true),
            _ => return Err(self.error(instruction, "a predicate to vote with")),
        };
        let vote = Some(Vote { op, to: self.result(instruction)?, own });
        Ok(Op::Barrier { id, count: count.map(known), waits: true, vote })
    }
}
