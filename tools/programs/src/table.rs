//! Moves that nobody wrote down: what rustdoc says of the library's methods, as calls on the values of a kernel.
//!
//! The table of `moves.txt` knows which state allows what, and what comes back; a method that it does not know becomes a move
//! by itself, in any state of its type, if each of its arguments can be made: a token, a number, an element, a closure, or
//! another value in scope. Which types values have, and what stays out for which reason, is written in `moves.txt` too.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use baton_gates::surface::{Library, Method, Surface, demands, trait_of};
use rustdoc_types::{
    GenericArg, GenericArgs, GenericParamDefKind, Generics, Path as TypePath, Type,
};

use crate::moves::{Kind, MOVES, Move, family};
use crate::{Error, Result, root};

/// What is called on the token of the threads that act, which is always in scope.
pub const TOKEN: Kind = "token";

/// The traits of tokens in signatures.
const TOKENS: [&str; 4] = ["Set", "SameSet", "SingleThread", "LoadsRows"];

/// The public methods of a library.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// All of them, as `Type::method`.
    pub methods: BTreeSet<String>,
    /// Those that became moves.
    pub moves: Vec<Move>,
    /// Those that are no move, each with the reason: what cannot be made.
    pub rest: BTreeMap<String, String>,
}

/// Asks rustdoc about the library in a folder.
pub fn find(library: &Path) -> Result<Table> {
    let mut of = Library::new("baton", "baton-gpu", library.to_owned());
    if library != root().join("kernel-lib") {
        of.target = library.join("target");
    }
    let surface = Surface::read(&of)
        .map_err(|problem| Error::Content { path: library.to_owned(), problem })?;
    let mut table = Table::default();
    for method in surface.methods() {
        let of = last(&method.of);
        let name = method.item.name.clone().unwrap_or_default();
        let path = format!("{of}::{name}");
        let ways = ["baton::ptx::", "baton::launch::"];
        if method.function.header.is_unsafe || ways.iter().any(|way| method.of.starts_with(way)) {
            continue;
        }
        table.methods.insert(path.clone());
        let families = families(of);
        if families.is_empty() {
            table.rest.entry(path).or_insert_with(|| "no value of the type is in scope".into());
            continue;
        }
        for &on in &families {
            if MOVES.moves.iter().any(|m| family(m.on) == on && m.method() == name) {
                continue;
            }
            match of_method(&method, &name, on) {
                Ok(made) => {
                    table.rest.remove(&path);
                    if !table.moves.contains(&made) {
                        table.moves.push(made);
                    }
                }
                Err(why) => {
                    if !table.moves.iter().any(|m| m.on == on && m.method() == name) {
                        table.rest.insert(path.clone(), why);
                    }
                }
            }
        }
    }
    Ok(table)
}

/// The families of kinds whose values have a type.
fn families(of: &str) -> Vec<Kind> {
    let mut found: Vec<Kind> =
        MOVES.values.iter().filter(|value| value.1 == of).map(|value| family(value.0)).collect();
    found.dedup();
    found
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn of_method(method: &Method<'_>, name: &str, on: Kind) -> Result<Move, String> {
    let maker = Maker { generics: [method.generics, &method.function.generics] };
    let mut inputs = method.function.sig.inputs.iter();
    let receiver = match inputs.next() {
        Some((name, type_)) if name == "self" => type_,
        _ => return Err("it has no receiver".into()),
    };
    let borrows = matches!(receiver, Type::BorrowedRef { .. });
    if on == TOKEN && !borrows {
        return Err("it uses the token up".into());
    }
    let arguments: Vec<&Type> = inputs.map(|input| &input.1).collect();
    let mut call = name.to_owned();
    call += &maker.turbofish(&method.function.generics, &arguments)?;
    let arguments: Result<Vec<String>, String> =
        arguments.into_iter().map(|type_| maker.argument(type_)).collect();
    call += &format!("({})", arguments?.join(", "));
    let gives = method.function.sig.output.as_ref().map_or_else(Vec::new, |type_| gives(type_, on));
    Ok(Move { on, borrows, call: Cow::Owned(call), gives, any: true })
}

/// The kinds of what comes back: that of a state where the type says one, a whole family else.
fn gives(type_: &Type, on: Kind) -> Vec<Kind> {
    match type_ {
        Type::Tuple(types) => {
            let kinds: Vec<_> = types.iter().map(|type_| kind(type_, on)).collect();
            match kinds.iter().any(Option::is_some) {
                true => kinds.into_iter().map(|kind| kind.unwrap_or("nothing")).collect(),
                false => Vec::new(),
            }
        }
        other => kind(other, on).into_iter().collect(),
    }
}

fn kind(type_: &Type, on: Kind) -> Option<Kind> {
    let path = match type_ {
        Type::Generic(name) if name == "Self" => return Some(on),
        Type::ResolvedPath(path) => path,
        _ => return None,
    };
    let of = last(&path.path);
    let state = |value: &&(Kind, &str, &str)| value.1 == of && types(path).contains(&value.2);
    let known = MOVES.values.iter().find(state).map(|value| value.0);
    known.or_else(|| families(of).first().copied().filter(|&kind| kind != TOKEN))
}

/// The types among the arguments of a type, by their names.
fn types(path: &TypePath) -> Vec<&str> {
    let Some(GenericArgs::AngleBracketed { args, .. }) = path.args.as_deref() else {
        return Vec::new();
    };
    let name = |argument| match argument {
        &GenericArg::Type(Type::ResolvedPath(ref path)) => Some(last(&path.path)),
        _ => None,
    };
    args.iter().filter_map(name).collect()
}

/// Makes arguments, as the text of a call.
struct Maker<'a> {
    /// Those of the implementation, and those of the method.
    generics: [&'a Generics; 2],
}

impl Maker<'_> {
    /// The bounds of a parameter.
    fn bounds(&self, name: &str) -> Vec<&TypePath> {
        let of_it = |type_: &Type| matches!(type_, Type::Generic(other) if other == name);
        let demands = self.generics.iter().flat_map(|generics| demands(generics));
        demands.filter(|demand| of_it(&demand.0)).filter_map(|demand| trait_of(demand.1)).collect()
    }

    fn argument(&self, type_: &Type) -> Result<String, String> {
        match type_ {
            Type::BorrowedRef { is_mutable, type_, .. } => self.borrowed(*is_mutable, type_),
            Type::Primitive(name) => match name.as_str() {
                "bool" => Ok("true".into()),
                "f32" | "f64" => Ok("1.0".into()),
                "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => Ok("1".into()),
                other => Err(format!("no value of `{other}` is made")),
            },
            Type::Tuple(types) => {
                let types: Result<Vec<String>, String> =
                    types.iter().map(|type_| self.argument(type_)).collect();
                let types = types?.into_iter().map(|value| value + ", ");
                Ok(format!("({})", types.collect::<String>()))
            }
            Type::Array { type_, len } => {
                let len: u32 = len.parse().unwrap_or(4);
                Ok(format!("[{}; {len}]", self.argument(type_)?))
            }
            Type::ResolvedPath(path) => match families(last(&path.path)).first() {
                Some(kind) if *kind != TOKEN => Ok(format!("{{~{kind}}}")),
                _ => Err(format!("no value of `{}` is in scope", last(&path.path))),
            },
            Type::QualifiedPath { name, .. } if name == "Element" => Ok("$value".into()),
            Type::QualifiedPath { name, .. } => Err(format!("`{name}` may be any type")),
            Type::Generic(name) => self.bounded(&self.bounds(name)),
            Type::ImplTrait(bounds) => {
                let bounds: Vec<_> = bounds.iter().filter_map(trait_of).collect();
                self.bounded(&bounds)
            }
            _ => Err("no value of its type is made".into()),
        }
    }

    /// A token, or what is in scope.
    fn borrowed(&self, is_mutable: bool, type_: &Type) -> Result<String, String> {
        let token = if is_mutable { "$token" } else { "$shared" };
        let acts = |bounds: &[&TypePath]| {
            let bound = |bound: &&TypePath| TOKENS.contains(&last(&bound.path));
            match bounds.iter().any(bound) {
                true => Ok(token.to_owned()),
                false => Err("it borrows what is no token".into()),
            }
        };
        match type_ {
            Type::Generic(name) => acts(&self.bounds(name)),
            Type::ImplTrait(bounds) => {
                acts(&bounds.iter().filter_map(trait_of).collect::<Vec<_>>())
            }
            Type::ResolvedPath(path) => match families(last(&path.path)).first() {
                Some(&TOKEN) => Ok(token.into()),
                Some(kind) => Ok(format!("&{}{{&~{kind}}}", if is_mutable { "mut " } else { "" })),
                None => Err(format!("no value of `{}` is in scope", last(&path.path))),
            },
            _ => Err("no value of its type is lent".into()),
        }
    }

    /// A value of a type with these bounds.
    fn bounded(&self, bounds: &[&TypePath]) -> Result<String, String> {
        if bounds.is_empty() {
            return Ok("()".into());
        }
        for bound in bounds {
            if let Some(GenericArgs::Parenthesized { inputs, output }) = bound.args.as_deref() {
                let parameters = vec!["_"; inputs.len()].join(", ");
                let value = output.as_ref().map_or(Ok("()".into()), |type_| self.argument(type_));
                return Ok(format!("|{parameters}| {}", value?));
            }
            if let Some(value) = MOVES.fits.iter().find(|fit| fit.0 == last(&bound.path)) {
                return Ok(value.1.into());
            }
        }
        Err(format!("no value is known that is `{}`", last(&bounds[0].path)))
    }

    /// Types for the parameters of a method that its arguments do not tell.
    fn turbofish(&self, generics: &Generics, arguments: &[&Type]) -> Result<String, String> {
        let told = format!("{arguments:?}");
        let mut any = false;
        let mut types = Vec::new();
        for parameter in &generics.params {
            let name = &parameter.name;
            match &parameter.kind {
                GenericParamDefKind::Type { is_synthetic: true, .. }
                | GenericParamDefKind::Lifetime { .. } => {}
                GenericParamDefKind::Type { .. }
                    if told.contains(&format!("Generic(\"{name}\")")) =>
                {
                    types.push("_".to_owned());
                }
                GenericParamDefKind::Type { .. } => {
                    any = true;
                    let bounds = self.bounds(name);
                    let fit = bounds
                        .iter()
                        .find_map(|bound| MOVES.fits.iter().find(|fit| fit.0 == last(&bound.path)));
                    let bound = bounds.first().map_or("any", |bound| last(&bound.path));
                    types.push(fit.ok_or(format!("no type is known that is `{bound}`"))?.1.into());
                }
                GenericParamDefKind::Const { .. } => {
                    any |= !told.contains(&format!("\"{name}\""));
                    let told = told.contains(&format!("\"{name}\""));
                    types.push(if told { "_" } else { "4" }.to_owned());
                }
            }
        }
        Ok(if any { format!("::<{}>", types.join(", ")) } else { String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_a_move_or_left_out_with_a_reason() {
        let table = find(&root().join("kernel-lib")).unwrap();
        for made in &table.moves {
            println!(
                "{} {}{} -> {:?}",
                made.on,
                if made.borrows { "&" } else { "" },
                made.call,
                made.gives
            );
        }
        let left = |path: &String| {
            let of = path.split("::").next().unwrap_or(path);
            MOVES.left.iter().any(|entry| entry.0 == path || entry.0 == of)
        };
        let missing: Vec<String> = table
            .rest
            .iter()
            .filter(|entry| !left(entry.0))
            .map(|(path, why)| format!("left {path} {why}"))
            .collect();
        assert!(missing.is_empty(), "neither a move nor left out:\n{}", missing.join("\n"));
        let gone = |entry: &&(&str, &str)| {
            let is = |path: &String| path == entry.0 || path.split("::").next() == Some(entry.0);
            !table.rest.keys().any(is)
        };
        let gone: Vec<_> = MOVES.left.iter().filter(gone).collect();
        assert!(gone.is_empty(), "left out, and not there, or a move by now: {gone:?}");
        // What is written by hand is there too; tokens have most from traits.
        let has = |m: &&Move| {
            let of: Vec<_> =
                MOVES.values.iter().filter(|value| family(value.0) == family(m.on)).collect();
            let mut paths = of.iter().map(|value| format!("{}::{}", value.1, m.method()));
            // A type without a line has no methods at all: what is called on it is to be refused.
            m.on == TOKEN || of.is_empty() || paths.any(|path| table.methods.contains(&path))
        };
        let gone: Vec<_> = MOVES.moves.iter().filter(|m| !has(m)).collect();
        assert!(gone.is_empty(), "moves that the library does not have: {gone:?}");
    }

    #[test]
    fn a_signature_becomes_a_call() {
        let table = find(&root().join("kernel-lib")).unwrap();
        let of = |on: &str, method: &str| {
            table.moves.iter().find(|m| m.on == on && m.method() == method).unwrap()
        };
        let chunk = of("stage", "get_chunk");
        assert_eq!((&*chunk.call, chunk.borrows, chunk.any), ("get_chunk::<4>(1)", true, true));
        let open = of("staged", "open");
        assert_eq!(
            (&*open.call, open.borrows, &open.gives[..]),
            ("open($token)", false, &["staged"][..])
        );
        assert_eq!(of("product", "for_each").call, "for_each(|_, _| ())");
        // What moves.txt has is not made again, and what a token would be used up by not at all.
        assert!(!table.moves.iter().any(|m| m.on == "stage" && m.method() == "publish"));
        assert!(table.rest["Cta::roles"].contains("token"));
    }
}
