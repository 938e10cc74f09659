//! Branches, calls, and what several threads execute together.

use super::*;

impl Decoder<'_> {
    pub(super) fn branch_target(&self, operand: &Operand) -> Result<u32> {
        let Operand::Label(label) = operand else { return Err("not a label".into()) };
        Ok(self.body.labels[label.0 as usize].target as u32)
    }

    pub(super) fn control(
        &mut self,
        opcode: &str,
        mods: &Mods,
        o: &[Operand],
        join: u32,
    ) -> Result<Op> {
        mods.idle(&["uni", "idx"]);
        match (opcode, o) {
            ("bra", [label]) => Ok(Op::Bra { target: self.branch_target(label)?, join }),
            ("brx", [index, Operand::Label(table)]) => {
                let targets = self
                    .body
                    .branch_targets
                    .iter()
                    .find(|t| t.0 == *table)
                    .ok_or("branch targets")?
                    .1
                    .iter()
                    .map(|l| self.body.labels[l.0 as usize].target as u32)
                    .collect();
                Ok(Op::BrxIdx { index: self.src(index, 32)?, targets, join })
            }
            ("call", _) => {
                let (returns, rest) = match o {
                    [Operand::List(returns), rest @ ..] => (&returns[..], rest),
                    rest => (&[][..], rest),
                };
                let (target, args) = match rest {
                    [target, Operand::List(args), ..] => (target, &args[..]),
                    [target] => (target, &[][..]),
                    _ => return Err("operands".into()),
                };
                let target = match target {
                    Operand::Symbol(Symbol::Global(name), _) => {
                        match (&**name, self.names.functions.get(name)) {
                            (_, Some(&f)) => {
                                self.func.callees.push(f);
                                CallTarget::Function(f)
                            }
                            ("vprintf", _) => CallTarget::Vprintf,
                            ("__assertfail", _) => CallTarget::AssertFail,
                            ("malloc", _) => CallTarget::Malloc,
                            ("free", _) => CallTarget::Free,
                            _ => {
                                self.names.unresolved.push(name.clone());
                                CallTarget::Unresolved(self.names.unresolved.len() as u32 - 1)
                            }
                        }
                    }
                    other => {
                        self.func.indirect = true;
                        CallTarget::Indirect(self.src(other, 64)?)
                    }
                };
                let (mut stored, mut loaded) = (Vec::new(), Vec::new());
                let mut places = Vec::new();
                for argument in args {
                    places.push(match argument {
                        Operand::Symbol(Symbol::Local(_), 0) => self.call_slot(argument)?,
                        value => {
                            let value = self.src(value, 64)?;
                            let place = self.place_of_call(value);
                            stored.push((value, place));
                            place
                        }
                    });
                }
                let args = places.into();
                let mut places = Vec::new();
                for result in returns {
                    places.push(match result {
                        Operand::Symbol(Symbol::Local(_), 0) => self.call_slot(result)?,
                        register => {
                            let register = self.dst(register)?;
                            let place = self.place_of_call(register.as_source());
                            loaded.push((register, place));
                            place
                        }
                    });
                }
                let (returns, stored, loaded) = (places.into(), stored.into(), loaded.into());
                Ok(Op::Call(Box::new(Call { target, args, returns, stored, loaded })))
            }
            ("ret", _) => Ok(Op::Ret),
            ("exit", _) => Ok(Op::Exit),
            ("trap" | "brkpt", _) => Ok(Op::Trap),
            _ => Err("operands".into()),
        }
    }

    /// A place in the frame for what stands in the list of a call itself.
    fn place_of_call(&mut self, value: Src) -> (u32, u32) {
        let bytes = match value {
            Src::R32(_) | Src::Sum32(..) => 4,
            Src::Pred(_) | Src::NotPred(_) => 1,
            Src::R128(_) => 16,
            _ => 8,
        };
        let at = self.func.local;
        self.func.local += 16;
        (at, bytes)
    }

    pub(super) fn call_slot(&mut self, operand: &Operand) -> Result<(u32, u32)> {
        match operand {
            Operand::Symbol(Symbol::Local(id), _) => match self.locals[id.0 as usize] {
                Local::Frame(slot) => Ok(slot),
                Local::Module(_) => Err("an argument outside `.param`".into()),
            },
            _ => Err("an argument that is no `.param` variable".into()),
        }
    }

    pub(super) fn collective(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let aligned = mods.has("aligned");
        match opcode {
            "bar" if mods.has("warp") => {
                mods.idle(&["sync"]);
                let [mask] = o else { return Err("operands".into()) };
                let mask = self.src(mask, 32)?;
                Ok(Op::Warp { op: Box::new(WarpOp::Sync), mask, aligned: false })
            }
            "barrier" if mods.has("cluster") => {
                let arrives = mods.has("arrive");
                if arrives == mods.has("wait") {
                    return Err("`.arrive` or `.wait`".into());
                }
                if arrives {
                    let order = mods.order(&[Order::Release, Order::Relaxed])?;
                    Ok(Op::ClusterArrive { aligned, relaxed: order == Order::Relaxed })
                } else {
                    mods.order(&[Order::Acquire])?;
                    Ok(Op::ClusterWait { aligned })
                }
            }
            "bar" | "barrier" => {
                // `bar` means `barrier.cta.aligned`.
                let aligned = aligned || opcode == "bar";
                mods.idle(&["cta"]);
                let (d, mode, rest) = if mods.has("red") {
                    mods.idle(&["popc", "u32", "pred"]);
                    let [d, rest @ .., p] = o else { return Err("operands".into()) };
                    let (p, negated) = match self.src(p, 1)? {
                        Src::Pred(p) => (p, 0),
                        Src::NotPred(p) => (p, 1),
                        // One that is always the same.
                        Src::Imm(value) => (BarMode::LITERAL, u32::from(value == 0)),
                        _ => return Err("predicate".into()),
                    };
                    let p = p << 1 | negated;
                    let mode = match (mods.has("and"), mods.has("or")) {
                        (true, _) => BarMode::RedAnd(p),
                        (_, true) => BarMode::RedOr(p),
                        _ => BarMode::RedPopc(p),
                    };
                    (self.dst(d)?, mode, rest)
                } else if mods.has("arrive") {
                    (Dst::Sink, BarMode::Arrive, o)
                } else if mods.has("sync") {
                    (Dst::Sink, BarMode::Sync, o)
                } else {
                    return Err(String::new());
                };
                let (id, count) = match rest {
                    [id] => (self.src(id, 32)?, None),
                    [id, count] => (self.src(id, 32)?, Some(self.src(count, 32)?)),
                    _ => return Err("operands".into()),
                };
                Ok(Op::Bar { mode, d, id, count, aligned })
            }
            "activemask" => {
                let [d] = o else { return Err("operands".into()) };
                mods.idle(&["b32"]);
                Ok(Op::ActiveMask { d: self.dst(d)? })
            }
            _ if !mods.has("sync") => Err("only the `.sync` form exists on this target".into()),
            "shfl" => {
                mods.idle(&["b32"]);
                let [d, a, b, c, mask] = o else { return Err("operands".into()) };
                let mode = mods
                    .find(|m| {
                        Some(match m {
                            "up" => ShflMode::Up,
                            "down" => ShflMode::Down,
                            "bfly" => ShflMode::Bfly,
                            "idx" => ShflMode::Idx,
                            _ => return None,
                        })
                    })
                    .ok_or("mode")?;
                let (d, p) = self.dst_pair(d)?;
                let [a, b, c] = [self.src(a, 32)?, self.src(b, 32)?, self.src(c, 32)?];
                let op = Box::new(WarpOp::Shfl { mode, d, p, a, b, c });
                Ok(Op::Warp { op, mask: self.src(mask, 32)?, aligned: false })
            }
            "vote" => {
                mods.idle(&["pred", "b32"]);
                let [d, a, mask] = o else { return Err("operands".into()) };
                let mode = mods
                    .find(|m| {
                        Some(match m {
                            "all" => VoteMode::All,
                            "any" => VoteMode::Any,
                            "uni" => VoteMode::Uni,
                            "ballot" => VoteMode::Ballot,
                            _ => return None,
                        })
                    })
                    .ok_or("mode")?;
                let op = Box::new(WarpOp::Vote { mode, d: self.dst(d)?, a: self.src(a, 1)? });
                Ok(Op::Warp { op, mask: self.src(mask, 32)?, aligned: false })
            }
            "match" => {
                let [d, a, mask] = o else { return Err("operands".into()) };
                let width = bits(mods.ty()?);
                let wide = width == 64;
                let a = self.src(a, width)?;
                let op = if mods.has("any") {
                    WarpOp::MatchAny { d: self.dst(d)?, a, wide }
                } else {
                    mods.idle(&["all"]);
                    let (d, p) = self.dst_pair(d)?;
                    WarpOp::MatchAll { d, p, a, wide }
                };
                Ok(Op::Warp { op: Box::new(op), mask: self.src(mask, 32)?, aligned: false })
            }
            "redux" => {
                let [d, a, mask] = o else { return Err("operands".into()) };
                let ty = mods.ty()?;
                let float = matches!(ty, Scalar::Float(_));
                let (abs, nan) = (mods.has("abs"), mods.has("NaN"));
                let f = mods
                    .find(|m| {
                        Some(match (m, float, mods.signed()) {
                            ("add", ..) => ReduxFn::Add,
                            ("min", true, _) => ReduxFn::MinF { abs, nan },
                            ("max", true, _) => ReduxFn::MaxF { abs, nan },
                            ("min", _, false) => ReduxFn::MinU,
                            ("min", _, true) => ReduxFn::MinS,
                            ("max", _, false) => ReduxFn::MaxU,
                            ("max", _, true) => ReduxFn::MaxS,
                            ("and", ..) => ReduxFn::And,
                            ("or", ..) => ReduxFn::Or,
                            ("xor", ..) => ReduxFn::Xor,
                            _ => return None,
                        })
                    })
                    .ok_or("operation")?;
                let op = Box::new(WarpOp::Redux { f, d: self.dst(d)?, a: self.src(a, 32)? });
                Ok(Op::Warp { op, mask: self.src(mask, 32)?, aligned: false })
            }
            "elect" => {
                let [d, mask] = o else { return Err("operands".into()) };
                let (d, p) = self.dst_pair(d)?;
                let op = Box::new(WarpOp::Elect { d, p });
                Ok(Op::Warp { op, mask: self.src(mask, 32)?, aligned: false })
            }
            _ => Err(String::new()),
        }
    }
}
