//! The notation of the tables.
//!
//! A line is a form: `name: modifiers ; operands`. A name with dots (`mul.lo`) fixes the first modifiers and their place;
//! the others may stand in any order, as `ptxas` has it. `let x = a|b` names a choice, which is meant by `$x`.
//!
//! | modifiers | |
//! |---|---|
//! | `a` `a\|b` `a?` | one of them; none as well |
//! | `<u32\|s32>` | the next type in the mnemonic, which operands call `T`, then `U`, `V`, `W` |
//! | `[global]` | the next state space |
//! | `{row}` | the next layout |
//! | `( a b / c )?` | one of several sequences |
//!
//! | operands | |
//! |---|---|
//! | `=T` `T` | a register that is written; a source |
//! | `[]` `[S]` `[S2]` | an address; of the state space in the mnemonic; of the second one |
//! | `[N]` `[P]` | the same, and registers may have 32 bits; an argument or result of a call |
//! | `[M]` | of an mbarrier: as `[S]`, and without a state space of a shared variable |
//! | `[g]` `[s]` `[t]` | an address of global memory; of shared memory; of tensor memory, in 32 bits |
//! | `[D]` `[5]` | an address with as many coordinates as dimensions; with five |
//! | `#` | an integer literal |
//! | `l` | a label |
//! | `4*T` `v*T` `k*T` | a vector of four; of as many as `.v2` says, or one; of as many as the shape has |
//! | `=b32\|pred` | two destinations |
//! | `=_` | `_`, for no result |
//! | `*` | whatever its decoder takes |
//!
//! Behind them stand `+` (registers may be wider), `!` (no literal), `~` (a predicate may be negated), `_` (the result may
//! be dropped), `&` (or the address of a variable), `$` (of a shared one), `%` (or a special register), `?` (it may be missing), and at last what a
//! literal may be: `@0..15`, `@0..256/16` (in steps), `@4,8,16`.

use std::collections::{HashMap, HashSet};

/// What `ptxas` takes of one instruction.
#[derive(Debug)]
pub(super) struct Form {
    /// The modifiers that stand first, in this order.
    pub fixed: Vec<&'static str>,
    pub modifiers: Vec<Node>,
    pub operands: Vec<Pattern>,
}

#[derive(Debug)]
pub(super) enum Node {
    Word { names: Vec<&'static str>, optional: bool },
    Ordered { class: Class, names: Vec<&'static str>, optional: bool },
    Either { sequences: Vec<Vec<Node>>, optional: bool },
}

/// Modifiers of which the order matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Type,
    Space,
    Layout,
}

#[derive(Debug, Default)]
pub(super) struct Pattern {
    pub base: Base,
    pub written: bool,
    pub wider: bool,
    pub register_only: bool,
    pub negatable: bool,
    pub dropped: bool,
    pub symbol: bool,
    /// Of a symbol: it has to be in shared memory.
    pub shared: bool,
    pub special: bool,
    pub optional: bool,
    /// What a literal may be.
    pub literals: Literals,
    /// The second destination, and whether it has to be there.
    pub second: Option<(Value, bool)>,
}

#[derive(Debug, Default)]
pub(super) enum Base {
    Value(Value),
    Vector(Count, Value),
    Address(Coordinates),
    Literal,
    Label,
    Dropped,
    #[default]
    Anything,
}

#[derive(Debug, Default)]
pub(super) enum Literals {
    #[default]
    All,
    /// From, to, in steps of.
    Range(i64, i64, i64),
    These(Vec<i64>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// The type in the mnemonic with this number.
    Bound(usize),
    Named(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Exactly(usize),
    OfModifier,
    OfShape,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Coordinates {
    None,
    InSpace,
    InSecondSpace,
    InSpaceOrNarrow,
    OfBarrier,
    OfCall,
    OfGlobal,
    OfShared,
    OfTensorMemory,
    OfDimensions,
    Exactly(usize),
}

/// All forms, by the first word of their names.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub forms: HashMap<&'static str, Vec<Form>>,
    /// Words that are types, state spaces and layouts somewhere.
    pub types: HashSet<&'static str>,
    pub spaces: HashSet<&'static str>,
    pub layouts: HashSet<&'static str>,
}

impl Table {
    pub fn class(&self, class: Class) -> &HashSet<&'static str> {
        match class {
            Class::Type => &self.types,
            Class::Space => &self.spaces,
            Class::Layout => &self.layouts,
        }
    }

    /// Reads the tables; an error names the line.
    pub fn parse(texts: &[&'static str]) -> Result<Table, String> {
        let mut table = Table::default();
        let mut lets: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            let line = line.split_once("//").map_or(line, |(line, _)| line).trim();
            if line.is_empty() {
                continue;
            }
            let wrong = |what: &str| format!("{what}: {line}");
            if let Some(definition) = line.strip_prefix("let ") {
                let (name, choice) = definition.split_once('=').ok_or_else(|| wrong("no `=`"))?;
                let choice = names(choice.trim(), &lets).map_err(|e| wrong(&e))?;
                lets.insert(name.trim(), choice);
                continue;
            }
            let (name, rest) = line.split_once(": ").ok_or_else(|| wrong("no `:`"))?;
            let (modifiers, operands) = rest.split_once(';').ok_or_else(|| wrong("no `;`"))?;
            let mut words = modifiers.split_whitespace().peekable();
            let mut modifiers = table.sequences(&mut words, &lets).map_err(|e| wrong(&e))?;
            let (Some(modifiers), true) = (modifiers.pop(), modifiers.is_empty()) else {
                return Err(wrong("`/` outside of parentheses"));
            };
            if words.next().is_some() {
                return Err(wrong("`)` without `(`"));
            }
            let operands = operands.split_whitespace().map(pattern).collect::<Result<_, _>>();
            let operands = operands.map_err(|e| wrong(&e))?;
            let mut parts = name.trim().split('.');
            let opcode = parts.next().unwrap_or_default();
            let form = Form { fixed: parts.collect(), modifiers, operands };
            table.forms.entry(opcode).or_default().push(form);
        }
        Ok(table)
    }

    /// Sequences up to the end or to `)`, which is not taken.
    fn sequences(
        &mut self,
        words: &mut std::iter::Peekable<std::str::SplitWhitespace<'static>>,
        lets: &HashMap<&str, Vec<&'static str>>,
    ) -> Result<Vec<Vec<Node>>, String> {
        let mut sequences = vec![Vec::new()];
        while let Some(&word) = words.peek() {
            if word == ")" || word == ")?" {
                break;
            }
            words.next();
            let node = match word {
                "/" => {
                    sequences.push(Vec::new());
                    continue;
                }
                "(" => {
                    let inner = self.sequences(words, lets)?;
                    let close = words.next().ok_or("`(` without `)`")?;
                    Node::Either { sequences: inner, optional: close == ")?" }
                }
                word => self.node(word, lets)?,
            };
            if let Some(last) = sequences.last_mut() {
                last.push(node);
            }
        }
        Ok(sequences)
    }

    fn node(
        &mut self,
        word: &'static str,
        lets: &HashMap<&str, Vec<&'static str>>,
    ) -> Result<Node, String> {
        let (word, optional) = match word.strip_suffix('?') {
            Some(word) => (word, true),
            None => (word, false),
        };
        let inside = |open, close| word.strip_prefix(open).and_then(|w| w.strip_suffix(close));
        for (open, close, class) in
            [('<', '>', Class::Type), ('[', ']', Class::Space), ('{', '}', Class::Layout)]
        {
            if let Some(choice) = inside(open, close) {
                let names = names(choice, lets)?;
                match class {
                    Class::Type => self.types.extend(&names),
                    Class::Space => self.spaces.extend(&names),
                    Class::Layout => self.layouts.extend(&names),
                }
                return Ok(Node::Ordered { class, names, optional });
            }
        }
        Ok(Node::Word { names: names(word, lets)?, optional })
    }
}

/// `a|b|$c`
fn names(
    choice: &'static str,
    lets: &HashMap<&str, Vec<&'static str>>,
) -> Result<Vec<&'static str>, String> {
    let mut all = Vec::new();
    for name in choice.split('|').map(str::trim) {
        match name.strip_prefix('$') {
            Some(name) => all.extend(lets.get(name).ok_or(format!("${name} is not defined"))?),
            None if name.is_empty() => return Err("an empty name".into()),
            None => all.push(name),
        }
    }
    Ok(all)
}

fn value(text: &'static str) -> Value {
    match text {
        "T" => Value::Bound(0),
        "U" => Value::Bound(1),
        "V" => Value::Bound(2),
        "W" => Value::Bound(3),
        name => Value::Named(name),
    }
}

fn pattern(text: &'static str) -> Result<Pattern, String> {
    let bad = || format!("`{text}` is no operand");
    let number = |text: &str| text.parse::<i64>().map_err(|_| bad());
    let (rest, written) = match text.strip_prefix('=') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (rest, literals) = match rest.split_once('@') {
        Some((rest, set)) => (rest, literals(set, number)?),
        None => (rest, Literals::All),
    };
    let end = rest.find(|c| "+!~?_&$%".contains(c)).unwrap_or(rest.len());
    let (core, flags) = rest.split_at(end);
    let (core, second) = match core.split_once('|') {
        Some((first, second)) => (first, Some((value(second), !flags.contains('?')))),
        None => (core, None),
    };
    let base = match core {
        "*" => Base::Anything,
        "" if flags == "_" => Base::Dropped,
        "#" => Base::Literal,
        "l" => Base::Label,
        "[]" => Base::Address(Coordinates::None),
        "[S]" => Base::Address(Coordinates::InSpace),
        "[S2]" => Base::Address(Coordinates::InSecondSpace),
        "[M]" => Base::Address(Coordinates::OfBarrier),
        "[N]" => Base::Address(Coordinates::InSpaceOrNarrow),
        "[P]" => Base::Address(Coordinates::OfCall),
        "[g]" => Base::Address(Coordinates::OfGlobal),
        "[s]" => Base::Address(Coordinates::OfShared),
        "[t]" => Base::Address(Coordinates::OfTensorMemory),
        "[D]" => Base::Address(Coordinates::OfDimensions),
        _ if core.starts_with('[') => {
            Base::Address(Coordinates::Exactly(number(core.trim_matches(['[', ']']))? as usize))
        }
        _ => match core.split_once('*') {
            Some(("v", of)) => Base::Vector(Count::OfModifier, value(of)),
            Some(("k", of)) => Base::Vector(Count::OfShape, value(of)),
            Some((n, of)) => Base::Vector(Count::Exactly(number(n)? as usize), value(of)),
            None => Base::Value(value(core)),
        },
    };
    Ok(Pattern {
        base,
        written,
        wider: flags.contains('+'),
        register_only: flags.contains('!'),
        negatable: flags.contains('~'),
        dropped: flags.contains('_'),
        symbol: flags.contains(['&', '$']),
        shared: flags.contains('$'),
        special: flags.contains('%'),
        // Behind two destinations, it means the second one.
        optional: flags.contains('?') && second.is_none(),
        literals,
        second,
    })
}

/// `0..15`, `0..256/16` or `4,8,16`.
fn literals(set: &str, number: impl Fn(&str) -> Result<i64, String>) -> Result<Literals, String> {
    let (set, step) = match set.split_once('/') {
        Some((set, step)) => (set, number(step)?),
        None => (set, 1),
    };
    Ok(match set.split_once("..") {
        Some((low, high)) => Literals::Range(number(low)?, number(high)?, step),
        None => Literals::These(set.split(',').map(number).collect::<Result<_, _>>()?),
    })
}

impl Literals {
    /// Says what belongs there, if `n` does not.
    pub fn refuse(&self, n: i64) -> Option<String> {
        match self {
            Literals::All => None,
            Literals::Range(low, high, step) => {
                let inside = (low..=high).contains(&&n) && n % step == 0;
                let of = if *step == 1 { String::new() } else { format!(", multiples of {step},") };
                (!inside).then(|| format!("{n} where {low} to {high}{of} belong"))
            }
            Literals::These(all) => {
                let list: Vec<_> = all.iter().map(i64::to_string).collect();
                (!all.contains(&n)).then(|| format!("{n} where {} belong", list.join(" or ")))
            }
        }
    }
}
