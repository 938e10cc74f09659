//! Statements made of moves: each uses what is in scope, in the state that it has there, or what an earlier one gave.

use baton_campaign::Random;
use quote::ToTokens;
use syn::{Stmt, parse_str};

use crate::moves::{Kind, MOVES, Move, family};
use crate::seed::Seed;
use crate::table::TOKEN;
use crate::walk::Context;

/// Begins the names of what statements of edits bind. The rest is the number of the edit and of the statement.
pub const MARK: &str = "made_";

/// A place for statements.
pub struct Place<'a> {
    /// The kernel.
    pub seed: &'a Seed,
    /// What is known there.
    pub context: &'a Context,
    /// The number of the edit, which the names have.
    pub edit: usize,
    /// What else may be moved.
    pub found: &'a Found,
}

/// What is found in the library and stands in no table.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Safe functions that make something out of nothing. There are to be none.
    pub statics: Vec<Static>,
    /// Methods.
    pub moves: Vec<Move>,
}

/// A safe function without a receiver that gives something of a kind, as an expression with `$number` for any number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// What it gives.
    pub kind: Kind,
    /// The left side of its `let`, with `$name`.
    pub pattern: String,
    /// The right side.
    pub call: String,
}

/// One in so many moves is of another state than the value has.
const WRONG_STATE: usize = 12;

/// One in so many is a function that makes a value anew.
const NEW: usize = 30;

struct Maker<'a> {
    place: &'a Place<'a>,
    pool: Vec<(String, Kind)>,
    made: Vec<Stmt>,
    next: usize,
}

impl Maker<'_> {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("{MARK}{}_{}", self.place.edit, self.next - 1)
    }

    fn push(&mut self, text: &str) -> bool {
        let parsed = parse_str::<Stmt>(text);
        if let Ok(statement) = parsed {
            self.made.push(statement);
            return true;
        }
        false
    }

    /// A call with its placeholders filled, and the values that it uses up; `None` if one is not there.
    fn call(&self, random: &mut Random, call: &str, own: &str) -> Option<(String, Vec<String>)> {
        let mut text = fill(call, self.place.seed, &self.place.context.token);
        let mut used = Vec::new();
        while let Some(start) = text.find('{') {
            let end = start + text[start..].find('}')?;
            let wanted = &text[start + 1..end];
            let (wanted, borrowed) = (wanted.trim_start_matches('&'), wanted.starts_with('&'));
            let (wanted, any) = (wanted.trim_start_matches('~'), wanted.starts_with('~'));
            let free = |entry: &&(String, Kind)| {
                let kind = if any { family(entry.1) } else { entry.1 };
                kind == wanted && entry.0 != own && !used.contains(&entry.0)
            };
            let fitting: Vec<_> = self.pool.iter().filter(free).collect();
            let name = fitting.get(random.below(fitting.len()))?.0.clone();
            text.replace_range(start..=end, &name);
            if !borrowed {
                used.push(name);
            }
        }
        Some((text, used))
    }

    fn step(&mut self, random: &mut Random) {
        let Found { statics, moves } = self.place.found;
        if !statics.is_empty() && random.below(4) == 0 {
            let chosen = &statics[random.below(statics.len())];
            let name = self.name();
            let pattern = chosen.pattern.replace("$name", &name);
            let number = 8 * random.below(256);
            let call = chosen.call.replace("$number", &number.to_string());
            if self.push(&format!("let {pattern} = {call};")) {
                self.pool.push((name, chosen.kind));
            }
            return;
        }
        if random.below(NEW) == 0 {
            // Where the kernel has such a thing too; other kernels can do nothing with it.
            let text = self.place.seed.file.to_token_stream().to_string();
            // The kernel imports from the function's module.
            let of = |new: &&(Kind, &str)| {
                new.1
                    .split("::")
                    .nth(1)
                    .is_some_and(|module| text.contains(&format!(":: {module} ::")))
            };
            let fitting: Vec<_> = MOVES.new.iter().filter(of).collect();
            if let Some((kind, call)) = fitting.get(random.below(fitting.len())) {
                let call = fill(call, self.place.seed, &self.place.context.token);
                let name = self.name();
                if self.push(&format!("let mut {name} = {call};")) {
                    self.pool.push((name, *kind));
                }
                return;
            }
        }
        if self.pool.is_empty() {
            return;
        }
        // The young rather than the old: chains of moves lead into late states.
        let count = self.pool.len();
        let at = match random.below(2) {
            0 => random.below(count),
            _ => count - 1 - random.below(count.min(2)),
        };
        let (name, kind) = self.pool[at].clone();
        let of_type = random.below(WRONG_STATE) == 0;
        // Of a value whose state is not known any may be tried.
        let any = of_type || !MOVES.has(kind);
        let fits = |m: &&Move| m.on == kind || (any || m.any) && family(m.on) == family(kind);
        let moves: Vec<&Move> = MOVES.moves.iter().chain(moves).filter(fits).collect();
        let Some(&chosen) = moves.get(random.below(moves.len())) else { return };
        // Ends are seldom ended, and looking at a value does nothing to it.
        let looks = chosen.any && chosen.borrows && chosen.gives.is_empty();
        let dull = looks || chosen.method() == "finish" || chosen.method() == "get";
        if dull && random.below(4) != 0 {
            return;
        }
        let Some((call, used)) = self.call(random, &chosen.call, &name) else { return };
        let number = self.next;
        let given: Vec<(String, Kind)> = match &chosen.gives[..] {
            [] => Vec::new(),
            [kind] => vec![(self.name(), *kind)],
            several => several
                .iter()
                .enumerate()
                .map(|(k, kind)| (format!("{MARK}{}_{number}_{k}", self.place.edit), *kind))
                .collect(),
        };
        let pattern = match &given[..] {
            [] => format!("_{}", self.name()),
            [(one, _)] => format!("mut {one}"),
            several => {
                self.next += 1;
                let names: Vec<_> =
                    several.iter().map(|entry| format!("mut {}", entry.0)).collect();
                format!("({})", names.join(", "))
            }
        };
        if self.push(&format!("let {pattern} = {name}.{call};")) {
            let gone = |other: &str| {
                used.iter().any(|one| one == other) || (!chosen.borrows && other == name)
            };
            self.pool.retain(|entry| !gone(&entry.0));
            self.pool.extend(given);
        }
    }

    /// Ends what is still open, mostly.
    fn finish(&mut self, random: &mut Random) {
        for (name, kind) in std::mem::take(&mut self.pool).into_iter().rev() {
            if !name.starts_with(MARK) || random.below(40) == 0 {
                continue;
            }
            let ends: Vec<_> = MOVES.ends(kind).collect();
            let Some(end) = ends.get(random.below(ends.len())) else { continue };
            let call = fill(end, self.place.seed, &self.place.context.token);
            let result = self.name();
            self.push(&format!("let _{result} = {name}.{call};"));
        }
    }
}

/// Fills the placeholders of a call that name no value.
fn fill(call: &str, seed: &Seed, token: &str) -> String {
    call.replace("$token", &format!("&mut {token}"))
        .replace("$shared", &format!("&{token}"))
        .replace("$from", &seed.from)
        .replace("$value", &seed.value)
        .replace("$to", &seed.to)
}

/// Up to `length` statements of moves on these values, and what ends those that are left open.
pub fn statements(
    random: &mut Random,
    place: &Place<'_>,
    values: Vec<(String, Kind)>,
    length: usize,
) -> Vec<Stmt> {
    let mut pool = values;
    if random.below(6) == 0 {
        pool.insert(0, (place.context.token.clone(), TOKEN));
    }
    let mut maker = Maker { place, pool, made: Vec::new(), next: 0 };
    for _ in 0..length {
        maker.step(random);
    }
    maker.finish(random);
    maker.made
}
