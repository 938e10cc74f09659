//! The parsed module to the decoded program.
//!
//! Each instruction is compared with the forms that `ptxas` takes ([`ptx::forms`]), and read here once; what is not among
//! them, and what is not executed, becomes [`Op::Unknown`], which is an error only when it is executed.

mod arithmetic;
mod asynchronous;
mod control;
mod defined;
mod matrix;
mod memory;
mod mods;
mod moves;
mod remote;
mod tensor;
mod wmma;

use crate::async_ops::{AsyncOp, MbarrierOp};
use crate::detect::{FenceOp, Order, Reach};
use crate::flow;
use crate::ir::*;
use crate::tensor::TensorOp;
use crate::value::{Float, Format, Rounding};
use baton_ptx as ptx;
use mods::{Mods, NO_SCOPE, bits, scalar};
use ptx::forms::Checker;
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
pub(crate) fn function<'m>(
    module: &'m ptx::Module,
    function: &'m ptx::Function,
    body: &'m ptx::Body,
    names: &mut Names,
    forms: &mut Checker<'m>,
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
        in_registers: Vec::new(),
        out_of_registers: Vec::new(),
        shared: Vec::new(),
        callees: Vec::new(),
        touched: Vec::new(),
        undefined: None,
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
    d.registers_of_calls(function);
    let joins = flow::reconvergence(body);
    let same: HashMap<usize, Among> = module
        .tagged(body)
        .filter_map(|(text, index)| Some((index, among(text.strip_prefix("same ")?)?)))
        .collect();
    for (i, instruction) in body.instructions.iter().enumerate() {
        let op = match forms.check(body, instruction) {
            Ok(()) => d.op(instruction, joins.of_branch[i]).map_err(|why| match &*why {
                "" => "this is not executed".into(),
                why if why.contains("not executed") => why.to_owned(),
                why => format!("this is not executed: {why}"),
            }),
            Err(why) => Err(why),
        };
        let op = op.unwrap_or_else(|why| {
            Op::Unknown(format!("{} ({why})", module.text(instruction)).into())
        });
        let op = match (op, same.get(&i)) {
            (Op::Mov { d, a }, Some(&among)) => {
                let wide = matches!(d, Dst::R64(_));
                Op::Same { among, wide, d, a }
            }
            (op, _) => op,
        };
        let guard = instruction.guard.map_or(0, |g| match d.slots[g.register.0 as usize] {
            Slot::P(slot) => (slot << 1 | u32::from(g.negated)) + 1,
            _ => 0,
        });
        let line = instruction.line;
        // Lanes that part at a call meet behind it.
        let behind_call = i > 0 && body.instructions[i - 1].opcode() == "call";
        let join_point = joins.is_join[i] || behind_call;
        d.func.code.push(Inst { guard, join_point, line, op });
    }
    // Falling off the end is a return.
    let line = module.source[..body.span.end].matches('\n').count() as u32 + 1;
    let join_point = joins.is_join[body.instructions.len()];
    d.func.code.push(Inst { guard: 0, join_point, line, op: Op::Ret });
    let lends = |i: &Inst| {
        matches!(&i.op, Op::Wgmma(_))
            || matches!(&i.op, Op::Tensor(op) if matches!(**op, TensorOp::Ld { .. }))
    };
    if d.func.code.iter().any(lends) {
        d.func.touched = d.touched();
    }
    let Decoder { mut func, locals, .. } = d;
    func.undefined = Some(defined::of(function, body, &func, &locals));
    func
}

/// The operands with whole vector registers taken apart; none if there are none.
fn whole_vectors(body: &ptx::Body, o: &[Operand]) -> Option<Vec<Operand>> {
    let lanes = |operand: &Operand| match operand {
        Operand::Register(id) => body.registers[id.0 as usize].lanes,
        _ => 1,
    };
    if o.iter().all(|operand| lanes(operand) <= 1) {
        return None;
    }
    let expanded = o.iter().map(|operand| match operand {
        Operand::Register(id) if lanes(operand) > 1 => {
            Operand::Vector((0..lanes(operand)).map(|lane| Operand::Component(*id, lane)).collect())
        }
        other => other.clone(),
    });
    Some(expanded.collect())
}

/// What `//@baton same …` names.
fn among(set: &str) -> Option<Among> {
    match set.trim() {
        "warp" => Some(Among::Warp),
        "group" => Some(Among::Group),
        "cta" => Some(Among::Cta),
        _ => None,
    }
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
                if &**name == "WARP_SZ" {
                    return Ok(Src::Imm(LANES as u64));
                }
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
            Operand::Sum(id, more) => {
                let more = i32::try_from(*more).map_err(|_| "a number of more than 32 bits")?;
                match self.slot_src(*id) {
                    Src::R32(slot) => Src::Sum32(slot, more),
                    Src::R64(slot) => Src::Sum64(slot, more),
                    _ => return Err("a number added to what is no number".into()),
                }
            }
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

    /// For each instruction but `wgmma` itself and, where there is `wgmma`, moves between registers,
    /// the 32-bit registers that it names, and whether it writes them.
    fn touched(&self) -> Vec<Box<[(u32, bool)]>> {
        let writes_first = |opcode: &str| {
            !matches!(opcode, "st" | "red" | "bar" | "barrier" | "cp" | "mbarrier" | "tcgen05")
        };
        let products = self.func.code.iter().any(|i| matches!(i.op, Op::Wgmma(_)));
        let of = |(i, inst): (&ptx::Instruction, &Inst)| {
            let renames = |a| products && matches!(a, Src::R32(_) | Src::R64(_) | Src::R128(_));
            if matches!(inst.op, Op::Wgmma(_)) || matches!(inst.op, Op::Mov { a, .. } if renames(a))
            {
                return Box::default();
            }
            let mut found = Vec::new();
            for (k, operand) in i.operands.iter().enumerate() {
                self.registers(operand, k == 0 && writes_first(i.opcode()), &mut found);
            }
            found.into()
        };
        let mut touched: Vec<_> =
            self.body.instructions.iter().zip(&self.func.code).map(of).collect();
        touched.resize(self.func.code.len(), Box::default());
        touched
    }

    fn registers(&self, operand: &Operand, writes: bool, found: &mut Vec<(u32, bool)>) {
        let mut add = |id: ptx::RegId, writes| {
            if let Slot::R32(slot) = self.slots[id.0 as usize] {
                found.push((slot, writes));
            }
        };
        match operand {
            Operand::Register(id) => add(*id, writes),
            Operand::Address(address) => {
                if let ptx::Base::Register(id) = address.base {
                    add(id, false);
                }
                address.items.iter().for_each(|item| self.registers(item, false, found));
            }
            Operand::Vector(list) | Operand::List(list) => {
                list.iter().for_each(|item| self.registers(item, writes, found));
            }
            Operand::Pair(a, b) => {
                self.registers(a, writes, found);
                self.registers(b, writes, found);
            }
            _ => {}
        }
    }

    /// Parameters and results that live in registers, which come first in the body, results before parameters.
    fn registers_of_calls(&mut self, function: &ptx::Function) {
        let mut next = 0;
        let mut register = |places: &[(u32, u32)], all: &[ptx::Param]| {
            let mut found = Vec::new();
            for (param, &at) in all.iter().zip(places) {
                if param.space == ptx::Space::Reg {
                    found.push((ptx::RegId(next), at));
                    next += 1;
                }
            }
            found
        };
        let out = register(&self.func.returns, &function.returns);
        let into = register(&self.func.params, &function.params);
        self.func.out_of_registers =
            out.into_iter().map(|(id, at)| (self.slot_src(id), at)).collect();
        self.func.in_registers = into.into_iter().map(|(id, at)| (self.slot_dst(id), at)).collect();
    }

    // ---- instructions ----

    fn op(&mut self, i: &ptx::Instruction, join: u32) -> Result<Op> {
        let mods = Mods::new(i);
        let expanded = whole_vectors(self.body, &i.operands);
        let o = expanded.as_deref().unwrap_or(&i.operands);
        let op = self.of_opcode((i.opcode(), o), &mods, join)?;
        match mods.left_over() {
            Some(name) => Err(format!("`.{name}` is not known here")),
            None => Ok(op),
        }
    }

    fn of_opcode(&mut self, (opcode, o): (&str, &[Operand]), mods: &Mods, join: u32) -> Result<Op> {
        match opcode {
            "st" | "red" if mods.has("async") || mods.has("bulk") => {
                self.remote_store(opcode, mods, o)
            }
            "tensormap" => self.tensor_map(mods, o),
            "clusterlaunchcontrol" => self.cluster_launch(mods, o),
            "multimem" => self.multimem(mods, o),
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(opcode, mods, o),
            "mbarrier" => self.mbarrier(mods, o),
            "cp" => self.copy(mods, o),
            "tcgen05" => self.tensor(mods, o),
            "wgmma" => self.wgmma(mods, o),
            "mma" | "ldmatrix" | "stmatrix" | "movmatrix" => self.matrix(opcode, mods, o),
            "wmma" => self.warp_matrix(mods, o),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => {
                self.control(opcode, mods, o, join)
            }
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => {
                self.collective(opcode, mods, o)
            }
            "membar" | "fence" => Self::fence(opcode, mods).map(Op::Fence),
            "griddepcontrol" if mods.has("wait") => Ok(Op::PreviousGrid),
            "griddepcontrol" if mods.has("launch_dependents") => Ok(Op::LaunchDependents),
            "prefetch" | "prefetchu" | "nanosleep" | "setmaxnreg" | "pmevent" | "discard"
            | "applypriority" => {
                let known: &[&str] = match opcode {
                    "nanosleep" => &["u32"],
                    "setmaxnreg" => &["inc", "dec", "sync", "aligned", "u32"],
                    "pmevent" => &["mask"],
                    "discard" | "applypriority" => &["global", "L2", "L2::evict_normal"],
                    _ => &[
                        "global",
                        "local",
                        "const",
                        "param",
                        "param::entry",
                        "tensormap",
                        "L1",
                        "L2",
                        "L2::evict_last",
                        "L2::evict_normal",
                    ],
                };
                mods.idle(known);
                Ok(Op::Nop)
            }
            "createpolicy" => match o {
                [d, ..] => {
                    mods.idle(&["fractional", "range", "cvt", "global", "b64", "L2"]);
                    mods.each(|m| m.starts_with("L2::").then_some(()));
                    Ok(Op::Mov { d: self.dst(d)?, a: UNUSED })
                }
                _ => Err("operands".into()),
            },
            "mov" | "cvta" | "isspacep" | "mapa" | "getctarank" | "cvt" => {
                self.moves(opcode, mods, o)
            }
            "setp" | "set" | "selp" | "slct" | "testp" => self.select(opcode, mods, o),
            _ => self.arithmetic(opcode, mods, o),
        }
    }
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
        "%reserved_smem_offset_begin"
        | "%reserved_smem_offset_end"
        | "%reserved_smem_offset_0"
        | "%reserved_smem_offset_1"
        | "%reserved_smem_offset_cap" => Special::Zero,
        "%current_graph_exec" => Special::Zero,
        _ if base.starts_with("%envreg") => Special::EnvReg(
            base["%envreg".len()..].parse().map_err(|_| format!("`{name}` has no value here"))?,
        ),
        _ if base.starts_with("%pm") => Special::Zero,
        _ => return Err(format!("`{name}` has no value here")),
    })
}
