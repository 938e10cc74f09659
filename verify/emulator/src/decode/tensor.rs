//! The tensor cores.

use super::*;
use crate::tensor;

impl Decoder<'_> {
    pub(super) fn tensor(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let action = mods.all.first().copied().unwrap_or("");
        if mods.has("cta_group::2") {
            return Err("pairs of CTAs are not executed".into());
        }
        let op = match (action, o) {
            ("alloc", [a, n]) => {
                TensorOp::Alloc { addr: self.shared_addr(mods, a)?, columns: self.src(n, 32)? }
            }
            ("dealloc", [a, n]) => {
                TensorOp::Dealloc { addr: self.src(a, 32)?, columns: self.src(n, 32)? }
            }
            ("relinquish_alloc_permit", _) => TensorOp::Relinquish,
            ("fence::before_thread_sync", _) => TensorOp::Fence { after: false },
            ("fence::after_thread_sync", _) => TensorOp::Fence { after: true },
            ("wait::ld", _) => TensorOp::WaitLd,
            ("wait::st", _) => TensorOp::WaitSt,
            ("commit", [a, rest @ ..]) => {
                let multicast = match rest {
                    [mask] => Some(self.src(mask, 16)?),
                    _ => None,
                };
                let (addr, space) = self.shared_addr(mods, a)?;
                TensorOp::Commit { addr: (addr, space), multicast }
            }
            ("mma", [d, a, b, idesc, rest @ ..]) => {
                if mods.has("sp") || mods.has("ws") || mods.has("block_scale") || mods.has("ashift")
                {
                    return Err("only the dense form is executed".into());
                }
                let kind =
                    tensor::kind(mods.find(|m| m.strip_prefix("kind::").map(str::to_owned)))?;
                let a = match a {
                    Operand::Address(_) => tensor::Left::Tensor(self.addr(a)?),
                    a => tensor::Left::Shared(self.src(a, 64)?),
                };
                let rest = match rest {
                    [Operand::Vector(mask), rest @ ..] => {
                        let zero = mask.iter().all(|m| matches!(m, Operand::Int(0)));
                        if !zero {
                            return Err("disable-output-lane".into());
                        }
                        rest
                    }
                    rest => rest,
                };
                let enable = match rest {
                    [p] => self.src(p, 1)?,
                    [] => Src::Imm(1),
                    _ => return Err("scale-input-d".into()),
                };
                TensorOp::Mma {
                    kind,
                    d: self.addr(d)?,
                    a,
                    b: self.src(b, 64)?,
                    idesc: self.src(idesc, 32)?,
                    enable,
                }
            }
            ("ld", _) if mods.has("red") => return Err(String::new()),
            ("ld", [d, a, rest @ ..]) => {
                let registers = match d {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?
                    }
                    d => Box::from([self.dst(d)?]),
                };
                let access = tensor::access(&mods.all, rest)?;
                TensorOp::Ld { access, registers, addr: self.addr(a)? }
            }
            ("st", [a, rest @ .., value]) => {
                let registers = match value {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.src(p, 32)).collect::<Result<_>>()?
                    }
                    value => Box::from([self.src(value, 32)?]),
                };
                let access = tensor::access(&mods.all, rest)?;
                TensorOp::St { access, registers, addr: self.addr(a)? }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Tensor(Box::new(op)))
    }
}
