//! Types that meet bounds: a stranger's own where the bound lets it, one of the library's otherwise.

use std::collections::{BTreeSet, HashMap};

use rustdoc_types::{
    GenericArg, GenericArgs, GenericParamDefKind, Generics, Id, Path, Trait, Type,
};

use crate::spell::Environment;
use crate::surface::{Surface, demands, trait_of};

/// The stranger's own type.
pub const LOCAL: &str = "Local";

/// What the stranger gives its type by `derive` where a trait asks for it.
const DERIVED: [&str; 9] =
    ["Clone", "Copy", "Debug", "Default", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
/// What it has of itself.
const OF_ITSELF: [&str; 6] = ["Sized", "Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// Chooses types.
pub struct Choice<'s> {
    pub surface: &'s Surface,
    open: HashMap<Id, bool>,
}

impl<'s> Choice<'s> {
    pub fn new(surface: &'s Surface) -> Self {
        let mut choice = Self { surface, open: HashMap::new() };
        for (_, id, _) in surface.traits() {
            choice.learn(id);
        }
        choice
    }

    /// Whether nothing in the declaration of a trait keeps a stranger from implementing it for an own type: it can be named, it
    /// is not `unsafe`, and so for what it is built on.
    pub fn open(&self, id: Id) -> bool {
        self.open.get(&id).copied().unwrap_or_else(|| self.of_core(id))
    }

    fn learn(&mut self, id: Id) -> bool {
        if let Some(known) = self.open.get(&id) {
            return *known;
        }
        let Some(trait_) = self.surface.trait_(id) else { return self.of_core(id) };
        // A circle of supertraits is no Rust; of bounds on parameters there may be one, and those are not asked here.
        let open = self.surface.name(id).is_some()
            && !self.surface.asks_for_unsafe(trait_)
            && supertraits(trait_).iter().all(|path| self.learn(path.id));
        self.open.insert(id, open);
        open
    }

    /// Whether a trait of `core` can be had by deriving it, or comes of itself.
    fn of_core(&self, id: Id) -> bool {
        let name = self.surface.place(id);
        let name = name.rsplit("::").next().unwrap_or_default();
        self.surface.trait_(id).is_none() && (DERIVED.contains(&name) || OF_ITSELF.contains(&name))
    }

    /// What has to be derived for a trait of `core`.
    pub fn derive(&self, id: Id) -> BTreeSet<&'static str> {
        let name = self.surface.place(id);
        let name = name.rsplit("::").next().unwrap_or_default();
        let with: &[&str] = match name {
            "Copy" => &["Clone"],
            "Eq" => &["PartialEq"],
            "PartialOrd" => &["PartialEq"],
            "Ord" => &["PartialEq", "Eq", "PartialOrd"],
            _ => &[],
        };
        DERIVED.into_iter().filter(|derived| *derived == name || with.contains(derived)).collect()
    }

    /// The parameters of a trait that an own type can stand for.
    pub fn own_parameters(&self, generics: &Generics) -> Vec<String> {
        let may = |name: &String| bounds_of(generics, name).iter().all(|path| self.open(path.id));
        type_parameters(generics).filter(may).collect()
    }

    /// Something for each parameter: the stranger's type for those that are `own`, and one that fits for the others.
    pub fn environment(
        &self,
        generics: &Generics,
        own: &[String],
        depth: u32,
    ) -> Option<Environment> {
        let mut environment = Environment::default();
        for param in &generics.params {
            let value = match &param.kind {
                GenericParamDefKind::Lifetime { .. } => continue,
                GenericParamDefKind::Const { type_, .. } => {
                    let bool_ = matches!(type_, Type::Primitive(name) if name == "bool");
                    if bool_ { "true" } else { "1" }.to_owned()
                }
                GenericParamDefKind::Type { .. } if own.contains(&param.name) => LOCAL.to_owned(),
                GenericParamDefKind::Type { .. } => {
                    self.fitting(&bounds_of(generics, &param.name), depth)?
                }
            };
            environment.values.insert(param.name.clone(), value);
        }
        Some(environment)
    }

    /// A type that meets bounds, of the library if they are not met by all.
    pub(crate) fn fitting(&self, bounds: &[&Path], depth: u32) -> Option<String> {
        let mut bounds = bounds
            .iter()
            .filter_map(|path| self.surface.trait_(path.id))
            .map(|trait_| self.implementors(trait_, depth));
        let Some(first) = bounds.next() else { return Some(LOCAL.to_owned()) };
        let others: Vec<_> = bounds.collect();
        let in_all = first.iter().find(|name| others.iter().all(|other| other.contains(name)));
        in_all.or(first.first()).cloned()
    }

    /// Types for which the library implements a trait.
    pub fn implementors(&self, trait_: &Trait, depth: u32) -> Vec<String> {
        if depth == 0 {
            return Vec::new();
        }
        let spelled = self.surface.implementations(trait_).filter_map(|impl_| {
            let environment = self.environment(&impl_.generics, &[], depth - 1)?;
            environment.spell(self.surface, &impl_.for_)
        });
        let spelled: BTreeSet<String> = spelled.collect();
        let mut spelled: Vec<String> = spelled.into_iter().collect();
        // What is chosen first is short, or types would nest as deep as they may; and the library's own.
        spelled.sort_by_key(|name| (name == LOCAL, name.len()));
        spelled
    }
}

/// The types that generics have parameters for.
pub fn type_parameters(generics: &Generics) -> impl Iterator<Item = String> {
    let is_type = |kind: &GenericParamDefKind| matches!(kind, GenericParamDefKind::Type { .. });
    generics.params.iter().filter(move |param| is_type(&param.kind)).map(|param| param.name.clone())
}

/// The traits that a parameter has to have.
pub fn bounds_of<'a>(generics: &'a Generics, name: &str) -> Vec<&'a Path> {
    let of_it = |type_: &Type| matches!(type_, Type::Generic(other) if other == name);
    let demands = demands(generics).into_iter().filter(|(type_, _)| of_it(type_));
    demands.filter_map(|(_, bound)| trait_of(bound)).collect()
}

/// What a trait is built on.
pub fn supertraits(trait_: &Trait) -> Vec<&Path> {
    let mut supertraits: Vec<_> = trait_.bounds.iter().filter_map(trait_of).collect();
    supertraits.extend(bounds_of(&trait_.generics, "Self"));
    supertraits
}

/// What stands for a trait's parameters in a bound on it, spelled where the bound stands.
pub fn bind(
    choice: &Choice,
    trait_: &Trait,
    bound: &Path,
    at: &Environment,
) -> Option<Environment> {
    let args = match bound.args.as_deref() {
        Some(GenericArgs::AngleBracketed { args, .. }) => args.as_slice(),
        _ => &[],
    };
    let mut values = args.iter().filter(|arg| !matches!(arg, GenericArg::Lifetime(_)));
    let mut environment = Environment::default();
    for param in &trait_.generics.params {
        let default = match &param.kind {
            GenericParamDefKind::Lifetime { .. } => continue,
            GenericParamDefKind::Type { default, .. } => default.as_ref(),
            GenericParamDefKind::Const { .. } => None,
        };
        let value = match (values.next(), default) {
            (Some(GenericArg::Type(type_)), _) => at.spell(choice.surface, type_)?,
            (Some(GenericArg::Const(constant)), _) => at.constant(&constant.expr),
            (None, Some(default)) => environment.spell(choice.surface, default)?,
            _ => return None,
        };
        environment.values.insert(param.name.clone(), value);
    }
    Some(environment)
}
