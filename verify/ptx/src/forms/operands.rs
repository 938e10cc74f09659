//! Operands against the patterns of a form.
//!
//! Registers have to be as wide as their type and of its kind: untyped ones go everywhere, and untyped types take all.
//! Loads, stores and conversions take wider ones.

use super::grammar::{Base, Coordinates, Count, Pattern, Value};
use super::modifiers::Bound;
use crate::tree::{self, Body, Operand, RegId, Space, Symbol, TypeKind};
use std::cell::Cell;
use std::collections::HashMap;

type Result<T = (), E = String> = std::result::Result<T, E>;

/// Where an instruction stands, and what its modifiers said.
pub(super) struct Place<'a> {
    pub body: &'a Body,
    pub spaces: &'a HashMap<&'a str, Space>,
    pub bound: &'a Bound,
    /// How many operands, and elements of vectors, have been found to fit.
    pub fitting: Cell<usize>,
}

/// What a type asks of a register or a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Predicate,
    Bits,
    Integer,
    /// `.f32` and `.f64`.
    Float,
    /// Narrower ones, of which no literals can be written.
    Half,
    /// Several in one untyped register.
    Packed,
}

pub(super) fn kind(name: &str) -> (Kind, u32) {
    let digits = |from: usize| name.get(from..).and_then(|n| n.parse().ok()).unwrap_or(0);
    match name {
        "pred" => (Kind::Predicate, 1),
        "f32" | "f64" => (Kind::Float, digits(1)),
        "f16" => (Kind::Half, 16),
        "bf16" => (Kind::Packed, 16),
        "tf32" => (Kind::Packed, 32),
        "e4m3" | "e5m2" => (Kind::Packed, 8),
        "f16x2" | "bf16x2" => (Kind::Packed, 32),
        "u16x2" | "s16x2" | "u8x4" | "s8x4" => (Kind::Packed, 32),
        "f32x2" => (Kind::Packed, 64),
        "e4m3x2" | "e5m2x2" | "e3m2x2" | "e2m3x2" | "ue8m0x2" | "s2f6x2" => (Kind::Packed, 16),
        "e2m1x2" => (Kind::Packed, 8),
        "e2m1x4" => (Kind::Packed, 16),
        "e4m3x4" | "e5m2x4" | "e3m2x4" | "e2m3x4" => (Kind::Packed, 32),
        _ if name.starts_with('b') => (Kind::Bits, digits(1)),
        _ => (Kind::Integer, digits(1)),
    }
}

impl Place<'_> {
    pub fn check(&self, patterns: &[Pattern], operands: &[Operand]) -> Result {
        let least = patterns.iter().filter(|p| !p.optional).count();
        if operands.len() < least || operands.len() > patterns.len() {
            return Err(count(operands.len(), least, patterns.len()));
        }
        // Those that may be missing are left out from the right.
        let mut spare = operands.len() - least;
        let mut rest = operands.iter();
        for pattern in patterns {
            if pattern.optional {
                if spare == 0 {
                    continue;
                }
                spare -= 1;
            }
            if let Some(operand) = rest.next() {
                self.fits(pattern, operand)?;
                self.one_more_fits();
            }
        }
        Ok(())
    }

    fn one_more_fits(&self) {
        self.fitting.set(self.fitting.get() + 1);
    }

    fn ty(&self, value: Value) -> &'static str {
        match value {
            Value::Named(name) => name,
            Value::Bound(i) => self.bound.types[i].unwrap_or("b32"),
        }
    }

    fn fits(&self, pattern: &Pattern, operand: &Operand) -> Result {
        match (pattern.second, operand) {
            (Some((second, _)), Operand::Pair(a, b)) => {
                self.one(pattern, a)?;
                return match **b {
                    Operand::Sink => Ok(()),
                    ref other => self.value(pattern, second, other),
                };
            }
            (Some((_, true)), _) => return Err("a second destination, `|p`, is missing".into()),
            (None, Operand::Pair(..)) => return Err("one destination, and no `|`, belongs".into()),
            _ => {}
        }
        self.one(pattern, operand)
    }

    fn one(&self, pattern: &Pattern, operand: &Operand) -> Result {
        match &pattern.base {
            Base::Anything => Ok(()),
            Base::Value(value) => self.value(pattern, *value, operand),
            Base::Vector(count, value) => self.vector(pattern, *count, *value, operand),
            Base::Literal => match operand {
                Operand::Int(n) => pattern.literals.refuse(*n).map_or(Ok(()), Err),
                _ => Err("an integer literal belongs where an operand stands".into()),
            },
            Base::Dropped => match operand {
                Operand::Sink => Ok(()),
                _ => Err("`_` belongs where a result is stored".into()),
            },
            Base::Label => match operand {
                Operand::Label(_) => Ok(()),
                _ => Err("a label belongs where an operand stands".into()),
            },
            Base::Address(coordinates) => self.address(*coordinates, operand),
        }
    }

    fn vector(&self, pattern: &Pattern, count: Count, value: Value, operand: &Operand) -> Result {
        let lanes = match count {
            Count::Exactly(n) => n,
            Count::OfModifier => self.bound.lanes.max(1),
            Count::OfShape => self.bound.registers,
        };
        let wrong = |n: usize| {
            let s = if lanes == 1 { "" } else { "s" };
            Err(format!("{n} registers where {lanes} register{s} belong{s}"))
        };
        let whole = |id: &RegId| usize::from(self.body.registers[id.0 as usize].lanes);
        match operand {
            Operand::Vector(parts) => {
                if lanes != parts.len() {
                    return wrong(parts.len());
                }
                if !parts.is_empty() && parts.iter().all(|part| *part == Operand::Sink) {
                    return Err("at least one element that is not `_` belongs".into());
                }
                let is_literal = |part: &Operand| {
                    matches!(part, Operand::Int(_) | Operand::F32(_) | Operand::F64(_))
                };
                if matches!(count, Count::OfShape) && parts.iter().all(is_literal) {
                    return Err("at least one register belongs".into());
                }
                let mut width = None;
                let mut float = None;
                // With an untyped register among them, all count as untyped.
                let untyped = parts.iter().any(|part| match part {
                    Operand::Register(id) | Operand::Component(id, _) => {
                        self.body.registers[id.0 as usize].ty.kind == TypeKind::Bits
                    }
                    _ => false,
                });
                let value = match (untyped, kind(self.ty(value))) {
                    (true, (Kind::Integer | Kind::Float | Kind::Half, 16)) => Value::Named("b16"),
                    (true, (Kind::Integer | Kind::Float, 32)) => Value::Named("b32"),
                    (true, (Kind::Integer | Kind::Float, 64)) => Value::Named("b64"),
                    (true, (Kind::Packed, 16)) => Value::Named("b16"),
                    (true, (Kind::Packed, 32)) => Value::Named("b32"),
                    _ => value,
                };
                for part in parts {
                    // Untyped registers go with all others, and numbers with numbers of their kind.
                    match (float, self.is_float(part)) {
                        (Some(first), Some(this)) if first != this => {
                            return Err("elements of different types".into());
                        }
                        (None, this) => float = this,
                        _ => {}
                    }
                    if *part == Operand::Sink && pattern.written {
                        continue;
                    }
                    // The first register says how wide the others are.
                    if let Operand::Register(id) = part
                        && whole(id) > 1
                    {
                        return Err("a vector in a vector".into());
                    }
                    match (width, self.width(part)) {
                        (Some(first), Some((_, bits))) if first == bits => {}
                        (Some(first), Some((name, bits))) => {
                            return Err(format!(
                                "`{name}` has {bits} bits where {first} bits belong"
                            ));
                        }
                        (_, bits) => {
                            self.value(pattern, value, part)?;
                            width = width.or(bits.map(|(_, bits)| bits));
                        }
                    }
                    self.one_more_fits();
                }
                Ok(())
            }
            // All elements of `%tid` and the like.
            Operand::Special(name) if pattern.special && lanes == 4 => {
                let vectors = ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid"];
                let more = ["%cluster_ctaid", "%cluster_nctaid"];
                match vectors.contains(&&**name) || more.contains(&&**name) {
                    true => Ok(()),
                    false => Err(format!("`{name}` is no vector")),
                }
            }
            Operand::Register(id) if whole(id) > 1 => {
                if lanes != whole(id) {
                    return wrong(whole(id));
                }
                self.register(pattern, value, *id)
            }
            // A vector of one is written as such; what has no `.v2` is none.
            _ if lanes == 1 && matches!(count, Count::OfModifier) => {
                self.value(pattern, value, operand)
            }
            _ => wrong(1),
        }
    }

    /// Whether an element is a floating-point number or an integer; none if it may be both.
    fn is_float(&self, operand: &Operand) -> Option<bool> {
        match operand {
            Operand::Register(id) | Operand::Component(id, _) => {
                match self.body.registers[id.0 as usize].ty.kind {
                    TypeKind::Float => Some(true),
                    TypeKind::Unsigned | TypeKind::Signed => Some(false),
                    _ => None,
                }
            }
            Operand::Int(_) => Some(false),
            Operand::F32(_) | Operand::F64(_) => Some(true),
            _ => None,
        }
    }

    fn width(&self, operand: &Operand) -> Option<(&str, u16)> {
        match operand {
            Operand::Register(id) | Operand::Component(id, _) => {
                let register = &self.body.registers[id.0 as usize];
                Some((&register.name, register.ty.bits))
            }
            _ => None,
        }
    }

    fn value(&self, pattern: &Pattern, value: Value, operand: &Operand) -> Result {
        let ty = self.ty(value);
        let (kind, bits) = kind(ty);
        match operand {
            Operand::Register(id) if self.body.registers[id.0 as usize].lanes > 1 => {
                Err(format!("`{}` is a vector", self.body.registers[id.0 as usize].name))
            }
            Operand::Register(id) => self.register(pattern, value, *id),
            Operand::Component(id, lane) => {
                let register = &self.body.registers[id.0 as usize];
                if register.lanes <= 1 {
                    return Err(format!("`{}` is no vector", register.name));
                }
                if *lane >= register.lanes {
                    return Err(format!("`{}` has {} elements", register.name, register.lanes));
                }
                self.register(pattern, value, *id)
            }
            Operand::Sum(id, _)
                if !pattern.written && matches!(kind, Kind::Bits | Kind::Integer) =>
            {
                self.register(pattern, value, *id)
            }
            Operand::Not(_) if !pattern.negatable => Err("`!` does not stand here".into()),
            Operand::Not(id) => self.register(pattern, value, *id),
            Operand::Sink if pattern.dropped => Ok(()),
            Operand::Sink => Err("`_` does not stand here".into()),
            _ if pattern.written => Err("a register belongs where a result is stored".into()),
            _ if pattern.register_only => Err("a register belongs where a value stands".into()),
            Operand::Int(n) => match kind {
                Kind::Predicate | Kind::Bits | Kind::Integer => {
                    // Only what fits counts, as for the instruction itself.
                    let n =
                        if bits == 32 && *n > i64::from(u32::MAX) { *n as u32 as i64 } else { *n };
                    pattern.literals.refuse(n).map_or(Ok(()), Err)
                }
                _ => Err(format!("an integer where `.{ty}` belongs")),
            },
            Operand::F32(_) | Operand::F64(_) => {
                let own = if matches!(operand, Operand::F32(_)) { 32 } else { 64 };
                match kind {
                    Kind::Float => Ok(()),
                    Kind::Bits if bits == own => Ok(()),
                    _ => Err(format!("a floating-point literal where `.{ty}` belongs")),
                }
            }
            Operand::Symbol(symbol, _)
                if pattern.symbol && kind != Kind::Predicate && bits >= 32 =>
            {
                // The address of a variable, in the window of its space.
                match (self.bound.space, self.space(symbol)) {
                    (_, Some(of)) if pattern.shared && of != Space::Shared => {
                        Err("a variable that is not in shared memory".into())
                    }
                    (Some(named), Some(of)) if !windows(named).contains(&of) => {
                        Err("a variable of another state space".into())
                    }
                    (_, Some(Space::Global)) if bits < 64 => {
                        Err("64 bits belong where the address of a global variable stands".into())
                    }
                    _ => Ok(()),
                }
            }
            // Conversions take those that are wider, as they do registers.
            Operand::Special(name) if pattern.special && pattern.wider => {
                let has = width_of_special(name);
                match bits > has && **name != *"%gridid" {
                    true => Err(format!("`{name}` has {has} bits where {bits} bits belong")),
                    false => special(name, Kind::Integer, has),
                }
            }
            Operand::Special(name) if pattern.special => special(name, kind, bits),
            _ => Err(format!("a value of `.{ty}` belongs")),
        }
    }

    fn register(&self, pattern: &Pattern, value: Value, id: RegId) -> Result {
        let ty = self.ty(value);
        let (kind, bits) = kind(ty);
        let register = &self.body.registers[id.0 as usize];
        let has = u32::from(register.ty.bits);
        let predicate = register.ty.kind == TypeKind::Predicate;
        let said = |what: &str| Err(format!("`{}` has {what}", register.name));
        if predicate != (kind == Kind::Predicate) {
            let wanted = match kind {
                Kind::Predicate => "a predicate belongs".to_owned(),
                _ => format!("{bits} bits belong"),
            };
            return match predicate {
                true => Err(format!("`{}` is a predicate where {wanted}", register.name)),
                false => said(&format!("{has} bits where {wanted}")),
            };
        }
        let wider = pattern.wider && kind != Kind::Packed;
        if has != bits && !(wider && has > bits) {
            let more = if wider { " or more" } else { "" };
            return said(&format!("{has} bits where {bits} bits{more} belong"));
        }
        use TypeKind::*;
        let suits = match (kind, register.ty.kind) {
            (Kind::Predicate | Kind::Bits, _) | (_, Bits) => true,
            (Kind::Integer, Unsigned | Signed) => true,
            (Kind::Float, Float) => has == bits,
            (Kind::Half, Float) => has == bits,
            _ => false,
        };
        if suits { Ok(()) } else { said(&format!("another type than `.{ty}`")) }
    }

    fn space(&self, symbol: &Symbol) -> Option<Space> {
        Some(match symbol {
            Symbol::Param(_) | Symbol::Return(_) => Space::Param,
            Symbol::Local(id) => self.body.variables[id.0 as usize].space,
            Symbol::Global(name) => *self.spaces.get(&**name)?,
        })
    }

    fn address(&self, coordinates: Coordinates, operand: &Operand) -> Result {
        let Operand::Address(address) = operand else {
            return Err("an address in brackets belongs where an operand stands".into());
        };
        let wanted = match coordinates {
            Coordinates::OfDimensions => self.bound.dimensions,
            Coordinates::Exactly(n) => n,
            _ => 0,
        };
        match (&address.items[..], wanted) {
            ([], 0) => {}
            ([Operand::Vector(parts)], n) if n > 0 => {
                if parts.len() != n {
                    return Err(format!("{} coordinates where {n} belong", parts.len()));
                }
                for part in parts {
                    self.value(&Pattern::default(), Value::Named("b32"), part)?;
                }
            }
            ([], _) => return Err("an address without coordinates".into()),
            _ => return Err("an address with coordinates".into()),
        }
        let space = match coordinates {
            Coordinates::InSpace | Coordinates::InSpaceOrNarrow | Coordinates::OfBarrier => {
                Some(self.bound.space)
            }
            Coordinates::InSecondSpace => Some(self.bound.second_space),
            Coordinates::OfGlobal => Some(Some("global")),
            Coordinates::OfShared => Some(Some("shared")),
            _ => None,
        };
        match &address.base {
            base if matches!(coordinates, Coordinates::OfCall) => match base {
                tree::Base::Symbol(Symbol::Return(_)) => Ok(()),
                tree::Base::Symbol(symbol @ Symbol::Local(_))
                    if self.space(symbol) == Some(Space::Param) =>
                {
                    Ok(())
                }
                _ => Err("a `.param` variable of a call belongs where an address stands".into()),
            },
            tree::Base::Register(id) => {
                let register = &self.body.registers[id.0 as usize];
                let bits = register.ty.bits;
                // The generic and the global window are 64 bits wide.
                let wide = matches!(space, Some(None | Some("global")));
                let wanted = match coordinates {
                    Coordinates::OfTensorMemory => 32..=32,
                    Coordinates::InSecondSpace | Coordinates::InSpaceOrNarrow => 32..=64,
                    _ if wide => 64..=64,
                    _ => 32..=64,
                };
                let integer = matches!(
                    register.ty.kind,
                    TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed
                );
                if !integer || register.lanes != 1 {
                    return Err(format!("`{}` is no register for addresses", register.name));
                }
                if !wanted.contains(&bits) {
                    let wanted = if *wanted.end() == 32 { 32 } else { 64 };
                    let name = &register.name;
                    return Err(format!("`{name}` has {bits} bits where {wanted} bits belong"));
                }
                Ok(())
            }
            tree::Base::Symbol(_) if matches!(coordinates, Coordinates::OfTensorMemory) => {
                Err("a register belongs where an address of tensor memory stands".into())
            }
            tree::Base::Symbol(symbol) => match (space, self.space(symbol)) {
                (Some(None), Some(of)) if matches!(coordinates, Coordinates::OfBarrier) => match of
                {
                    Space::Shared => Ok(()),
                    _ => Err("a variable that is not in shared memory".into()),
                },
                (Some(None), Some(of)) => {
                    match [Space::Global, Space::Shared, Space::Local].contains(&of) {
                        true => Ok(()),
                        false => Err("a variable that has no generic address".into()),
                    }
                }
                (Some(Some(named)), Some(of)) if !windows(named).contains(&of) => {
                    Err("a variable of another state space".into())
                }
                _ => Ok(()),
            },
            tree::Base::Absolute => match space {
                Some(Some("local")) => Ok(()),
                _ => Err("an address that is a number".into()),
            },
        }
    }
}

/// The spaces of the variables that an access of a state space may name.
fn windows(space: &str) -> &'static [Space] {
    match space {
        "global" => &[Space::Global],
        "const" => &[Space::Const],
        "local" => &[Space::Local],
        _ if space.starts_with("shared") => &[Space::Shared],
        _ => &[Space::Param],
    }
}

fn count(found: usize, least: usize, most: usize) -> String {
    let wanted = match most - least {
        0 if most == 1 => "1 operand".into(),
        0 if most == 0 => "no operands".into(),
        0 => format!("{most} operands"),
        1 => format!("{least} or {most} operands"),
        _ => format!("{least} to {most} operands"),
    };
    format!("{found} where {wanted} belong")
}

fn width_of_special(name: &str) -> u32 {
    match name.split('.').next().unwrap_or_default() {
        "%clock64" | "%globaltimer" | "%current_graph_exec" => 64,
        "%is_explicit_cluster" => 1,
        base if base.ends_with("_64") => 64,
        _ => 32,
    }
}

/// Whether a special register may be moved into something of this type.
fn special(name: &str, kind: Kind, bits: u32) -> Result {
    let (base, part) = name.split_once('.').unwrap_or((name, ""));
    let vectors = ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid"];
    let whole = vectors.contains(&base) || matches!(base, "%cluster_ctaid" | "%cluster_nctaid");
    if whole == part.is_empty() {
        return Err(format!("`{name}` does not name one value"));
    }
    let numbered = |prefix: &str, most: u32| {
        let number = base.strip_prefix(prefix).map(|n| n.strip_suffix("_64").unwrap_or(n));
        number.is_some_and(|n| n.parse::<u32>().map_or(true, |n| n > most))
    };
    if numbered("%pm", 7) || numbered("%envreg", 31) {
        return Err(format!("there is no `{name}`"));
    }
    let wanted = width_of_special(name);
    let narrower = bits == 16 && wanted == 32 || base == "%gridid" && bits >= 16;
    match kind {
        Kind::Predicate if wanted == 1 => Ok(()),
        Kind::Bits | Kind::Integer if bits == wanted || narrower => Ok(()),
        _ => Err(format!("`{name}` has {wanted} bits where {bits} bits belong")),
    }
}
