//! The function below `#[baton::kernel]`, taken apart, and what it may not be.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Error, FnArg, GenericParam, Ident, ItemFn, Lifetime, Pat, Result, ReturnType,
    Signature, Type, TypeImplTrait,
};

/// A kernel's function.
pub struct Kernel {
    /// The function itself, with its lifetime named.
    pub function: ItemFn,
    /// A function that takes the token, whatever the lifetime of the run.
    pub launched: Type,
    pub parameters: Vec<Parameter>,
    /// What is said of the function that the host calls.
    pub attributes: Vec<Attribute>,
}

/// A parameter behind the token.
pub struct Parameter {
    /// How the host's function calls it.
    pub name: Ident,
    pub ty: Type,
}

impl Kernel {
    pub fn of(mut function: ItemFn) -> Result<Self> {
        plain(&function.sig)?;
        let attributes = attributes(&mut function)?;
        Words.check(&function.sig)?;
        let run = Lifetime::new("'k", Span::mixed_site());
        let signature = &mut function.sig;
        let mut arguments = signature.inputs.iter_mut();
        let root = match arguments.next() {
            Some(FnArg::Typed(root)) => root,
            Some(FnArg::Receiver(receiver)) => {
                return Err(Error::new_spanned(
                    receiver,
                    "a kernel is a function of a module, without `self`: take it out of the `impl`",
                ));
            }
            None => {
                return Err(Error::new_spanned(
                    &signature.ident,
                    "the first parameter of a kernel is the token of its threads: `cta: Cta<'_, Smem, 128>`",
                ));
            }
        };
        Named(&run).visit_type_mut(&mut root.ty);
        let root = &root.ty;
        let launched = syn::parse_quote_spanned!(root.span()=> for<#run> fn(#root));
        let parameters = arguments.enumerate().map(parameter).collect::<Result<_>>()?;
        match &mut signature.output {
            ReturnType::Type(_, exit) => Named(&run).visit_type_mut(exit),
            ReturnType::Default => {
                return Err(Error::new_spanned(
                    &signature.ident,
                    "a kernel returns the exit of its joined token: `-> Exit<'_>`, from `joined.exit(…)`",
                ));
            }
        }
        signature.generics.params.insert(0, syn::parse_quote!(#run));
        Ok(Kernel { function, launched, parameters, attributes })
    }
}

/// A parameter, by the name that its pattern gives it.
fn parameter((index, argument): (usize, &mut FnArg)) -> Result<Parameter> {
    let FnArg::Typed(argument) = argument else {
        unreachable!("a function has a receiver only first")
    };
    if let Type::Reference(reference) = &*argument.ty {
        return Err(Error::new_spanned(
            reference,
            "rule A9: a kernel takes no references: other threads may touch what they point to; use `ReadOnly<T>` or \
             `GlobalPtr<T>`",
        ));
    }
    let name = match &*argument.pat {
        Pat::Ident(name) => name.ident.clone(),
        pattern => {
            Ident::new(&format!("argument{index}"), Span::mixed_site().located_at(pattern.span()))
        }
    };
    Ok(Parameter { name, ty: (*argument.ty).clone() })
}

/// Fails unless it is a plain `fn`.
fn plain(signature: &Signature) -> Result<()> {
    let refuse = |place: Span, what: &str| Err(Error::new(place, what));
    if let Some(word) = &signature.constness {
        return refuse(
            word.span(),
            "a kernel runs on the device, never in a constant: leave `const` out",
        );
    }
    if let Some(word) = &signature.asyncness {
        return refuse(word.span(), "a kernel has no executor to be polled by: leave `async` out");
    }
    if let Some(word) = &signature.unsafety {
        return refuse(
            word.span(),
            "a kernel is a safe function: the host launches it, and what the host must promise is in the types of the \
             parameters; leave `unsafe` out, and write it where the kernel does what needs it",
        );
    }
    if let Some(abi) = &signature.abi {
        return refuse(
            abi.span(),
            "a kernel has the calling convention of kernels: leave `extern` out",
        );
    }
    if let Some(variadic) = &signature.variadic {
        return refuse(variadic.span(), "a kernel has as many parameters as it names");
    }
    if let Some(lifetime) = signature.generics.lifetimes().next() {
        return refuse(
            lifetime.span(),
            "rule A9: a kernel has one lifetime, which the library chooses: write `Cta<'_, …>` and `Exit<'_>`",
        );
    }
    let constant = |p: &&GenericParam| matches!(p, GenericParam::Const(_));
    if let Some(constant) = signature.generics.params.iter().find(constant) {
        return refuse(
            constant.span(),
            "a kernel's parameters are types; use a type with a constant",
        );
    }
    Ok(())
}

/// Takes off the function what is said of the one that the host calls. Refuses what would make the two builds, or the entry and
/// its function, different.
fn attributes(function: &mut ItemFn) -> Result<Vec<Attribute>> {
    let mut of_both = Vec::new();
    let mut of_the_body = Vec::new();
    for attribute in std::mem::take(&mut function.attrs) {
        let path = attribute.path();
        let is = |names: &[&str]| names.iter().any(|name| path.is_ident(name));
        let refuse = |why: &str| Err(Error::new_spanned(&attribute, why));
        if is(&["cfg", "cfg_attr"]) {
            return refuse(
                "write this above `#[baton::kernel]`, so that it decides about the whole kernel",
            );
        }
        // `unsafe(…)` is around the first three.
        if is(&["unsafe", "no_mangle", "export_name", "link_section", "used", "linkage"]) {
            return refuse(
                "the symbol of a kernel is its name, on the device and on the host: leave this out, and call the function as \
                 the entry point is to be called",
            );
        }
        if is(&[
            "inline",
            "cold",
            "target_feature",
            "naked",
            "track_caller",
            "instruction_set",
            "test",
            "bench",
        ]) {
            return refuse(
                "the library says how the body of a kernel becomes its entry point: leave this out",
            );
        }
        if is(&["doc", "deprecated"]) {
            of_both.push(attribute);
            continue;
        }
        // What is expected is expected of the body alone.
        if is(&["allow", "warn", "deny", "forbid"]) {
            of_both.push(attribute.clone());
        }
        of_the_body.push(attribute);
    }
    function.attrs = of_the_body;
    Ok(of_both)
}

/// Looks for what a signature may not have anywhere.
struct Words;

impl Words {
    fn check(self, signature: &Signature) -> Result<()> {
        let mut found = Found(None);
        found.visit_signature(signature);
        found.0.map_or(Ok(()), Err)
    }
}

struct Found(Option<Error>);

impl<'a> Visit<'a> for Found {
    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            self.0.get_or_insert(Error::new_spanned(
                attribute,
                "a kernel has the same parameters in both builds, of the host and of the device: write two kernels, each with \
                 its `#[cfg]` above `#[baton::kernel]`",
            ));
        }
    }

    fn visit_type_impl_trait(&mut self, ty: &'a TypeImplTrait) {
        self.0.get_or_insert(Error::new_spanned(
            ty,
            "the host has to know the type of a parameter: name it, or make the kernel generic with `instances(name = <T>)`",
        ));
        visit::visit_type_impl_trait(self, ty);
    }
}

/// Gives the anonymous lifetime of a token the kernel's name for it.
struct Named<'a>(&'a Lifetime);

impl VisitMut for Named<'_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = Lifetime { apostrophe: lifetime.apostrophe, ..self.0.clone() };
        }
    }
}
