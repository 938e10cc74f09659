//! Loads, stores, atomics and fences.

use super::*;

impl Decoder<'_> {
    /// What an instruction accesses, of which `orders` are the orders and `needs` says whether they need a scope.
    pub(super) fn access(
        &mut self,
        mods: &Mods,
        operand: &Operand,
        (orders, needs): (&[Order], bool),
    ) -> Result<Access> {
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
        if mods.contains("const") && matches!(addr.base, Src::R32(_)) {
            return Err("32-bit addresses of constant memory are not executed".into());
        }
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
            // Numbers that memory need not understand.
            let bits = mods.find(|m| match m {
                "e4m3" | "e5m2" => Some(8),
                "e4m3x2" | "e5m2x2" => Some(16),
                "f16x2" | "bf16x2" | "e4m3x4" | "e5m2x4" => Some(32),
                _ => None,
            });
            bits.map(|bits| Scalar::Int(bits, false)).ok_or(e)
        })?;
        // How caches treat the access.
        mods.idle(&["ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz", "unified"]);
        mods.each(|m| CACHES.contains(&m).then_some(()));
        let order = mods.order(orders)?;
        let scope = match (order, mods.scope()) {
            (_, None) if mods.has("mmio") => return Err(NO_SCOPE.into()),
            (Order::Volatile, None) => Scope::Sys,
            (Order::Volatile, _) => return Err("`.volatile` has no scope".into()),
            (Order::Weak, Some(_)) if needs => return Err("a scope without an order".into()),
            (Order::Weak, None) => Scope::Gpu,
            (_, None) if needs => return Err(NO_SCOPE.into()),
            (_, scope) => scope.unwrap_or(Scope::Gpu),
        };
        if mods.has("mmio")
            && (matches!(order, Order::Weak | Order::Volatile) || scope != Scope::Sys)
        {
            return Err("`.mmio` goes with an order and `.sys`".into());
        }
        Ok(Access {
            space,
            bytes: bits(ty) / 8,
            signed: matches!(ty, Scalar::Int(_, true)),
            strong: order != Order::Weak,
            order,
            scope,
            constant: mods.has("nc") && space == MemSpace::Global,
            addr,
        })
    }

    /// `fence` and `membar`.
    pub(super) fn fence(opcode: &str, mods: &Mods) -> Result<FenceOp> {
        let has = |m: &str| mods.has(m);
        if has("proxy") {
            return Self::proxy_fence(mods);
        }
        if has("mbarrier_init") {
            return match (has("release"), mods.scope()) {
                (true, Some(Scope::Cluster)) => Ok(FenceOp::MbarrierInit),
                _ => Err("`fence.mbarrier_init` is `.release.cluster`".into()),
            };
        }
        let restricted = mods.find(|m| m.strip_prefix("sync_restrict::"));
        if opcode == "membar" {
            let level = mods.find(|m| match m {
                "cta" => Some(Scope::Cta),
                "gl" => Some(Scope::Gpu),
                "sys" => Some(Scope::Sys),
                _ => None,
            });
            let scope = level.ok_or("no level, `.cta`, `.gl` or `.sys`")?;
            return Ok(FenceOp::Thread {
                acquire: true,
                release: true,
                sequential: true,
                shared: false,
                scope,
            });
        }
        let kind = mods.find(|m| {
            let kinds = ["sc", "acq_rel", "acquire", "release"];
            kinds.into_iter().find(|kind| *kind == m)
        });
        let scope = mods.scope().ok_or(NO_SCOPE)?;
        let (acquire, release) = match (kind.unwrap_or("acq_rel"), restricted) {
            ("sc" | "acq_rel", None) => (true, true),
            ("acquire", None | Some("shared::cluster")) => (true, false),
            ("release", None | Some("shared::cta")) => (false, true),
            _ => {
                return Err(
                    "an acquire is restricted to shared::cluster, a release to shared::cta".into(),
                );
            }
        };
        if restricted.is_some() && scope != Scope::Cluster {
            return Err("a restricted fence is `.cluster`".into());
        }
        let (shared, sequential) = (restricted.is_some(), kind == Some("sc"));
        Ok(FenceOp::Thread { acquire, release, sequential, shared, scope })
    }

    fn proxy_fence(mods: &Mods) -> Result<FenceOp> {
        let proxy = mods.find(|m| {
            let proxies = ["alias", "async", "async::generic", "tensormap::generic"];
            proxies.into_iter().find(|proxy| *proxy == m)
        });
        let fabric = mods.each(|m| m.contains("fabric").then_some(m));
        let proxy = fabric.first().copied().or(proxy).ok_or("no proxy")?;
        if proxy.contains("fabric") {
            return Err(
                "the fabric proxy is not executed: nothing accesses memory through it".into()
            );
        }
        let direction = mods.order(&[Order::Acquire, Order::Release])?;
        if proxy.contains("::") && direction == Order::Weak {
            return Err("a fence from one proxy to another is `.acquire` or `.release`".into());
        }
        if (direction == Order::Weak) != mods.scope().is_none() {
            return Err("a direction goes with a scope".into());
        }
        if proxy == "tensormap::generic" {
            return Ok(match direction {
                Order::Acquire => FenceOp::MapAcquire,
                _ => FenceOp::MapRelease,
            });
        }
        if !proxy.starts_with("async") {
            return Ok(FenceOp::Other);
        }
        if proxy == "async::generic" {
            let restricted = mods.find(|m| m.strip_prefix("sync_restrict::"));
            if mods.scope() != Some(Scope::Cluster) {
                return Err("a restricted fence is `.cluster`".into());
            }
            return match (direction, restricted) {
                (Order::Acquire, Some("shared::cluster")) => Ok(FenceOp::Acquire),
                (Order::Release, Some("shared::cta")) => Ok(FenceOp::Release { reads: false }),
                (Order::Release, Some("shared::cluster::read")) => {
                    Ok(FenceOp::Release { reads: true })
                }
                _ => {
                    Err("an acquire is restricted to shared::cluster, a release to shared::cta or \
                          shared::cluster::read"
                        .into())
                }
            };
        }
        let shared = mods.find(|m| match m {
            "shared::cta" => Some(Reach::Cta),
            "shared::cluster" => Some(Reach::Cluster),
            _ => None,
        });
        Ok(match (shared, mods.has("global")) {
            (None, false) => FenceOp::Proxy { shared: Some(Reach::Cluster), global: true },
            (shared, global) => FenceOp::Proxy { shared, global },
        })
    }

    pub(super) fn memory(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let orders: (&[Order], bool) = match opcode {
            "ld" | "ldu" => (&[Order::Volatile, Order::Relaxed, Order::Acquire], true),
            "st" => (&[Order::Volatile, Order::Relaxed, Order::Release], true),
            "red" => (&[Order::Relaxed, Order::Release], false),
            _ => (&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel], false),
        };
        let lanes = mods.find(vector);
        let whole = |operand: &Operand| match (lanes, operand) {
            (Some(n), Operand::Vector(parts)) if parts.len() != n => {
                Err(format!("{} registers for `.v{n}`", parts.len()))
            }
            (None, Operand::Vector(parts)) if parts.len() != 1 => {
                Err("no `.v2`, `.v4` or `.v8`".into())
            }
            _ => Ok::<(), String>(()),
        };
        o.iter().try_for_each(whole)?;
        match (opcode, o) {
            ("ld" | "ldu", [d, a, ..]) => {
                let access = self.access(mods, a, orders)?;
                Ok(match d {
                    Operand::Vector(parts) => Op::LdVec {
                        access,
                        d: parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?,
                    },
                    d => Op::Ld { access, d: self.dst(d)? },
                })
            }
            ("st", [a, value, ..]) => {
                let access = self.access(mods, a, orders)?;
                let width = access.bytes * 8;
                Ok(match value {
                    Operand::Vector(parts) => Op::StVec {
                        access,
                        a: parts.iter().map(|p| self.src(p, width)).collect::<Result<_>>()?,
                    },
                    value => Op::St { access, a: self.src(value, width)? },
                })
            }
            ("atom" | "red", _) if lanes.is_some() => {
                let (d, a, b) = match (opcode, o) {
                    ("atom", [Operand::Vector(d), a, Operand::Vector(b), ..]) => (&d[..], a, b),
                    ("red", [a, Operand::Vector(b), ..]) => (&[][..], a, b),
                    _ => return Err("operands".into()),
                };
                let mut access = self.access(mods, a, orders)?;
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
                let mut access = self.access(mods, a, orders)?;
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

fn vector(m: &str) -> Option<usize> {
    match m {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

/// Hints to caches.
pub(super) const CACHES: [&str; 13] = [
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L2::cache_hint",
    "L2::evict_last",
    "L2::evict_normal",
    "L2::evict_first",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2",
];
