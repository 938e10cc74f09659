//! `#[baton::kernel]`: the entry point on the GPU, the typed launch on the host.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{
    AngleBracketedGenericArguments, Error, FnArg, GenericArgument, GenericParam, Ident, ItemFn,
    Lifetime, LitInt, Pat, Result, ReturnType, Token, Type, parenthesized,
};

/// What stands in the attribute.
struct Attributes {
    threads: LitInt,
    cluster: u32,
    min_ctas: u32,
    instances: Vec<Instance>,
}

/// `name = <T, …>`
struct Instance {
    name: Ident,
    arguments: AngleBracketedGenericArguments,
}

impl Parse for Instance {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Instance { name, arguments: input.parse()? })
    }
}

impl Parse for Attributes {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut threads, mut cluster, mut min_ctas, mut instances) = (None, 0, 0, Vec::new());
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key == "instances" {
                let list;
                parenthesized!(list in input);
                instances = Punctuated::<Instance, Token![,]>::parse_terminated(&list)?
                    .into_iter()
                    .collect();
            } else {
                input.parse::<Token![=]>()?;
                let value: LitInt = input.parse()?;
                let number: u32 = value.base10_parse()?;
                if number == 0 {
                    return Err(Error::new_spanned(value, format!("`{key}` is at least 1")));
                }
                match key.to_string().as_str() {
                    "threads" => threads = Some(value),
                    "cluster" => cluster = number,
                    "min_ctas" => min_ctas = number,
                    _ => {
                        return Err(Error::new_spanned(
                            &key,
                            "unknown option: a kernel has `threads = N`, `cluster = N`, `min_ctas = N` and \
                             `instances(name = <T, …>)`",
                        ));
                    }
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let threads = threads.ok_or_else(|| {
            input.error(
                "a kernel says how many threads its CTA has: `#[baton::kernel(threads = 128)]`",
            )
        })?;
        Ok(Attributes { threads, cluster, min_ctas, instances })
    }
}

/// Gives the anonymous lifetime of a token the kernel's name for it.
struct Name(Lifetime);

impl VisitMut for Name {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.0.clone();
        }
    }
}

pub fn expand(attributes: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let attributes: Attributes = syn::parse2(attributes)?;
    let mut function: ItemFn = syn::parse2(item)?;
    let signature = &mut function.sig;
    if let Some(lifetime) = signature.generics.lifetimes().next() {
        return Err(Error::new_spanned(
            lifetime,
            "rule A9: a kernel has one lifetime, which the library chooses: write `Cta<'_, …>` and `Exit<'_>`",
        ));
    }
    let generic: Vec<Ident> = signature.generics.type_params().map(|p| p.ident.clone()).collect();
    if let Some(GenericParam::Const(parameter)) =
        signature.generics.params.iter().find(|p| matches!(p, GenericParam::Const(_)))
    {
        return Err(Error::new_spanned(
            parameter,
            "a kernel's parameters are types; use a type with a constant",
        ));
    }
    match (generic.is_empty(), attributes.instances.is_empty()) {
        (false, true) => {
            return Err(Error::new_spanned(
                &signature.generics,
                "a generic kernel lists its entry points: `instances(name = <T>, …)`",
            ));
        }
        (true, false) => {
            return Err(Error::new_spanned(
                &attributes.instances[0].name,
                "the kernel has no type parameters",
            ));
        }
        _ => {}
    }

    let brand = Lifetime::new("'k", proc_macro2::Span::mixed_site());
    let mut arguments = signature.inputs.iter_mut();
    let root = match arguments.next() {
        Some(FnArg::Typed(root)) => root,
        _ => {
            return Err(Error::new_spanned(
                &signature.ident,
                "the first parameter of a kernel is the token of its threads: `cta: Cta<'_, Smem, 128>`",
            ));
        }
    };
    Name(brand.clone()).visit_type_mut(&mut root.ty);
    let root_type = root.ty.clone();
    let mut names = Vec::new();
    let mut types: Vec<Type> = Vec::new();
    for argument in arguments {
        let FnArg::Typed(argument) = argument else {
            unreachable!("a method has a receiver only first")
        };
        if let Type::Reference(reference) = &*argument.ty {
            return Err(Error::new_spanned(
                reference,
                "rule A9: a kernel takes no references: other threads may touch what they point to; use `ReadOnly<T>` or \
                 `GlobalPtr<T>`",
            ));
        }
        names.push(match &*argument.pat {
            Pat::Ident(name) => name.ident.clone(),
            _ => format_ident!("argument{}", names.len()),
        });
        types.push((*argument.ty).clone());
    }
    match &mut signature.output {
        ReturnType::Type(_, exit) => Name(brand.clone()).visit_type_mut(exit),
        ReturnType::Default => {
            return Err(Error::new_spanned(
                &signature.ident,
                "a kernel returns the exit of its joined token: `-> Exit<'_>`, from `joined.exit(…)`",
            ));
        }
    }
    signature.generics.params.insert(0, syn::parse_quote!(#brand));

    let instances = if attributes.instances.is_empty() {
        vec![(signature.ident.clone(), Vec::new())]
    } else {
        attributes
            .instances
            .iter()
            .map(|i| {
                let given: Vec<_> = i.arguments.args.iter().cloned().collect();
                if given.len() == generic.len() {
                    Ok((i.name.clone(), given))
                } else {
                    Err(Error::new_spanned(
                        &i.arguments,
                        format!("the kernel has {} type parameter(s)", generic.len()),
                    ))
                }
            })
            .collect::<Result<_>>()?
    };

    let visibility = std::mem::replace(&mut function.vis, syn::Visibility::Inherited);
    let documentation: Vec<_> =
        function.attrs.iter().filter(|a| a.path().is_ident("doc")).cloned().collect();
    function.attrs.retain(|a| !a.path().is_ident("doc"));
    let body = function.sig.ident.clone();
    let parts = Parts {
        attributes: &attributes,
        generic: &generic,
        root: &root_type,
        names: &names,
        types: &types,
        body: &body,
        brand: &brand,
    };
    let device: Vec<_> = instances.iter().map(|(name, given)| parts.entry(name, given)).collect();
    let metadata: Vec<_> =
        instances.iter().map(|(name, given)| parts.metadata(name, given)).collect();
    let host: Vec<_> = instances
        .iter()
        .map(|(name, given)| parts.launch(name, given, &visibility, &documentation))
        .collect();
    let checks: Vec<_> = instances.iter().map(|(_, given)| parts.check(given)).collect();

    Ok(quote! {
        const _: () = {
            #[allow(clippy::too_many_arguments)]
            #[inline(always)]
            #function
            #(#checks)*
            #(#device)*
        };
        #(#metadata)*
        #(#host)*
    })
}

/// A kernel, taken apart.
struct Parts<'a> {
    attributes: &'a Attributes,
    generic: &'a [Ident],
    root: &'a Type,
    names: &'a [Ident],
    types: &'a [Type],
    body: &'a Ident,
    brand: &'a Lifetime,
}

impl Parts<'_> {
    /// `type T = bf16;` for each type parameter of the kernel.
    fn aliases(&self, given: &[GenericArgument]) -> TokenStream {
        let generic = self.generic;
        quote!(#(#[allow(dead_code)] type #generic = #given;)*)
    }

    /// The function coerced to what a kernel is: generic over its lifetime.
    fn coerced(&self) -> TokenStream {
        let (body, generic, root, types, brand) =
            (self.body, self.generic, self.root, self.types, self.brand);
        let path = if generic.is_empty() { quote!(#body) } else { quote!(#body::<#(#generic),*>) };
        quote! {
            {
                let body: for<#brand> fn(#root, #(#types),*) -> ::baton::token::Exit<#brand> = #path;
                body
            }
        }
    }

    /// What the host compiles so that the kernel's own constants are evaluated there too.
    fn check(&self, given: &[GenericArgument]) -> TokenStream {
        let (root, types, brand) = (self.root, self.types, self.brand);
        let (aliases, coerced, threads, cluster) = (
            self.aliases(given),
            self.coerced(),
            &self.attributes.threads,
            self.attributes.cluster,
        );
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            const _: () = {
                #aliases
                #[used]
                static KERNEL: for<#brand> fn(#root, #(#types),*) -> ::baton::token::Exit<#brand> = #coerced;
                const fn same_threads<#brand>() {
                    ::baton::macro_support::same_threads(
                        #threads, <#root as ::baton::token::RootToken<#brand>>::THREADS);
                    ::baton::macro_support::same_cluster::<
                        <#root as ::baton::token::RootToken<#brand>>::Layout,
                    >(#cluster);
                }
                same_threads();
            };
        }
    }

    fn entry(&self, name: &Ident, given: &[GenericArgument]) -> TokenStream {
        let (root, types, names, brand) = (self.root, self.types, self.names, self.brand);
        let (aliases, coerced) = (self.aliases(given), self.coerced());
        let symbols = (0..types.len()).map(|i| format!("{name}_param_{i}"));
        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #aliases
                const BODY: for<#brand> fn(#root, #(#types),*) -> ::baton::token::Exit<#brand> = #coerced;
                #[inline(always)]
                fn run<#brand>(#(#names: #types),*) {
                    // SAFETY: the entry of the kernel, launched as its metadata says; `run` is called once in
                    // each thread, with a lifetime of its own.
                    let root = unsafe { <#root as ::baton::token::RootToken<#brand>>::root() };
                    let _ = BODY(root, #(#names),*);
                    if const { false #(|| <#types as ::baton::global::ReceiveParam>::DEPENDENT)* } {
                        ::baton::previous::complete_in_order();
                    }
                }
                const RUN: fn(#(#types),*) = run;
                // In a scope of its own: the entry may have the name of the function that is its body.
                const _: () = {
                    ::baton::__baton_entry! {
                        #name(#(#names: <#types as ::baton::global::ReceiveParam>::Abi),*) {
                            // SAFETY: the parameters are those of this entry, in order.
                            unsafe {
                                RUN(#(<#types as ::baton::global::ReceiveParam>::receive(
                                    #names, || ::baton::__baton_param_address!(#symbols))),*)
                            }
                        }
                    }
                };
            };
        }
    }

    /// The lines of metadata in the PTX: assembly of a module is an item of its own, so it stands in one.
    fn metadata(&self, name: &Ident, given: &[GenericArgument]) -> TokenStream {
        let (root, types, brand) = (self.root, self.types, self.brand);
        let aliases = self.aliases(given);
        let (threads, cluster, min_ctas) =
            (&self.attributes.threads, self.attributes.cluster, self.attributes.min_ctas);
        let (cluster_y, cluster_z) = if cluster == 0 { (0, 0) } else { (1, 1) };
        let kernel_line = format!(
            "//@baton kernel {name} threads={{}},1,1 cluster={cluster},{cluster_y},{cluster_z} min_ctas={min_ctas} smem={{}}"
        );
        let param_lines = (0..types.len()).map(|i| format!("//@baton param {name} {i} align={{}}"));
        let module = format_ident!("__baton_metadata_{name}");
        quote! {
            #[cfg(target_arch = "nvptx64")]
            mod #module {
                #[allow(unused_imports)]
                use super::*;
                #aliases
                const fn __baton_threads<#brand>() -> u32 {
                    ::baton::macro_support::same_threads(
                        #threads, <#root as ::baton::token::RootToken<#brand>>::THREADS);
                    ::baton::macro_support::same_cluster::<
                        <#root as ::baton::token::RootToken<#brand>>::Layout,
                    >(#cluster);
                    #threads
                }
                const fn __baton_bytes<#brand>() -> u32 {
                    ::baton::layout::launch_bytes::<<#root as ::baton::token::RootToken<#brand>>::Layout>()
                }
                ::baton::__baton_comment!(#kernel_line, __baton_threads(), __baton_bytes());
                #(::baton::__baton_comment!(
                    #param_lines, <#types as ::baton::global::ReceiveParam>::ALIGN);)*
            }
        }
    }

    fn launch(
        &self,
        name: &Ident,
        given: &[GenericArgument],
        visibility: &syn::Visibility,
        documentation: &[syn::Attribute],
    ) -> TokenStream {
        let (root, types, names, brand) = (self.root, self.types, self.names, self.brand);
        let aliases = self.aliases(given);
        let (threads, cluster, min_ctas) =
            (&self.attributes.threads, self.attributes.cluster, self.attributes.min_ctas);
        let module = format_ident!("__baton_kernel_{name}");
        let symbol = name.to_string();
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #[doc(hidden)]
            mod #module {
                #[allow(unused_imports)]
                use super::*;
                #aliases
                const fn __baton_bytes<#brand>() -> u32 {
                    ::baton::layout::launch_bytes::<<#root as ::baton::token::RootToken<#brand>>::Layout>()
                }
                #(#documentation)*
                #[allow(clippy::too_many_arguments)]
                pub fn #name<'a>(
                    #(#names: <#types as ::baton::launch::KernelParam>::Host<'a>),*
                ) -> ::baton::launch::Call<'a> {
                    let mut params = ::baton::launch::Params::new();
                    #(<#types as ::baton::launch::KernelParam>::push(#names, &mut params);)*
                    // SAFETY: (1) the entry and its attributes are made of the same function as this; (2) the call has
                    // the lifetime of the borrows that were pushed.
                    unsafe {
                        ::baton::macro_support::call(#symbol, #threads, #cluster, #min_ctas, __baton_bytes(), params)
                    }
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            #visibility use #module::#name;
        }
    }
}
