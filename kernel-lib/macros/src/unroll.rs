//! `unroll!`: a loop over a range of constants, written out.
//!
//! Bounds that are literals give exactly as many copies of the body as there are numbers. Bounds that are other constants are not known
//! here: then there are [`MOST`] copies, each under a condition that is a constant for the compiler, which leaves the others out before it
//! generates code.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Error, Expr, ExprForLoop, ExprLit, ExprRange, Lit, RangeLimits, Result};

/// Copies of a body whose bounds are no literals.
const MOST: u64 = 128;
/// Copies of a body at all.
const MOST_OF_LITERALS: u64 = 1024;

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let looped: ExprForLoop = syn::parse2(input).map_err(|error| {
        Error::new(
            error.span(),
            format!(
                "{error}: `unroll!` takes one loop, as in `unroll! {{ for i in 0..32 {{ … }} }}`"
            ),
        )
    })?;
    let mut ways = Ways(None);
    ways.visit_block(&looped.body);
    if let Some((what, span)) = ways.0 {
        return Err(Error::new(
            span,
            format!(
                "`{what}` has no loop to leave here: `unroll!` writes the body out, one copy behind the other; use `if`"
            ),
        ));
    }
    let (start, end, inclusive) = bounds(&looped.expr)?;
    let (pattern, statements) = (&looped.pat, &looped.body.stmts);
    let copy = |value: TokenStream| quote! { { let #pattern = #value; #(#statements)* } };
    if let (Some(first), Some(last)) = (literal(&start), literal(&end)) {
        let last = if inclusive { last + 1 } else { last };
        if last.saturating_sub(first) > MOST_OF_LITERALS {
            return Err(Error::new(
                looped.expr.span(),
                format!("{} copies: `unroll!` writes at most {MOST_OF_LITERALS}", last - first),
            ));
        }
        let suffix = suffix(&start).or(suffix(&end)).unwrap_or_default();
        let copies = (first..last).map(|i| {
            let value: Literal = format!("{i}{suffix}").parse().expect("a number and a type");
            copy(quote!(#value))
        });
        return Ok(quote! { { #(#copies)* } });
    }
    let span = looped.expr.span();
    let within = |k: &Literal| {
        if inclusive { quote!((#start) + #k <= (#end)) } else { quote!((#start) + #k < (#end)) }
    };
    let beyond = within(&Literal::u64_unsuffixed(MOST));
    let message =
        format!("`unroll!` over constants that are no literals writes at most {MOST} copies");
    let bounded = quote_spanned! {span=> const { ::core::assert!(!(#beyond), #message) }; };
    let copies = (0..MOST).map(|k| {
        let k = Literal::u64_unsuffixed(k);
        let (condition, body) = (within(&k), copy(quote!((#start) + #k)));
        quote_spanned! {span.resolved_at(Span::call_site())=> if const { #condition } #body }
    });
    Ok(quote! { { #bounded #(#copies)* } })
}

/// The first, the last, and whether the last belongs to it.
fn bounds(range: &Expr) -> Result<(Expr, Expr, bool)> {
    let constants =
        "`unroll!` goes over a range of constants with both ends, as in `0..32` or `0..CHUNK`";
    match range {
        Expr::Range(ExprRange { start: Some(start), end: Some(end), limits, .. }) => {
            Ok(((**start).clone(), (**end).clone(), matches!(limits, RangeLimits::Closed(_))))
        }
        Expr::Paren(inner) => bounds(&inner.expr),
        _ => Err(Error::new(range.span(), constants)),
    }
}

fn literal(bound: &Expr) -> Option<u64> {
    match bound {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    }
}

fn suffix(bound: &Expr) -> Option<String> {
    match bound {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            Some(number.suffix().to_owned()).filter(|suffix| !suffix.is_empty())
        }
        _ => None,
    }
}

/// The first way out of the loop's body that means the loop.
struct Ways(Option<(&'static str, Span)>);

impl<'ast> Visit<'ast> for Ways {
    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Break(leave) if leave.label.is_none() => {
                self.0.get_or_insert(("break", leave.span()));
            }
            Expr::Continue(next) if next.label.is_none() => {
                self.0.get_or_insert(("continue", next.span()));
            }
            // What is in a loop of its own, or in another function, means that.
            Expr::ForLoop(_)
            | Expr::While(_)
            | Expr::Loop(_)
            | Expr::Closure(_)
            | Expr::Async(_) => {}
            _ => visit::visit_expr(self, expression),
        }
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(input: TokenStream) -> std::result::Result<String, String> {
        expand(input).map(|tokens| tokens.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn literals_give_as_many_copies_as_numbers() {
        let text = expanded(quote!(for i in 2..5u32 {
            f(i);
        }))
        .unwrap();
        assert_eq!(text.matches("f (i)").count(), 3);
        assert!(text.contains("let i = 2u32") && text.contains("let i = 4u32"), "{text}");
        assert_eq!(
            expanded(quote!(for i in 0..=3 {
                f(i)
            }))
            .unwrap()
            .matches("let i")
            .count(),
            4
        );
        assert_eq!(
            expanded(quote!(for i in 3..3 {
                f(i)
            }))
            .unwrap()
            .matches("let i")
            .count(),
            0
        );
    }

    #[test]
    fn other_constants_are_conditions() {
        let text = expanded(quote!(for i in 0..N {
            f(i);
        }))
        .unwrap();
        assert_eq!(text.matches("if const").count(), MOST as usize);
        assert!(
            text.contains("if const { (0) + 7 < (N) } { let i = (0) + 7 ; f (i) ; }"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_loop_over_constants_is_said() {
        for (input, said) in [
            (
                quote!(for i in 0.. {
                    f(i)
                }),
                "both ends",
            ),
            (
                quote!(for i in values {
                    f(i)
                }),
                "range of constants",
            ),
            (quote!(f(0)), "takes one loop"),
            (
                quote!(for i in 0..5000 {
                    f(i)
                }),
                "at most 1024",
            ),
            (
                quote!(for i in 0..4 {
                    if i == 2 {
                        break;
                    }
                }),
                "`break` has no loop",
            ),
            (
                quote!(for i in 0..4 {
                    if i == 2 {
                        continue;
                    }
                }),
                "`continue` has no loop",
            ),
        ] {
            let error = expanded(input).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        // The inner loop's own.
        assert!(
            expanded(quote!(for i in 0..4 {
                for j in 0..i {
                    if j == 2 {
                        break;
                    }
                }
            }))
            .is_ok()
        );
    }
}
