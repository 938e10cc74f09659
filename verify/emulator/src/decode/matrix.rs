//! The matrix instructions of one warp.

use super::*;
use crate::matrix::{BitFn, Element, MatrixOp, Mma, Terms, row_access};

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        mods.idle(&["sync", "aligned"]);
        if opcode != "mma" {
            mods.idle(&["m8n8", "m16n8", "m8n16", "m16n16", "x1", "x2", "x4", "b8x16", "b16"]);
        }
        let op = match (opcode, o) {
            ("mma", [d, a, b, c, ..]) => MatrixOp::Mma(self.mma(mods, [d, a, b, c])?),
            ("ldmatrix", [d, a]) => {
                let unpack = match mods.last() {
                    "b16" => None,
                    "b6x16_p32" => Some(6),
                    "b4x16_p64" => Some(4),
                    _ => return Err("elements of 8 bits".into()),
                };
                let d = self.destinations(d)?;
                MatrixOp::Load {
                    access: self.rows_access(mods, a, d.len())?,
                    transpose: mods.has("trans"),
                    unpack,
                    d,
                }
            }
            ("stmatrix", [address, a]) if mods.last() == "b16" => {
                let a = self.sources(a)?;
                let access = self.rows_access(mods, address, a.len())?;
                MatrixOp::Store { access, transpose: mods.has("trans"), a }
            }
            ("movmatrix", [d, a]) if mods.has("trans") => {
                MatrixOp::Move { d: self.dst(d)?, a: self.src(a, 32)? }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Matrix(Box::new(op)))
    }

    fn rows_access(&mut self, mods: &Mods, operand: &Operand, count: usize) -> Result<Access> {
        if !matches!(count, 1 | 2 | 4) {
            return Err("one, two or four matrices".into());
        }
        let (addr, space) = self.shared_addr(mods, operand)?;
        Ok(row_access(space, addr))
    }

    pub(super) fn destinations(&mut self, operand: &Operand) -> Result<Box<[Dst]>> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|p| self.dst(p)).collect(),
            one => Ok(Box::new([self.dst(one)?])),
        }
    }

    pub(super) fn sources(&mut self, operand: &Operand) -> Result<Box<[Src]>> {
        match operand {
            Operand::Vector(parts) => parts.iter().map(|p| self.src(p, 32)).collect(),
            one => Ok(Box::new([self.src(one, 32)?])),
        }
    }

    pub(super) fn terms(&mut self, mods: &Mods, [d, a, b, c]: [&Operand; 4]) -> Result<Terms> {
        Ok(Terms {
            d: self.destinations(d)?,
            a: self.sources(a)?,
            b: self.sources(b)?,
            c: self.sources(c)?,
            saturate: mods.has("satfinite"),
            bits: if mods.has("and") { BitFn::And } else { BitFn::Xor },
        })
    }

    fn mma(&mut self, mods: &Mods, operands: [&Operand; 4]) -> Result<Mma> {
        if mods.find(|m| (m == "sp" || m.starts_with("sp::")).then_some(())).is_some() {
            return Err("sparse products are not executed".into());
        }
        if mods.has("block_scale") {
            return Err("block-scaled products of one warp are not executed".into());
        }
        let shape = mods.find(shape).ok_or("shape")?;
        let types = mods.each(|m| is_type(m).then_some(m));
        mods.idle(&["row", "col", "kind::f8f6f4", "popc", "xor"]);
        let [d_type, a_type, b_type, c_type] = types[..] else { return Err("types".into()) };
        let (a_type, b_type) =
            (element(a_type).ok_or("type of A")?, element(b_type).ok_or("type of B")?);
        let wanted = match a_type {
            Element::F64 => &["f64"][..],
            a if a.is_integer() => &["s32"],
            _ => &["f16", "f32"],
        };
        let mma = Mma {
            m: shape.0,
            k: shape.2,
            a_type,
            b_type,
            halves: d_type == "f16",
            terms: self.terms(mods, operands)?,
        };
        let Terms { d, a, b, c, .. } = &mma.terms;
        if shape.1 != 8
            || !matches!(shape.0, 8 | 16)
            || d_type != c_type
            || !wanted.contains(&d_type)
            || a_type.bits() != b_type.bits()
            || a_type.is_integer() != b_type.is_integer()
            || c.len() != d.len()
            || [a.len(), b.len(), d.len()] != mma.registers()
        {
            return Err("shape, types and registers do not fit".into());
        }
        Ok(mma)
    }
}

pub(super) fn shape(text: &str) -> Option<(usize, usize, usize)> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

fn is_type(name: &str) -> bool {
    element(name).is_some() || matches!(name, "f32" | "s32")
}

pub(super) fn element(name: &str) -> Option<Element> {
    Some(match name {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "f64" => Element::F64,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "e2m3" => Element::E2m3,
        "e3m2" => Element::E3m2,
        "e2m1" => Element::E2m1,
        "u8" => Element::Int(8, false),
        "s8" => Element::Int(8, true),
        "u4" => Element::Int(4, false),
        "s4" => Element::Int(4, true),
        "b1" => Element::B1,
        _ => return None,
    })
}
