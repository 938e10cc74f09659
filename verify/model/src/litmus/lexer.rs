//! One line of a litmus file as tokens with their columns.

use std::rc::Rc;

use super::LitmusError;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name or a mnemonic: letters, digits, `_`, `.`, `%`, `$`, `-` inside words, and `::`.
    Word(String),
    /// A number, with its sign.
    Number(u128),
    /// Punctuation.
    Sign(&'static str),
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{}`", *number as i128),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

const SIGNS: [&str; 22] = [
    "==", "!=", "&&", "||", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ":", "=",
    "+", "@", ";", "-",
];

/// The tokens of a line and a place among them.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    file: &'a str,
    /// 1-based.
    pub number: usize,
    /// Shared by all places in the line.
    tokens: Rc<[(Token, usize)]>,
    next: usize,
    end: usize,
}

impl<'a> Line<'a> {
    /// Takes `text` (without its comment) apart; it begins after `skipped` characters of the line.
    pub fn new(
        file: &'a str,
        number: usize,
        text: &str,
        skipped: usize,
    ) -> Result<Line<'a>, LitmusError> {
        let chars: Vec<char> = text.chars().collect();
        let mut line =
            Line { file, number, tokens: Rc::default(), next: 0, end: skipped + chars.len() + 1 };
        let mut tokens = vec![];
        let mut at = 0;
        while at < chars.len() {
            let column = skipped + at + 1;
            let rest = &chars[at..];
            let Some(&first) = rest.first() else { break };
            if first.is_whitespace() {
                at += 1;
            } else if first.is_ascii_digit()
                || first == '-' && rest.get(1).is_some_and(char::is_ascii_digit)
            {
                let length = 1 + rest[1..].iter().take_while(|c| c.is_ascii_alphanumeric()).count();
                let word: String = rest[..length].iter().collect();
                let number = number_in(&word).ok_or_else(|| {
                    line.error(column, format!("`{word}`"), "a number of at most 128 bits")
                })?;
                tokens.push((Token::Number(number), column));
                at += length;
            } else if is_word(first) {
                let mut length = 0;
                loop {
                    let here = rest.get(length).copied().unwrap_or(' ');
                    let next = rest.get(length + 1).copied().unwrap_or(' ');
                    let after = rest.get(length + 2).copied().unwrap_or(' ');
                    if is_word(here) {
                        length += 1;
                    } else if here == ':' && next == ':' && is_word(after) {
                        length += 2;
                    } else if here == '-' && next.is_ascii_alphabetic() {
                        length += 1;
                    } else {
                        break;
                    }
                }
                tokens.push((Token::Word(rest[..length].iter().collect()), column));
                at += length;
            } else {
                let sign = SIGNS
                    .iter()
                    .find(|sign| rest.iter().copied().take(sign.len()).eq(sign.chars()));
                let sign = sign.ok_or_else(|| {
                    line.error(column, format!("`{first}`"), "an instruction or a header line")
                })?;
                tokens.push((Token::Sign(sign), column));
                at += sign.len();
            }
        }
        line.tokens = tokens.into();
        Ok(line)
    }

    /// That at `column` stands what should not.
    pub fn error(
        &self,
        column: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> LitmusError {
        LitmusError {
            file: self.file.to_owned(),
            line: self.number,
            column,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The next token, without taking it.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    /// Whether the line is used up.
    pub fn is_done(&self) -> bool {
        self.next >= self.tokens.len()
    }

    /// The column of the next token.
    pub fn column(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(_, column)| *column)
    }

    /// That the next token is not what it should be.
    pub fn expected(&self, expected: impl Into<String>) -> LitmusError {
        let found = self.peek().map_or_else(|| "the end of the line".to_owned(), Token::describe);
        self.error(self.column(), found, expected)
    }

    /// Takes the next token if it is this sign.
    pub fn take(&mut self, sign: &str) -> bool {
        let here = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(here);
        here
    }

    /// Takes this sign.
    pub fn sign(&mut self, sign: &str) -> Result<(), LitmusError> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(format!("`{sign}`"))) }
    }

    /// Takes a word; `what` says which.
    pub fn word(&mut self, what: &str) -> Result<String, LitmusError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Takes the next token if it is this word.
    pub fn take_word(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.next += usize::from(here);
        here
    }

    /// Takes a number; `what` says which.
    pub fn number(&mut self, what: &str) -> Result<u128, LitmusError> {
        match self.peek() {
            Some(Token::Number(number)) => {
                let number = *number;
                self.next += 1;
                Ok(number)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Takes a number of at most 32 bits.
    pub fn small(&mut self, what: &str) -> Result<u32, LitmusError> {
        let error = self.expected(format!("{what}, at most {}", u32::MAX));
        u32::try_from(self.number(what)?).map_err(|_| error)
    }

    /// Nothing may follow.
    pub fn finish(&mut self) -> Result<(), LitmusError> {
        self.take(";");
        if self.is_done() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '$')
}

fn number_in(word: &str) -> Option<u128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let digits = digits.trim_end_matches('U');
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { number.wrapping_neg() } else { number })
}
