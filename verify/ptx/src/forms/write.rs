//! Instructions of a form, for tests.

use super::grammar::{Base, Coordinates, Count, Form, Literals, Node, Pattern, Value};
use super::operands::{Kind, kind};

pub(super) fn instruction(
    opcode: &str,
    form: &Form,
    pick: &mut dyn FnMut(usize) -> usize,
) -> String {
    let mut words: Vec<&'static str> = form.fixed.clone();
    let mut types = Vec::new();
    nodes(&form.modifiers, pick, &mut words, &mut types);
    let number = |part: &dyn Fn(&'static str) -> Option<&'static str>| {
        words.iter().find_map(|w| part(w)?.parse::<usize>().ok())
    };
    let lanes = number(&|w| w.strip_prefix('v')).unwrap_or(1);
    let dimensions = number(&|w| w.strip_suffix('d')).unwrap_or(0);
    let spaces = words.iter().filter(|w| w.starts_with("shared") || **w == "global").copied();
    let spaces = spaces.collect();
    let registers = super::modifiers::registers(&words, types.first().copied());
    let mut writer = Writer { types, lanes, registers, dimensions, spaces, addresses: 0, pick };
    let mut operands = Vec::new();
    let mut fewer = false;
    for pattern in &form.operands {
        fewer |= pattern.optional && (writer.pick)(2) == 0;
        if pattern.optional && fewer {
            continue;
        }
        operands.push(writer.operand(pattern));
    }
    let mut text = opcode.to_owned();
    for word in words {
        text += ".";
        text += word;
    }
    if !operands.is_empty() {
        text += " ";
        text += &operands.join(", ");
    }
    text
}

fn nodes(
    all: &[Node],
    pick: &mut dyn FnMut(usize) -> usize,
    words: &mut Vec<&'static str>,
    types: &mut Vec<&'static str>,
) {
    for node in all {
        match node {
            Node::Word { names, optional } | Node::Ordered { names, optional, .. } => {
                if *optional && pick(3) > 0 {
                    continue;
                }
                let name = names[pick(names.len())];
                words.push(name);
                if let Node::Ordered { class: super::grammar::Class::Type, .. } = node {
                    types.push(name);
                }
            }
            Node::Either { sequences, optional } => {
                let n = sequences.len();
                let choice = pick(n + usize::from(*optional));
                if let Some(sequence) = sequences.get(choice) {
                    nodes(sequence, pick, words, types);
                }
            }
        }
    }
}

struct Writer<'p> {
    types: Vec<&'static str>,
    lanes: usize,
    dimensions: usize,
    registers: usize,
    spaces: Vec<&'static str>,
    /// How many were written.
    addresses: usize,
    pick: &'p mut dyn FnMut(usize) -> usize,
}

impl Writer<'_> {
    fn ty(&self, value: Value) -> &'static str {
        match value {
            Value::Named(name) => name,
            Value::Bound(i) => self.types.get(i).copied().unwrap_or("b32"),
        }
    }

    fn operand(&mut self, pattern: &Pattern) -> String {
        let first = match &pattern.base {
            Base::Value(value) => self.value(pattern, *value),
            Base::Vector(count, value) => {
                let n = match count {
                    Count::Exactly(n) => *n,
                    Count::OfModifier => self.lanes,
                    Count::OfShape => self.registers,
                };
                match (count, n) {
                    (Count::OfModifier, 1) => self.value(pattern, *value),
                    _ => {
                        let prefix = self.prefix(pattern, *value);
                        let parts: Vec<_> = (1..=n).map(|i| format!("{prefix}{i}")).collect();
                        format!("{{{}}}", parts.join(", "))
                    }
                }
            }
            Base::Address(coordinates) => self.address(*coordinates),
            Base::Literal => self.literal(&pattern.literals),
            Base::Dropped => "_".into(),
            Base::Label => "here".into(),
            Base::Anything => "%d1".into(),
        };
        match pattern.second {
            Some((value, required)) if required || (self.pick)(2) == 0 => {
                let (prefix, n) = (prefix(self.ty(value), false), 1 + (self.pick)(4));
                format!("{first}|{prefix}{n}")
            }
            _ => first,
        }
    }

    fn literal(&mut self, literals: &Literals) -> String {
        let n = match literals {
            Literals::All => (self.pick)(32) as i64,
            Literals::Range(low, high, step) => {
                low + (self.pick)(((high - low) / step + 1) as usize) as i64 * step
            }
            Literals::These(all) => all[(self.pick)(all.len())],
        };
        n.to_string()
    }

    fn prefix(&mut self, pattern: &Pattern, value: Value) -> &'static str {
        let ty = self.ty(value);
        let wider = pattern.wider && kind(ty).0 != Kind::Packed && (self.pick)(4) == 0;
        prefix(ty, wider)
    }

    fn value(&mut self, pattern: &Pattern, value: Value) -> String {
        let (kind, bits) = kind(self.ty(value));
        let literal = !pattern.written && !pattern.register_only && (self.pick)(5) == 0;
        match kind {
            Kind::Bits | Kind::Integer if literal => return self.literal(&pattern.literals),
            Kind::Float if literal && bits == 32 => return "0f3F800000".into(),
            Kind::Float if literal => return "0d3FF0000000000000".into(),
            _ => {}
        }
        if pattern.dropped && (self.pick)(5) == 0 {
            return "_".into();
        }
        let not = if pattern.negatable && (self.pick)(3) == 0 { "!" } else { "" };
        let prefix = self.prefix(pattern, value);
        format!("{not}{prefix}{}", 1 + (self.pick)(4))
    }

    fn address(&mut self, coordinates: Coordinates) -> String {
        let n = match coordinates {
            Coordinates::OfDimensions => self.dimensions,
            Coordinates::Exactly(n) => n,
            _ => 0,
        };
        // Behind two spaces, it is an mbarrier.
        let space = match (self.spaces.get(self.addresses), self.spaces.len()) {
            (Some(space), _) => space,
            (None, 2) => "shared",
            (None, _) => self.spaces.first().copied().unwrap_or("global"),
        };
        self.addresses += 1;
        let narrow = matches!(coordinates, Coordinates::OfTensorMemory | Coordinates::OfShared);
        let base = if narrow || space.starts_with("shared") && n == 0 { "%r8" } else { "%d8" };
        if n == 0 {
            return format!("[{base}]");
        }
        let parts: Vec<_> = (1..=n).map(|i| format!("%r{i}")).collect();
        format!("[{base}, {{{}}}]", parts.join(", "))
    }
}

fn prefix(ty: &str, wider: bool) -> &'static str {
    let (kind, bits) = kind(ty);
    match (kind, bits) {
        (Kind::Predicate, _) => "%p",
        (Kind::Float, 32) => "%f",
        (Kind::Float, _) => "%e",
        (_, 0..=8) => ["%c", "%r"][usize::from(wider)],
        (_, 9..=16) => ["%h", "%r"][usize::from(wider)],
        (_, 17..=32) => ["%r", "%d"][usize::from(wider)],
        (_, 33..=64) => "%d",
        _ => "%q",
    }
}
