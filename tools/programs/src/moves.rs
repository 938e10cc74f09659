//! The table of typed moves, `moves.txt`: what may be called on a value of which kind, and what comes back.
//!
//! A kind is the name of a type with its state, as the library's documentation has them in prose: `stage.full`. The table
//! follows the types where they allow something, so that long sequences are likely to type; whether they do is for the
//! compiler to say, and now and then a move of another state is tried on purpose.

use std::borrow::Cow;
use std::sync::LazyLock;

/// A type with its state.
pub type Kind = &'static str;

/// A call that may be made on a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The value's kind.
    pub on: Kind,
    /// Whether the value stays.
    pub borrows: bool,
    /// The call, with its placeholders.
    pub call: Cow<'static, str>,
    /// What comes back.
    pub gives: Vec<Kind>,
    /// Whether it is made in any state of the kind: [`crate::table`] does not know which allow it.
    pub any: bool,
}

impl Move {
    /// The name of the method.
    pub fn method(&self) -> &str {
        self.call.split(['(', ':']).next().unwrap_or_default()
    }
}

/// The whole table.
#[derive(Debug, Default)]
pub struct Moves {
    /// In the order of the file.
    pub moves: Vec<Move>,
    /// How a value of a kind is ended.
    pub ends: Vec<(Kind, &'static str)>,
    /// What functions give that are no methods.
    pub makers: Vec<(&'static str, Kind)>,
    /// Functions that give a value without another: its kind, and the call.
    pub new: Vec<(Kind, &'static str)>,
    /// Types that values of a kind may have, in full.
    pub types: Vec<(Kind, &'static str)>,
    /// The type that values of a kind have, by its name, and the state among its parameters.
    pub values: Vec<(Kind, &'static str, &'static str)>,
    /// What stands for something with a bound: a type, or a value.
    pub fits: Vec<(&'static str, &'static str)>,
    /// Methods, or all of a type, that are no move, and why.
    pub left: Vec<(&'static str, &'static str)>,
}

/// The table of the repository.
pub static MOVES: LazyLock<Moves> = LazyLock::new(|| Moves::parse(include_str!("moves.txt")));

/// A kind without its state.
pub fn family(kind: &str) -> &str {
    kind.split('.').next().unwrap_or(kind)
}

impl Moves {
    fn parse(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines().map(str::trim) {
            let Some((word, rest)) = line.split_once(' ') else { continue };
            let rest = rest.trim();
            match word {
                "#" => {}
                "of" => {
                    let mut words = rest.split_whitespace();
                    let (Some(kind), Some(of)) = (words.next(), words.next()) else { continue };
                    table.values.push((kind, of, words.next().unwrap_or_default()));
                }
                "end" | "make" | "type" | "new" | "fits" | "left" => {
                    let Some((first, second)) = rest.split_once(' ') else { continue };
                    let pair = (first, second.trim());
                    let list = match word {
                        "end" => &mut table.ends,
                        "make" => &mut table.makers,
                        "fits" => &mut table.fits,
                        "new" => &mut table.new,
                        "left" => &mut table.left,
                        _ => &mut table.types,
                    };
                    list.push(pair);
                }
                on => {
                    let (call, gives) = rest.split_once("->").unwrap_or((rest, "_"));
                    let gives = gives.trim().trim_matches(['(', ')']).split(',').map(str::trim);
                    let call = call.trim();
                    table.moves.push(Move {
                        on,
                        borrows: call.starts_with('&'),
                        call: Cow::Borrowed(call.trim_start_matches('&')),
                        gives: gives.filter(|kind| *kind != "_").collect(),
                        any: false,
                    });
                }
            }
        }
        table
    }

    /// What may be called on a value of this kind.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |m| m.on == kind)
    }

    /// The move that a call of `method` is: of this state, or of any state of the type.
    pub fn find(&self, kind: &str, method: &str) -> Option<&Move> {
        let of = |m: &&Move| m.method() == method;
        let any = || self.moves.iter().filter(of).find(|m| family(m.on) == family(kind));
        self.of(kind).find(of).or_else(any)
    }

    /// How a value of this kind can be ended.
    pub fn ends(&self, kind: &str) -> impl Iterator<Item = &'static str> {
        self.ends.iter().filter(move |end| end.0 == kind).map(|end| end.1)
    }

    /// Whether a value of this kind stays where it is copied: no move uses it up.
    pub fn copies(&self, kind: &str) -> bool {
        self.of(kind).all(|m| m.borrows)
    }

    /// Whether there are moves on exactly this kind. There are none on a type whose state is not known.
    pub fn has(&self, kind: &str) -> bool {
        self.of(kind).next().is_some()
    }

    /// Whether some move is a call of that method.
    pub fn knows(&self, method: &str) -> bool {
        self.moves.iter().any(|m| m.method() == method)
    }

    /// The kind of that name.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        let all = self.moves.iter().flat_map(|m| m.gives.iter().copied().chain([m.on]));
        all.chain(self.makers.iter().map(|maker| maker.1)).find(|kind| *kind == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_as_it_is_written() {
        let publish = MOVES.find("stage.written", "publish").unwrap();
        assert!(!publish.borrows && publish.gives.is_empty());
        assert_eq!(MOVES.find("filling", "acquire").unwrap().gives, ["stage.empty"]);
        assert_eq!(MOVES.find("acc.loading", "wait_ld").unwrap().gives, ["acc.ready", "floats"]);
        assert_eq!(MOVES.find("taking", "wait").unwrap().gives, ["taken"]);
        assert!(MOVES.kind("stage.used").is_some() && MOVES.kind("stage.lost").is_none());
    }

    #[test]
    fn whatever_comes_back_is_of_use() {
        let known = |kind: &Kind| {
            let argument = format!("{{{kind}}}");
            MOVES.of(kind).next().is_some()
                || MOVES.moves.iter().any(|m| m.call.contains(&argument))
        };
        let gives = MOVES.moves.iter().flat_map(|m| &m.gives);
        let useless: Vec<_> = gives.filter(|kind| !known(kind)).collect();
        assert!(useless.is_empty(), "no move takes {useless:?}");
    }
}
