//! Addresses: registers, peers, tiles, descriptors, tensor memory.

use baton_ptx::{Address as PtxAddress, Base, Operand as Ptx};

use super::super::KernelError;
use super::{Translator, WORD, ZERO};
use crate::program::{
    Address, Completion, Group, Op, Operand, Order, Program, Proxy, Space, Tcgen05,
};

impl Translator<'_> {
    pub(super) fn peer_address(
        &self,
        instruction: &baton_ptx::Instruction,
    ) -> Result<Op, KernelError> {
        let [_, address, rank] = &*instruction.operands else {
            return Err(self.error(instruction, "an address and a rank"));
        };
        let cluster = self.thread.place.cluster;
        let same = self.setup.threads.iter().filter(|thread| thread.place.cluster == cluster);
        let mut ctas: Vec<u32> = same.map(|thread| thread.place.cta).collect();
        ctas.sort_unstable();
        ctas.dedup();
        Ok(Op::PeerAddress {
            to: self.result(instruction)?,
            address: self.operand(instruction, address)?,
            rank: self.operand(instruction, rank)?,
            ctas,
        })
    }

    /// An address in a register.
    fn address(
        &self,
        instruction: &baton_ptx::Instruction,
        operand: Option<&Ptx>,
    ) -> Result<Address, KernelError> {
        match operand {
            Some(Ptx::Address(PtxAddress { base: Base::Register(register), offset, .. })) => {
                Ok(Address::Register(register.0 as usize, *offset))
            }
            _ => Err(self.error(instruction, "an address in a register")),
        }
    }

    /// `[map, {x, y}]`: the map, and the tile.
    fn tile(
        &self,
        instruction: &baton_ptx::Instruction,
        operand: Option<&Ptx>,
    ) -> Result<(Address, Address), KernelError> {
        if let Some(Ptx::Address(PtxAddress { base: Base::Register(map), offset: 0, items })) =
            operand
            && let [Ptx::Vector(coordinates)] = items.as_slice()
            && coordinates.len() <= 2
        {
            let mut numbers = [ZERO; 2];
            for (number, coordinate) in numbers.iter_mut().zip(coordinates) {
                *number = self.operand(instruction, coordinate)?;
            }
            let map = map.0 as usize;
            return Ok((Address::Register(map, 0), Address::Tile(map, numbers)));
        }
        Err(self.error(instruction, "a tensor map in a register with one or two coordinates"))
    }

    /// A bulk copy of a tile, in either direction.
    pub(super) fn tensor_copy(
        &self,
        instruction: &baton_ptx::Instruction,
    ) -> Result<Op, KernelError> {
        let (first, second) = (instruction.operands.first(), instruction.operands.get(1));
        let plain = !instruction.has("reduce")
            && !instruction.has("prefetch")
            && !instruction.has("multicast::cluster");
        let (to, from, map, completion) = if plain && instruction.has("bulk_group") {
            let (map, tile) = self.tile(instruction, first)?;
            (tile, self.address(instruction, second)?, map, Completion::Group(Group::Bulk))
        } else if plain && instruction.has("mbarrier::complete_tx::bytes") {
            let (map, tile) = self.tile(instruction, second)?;
            let barrier = self.address(instruction, instruction.operands.get(2))?;
            (self.address(instruction, first)?, tile, map, Completion::Mbarrier(barrier))
        } else {
            return Err(self.error(instruction, "a plain copy between a tile and shared memory"));
        };
        let map = Some(map);
        Ok(Op::Bulk {
            to,
            from,
            bytes: 4,
            zeros: 0,
            completion,
            map,
            reduce: None,
            order: Order::WEAK,
        })
    }

    /// What a matrix descriptor names: a place in the CTA's only shared memory.
    fn descriptor(
        &self,
        instruction: &baton_ptx::Instruction,
        at: usize,
    ) -> Result<Address, KernelError> {
        let register = self.register(instruction, at)?;
        let own = Space::Shared(Some(self.thread.place.cta));
        let mut shared = (0..self.program.views.len())
            .filter(|view| self.program.memories[self.program.views[*view].memory].space == own);
        match (shared.next(), shared.next()) {
            (Some(view), None) => Ok(Address::Descriptor(view, register)),
            _ => {
                Err(self
                    .error(instruction, "descriptors need one location in the CTA's shared memory"))
            }
        }
    }

    /// Those tcgen05 instructions that litmus files write in another way.
    pub(super) fn tensor_memory(
        &self,
        instruction: &baton_ptx::Instruction,
        nothing: &Op,
    ) -> Result<Option<Op>, KernelError> {
        let lanes = |operand: Option<&Ptx>| match operand {
            Some(Ptx::Vector(lanes)) => lanes.clone(),
            Some(single) => vec![single.clone()],
            None => vec![],
        };
        let (first, second) = (instruction.operands.first(), instruction.operands.get(1));
        Ok(Some(match instruction.modifiers().next() {
            // The address of the one tensor memory is written by an ordinary weak store.
            Some("alloc") => {
                let to = self.address(instruction, first)?;
                let tensor = |view: &usize| {
                    self.program.memories[self.program.views[*view].memory].space == Space::Tensor
                };
                let view = (0..self.program.views.len()).find(tensor);
                let view =
                    view.ok_or_else(|| self.error(instruction, "a location in tensor memory"))?;
                let value = vec![Operand::Immediate(Program::address(view))];
                Op::Store(value, WORD, Order::WEAK, Proxy::Generic, to)
            }
            Some("dealloc" | "relinquish_alloc_permit") => nothing.clone(),
            Some("ld") if !instruction.has("red") => {
                let registers = lanes(first).into_iter().map(|lane| match lane {
                    Ptx::Register(register) => Ok(register.0 as usize),
                    _ => Err(self.error(instruction, "registers")),
                });
                let registers = registers.collect::<Result<_, _>>()?;
                Op::Tcgen05(Tcgen05::Load(registers, self.address(instruction, second)?))
            }
            Some("st") => {
                let values = lanes(second);
                let values = values.iter().map(|lane| self.operand(instruction, lane));
                let values = values.collect::<Result<_, _>>()?;
                Op::Tcgen05(Tcgen05::Store(self.address(instruction, first)?, values))
            }
            Some("mma") if !instruction.has("sp") && !instruction.has("ws") => {
                let accumulate = Operand::Register(self.register(instruction, 4)?);
                Op::Tcgen05(Tcgen05::Mma {
                    d: self.address(instruction, first)?,
                    // In brackets, a place in tensor memory.
                    a: match second {
                        Some(Ptx::Address(_)) => self.address(instruction, second)?,
                        _ => self.descriptor(instruction, 1)?,
                    },
                    b: self.descriptor(instruction, 2)?,
                    accumulate,
                })
            }
            Some("cp") => Op::Tcgen05(Tcgen05::Copy(
                self.address(instruction, first)?,
                self.descriptor(instruction, 1)?,
            )),
            _ => return Ok(None),
        }))
    }
}
