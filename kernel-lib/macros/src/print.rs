//! `println!`: a format string taken apart at compile time.
//!
//! The device prints through C's `vprintf`, so Rust's format string becomes a C one. This macro knows the
//! text and the flags, and the library knows what an argument's type needs (`%lld` or `%llu`); so the
//! macro emits the pieces and one constant function joins them. What C has no word for is an error at the
//! format string, and an argument of the wrong type an unmet bound at the argument.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result, Token};

/// The library implements its argument tuple up to this many.
const MOST_ARGUMENTS: usize = 12;

/// What a macro call holds: the format string, and the arguments with their names.
struct Call {
    format: LitStr,
    arguments: Vec<Argument>,
}

struct Argument {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for Call {
    fn parse(input: ParseStream) -> Result<Self> {
        let format = if input.is_empty() {
            LitStr::new("", input.span())
        } else {
            input.parse().map_err(|error| {
                Error::new(error.span(), "the first argument must be a string literal: it is taken apart at compile time")
            })?
        };
        let mut arguments = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let name = if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                Some(name)
            } else {
                None
            };
            arguments.push(Argument { name, value: input.parse()? });
        }
        Ok(Call { format, arguments })
    }
}

/// A part of the format string.
#[derive(Debug, PartialEq)]
enum Piece {
    /// Literal text, with `%` doubled as C needs it.
    Text(String),
    /// A placeholder.
    Value { source: Source, flags: String, style: Style },
}

/// Where a placeholder's value comes from.
#[derive(Debug, PartialEq)]
enum Source {
    Next,
    Position(usize),
    Name(String),
}

/// The library's function that turns a value into what is printed, with the bound that this needs.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Style {
    Display,
    Fixed,
    Scientific,
    LowerHex,
    UpperHex,
    Octal,
}

impl Style {
    fn function(self) -> &'static str {
        match self {
            Style::Display => "display",
            Style::Fixed => "fixed",
            Style::Scientific => "scientific",
            Style::LowerHex => "lower_hex",
            Style::UpperHex => "upper_hex",
            Style::Octal => "octal",
        }
    }
}

/// Takes a format string apart, or says what is wrong with it.
fn pieces(format: &str) -> std::result::Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' if rest.starts_with('{') => {
                text.push('{');
                rest = &rest[1..];
            }
            '{' => {
                let end = rest
                    .find('}')
                    .ok_or("a `{` is not closed; for the character itself write `{{`")?;
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(placeholder(&rest[..end])?);
                rest = &rest[end + 1..];
            }
            '}' if rest.starts_with('}') => {
                text.push('}');
                rest = &rest[1..];
            }
            '}' => return Err("a `}` closes nothing; for the character itself write `}}`".into()),
            '%' => text.push_str("%%"),
            '\0' => return Err("a NUL ends the string where the device prints it".into()),
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Parses what stands between braces: `[argument][:[align][sign][#][0][width][.precision][style]]`.
fn placeholder(inside: &str) -> std::result::Result<Piece, String> {
    let (source, spec) = inside.split_once(':').unwrap_or((inside, ""));
    let source = match source.trim() {
        "" => Source::Next,
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => Source::Position(
            digits.parse().map_err(|_| format!("`{{{inside}}}`: there is no argument {digits}"))?,
        ),
        name if syn::parse_str::<Ident>(name).is_ok() => Source::Name(name.into()),
        other => {
            return Err(format!(
                "`{{{inside}}}`: `{other}` is not a name; pass the expression as an argument after the string"
            ));
        }
    };

    let unsupported = |what: &str| Err(format!("`{{{inside}}}`: {what}"));
    let mut flags = String::new();
    let mut spec = spec.trim_end();
    let mut take = |flag: char| {
        let found = spec.strip_prefix(flag);
        spec = found.unwrap_or(spec);
        found.is_some()
    };
    if take('<') {
        flags.push('-');
    } else if take('^') {
        return unsupported("the device cannot centre; use `<` or `>`");
    } else {
        take('>');
    }
    if take('+') {
        flags.push('+');
    }
    let alternate = take('#');
    if alternate {
        flags.push('#');
    }
    if take('0') {
        flags.push('0');
    }
    let (width, after) = digits(spec);
    flags.push_str(width);
    let mut precise = false;
    spec = after;
    if let Some(after) = spec.strip_prefix('.') {
        let (precision, after) = digits(after);
        if precision.is_empty() {
            return unsupported("a precision must be a number");
        }
        flags.push('.');
        flags.push_str(precision);
        precise = true;
        spec = after;
    }
    let style = match spec {
        "" if precise => Style::Fixed,
        "" => Style::Display,
        "e" => Style::Scientific,
        "x" | "X" | "o" if precise => return unsupported("an integer has no precision"),
        "x" => Style::LowerHex,
        "X" => Style::UpperHex,
        "o" => Style::Octal,
        "?" | "#?" => {
            return unsupported(
                "the device has no `Debug`; print the fields one by one with `{}` or `{:x}`",
            );
        }
        other => {
            return Err(format!(
                "`{{{inside}}}`: the device does not know `{other}`; it has `{{}}`, `{{:x}}`, `{{:X}}`, `{{:o}}`, \
                 `{{:e}}`, `{{:.3}}`, widths, `<`, `>`, `+`, `#` and `0`"
            ));
        }
    };
    if alternate && !matches!(style, Style::LowerHex | Style::UpperHex | Style::Octal) {
        return unsupported("`#` goes with `x`, `X` or `o`");
    }
    Ok(Piece::Value { source, flags, style })
}

/// Splits off leading decimal digits.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Expands `println!` (`newline`) or `print!`.
pub fn expand(input: TokenStream, newline: bool) -> TokenStream {
    syn::parse2(input)
        .and_then(|call| expand_call(call, newline))
        .unwrap_or_else(Error::into_compile_error)
}

fn expand_call(call: Call, newline: bool) -> Result<TokenStream> {
    let Call { format, mut arguments } = call;
    let mut pieces =
        pieces(&format.value()).map_err(|message| Error::new(format.span(), message))?;
    if newline {
        pieces.push(Piece::Text("\n".into()));
    }

    let written = arguments.len();
    let mut used = vec![false; written];
    let mut next = 0;
    // An upper bound on the C string: texts, `%`, flags, the longest conversion, and the final NUL.
    let mut bytes = 1;
    let mut parts = Vec::new();
    let mut slots = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                bytes += text.len();
                parts.push(quote_spanned!(Span::mixed_site()=> ::baton::print::Piece::Text(#text)));
            }
            Piece::Value { source, flags, style } => {
                let index = match source {
                    Source::Next => {
                        next += 1;
                        next - 1
                    }
                    Source::Position(index) => index,
                    Source::Name(name) => named(&mut arguments, &name, &format),
                };
                if index >= arguments.len() || (index >= written && arguments[index].name.is_none())
                {
                    return Err(Error::new(
                        format.span(),
                        format!("argument {index} is missing: {written} were given"),
                    ));
                }
                if let Some(used) = used.get_mut(index) {
                    *used = true;
                }
                bytes += 1 + flags.len() + 3;
                parts.push(
                    quote_spanned!(Span::mixed_site()=> ::baton::print::Piece::Value(#flags)),
                );
                let function = Ident::new(style.function(), format.span());
                // At the argument's place, so that an unmet bound is reported there.
                let span = Span::mixed_site().located_at(arguments[index].value.span());
                let value = Ident::new(&format!("value_{index}"), span);
                slots.push(quote_spanned!(Span::mixed_site()=> ::baton::print::#function(#value)));
            }
        }
    }
    if let Some(unused) = used.iter().position(|used| !used) {
        return Err(Error::new_spanned(&arguments[unused].value, "this argument is never printed"));
    }
    if slots.len() > MOST_ARGUMENTS {
        return Err(Error::new(
            format.span(),
            format!("at most {MOST_ARGUMENTS} values can be printed at once: split the line"),
        ));
    }

    // Names of the macro's own, which the arguments' expressions cannot meet.
    let names =
        (0..arguments.len()).map(|index| Ident::new(&format!("value_{index}"), Span::mixed_site()));
    let values = arguments.iter().map(|argument| &argument.value);
    let bytes = Literal::usize_unsuffixed(bytes);
    // The arguments are evaluated where the type `Line` is not in scope.
    Ok(quote_spanned! {Span::mixed_site()=> {
        #(let #names = #values;)*
        {
            struct Line;
            impl ::baton::print::Line for Line {
                const PIECES: &'static [::baton::print::Piece] = &[#(#parts),*];
            }
            ::baton::print::print_line::<Line, _, #bytes>((#(#slots,)*))
        }
    }})
}

/// The argument of this name; a name that was not given is a variable in scope.
fn named(arguments: &mut Vec<Argument>, name: &str, format: &LitStr) -> usize {
    let given = |argument: &Argument| argument.name.as_ref().is_some_and(|given| given == name);
    arguments.iter().position(given).unwrap_or_else(|| {
        let variable = Ident::new(name, format.span());
        arguments
            .push(Argument { name: Some(variable.clone()), value: syn::parse_quote!(#variable) });
        arguments.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn value(flags: &str, style: Style) -> Piece {
        Piece::Value { source: Source::Next, flags: flags.into(), style }
    }

    #[test]
    fn text_and_placeholders() {
        assert_eq!(
            pieces("100% {{{}}} {name:>5.2}").unwrap(),
            [
                Piece::Text("100%% {".into()),
                value("", Style::Display),
                Piece::Text("} ".into()),
                Piece::Value {
                    source: Source::Name("name".into()),
                    flags: "5.2".into(),
                    style: Style::Fixed
                },
            ]
        );
        assert_eq!(
            pieces("{:#010x}{:<4}{:+e}{:X}").unwrap(),
            [
                value("#010", Style::LowerHex),
                value("-4", Style::Display),
                value("+", Style::Scientific),
                value("", Style::UpperHex),
            ]
        );
        assert_eq!(pieces("").unwrap(), []);
    }

    #[test]
    fn what_the_device_does_not_have_is_named() {
        for (format, expected) in [
            ("{:?}", "no `Debug`"),
            ("{:^5}", "cannot centre"),
            ("{:b}", "does not know `b`"),
            ("{:.2x}", "no precision"),
            ("{:.}", "must be a number"),
            ("{", "not closed"),
            ("}", "closes nothing"),
            ("{a.b}", "not a name"),
            ("\0", "NUL"),
            ("{:#}", "goes with `x`"),
        ] {
            let message = pieces(format).unwrap_err();
            assert!(message.contains(expected), "{format:?}: {message}");
        }
    }

    fn expanded(input: TokenStream) -> String {
        expand(input, true).to_string()
    }

    #[test]
    fn arguments_are_matched() {
        assert!(expanded(quote!("{} {}", a)).contains("argument 1 is missing"));
        assert!(expanded(quote!("{}", a, b)).contains("never printed"));
        assert!(expanded(quote!(format)).contains("must be a string literal"));
        assert!(expanded(quote!("{0} {0} {x}", a, x = b)).contains("value_1"));
        assert!(!expanded(quote!("{y}")).contains("compile_error"));
    }
}
