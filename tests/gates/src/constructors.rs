//! Gate 2: safe functions that make something of nothing.
//!
//! Every opaque value of the library is a promise. A safe function that takes an address, that makes an opaque value without being
//! given one, or that makes one out of a shared reference, would have to be `unsafe`, or be argued for: each stands in a reviewed list.
//! So does each that is hidden from the documentation, because macros call it and nobody else should have to.
//!
//! What makes something out of nothing but the token of a set is told too: threads alone do not make memory.
//! Functions of traits count, also of traits that nobody can name: a bound on a trait brings the functions of what it is built on.
//!
//! What it cannot see: an address that is an integer; a value that is made of a wrong one of another kind (a region of
//! another's end); what stands only in the device's build; what a macro of the library calls.

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{Function, Generics, Id, Impl, Item, ItemEnum, Type, Visibility};

use crate::opaque::{
    Held, Looking, Owner, Values, Which, callable_traits, has, passed_to_closures,
};
use crate::surface::{Surface, demands, is_hidden};

/// What was looked at.
pub struct Search {
    /// By the line for the list.
    pub findings: BTreeMap<String, String>,
    /// How many safe functions can be called.
    pub functions: usize,
    /// How many of them return something opaque, or pass it to a closure.
    pub makers: usize,
}

/// A function, and where it stands.
struct Candidate<'s> {
    item: &'s Item,
    function: &'s Function,
    path: String,
    generics: Vec<&'s Generics>,
    owner: Owner<'s>,
    hidden: bool,
}

/// Looks at all safe functions that a foreign crate can call.
pub fn search(surface: &Surface) -> Search {
    let mut search = Search { findings: BTreeMap::new(), functions: 0, makers: 0 };
    let (plain, sets) = (plain(surface), implementors(surface, SET));
    for candidate in candidates(surface) {
        if candidate.function.header.is_unsafe {
            continue;
        }
        search.functions += 1;
        let mut results = results(surface, &candidate);
        results.retain(|name, _| !plain.contains(name));
        if !results.is_empty() {
            search.makers += 1;
        }
        for why in reasons(surface, &candidate, &results, &plain, &sets) {
            let made: Vec<&str> = results.keys().map(|name| last(name)).collect();
            let made =
                if made.is_empty() { String::new() } else { format!(" -> {}", made.join(", ")) };
            let text = format!("{why}: {}{made}", candidate.path);
            search.findings.insert(text, Surface::line(candidate.item));
        }
    }
    search
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Why a function has to be argued for.
fn reasons(
    surface: &Surface,
    candidate: &Candidate,
    results: &Values,
    plain: &BTreeSet<String>,
    sets: &BTreeSet<String>,
) -> Vec<&'static str> {
    let is_set = |name: &String| sets.contains(name);
    let mut reasons = Vec::new();
    let inputs = &candidate.function.sig.inputs;
    if inputs.iter().any(|(name, type_)| name != "self" && is_address(surface, type_)) {
        reasons.push("takes an address");
    }
    if !results.is_empty() {
        let mut given = Values::new();
        for (_, type_) in inputs {
            looking(surface, candidate, Which::All).in_type(type_, Held::Owned, &mut given);
        }
        given.retain(|name, _| !plain.contains(name));
        match given.values().max() {
            None => reasons.push("makes of nothing"),
            Some(Held::Shared) => reasons.push("makes of a shared reference"),
            Some(_) if given.keys().all(is_set) && !results.keys().all(is_set) => {
                reasons.push("makes of a token");
            }
            Some(_) => {}
        }
    }
    if candidate.hidden {
        reasons.push("is hidden");
    }
    reasons
}

fn looking<'s>(surface: &'s Surface, candidate: &Candidate<'s>, which: Which) -> Looking<'s> {
    let scope = candidate.generics.clone();
    Looking { surface, which, scope, owner: candidate.owner, inside: Vec::new() }
}

/// The opaque values that a function returns or passes to a closure.
fn results(surface: &Surface, candidate: &Candidate) -> Values {
    let mut results = Values::new();
    let signature = &candidate.function.sig;
    let mut look = |type_: &Type| {
        looking(surface, candidate, Which::Any).in_type(type_, Held::Owned, &mut results);
    };
    signature.output.iter().for_each(&mut look);
    let bounds = candidate.generics.iter().flat_map(|generics| demands(generics));
    passed_to_closures(bounds.map(|(_, bound)| bound)).into_iter().for_each(&mut look);
    for (_, type_) in &signature.inputs {
        if let Type::ImplTrait(bounds) = type_ {
            passed_to_closures(bounds.iter()).into_iter().for_each(&mut look);
        }
    }
    results
}

/// Whether a type is an address: a raw pointer, or the library's own.
fn is_address(surface: &Surface, type_: &Type) -> bool {
    match type_ {
        Type::RawPointer { .. } => true,
        Type::ResolvedPath(path) => path.id == find(surface, ADDRESS),
        Type::Tuple(types) => types.iter().any(|type_| is_address(surface, type_)),
        Type::Slice(type_) | Type::Array { type_, .. } | Type::BorrowedRef { type_, .. } => {
            is_address(surface, type_)
        }
        _ => false,
    }
}

/// The library's typed address, the trait of what any bits are, and that of tokens.
const ADDRESS: &str = "ptx::addr::Addr";
const NUMBER: &str = "ptx::word::Word";
const SET: &str = "token::Set";

/// The opaque types that promise nothing: any bits are a number, and whoever uses an address has to say `unsafe`.
pub fn plain(surface: &Surface) -> BTreeSet<String> {
    let mut plain = implementors(surface, NUMBER);
    plain.insert(surface.place(find(surface, ADDRESS)));
    plain
}

/// The types for which the library implements a trait of its own.
fn implementors(surface: &Surface, path: &str) -> BTreeSet<String> {
    let trait_ = surface.trait_(find(surface, path)).expect("a trait");
    let types = surface.implementations(trait_).filter_map(|impl_| match &impl_.for_ {
        Type::ResolvedPath(path) => Some(surface.place(path.id)),
        _ => None,
    });
    types.collect()
}

/// What this gate knows by name, so that a new name is told instead of passed over.
fn find(surface: &Surface, path: &str) -> Id {
    let path = format!("{}::{path}", surface.name);
    surface.find(&path).unwrap_or_else(|| panic!("there is no `{path}`: what has its part now?"))
}

/// All functions that a foreign crate can call.
fn candidates(surface: &Surface) -> Vec<Candidate<'_>> {
    let callable = callable_traits(surface);
    let mut candidates = Vec::new();
    let mut in_impl = BTreeSet::new();
    for item in surface.items() {
        match &item.inner {
            ItemEnum::Impl(impl_) if !impl_.is_synthetic && impl_.blanket_impl.is_none() => {
                in_impl.extend(impl_.items.iter().map(|id| id.0));
                candidates.extend(of_impl(surface, impl_));
            }
            ItemEnum::Trait(trait_) => {
                in_impl.extend(trait_.items.iter().map(|id| id.0));
                if !callable.contains(&item.id.0) {
                    continue;
                }
                let hidden = is_hidden(item);
                let (of, path) = (item.id, surface.place(item.id));
                for (item, function) in functions(surface, &trait_.items) {
                    candidates.push(Candidate {
                        item,
                        function,
                        path: format!("{path}::{}", name(item)),
                        generics: vec![&function.generics, &trait_.generics],
                        owner: Owner::Trait(of),
                        hidden: hidden || is_hidden(item),
                    });
                }
            }
            _ => {}
        }
    }
    for item in surface.items() {
        if let ItemEnum::Function(function) = &item.inner
            && !in_impl.contains(&item.id.0)
            && let Some(path) = surface.name(item.id)
        {
            let hidden = !surface.is_documented(item.id);
            let generics = vec![&function.generics];
            candidates.push(Candidate {
                item,
                function,
                path,
                generics,
                owner: Owner::Module,
                hidden,
            });
        }
    }
    candidates
}

fn is_copy(surface: &Surface, type_: &Type) -> bool {
    matches!(type_, Type::ResolvedPath(path) if has(surface, path.id, "Copy"))
}

fn name(item: &Item) -> &str {
    item.name.as_deref().unwrap_or("?")
}

fn functions<'s>(
    surface: &'s Surface,
    items: &'s [Id],
) -> impl Iterator<Item = (&'s Item, &'s Function)> {
    items.iter().filter_map(|id| {
        let item = surface.item(*id)?;
        match &item.inner {
            ItemEnum::Function(function) => Some((item, function)),
            _ => None,
        }
    })
}

fn of_impl<'s>(surface: &'s Surface, impl_: &'s Impl) -> Vec<Candidate<'s>> {
    let type_ = match &impl_.for_ {
        Type::ResolvedPath(path) => surface.place(path.id),
        Type::Tuple(_) => "(…)".to_owned(),
        Type::Array { .. } => "[…]".to_owned(),
        Type::Primitive(name) | Type::Generic(name) => name.clone(),
        _ => "_".to_owned(),
    };
    match &impl_.trait_ {
        // Looked at where the trait is declared, for all types that have it.
        Some(path) if surface.trait_(path.id).is_some() => return Vec::new(),
        Some(path) if path.path == "Clone" && is_copy(surface, &impl_.for_) => return Vec::new(),
        _ => {}
    }
    let hidden_type = match &impl_.for_ {
        Type::ResolvedPath(path) => {
            surface.name(path.id).is_some()
                && surface.item(path.id).is_some()
                && !surface.is_documented(path.id)
        }
        _ => false,
    };
    let of_one = |(item, function): (&'s Item, &'s Function)| {
        let path = match &impl_.trait_ {
            Some(trait_) => format!("<{type_} as {}>::{}", surface.place(trait_.id), name(item)),
            None if item.visibility != Visibility::Public => return None,
            None => format!("{type_}::{}", name(item)),
        };
        let generics = vec![&function.generics, &impl_.generics];
        // What a derive hides is its own.
        let hidden = (is_hidden(item) || hidden_type) && impl_.trait_.is_none();
        Some(Candidate { item, function, path, generics, owner: Owner::Impl(impl_), hidden })
    };
    functions(surface, &impl_.items).filter_map(of_one).collect()
}
