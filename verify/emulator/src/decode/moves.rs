//! Moves, addresses and conversions.

use super::*;

impl Decoder<'_> {
    pub(super) fn moves(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let space = || {
            mods.find(|m| {
                Some(match m {
                    "global" | "const" => MemSpace::Global,
                    "shared" | "shared::cta" => MemSpace::Shared,
                    "shared::cluster" => MemSpace::SharedCluster,
                    "local" => MemSpace::Local,
                    "param" | "param::entry" => MemSpace::Param,
                    _ => return None,
                })
            })
        };
        match (opcode, o) {
            ("mov", [Operand::Vector(parts), a]) => {
                let width = bits(mods.ty()?);
                let part = width / parts.len().max(1) as u8;
                let parts = parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?;
                Ok(Op::Unpack { bits: part, parts, a: self.src(a, width)? })
            }
            ("mov", [d, Operand::Vector(parts)]) => {
                let width = bits(mods.ty()?);
                let part = width / parts.len().max(1) as u8;
                let parts = parts.iter().map(|p| self.src(p, part)).collect::<Result<_>>()?;
                Ok(Op::Pack { bits: part, d: self.dst(d)?, parts })
            }
            ("mov", [d, a]) => {
                let width = bits(mods.ty().unwrap_or(Scalar::Int(32, false)));
                Ok(Op::Mov { d: self.dst(d)?, a: self.src(a, width)? })
            }
            ("cvta", [d, a]) => {
                let space = space().ok_or("space")?;
                let (d, a) = (self.dst(d)?, self.src(a, 64)?);
                Ok(if mods.has("to") {
                    Op::CvtaTo { space, d, a }
                } else {
                    Op::Cvta { space, d, a }
                })
            }
            ("isspacep", [d, a]) => {
                let space = space().ok_or("space")?;
                Ok(Op::IsSpace { space, d: self.dst(d)?, a: self.src(a, 64)? })
            }
            ("mapa", [d, a, b]) => Ok(Op::Mapa {
                generic: space().is_none(),
                d: self.dst(d)?,
                a: self.src(a, 64)?,
                b: self.src(b, 32)?,
            }),
            ("getctarank", [d, a]) => Ok(Op::GetCtaRank {
                generic: space().is_none(),
                d: self.dst(d)?,
                a: self.src(a, 64)?,
            }),
            ("cvt", [d, a, rest @ ..]) => self.convert(mods, d, a, rest),
            _ => Err("operands".into()),
        }
    }

    pub(super) fn convert(
        &mut self,
        mods: &Mods,
        d: &Operand,
        a: &Operand,
        rest: &[Operand],
    ) -> Result<Op> {
        let (sat, relu) = (mods.has("sat") || mods.has("satfinite"), mods.has("relu"));
        if let [b] = rest {
            let to = mods
                .find(|m| {
                    Some(match m {
                        "f16x2" => Format::F16,
                        "bf16x2" => Format::BF16,
                        "e4m3x2" => Format::E4M3,
                        "e5m2x2" => Format::E5M2,
                        _ => return None,
                    })
                })
                .ok_or("pair type")?;
            if mods.last() != "f32" {
                return Err("pair of another type than f32".into());
            }
            let r = mods.rounding().ok_or("rounding")?;
            let (a, b) = (self.src(a, 32)?, self.src(b, 32)?);
            return Ok(Op::CvtPair { to, r, sat, relu, d: self.dst(d)?, a, b });
        }
        let types: Vec<Scalar> = mods.all.iter().filter_map(|m| scalar(m)).collect();
        let [to, from] = types[..] else { return Err("two types".into()) };
        let integral = mods.find(|m| matches!(m, "rni" | "rzi" | "rmi" | "rpi").then_some(()));
        Ok(Op::Cvt {
            to,
            from,
            r: mods.rounding(),
            integral: integral.is_some(),
            ftz: mods.has("ftz"),
            sat,
            relu,
            d: self.dst(d)?,
            a: self.src(a, bits(from))?,
        })
    }
}
