//! `#[baton::kernel]`: the entry point on the GPU, the typed launch on the host.
//!
//! The attribute takes the function apart, refuses what would not be the same on both sides, and hands the pieces to
//! `__baton_kernel!` of the library, which is one macro for the host and another for the device. What is `unsafe`
//! stands there. Here are no modules and no names that the author's types could meet: each type is written where it
//! stood, so that it means there what it means to its author.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Error, GenericParam, Generics, Ident, ItemFn, Result, Type};

mod options;
mod signature;
mod symbol;

use options::{Instance, Options};
use signature::{Kernel, Parameter};

pub fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let function: ItemFn = syn::parse2(item)?;
    let generics = function.sig.generics.clone();
    let mut kernel = Kernel::of(function)?;
    let visibility = std::mem::replace(&mut kernel.function.vis, syn::Visibility::Inherited);
    if generics.params.is_empty() {
        if let Some(Instance { name, .. }) = options.instances.first() {
            return Err(Error::new_spanned(name, "the kernel has no type parameters"));
        }
        let name = kernel.function.sig.ident.clone();
        let types = kernel.parameters.iter().map(|parameter| parameter.ty.clone()).collect();
        let path = quote_spanned!(Span::mixed_site()=> #name);
        let launched = kernel.launched.clone();
        return entry(&options, &kernel, &visibility, &Entry { name, path, launched, types });
    }
    let Some(first) = options.instances.first() else {
        return Err(Error::new_spanned(
            &generics,
            "a generic kernel lists its entry points: `instances(name = <T>, …)`",
        ));
    };
    let aliases = Aliases::of(&kernel, &generics, &first.name);
    let entries = options
        .instances
        .iter()
        .map(|instance| entry(&options, &kernel, &visibility, &aliases.entry(&kernel, instance)?));
    let entries: TokenStream = entries.collect::<Result<_>>()?;
    let aliases = &aliases.items;
    Ok(quote_spanned!(Span::mixed_site()=> #aliases #entries))
}

/// One entry point.
struct Entry {
    /// Its symbol, and how the host calls it.
    name: Ident,
    /// The function that is its body.
    path: TokenStream,
    launched: Type,
    types: Vec<Type>,
}

fn entry(
    options: &Options,
    kernel: &Kernel,
    visibility: &syn::Visibility,
    Entry { name, path, launched, types }: &Entry,
) -> Result<TokenStream> {
    symbol::check(name)?;
    let Kernel { function, parameters, attributes, .. } = kernel;
    let (threads, cluster, min_ctas) =
        (&options.threads.0, &options.cluster.0, &options.min_ctas.0);
    let no_stack = proc_macro2::Literal::u32_unsuffixed(options.no_stack.into());
    let indices = (0..parameters.len()).map(proc_macro2::Literal::usize_unsuffixed);
    let received =
        (0..parameters.len()).map(|i| format_ident!("received{i}", span = Span::mixed_site()));
    let names = parameters.iter().map(|Parameter { name, .. }| name);
    let once = once(name);
    Ok(quote_spanned! {Span::mixed_site()=>
        #once
        ::baton::__baton_kernel! {
            #(#attributes)*
            #visibility #name = #[allow(clippy::too_many_arguments)] #[inline(always)] #function as #path;
            threads #threads, cluster #cluster, min_ctas #min_ctas, no_stack #no_stack;
            launched #launched;
            #(#indices #received #names: #types;)*
        }
    })
}

/// An item of which a crate has one for each symbol, wherever the kernels are: a second kernel of the name is an error that shows
/// both, on the host as on the device.
fn once(name: &Ident) -> TokenStream {
    let span = Span::mixed_site().located_at(name.span());
    let item = format_ident!("__baton_each_entry_point_has_its_own_name__{name}", span = span);
    quote_spanned! {span=>
        #[doc(hidden)]
        #[allow(non_local_definitions)]
        #[macro_export]
        macro_rules! #item { () => {} }
    }
}

/// The types of a generic kernel's parameters, as items with the kernel's own parameters: an instance names them with its
/// arguments, so that each argument is resolved beside the kernel and not beside the parameters, which may hide it.
struct Aliases {
    items: TokenStream,
    launched: Ident,
    types: Vec<Ident>,
    parameters: usize,
}

impl Aliases {
    fn of(kernel: &Kernel, generics: &Generics, first: &Ident) -> Self {
        let parameters: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
        let declared: Vec<&GenericParam> = generics.params.iter().collect();
        let condition = &generics.where_clause;
        let alias = |what: &str| format_ident!("__baton_{first}_{what}", span = Span::mixed_site());
        let item = |name: &Ident, ty: &Type| {
            quote_spanned! {Span::mixed_site()=>
                #[doc(hidden)]
                #[allow(non_camel_case_types, type_alias_bounds, dead_code, clippy::all)]
                type #name<#(#declared),*> #condition =
                    <#ty as ::baton::macro_support::With<(#(#parameters,)*)>>::Itself;
            }
        };
        let launched = alias("launched");
        let types: Vec<_> = (0..kernel.parameters.len()).map(|i| alias(&i.to_string())).collect();
        let mut items = item(&launched, &kernel.launched);
        for (name, parameter) in types.iter().zip(&kernel.parameters) {
            items.extend(item(name, &parameter.ty));
        }
        Aliases { items, launched, types, parameters: parameters.len() }
    }

    fn entry(&self, kernel: &Kernel, Instance { name, arguments }: &Instance) -> Result<Entry> {
        if arguments.args.len() != self.parameters {
            return Err(Error::new_spanned(
                arguments,
                format!("the kernel has {} type parameter(s)", self.parameters),
            ));
        }
        let (body, launched) = (&kernel.function.sig.ident, &self.launched);
        let arguments: Vec<_> = arguments.args.iter().collect();
        let types = self.types.iter().zip(&kernel.parameters).map(|(alias, parameter)| {
            let mut alias = alias.clone();
            // At the parameter, so that what its type lacks is reported there.
            alias.set_span(alias.span().located_at(syn::spanned::Spanned::span(&parameter.ty)));
            syn::parse_quote!(#alias<#(#arguments),*>)
        });
        Ok(Entry {
            name: name.clone(),
            path: quote_spanned!(Span::mixed_site()=> #body::<#(#arguments),*>),
            launched: syn::parse_quote!(#launched<#(#arguments),*>),
            types: types.collect(),
        })
    }
}
