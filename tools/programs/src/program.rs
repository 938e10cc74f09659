//! A program: a kernel and its edits. Program `i` of a seed follows from the seed, `i`, and the kernels alone.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use baton_campaign::Random;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Stmt};

use crate::edit::Edit;
use crate::insert::{Found, MARK};
use crate::neutral;
use crate::seed::Seed;
use crate::shadow;
use crate::walk::names;

/// Names a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// The seed of the campaign.
    pub seed: u64,
    /// Which of its programs.
    pub case: u64,
}

impl Number {
    /// The name of its module and of its kernel.
    pub fn name(self) -> String {
        format!("p{}_{}", self.seed, self.case)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seed, self.case)
    }
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (seed, case) = text.split_once(':')?;
            Some(Self { seed: seed.parse().ok()?, case: case.parse().ok()? })
        };
        read().ok_or_else(|| format!("`{text}` is not the number of a program, SEED:I"))
    }
}

/// What programs are made of.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// The kernels.
    pub seeds: Vec<Seed>,
    /// What the library has that stands in no table.
    pub found: Found,
    /// The words of the macros.
    pub vocabulary: Vec<String>,
}

/// One program in so many has names in the way of the macros, and no edit; as many have only edits that change nothing.
const SHADOWS: usize = 12;
/// Times that an edit without a place is drawn again.
const TRIES: usize = 20;

/// A kernel and what was done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its number.
    pub number: Number,
    /// Which kernel.
    pub seed: usize,
    /// The edits, in their order.
    pub edits: Vec<Edit>,
    /// Statements of edits that were taken out again, by the names that they bind.
    pub without: BTreeSet<String>,
    /// What stands in the way of the macros, if something does.
    pub shadow: Option<u64>,
    /// Chooses edits that cannot change the result.
    pub neutral: Option<u64>,
}

/// How much of its kernel's meaning a program keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing that could be told beforehand.
    Nothing,
    /// The values, if it comes to an end.
    Values,
    /// All: it is silent as its kernel is.
    Everything,
}

/// A program's text.
#[derive(Clone, Debug)]
pub struct Source {
    /// One module.
    pub text: String,
    /// What the edits did.
    pub notes: Vec<String>,
    /// What they kept.
    pub keeps: Keeps,
}

impl Program {
    /// The program of a number.
    pub fn new(number: Number, material: &Material) -> Self {
        let mut random = Random::of(number.seed, number.case);
        let seed = random.below(material.seeds.len());
        let mut program = Self::unedited(number, seed);
        match random.below(SHADOWS) {
            0 => program.shadow = Some(random.next()),
            1 => program.neutral = Some(random.next()),
            _ => {}
        }
        if program.is_compared() {
            return program;
        }
        let origin = &material.seeds[seed];
        let mut kernel = origin.kernel_in(&mut origin.file.clone()).clone();
        for edit in 0..1 + random.below(3) {
            for _ in 0..TRIES {
                let edit = Edit::random(&mut random, edit);
                if edit.apply(&mut kernel, origin, &material.found).is_some() {
                    program.edits.push(edit);
                    break;
                }
            }
        }
        program
    }

    /// A program of that number with names in the way of the macros.
    pub fn in_the_way(number: Number, material: &Material) -> Self {
        let mut random = Random::of(number.seed, number.case);
        let seed = random.below(material.seeds.len());
        Self { shadow: Some(random.next()), ..Self::unedited(number, seed) }
    }

    /// The kernel as it is, under a name of its own.
    pub fn unedited(number: Number, seed: usize) -> Self {
        let (edits, without) = (Vec::new(), BTreeSet::new());
        Self { number, seed, edits, without, shadow: None, neutral: None }
    }

    /// Whether it is compared with its kernel.
    pub fn is_compared(&self) -> bool {
        self.shadow.is_some() || self.neutral.is_some()
    }

    /// Its text, as a module.
    pub fn source(&self, material: &Material) -> Source {
        let seed = &material.seeds[self.seed];
        let mut file = seed.file.clone();
        let kernel = seed.kernel_in(&mut file);
        let mut notes = Vec::new();
        for edit in &self.edits {
            notes.extend(edit.apply(kernel, seed, &material.found));
        }
        Without(&self.without).visit_item_fn_mut(kernel);
        let mut keeps = if self.shadow.is_some() { Keeps::Everything } else { Keeps::Nothing };
        if let Some(choice) = self.neutral {
            let (done, exact) = neutral::apply(choice, kernel, seed);
            notes.extend(done);
            keeps = if exact { Keeps::Everything } else { Keeps::Values };
        }
        if let Some(choice) = self.shadow {
            notes.extend(shadow::apply(choice, &mut file, seed, &material.vocabulary));
        }
        seed.rename(&mut file, &self.number.name());
        let forbid = if seed.claims { "" } else { "#![forbid(unsafe_code)]\n" };
        let text = format!("{forbid}#![allow(warnings)]\n{}", prettyplease::unparse(&file));
        Source { text, notes, keeps }
    }

    /// The statements that its edits made and that it still has, by the names that they bind.
    pub fn made(&self, material: &Material) -> Vec<String> {
        made(&self.source(material).text).into_iter().map(|made| made.name).collect()
    }
}

/// A statement of an edit in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// What it binds, the first name.
    pub name: String,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

/// The statements of edits in a program's text.
pub fn made(text: &str) -> Vec<Made> {
    let mut found: Vec<Made> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        let first = at + 1;
        at += 1;
        if !line.starts_with("let ") {
            continue;
        }
        // To the semicolon outside of all brackets; what edits insert has no text in it.
        let (mut depth, mut last, mut whole) = (0i32, first, String::new());
        for (offset, part) in lines[first - 1..].iter().enumerate() {
            for c in part.chars() {
                depth += match c {
                    '(' | '[' | '{' => 1,
                    ')' | ']' | '}' => -1,
                    _ => 0,
                };
            }
            whole.push_str(part);
            whole.push('\n');
            last = first + offset;
            if depth <= 0 && part.trim_end().ends_with(';') {
                break;
            }
        }
        let pattern = whole.split(['=', ':']).next().unwrap_or_default();
        let name = pattern
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .find(|word| word.trim_start_matches('_').starts_with(MARK));
        if let Some(name) = name {
            found.push(Made { name: name.to_owned(), first, last });
            at = last;
        }
    }
    found
}

/// Takes statements out, by what they bind.
struct Without<'a>(&'a BTreeSet<String>);

impl VisitMut for Without<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.retain(|statement| match statement {
            Stmt::Local(local) => !names(&local.pat).iter().any(|name| self.0.contains(name)),
            _ => true,
        });
        visit_mut::visit_block_mut(self, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material() -> Material {
        let root = crate::root();
        Material {
            seeds: crate::seed::load(&root).unwrap(),
            found: Found::default(),
            vocabulary: shadow::vocabulary(&root.join("kernel-lib")).unwrap(),
        }
    }

    #[test]
    fn a_number_names_one_program() {
        let material = material();
        let mut edited = 0;
        for case in 0..200 {
            let number = Number { seed: 3, case };
            let program = Program::new(number, &material);
            assert_eq!(program, Program::new(number, &material));
            let source = program.source(&material);
            assert_eq!(source.text, program.source(&material).text);
            syn::parse_file(&source.text).unwrap_or_else(|error| panic!("{number}: {error}"));
            edited += usize::from(!source.notes.is_empty());
            assert_eq!(source.keeps != Keeps::Nothing, program.is_compared(), "{number}");
        }
        assert!(edited > 180, "{edited} of 200 are edited");
        assert_eq!("3:17".parse(), Ok(Number { seed: 3, case: 17 }));
        assert!("3".parse::<Number>().is_err());
    }

    #[test]
    fn statements_of_edits_are_found_in_the_text_and_can_be_taken_out() {
        let material = material();
        let mut seen = 0;
        for case in 0..100 {
            let mut program = Program::new(Number { seed: 4, case }, &material);
            let all = program.made(&material);
            seen += all.len();
            program.without = all.into_iter().collect();
            assert_eq!(program.made(&material), Vec::<String>::new(), "{case}");
        }
        assert!(seen > 100, "{seen}");
    }
}
