//! Loads, stores, atomics and fences.

use super::*;

impl Decoder<'_> {
    pub(super) fn access(&mut self, mods: &Mods, operand: &Operand) -> Result<Access> {
        let space = mods
            .find(|m| {
                Some(match m {
                    "global" | "const" => MemSpace::Global,
                    "shared" | "shared::cta" => MemSpace::Shared,
                    "shared::cluster" => MemSpace::SharedCluster,
                    "local" => MemSpace::Local,
                    "param" | "param::entry" | "param::func" => MemSpace::Param,
                    _ => return None,
                })
            })
            .unwrap_or(MemSpace::Generic);
        let addr = self.addr(operand)?;
        // Parameters of functions and calls live in the frame.
        let space = match (space, addr.base) {
            (MemSpace::Param, Src::Local(_)) => MemSpace::Local,
            (MemSpace::Generic, Src::Local(_)) => MemSpace::Local,
            (MemSpace::Generic, Src::Param(_)) => MemSpace::Param,
            (MemSpace::Generic, Src::Symbol(var, _)) => match self.names.vars[var as usize].space {
                ptx::Space::Shared => MemSpace::Shared,
                _ => MemSpace::Global,
            },
            (space, _) => space,
        };
        let ty = mods.ty().or_else(|e| {
            if ["f16x2", "bf16x2", "e4m3x4", "e5m2x4"].iter().any(|packed| mods.has(packed)) {
                Ok(Scalar::Int(32, false))
            } else {
                Err(e)
            }
        })?;
        let strong =
            ["volatile", "relaxed", "acquire", "release", "mmio"].iter().any(|m| mods.has(m));
        Ok(Access {
            space,
            bytes: bits(ty) / 8,
            signed: matches!(ty, Scalar::Int(_, true)),
            strong,
            order: mods.order(),
            scope: mods.scope(if mods.has("volatile") || mods.has("mmio") {
                Scope::Sys
            } else {
                Scope::Gpu
            }),
            addr,
        })
    }

    /// `fence` and `membar`.
    pub(super) fn fence(opcode: &str, mods: &Mods) -> Op {
        let has = |m: &str| mods.has(m);
        Op::Fence(if has("mbarrier_init") {
            FenceOp::MbarrierInit
        } else if has("proxy") {
            let asynchronous = has("async") || has("async::generic");
            let shared = ["shared::cta", "shared::cluster", "sync_restrict::shared::cta"]
                .iter()
                .chain(&["sync_restrict::shared::cluster"])
                .any(|m| has(m));
            match (asynchronous, shared, has("global")) {
                (false, ..) => FenceOp::Other,
                (true, false, false) => FenceOp::Proxy { shared: true, global: true },
                (true, shared, global) => FenceOp::Proxy { shared, global },
            }
        } else {
            let shared = has("sync_restrict::shared::cta") || has("sync_restrict::shared::cluster");
            let both = !has("acquire") && !has("release");
            FenceOp::Thread {
                acquire: both || has("acquire"),
                release: both || has("release"),
                shared,
                sequential: opcode == "membar" || has("sc"),
                scope: mods.scope(Scope::Sys),
            }
        })
    }

    pub(super) fn memory(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods.has("async") {
            return Err(String::new());
        }
        match (opcode, o) {
            ("ld" | "ldu", [d, a, ..]) => {
                let access = self.access(mods, a)?;
                Ok(match d {
                    Operand::Vector(parts) => Op::LdVec {
                        access,
                        d: parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?,
                    },
                    d => Op::Ld { access, d: self.dst(d)? },
                })
            }
            ("st", [a, value, ..]) => {
                let access = self.access(mods, a)?;
                let width = access.bytes * 8;
                Ok(match value {
                    Operand::Vector(parts) => Op::StVec {
                        access,
                        a: parts.iter().map(|p| self.src(p, width)).collect::<Result<_>>()?,
                    },
                    value => Op::St { access, a: self.src(value, width)? },
                })
            }
            ("atom" | "red", _) if mods.find(vector).is_some() => {
                let (d, a, b) = match (opcode, o) {
                    ("atom", [Operand::Vector(d), a, Operand::Vector(b), ..]) => (&d[..], a, b),
                    ("red", [a, Operand::Vector(b), ..]) => (&[][..], a, b),
                    _ => return Err("operands".into()),
                };
                let mut access = self.access(mods, a)?;
                access.strong = true;
                if access.order == Order::Weak {
                    access.order = Order::Relaxed;
                }
                let width = access.bytes * 8;
                Ok(Op::AtomVec {
                    f: Self::atomic(mods, mods.last())?,
                    access,
                    d: d.iter().map(|p| self.dst(p)).collect::<Result<_>>()?,
                    b: b.iter().map(|p| self.src(p, width)).collect::<Result<_>>()?,
                })
            }
            ("atom" | "red", _) => {
                let (d, rest) = match (opcode, o) {
                    ("atom", [d, rest @ ..]) => (self.dst(d)?, rest),
                    _ => (Dst::Sink, o),
                };
                let [a, b, rest @ ..] = rest else { return Err("operands".into()) };
                let mut access = self.access(mods, a)?;
                access.strong = true;
                if access.order == Order::Weak {
                    access.order = Order::Relaxed;
                }
                access.signed = false;
                let f = Self::atomic(mods, mods.last())?;
                let width = access.bytes * 8;
                let b = self.src(b, width)?;
                let c = match (f, rest) {
                    (AtomFn::Cas, [c, ..]) => self.src(c, width)?,
                    _ => UNUSED,
                };
                Ok(Op::Atom { f, access, d, b, c })
            }
            _ => Err("operands".into()),
        }
    }

    /// The function of an atomic operation, a reduction or a reducing copy on elements of type `ty`.
    pub(super) fn atomic(mods: &Mods, ty: &str) -> Result<AtomFn> {
        let pair = match ty {
            "f16x2" => Some(Float::F16),
            "bf16x2" => Some(Float::Bf16),
            _ => None,
        };
        let float = match scalar(ty) {
            Some(Scalar::Float(float)) => Some(float),
            _ => None,
        };
        let signed = ty.starts_with('s');
        mods.find(|m| {
            Some(match (m, pair, float) {
                ("add", Some(ty), _) => AtomFn::AddX2(ty),
                ("min", Some(ty), _) => AtomFn::MinX2(ty),
                ("max", Some(ty), _) => AtomFn::MaxX2(ty),
                ("add", _, Some(ty)) => AtomFn::AddF(ty),
                ("min", _, Some(ty)) => AtomFn::MinF(ty),
                ("max", _, Some(ty)) => AtomFn::MaxF(ty),
                ("add", ..) => AtomFn::Add,
                ("inc", ..) => AtomFn::Inc,
                ("dec", ..) => AtomFn::Dec,
                ("min", ..) if signed => AtomFn::MinS,
                ("max", ..) if signed => AtomFn::MaxS,
                ("min", ..) => AtomFn::MinU,
                ("max", ..) => AtomFn::MaxU,
                ("and", ..) => AtomFn::And,
                ("or", ..) => AtomFn::Or,
                ("xor", ..) => AtomFn::Xor,
                ("exch", ..) => AtomFn::Exch,
                ("cas", ..) => AtomFn::Cas,
                _ => return None,
            })
        })
        .ok_or_else(|| "operation".into())
    }
}

fn vector(m: &str) -> Option<()> {
    matches!(m, "v2" | "v4" | "v8").then_some(())
}
