//! Arithmetic, logic, comparison and selection.

use super::*;

/// `.xorsign.abs`: of magnitudes, with the sign of the product.
fn xor_sign(opcode: &str, mods: &Mods) -> FloatFn {
    match (opcode, mods.has("NaN")) {
        ("min", false) => FloatFn::MinXorSign,
        ("min", true) => FloatFn::MinNanXorSign,
        (_, false) => FloatFn::MaxXorSign,
        (_, true) => FloatFn::MaxNanXorSign,
    }
}

impl Decoder<'_> {
    pub(super) fn arithmetic(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        match mods.pair() {
            Some(ty @ ("u16x2" | "s16x2")) => return self.halves(opcode, ty, mods, o),
            Some(ty) => return self.packed(opcode, ty, mods, o),
            None => {}
        }
        let ty = mods.ty()?;
        let b = bits(ty);
        if let ("lop3", [Operand::Pair(d, p), x, y, z, Operand::Int(table), q]) = (opcode, o) {
            let combine = match (mods.has("and"), mods.has("or")) {
                (true, false) => BoolFn::And,
                (false, true) => BoolFn::Or,
                _ => return Err("`.and` or `.or`".into()),
            };
            return Ok(Op::Lop3With(Box::new(Lop3With {
                table: *table as u8,
                combine,
                d: self.dst(d)?,
                p: self.dst(p)?,
                words: [self.src(x, 32)?, self.src(y, 32)?, self.src(z, 32)?],
                q: self.src(q, 1)?,
            })));
        }
        let (d, rest) = o.split_first().ok_or("operands")?;
        let d = self.dst(d)?;
        if let Scalar::Float(float) = ty {
            let sources: Vec<Src> = rest.iter().map(|r| self.src(r, b)).collect::<Result<_>>()?;
            let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
            if mods.each(scalar).len() > 1 {
                return Err("operands of different precision are not executed".into());
            }
            if mods.has("oob") {
                return Err("`.oob` is not executed".into());
            }
            let three = sources.len() == 3;
            let approximate = mods.has("approx");
            mods.idle(&["full"]);
            let f = match opcode {
                "add" => FloatFn::Add,
                "sub" => FloatFn::Sub,
                "mul" => FloatFn::Mul,
                "fma" | "mad" => FloatFn::Fma,
                "div" => FloatFn::Div,
                "neg" => FloatFn::Neg,
                "abs" => FloatFn::Abs,
                "min" | "max" if mods.has("xorsign") => {
                    mods.idle(&["abs"]);
                    xor_sign(opcode, mods)
                }
                "min" if mods.has("NaN") && three => FloatFn::Min3Nan,
                "max" if mods.has("NaN") && three => FloatFn::Max3Nan,
                "min" if three => FloatFn::Min3,
                "max" if three => FloatFn::Max3,
                "min" if mods.has("NaN") => FloatFn::MinNan,
                "max" if mods.has("NaN") => FloatFn::MaxNan,
                "min" => FloatFn::Min,
                "max" => FloatFn::Max,
                "sqrt" => FloatFn::Sqrt,
                "rsqrt" => FloatFn::Rsqrt,
                "rcp" => FloatFn::Rcp,
                "ex2" => FloatFn::Ex2,
                "lg2" => FloatFn::Lg2,
                "sin" => FloatFn::Sin,
                "cos" => FloatFn::Cos,
                "tanh" => FloatFn::Tanh,
                "copysign" => FloatFn::CopySign,
                _ => return Err(String::new()),
            };
            let r = mods.rounding().unwrap_or(Rounding::NearestEven);
            let r = if approximate { Rounding::NearestEven } else { r };
            let (ftz, clamp) = (mods.has("ftz"), clamp(mods));
            return Ok(Op::Float { f, ty: float, r, ftz, clamp, d, a: at(0), b: at(1), c: at(2) });
        }
        let Scalar::Int(b, signed) = ty else { return Err(String::new()) };
        if b == 1 {
            let (a, second) = match rest {
                [a] => (self.src(a, 1)?, Src::Imm(1)),
                [a, b] => (self.src(a, 1)?, self.src(b, 1)?),
                _ => return Err("operands".into()),
            };
            let f = match opcode {
                "and" => BoolFn::And,
                "or" => BoolFn::Or,
                "xor" | "not" => BoolFn::Xor,
                _ => return Err(String::new()),
            };
            return Ok(Op::Pred { f, d, a, b: second });
        }
        let w = mods.width()?;
        // Amounts of shifts and fields are 32 bits wide.
        let narrow = matches!(opcode, "shl" | "shr" | "bfe" | "bfi" | "szext" | "bmsk" | "fns");
        let sources: Vec<Src> = rest
            .iter()
            .enumerate()
            .map(|(i, r)| self.src(r, if narrow && i > 0 && opcode != "bfi" { 32 } else { b }))
            .collect::<Result<_>>()?;
        let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
        let pick = |u: IntFn, s: IntFn| if signed { s } else { u };
        let (cc, sat) = (mods.has("cc"), mods.has("sat"));
        if matches!(opcode, "bmsk" | "szext") {
            mods.idle(&["wrap"]);
        }
        let f = match opcode {
            "add" | "addc" | "sub" | "subc" if cc || opcode.ends_with('c') => {
                return Ok(Op::Carry {
                    w,
                    subtract: opcode.starts_with("sub"),
                    carry_in: opcode.ends_with('c'),
                    carry_out: cc,
                    d,
                    a: at(0),
                    b: at(1),
                });
            }
            "mad" | "madc" if cc || opcode == "madc" => {
                mods.idle(&["lo"]);
                return Ok(Op::MadCarry {
                    w,
                    hi: mods.has("hi"),
                    signed,
                    carry_in: opcode == "madc",
                    carry_out: cc,
                    d,
                    abc: Box::new([at(0), at(1), at(2)]),
                });
            }
            "mul" | "mad" if mods.has("wide") => {
                let c = (opcode == "mad").then(|| at(2));
                return Ok(Op::Wide { signed, w, d, a: at(0), b: at(1), c });
            }
            "bfi" => {
                let abcd = Box::new([at(0), at(1), at(2), at(3)]);
                return Ok(Op::Bfi { w, d, abcd });
            }
            "mad" if mods.has("hi") && sat => IntFn::MadHiSatS,
            "mul24" if mods.has("hi") => pick(IntFn::Mul24HiU, IntFn::Mul24HiS),
            "min" if mods.has("relu") => IntFn::MinRelu,
            "max" if mods.has("relu") => IntFn::MaxRelu,
            "fns" => IntFn::Fns,
            "bmsk" => IntFn::Bmsk(mods.has("clamp")),
            "szext" => IntFn::Szext(signed, mods.has("clamp")),
            "add" if sat => IntFn::AddSatS,
            "sub" if sat => IntFn::SubSatS,
            "add" => IntFn::Add,
            "sub" => IntFn::Sub,
            "mul" if mods.has("hi") => pick(IntFn::MulHiU, IntFn::MulHiS),
            "mad" if mods.has("hi") => pick(IntFn::MadHiU, IntFn::MadHiS),
            "mul" | "mad" if !mods.has("lo") => return Err("`.hi`, `.lo` or `.wide`".into()),
            "mul" => IntFn::Mul,
            "mad" => IntFn::Mad,
            "mul24" if mods.has("lo") => pick(IntFn::Mul24U, IntFn::Mul24S),
            "div" => pick(IntFn::DivU, IntFn::DivS),
            "rem" => pick(IntFn::RemU, IntFn::RemS),
            "neg" => IntFn::Neg,
            "abs" => IntFn::Abs,
            "min" => pick(IntFn::MinU, IntFn::MinS),
            "max" => pick(IntFn::MaxU, IntFn::MaxS),
            "and" => IntFn::And,
            "or" => IntFn::Or,
            "xor" => IntFn::Xor,
            "not" => IntFn::Not,
            "cnot" => IntFn::Cnot,
            "shl" => IntFn::Shl,
            "shr" => pick(IntFn::ShrU, IntFn::ShrS),
            "popc" => IntFn::Popc,
            "clz" => IntFn::Clz,
            "brev" => IntFn::Brev,
            "bfind" if mods.has("shiftamt") => pick(IntFn::BfindShiftU, IntFn::BfindShiftS),
            "bfind" => pick(IntFn::BfindU, IntFn::BfindS),
            "bfe" => pick(IntFn::BfeU, IntFn::BfeS),
            "sad" => pick(IntFn::SadU, IntFn::SadS),
            "lop3" => {
                let Src::Imm(table) = at(3) else { return Err("truth table".into()) };
                IntFn::Lop3(table as u8)
            }
            "prmt" => IntFn::Prmt(
                mods.find(|m| {
                    Some(match m {
                        "f4e" => PrmtMode::F4e,
                        "b4e" => PrmtMode::B4e,
                        "rc8" => PrmtMode::Rc8,
                        "ecl" => PrmtMode::Ecl,
                        "ecr" => PrmtMode::Ecr,
                        "rc16" => PrmtMode::Rc16,
                        _ => return None,
                    })
                })
                .unwrap_or(PrmtMode::Index),
            ),
            "shf" => match (mods.has("l"), mods.has("wrap")) {
                _ if mods.has("r") && mods.has("l") => return Err("`.l` or `.r`".into()),
                (true, false) | (false, false) if !mods.has("clamp") => {
                    return Err("`.clamp` or `.wrap`".into());
                }
                (true, true) => IntFn::FunnelLeftWrap,
                (true, false) => IntFn::FunnelLeftClamp,
                (false, true) => IntFn::FunnelRightWrap,
                (false, false) => IntFn::FunnelRightClamp,
            },
            "vabsdiff2" | "vabsdiff4"
                if !sat && mods.each(scalar).iter().all(|ty| *ty == Scalar::Int(32, false)) =>
            {
                // A mask would stand behind an operand, and has no register of its own.
                let bits = if opcode == "vabsdiff2" { 16 } else { 8 };
                IntFn::AbsDiff(bits, false, mods.has("add"))
            }
            "dp4a" | "dp2a" => {
                let low = opcode == "dp2a" && mods.has("lo");
                if opcode == "dp2a" && low == mods.has("hi") {
                    return Err("`.lo` or `.hi`".into());
                }
                let signs = mods.each(|m| matches!(m, "u32" | "s32").then_some(m == "s32"));
                let [x, y] = signs[..] else { return Err("types".into()) };
                if opcode == "dp4a" { IntFn::Dp4a(x, y) } else { IntFn::Dp2a(!low, x, y) }
            }
            _ => return Err(String::new()),
        };
        let saturates = matches!(f, IntFn::AddSatS | IntFn::SubSatS | IntFn::MadHiSatS);
        if sat && !(saturates && signed && b == 32) {
            return Err("`.sat` goes with `.s32`".into());
        }
        if cc {
            return Err("`.cc` is not known here".into());
        }
        // `popc`, `clz` and `bfind` of 64 bits give 32.
        Ok(Op::Int { f, w, d, a: at(0), b: at(1), c: at(2) })
    }

    fn packed(&mut self, opcode: &str, ty: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let (ty, bits) = match ty {
            "f16x2" => (Float::F16, 32),
            "f32x2" => (Float::F32, 64),
            _ => (Float::Bf16, 32),
        };
        let f = match opcode {
            "add" => FloatFn::Add,
            "sub" => FloatFn::Sub,
            "mul" => FloatFn::Mul,
            "fma" => FloatFn::Fma,
            "neg" => FloatFn::Neg,
            "abs" => FloatFn::Abs,
            "min" | "max" if mods.has("xorsign") => {
                mods.idle(&["abs"]);
                xor_sign(opcode, mods)
            }
            "min" if mods.has("NaN") => FloatFn::MinNan,
            "max" if mods.has("NaN") => FloatFn::MaxNan,
            "min" => FloatFn::Min,
            "max" => FloatFn::Max,
            "ex2" if mods.has("approx") => FloatFn::Ex2,
            "tanh" if mods.has("approx") => FloatFn::Tanh,
            _ => return Err(String::new()),
        };
        let (d, rest) = o.split_first().ok_or("operands")?;
        let d = self.dst(d)?;
        let sources: Vec<Src> = rest.iter().map(|r| self.src(r, bits)).collect::<Result<_>>()?;
        let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
        let r = mods.rounding().unwrap_or(Rounding::NearestEven);
        if mods.has("oob") {
            return Err("`.oob` is not executed".into());
        }
        let (ftz, clamp) = (mods.has("ftz"), clamp(mods));
        Ok(Op::Packed { f, ty, r, ftz, clamp, d, a: at(0), b: at(1), c: at(2) })
    }

    /// Integers of 16 bits, two at once.
    fn halves(&mut self, opcode: &str, ty: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let signed = ty == "s16x2";
        let f = match (opcode, mods.has("sat"), signed) {
            ("add", false, _) => HalfFn::Add,
            ("add", true, false) => HalfFn::AddSatU,
            ("add", true, true) => HalfFn::AddSatS,
            ("sub", false, _) => HalfFn::Sub,
            ("sub", true, false) => HalfFn::SubSatU,
            ("sub", true, true) => HalfFn::SubSatS,
            ("min", _, true) if mods.has("relu") => HalfFn::MinRelu,
            ("max", _, true) if mods.has("relu") => HalfFn::MaxRelu,
            ("min", _, false) => HalfFn::MinU,
            ("min", _, true) => HalfFn::MinS,
            ("max", _, false) => HalfFn::MaxU,
            ("max", _, true) => HalfFn::MaxS,
            ("neg", ..) => HalfFn::Neg,
            _ => return Err(String::new()),
        };
        let [d, a, rest @ ..] = o else { return Err("operands".into()) };
        let b = match rest {
            [b] => self.src(b, 32)?,
            _ => UNUSED,
        };
        let (d, a) = (self.dst(d)?, self.src(a, 32)?);
        Ok(Op::Int { f: IntFn::Halves(f), w: Width::W32, d, a, b, c: UNUSED })
    }

    pub(super) fn select(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        match opcode {
            "setp" | "set" => {
                mods.idle(&["ftz"]);
                let cmp = mods.find(compare).ok_or("comparison")?;
                let pair = match mods.last() {
                    "f16x2" => Some(Float::F16),
                    "bf16x2" => Some(Float::Bf16),
                    _ => None,
                };
                let combine = mods.find(|m| {
                    Some(match m {
                        "and" => BoolFn::And,
                        "or" => BoolFn::Or,
                        "xor" => BoolFn::Xor,
                        _ => return None,
                    })
                });
                let [d, a, b, rest @ ..] = o else { return Err("operands".into()) };
                if let Some(ty) = pair {
                    let combine = match (combine, rest) {
                        (Some(f), [c]) => Some((f, self.src(c, 1)?)),
                        (None, []) => None,
                        _ => return Err("operands".into()),
                    };
                    let (a, b) = (self.src(a, 32)?, self.src(b, 32)?);
                    if opcode == "setp" {
                        let (d, q) = self.dst_pair(d)?;
                        return Ok(Op::SetpPair { cmp, ty, d, q, a, b, combine });
                    }
                    let whole = mods.find(|m| matches!(m, "u32" | "s32").then_some(0xFFFF));
                    let one = match ty {
                        Float::Bf16 => 0x3F80,
                        _ => 0x3C00,
                    };
                    let d = self.dst(d)?;
                    let one = if let Some(ones) = whole {
                        ones
                    } else if mods.pair().is_some() {
                        one
                    } else {
                        return Err("type".into());
                    };
                    return Ok(Op::SetPair { cmp, ty, one, d, a, b, combine });
                }
                let ty = mods.ty()?;
                let (a, b) = (self.src(a, bits(ty))?, self.src(b, bits(ty))?);
                let combine = match (combine, rest) {
                    (Some(f), [c]) => Some((f, self.src(c, 1)?)),
                    (None, []) => None,
                    _ => return Err("operands".into()),
                };
                // `lo`, `ls`, `hi` and `hs` compare without sign whatever the type says.
                let ty = match ty {
                    Scalar::Int(bits, _) if mods.find(unsigned_compare).is_some() => {
                        Scalar::Int(bits, false)
                    }
                    ty => ty,
                };
                if opcode == "setp" {
                    let (d, q) = self.dst_pair(d)?;
                    let ftz = mods.has("ftz");
                    return Ok(Op::Setp { cmp, ty, ftz, d, q, a, b, combine });
                }
                let to = mods.find(scalar).ok_or("type")?;
                Ok(Op::Set { cmp, ty, to, d: self.dst(d)?, a, b, combine })
            }
            "selp" => {
                let [d, a, b, p] = o else { return Err("operands".into()) };
                let width = bits(mods.ty()?);
                Ok(Op::Selp {
                    wide: width == 64,
                    d: self.dst(d)?,
                    a: self.src(a, width)?,
                    b: self.src(b, width)?,
                    p: self.src(p, 1)?,
                })
            }
            "slct" => {
                mods.idle(&["ftz"]);
                let [d, a, b, c] = o else { return Err("operands".into()) };
                let first = mods.find(scalar).ok_or("type")?;
                Ok(Op::Slct {
                    ty: mods.ty()?,
                    wide: bits(first) == 64,
                    d: self.dst(d)?,
                    a: self.src(a, bits(first))?,
                    b: self.src(b, bits(first))?,
                    c: self.src(c, 32)?,
                })
            }
            _ => {
                let [d, a] = o else { return Err("operands".into()) };
                let Scalar::Float(ty) = mods.ty()? else { return Err("type".into()) };
                let property = mods
                    .find(|m| {
                        Some(match m {
                            "finite" => TestProperty::Finite,
                            "infinite" => TestProperty::Infinite,
                            "number" => TestProperty::Number,
                            "notanumber" => TestProperty::NotANumber,
                            "normal" => TestProperty::Normal,
                            "subnormal" => TestProperty::Subnormal,
                            _ => return None,
                        })
                    })
                    .ok_or("property")?;
                let a = self.src(a, bits(Scalar::Float(ty)))?;
                Ok(Op::TestP { property, ty, d: self.dst(d)?, a })
            }
        }
    }
}

fn clamp(mods: &Mods) -> Clamp {
    match (mods.has("sat"), mods.has("relu")) {
        (true, _) => Clamp::Unit,
        (_, true) => Clamp::Relu,
        _ => Clamp::Nothing,
    }
}

fn compare(m: &str) -> Option<Compare> {
    Some(match m {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" => Compare::Equ,
        "neu" => Compare::Neu,
        "ltu" => Compare::Ltu,
        "leu" => Compare::Leu,
        "gtu" => Compare::Gtu,
        "geu" => Compare::Geu,
        "num" => Compare::Num,
        "nan" => Compare::Nan,
        _ => return None,
    })
}

fn unsigned_compare(m: &str) -> Option<()> {
    matches!(m, "lo" | "ls" | "hi" | "hs").then_some(())
}
