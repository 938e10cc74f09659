//! The parsed module to the decoded program.
//!
//! Each mnemonic is read here once; what is not known becomes [`Op::Unknown`], which is an error
//! only when it is executed.

use crate::async_ops::{AsyncOp, MbarrierOp};
use crate::detect::{FenceOp, Order};
use crate::flow;
use crate::ir::*;
use crate::tensor::{self, TensorOp};
use crate::value::{Float, Format, Rounding};
use baton_ptx as ptx;
use ptx::{Operand, Symbol, TypeKind};
use std::collections::HashMap;

/// Why an instruction is not known.
type Result<T, E = String> = std::result::Result<T, E>;

/// A variable of the module, or one declared in static space inside a function.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub name: Box<str>,
    pub space: ptx::Space,
    pub align: u32,
    /// `None`: dynamic shared memory.
    pub bytes: Option<u64>,
    pub ty: ptx::Type,
    pub init: Vec<ptx::Initial>,
    /// Declared `.extern` with a length: nothing here defines it.
    pub undefined: bool,
}

/// What an instruction may name: the functions and variables of the module.
pub(crate) struct Names {
    pub functions: HashMap<Box<str>, u32>,
    pub variables: HashMap<Box<str>, u32>,
    /// Names that nothing defines, by number; calls to them fail when executed.
    pub unresolved: Vec<Box<str>>,
    pub vars: Vec<Var>,
}

#[derive(Clone, Copy)]
enum Slot {
    P(u32),
    R16(u32),
    R32(u32),
    R64(u32),
    R128(u32),
}

fn round_up(n: u32, align: u32) -> u32 {
    n.div_ceil(align.max(1)) * align.max(1)
}

pub(crate) fn var(v: &ptx::Variable) -> Var {
    let dynamic = v.space == ptx::Space::Shared && v.bytes.is_none();
    Var {
        name: v.name.clone(),
        space: v.space,
        align: v.align,
        bytes: if dynamic { None } else { Some(v.bytes.unwrap_or(0)) },
        ty: v.ty,
        init: v.init.clone(),
        undefined: v.linkage == ptx::Linkage::Extern && !dynamic,
    }
}

/// Decodes one function that has a body.
pub(crate) fn function(
    module: &ptx::Module,
    function: &ptx::Function,
    body: &ptx::Body,
    names: &mut Names,
) -> Func {
    let entry = function.kind == ptx::FunctionKind::Entry;
    let mut func = Func {
        name: function.name.clone(),
        code: Vec::with_capacity(body.instructions.len() + 1),
        n32: 0,
        n64: 0,
        np: 0,
        local: 0,
        params: Vec::new(),
        returns: Vec::new(),
        shared: Vec::new(),
        callees: Vec::new(),
        indirect: false,
    };
    let slots = body
        .registers
        .iter()
        .map(|r| {
            let lanes = u32::from(r.lanes);
            let take = |n: &mut u32, by: u32| {
                let slot = *n;
                *n += by * lanes;
                slot
            };
            match (r.ty.kind, r.ty.bits) {
                (TypeKind::Predicate, _) => Slot::P(take(&mut func.np, 1)),
                (_, 0..=16) => Slot::R16(take(&mut func.n32, 1)),
                (_, 17..=32) => Slot::R32(take(&mut func.n32, 1)),
                (_, 33..=64) => Slot::R64(take(&mut func.n64, 1)),
                _ => Slot::R128(take(&mut func.n64, 2)),
            }
        })
        .collect();
    let place = |bytes: u32, align: u32, local: &mut u32| {
        let at = round_up(*local, align);
        *local = at + bytes;
        (at, bytes)
    };
    if entry {
        let mut size = 0;
        for p in &function.params {
            func.params.push(place(p.bytes as u32, p.align, &mut size));
        }
    } else {
        for p in &function.returns {
            func.returns.push(place(p.bytes as u32, p.align, &mut func.local));
        }
        for p in &function.params {
            func.params.push(place(p.bytes as u32, p.align, &mut func.local));
        }
    }
    let locals = body
        .variables
        .iter()
        .map(|v| match v.space {
            ptx::Space::Local | ptx::Space::Param | ptx::Space::Reg => {
                Local::Frame(place(v.bytes.unwrap_or(0) as u32, v.align, &mut func.local))
            }
            _ => {
                names.vars.push(var(v));
                Local::Module(names.vars.len() as u32 - 1)
            }
        })
        .collect();
    func.local = round_up(func.local, 16);
    let mut d = Decoder { body, names, slots, locals, entry, func };
    let joins = flow::reconvergence(body);
    for (i, instruction) in body.instructions.iter().enumerate() {
        let op = d.op(instruction, joins.of_branch[i]).unwrap_or_else(|why| {
            let text = module.text(instruction);
            Op::Unknown(if why.is_empty() { text } else { format!("{text} ({why})") }.into())
        });
        let guard = instruction.guard.map_or(0, |g| match d.slots[g.register.0 as usize] {
            Slot::P(slot) => (slot << 1 | u32::from(g.negated)) + 1,
            _ => 0,
        });
        let line = instruction.line;
        d.func.code.push(Inst { guard, join_point: joins.is_join[i], line, op });
    }
    // Falling off the end is a return.
    let line = module.source[..body.span.end].matches('\n').count() as u32 + 1;
    let join_point = joins.is_join[body.instructions.len()];
    d.func.code.push(Inst { guard: 0, join_point, line, op: Op::Ret });
    d.func
}

enum Local {
    Frame((u32, u32)),
    Module(u32),
}

struct Decoder<'m> {
    body: &'m ptx::Body,
    names: &'m mut Names,
    slots: Vec<Slot>,
    locals: Vec<Local>,
    entry: bool,
    func: Func,
}

/// The modifiers of an instruction.
struct Mods<'i> {
    all: Vec<&'i str>,
}

impl<'i> Mods<'i> {
    fn has(&self, m: &str) -> bool {
        self.all.contains(&m)
    }

    fn find<T>(&self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.all.iter().find_map(|m| f(m))
    }

    fn last(&self) -> &'i str {
        self.all.last().copied().unwrap_or("")
    }

    /// The last type.
    fn ty(&self) -> Result<Scalar> {
        self.all.iter().rev().find_map(|m| scalar(m)).ok_or_else(|| "no type".into())
    }

    fn width(&self) -> Result<Width> {
        match self.ty()? {
            Scalar::Int(16, _) => Ok(Width::W16),
            Scalar::Int(32, _) => Ok(Width::W32),
            Scalar::Int(64, _) => Ok(Width::W64),
            _ => Err("width".into()),
        }
    }

    fn signed(&self) -> bool {
        matches!(self.ty(), Ok(Scalar::Int(_, true)))
    }

    fn order(&self) -> Order {
        self.find(|m| {
            Some(match m {
                "volatile" => Order::Volatile,
                "relaxed" | "mmio" => Order::Relaxed,
                "acquire" => Order::Acquire,
                "release" => Order::Release,
                "acq_rel" => Order::AcqRel,
                _ => return None,
            })
        })
        .unwrap_or_default()
    }

    fn scope(&self, otherwise: Scope) -> Scope {
        self.find(|m| {
            Some(match m {
                "cta" => Scope::Cta,
                "cluster" => Scope::Cluster,
                "gpu" | "gl" => Scope::Gpu,
                "sys" => Scope::Sys,
                _ => return None,
            })
        })
        .unwrap_or(otherwise)
    }

    fn rounding(&self) -> Option<Rounding> {
        self.find(|m| {
            Some(match m {
                "rn" | "rni" => Rounding::NearestEven,
                "rna" => Rounding::NearestAway,
                "rz" | "rzi" => Rounding::Zero,
                "rm" | "rmi" => Rounding::Down,
                "rp" | "rpi" => Rounding::Up,
                _ => return None,
            })
        })
    }
}

fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "f16" => Scalar::Float(Float::F16),
        "bf16" => Scalar::Float(Float::Bf16),
        "f32" => Scalar::Float(Float::F32),
        "f64" => Scalar::Float(Float::F64),
        "tf32" => Scalar::Narrow(Format::TF32),
        "pred" => Scalar::Int(1, false),
        _ => {
            let bits = name.get(1..)?.parse::<u8>().ok()?;
            if !matches!(bits, 8 | 16 | 32 | 64 | 128) {
                return None;
            }
            match name.as_bytes()[0] {
                b'b' | b'u' => Scalar::Int(bits, false),
                b's' => Scalar::Int(bits, true),
                _ => return None,
            }
        }
    })
}

fn bits(ty: Scalar) -> u8 {
    match ty {
        Scalar::Int(bits, _) => bits,
        Scalar::Float(Float::F16 | Float::Bf16) => 16,
        Scalar::Float(Float::F32) => 32,
        Scalar::Float(Float::F64) => 64,
        Scalar::Narrow(format) => format.bits(),
    }
}

const UNUSED: Src = Src::Imm(0);

impl Decoder<'_> {
    // ---- operands ----

    fn slot_src(&self, id: ptx::RegId) -> Src {
        match self.slots[id.0 as usize] {
            Slot::P(s) => Src::Pred(s),
            Slot::R16(s) | Slot::R32(s) => Src::R32(s),
            Slot::R64(s) => Src::R64(s),
            Slot::R128(s) => Src::R128(s),
        }
    }

    fn slot_dst(&self, id: ptx::RegId) -> Dst {
        match self.slots[id.0 as usize] {
            Slot::P(s) => Dst::Pred(s),
            Slot::R16(s) => Dst::R16(s),
            Slot::R32(s) => Dst::R32(s),
            Slot::R64(s) => Dst::R64(s),
            Slot::R128(s) => Dst::R128(s),
        }
    }

    fn symbol(&mut self, symbol: &Symbol, offset: i64) -> Result<Src> {
        let frame = |at: u32| Src::Local(at.wrapping_add(offset as u32));
        Ok(match symbol {
            Symbol::Param(i) => {
                let at = self.func.params[*i as usize].0;
                if self.entry { Src::Param(at.wrapping_add(offset as u32)) } else { frame(at) }
            }
            Symbol::Return(i) => frame(self.func.returns[*i as usize].0),
            Symbol::Local(id) => match self.locals[id.0 as usize] {
                Local::Frame((at, _)) => frame(at),
                Local::Module(var) => self.variable(var, offset),
            },
            Symbol::Global(name) => {
                if let Some(&var) = self.names.variables.get(name) {
                    self.variable(var, offset)
                } else if let Some(&f) = self.names.functions.get(name) {
                    self.func.callees.push(f);
                    Src::Function(f)
                } else {
                    return Err(format!("`{name}` is not defined"));
                }
            }
        })
    }

    fn variable(&mut self, var: u32, offset: i64) -> Src {
        let shared = self.names.vars[var as usize].space == ptx::Space::Shared;
        if shared && !self.func.shared.contains(&var) {
            self.func.shared.push(var);
        }
        Src::Symbol(var, offset)
    }

    /// A value; literals take the width `bits`.
    fn src(&mut self, operand: &Operand, bits: u8) -> Result<Src> {
        Ok(match operand {
            Operand::Register(id) => self.slot_src(*id),
            Operand::Not(id) => match self.slot_src(*id) {
                Src::Pred(slot) => Src::NotPred(slot),
                _ => return Err("`!` before a register that is no predicate".into()),
            },
            Operand::Component(id, lane) => match self.slot_src(*id) {
                Src::R32(s) => Src::R32(s + u32::from(*lane)),
                Src::R64(s) => Src::R64(s + u32::from(*lane)),
                _ => return Err("component".into()),
            },
            Operand::Int(value) => match bits {
                // A literal of a wider instruction is sign extended; a narrower one is cut.
                1..64 => Src::Imm(*value as u64 & ((1u64 << bits) - 1)),
                _ => Src::Imm(*value as u64),
            },
            Operand::F32(value) if bits == 64 => {
                Src::Imm(f64::from(f32::from_bits(*value)).to_bits())
            }
            Operand::F32(value) => Src::Imm(u64::from(*value)),
            Operand::F64(value) if bits == 32 => {
                Src::Imm(u64::from((f64::from_bits(*value) as f32).to_bits()))
            }
            Operand::F64(value) => Src::Imm(*value),
            Operand::Special(name) => Src::Special(special(name)?),
            Operand::Symbol(symbol, offset) => self.symbol(symbol, *offset)?,
            _ => return Err("operand".into()),
        })
    }

    fn dst(&mut self, operand: &Operand) -> Result<Dst> {
        Ok(match operand {
            Operand::Register(id) => self.slot_dst(*id),
            Operand::Component(id, lane) => match self.slot_dst(*id) {
                Dst::R16(s) => Dst::R16(s + u32::from(*lane)),
                Dst::R32(s) => Dst::R32(s + u32::from(*lane)),
                Dst::R64(s) => Dst::R64(s + u32::from(*lane)),
                _ => return Err("component".into()),
            },
            Operand::Sink => Dst::Sink,
            _ => return Err("destination".into()),
        })
    }

    /// `d|p`, or `d` alone.
    fn dst_pair(&mut self, operand: &Operand) -> Result<(Dst, Dst)> {
        match operand {
            Operand::Pair(d, p) => Ok((self.dst(d)?, self.dst(p)?)),
            d => Ok((self.dst(d)?, Dst::Sink)),
        }
    }

    fn addr(&mut self, operand: &Operand) -> Result<Addr> {
        Ok(match operand {
            Operand::Address(a) => match &a.base {
                ptx::Base::Register(id) => Addr { base: self.slot_src(*id), offset: a.offset },
                ptx::Base::Symbol(s) => Addr { base: self.symbol(s, a.offset)?, offset: 0 },
                ptx::Base::Absolute => Addr { base: Src::Imm(a.offset as u64), offset: 0 },
            },
            _ => return Err("not an address".into()),
        })
    }

    /// `[map, {x, y}]`
    fn tensor_addr(&mut self, operand: &Operand) -> Result<(Addr, Box<[Src]>)> {
        let map = self.addr(operand)?;
        let Operand::Address(ptx::Address { items, .. }) = operand else {
            return Err("not an address".into());
        };
        let [Operand::Vector(coordinates)] = &items[..] else {
            return Err("not one list of coordinates".into());
        };
        let coordinates = coordinates.iter().map(|c| self.src(c, 32)).collect::<Result<_>>()?;
        Ok((map, coordinates))
    }

    fn access(&mut self, mods: &Mods, operand: &Operand) -> Result<Access> {
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
            if mods.has("f16x2") || mods.has("bf16x2") {
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
    fn fence(opcode: &str, mods: &Mods) -> Op {
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
            let both = !has("acquire") && !has("release");
            FenceOp::Thread {
                acquire: both || has("acquire"),
                release: both || has("release"),
                sequential: opcode == "membar" || has("sc"),
                scope: mods.scope(Scope::Sys),
            }
        })
    }

    fn branch_target(&self, operand: &Operand) -> Result<u32> {
        let Operand::Label(label) = operand else { return Err("not a label".into()) };
        Ok(self.body.labels[label.0 as usize].target as u32)
    }

    // ---- instructions ----

    fn op(&mut self, i: &ptx::Instruction, join: u32) -> Result<Op> {
        let mods = Mods { all: i.modifiers().collect() };
        let o = &i.operands[..];
        let opcode = i.opcode();
        match opcode {
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(opcode, &mods, o),
            "mbarrier" => self.mbarrier(&mods, o),
            "cp" => self.copy(&mods, o),
            "tcgen05" => self.tensor(&mods, o),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => {
                self.control(opcode, &mods, o, join)
            }
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => {
                self.collective(opcode, &mods, o)
            }
            "membar" | "fence" => Ok(Self::fence(opcode, &mods)),
            "prefetch" | "prefetchu" | "nanosleep" | "griddepcontrol" | "setmaxnreg"
            | "pmevent" | "discard" | "applypriority" => Ok(Op::Nop),
            "createpolicy" => match o {
                [d, ..] => Ok(Op::Mov { d: self.dst(d)?, a: UNUSED }),
                _ => Err("operands".into()),
            },
            "mov" | "cvta" | "isspacep" | "mapa" | "getctarank" | "cvt" => {
                self.moves(opcode, &mods, o)
            }
            "setp" | "set" | "selp" | "slct" | "testp" => self.select(opcode, &mods, o),
            _ => self.arithmetic(opcode, &mods, o),
        }
    }

    fn arithmetic(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods.all.last().is_some_and(|m| matches!(*m, "f16x2" | "bf16x2" | "f32x2")) {
            return self.packed(opcode, mods, o);
        }
        let ty = mods.ty()?;
        let b = bits(ty);
        let (d, rest) = o.split_first().ok_or("operands")?;
        let d = self.dst(d)?;
        if let Scalar::Float(float) = ty {
            let sources: Vec<Src> = rest.iter().map(|r| self.src(r, b)).collect::<Result<_>>()?;
            let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
            let approximate = mods.has("approx");
            let f = match opcode {
                "add" => FloatFn::Add,
                "sub" => FloatFn::Sub,
                "mul" => FloatFn::Mul,
                "fma" | "mad" => FloatFn::Fma,
                "div" => FloatFn::Div,
                "neg" => FloatFn::Neg,
                "abs" => FloatFn::Abs,
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
            if float == Float::F64 && r != Rounding::NearestEven {
                return Err("directed rounding in double precision".into());
            }
            let (ftz, sat) = (mods.has("ftz"), mods.has("sat"));
            return Ok(Op::Float { f, ty: float, r, ftz, sat, d, a: at(0), b: at(1), c: at(2) });
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
        let narrow = matches!(opcode, "shl" | "shr" | "bfe" | "bfi");
        let sources: Vec<Src> = rest
            .iter()
            .enumerate()
            .map(|(i, r)| self.src(r, if narrow && i > 0 && opcode != "bfi" { 32 } else { b }))
            .collect::<Result<_>>()?;
        let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
        let pick = |u: IntFn, s: IntFn| if signed { s } else { u };
        let (cc, sat) = (mods.has("cc"), mods.has("sat"));
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
            "add" if sat => IntFn::AddSatS,
            "sub" if sat => IntFn::SubSatS,
            "add" => IntFn::Add,
            "sub" => IntFn::Sub,
            "mul" if mods.has("hi") => pick(IntFn::MulHiU, IntFn::MulHiS),
            "mul" => IntFn::Mul,
            "mad" if mods.has("hi") => pick(IntFn::MadHiU, IntFn::MadHiS),
            "mad" => IntFn::Mad,
            "mul24" if mods.has("lo") => pick(IntFn::Mul24U, IntFn::Mul24S),
            "div" => pick(IntFn::DivU, IntFn::DivS),
            "rem" => pick(IntFn::RemU, IntFn::RemS),
            "neg" => IntFn::Neg,
            "abs" => IntFn::Abs,
            "min" if !mods.has("relu") => pick(IntFn::MinU, IntFn::MinS),
            "max" if !mods.has("relu") => pick(IntFn::MaxU, IntFn::MaxS),
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
                (true, true) => IntFn::FunnelLeftWrap,
                (true, false) => IntFn::FunnelLeftClamp,
                (false, true) => IntFn::FunnelRightWrap,
                (false, false) => IntFn::FunnelRightClamp,
            },
            "dp4a" => match &mods.all[..] {
                ["u32", "u32"] => IntFn::Dp4aUU,
                ["s32", "s32"] => IntFn::Dp4aSS,
                _ => return Err(String::new()),
            },
            _ => return Err(String::new()),
        };
        // `popc`, `clz` and `bfind` of 64 bits give 32.
        Ok(Op::Int { f, w, d, a: at(0), b: at(1), c: at(2) })
    }

    fn packed(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let (ty, bits) = match mods.all.last() {
            Some(&"f16x2") => (Float::F16, 32),
            Some(&"f32x2") => (Float::F32, 64),
            _ => (Float::Bf16, 32),
        };
        let f = match opcode {
            "add" => FloatFn::Add,
            "sub" => FloatFn::Sub,
            "mul" => FloatFn::Mul,
            "fma" if !mods.has("relu") => FloatFn::Fma,
            "neg" => FloatFn::Neg,
            "abs" => FloatFn::Abs,
            "min" if mods.has("NaN") => FloatFn::MinNan,
            "max" if mods.has("NaN") => FloatFn::MaxNan,
            "min" => FloatFn::Min,
            "max" => FloatFn::Max,
            "ex2" => FloatFn::Ex2,
            "tanh" => FloatFn::Tanh,
            _ => return Err(String::new()),
        };
        let (d, rest) = o.split_first().ok_or("operands")?;
        let d = self.dst(d)?;
        let sources: Vec<Src> = rest.iter().map(|r| self.src(r, bits)).collect::<Result<_>>()?;
        let at = |i: usize| sources.get(i).copied().unwrap_or(UNUSED);
        let r = mods.rounding().unwrap_or(Rounding::NearestEven);
        let (ftz, sat) = (mods.has("ftz"), mods.has("sat"));
        Ok(Op::Packed { f, ty, r, ftz, sat, d, a: at(0), b: at(1), c: at(2) })
    }

    fn select(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        match opcode {
            "setp" | "set" => {
                let cmp = mods.find(compare).ok_or("comparison")?;
                let ty = mods.ty()?;
                let combine = mods.find(|m| {
                    Some(match m {
                        "and" => BoolFn::And,
                        "or" => BoolFn::Or,
                        "xor" => BoolFn::Xor,
                        _ => return None,
                    })
                });
                let [d, a, b, rest @ ..] = o else { return Err("operands".into()) };
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
                let to = mods.all.iter().find_map(|m| scalar(m)).ok_or("type")?;
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
                let [d, a, b, c] = o else { return Err("operands".into()) };
                let first = mods.all.iter().find_map(|m| scalar(m)).ok_or("type")?;
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

    fn moves(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
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

    fn convert(&mut self, mods: &Mods, d: &Operand, a: &Operand, rest: &[Operand]) -> Result<Op> {
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

    fn memory(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
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
                let float = match mods.ty() {
                    Ok(Scalar::Float(float)) => Some(float),
                    _ => None,
                };
                let signed = mods.signed();
                let f = mods
                    .find(|m| {
                        Some(match (m, float) {
                            ("add", _) if mods.has("f16x2") => AtomFn::AddF16x2,
                            ("add", _) if mods.has("bf16x2") => AtomFn::AddBf16x2,
                            ("add", Some(float)) => AtomFn::AddF(float),
                            ("min", Some(float)) => AtomFn::MinF(float),
                            ("max", Some(float)) => AtomFn::MaxF(float),
                            ("add", None) => AtomFn::Add,
                            ("inc", _) => AtomFn::Inc,
                            ("dec", _) => AtomFn::Dec,
                            ("min", None) if signed => AtomFn::MinS,
                            ("max", None) if signed => AtomFn::MaxS,
                            ("min", None) => AtomFn::MinU,
                            ("max", None) => AtomFn::MaxU,
                            ("and", _) => AtomFn::And,
                            ("or", _) => AtomFn::Or,
                            ("xor", _) => AtomFn::Xor,
                            ("exch", _) => AtomFn::Exch,
                            ("cas", _) => AtomFn::Cas,
                            _ => return None,
                        })
                    })
                    .ok_or("operation")?;
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

    fn control(&mut self, opcode: &str, mods: &Mods, o: &[Operand], join: u32) -> Result<Op> {
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
                let args = args.iter().map(|a| self.call_slot(a)).collect::<Result<_>>()?;
                let returns = returns.iter().map(|a| self.call_slot(a)).collect::<Result<_>>()?;
                Ok(Op::Call(Box::new(Call { target, args, returns })))
            }
            ("ret", _) => Ok(Op::Ret),
            ("exit", _) => Ok(Op::Exit),
            ("trap" | "brkpt", _) => Ok(Op::Trap),
            _ => Err(format!("operands of {}", mods.all.join("."))),
        }
    }

    fn call_slot(&mut self, operand: &Operand) -> Result<(u32, u32)> {
        match operand {
            Operand::Symbol(Symbol::Local(id), _) => match self.locals[id.0 as usize] {
                Local::Frame(slot) => Ok(slot),
                Local::Module(_) => Err("an argument outside `.param`".into()),
            },
            _ => Err("an argument that is no `.param` variable".into()),
        }
    }

    fn collective(&mut self, opcode: &str, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let aligned = mods.has("aligned");
        match opcode {
            "bar" if mods.has("warp") => {
                let [mask] = o else { return Err("operands".into()) };
                let mask = self.src(mask, 32)?;
                Ok(Op::Warp { op: Box::new(WarpOp::Sync), mask, aligned: false })
            }
            "barrier" if mods.has("cluster") => {
                if mods.has("arrive") {
                    Ok(Op::ClusterArrive { aligned, relaxed: mods.has("relaxed") })
                } else {
                    Ok(Op::ClusterWait { aligned })
                }
            }
            "bar" | "barrier" => {
                // `bar` means `barrier.cta.aligned`.
                let aligned = aligned || opcode == "bar";
                let (d, mode, rest) = if mods.has("red") {
                    let [d, rest @ .., p] = o else { return Err("operands".into()) };
                    let (p, negated) = match self.src(p, 1)? {
                        Src::Pred(p) => (p, 0),
                        Src::NotPred(p) => (p, 1),
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
                Ok(Op::ActiveMask { d: self.dst(d)? })
            }
            _ if !mods.has("sync") => Err("only the `.sync` form exists on this target".into()),
            "shfl" => {
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
                    let (d, p) = self.dst_pair(d)?;
                    WarpOp::MatchAll { d, p, a, wide }
                };
                Ok(Op::Warp { op: Box::new(op), mask: self.src(mask, 32)?, aligned: false })
            }
            "redux" => {
                let [d, a, mask] = o else { return Err("operands".into()) };
                let ty = mods.ty()?;
                let float = matches!(ty, Scalar::Float(_));
                if mods.has("abs") || mods.has("NaN") {
                    return Err(String::new());
                }
                let f = mods
                    .find(|m| {
                        Some(match (m, float, mods.signed()) {
                            ("add", ..) => ReduxFn::Add,
                            ("min", true, _) => ReduxFn::MinF,
                            ("max", true, _) => ReduxFn::MaxF,
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

    fn mbarrier(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let cluster = mods.has("shared::cluster");
        let action = mods.all.first().copied().unwrap_or("");
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
                MbarrierOp::Arrive {
                    addr: self.shared_addr(mods, a)?,
                    remote: cluster,
                    relaxed: mods.has("relaxed"),
                    scope: mods.scope(Scope::Cta),
                    count: if expects { None } else { amount },
                    tx: if expects { amount } else { None },
                    state,
                    drop: action == "arrive_drop",
                    no_complete: mods.has("noComplete"),
                }
            }
            ("expect_tx" | "complete_tx", [a, n]) => MbarrierOp::Tx {
                addr: self.shared_addr(mods, a)?,
                amount: self.src(n, 32)?,
                complete: action == "complete_tx",
            },
            ("test_wait" | "try_wait", [d, a, phase, ..]) => {
                let parity = mods.has("parity");
                MbarrierOp::Wait {
                    blocking: action == "try_wait",
                    parity,
                    d: self.dst(d)?,
                    addr: self.shared_addr(mods, a)?,
                    relaxed: mods.has("relaxed"),
                    scope: mods.scope(Scope::Cta),
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

    /// An address of shared memory: 32 bits where the space is named, else generic.
    fn shared_addr(&mut self, mods: &Mods, operand: &Operand) -> Result<(Addr, MemSpace)> {
        let addr = self.addr(operand)?;
        let space = if mods.has("shared::cluster") {
            MemSpace::SharedCluster
        } else if mods.has("shared") || mods.has("shared::cta") {
            MemSpace::Shared
        } else if let Src::Symbol(..) = addr.base {
            MemSpace::Shared
        } else {
            MemSpace::Generic
        };
        Ok((addr, space))
    }

    fn copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let has = |m: &str| mods.has(m);
        if !has("async") {
            return Err(String::new());
        }
        let number = |o: &Operand| match o {
            Operand::Int(n) => Ok(*n as u32),
            _ => Err(String::from("the number of groups must be a literal")),
        };
        let op = if has("bulk") {
            if has("commit_group") {
                AsyncOp::BulkCommit
            } else if has("wait_group") {
                let [n] = o else { return Err("operands".into()) };
                AsyncOp::BulkWait { groups: number(n)?, read: has("read") }
            } else if has("prefetch") {
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
            AsyncOp::SmallArrive { addr: self.shared_addr(mods, a)?, no_increment: has("noinc") }
        } else {
            let [dst, src, Operand::Int(bytes), rest @ ..] = o else {
                return Err("operands".into());
            };
            let size = match rest {
                [Operand::Register(id), ..] => match self.slot_src(*id) {
                    Src::Pred(_) => return Err("ignore-src".into()),
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
    fn direction(mods: &Mods) -> Result<(MemSpace, MemSpace)> {
        let mut spaces = mods.all.iter().filter_map(|m| {
            Some(match *m {
                "global" => MemSpace::Global,
                "shared::cta" => MemSpace::Shared,
                "shared::cluster" => MemSpace::SharedCluster,
                _ => return None,
            })
        });
        match (spaces.next(), spaces.next()) {
            (Some(to), Some(from)) => Ok((to, from)),
            _ => Err("two state spaces".into()),
        }
    }

    fn reduction(&self, mods: &Mods, ty: &str) -> Result<AtomFn> {
        let float = match scalar(ty) {
            Some(Scalar::Float(float)) => Some(float),
            _ => None,
        };
        let signed = ty.starts_with('s');
        mods.find(|m| {
            Some(match (m, float) {
                ("add", Some(float)) => AtomFn::AddF(float),
                ("min", Some(float)) => AtomFn::MinF(float),
                ("max", Some(float)) => AtomFn::MaxF(float),
                ("add", None) => AtomFn::Add,
                ("inc", _) => AtomFn::Inc,
                ("dec", _) => AtomFn::Dec,
                ("min", None) if signed => AtomFn::MinS,
                ("max", None) if signed => AtomFn::MaxS,
                ("min", None) => AtomFn::MinU,
                ("max", None) => AtomFn::MaxU,
                ("and", _) => AtomFn::And,
                ("or", _) => AtomFn::Or,
                ("xor", _) => AtomFn::Xor,
                _ => return None,
            })
        })
        .ok_or_else(|| "operation".into())
    }

    fn bulk_copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let (to, from) = Self::direction(mods)?;
        let reduce = mods.all.first() == Some(&"reduce");
        let op = match (to, o) {
            (MemSpace::Shared | MemSpace::SharedCluster, [dst, src, bytes, bar, rest @ ..])
                if !reduce =>
            {
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
                }
            }
            (MemSpace::Global, [dst, src, bytes, ..]) => {
                let reduce = if reduce {
                    let ty = mods.last();
                    let width = bits(scalar(ty).ok_or("type")?) / 8;
                    Some((self.reduction(mods, ty)?, width))
                } else {
                    None
                };
                if mods.has("cp_mask") {
                    return Err("byte mask".into());
                }
                AsyncOp::BulkOut {
                    dst: self.addr(dst)?,
                    src: self.addr(src)?,
                    bytes: self.src(bytes, 32)?,
                    reduce,
                }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Async(Box::new(op)))
    }

    fn tensor_copy(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        if mods
            .find(|m| (m.starts_with("im2col") || m.starts_with("tile::")).then_some(()))
            .is_some()
        {
            return Err("only the tile mode is executed".into());
        }
        let (to, _) = Self::direction(mods)?;
        let op = match (to, o) {
            (MemSpace::Shared | MemSpace::SharedCluster, [dst, map, bar, rest @ ..]) => {
                let (map, coordinates) = self.tensor_addr(map)?;
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
                }
            }
            (MemSpace::Global, [map, src, ..]) => {
                let (map, coordinates) = self.tensor_addr(map)?;
                let reduce = if mods.all.first() == Some(&"reduce") {
                    // The type comes from the map.
                    mods.find(|m| {
                        matches!(m, "add" | "min" | "max" | "and" | "or" | "xor" | "inc" | "dec")
                            .then(|| Box::<str>::from(m))
                    })
                } else {
                    None
                };
                AsyncOp::TensorOut { map, coordinates, src: self.addr(src)?, reduce }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Async(Box::new(op)))
    }

    fn tensor(&mut self, mods: &Mods, o: &[Operand]) -> Result<Op> {
        let action = mods.all.first().copied().unwrap_or("");
        if mods.has("cta_group::2") {
            return Err("pairs of CTAs are not executed".into());
        }
        let op = match (action, o) {
            ("alloc", [a, n]) => {
                TensorOp::Alloc { addr: self.shared_addr(mods, a)?, columns: self.src(n, 32)? }
            }
            ("dealloc", [a, n]) => {
                TensorOp::Dealloc { addr: self.src(a, 32)?, columns: self.src(n, 32)? }
            }
            ("relinquish_alloc_permit", _) => TensorOp::Relinquish,
            ("fence::before_thread_sync", _) => TensorOp::Fence { after: false },
            ("fence::after_thread_sync", _) => TensorOp::Fence { after: true },
            ("wait::ld", _) => TensorOp::WaitLd,
            ("wait::st", _) => TensorOp::WaitSt,
            ("commit", [a, rest @ ..]) => {
                let multicast = match rest {
                    [mask] => Some(self.src(mask, 16)?),
                    _ => None,
                };
                let (addr, space) = self.shared_addr(mods, a)?;
                TensorOp::Commit { addr: (addr, space), multicast }
            }
            ("mma", [d, a, b, idesc, rest @ ..]) => {
                if mods.has("sp") || mods.has("ws") || mods.has("block_scale") || mods.has("ashift")
                {
                    return Err("only the dense form is executed".into());
                }
                let kind =
                    tensor::kind(mods.find(|m| m.strip_prefix("kind::").map(str::to_owned)))?;
                let a = match a {
                    Operand::Address(_) => tensor::Left::Tensor(self.addr(a)?),
                    a => tensor::Left::Shared(self.src(a, 64)?),
                };
                let rest = match rest {
                    [Operand::Vector(mask), rest @ ..] => {
                        let zero = mask.iter().all(|m| matches!(m, Operand::Int(0)));
                        if !zero {
                            return Err("disable-output-lane".into());
                        }
                        rest
                    }
                    rest => rest,
                };
                let enable = match rest {
                    [p] => self.src(p, 1)?,
                    [] => Src::Imm(1),
                    _ => return Err("scale-input-d".into()),
                };
                TensorOp::Mma {
                    kind,
                    d: self.addr(d)?,
                    a,
                    b: self.src(b, 64)?,
                    idesc: self.src(idesc, 32)?,
                    enable,
                }
            }
            ("ld", _) if mods.has("red") => return Err(String::new()),
            ("ld", [d, a, rest @ ..]) => {
                let registers = match d {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.dst(p)).collect::<Result<_>>()?
                    }
                    d => Box::from([self.dst(d)?]),
                };
                let access = tensor::access(&mods.all, rest)?;
                TensorOp::Ld { access, registers, addr: self.addr(a)? }
            }
            ("st", [a, rest @ .., value]) => {
                let registers = match value {
                    Operand::Vector(parts) => {
                        parts.iter().map(|p| self.src(p, 32)).collect::<Result<_>>()?
                    }
                    value => Box::from([self.src(value, 32)?]),
                };
                let access = tensor::access(&mods.all, rest)?;
                TensorOp::St { access, registers, addr: self.addr(a)? }
            }
            _ => return Err(String::new()),
        };
        Ok(Op::Tensor(Box::new(op)))
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

fn special(name: &str) -> Result<Special> {
    let (base, part) = name.split_once('.').unwrap_or((name, "x"));
    let axis = match part {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        "w" => 3,
        _ => return Err("component".into()),
    };
    Ok(match base {
        "%tid" => Special::Tid(axis),
        "%ntid" => Special::Ntid(axis),
        "%ctaid" => Special::Ctaid(axis),
        "%nctaid" => Special::Nctaid(axis),
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NwarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NsmId,
        "%gridid" => Special::GridId,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%clusterid" => Special::ClusterId(axis),
        "%nclusterid" => Special::NclusterId(axis),
        "%cluster_ctaid" => Special::ClusterCtaid(axis),
        "%cluster_nctaid" => Special::ClusterNctaid(axis),
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%clock" | "%clock64" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%globaltimer" | "%globaltimer_lo" => Special::GlobalTimer,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%dynamic_smem_size" => Special::DynamicSmem,
        "%total_smem_size" | "%aggr_smem_size" => Special::TotalSmem,
        "%reserved_smem_offset_begin" | "%reserved_smem_offset_end" => Special::Zero,
        _ => return Err(format!("`{name}` has no value here")),
    })
}
