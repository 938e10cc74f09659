//! Text to tokens.
//!
//! A mnemonic such as `ld.shared::cta.v2.b32` is one [`Kind::Word`] and several
//! [`Kind::Dotted`] tokens; `::` belongs to the dotted name, so a single `:` always ends a label.

use crate::tree::Comment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier: `%r1`, `$L__BB0_1`, `mov`, `_`.
    Word,
    /// A name with its leading dot: `.reg`, `.b32`, `.mbarrier::complete_tx::bytes`.
    Dotted,
    /// A literal that begins with a digit, `8.6` and `0f3F800000` included.
    Number,
    /// A string with its quotes.
    Text,
    /// One character of punctuation, or a character that PTX does not have.
    Mark(u8),
    /// The end of the text.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

/// The prefix of comments that carry facts for the tools of this project.
const KEPT: &str = "//@baton ";

fn word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%')
}

fn word_part(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$')
}

/// What a text consists of.
pub(crate) struct Tokens {
    /// The last one is [`Kind::End`].
    pub tokens: Vec<Token>,
    /// Those that are kept.
    pub comments: Vec<Comment>,
    /// The opening of a comment that the text ends in.
    pub unclosed: Option<Token>,
}

/// Splits `text` into tokens.
pub(crate) fn tokens(text: &str) -> Tokens {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let mut comments = Vec::new();
    let mut unclosed = None;
    let mut line = 1u32;
    let mut i = 0;
    while i < bytes.len() {
        let (start, start_line) = (i, line);
        let kind = match bytes[i] {
            b'\n' => {
                line += 1;
                i += 1;
                continue;
            }
            c if c.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            b'/' if at(i + 1) == b'/' => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
                if let Some(rest) = text[start..i].strip_prefix(KEPT) {
                    comments.push(Comment { line, text: rest.trim().into() });
                }
                continue;
            }
            b'/' if at(i + 1) == b'*' => {
                i += 2;
                while i < bytes.len() && !(bytes[i] == b'*' && at(i + 1) == b'/') {
                    line += u32::from(bytes[i] == b'\n');
                    i += 1;
                }
                if i == bytes.len() {
                    let (kind, start) = (Kind::Mark(b'/'), start as u32);
                    unclosed = Some(Token { kind, start, end: start + 2, line: start_line });
                }
                i = (i + 2).min(bytes.len());
                continue;
            }
            b'.' if word_part(at(i + 1)) => {
                i += 1;
                loop {
                    if word_part(at(i)) {
                        i += 1;
                    } else if at(i) == b':' && at(i + 1) == b':' && word_part(at(i + 2)) {
                        i += 2;
                    } else {
                        break;
                    }
                }
                Kind::Dotted
            }
            b'"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != b'"' {
                    line += u32::from(bytes[i] == b'\n');
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                i = (i + 1).min(bytes.len());
                Kind::Text
            }
            c if word_start(c) => {
                i += 1;
                while word_part(at(i)) {
                    i += 1;
                }
                Kind::Word
            }
            c if c.is_ascii_digit() => {
                let based = c == b'0' && at(i + 1).is_ascii_alphabetic();
                while at(i).is_ascii_alphanumeric()
                    || !based
                        && (at(i) == b'.' && at(i + 1).is_ascii_digit()
                            || matches!(at(i), b'+' | b'-')
                                && matches!(at(i - 1), b'e' | b'E')
                                && at(i + 1).is_ascii_digit())
                {
                    i += 1;
                }
                Kind::Number
            }
            c => {
                // A character outside ASCII is taken whole, so that slices stay on boundaries.
                i += text[i..].chars().next().map_or(1, char::len_utf8);
                Kind::Mark(c)
            }
        };
        tokens.push(Token { kind, start: start as u32, end: i as u32, line: start_line });
    }
    let end = bytes.len() as u32;
    tokens.push(Token { kind: Kind::End, start: end, end, line });
    Tokens { tokens, comments, unclosed }
}
