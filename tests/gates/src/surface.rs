//! The public surface of the device library, as rustdoc's JSON has it: what a foreign crate can name.
//!
//! An item can be named if a chain of public modules and re-exports leads to it, `doc(hidden)` or not: hiding is for the
//! reader of the documentation, not for the compiler. What no chain leads to (a supertrait in a private module) seals.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustdoc_types::{
    Attribute, Crate, FORMAT_VERSION, Function, GenericBound, GenericParamDefKind, Generics, Id,
    Impl, Item, ItemEnum, Trait, Type, Visibility, WherePredicate,
};

/// The top folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cargo in the repository's top folder, undisturbed by what the test itself was built with.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    command
}

/// A library whose surface is looked at.
pub struct Library {
    /// How a crate that depends on it spells it.
    pub name: &'static str,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// Where rustdoc works. Two libraries of one name need two places.
    pub target: PathBuf,
}

impl Library {
    /// The device library.
    ///
    /// # Panics
    /// If the repository is not whole.
    pub fn baton() -> Self {
        let folder = root().join("kernel-lib").canonicalize().expect("the library");
        Self::new("baton", folder)
    }

    /// A library of another name.
    pub fn new(name: &'static str, folder: PathBuf) -> Self {
        Self { name, folder, target: root().join("target/baton-gates/doc") }
    }
}

/// What a library declares, its private items included.
pub struct Surface {
    /// The library's name.
    pub name: &'static str,
    krate: Crate,
    /// How a foreign crate spells what it can name.
    names: HashMap<Id, Name>,
}

/// A method of a type.
pub struct Method<'a> {
    /// How the type is spelled.
    pub of: String,
    /// What the implementation asks of the type's parameters.
    pub generics: &'a Generics,
    /// Its name and its place.
    pub item: &'a Item,
    /// Its signature.
    pub function: &'a Function,
}

/// A path. Of two, the one that is documented is told, of those the one that is nearest to where the item stands, and of
/// those the shorter.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// Whether something on the way is `doc(hidden)`.
    hidden: bool,
    /// How many segments are those of another module.
    astray: usize,
    segments: usize,
    path: String,
}

impl Surface {
    /// Asks rustdoc, which answers from the last time if the library is as it was. It says what is wrong if rustdoc fails, or
    /// writes another format than this was written for.
    pub fn read(library: &Library) -> Result<Self, String> {
        let output = cargo()
            .args(["rustdoc", "--offline", "--lib", "--manifest-path"])
            .arg(library.folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&library.target)
            .args(["--", "-Z", "unstable-options", "--output-format", "json"])
            .args(["--document-private-items", "--document-hidden-items", "--cap-lints", "allow"])
            // The release compiler keeps the format behind this: it may change from one to the next.
            .env("RUSTC_BOOTSTRAP", "1")
            .output()
            .map_err(|error| format!("cargo does not start: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let file = library.target.join(format!("doc/{}.json", library.name));
        let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&error))?;
        let any: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        let format = &any["format_version"];
        if *format != FORMAT_VERSION {
            return Err(format!(
                "rustdoc writes format {format}, and `rustdoc-types` reads {FORMAT_VERSION}: give tests/gates/Cargo.toml \
                 `rustdoc-types = \"0.{format}\"`"
            ));
        }
        let krate: Crate = serde_json::from_value(any).map_err(|error| unreadable(&error))?;
        let (mut names, top) = (HashMap::new(), krate.root);
        let mut surface = Self { name: library.name, names: HashMap::new(), krate };
        let crate_ = Name { path: library.name.to_owned(), ..Name::default() };
        surface.walk(&mut names, top, &crate_, &mut vec![top]);
        surface.names = names;
        Ok(surface)
    }

    /// Names what stands in a module. `way` are the modules that led here: re-exports may form a circle.
    fn walk(&self, names: &mut HashMap<Id, Name>, module: Id, at: &Name, way: &mut Vec<Id>) {
        let Some(ItemEnum::Module(inner)) = self.item(module).map(|item| &item.inner) else {
            return;
        };
        for item in inner.items.iter().filter_map(|id| self.item(*id)) {
            if item.visibility != Visibility::Public {
                continue;
            }
            let hidden = at.hidden || is_hidden(item);
            let (id, name) = match &item.inner {
                ItemEnum::Use(import) => match (import.id, import.is_glob) {
                    (Some(id), true) => {
                        self.enter(names, id, &Name { hidden, ..at.clone() }, way);
                        continue;
                    }
                    (Some(id), false) => (id, Some(&import.name)),
                    (None, _) => continue,
                },
                _ => (item.id, item.name.as_ref()),
            };
            let Some(name) = name else { continue };
            let path = format!("{}::{name}", at.path);
            let hidden = hidden || self.item(id).is_some_and(is_hidden);
            let stands = self.krate.paths.get(&id).map_or(&[][..], |summary| &summary.path);
            let segments: Vec<&str> = path.split("::").collect();
            let common = segments.iter().zip(stands).take_while(|(a, b)| a == b).count();
            let (astray, segments) = (segments.len() - common, segments.len());
            let named = Name { hidden, astray, segments, path };
            self.enter(names, id, &named, way);
            let known = names.entry(id).or_insert_with(|| named.clone());
            if named < *known {
                *known = named;
            }
        }
    }

    fn enter(&self, names: &mut HashMap<Id, Name>, module: Id, at: &Name, way: &mut Vec<Id>) {
        if !way.contains(&module) {
            way.push(module);
            self.walk(names, module, at, way);
            way.pop();
        }
    }

    /// An item of the library by its spelling.
    pub fn find(&self, path: &str) -> Option<Id> {
        self.names.iter().find(|(_, name)| name.path == path).map(|(id, _)| *id)
    }

    /// Whether an item has a documented name.
    pub fn is_documented(&self, id: Id) -> bool {
        self.names.get(&id).is_some_and(|name| !name.hidden)
    }

    /// An item of the library.
    pub fn item(&self, id: Id) -> Option<&Item> {
        self.krate.index.get(&id)
    }

    /// All items of the library, in no order.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.krate.index.values()
    }

    /// How a foreign crate spells an item of the library or of `core`, if it can.
    pub fn name(&self, id: Id) -> Option<String> {
        if let Some(name) = self.names.get(&id) {
            return Some(name.path.clone());
        }
        let summary = self.krate.paths.get(&id)?;
        (summary.crate_id != 0).then(|| summary.path.join("::"))
    }

    /// The path at which an item of the library stands, for those that nobody can name too.
    pub fn place(&self, id: Id) -> String {
        let stands = || self.krate.paths.get(&id).map(|summary| summary.path.join("::"));
        self.name(id).or_else(stands).unwrap_or_else(|| "?".to_owned())
    }

    /// A type without parameters, which has nothing to do with most traits.
    pub fn some_type(&self) -> Option<String> {
        let bare = |id: &Id| match self.item(*id).map(|item| &item.inner) {
            Some(ItemEnum::Enum(enum_)) => enum_.generics.params.is_empty(),
            Some(ItemEnum::Struct(struct_)) => struct_.generics.params.is_empty(),
            _ => false,
        };
        self.names.iter().filter(|(id, _)| bare(id)).map(|(_, name)| name.path.clone()).min()
    }

    /// The traits that a foreign crate can name, by their spelling.
    pub fn traits(&self) -> Vec<(String, Id, &Trait)> {
        let mut traits: Vec<_> = self
            .names
            .iter()
            .filter_map(|(id, name)| Some((name.path.clone(), *id, self.trait_(*id)?)))
            .collect();
        traits.sort_by(|a, b| a.0.cmp(&b.0));
        traits
    }

    /// The documented methods of types that a foreign crate can name: those of the types themselves.
    pub fn methods(&self) -> Vec<Method<'_>> {
        let mut found = Vec::new();
        for item in self.items() {
            let ItemEnum::Impl(impl_) = &item.inner else { continue };
            let Type::ResolvedPath(of) = &impl_.for_ else { continue };
            if impl_.trait_.is_some() || !self.is_documented(of.id) {
                continue;
            }
            let Some(of) = self.name(of.id) else { continue };
            for item in impl_.items.iter().filter_map(|id| self.item(*id)) {
                if let ItemEnum::Function(function) = &item.inner
                    && item.visibility == Visibility::Public
                    && !is_hidden(item)
                {
                    found.push(Method {
                        of: of.clone(),
                        generics: &impl_.generics,
                        item,
                        function,
                    });
                }
            }
        }
        found.sort_by_key(|method| (method.of.clone(), method.item.name.clone()));
        found
    }

    /// A trait of the library.
    pub fn trait_(&self, id: Id) -> Option<&Trait> {
        match &self.item(id)?.inner {
            ItemEnum::Trait(trait_) => Some(trait_),
            _ => None,
        }
    }

    /// Whether an implementation has to write `unsafe`: before the trait, or before a function that it has to give. Both are
    /// errors under `forbid(unsafe_code)`.
    pub fn asks_for_unsafe(&self, trait_: &Trait) -> bool {
        let is = |item: &Item| match &item.inner {
            ItemEnum::Function(function) => function.header.is_unsafe && !function.has_body,
            _ => false,
        };
        trait_.is_unsafe || trait_.items.iter().filter_map(|id| self.item(*id)).any(is)
    }

    /// The written implementations of a trait of the library.
    pub fn implementations<'a>(&'a self, trait_: &'a Trait) -> impl Iterator<Item = &'a Impl> {
        trait_.implementations.iter().filter_map(|id| match &self.item(*id)?.inner {
            ItemEnum::Impl(impl_) if !impl_.is_synthetic => Some(impl_),
            _ => None,
        })
    }

    /// Functions and types of the library with a bound on a trait: the first few, each with file and line.
    pub fn users(&self, trait_: Id) -> Vec<String> {
        let asks = |generics: &Generics| {
            let mut traits = demands(generics).into_iter().filter_map(|(_, bound)| trait_of(bound));
            traits.any(|path| path.id == trait_)
        };
        let user = |item: &Item| match &item.inner {
            ItemEnum::Function(function) => asks(&function.generics),
            ItemEnum::Struct(struct_) => asks(&struct_.generics),
            ItemEnum::Impl(impl_) => asks(&impl_.generics),
            _ => false,
        };
        let name = |item: &Item| {
            let name = item.name.as_deref().unwrap_or("impl");
            format!("`{name}` at {}", Self::line(item))
        };
        let users: BTreeSet<String> = self.items().filter(|item| user(item)).map(name).collect();
        if users.is_empty() {
            vec!["nobody".to_owned()]
        } else {
            users.into_iter().take(4).collect()
        }
    }

    /// File and line of an item, in the library.
    pub fn line(item: &Item) -> String {
        let place = |span: &rustdoc_types::Span| {
            let file = span.filename.to_string_lossy();
            let file = file.rsplit_once("/src/").map_or(&*file, |(_, file)| file).to_owned();
            format!("{file}:{}", span.begin.0)
        };
        item.span.as_ref().map_or_else(|| "?".to_owned(), place)
    }
}

/// Whether an item is kept out of the documentation.
pub fn is_hidden(item: &Item) -> bool {
    item.attrs.contains(&Attribute::Other("#[doc(hidden)]".to_owned()))
}

/// What generics ask: a type, and a bound that it has to meet.
pub fn demands(generics: &Generics) -> Vec<(Type, &GenericBound)> {
    let mut demands = Vec::new();
    for param in &generics.params {
        if let GenericParamDefKind::Type { bounds, .. } = &param.kind {
            demands.extend(bounds.iter().map(|bound| (Type::Generic(param.name.clone()), bound)));
        }
    }
    for predicate in &generics.where_predicates {
        if let WherePredicate::BoundPredicate { type_, bounds, .. } = predicate {
            demands.extend(bounds.iter().map(|bound| (type_.clone(), bound)));
        }
    }
    demands
}

/// The trait of a bound that asks for one.
pub fn trait_of(bound: &GenericBound) -> Option<&rustdoc_types::Path> {
    match bound {
        GenericBound::TraitBound {
            trait_,
            modifier: rustdoc_types::TraitBoundModifier::None,
            ..
        } => Some(trait_),
        _ => None,
    }
}
