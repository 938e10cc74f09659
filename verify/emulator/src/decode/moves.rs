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
        if matches!(opcode, "cvta" | "isspacep" | "mapa" | "getctarank") {
            mods.word();
        }
        if matches!(opcode, "mapa" | "getctarank") && mods.has("u32") && space().is_none() {
            return Err("generic addresses of 32 bits are not executed".into());
        }
        match (opcode, o) {
            ("mov", [Operand::Vector(to), Operand::Vector(from)]) if to.len() == from.len() => {
                let width = bits(mods.ty()?);
                mods.idle(&["v2", "v4"]);
                Ok(Op::MovVec {
                    d: to.iter().map(|d| self.dst(d)).collect::<Result<_>>()?,
                    a: from.iter().map(|a| self.src(a, width)).collect::<Result<_>>()?,
                })
            }
            // All elements of `%tid` and the like.
            ("mov", [Operand::Vector(to), Operand::Special(name)]) if mods.has("v4") => {
                mods.word();
                let part = |c| special(&format!("{name}.{c}")).map(Src::Special);
                Ok(Op::MovVec {
                    d: to.iter().map(|d| self.dst(d)).collect::<Result<_>>()?,
                    a: ["x", "y", "z", "w"].into_iter().map(part).collect::<Result<_>>()?,
                })
            }
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
        let (sat, finite, relu) = (mods.has("sat"), mods.has("satfinite"), mods.has("relu"));
        if mods.has("rs") {
            return Err("stochastic rounding is not executed".into());
        }
        if mods.has("pack") {
            let types = mods.each(|m| (m != "sat" && m.starts_with(['u', 's', 'b'])).then_some(m));
            let ty = types.first();
            let ty = ty.ok_or("type")?;
            let bits = ty[1..].parse().map_err(|_| "type")?;
            let signed = ty.starts_with('s');
            let (b, c) = match rest {
                [b] => (self.src(b, 32)?, UNUSED),
                [b, c] => (self.src(b, 32)?, self.src(c, 32)?),
                _ => return Err("operands".into()),
            };
            let (d, a) = (self.dst(d)?, self.src(a, 32)?);
            return Ok(Op::CvtPack { bits, signed, d, a, b, c });
        }
        let pairs: Vec<Format> = mods.each(pair);
        if let Some(&to) = pairs.first() {
            let from = match (&pairs[1..], mods.last(), rest) {
                ([], "f32", [_]) => None,
                ([from], _, []) => Some(*from),
                _ => return Err("a pair of another type than f32".into()),
            };
            let r = mods.rounding().ok_or("rounding")?;
            let a = self.src(a, 32)?;
            let b = match rest {
                [b] => self.src(b, 32)?,
                _ => UNUSED,
            };
            return Ok(Op::CvtPair { to, from, r, finite, relu, d: self.dst(d)?, a, b });
        }
        if !rest.is_empty() {
            return Err("pair type".into());
        }
        let types: Vec<Scalar> = mods.each(scalar);
        let [to, from] = types[..] else { return Err("two types".into()) };
        let integral = mods.find(|m| matches!(m, "rni" | "rzi" | "rmi" | "rpi").then_some(()));
        Ok(Op::Cvt {
            to,
            from,
            r: mods.rounding(),
            integral: integral.is_some(),
            ftz: mods.has("ftz"),
            sat,
            finite,
            relu,
            d: self.dst(d)?,
            a: self.src(a, bits(from))?,
        })
    }
}

/// A type that stands for two numbers.
fn pair(name: &str) -> Option<Format> {
    Some(match name {
        "f16x2" => Format::F16,
        "bf16x2" => Format::BF16,
        "e4m3x2" => Format::E4M3,
        "e5m2x2" => Format::E5M2,
        "e2m3x2" => Format::E2M3,
        "e3m2x2" => Format::E3M2,
        "e2m1x2" => Format::E2M1,
        "ue8m0x2" => Format::UE8M0,
        _ => return None,
    })
}
