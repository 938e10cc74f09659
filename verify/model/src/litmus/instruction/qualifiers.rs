//! The qualifiers of an instruction, in any order.

use super::super::LitmusError;
use super::super::lexer::{Line, Token};
use crate::program::{Order, Semantics, Type, Window};
use crate::scope::Scope;

/// The qualifiers of a mnemonic, to be taken one by one.
pub(super) struct Qualifiers<'a> {
    place: Line<'a>,
    pub(super) words: Vec<String>,
    /// The state spaces among them, in their order: of the instruction's addresses in theirs.
    pub(super) windows: Vec<Window>,
}

impl<'a> Qualifiers<'a> {
    pub(super) fn new(place: Line<'a>, mut words: Vec<String>) -> Self {
        let mut windows = vec![];
        words.retain(|word| {
            let window = match word.as_str() {
                "global" => Window::Global,
                "shared" | "shared::cta" => Window::SharedCta,
                "shared::cluster" => Window::SharedCluster,
                _ => return true,
            };
            windows.push(window);
            false
        });
        Self { place, words, windows }
    }

    pub(super) fn take(&mut self, word: &str) -> bool {
        let at = self.words.iter().position(|known| known == word);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// Takes one of these words, if it is there.
    pub(super) fn take_one(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.take(word))
    }

    pub(super) fn find<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let at = self.words.iter().position(|word| meaning(word).is_some())?;
        meaning(&self.words.remove(at))
    }

    pub(super) fn error(&self, expected: impl Into<String>) -> LitmusError {
        self.place.expected(expected)
    }

    /// An error at one of the qualifiers.
    pub(super) fn error_at(&self, word: &str, expected: impl Into<String>) -> LitmusError {
        let mnemonic = match self.place.peek() {
            Some(Token::Word(mnemonic)) => mnemonic.as_str(),
            _ => "",
        };
        let mut column = self.place.column();
        let mut at = column;
        for (index, part) in mnemonic.split('.').enumerate() {
            if index > 0 && part == word {
                at = column - 1;
            }
            column += part.chars().count() + 1;
        }
        self.place.error(at, format!("`.{word}`"), expected)
    }

    pub(super) fn ty(&mut self) -> Result<Type, LitmusError> {
        let expected = "a type, such as `.u32`";
        let unknown = |word: &&String| {
            word.starts_with(['u', 's', 'b', 'f'])
                && word[1..].starts_with(|digit: char| digit.is_ascii_digit())
        };
        match self.find(Type::named) {
            Some(ty) => Ok(ty),
            None => Err(match self.words.iter().find(unknown) {
                Some(word) => self.error_at(word, expected),
                None => self.error(expected),
            }),
        }
    }

    /// No type of floating point may be left, for an instruction that computes.
    pub(super) fn integers(&self) -> Result<(), LitmusError> {
        let float = |word: &&String| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
            matches!(letters, "f" | "bf" | "tf") && word.len() > letters.len()
        };
        match self.words.iter().find(float) {
            Some(word) => {
                Err(self.error_at(word, "an integer type: the model does not compute with others"))
            }
            None => Ok(()),
        }
    }

    /// Takes hints about caches, which do not change what the model says: one of these operators, and
    /// priorities of levels. Says whether the operand of a cache policy follows.
    pub(super) fn caches(&mut self, operators: &[&str]) -> bool {
        self.take_one(operators);
        let fetched = ["L2::64B", "L2::128B", "L2::256B"];
        self.take_one(&fetched);
        for level in ["L1::", "L2::"] {
            self.find(|word| {
                let hint = word.strip_prefix(level)?;
                (hint.starts_with("evict_") || hint == "no_allocate").then_some(())
            });
        }
        self.take("L2::cache_hint")
    }

    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.find(Scope::named)
    }

    /// Semantics and scope of a load or a store, which may be `.volatile` or `.mmio` (section 8.4): a
    /// strong operation, at system scope unless it says otherwise.
    pub(super) fn access_order(&mut self, legal: &[&str]) -> Result<Order, LitmusError> {
        let system = Order { semantics: Semantics::Relaxed, scope: Scope::Sys };
        if self.take("volatile") {
            return Ok(system);
        }
        if self.take("mmio") {
            if !self.windows.iter().all(|window| *window == Window::Global) {
                return Err(self.error("`.mmio` on global memory"));
            }
            return self.order(system, &legal[1..]);
        }
        self.order(Order::WEAK, legal)
    }

    /// Semantics and scope, both or neither.
    pub(super) fn full_order(
        &mut self,
        default: Order,
        legal: &[&str],
    ) -> Result<Order, LitmusError> {
        let semantics = self.words.iter().any(|word| legal.contains(&word.as_str()));
        let scope = self.words.iter().any(|word| Scope::named(word).is_some());
        match semantics == scope {
            true => self.order(default, legal),
            false => Err(self.error("semantics and a scope together, such as `.relaxed.cluster`")),
        }
    }

    /// Semantics and scope, or `default` if neither is given.
    pub(super) fn order(&mut self, default: Order, legal: &[&str]) -> Result<Order, LitmusError> {
        let named = |word: &str| {
            Some(match word {
                "weak" => Semantics::Weak,
                "relaxed" => Semantics::Relaxed,
                "acquire" => Semantics::Acquire,
                "release" => Semantics::Release,
                "acq_rel" => Semantics::AcqRel,
                "sc" => Semantics::Sc,
                _ => return None,
            })
        };
        if let Some(word) =
            self.words.iter().find(|w| named(w).is_some() && !legal.contains(&w.as_str()))
        {
            return Err(self.error_at(word, legal.join(", ")));
        }
        let first = |meaning: &dyn Fn(&str) -> bool| {
            self.words.iter().find(|word| meaning(word)).cloned().unwrap_or_default()
        };
        let kind = first(&|word| named(word).is_some());
        let reach = first(&|word| Scope::named(word).is_some());
        let semantics = self.find(named);
        let scope = self.scope();
        match (semantics, scope) {
            (Some(Semantics::Weak), None) => Ok(Order::WEAK),
            (None, None) => Ok(default),
            (Some(semantics), Some(scope)) if semantics != Semantics::Weak => {
                Ok(Order { semantics, scope })
            }
            (None, Some(scope)) if default.is_strong() => Ok(Order { scope, ..default }),
            (Some(semantics), None) if default.is_strong() => Ok(Order { semantics, ..default }),
            _ => {
                let alone = if scope.is_some() { reach } else { kind };
                Err(self.error_at(&alone, "semantics and a scope together, such as `.relaxed.gpu`"))
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), LitmusError> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(self.error_at(word, format!("no `.{word}` on this instruction"))),
        }
    }
}
