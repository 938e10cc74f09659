//! Which types a foreign crate cannot make, and where a signature has them.
//!
//! A type is opaque if it has a private field: a literal cannot make one, so each value comes from a function of the library.
//! Tokens, ends, regions, witnesses and parts of protocols are all of this kind, and no list of names says which they are.

use std::collections::{BTreeMap, BTreeSet};

use rustdoc_types::{
    GenericArg, GenericArgs, GenericBound, Generics, Id, Impl, ItemEnum, Path, StructKind, Type,
    VariantKind, Visibility,
};

use crate::surface::{Surface, demands, trait_of};

/// How a signature has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// Behind a shared reference.
    Shared,
    /// Behind a mutable reference.
    Mutable,
    /// By value.
    Owned,
}

/// The opaque types of a signature's part, by name.
pub type Values = BTreeMap<String, Held>;

/// Which of a parameter's possible types count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// An argument proves something only if each type that can stand there does.
    All,
    /// A result gives something away if one of them does.
    Any,
}

/// Where a function stands, and so what its `Self` is.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'s> {
    /// In a module.
    Module,
    /// In an impl.
    Impl(&'s Impl),
    /// In the declaration of a trait: each type that has it.
    Trait(Id),
}

/// Looks for opaque types.
pub struct Looking<'s> {
    pub surface: &'s Surface,
    pub which: Which,
    /// The generics in whose scope the types stand.
    pub scope: Vec<&'s Generics>,
    /// What `Self` is.
    pub owner: Owner<'s>,
    /// What is being looked into.
    pub inside: Vec<Id>,
}

impl<'s> Looking<'s> {
    /// The opaque types in a type.
    pub fn in_type(&mut self, type_: &Type, held: Held, values: &mut Values) {
        match type_ {
            Type::ResolvedPath(path) => self.in_path(path, held, values),
            Type::Generic(name) if name == "Self" => match self.owner {
                Owner::Module => {}
                Owner::Impl(impl_) => self.in_type(&impl_.for_, held, values),
                Owner::Trait(id) => self.in_implementors(&[id], held, values),
            },
            Type::Generic(name) => {
                let traits = self.bounds(name);
                self.in_implementors(&traits, held, values);
            }
            Type::ImplTrait(bounds) => {
                let traits: Vec<Id> =
                    bounds.iter().filter_map(trait_of).map(|path| path.id).collect();
                self.in_implementors(&traits, held, values);
            }
            Type::Tuple(types) => types.iter().for_each(|t| self.in_type(t, held, values)),
            Type::Slice(type_) | Type::Array { type_, .. } => self.in_type(type_, held, values),
            Type::BorrowedRef { is_mutable, type_, .. } => {
                let reference = if *is_mutable { Held::Mutable } else { Held::Shared };
                self.in_type(type_, held.min(reference), values);
            }
            Type::QualifiedPath { name, self_type, trait_: Some(trait_), .. } => {
                match (self.owner, &**self_type) {
                    // Of a trait of `core` that the impl itself is of: `Iterator::Item`.
                    (Owner::Impl(impl_), Type::Generic(of)) if of == "Self" => {
                        if let Some(type_) = associated(self.surface, impl_, name) {
                            self.in_type(type_, held, values);
                        }
                    }
                    _ => self.in_projection(trait_.id, name, held, values),
                }
            }
            _ => {}
        }
    }

    fn bounds(&self, name: &str) -> Vec<Id> {
        let demands = self.scope.iter().flat_map(|generics| demands(generics));
        let of_it = demands.filter(|(t, _)| matches!(t, Type::Generic(other) if other == name));
        of_it.filter_map(|(_, bound)| trait_of(bound)).map(|path| path.id).collect()
    }

    fn in_path(&mut self, path: &Path, held: Held, values: &mut Values) {
        let arguments = match path.args.as_deref() {
            Some(GenericArgs::AngleBracketed { args, .. }) => args.as_slice(),
            _ => &[],
        };
        let Some(item) = self.surface.item(path.id) else {
            // `Option`, `Result`, `Box`: what they hold.
            for argument in arguments {
                if let GenericArg::Type(type_) = argument {
                    self.in_type(type_, held, values);
                }
            }
            return;
        };
        if is_opaque(self.surface, path.id) {
            let name = self.surface.place(path.id);
            // What may be copied is as good behind a reference.
            let held = if has(self.surface, path.id, "Copy") { Held::Owned } else { held };
            let known = values.entry(name).or_insert(held);
            *known = held.max(*known);
            return;
        }
        if self.inside.contains(&path.id) {
            return;
        }
        self.inside.push(path.id);
        let types: Vec<&Type> = match &item.inner {
            ItemEnum::TypeAlias(alias) => vec![&alias.type_],
            _ => fields(self.surface, path.id),
        };
        for type_ in types {
            self.in_type(type_, held, values);
        }
        self.inside.pop();
        if matches!(item.inner, ItemEnum::TypeAlias(_)) {
            return;
        }
        for argument in arguments {
            if let GenericArg::Type(type_) = argument {
                self.in_type(type_, held, values);
            }
        }
    }

    /// What stands behind a parameter that has these traits: the types that the library gives them.
    fn in_implementors(&mut self, traits: &[Id], held: Held, values: &mut Values) {
        for id in traits {
            let Some(trait_) = self.surface.trait_(*id) else { continue };
            if self.inside.contains(id) {
                continue;
            }
            self.inside.push(*id);
            let mut all: Vec<Values> = Vec::new();
            for impl_ in self.surface.implementations(trait_) {
                let mut of_one = Values::new();
                self.scope.push(&impl_.generics);
                self.in_type(&impl_.for_, held, &mut of_one);
                self.scope.pop();
                all.push(of_one);
            }
            self.inside.pop();
            let counts = self.which == Which::Any || all.iter().all(|of_one| !of_one.is_empty());
            if counts {
                values.extend(all.into_iter().flatten());
            }
        }
    }

    /// What an associated type can be.
    fn in_projection(&mut self, id: Id, name: &str, held: Held, values: &mut Values) {
        let Some(trait_) = self.surface.trait_(id) else { return };
        if self.inside.contains(&id) {
            return;
        }
        self.inside.push(id);
        let mut all: Vec<Values> = Vec::new();
        for impl_ in self.surface.implementations(trait_) {
            let Some(type_) = associated(self.surface, impl_, name) else { continue };
            let mut of_one = Values::new();
            self.scope.push(&impl_.generics);
            self.in_type(type_, held, &mut of_one);
            self.scope.pop();
            all.push(of_one);
        }
        self.inside.pop();
        if self.which == Which::Any || all.iter().all(|of_one| !of_one.is_empty()) {
            values.extend(all.into_iter().flatten());
        }
    }
}

/// What an impl says that an associated type is.
fn associated<'s>(surface: &'s Surface, impl_: &'s Impl, name: &str) -> Option<&'s Type> {
    let items = impl_.items.iter().filter_map(|id| surface.item(*id));
    let mut named = items.filter(|item| item.name.as_deref() == Some(name));
    named.find_map(|item| match &item.inner {
        ItemEnum::AssocType { type_, .. } => type_.as_ref(),
        _ => None,
    })
}

/// Whether a type has a trait of `core`, in all cases or in some.
pub fn has(surface: &Surface, id: Id, name: &str) -> bool {
    let impls = match surface.item(id).map(|item| &item.inner) {
        Some(ItemEnum::Struct(struct_)) => &struct_.impls,
        Some(ItemEnum::Enum(enum_)) => &enum_.impls,
        _ => return false,
    };
    impls.iter().filter_map(|id| surface.item(*id)).any(|item| match &item.inner {
        ItemEnum::Impl(impl_) if !impl_.is_negative && impl_.blanket_impl.is_none() => {
            let trait_ = impl_.trait_.as_ref().filter(|path| surface.trait_(path.id).is_none());
            trait_.is_some_and(|path| path.path.rsplit("::").next() == Some(name))
        }
        _ => false,
    })
}

/// Whether a type has a private field.
pub fn is_opaque(surface: &Surface, id: Id) -> bool {
    let Some(ItemEnum::Struct(struct_)) = surface.item(id).map(|item| &item.inner) else {
        return false;
    };
    let private =
        |id: &Id| surface.item(*id).is_none_or(|field| field.visibility != Visibility::Public);
    match &struct_.kind {
        StructKind::Unit => false,
        StructKind::Tuple(fields) => fields.iter().any(|id| id.as_ref().is_none_or(private)),
        StructKind::Plain { fields, has_stripped_fields } => {
            *has_stripped_fields || fields.iter().any(private)
        }
    }
}

/// The types of the fields of a type that is not opaque.
fn fields(surface: &Surface, id: Id) -> Vec<&Type> {
    let field = |id: &Id| match &surface.item(*id)?.inner {
        ItemEnum::StructField(type_) => Some(type_),
        _ => None,
    };
    let of_kind = |kind: &VariantKind| -> Vec<Id> {
        match kind {
            VariantKind::Plain => Vec::new(),
            VariantKind::Tuple(fields) => fields.iter().flatten().copied().collect(),
            VariantKind::Struct { fields, .. } => fields.clone(),
        }
    };
    let ids: Vec<Id> = match surface.item(id).map(|item| &item.inner) {
        Some(ItemEnum::Struct(struct_)) => match &struct_.kind {
            StructKind::Unit => Vec::new(),
            StructKind::Tuple(fields) => fields.iter().flatten().copied().collect(),
            StructKind::Plain { fields, .. } => fields.clone(),
        },
        Some(ItemEnum::Enum(enum_)) => {
            let variants = enum_.variants.iter().filter_map(|id| surface.item(*id));
            let fields = variants.filter_map(|variant| match &variant.inner {
                ItemEnum::Variant(variant) => Some(of_kind(&variant.kind)),
                _ => None,
            });
            fields.flatten().collect()
        }
        _ => Vec::new(),
    };
    let ids: BTreeSet<u32> = ids.into_iter().map(|id| id.0).collect();
    ids.into_iter().filter_map(|id| field(&Id(id))).collect()
}

/// What a function passes to closures: results, as far as the caller is concerned.
pub fn passed_to_closures<'a>(bounds: impl Iterator<Item = &'a GenericBound>) -> Vec<&'a Type> {
    let mut passed = Vec::new();
    for bound in bounds {
        if let Some(GenericArgs::Parenthesized { inputs, .. }) =
            trait_of(bound).and_then(|path| path.args.as_deref())
        {
            passed.extend(inputs);
        }
    }
    passed
}

/// The traits whose functions a foreign crate can call: those that it can name, and what they are built on, as far as that is
/// declared `pub`. A bound on the one brings the functions of the other, though nobody can name it.
pub fn callable_traits(surface: &Surface) -> BTreeSet<u32> {
    let mut callable = BTreeSet::new();
    let mut next: Vec<Id> = surface.traits().into_iter().map(|(_, id, _)| id).collect();
    while let Some(id) = next.pop() {
        let public = surface.item(id).is_some_and(|item| item.visibility == Visibility::Public);
        let Some(trait_) = surface.trait_(id) else { continue };
        // What is built on a trait that is not `pub` may still be built on one that is.
        next.extend(crate::choice::supertraits(trait_).iter().map(|path| path.id));
        if public && !callable.insert(id.0) {
            continue;
        }
    }
    callable
}
