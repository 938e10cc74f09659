//! Barriers in memory and asynchronous copies.

use super::memory::CACHES;
use super::*;
use crate::async_ops::TileMode;

impl Decoder<'_> {
    pub(super) fn mbarrier(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods.has("layout::v1") || mods.has("check_layout") {
            return Err("the second layout of mbarriers is not executed".into());
        }
        let cluster = mods.has("shared::cluster");
        let action = mods.first();
        mods.idle(&["b64", "shared", "shared::cta", "layout::v0"]);
        let op = match (action, o) {
            ("init", [a, n]) => {
                MbarrierOp::Init { addr: self.shared_addr(mods, a)?, count: self.src(n, 32)? }
            }
            ("inval", [a]) => MbarrierOp::Inval { addr: self.shared_addr(mods, a)? },
            ("arrive" | "arrive_drop", _) => {
                let (state, rest) = match o {
                    [Operand::Address(_), ..] => (Dst::Sink, o),
                    [d, rest @ ..] => (self.dst(d)?, rest),
                    [] => return Err("operands".into()),
                };
                let (a, amount) = match rest {
                    [a] => (a, None),
                    [a, n] => (a, Some(self.src(n, 32)?)),
                    _ => return Err("operands".into()),
                };
                let expects = mods.has("expect_tx");
                let (relaxed, scope) = mods.barrier_order(Order::Release)?;
                MbarrierOp::Arrive {
                    addr: self.shared_addr(mods, a)?,
                    remote: cluster,
                    relaxed,
                    scope,
                    count: if expects { None } else { amount },
                    tx: if expects { amount } else { None },
                    state,
                    drop: action == "arrive_drop",
                    no_complete: mods.has("noComplete"),
                }
            }
            ("expect_tx" | "complete_tx", [a, n]) => {
                let (_, scope) = mods.barrier_order(Order::Relaxed)?;
                MbarrierOp::Tx {
                    addr: self.shared_addr(mods, a)?,
                    amount: self.src(n, 32)?,
                    scope,
                    complete: action == "complete_tx",
                }
            }
            ("test_wait" | "try_wait", [d, a, phase, ..]) => {
                let parity = mods.has("parity");
                let (relaxed, scope) = mods.barrier_order(Order::Acquire)?;
                MbarrierOp::Wait {
                    blocking: action == "try_wait",
                    parity,
                    d: self.dst(d)?,
                    addr: self.shared_addr(mods, a)?,
                    relaxed,
                    scope,
                    phase: self.src(phase, if parity { 32 } else { 64 })?,
                }
            }
            ("pending_count", [d, state]) => {
                MbarrierOp::PendingCount { d: self.dst(d)?, state: self.src(state, 64)? }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Mbarrier(Box::new(op)))
    }

    pub(super) fn copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let has = |m: &str| mods.has(m);
        if !has("async") {
            return Err(String::new());
        }
        let number = |o: &Operand| match o {
            Operand::Int(n) => Ok(*n as u32),
            _ => Err(String::from("the number of groups must be a literal")),
        };
        mods.idle(&["shared", "shared::cta", "shared::cluster", "global", "tensor"]);
        mods.each(|m| CACHES.contains(&m).then_some(()));
        let op = if has("bulk") {
            mods.idle(&["bulk_group", "mbarrier::complete_tx::bytes", "noftz"]);
            if has("commit_group") {
                AsyncOp::BulkCommit
            } else if has("wait_group") {
                let [n] = o else { return Err("operands".into()) };
                AsyncOp::BulkWait { groups: number(n)?, read: has("read") }
            } else if has("prefetch") {
                mods.each(|m| is_dimension(m).then_some(()));
                // It moves nothing that a program sees, whatever the mode.
                mods.idle(&["tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128"]);
                return Ok(Op::Nop);
            } else if has("tensor") {
                return self.tensor_copy(mods, o);
            } else {
                return self.bulk_copy(mods, o);
            }
        } else if has("commit_group") {
            AsyncOp::SmallCommit
        } else if has("wait_group") {
            let [n] = o else { return Err("operands".into()) };
            AsyncOp::SmallWait { groups: number(n)? }
        } else if has("wait_all") {
            AsyncOp::SmallWaitAll
        } else if has("mbarrier") {
            let [a] = o else { return Err("operands".into()) };
            mods.idle(&["arrive", "b64"]);
            AsyncOp::SmallArrive { addr: self.shared_addr(mods, a)?, no_increment: has("noinc") }
        } else {
            let cached = mods.find(|m| matches!(m, "ca" | "cg").then_some(m));
            let cached = cached.ok_or("`.ca` or `.cg`")?;
            let [dst, src, Operand::Int(bytes), rest @ ..] = o else {
                return Err("operands".into());
            };
            if !matches!((cached, bytes), ("ca", 4 | 8) | (_, 16)) {
                return Err(format!("`.{cached}` does not copy {bytes} bytes"));
            }
            let size = match rest {
                [Operand::Register(id), ..] => match self.slot_src(*id) {
                    Src::Pred(_) => {
                        return Err(
                            "copies whose source a predicate ignores are not executed".into()
                        );
                    }
                    size => Some(size),
                },
                [Operand::Int(n), ..] => Some(Src::Imm(*n as u64)),
                _ => None,
            };
            AsyncOp::Small {
                dst: self.addr(dst)?,
                src: self.addr(src)?,
                bytes: *bytes as u32,
                size,
            }
        };
        Ok(Op::Async(Box::new(op)))
    }

    /// Which way a bulk copy goes: destination, then source, in the order of the modifiers.
    pub(super) fn direction(mods: &Mods) -> Result<(MemSpace, MemSpace)> {
        let spaces = mods.each(|m| {
            Some(match m {
                "global" => MemSpace::Global,
                "shared::cta" => MemSpace::Shared,
                "shared::cluster" => MemSpace::SharedCluster,
                _ => return None,
            })
        });
        match spaces[..] {
            [to, from] => Ok((to, from)),
            _ => Err("two state spaces".into()),
        }
    }

    pub(super) fn bulk_copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods.has("ignore_oob") {
            return Err("copies of which parts lie out of bounds are not executed".into());
        }
        let (to, from) = Self::direction(mods)?;
        let reduce = mods.has("reduce");
        let op = match (to, o) {
            (MemSpace::Shared | MemSpace::SharedCluster, [dst, src, bytes, bar, rest @ ..]) => {
                let multicast = match rest {
                    [mask, ..] if mods.has("multicast::cluster") => Some(self.src(mask, 16)?),
                    _ => None,
                };
                AsyncOp::BulkIn {
                    dst: self.addr(dst)?,
                    src: self.addr(src)?,
                    from,
                    bytes: self.src(bytes, 32)?,
                    bar: self.addr(bar)?,
                    multicast,
                    reduce: self.reducing(reduce, mods)?,
                }
            }
            (MemSpace::Global, [dst, src, bytes, rest @ ..]) => {
                let mask = match rest.last() {
                    Some(mask) if mods.has("cp_mask") => Some(self.src(mask, 16)?),
                    _ => None,
                };
                AsyncOp::BulkOut {
                    dst: self.addr(dst)?,
                    src: self.addr(src)?,
                    bytes: self.src(bytes, 32)?,
                    reduce: self.reducing(reduce, mods)?,
                    mask,
                }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Async(Box::new(op)))
    }

    pub(super) fn tensor_copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        mods.each(|m| is_dimension(m).then_some(()));
        mods.idle(&["multicast::cluster", "cta_group::1"]);
        let (to, _) = Self::direction(mods)?;
        let op = match (to, o) {
            (MemSpace::Shared | MemSpace::SharedCluster, [dst, map, bar, rest @ ..]) => {
                let (map, coordinates) = self.tensor_addr(map)?;
                let (mode, rest) = match (Self::tile_mode(mods)?, rest) {
                    (TileMode::Im2col(_), [Operand::Vector(offsets), rest @ ..]) => {
                        let offsets =
                            offsets.iter().map(|o| self.src(o, 16)).collect::<Result<_>>()?;
                        (TileMode::Im2col(offsets), rest)
                    }
                    (mode, rest) => (mode, rest),
                };
                let multicast = match rest {
                    [mask, ..] if mods.has("multicast::cluster") => Some(self.src(mask, 16)?),
                    _ => None,
                };
                AsyncOp::TensorIn {
                    dst: self.addr(dst)?,
                    map,
                    coordinates,
                    bar: self.addr(bar)?,
                    multicast,
                    mode,
                    pair: mods.has("cta_group::2"),
                }
            }
            (MemSpace::Global, [map, src, ..]) => {
                let (map, coordinates) = self.tensor_addr(map)?;
                let reduce = if mods.has("reduce") {
                    // The type comes from the map.
                    mods.find(|m| {
                        matches!(m, "add" | "min" | "max" | "and" | "or" | "xor" | "inc" | "dec")
                            .then(|| Box::<str>::from(m))
                    })
                } else {
                    None
                };
                let mode = Self::tile_mode(mods)?;
                AsyncOp::TensorOut { map, coordinates, src: self.addr(src)?, reduce, mode }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Async(Box::new(op)))
    }

    /// Function and size of the elements of a copy that reduces.
    fn reducing(&self, reduce: bool, mods: &Mods) -> Result<Option<(AtomFn, u8)>> {
        if !reduce {
            return Ok(None);
        }
        let ty = mods.last();
        let width = bits(scalar(ty).ok_or("type")?) / 8;
        Ok(Some((Self::atomic(mods, ty)?, width)))
    }

    fn tile_mode(mods: &Mods) -> Result<TileMode> {
        let mode = mods.find(|m| {
            Some(match m {
                "tile" => TileMode::Tile,
                "im2col" | "im2col_no_offs" => TileMode::Im2col(Box::default()),
                "tile::gather4" | "tile::scatter4" => TileMode::FourRows,
                _ => return None,
            })
        });
        let other = mods
            .find(|m| (m.starts_with("im2col::") || m.starts_with("tile::")).then(|| m.to_owned()));
        match (mode, other) {
            (Some(mode), _) => Ok(mode),
            (None, Some(other)) => Err(format!("the mode `{other}` is not executed")),
            (None, None) => Ok(TileMode::Tile),
        }
    }
}

fn is_dimension(m: &str) -> bool {
    matches!(m, "1d" | "2d" | "3d" | "4d" | "5d")
}
