//! Litmus files: small programs with a question and the answer that is expected.
//!
//! The format is line-oriented: header lines (`name:`, `location`, `expect:` …), then threads with
//! one PTX instruction a line. [`Test::parse`] reads a file; [`Condition`] is the question.

mod instruction;
mod lexer;
mod parser;

use std::fmt;

use crate::program::Program;

pub(crate) use parser::compiled_instruction;

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The comments at the head of the file.
    pub comment: String,
    /// What runs.
    pub program: Program,
    /// The outcome that is asked for (of `forall:`, the negation).
    pub condition: Condition,
    /// Whether the question was written `forall:`.
    pub universal: bool,
    /// The expected answer.
    pub expect: Option<Expect>,
    /// Whether a data race is expected.
    pub race: Option<bool>,
    /// Uses surfaces, textures or constants as proxies of memory that is written: no PTX has that.
    pub hypothetical: bool,
}

/// Whether the outcome is reached in some consistent, completed execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It is.
    Allowed,
    /// It is not.
    Forbidden,
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expect::Allowed => "allowed",
            Expect::Forbidden => "forbidden",
        })
    }
}

/// A condition over registers at the end and final memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// `true`
    True,
    /// Two terms are equal (or, if the flag is set, different).
    Equal(Term, Term, bool),
    /// The first is less than the second.
    Less(Term, Term),
    /// `!`
    Not(Box<Condition>),
    /// `&&`
    And(Vec<Condition>),
    /// `||`
    Or(Vec<Condition>),
}

/// A value in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// A number, negative ones in two's complement.
    Number(u128),
    /// A register at the end of its thread: positions of the thread and the register.
    Register(usize, usize),
    /// The final value of a memory.
    Memory(usize),
}

impl Condition {
    /// Its value where some terms are known only. `None` if what is not known decides.
    pub fn evaluate(&self, value: &impl Fn(Term) -> Option<u128>) -> Option<bool> {
        let term = |term: &Term| match term {
            Term::Number(number) => Some(*number),
            other => value(*other),
        };
        match self {
            Condition::True => Some(true),
            Condition::Equal(a, b, negated) => Some((term(a)? == term(b)?) != *negated),
            // Values of signed types are extended with their sign, all others are positive.
            Condition::Less(a, b) => Some((term(a)? as i128) < term(b)? as i128),
            Condition::Not(inner) => inner.evaluate(value).map(|value| !value),
            Condition::And(all) => Self::combine(all, value, false),
            Condition::Or(all) => Self::combine(all, value, true),
        }
    }

    /// The value of several conditions of which one that is `decisive` decides.
    fn combine(
        all: &[Condition],
        value: &impl Fn(Term) -> Option<u128>,
        decisive: bool,
    ) -> Option<bool> {
        let mut result = Some(!decisive);
        for condition in all {
            match condition.evaluate(value) {
                Some(answer) if answer == decisive => return Some(decisive),
                Some(_) => {}
                None => result = None,
            }
        }
        result
    }

    /// The terms in it.
    pub fn terms(&self, each: &mut impl FnMut(Term)) {
        match self {
            Condition::True => {}
            Condition::Equal(a, b, _) | Condition::Less(a, b) => {
                each(*a);
                each(*b);
            }
            Condition::Not(inner) => inner.terms(each),
            Condition::And(all) | Condition::Or(all) => all.iter().for_each(|c| c.terms(each)),
        }
    }
}

/// A file that is no litmus test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: found {found}, expected {expected}")]
pub struct LitmusError {
    /// The file, as the caller named it.
    pub file: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
}

impl Test {
    /// Reads a test. `file` is what errors call the text.
    pub fn parse(text: &str, file: &str) -> Result<Test, LitmusError> {
        parser::parse(text, file)
    }
}
