//! The tensor cores.

mod modifiers;

use super::*;
use crate::tcgen05::{AccumulatorType, ElementType, Form, Major};
use crate::tensor;
use crate::wgmma::{self, WgmmaOp};

impl Decoder<'_> {
    pub(super) fn tensor(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let action = mods.first();
        mods.idle(&["sync", "aligned", "cta_group::1"]);
        let mods_of = |known: fn(&str) -> bool| mods.each(|m| known(m).then_some(m));
        let pair = mods.has("cta_group::2");
        if mods.has("exclusive") {
            return Err("exclusive allocations of tensor memory are not executed".into());
        }
        let op = match (action, o) {
            ("alloc", [a, n]) => {
                mods.word();
                let addr = self.shared_addr(mods, a)?;
                TensorOp::Alloc { addr, columns: self.src(n, 32)?, pair }
            }
            ("dealloc", [a, n]) => {
                mods.word();
                TensorOp::Dealloc { addr: self.src(a, 32)?, columns: self.src(n, 32)?, pair }
            }
            ("relinquish_alloc_permit", _) => TensorOp::Relinquish { pair },
            ("fence::before_thread_sync", _) => TensorOp::Fence { after: false },
            ("fence::after_thread_sync", _) => TensorOp::Fence { after: true },
            ("wait::ld", _) => TensorOp::WaitLd,
            ("wait::st", _) => TensorOp::WaitSt,
            ("commit", [a, rest @ ..]) => {
                let multicast = match rest {
                    [mask] => Some(self.src(mask, 16)?),
                    _ => None,
                };
                mods.idle(&["mbarrier::arrive::one", "b64", "multicast::cluster"]);
                let (addr, space) = self.shared_addr(mods, a)?;
                TensorOp::Commit { addr: (addr, space), multicast, pair }
            }
            ("mma", [d, a, b, rest @ ..]) => {
                TensorOp::Mma(Box::new(self.multiplication(mods, (d, a, b), rest)?))
            }
            ("cp", [a, from]) => {
                let copy = modifiers::copy(&mods_of(modifiers::of_copy))?;
                TensorOp::Cp { copy, addr: self.addr(a)?, from: self.src(from, 64)?, pair }
            }
            ("shift", [a]) if mods.has("down") => TensorOp::Shift { addr: self.addr(a)?, pair },
            ("ld", [d, a, rest @ ..]) => {
                let registers = match d {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?
                    }
                    d => Box::from([self.dst(d)?]),
                };
                // A reduction names its result before the address.
                let (a, rest, reduce) = match (mods.has("red"), rest) {
                    (false, rest) => (a, rest, None),
                    (true, [address, rest @ ..]) => {
                        let less = mods.has("min");
                        if less == mods.has("max") {
                            return Err("`.min` or `.max`".into());
                        }
                        let reduce = tensor::Reduction {
                            less,
                            absolute: mods.has("abs"),
                            nan: mods.has("NaN"),
                            ty: mods.ty()?,
                            d: self.dst(a)?,
                        };
                        (address, rest, Some(reduce))
                    }
                    _ => return Err("operands".into()),
                };
                let access = modifiers::access(&mods_of(modifiers::of_access), rest)?;
                TensorOp::Ld { access, registers, addr: self.addr(a)?, reduce }
            }
            ("st", [a, rest @ .., value]) => {
                let registers = match value {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.src(p, 32)).collect::<Result<_>>()?
                    }
                    value => Box::from([self.src(value, 32)?]),
                };
                let access = modifiers::access(&mods_of(modifiers::of_access), rest)?;
                TensorOp::St { access, registers, addr: self.addr(a)? }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Tensor(Box::new(op)))
    }

    /// `tcgen05.mma`, whose first operands are D, A and B.
    fn multiplication(
        &mut self,
        mods: &Mods,
        (d, a, b): (&Operand, &Operand, &Operand),
        rest: &[Operand],
    ) -> Result<tensor::MmaForm> {
        let kind = modifiers::kind(mods.find(|m| m.strip_prefix("kind::").map(str::to_owned)))?;
        mods.idle(&["block_scale"]);
        mods.each(|m| modifiers::is_collector(m).then_some(()));
        let form = match (mods.has("ws"), mods.has("cta_group::2")) {
            (true, _) => Form::WeightStationary,
            (_, true) => Form::Pair,
            _ => Form::One,
        };
        let a = match a {
            Operand::Address(_) => tensor::Left::Tensor(self.addr(a)?),
            a => tensor::Left::Shared(self.src(a, 64)?),
        };
        let (metadata, rest) = match (mods.has("sp"), rest) {
            (false, rest) => (None, rest),
            (true, [metadata, rest @ ..]) => (Some(self.addr(metadata)?), rest),
            (true, []) => return Err("operands".into()),
        };
        let [idesc, rest @ ..] = rest else { return Err("operands".into()) };
        let (scales, rest) = match (kind.is_scaled(), rest) {
            (true, [of_a, of_b, rest @ ..]) => {
                let blocks =
                    modifiers::blocks(kind, &mods.each(|m| modifiers::of_blocks(m).then_some(m)))?;
                (Some((self.addr(of_a)?, self.addr(of_b)?, blocks)), rest)
            }
            (true, _) => return Err("operands".into()),
            (false, rest) => (None, rest),
        };
        let (disabled, rest) = match rest {
            [Operand::Vector(mask), rest @ ..] => {
                (mask.iter().map(|m| self.src(m, 32)).collect::<Result<_>>()?, rest)
            }
            rest => (Box::default(), rest),
        };
        let (enable, scale_d, zeros) = match rest {
            [p] => (self.src(p, 1)?, 0, None),
            [p, Operand::Int(scale)] if form != Form::WeightStationary => {
                (self.src(p, 1)?, *scale as u32, None)
            }
            [p, zeros] if form == Form::WeightStationary => {
                (self.src(p, 1)?, 0, Some(self.src(zeros, 64)?))
            }
            _ => return Err("operands".into()),
        };
        Ok(tensor::MmaForm {
            kind,
            form,
            d: self.addr(d)?,
            a,
            b: self.src(b, 64)?,
            idesc: self.src(idesc, 32)?,
            enable,
            scale_d,
            disabled,
            shift_a: mods.has("ashift"),
            scales,
            metadata,
            zeros,
        })
    }

    pub(super) fn wgmma(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        mods.idle(&["sync", "aligned"]);
        let op = match (mods.first(), o) {
            ("fence", []) => WgmmaOp::Fence,
            ("commit_group", []) => WgmmaOp::Commit,
            ("wait_group", [Operand::Int(groups)]) => {
                WgmmaOp::Wait { groups: u32::try_from(*groups).map_err(|e| e.to_string())? }
            }
            ("mma_async", [Operand::Vector(d), a, b, accumulate, rest @ ..]) => {
                WgmmaOp::Mma(Box::new(self.product(mods, (d, a, b, accumulate), rest)?))
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Wgmma(Box::new(op)))
    }

    fn product(
        &mut self,
        mods: &Mods,
        (d, a, b, accumulate): (&[Operand], &Operand, &Operand, &Operand),
        rest: &[Operand],
    ) -> Result<wgmma::Form> {
        if mods.has("sp") {
            return Err("sparse products are not executed".into());
        }
        let shape = mods.find(|m| m.strip_prefix("m64n").map(str::to_owned)).ok_or("shape")?;
        let (n, k) = shape.split_once('k').ok_or("shape")?;
        let number = |text: &str| text.parse::<u32>().map_err(|e| format!("shape: {e}"));
        let (n, k) = (number(n)?, number(k)?);
        let types = mods.each(|m| element(m).is_some().then_some(m));
        let (d_type, a_type, b_type) = match (&types[..], mods.find(accumulator)) {
            ([a, b], Some(wide)) => (wide, *a, *b),
            (["f16", a, b], None) => (AccumulatorType::F16, *a, *b),
            _ => return Err("types".into()),
        };
        let (a_type, b_type) =
            (element(a_type).ok_or("type of A")?, element(b_type).ok_or("type of B")?);
        let integer = matches!(a_type, ElementType::U8 | ElementType::S8);
        if a_type.bits() * k != 256
            || a_type.bits() != b_type.bits()
            || integer != (d_type == AccumulatorType::S32)
            || !n.is_multiple_of(8)
            || !(8..=256).contains(&n)
        {
            return Err("shape and types do not fit".into());
        }
        let slot = |operand: &Operand| match operand {
            Operand::Register(id) => match self.slots[id.0 as usize] {
                Slot::R32(slot) => Ok(slot),
                _ => Err("a register of 32 bits".to_owned()),
            },
            _ => Err("a register".into()),
        };
        let registers = d.iter().map(slot).collect::<Result<Box<[u32]>>>()?;
        let a = match a {
            Operand::Vector(parts) => {
                let parts = parts.iter().map(slot).collect::<Result<Vec<_>>>()?;
                wgmma::Left::Registers(parts.try_into().map_err(|_| "four registers of A")?)
            }
            a => wgmma::Left::Shared(self.src(a, 64)?),
        };
        // Signs of A and B, then which of them lie transposed; integers have neither.
        let literals = rest
            .iter()
            .map(|o| match o {
                Operand::Int(n) => Ok(*n),
                _ => Err("scales and transpositions are literals".to_owned()),
            })
            .collect::<Result<Vec<_>>>()?;
        let (negate, transpose) = match (literals[..].split_at_checked(2), a) {
            (None, _) if literals.is_empty() => ([false; 2], [0; 2]),
            (Some((&[x, y], &[])), _) => ([x < 0, y < 0], [0; 2]),
            (Some((&[x, y], &[t])), wgmma::Left::Registers(_)) => ([x < 0, y < 0], [0, t]),
            (Some((&[x, y], &[s, t])), wgmma::Left::Shared(_)) => ([x < 0, y < 0], [s, t]),
            _ => return Err("operands".into()),
        };
        let form = wgmma::Form {
            n,
            a_type,
            b_type,
            d_type,
            d: registers,
            a,
            b: self.src(b, 64)?,
            accumulate: self.src(accumulate, 1)?,
            negate,
            major: transpose.map(|t| if t == 0 { Major::K } else { Major::Mn }),
            saturate: mods.has("satfinite"),
        };
        if form.d.len() != form.packing().registers(n as usize) {
            return Err("the number of registers of D".into());
        }
        Ok(form)
    }
}

fn element(name: &str) -> Option<ElementType> {
    Some(match name {
        "f16" => ElementType::F16,
        "bf16" => ElementType::Bf16,
        "tf32" => ElementType::Tf32,
        "e4m3" => ElementType::E4m3,
        "e5m2" => ElementType::E5m2,
        "u8" => ElementType::U8,
        "s8" => ElementType::S8,
        _ => return None,
    })
}

fn accumulator(name: &str) -> Option<AccumulatorType> {
    match name {
        "f32" => Some(AccumulatorType::F32),
        "s32" => Some(AccumulatorType::S32),
        _ => None,
    }
}
