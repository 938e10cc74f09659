//! What stands in `#[baton::kernel(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{AngleBracketedGenericArguments, Error, Ident, LitInt, Result, Token, parenthesized};

/// The options of a kernel.
pub struct Options {
    pub threads: Number,
    /// CTAs of a cluster; 0 if the kernel is not launched in clusters.
    pub cluster: Number,
    /// CTAs that must fit on one multiprocessor; 0 if nothing is said.
    pub min_ctas: Number,
    /// Whether local memory is an error of the build.
    pub no_stack: bool,
    pub instances: Vec<Instance>,
}

/// A number, at the place where it was written.
#[derive(Clone)]
pub struct Number(pub proc_macro2::Literal);

/// `name = <T, …>`: an entry point of a generic kernel.
pub struct Instance {
    pub name: Ident,
    pub arguments: AngleBracketedGenericArguments,
}

impl Parse for Instance {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Instance { name, arguments: input.parse()? })
    }
}

impl Number {
    fn new(value: u32, span: proc_macro2::Span) -> Self {
        let mut literal = proc_macro2::Literal::u32_unsuffixed(value);
        literal.set_span(span);
        Number(literal)
    }

    /// `= 128`, at least 1.
    fn parse(key: &Ident, input: ParseStream<'_>) -> Result<Self> {
        input.parse::<Token![=]>()?;
        let value: LitInt = input.parse().map_err(|error| {
            Error::new(
                error.span(),
                format!("`{key}` is a number that stands here: the builder and the host read it, as in `{key} = 2`"),
            )
        })?;
        match value.base10_parse()? {
            0 => Err(Error::new_spanned(value, format!("`{key}` is at least 1"))),
            number => Ok(Number::new(number, value.span())),
        }
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut threads, mut cluster, mut min_ctas, mut instances) = (None, None, None, None);
        let mut no_stack = false;
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let once = |there: bool| match there {
                true => Err(Error::new_spanned(&key, format!("`{key}` is said twice"))),
                false => Ok(()),
            };
            match key.to_string().as_str() {
                "instances" => {
                    once(instances.is_some())?;
                    let list;
                    parenthesized!(list in input);
                    instances = Some(Punctuated::<Instance, Token![,]>::parse_terminated(&list)?);
                }
                "threads" => {
                    once(threads.is_some())?;
                    threads = Some(Number::parse(&key, input)?);
                }
                "cluster" => {
                    once(cluster.is_some())?;
                    cluster = Some(Number::parse(&key, input)?);
                }
                "min_ctas" => {
                    once(min_ctas.is_some())?;
                    min_ctas = Some(Number::parse(&key, input)?);
                }
                "no_stack" => {
                    once(no_stack)?;
                    no_stack = true;
                }
                _ => {
                    return Err(Error::new_spanned(
                        &key,
                        "unknown option: a kernel has `threads = N`, `cluster = N`, `min_ctas = N`, `no_stack` and \
                         `instances(name = <T, …>)`",
                    ));
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
        let none = || Number::new(0, proc_macro2::Span::mixed_site());
        Ok(Options {
            threads,
            cluster: cluster.unwrap_or_else(none),
            min_ctas: min_ctas.unwrap_or_else(none),
            no_stack,
            instances: instances.into_iter().flatten().collect(),
        })
    }
}
