//! Asynchronous stores, edits of tensor maps, cluster launch control and multimem.

use super::*;
use crate::remote::RemoteOp;
use crate::tensor_map::MapField;

impl Decoder<'_> {
    /// `st.async`, `st.bulk` and `red.async`.
    pub(super) fn remote_store(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods.has("async") && mods.has("mmio") {
            // A strong access to another device's registers; there is none here.
            return self.memory(opcode, mods, o);
        }
        if let ("st" | "red", [_, _]) = (opcode, o)
            && mods.has("async")
        {
            return Err("without an mbarrier it is not executed but as `.mmio`".into());
        }
        mods.idle(&[
            "weak",
            "relaxed",
            "cluster",
            "shared::cluster",
            "mbarrier::complete_tx::bytes",
        ]);
        mods.find(|m| matches!(m, "v2" | "v4").then_some(()));
        let op = match (opcode, o) {
            ("st", [a, bytes, Operand::Int(0)]) if mods.has("bulk") => {
                RemoteOp::Zeros { to: self.shared_addr(mods, a)?, bytes: self.src(bytes, 64)? }
            }
            ("st" | "red", [a, value, bar]) if mods.has("async") => {
                let ty = mods.last();
                let bytes = bits(scalar(ty).ok_or("type")?) / 8;
                let reduce = match opcode {
                    "red" => Some(Self::atomic(mods, ty)?),
                    _ => None,
                };
                let values = match value {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.src(p, 8 * bytes)).collect::<Result<_>>()?
                    }
                    one => Box::from([self.src(one, 8 * bytes)?]),
                };
                RemoteOp::Store { to: self.addr(a)?, values, bytes, bar: self.addr(bar)?, reduce }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Remote(Box::new(op)))
    }

    pub(super) fn tensor_map(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        mods.idle(&["tile", "b1024", "b32", "b64", "shared::cta", "global", "sync", "aligned"]);
        mods.idle(&["tensormap::generic", "release"]);
        let op = match o {
            [map, rest @ ..] if mods.has("replace") => {
                let (position, value) = match rest {
                    [Operand::Int(position), value] => (*position as usize, value),
                    [value] => (0, value),
                    _ => return Err("operands".into()),
                };
                let field = mods.find(|m| MapField::new(m, position)).ok_or("field")?;
                let space = if mods.has("shared::cta") {
                    MemSpace::Shared
                } else if mods.has("global") {
                    MemSpace::Global
                } else {
                    MemSpace::Generic
                };
                let map = (self.addr(map)?, space);
                RemoteOp::Replace { map, field, value: self.src(value, 64)? }
            }
            [to, from, Operand::Int(128)] if mods.has("cp_fenceproxy") => RemoteOp::CopyMap {
                to: self.addr(to)?,
                from: self.addr(from)?,
                scope: mods.scope().ok_or(NO_SCOPE)?,
            },
            _ => return Err(String::new()),
        };
        Ok(Op::Remote(Box::new(op)))
    }

    pub(super) fn cluster_launch(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let response = |d: &Self, operand: &Operand| match operand {
            Operand::Register(id) => match d.slots[id.0 as usize] {
                Slot::R128(slot) => Ok(slot),
                _ => Err("a register of 128 bits".to_owned()),
            },
            _ => Err("a register".into()),
        };
        let axis = mods.find(|m| {
            let names = ["get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"];
            names.iter().position(|n| *n == m)
        });
        mods.idle(&["async", "query_cancel", "shared::cta", "mbarrier::complete_tx::bytes"]);
        mods.idle(&["b128", "pred", "v4", "b32"]);
        let op = match o {
            [to, bar] if mods.has("try_cancel") => RemoteOp::TryCancel {
                to: self.addr(to)?,
                bar: self.addr(bar)?,
                all: mods.has("multicast::cluster::all"),
            },
            [d, from] if mods.has("is_canceled") => {
                RemoteOp::IsCanceled { d: self.dst(d)?, response: response(self, from)? }
            }
            [Operand::Vector(d), from] if mods.has("get_first_ctaid") => RemoteOp::FirstCta {
                axis: 0,
                d: d.iter().map(|d| self.dst(d)).collect::<Result<_>>()?,
                response: response(self, from)?,
            },
            [d, from] if axis.is_some() => RemoteOp::FirstCta {
                axis: axis.unwrap_or(0),
                d: Box::from([self.dst(d)?]),
                response: response(self, from)?,
            },
            _ => return Err(String::new()),
        };
        Ok(Op::Remote(Box::new(op)))
    }

    /// On one device a multimem address has one replica: reductions over replicas are loads.
    pub(super) fn multimem(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let opcode = match mods.first() {
            "ld_reduce" => "ld",
            "st" => "st",
            "red" => "red",
            _ => return Err(String::new()),
        };
        mods.find(|m| m.strip_prefix("acc::"));
        if opcode == "ld" {
            Self::atomic(mods, mods.last())?;
        }
        let mut op = self.memory(opcode, mods, o)?;
        if let Op::Ld { access, .. }
        | Op::LdVec { access, .. }
        | Op::St { access, .. }
        | Op::StVec { access, .. }
        | Op::Atom { access, .. }
        | Op::AtomVec { access, .. } = &mut op
        {
            access.space = MemSpace::Multimem;
        }
        Ok(op)
    }
}
