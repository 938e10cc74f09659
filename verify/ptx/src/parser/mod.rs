//! Tokens to the tree, names resolved on the way.
//!
//! One pass. Registers and variables must be declared before use, so a stack of scopes resolves
//! them; labels may be used before they stand, so entering a scope first collects the labels that
//! it holds.
//!
//! Here is how tokens are taken; [`module`] has what stands outside of functions, [`body`] what stands in
//! them, [`operand`] what an instruction works on.

mod body;
mod module;
mod operand;

use crate::error::ParseError;
use crate::lexer::{Kind, Token, Tokens, tokens};
use crate::tree::*;
use std::collections::HashMap;

/// Nesting of braces, brackets and parentheses; bounds the recursion.
const MAX_DEPTH: usize = 64;

pub(crate) fn parse(text: &str, name: &str) -> Result<Module, ParseError> {
    if text.len() >= u32::MAX as usize {
        return Err(ParseError {
            name: name.into(),
            line: 1,
            column: 1,
            found: format!("{} bytes", text.len()),
            expected: "a text of less than 4 GiB".into(),
        });
    }
    let Tokens { tokens, comments, unclosed } = tokens(text);
    let mut parser = Parser { text, name, tokens, at: 0, scopes: Vec::new(), depth: 0 };
    if let Some(comment) = unclosed {
        return parser.error_at(comment, "`*/` before the end of the text");
    }
    let mut module = Module {
        name: name.into(),
        version: (0, 0),
        target: Vec::new(),
        address_size: 64,
        files: Vec::new(),
        variables: Vec::new(),
        functions: Vec::new(),
        comments,
        sections: Vec::new(),
        source: text.into(),
    };
    parser.module(&mut module)?;
    Ok(module)
}

/// What a name means inside a function.
#[derive(Clone, Copy)]
enum Meaning {
    Register(RegId),
    Param(u32),
    Return(u32),
    Variable(VarId),
}

/// The names of one `{}`.
#[derive(Default)]
struct Scope<'a> {
    names: HashMap<Box<str>, Meaning>,
    /// `%r<N>`: prefix, first register, number.
    families: HashMap<&'a str, (u32, u32)>,
    labels: HashMap<&'a str, LabelId>,
}

struct Parser<'a> {
    text: &'a str,
    name: &'a str,
    tokens: Vec<Token>,
    at: usize,
    scopes: Vec<Scope<'a>>,
    depth: usize,
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek_kind(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::End, |t| t.kind)
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        // The last token is `End` and stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn str(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn error_at<T>(&self, token: Token, expected: impl Into<String>) -> Result<T> {
        let line_start = self.text[..token.start as usize].rfind('\n').map_or(0, |i| i + 1);
        let column = self.text[line_start..token.start as usize].chars().count() as u32 + 1;
        let found = match token.kind {
            Kind::End => "the end of the text".into(),
            _ => format!("`{}`", self.str(token).chars().take(60).collect::<String>()),
        };
        Err(ParseError {
            name: self.name.into(),
            line: token.line,
            column,
            found,
            expected: expected.into(),
        })
    }

    fn error<T>(&self, expected: impl Into<String>) -> Result<T> {
        self.error_at(self.peek(), expected)
    }

    fn is(&self, mark: u8) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    fn eat(&mut self, mark: u8) -> bool {
        let is = self.is(mark);
        if is {
            self.next();
        }
        is
    }

    fn expect(&mut self, mark: u8, context: &str) -> Result<Token> {
        if self.is(mark) {
            return Ok(self.next());
        }
        self.error(format!("`{}` {context}", mark as char))
    }

    fn word(&mut self, what: &str) -> Result<&'a str> {
        if self.peek().kind == Kind::Word {
            let token = self.next();
            return Ok(self.str(token));
        }
        self.error(what)
    }

    /// The next dotted name, without its dot, if there is one.
    fn dotted(&self) -> Option<&'a str> {
        let token = self.peek();
        (token.kind == Kind::Dotted).then(|| &self.str(token)[1..])
    }

    fn eat_dotted(&mut self, name: &str) -> bool {
        let is = self.dotted() == Some(name);
        if is {
            self.next();
        }
        is
    }

    /// Guards a recursive rule.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("at most {MAX_DEPTH} levels of nesting"));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn unsigned(&mut self, what: &str) -> Result<u64> {
        let token = self.peek();
        if token.kind == Kind::Number
            && let Some(value) = integer(self.str(token))
        {
            self.next();
            return Ok(value);
        }
        self.error(what)
    }

    fn small(&mut self, what: &str) -> Result<u32> {
        let token = self.peek();
        let value = self.unsigned(what)?;
        u32::try_from(value).or_else(|_| self.error_at(token, what))
    }
}

/// A decimal, `0x`, `0b` or octal (leading 0) literal, with or without `U`.
fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['U', 'u']).unwrap_or(text);
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&text[2..], 16).ok(),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&text[2..], 2).ok(),
        [b'0', _, ..] => u64::from_str_radix(&text[1..], 8).ok(),
        _ => text.parse().ok(),
    }
}
