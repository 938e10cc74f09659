//! How types of the library are spelled in a foreign crate, with types put in for their parameters.

use std::collections::BTreeMap;

use rustdoc_types::{GenericArg, GenericArgs, Path, Type};

use crate::surface::Surface;

/// What stands for the parameters.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Types and constants, by the parameter's name; `Self` too.
    pub values: BTreeMap<String, String>,
}

impl Environment {
    /// The spelling of a type, or nothing where it cannot be named.
    pub fn spell(&self, surface: &Surface, type_: &Type) -> Option<String> {
        let spell = |type_: &Type| self.spell(surface, type_);
        Some(match type_ {
            Type::ResolvedPath(path) => self.path(surface, path)?,
            Type::Generic(name) => self.values.get(name)?.clone(),
            Type::Primitive(name) if name == "never" => "!".to_owned(),
            Type::Primitive(name) => name.clone(),
            Type::Tuple(types) => {
                let types: Option<Vec<_>> = types.iter().map(|t| Some(spell(t)? + ",")).collect();
                format!("({})", types?.join(" "))
            }
            Type::Slice(element) => format!("[{}]", spell(element)?),
            Type::Array { type_, len } => format!("[{}; {}]", spell(type_)?, self.constant(len)),
            Type::BorrowedRef { is_mutable, type_, .. } => {
                format!("&'static {}{}", if *is_mutable { "mut " } else { "" }, spell(type_)?)
            }
            Type::RawPointer { is_mutable, type_ } => {
                format!("*{} {}", if *is_mutable { "mut" } else { "const" }, spell(type_)?)
            }
            Type::QualifiedPath { name, self_type, trait_: Some(trait_), .. } => {
                let trait_ = self.path(surface, trait_)?;
                format!("<{} as {trait_}>::{name}", spell(self_type)?)
            }
            // `impl Trait`, `dyn Trait` and pointers to functions stand in no impl's head here.
            _ => return None,
        })
    }

    /// The spelling of a path with its arguments.
    pub fn path(&self, surface: &Surface, path: &Path) -> Option<String> {
        let name = surface.name(path.id)?;
        let Some(GenericArgs::AngleBracketed { args, .. }) = path.args.as_deref() else {
            return Some(name);
        };
        let args: Option<Vec<_>> = args.iter().map(|arg| self.argument(surface, arg)).collect();
        let args = args?;
        Some(if args.is_empty() { name } else { format!("{name}<{}>", args.join(", ")) })
    }

    fn argument(&self, surface: &Surface, arg: &GenericArg) -> Option<String> {
        Some(match arg {
            GenericArg::Lifetime(_) => "'static".to_owned(),
            GenericArg::Type(type_) => self.spell(surface, type_)?,
            GenericArg::Const(constant) => self.constant(&constant.expr),
            GenericArg::Infer => "_".to_owned(),
        })
    }

    pub(crate) fn constant(&self, text: &str) -> String {
        self.values.get(text).cloned().unwrap_or_else(|| format!("{{ {text} }}"))
    }
}
