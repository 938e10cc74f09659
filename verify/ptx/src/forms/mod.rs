//! What instructions look like: which modifiers go together, and what each operand has to be.
//!
//! The parser takes any mnemonic with any operands. Here stand tables of what `ptxas` 13.5 takes, in a notation like that
//! of the ISA's own syntax (chapter 9), and [`Checker`] compares instructions with them. An instruction that is not in the
//! tables would do something else than its author believes: a misspelt order counts as none, half of a register as all
//! of it.
//!
//! The tables hold no instructions that nothing here executes (textures, surfaces, video). Which version of the language and
//! which target an instruction needs stands in one of its own.

mod grammar;
mod modifiers;
mod needs;
mod operands;
mod write;

use crate::tree::{Body, Instruction, Module, Space};
use grammar::Table;
use modifiers::Bound;
use needs::{Level, Need};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::OnceLock;

const TEXTS: [&str; 5] = [
    include_str!("table/arithmetic.txt"),
    include_str!("table/memory.txt"),
    include_str!("table/threads.txt"),
    include_str!("table/asynchronous.txt"),
    include_str!("table/tensor.txt"),
];

/// The tables, read once. A test reads them as well: they have no mistakes.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::parse(&TEXTS).unwrap_or_default())
}

/// The forms whose modifiers are those of a mnemonic, with what they bind; or what is wrong with it.
type Matches = Result<Vec<(usize, Bound)>, String>;

/// Compares the instructions of a module with the tables.
#[derive(Debug)]
pub struct Checker<'m> {
    spaces: HashMap<&'m str, Space>,
    level: Level<'m>,
    /// What was found out about each mnemonic.
    known: HashMap<&'m str, (Matches, Vec<&'static Need>)>,
}

impl<'m> Checker<'m> {
    /// For the instructions of a module.
    pub fn new(module: &'m Module) -> Self {
        let spaces = module.variables.iter().map(|v| (&*v.name, v.space)).collect();
        Self { spaces, level: Level::of(module), known: HashMap::new() }
    }

    /// Says what `ptxas` would refuse of an instruction, in a module of this version and for this target.
    pub fn check(&mut self, body: &Body, instruction: &'m Instruction) -> Result<(), String> {
        let mnemonic = &*instruction.mnemonic;
        let opcode = instruction.opcode();
        let Some(forms) = table().forms.get(opcode) else {
            return Err(format!("`{opcode}` is no instruction that is known here"));
        };
        let level = self.level;
        let (matches, needs) = self.known.entry(mnemonic).or_insert_with(|| {
            let words: Vec<&str> = instruction.modifiers().collect();
            let matches = modifiers::find(table(), opcode, forms, &words);
            (matches, needs::unmet(opcode, &words, level))
        });
        let matches = matches.as_ref().map_err(String::clone)?;
        // Of several forms that was meant of which most fits.
        let mut nearest: Option<(usize, String)> = None;
        for (form, bound) in matches {
            let fitting = Cell::new(0);
            let place = operands::Place { body, spaces: &self.spaces, bound, fitting };
            let Err(why) = place.check(&forms[*form].operands, &instruction.operands) else {
                let lack = needs.iter().find_map(|need| need.refuse(body, instruction, level));
                return lack.map_or(Ok(()), Err);
            };
            let fitting = place.fitting.get();
            if nearest.as_ref().is_none_or(|(most, _)| fitting > *most) {
                nearest = Some((fitting, why));
            }
        }
        Err(nearest.map(|(_, why)| why).unwrap_or_default())
    }
}

/// How many forms the tables have.
pub fn count() -> usize {
    table().forms.values().map(Vec::len).sum()
}

/// An instruction of the form with this number, for tests of those who read it: `pick(n)` gives a number below `n`.
///
/// Registers are called after their types: `%p1`, `%h1` (16 bits), `%r1`, `%d1` (64 bits), `%q1` (128 bits), `%f1`, `%e1`
/// (`.f64`) and `%c1` (8 bits).
pub fn example(number: usize, pick: &mut dyn FnMut(usize) -> usize) -> Option<String> {
    let mut all: Vec<_> = table().forms.iter().collect();
    all.sort_by_key(|(opcode, _)| **opcode);
    let mut flat =
        all.into_iter().flat_map(|(opcode, forms)| forms.iter().map(move |f| (opcode, f)));
    let (opcode, form) = flat.nth(number)?;
    Some(write::instruction(opcode, form, pick))
}

/// All modifiers that the tables know.
pub fn vocabulary() -> Vec<&'static str> {
    let mut words = Vec::new();
    for form in table().forms.values().flatten() {
        words.extend(&form.fixed);
        form.modifiers.iter().for_each(|node| modifiers::words(node, &mut words));
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// The modifiers that the forms of one instruction have.
pub fn vocabulary_of(opcode: &str) -> Vec<&'static str> {
    let mut words = Vec::new();
    for form in table().forms.get(opcode).into_iter().flatten() {
        words.extend(&form.fixed);
        form.modifiers.iter().for_each(|node| modifiers::words(node, &mut words));
    }
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_no_mistakes() {
        assert_eq!(Table::parse(&TEXTS).map(|_| ()), Ok(()));
    }
}
