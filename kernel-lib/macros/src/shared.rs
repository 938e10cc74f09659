//! `shared!`: a layout of shared memory.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Generics, Ident, Result, Token, Type, Visibility, braced};

/// `pub struct Smem<T: Element> in smem { field: Type, … }`
struct Declaration {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    generics: Generics,
    module: Ident,
    fields: Punctuated<Field, Token![,]>,
}

struct Field {
    attributes: Vec<Attribute>,
    name: Ident,
    ty: Type,
}

impl Parse for Field {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Field { attributes, name, ty: input.parse()? })
    }
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![struct]>()?;
        let name = input.parse()?;
        let mut generics: Generics = input.parse()?;
        generics.where_clause = input.parse()?;
        if !input.peek(Token![in]) {
            return Err(input.error(
                "expected `in module`: the name of the module for the fields' tags, as in \
                 `pub struct Smem in smem { … }`",
            ));
        }
        input.parse::<Token![in]>()?;
        let module = input.parse()?;
        let body;
        braced!(body in input);
        let fields = body.parse_terminated(Field::parse, Token![,])?;
        Ok(Declaration { attributes, visibility, name, generics, module, fields })
    }
}

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let Declaration { attributes, visibility, name, generics, module, fields } = syn::parse2(item)?;
    if let Some(lifetime) = generics.lifetimes().next() {
        return Err(Error::new_spanned(lifetime, "a layout has type parameters only"));
    }
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let parameters: Vec<_> = generics.type_params().map(|p| &p.ident).collect();
    let bounded: Vec<_> = generics.params.iter().collect();
    let names: Vec<_> = fields.iter().map(|f| &f.name).collect();
    let types: Vec<_> = fields.iter().map(|f| &f.ty).collect();
    let docs: Vec<_> = fields.iter().map(|f| &f.attributes).collect();
    let sizes = quote!(&[#((<#types>::BYTES, <#types>::ALIGN)),*]);
    let offsets: Vec<_> =
        (0..fields.len()).map(|i| quote!(::baton::layout::offset_of(#sizes, #i))).collect();
    let count = fields.len();
    if count > 8 {
        return Err(Error::new_spanned(&name, "a layout has at most eight fields"));
    }
    let closed = fields.iter().rev().fold(quote!(()), |rest, Field { name, ty, .. }| {
        quote! {
            <<#ty as ::baton::layout::Field>::Closed<'k, #module::#name> as ::baton::layout::Proof>::Before<#rest>
        }
    });
    let tag_docs: Vec<_> = names
        .iter()
        .map(|n| format!("Tag of the field `{n}` of [`{name}`](super::{name})."))
        .collect();
    let parts_doc = format!("The parts of [`{name}`](super::{name}): what `cta.claim()` returns.");
    let module_doc = format!("Tags and parts of the layout [`{name}`].");

    Ok(quote! {
        #(#attributes)*
        #visibility struct #name #impl_generics (
            ::core::marker::PhantomData<fn() -> (#(#parameters,)*)>
        ) #where_clause;

        #[doc = #module_doc]
        #[allow(non_camel_case_types)]
        #visibility mod #module {
            #[allow(unused_imports)]
            use super::*;
            #(
                #[doc = #tag_docs]
                pub enum #names {}
            )*
            #[doc = #parts_doc]
            pub struct Parts<'k, #(#bounded),*> #where_clause {
                #(
                    #(#docs)*
                    #[allow(missing_docs)]
                    pub #names: <#types as ::baton::layout::Field>::Part<'k, #names>,
                )*
                #[doc(hidden)]
                pub _types: ::core::marker::PhantomData<(&'k (), fn() -> (#(#parameters,)*))>,
            }
        }

        const _: () = {
            use ::baton::layout::Field as _;
            // SAFETY: `offset_of` and `column_of` place the fields behind each other; `init` and `parts` call each
            // field's once, with its own place.
            unsafe impl #impl_generics ::baton::layout::Layout for #name #type_generics #where_clause {
                const BYTES: u32 = ::baton::layout::offset_of(#sizes, #count);
                const COLUMNS: u32 = ::baton::layout::one_field_of_tensor_memory(&[#((<#types>::COLUMNS, <#types>::PAIR)),*]);
                const PAIR: bool = false #(|| <#types>::PAIR)*;
                const CLUSTER: u32 = ::baton::layout::cluster_of(&[#((<#types>::CLUSTER, <#types>::ARRIVES_ON_CLUSTER)),*]);
                const ARRIVES_ON_CLUSTER: bool = false #(|| <#types>::ARRIVES_ON_CLUSTER)*;
                const ASKS: u32 = ::baton::layout::one_field_that_asks(&[#(<#types>::ASKS),*]);
                const REMOTE_BARRIERS: bool = false #(|| <#types>::REMOTE_BARRIERS)*;
                type Parts<'k> = #module::Parts<'k, #(#parameters),*>;
                type Closed<'k> = #closed;
                #[inline(always)]
                unsafe fn init(base: ::baton::layout::Base, threads: u32) {
                    #(
                        // SAFETY: the field's own place; the caller promises the rest.
                        unsafe {
                            <#types as ::baton::layout::Field>::init(
                                base.offset(const { #offsets }),
                                threads,
                            )
                        };
                    )*
                }
                #[inline(always)]
                unsafe fn parts<'k>(base: ::baton::layout::Base, tensor: u32) -> Self::Parts<'k> {
                    #module::Parts {
                        #(
                            // SAFETY: the field's own place; the caller promises the rest.
                            #names: unsafe {
                                <#types as ::baton::layout::Field>::part(
                                    base.offset(const { #offsets }),
                                    tensor,
                                )
                            },
                        )*
                        _types: ::core::marker::PhantomData,
                    }
                }
            }
        };
    })
}
