//! Registers that belong to products in flight.
//!
//! From its issue until `wgmma.wait_group` covers its group, the registers of D and A belong to the
//! product. Their values lie elsewhere meanwhile, and come back with the wait; what the registers
//! hold is poison. A plain `mov` between registers is a new name for the same value, which ptxas
//! resolves, so that it hands the loan on; every other use of such a register is a hazard.

use crate::ir::{Dst, Src};
use crate::warp::{Frame, Warp};
use std::collections::HashMap;

/// What a register on loan holds.
pub(super) const POISON: u32 = 0xFFFF_DEAD;

/// Accumulator and component that a register stands for.
pub(super) type Component = (u64, u32);

/// An accumulator of this warp that products in flight write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub id: u64,
    /// The group of its last product.
    pub group: u32,
    /// What the products of one accumulator have in common.
    pub shape: u32,
    pub site: u32,
}

/// What a warp has lent, and whether it may lend more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loans {
    /// Products that it has issued, groups that it has committed.
    pub(super) issued: u64,
    pub(super) groups: u32,
    pub(super) fenced: bool,
    pub(super) held: Vec<Held>,
    pub(super) results: HashMap<u32, Component>,
    /// Group and instruction of a register of A.
    pub(super) sources: HashMap<u32, (u32, u32)>,
    /// For each register the number of fences before its last use, and that instruction.
    used: Vec<(u32, u32)>,
    fences: u32,
}

/// How an instruction uses a register that is on loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// It reads or writes an accumulator.
    Accumulator,
    /// It reads A.
    ReadA,
    /// It writes A.
    WriteA,
}

impl Loans {
    /// Whether any accumulator is lent.
    #[inline(always)]
    pub fn lends(&self) -> bool {
        !self.results.is_empty()
    }

    /// `mov` between registers: true if it only handed a loan on.
    #[cold]
    pub fn rename(&mut self, frame: &Frame, d: Dst, a: Src) -> bool {
        let Dst::R32(to) = d else { return false };
        let to = frame.r32 + to;
        let loan = match a {
            Src::R32(from) => self.results.get(&(frame.r32 + from)).copied(),
            _ => None,
        };
        match loan {
            Some(loan) => {
                self.results.insert(to, loan);
                true
            }
            None => {
                self.results.remove(&to);
                false
            }
        }
    }

    /// An instruction uses registers, each with whether it writes it. The first misuse, and the
    /// product that has the register.
    pub fn touch(
        &mut self,
        frame: &Frame,
        registers: &[(u32, bool)],
        site: u32,
    ) -> Option<(Misuse, u32)> {
        let mut found = None;
        for &(slot, writes) in registers {
            let at = frame.r32 + slot;
            if self.used.len() <= at as usize {
                self.used.resize(at as usize + 1, (0, 0));
            }
            self.used[at as usize] = (self.fences + 1, site);
            if let Some(&(id, _)) = self.results.get(&at) {
                let product = self.held.iter().find(|h| h.id == id).map_or(site, |h| h.site);
                found.get_or_insert((Misuse::Accumulator, product));
            } else if let Some(&(_, product)) = self.sources.get(&at) {
                let misuse = if writes { Misuse::WriteA } else { Misuse::ReadA };
                found.get_or_insert((misuse, product));
            }
        }
        found
    }

    /// `wgmma.fence`.
    pub fn fence(&mut self) {
        self.fenced = true;
        self.fences += 1;
    }

    /// The last use of a register that no fence follows.
    pub(super) fn unfenced(&self, register: u32) -> Option<u32> {
        let &(fences, site) = self.used.get(register as usize)?;
        (fences == self.fences + 1).then_some(site)
    }

    /// The loans that a wait ends which leaves groups from `open` on in flight: the registers and
    /// where their values are, and the accumulators.
    pub(super) fn settle(&mut self, open: u32) -> (Vec<(u32, Component)>, Vec<u64>) {
        self.sources.retain(|_, &mut (group, _)| group >= open);
        let done: Vec<u64> = self.held.iter().filter(|h| h.group < open).map(|h| h.id).collect();
        self.held.retain(|h| h.group >= open);
        let back: Vec<_> = self
            .results
            .iter()
            .filter(|(_, (id, _))| done.contains(id))
            .map(|(&register, &loan)| (register, loan))
            .collect();
        self.results.retain(|_, (id, _)| !done.contains(id));
        (back, done)
    }
}

/// Poisons the registers of a new loan.
pub(super) fn poison(warp: &mut Warp, register: u32) {
    if let Some(lanes) = warp.regs.r32.get_mut(register as usize) {
        lanes.fill(POISON);
    }
}
