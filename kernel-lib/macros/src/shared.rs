//! `shared!`: a layout of shared memory.
//!
//! The macro reads the declaration and refuses what it does not take; `__baton_layout!` of the library makes the layout of
//! it. Each of the author's types is written where it stood, never in the module of the tags, where it could mean another.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, GenericParam, Generics, Ident, Lifetime, Path, Result, Token,
    TraitBoundModifier, Type, TypeParamBound, Visibility, WherePredicate, braced,
};

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

/// The library implements its tuple of fields up to this many.
const MOST_FIELDS: usize = 8;

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let declaration: Declaration = syn::parse2(item)?;
    let parameters = Parameters::of(&declaration)?;
    let Declaration { attributes, visibility, name, module, fields, .. } = &declaration;
    unconditional(attributes)?;
    if fields.is_empty() {
        return Err(Error::new_spanned(
            name,
            "a layout has fields: a kernel without shared memory has the layout `NoShared`",
        ));
    }
    if fields.len() > MOST_FIELDS {
        return Err(Error::new_spanned(name, "a layout has at most eight fields"));
    }
    let mut lines = TokenStream::new();
    for (index, Field { attributes, name: field, ty }) in fields.iter().enumerate() {
        unconditional(attributes)?;
        if field == "Parts" {
            return Err(Error::new_spanned(
                field,
                format!(
                    "`{module}::Parts` is the type of all parts: call the field otherwise, such as `parts`"
                ),
            ));
        }
        let index = Literal::usize_unsuffixed(index);
        let tag_doc = format!("Tag of the field `{field}` of [`{name}`](super::{name}).");
        let undocumented = (!attributes.iter().any(|attribute| attribute.path().is_ident("doc")))
            .then(|| format!("The part of `{field}`, a `{}`.", written(ty)));
        let documentation =
            undocumented.map(|text| quote_spanned!(Span::mixed_site()=> doc = #text)).into_iter();
        let said = documentation
            .chain(attributes.iter().map(|attribute| attribute.meta.to_token_stream()));
        lines.extend(
            quote_spanned!(Span::mixed_site()=> #index #field: #ty, #tag_doc [#(#said),*] #parameters;),
        );
    }
    let module_doc = format!("Tags and parts of the layout [`{name}`].");
    Ok(quote_spanned! {Span::mixed_site()=>
        ::baton::__baton_layout! {
            #(#attributes)*
            #visibility #name #parameters
            #[doc = #module_doc] #module
            #lines
        }
    })
}

/// The type as its author wrote it, nearly.
fn written(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    [(" < ", "<"), (" >", ">"), (" ,", ","), (" :: ", "::"), ("{ ", "{"), (" }", "}")]
        .iter()
        .fold(text, |text, (spaced, close)| text.replace(spaced, close))
}

/// Refuses attributes that could make two layouts of one declaration.
fn unconditional(attributes: &[Attribute]) -> Result<()> {
    match attributes.iter().find(|a| a.path().is_ident("cfg") || a.path().is_ident("cfg_attr")) {
        None => Ok(()),
        Some(attribute) => Err(Error::new_spanned(
            attribute,
            "a layout has the same fields in both builds, of the host and of the device: write two layouts, each with its \
             `#[cfg]` above `shared!`",
        )),
    }
}

/// The parameters of a layout, in the parts that `__baton_layout!` takes.
struct Parameters {
    types: Vec<Ident>,
    /// `N: usize` each.
    constants: TokenStream,
    /// `T: [Bound, …] ['static …]` each.
    bounds: TokenStream,
}

impl ToTokens for Parameters {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Parameters { types, constants, bounds } = self;
        tokens.extend(quote_spanned!(Span::mixed_site()=> { [#(#types)*] [#constants] [#bounds] }));
    }
}

impl Parameters {
    fn of(Declaration { generics, module, fields, .. }: &Declaration) -> Result<Self> {
        let mut parameters = Parameters {
            types: Vec::new(),
            constants: TokenStream::new(),
            bounds: TokenStream::new(),
        };
        for parameter in &generics.params {
            let (name, attributes, default) = match parameter {
                GenericParam::Lifetime(lifetime) => {
                    return Err(Error::new_spanned(
                        lifetime,
                        "a layout has no lifetime parameters",
                    ));
                }
                GenericParam::Type(parameter) => {
                    let name = &parameter.ident;
                    parameters.types.push(name.clone());
                    parameters.bound(name, &parameter.bounds)?;
                    (
                        name,
                        &parameter.attrs,
                        parameter.default.as_ref().map(ToTokens::to_token_stream),
                    )
                }
                GenericParam::Const(parameter) => {
                    let (name, ty) = (&parameter.ident, primitive(&parameter.ty)?);
                    parameters.constants.extend(quote_spanned!(Span::mixed_site()=> #name: #ty));
                    (
                        name,
                        &parameter.attrs,
                        parameter.default.as_ref().map(ToTokens::to_token_stream),
                    )
                }
            };
            unconditional(attributes)?;
            if let Some(default) = default {
                return Err(Error::new_spanned(
                    default,
                    "a parameter of a layout has no default: the kernel says which layout it has",
                ));
            }
            if fields.iter().any(|field| field.name == *name) {
                return Err(Error::new_spanned(
                    name,
                    format!(
                        "`{name}` is a field too, whose tag has that name: call the parameter otherwise"
                    ),
                ));
            }
            if name == module {
                return Err(Error::new_spanned(
                    name,
                    format!(
                        "`{module}` is the module of the fields' tags: call the parameter otherwise"
                    ),
                ));
            }
        }
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
            match predicate {
                WherePredicate::Type(predicate) if predicate.lifetimes.is_none() => {
                    parameters.bound(&predicate.bounded_ty, &predicate.bounds)?;
                }
                _ => return Err(Error::new_spanned(predicate, BOUNDS)),
            }
        }
        Ok(parameters)
    }

    fn bound(
        &mut self,
        bounded: impl ToTokens,
        bounds: &Punctuated<TypeParamBound, Token![+]>,
    ) -> Result<()> {
        let (mut traits, mut lifetimes) = (Vec::<&Path>::new(), Vec::<&Lifetime>::new());
        for bound in bounds {
            match bound {
                TypeParamBound::Trait(bound)
                    if bound.lifetimes.is_none()
                        && matches!(bound.modifier, TraitBoundModifier::None) =>
                {
                    traits.push(&bound.path);
                }
                TypeParamBound::Lifetime(lifetime) => lifetimes.push(lifetime),
                _ => return Err(Error::new_spanned(bound, BOUNDS)),
            }
        }
        self.bounds
            .extend(quote_spanned!(Span::mixed_site()=> #bounded: [#(#traits),*] [#(#lifetimes)*]));
        Ok(())
    }
}

/// The type of a constant, which the module of the tags has to know: the primitive, whatever else has its name.
fn primitive(ty: &Type) -> Result<&Ident> {
    const PRIMITIVES: [&str; 14] = [
        "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
        "bool", "char",
    ];
    match ty {
        Type::Path(path) => {
            path.path.get_ident().filter(|name| PRIMITIVES.iter().any(|p| *name == p))
        }
        _ => None,
    }
    .ok_or_else(|| {
        Error::new_spanned(ty, "a constant of a layout is a primitive: `const N: usize`")
    })
}

const BOUNDS: &str = "a parameter of a layout is bounded by traits and `'static`: `T: Element`";
