//! Registers that nothing has written.
//!
//! What they hold is not known: here it is zero, on a GPU whatever another thread left. To compute with one does no harm
//! if nobody uses the result, and compilers do so; to go by it is a mistake. So the lanes in which a register is
//! undefined are remembered, results of undefined registers are undefined, and an address, a predicate that guards an
//! instruction, or a value that is stored must not be.
//!
//! A call hands on what it is given, and what it gives: the bytes of its parameters and results are followed as registers
//! are. To pass an undefined value does no harm either, nor does a function that returns none.

use crate::ir::Call;
use crate::warp::{Caller, Path, Warp};
use crate::world::World;
use std::collections::HashMap;

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

/// Offset in the frame of a function, and bytes.
pub(crate) type Place = (u32, u32);

/// What an instruction does with cells: registers by their numbers in the body, behind them the bytes of parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    pub guard: Option<u32>,
    /// Addresses and what is stored.
    pub needs: Box<[u32]>,
    pub parts: Box<[Part]>,
    pub call: Option<Box<Handed>>,
}

/// Some of the cells that an instruction reads, and what it writes with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub reads: Box<[u32]>,
    pub writes: Box<[u32]>,
    pub spread: Spread,
}

/// What a call takes and gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handed {
    pub takes: Box<[u32]>,
    pub gives: Box<[u32]>,
    /// Registers in the list of results, each with the place by which its value comes.
    pub loaded: Box<[(u32, Place)]>,
}

/// A function in which something may be used that nothing has written.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    /// Undefined at the entry.
    pub suspects: Vec<u32>,
    pub steps: Vec<Step>,
    pub names: Vec<Box<str>>,
    /// Where in the frame the followed bytes lie, in this order, each with the cell of its first.
    pub places: Vec<(Place, u32)>,
    /// Whether it is no kernel.
    pub is_called: bool,
    /// Parameters and results that are registers.
    pub taken: Vec<(u32, Place)>,
    pub given: Vec<(u32, Place)>,
}

impl Undefined {
    /// The cell of a byte of the frame.
    pub fn cell(&self, at: u32) -> Option<u32> {
        let next = self.places.partition_point(|((first, _), _)| *first <= at);
        let ((first, bytes), cell) = *self.places.get(next.checked_sub(1)?)?;
        (at - first < bytes).then_some(cell + at - first)
    }
}

/// The cells that are undefined in some lanes: how many calls deep, in which function, which cell.
#[derive(Debug, Default)]
pub(crate) struct Cells(HashMap<(u32, u32, u32), u32>);

impl Cells {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A warp enters its kernel.
    pub fn begin(&mut self, func: u32, of: Option<&Undefined>, lanes: u32) {
        self.0.clear();
        let suspects = of.into_iter().flat_map(|of| &of.suspects);
        self.0.extend(suspects.map(|cell| ((0, func, *cell), lanes)));
    }

    fn lanes(&self, (depth, func): (u32, u32), cell: u32) -> u32 {
        self.0.get(&(depth, func, cell)).copied().unwrap_or(0)
    }

    /// Of the lanes in `mask`, those in `undefined` are, and the others are not.
    fn put(&mut self, (depth, func): (u32, u32), cell: u32, mask: u32, undefined: u32) {
        let left = self.lanes((depth, func), cell) & !mask | undefined & mask;
        match left {
            0 => self.0.remove(&(depth, func, cell)),
            left => self.0.insert((depth, func, cell), left),
        };
    }

    /// Lanes in which all followed bytes of a place are undefined.
    fn of_place(&self, frame: (u32, u32), of: &Undefined, (at, bytes): Place) -> u32 {
        let lanes = |byte: u32| of.cell(at + byte).map_or(0, |cell| self.lanes(frame, cell));
        (0..bytes).fold(if bytes == 0 { 0 } else { u32::MAX }, |all, byte| all & lanes(byte))
    }

    fn put_place(
        &mut self,
        frame: (u32, u32),
        of: &Undefined,
        (at, bytes): Place,
        (mask, undefined): (u32, u32),
    ) {
        for cell in (0..bytes).filter_map(|byte| of.cell(at + byte)) {
            self.put(frame, cell, mask, undefined);
        }
    }

    /// Lanes leave a function, and those that it called.
    fn leave(&mut self, depth: u32, mask: u32) {
        self.0.retain(|(of, ..), lanes| {
            if *of >= depth {
                *lanes &= !mask;
            }
            *lanes != 0
        });
    }
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
        let frame = (Warp::depth(path), path.frame.func);
        let cells = &mut warp.undefined;
        let guard = step.guard.filter(|guard| cells.lanes(frame, *guard) & path.mask != 0);
        let need = step.needs.iter().copied().find(|need| cells.lanes(frame, *need) & mask != 0);
        let used =
            guard.map(|guard| (guard, path.mask, "decides whether an instruction is executed"));
        let used = used.or(need.map(|need| (need, mask, "is an address, or is stored")));
        if let Some((register, those, what)) = used {
            let lane = (cells.lanes(frame, register) & those).trailing_zeros();
            if let Some(detect) = &mut self.detect {
                let name = &of.names[register as usize];
                detect.undefined_register(self.current, lane, path.site(), name, what);
            }
            // Once is enough.
            cells.put(frame, register, u32::MAX, 0);
        }
        if mask == 0 {
            return;
        }
        for part in &step.parts {
            let lanes = |cell: &u32| cells.lanes(frame, *cell);
            let result = match part.spread {
                Spread::Nothing => 0,
                Spread::Any => part.reads.iter().fold(0, |all, read| all | lanes(read)),
                Spread::All if part.reads.is_empty() => 0,
                Spread::All => part.reads.iter().fold(mask, |all, read| all & lanes(read)),
                Spread::Select(a, b, p) => lanes(&p) | lanes(&a) & lanes(&b),
            };
            for write in &part.writes {
                cells.put(frame, *write, mask, result);
            }
        }
    }

    /// Lanes enter a function, at which `path` does not stand yet.
    pub(crate) fn undefined_at_call(
        &self,
        warp: &mut Warp,
        path: &Path,
        mask: u32,
        callee: u32,
        call: &Call,
    ) {
        let (here, there) = (path.frame.func, &self.program.functions[callee as usize]);
        let (Some(into), Some(from)) =
            (&there.undefined, &self.program.functions[here as usize].undefined)
        else {
            return;
        };
        if self.detect.is_none() {
            return;
        }
        let depth = Warp::depth(path);
        let (outer, inner) = ((depth, here), (depth + 1, callee));
        let cells = &mut warp.undefined;
        for cell in &into.suspects {
            cells.put(inner, *cell, mask, mask);
        }
        if cells.is_empty() {
            return;
        }
        for (&(at, bytes), &(to, size)) in call.args.iter().zip(&there.params) {
            for byte in 0..bytes.min(size) {
                let undefined = cells.of_place(outer, from, (at + byte, 1));
                cells.put_place(inner, into, (to + byte, 1), (mask, undefined));
            }
        }
        for (register, place) in &into.taken {
            let undefined = cells.of_place(inner, into, *place);
            cells.put(inner, *register, mask, undefined);
        }
    }

    /// Lanes of a path, which still stands in the function, return to the caller.
    pub(crate) fn undefined_at_return(
        &self,
        warp: &mut Warp,
        path: &Path,
        caller: &Caller,
        call: &Call,
    ) {
        if warp.undefined.is_empty() {
            return;
        }
        let (here, there) = (path.frame.func, caller.frame.func);
        let of = |func: u32| &self.program.functions[func as usize];
        let (Some(from), Some(into)) = (&of(here).undefined, &of(there).undefined) else { return };
        // The caller has been taken off the path.
        let depth = Warp::depth(path);
        let (outer, inner) = ((depth, there), (depth + 1, here));
        let cells = &mut warp.undefined;
        for (register, place) in &from.given {
            let undefined = cells.lanes(inner, *register);
            cells.put_place(inner, from, *place, (path.mask, undefined));
        }
        for (&(to, size), &(at, bytes)) in call.returns.iter().zip(&of(here).returns) {
            for byte in 0..bytes.min(size) {
                let undefined = cells.of_place(inner, from, (at + byte, 1));
                cells.put_place(outer, into, (to + byte, 1), (path.mask, undefined));
            }
        }
        let loaded = into.steps.get(caller.pc as usize).and_then(|step| step.call.as_ref());
        for (register, place) in loaded.iter().flat_map(|call| &call.loaded) {
            let undefined = cells.of_place(outer, into, *place);
            cells.put(outer, *register, path.mask, undefined);
        }
        cells.leave(depth + 1, path.mask);
    }

    /// What the driver gives is defined.
    pub(crate) fn defined_by_driver(&self, warp: &mut Warp, path: &Path, mask: u32) {
        if warp.undefined.is_empty() {
            return;
        }
        let frame = (Warp::depth(path), path.frame.func);
        let of = &self.program.functions[path.frame.func as usize].undefined;
        let step = of.as_ref().and_then(|of| of.steps.get(path.pc as usize));
        for cell in step.and_then(|step| step.call.as_ref()).iter().flat_map(|call| &call.gives) {
            warp.undefined.put(frame, *cell, mask, 0);
        }
    }
}
