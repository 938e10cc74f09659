//! Which version of the language, and which target, an instruction needs.

use crate::tree::{Body, Instruction, Module, Operand, TypeKind};
use std::collections::HashMap;
use std::sync::OnceLock;

const TEXT: &str = include_str!("table/needs.txt");

/// The table, read once. A test reads it as well: it has no mistakes.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| parse(TEXT).unwrap_or_default())
}

/// All lines, by the instruction that they are about.
type Table = HashMap<&'static str, Vec<Need>>;

#[derive(Debug)]
pub(super) struct Need {
    /// All of them hold, each by one of its words.
    words: Vec<Vec<&'static str>>,
    /// Either of them will do.
    levels: Vec<((u32, u32), Targets)>,
}

#[derive(Clone, Debug)]
enum Targets {
    From(u32),
    These(Vec<&'static str>),
}

/// What a module is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'m> {
    version: (u32, u32),
    /// Without `sm_`; none if it names no such target.
    target: Option<&'m str>,
}

fn parse(text: &'static str) -> Result<Table, String> {
    let mut table = Table::new();
    let mut lets: HashMap<&str, Vec<&'static str>> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with("//")) {
        let wrong = || format!("no need: {line}");
        if let Some((name, choice)) = line.strip_prefix("let ").and_then(|l| l.split_once(" = ")) {
            lets.insert(name, choice.split('|').collect());
            continue;
        }
        let (opcode, rest) = line.split_once(": ").ok_or_else(wrong)?;
        let (words, need) = rest.split_once("; ").ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let mut levels = Vec::new();
        for level in need.split(" or ") {
            let (version, target) = level.split_once(' ').ok_or_else(wrong)?;
            let (major, minor) = version.split_once('.').ok_or_else(wrong)?;
            let targets = match target.strip_prefix('$') {
                Some(name) => Targets::These(lets.get(name).ok_or_else(wrong)?.clone()),
                None if target.ends_with(|c: char| c.is_ascii_digit()) => {
                    Targets::From(number(target)?)
                }
                None => Targets::These(vec![target]),
            };
            levels.push(((number(major)?, number(minor)?), targets));
        }
        let words = words.split_whitespace().map(|word| word.split('|').collect()).collect();
        table.entry(opcode).or_default().push(Need { words, levels });
    }
    Ok(table)
}

impl<'m> Level<'m> {
    pub fn of(module: &'m Module) -> Self {
        let target = module.target.iter().find_map(|word| word.strip_prefix("sm_"));
        Self { version: module.version, target }
    }

    fn is_enough(&self, need: &Need) -> bool {
        need.levels.iter().any(|(version, targets)| {
            self.version >= *version && self.target.is_none_or(|target| targets.have(target))
        })
    }
}

impl Targets {
    fn have(&self, target: &str) -> bool {
        match self {
            Targets::From(first) => {
                let digits = target.trim_end_matches(|c: char| !c.is_ascii_digit());
                digits.parse::<u32>().is_ok_and(|number| number >= *first)
            }
            Targets::These(all) => all.contains(&target),
        }
    }
}

/// The needs that a module does not meet, of instructions with these modifiers and some operands.
pub(super) fn unmet(opcode: &str, words: &[&str], level: Level<'_>) -> Vec<&'static Need> {
    let all = table().get(opcode).into_iter().flatten().filter(|need| !level.is_enough(need));
    let may_be = |word: &str| word.starts_with('#') || is_said(word, words);
    all.filter(|need| need.holds(may_be)).collect()
}

/// Whether modifiers are as a word of the table wants them.
fn is_said(word: &str, words: &[&str]) -> bool {
    match word.split_at(1) {
        ("!", other) => !words.contains(&other),
        ("<", other) => words.last() == Some(&other),
        (">", other) => words.iter().rev().nth(1) == Some(&other),
        _ => words.contains(&word),
    }
}

impl Need {
    fn holds(&self, is_so: impl Fn(&str) -> bool) -> bool {
        self.words.iter().all(|choice| choice.iter().any(|word| is_so(word)))
    }

    /// Says what the module of an instruction lacks, if this is about the instruction.
    pub fn refuse(
        &self,
        body: &Body,
        instruction: &Instruction,
        level: Level<'_>,
    ) -> Option<String> {
        let operands = &instruction.operands[..];
        let words: Vec<&str> = instruction.modifiers().collect();
        let is_so = |word: &str| match word.strip_prefix('#') {
            Some("lit") => matches!(operands.last(), Some(Operand::Int(_))),
            Some("_") => matches!(operands.first(), Some(Operand::Sink)),
            Some("pred") => operands.iter().any(|operand| is_predicate(body, operand)),
            Some(count) => count.parse() == Ok(operands.len()),
            None => is_said(word, &words),
        };
        if !self.holds(is_so) {
            return None;
        }
        let target = level.target.unwrap_or_default();
        // The level for this target, if there is one.
        let own = self.levels.iter().find(|(_, targets)| targets.have(target));
        let ((major, minor), targets) = own.or(self.levels.last())?;
        if level.version < (*major, *minor) {
            let (own, part) = level.version;
            return Some(format!("it is of PTX {major}.{minor}, and the module of {own}.{part}"));
        }
        Some(match targets {
            Targets::From(first) => {
                format!("it needs sm_{first}, and the module is for sm_{target}")
            }
            Targets::These(all) => {
                let all: Vec<_> = all.iter().map(|target| format!("sm_{target}")).collect();
                let one = if all.len() == 1 { "" } else { "one of " };
                format!("it needs {one}{}, and the module is for sm_{target}", all.join(", "))
            }
        })
    }
}

fn is_predicate(body: &Body, operand: &Operand) -> bool {
    let (Operand::Register(id) | Operand::Not(id)) = operand else { return false };
    body.registers[id.0 as usize].ty.kind == TypeKind::Predicate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms;

    #[test]
    fn the_table_has_no_mistakes() {
        let table = parse(TEXT).unwrap_or_else(|e| panic!("{e}"));
        let words = forms::vocabulary();
        for (opcode, needs) in &table {
            assert!(forms::table().forms.contains_key(opcode), "{opcode}");
            for word in needs.iter().flat_map(|need| need.words.iter().flatten()) {
                let name = word.trim_start_matches(['!', '<', '>']);
                assert!(name.starts_with('#') || words.contains(&name), "{opcode}: {word}");
            }
        }
    }
}
