//! The table of typed moves, `moves.txt`: what may be called on a value of which kind, and what comes back.
//!
//! A kind is the name of a type with its state, as the library's documentation has them in prose: `stage.full`. The table
//! follows the types where they allow something, so that long sequences are likely to type; whether they do is for the
//! compiler to say, and now and then a move of another state is tried on purpose.

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
    pub call: &'static str,
    /// What comes back.
    pub gives: Vec<Kind>,
}

impl Move {
    /// The name of the method.
    pub fn method(&self) -> &'static str {
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
    /// Types that values of a kind may have.
    pub types: Vec<(Kind, &'static str)>,
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
                "end" | "make" | "type" => {
                    let Some((first, second)) = rest.split_once(' ') else { continue };
                    let pair = (first, second.trim());
                    let list = match word {
                        "end" => &mut table.ends,
                        "make" => &mut table.makers,
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
                        call: call.trim_start_matches('&'),
                        gives: gives.filter(|kind| *kind != "_").collect(),
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
    use quote::ToTokens;

    #[test]
    fn the_table_reads_as_it_is_written() {
        let publish = MOVES.find("stage.written", "publish").unwrap();
        assert!(!publish.borrows && publish.gives.is_empty());
        assert_eq!(MOVES.find("filling", "acquire").unwrap().gives, ["stage.empty"]);
        assert_eq!(MOVES.find("acc.loading", "wait_ld").unwrap().gives, ["acc.ready", "floats"]);
        assert_eq!(MOVES.find("taking", "wait").unwrap().gives, ["taken"]);
        assert!(MOVES.kind("stage.used").is_some() && MOVES.kind("stage.lost").is_none());
    }

    /// Methods of the library that act for a set of threads and are in no move, and why.
    const LEFT_OUT: &[(&str, &str)] =
        &[("split", "an object is split once, and its kernel has done so")];

    /// The public methods of a file that take a token: their names.
    fn methods(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).unwrap();
        let mut found = Vec::new();
        for item in file.items {
            let syn::Item::Impl(block) = item else { continue };
            for item in block.items {
                let syn::ImplItem::Fn(function) = item else { continue };
                let public = matches!(function.vis, syn::Visibility::Public(_));
                let receiver = function.sig.receiver().is_some();
                let text = function.sig.to_token_stream().to_string();
                let acts = text.contains("SameSet <")
                    || text.contains(": Set")
                    || text.contains("SingleThread");
                if public && receiver && acts && function.sig.unsafety.is_none() {
                    found.push(function.sig.ident.to_string());
                }
            }
        }
        found
    }

    #[test]
    fn every_method_that_acts_is_a_move_or_left_out_with_a_reason() {
        let library = crate::root().join("kernel-lib/src");
        let mut all: Vec<String> = Vec::new();
        let mut folders = vec![library];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with("ptx") {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    all.extend(methods(&std::fs::read_to_string(path).unwrap()));
                }
            }
        }
        let left_out = |name: &String| LEFT_OUT.iter().any(|entry| entry.0 == name);
        let mut missing: Vec<_> =
            all.iter().filter(|name| !MOVES.knows(name) && !left_out(name)).collect();
        missing.sort();
        missing.dedup();
        assert_eq!(missing, Vec::<&String>::new(), "neither a move nor left out");
        let gone: Vec<_> = LEFT_OUT.iter().filter(|entry| !all.contains(&entry.0.into())).collect();
        assert!(gone.is_empty(), "left out, and not there: {gone:?}");
        // Of these the signature does not say, or not so, for which set they act.
        let silent = [
            "answer",
            "completed",
            "editable",
            "get",
            "index",
            "keep",
            "ld",
            "own",
            "partition",
            "put",
            "st",
        ];
        let gone: Vec<_> = MOVES
            .moves
            .iter()
            .map(Move::method)
            .filter(|name| !all.contains(&(*name).to_owned()) && !silent.contains(name))
            .collect();
        assert!(gone.is_empty(), "moves that the library does not have: {gone:?}");
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
