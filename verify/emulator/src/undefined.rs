//! Registers that nothing has written.
//!
//! What they hold is not known: here it is zero, on a GPU whatever another thread left. To compute with one does no harm
//! if nobody uses the result, and compilers do so; to go by it is a mistake. So the lanes in which a register is
//! undefined are remembered, results of undefined registers are undefined, and an address, a predicate that guards an
//! instruction, or a value that is stored must not be.

use crate::warp::{Path, Warp};
use crate::world::World;

/// Where results of undefined registers are undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spread {
    #[default]
    Nothing,
    /// If any source is.
    Any,
    /// If all sources are: of others it is not known which bits matter.
    All,
    /// Of two sources the one that a predicate selects.
    Select(u32, u32, u32),
}

/// What an instruction does with registers, by their numbers in the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub guard: Option<u32>,
    pub reads: Box<[u32]>,
    /// Addresses and what is stored.
    pub needs: Box<[u32]>,
    pub writes: Box<[u32]>,
    pub spread: Spread,
}

/// A kernel in which a register may be used that nothing has written.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    /// Undefined at the entry.
    pub suspects: Vec<u32>,
    pub steps: Vec<Step>,
    pub names: Vec<Box<str>>,
}

impl World<'_> {
    /// A path comes to an instruction, which lanes `mask` execute.
    #[inline(never)]
    pub(crate) fn follow_undefined(
        &mut self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        of: &Undefined,
    ) {
        let Some(step) = of.steps.get(path.pc as usize) else { return };
        let lanes = |register: &u32| warp.undefined.get(register).copied().unwrap_or(0);
        let guard = step.guard.filter(|guard| lanes(guard) & path.mask != 0);
        let need = step.needs.iter().copied().find(|need| lanes(need) & mask != 0);
        let used =
            guard.map(|guard| (guard, path.mask, "decides whether an instruction is executed"));
        let used = used.or(need.map(|need| (need, mask, "is an address, or is stored")));
        if let Some((register, those, what)) = used {
            let lane = (lanes(&register) & those).trailing_zeros();
            if let Some(detect) = &mut self.detect {
                detect.undefined_register(
                    self.current,
                    lane,
                    path.site(),
                    &of.names[register as usize],
                    what,
                );
            }
            // Once is enough.
            warp.undefined.remove(&register);
        }
        if mask == 0 || step.writes.is_empty() {
            return;
        }
        let lanes = |register: &u32| warp.undefined.get(register).copied().unwrap_or(0);
        let result = match step.spread {
            Spread::Nothing => 0,
            Spread::Any => step.reads.iter().fold(0, |all, read| all | lanes(read)),
            Spread::All if step.reads.is_empty() => 0,
            Spread::All => step.reads.iter().fold(mask, |all, read| all & lanes(read)),
            Spread::Select(a, b, p) => lanes(&p) | lanes(&a) & lanes(&b),
        } & mask;
        for write in &step.writes {
            let left = lanes_left(warp, *write, mask) | result;
            if left == 0 {
                warp.undefined.remove(write);
            } else {
                warp.undefined.insert(*write, left);
            }
        }
    }
}

/// Lanes in which a register stays undefined when others write it.
fn lanes_left(warp: &Warp, register: u32, mask: u32) -> u32 {
    warp.undefined.get(&register).copied().unwrap_or(0) & !mask
}
