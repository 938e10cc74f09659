//! Tokens to the tree, names resolved on the way.
//!
//! One pass. Registers and variables must be declared before use, so a stack of scopes resolves
//! them; labels may be used before they stand, so entering a scope first collects the labels that
//! it holds.

use crate::error::ParseError;
use crate::lexer::{Kind, Token, Tokens, tokens};
use crate::tree::*;
use std::collections::HashMap;

/// Nesting of braces, brackets and parentheses; bounds the recursion.
const MAX_DEPTH: usize = 64;
/// Registers of one function; bounds what `%r<N>` can ask for.
const MAX_REGISTERS: usize = 1 << 20;

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
    // ---- tokens ----

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

    // ---- module ----

    fn module(&mut self, module: &mut Module) -> Result<()> {
        loop {
            let token = self.peek();
            let Some(directive) = self.dotted() else {
                if token.kind == Kind::End {
                    return Ok(());
                }
                return self
                    .error("a directive such as `.version`, `.global`, `.func` or `.entry`");
            };
            match directive {
                "version" => {
                    self.next();
                    let token = self.next();
                    let parts = self.str(token).split_once('.');
                    let parsed = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    let (Kind::Number, Some(version)) = (token.kind, parsed) else {
                        return self.error_at(token, "a version such as 8.6");
                    };
                    module.version = version;
                }
                "target" => {
                    self.next();
                    loop {
                        let word = self.word("a target such as sm_100a")?;
                        module.target.push(word.into());
                        if !self.eat(b',') {
                            break;
                        }
                    }
                }
                "address_size" => {
                    self.next();
                    module.address_size = self.small("32 or 64")?;
                }
                "file" => {
                    self.next();
                    let index = self.small("the number of the file")?;
                    let path = self.string("the path of the file")?;
                    while self.eat(b',') {
                        self.unsigned("a time stamp or size")?;
                    }
                    module.files.push(SourceFile { index, path });
                }
                "section" => module.sections.push(self.section()?),
                "pragma" => self.pragma()?,
                "alias" => self.skip_statement()?,
                _ => self.definition(module)?,
            }
        }
    }

    fn string(&mut self, what: &str) -> Result<String> {
        let token = self.peek();
        let text = self.str(token);
        if token.kind == Kind::Text && text.len() >= 2 && text.ends_with('"') {
            self.next();
            return Ok(text[1..text.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\"));
        }
        self.error(what)
    }

    fn section(&mut self) -> Result<Section> {
        let start = self.next();
        let Some(name) = self.dotted() else { return self.error("the name of the section") };
        self.next();
        let open = self.expect(b'{', "that opens the section")?;
        while !self.is(b'}') {
            if self.peek().kind == Kind::End {
                return self.error("`}` that closes the section");
            }
            self.next();
        }
        let close = self.next();
        Ok(Section {
            name: format!(".{name}"),
            line: start.line,
            span: start.start as usize..close.end as usize,
            contents: open.end as usize..close.start as usize,
        })
    }

    fn pragma(&mut self) -> Result<()> {
        self.next();
        self.string("the text of the pragma")?;
        while self.eat(b',') {
            self.string("the text of the pragma")?;
        }
        self.expect(b';', "after the pragma")?;
        Ok(())
    }

    fn skip_statement(&mut self) -> Result<()> {
        while !self.is(b';') {
            if self.peek().kind == Kind::End {
                return self.error("`;`");
            }
            self.next();
        }
        self.next();
        Ok(())
    }

    fn definition(&mut self, module: &mut Module) -> Result<()> {
        let line = self.peek().line;
        let linkage = self.linkage();
        match self.dotted() {
            Some("entry") => {
                self.next();
                let function = self.function(FunctionKind::Entry, linkage, line)?;
                module.functions.push(function);
            }
            Some("func") => {
                self.next();
                let function = self.function(FunctionKind::Func, linkage, line)?;
                module.functions.push(function);
            }
            Some("global" | "const" | "shared" | "tex") => {
                self.variable(linkage, |variable| module.variables.push(variable))?;
            }
            _ => return self.error("`.global`, `.const`, `.shared`, `.func` or `.entry`"),
        }
        Ok(())
    }

    fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        loop {
            linkage = match self.dotted() {
                Some("visible") => Linkage::Visible,
                Some("extern") => Linkage::Extern,
                Some("weak") => Linkage::Weak,
                Some("common") => Linkage::Common,
                _ => return linkage,
            };
            self.next();
        }
    }

    // ---- variables and parameters ----

    /// `.space .align N .type name[len] = init, …;`
    fn variable(&mut self, linkage: Linkage, mut put: impl FnMut(Variable)) -> Result<()> {
        let space = match self.dotted() {
            Some("global") => Space::Global,
            Some("const") => Space::Const,
            Some("shared") => Space::Shared,
            Some("local") => Space::Local,
            Some("param") => Space::Param,
            Some("tex") => Space::Global,
            _ => return self.error("a state space such as `.shared`"),
        };
        self.next();
        let (align, lanes, ty) = self.type_of_variable()?;
        loop {
            let line = self.peek().line;
            let name = self.word("the name of the variable")?;
            let element = u64::from(ty.bytes()) * u64::from(lanes);
            let (bytes, array) = self.lengths(element)?;
            let mut init = Vec::new();
            if self.eat(b'=') {
                self.initialiser(&mut init)?;
            }
            let bytes = bytes.or((!init.is_empty()).then_some(init.len() as u64 * element));
            let align = align.unwrap_or(element.min(16) as u32).max(1);
            let name = name.into();
            put(Variable { name, line, linkage, space, align, ty, bytes, array, init });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';', "after the declaration")?;
        Ok(())
    }

    /// Alignment, vector length and type, in any order; attributes are skipped.
    fn type_of_variable(&mut self) -> Result<(Option<u32>, u8, Type)> {
        let (mut align, mut lanes) = (None, 1);
        loop {
            match self.dotted() {
                Some("align") => {
                    self.next();
                    let token = self.peek();
                    let value = self.small("an alignment in bytes")?;
                    if !value.is_power_of_two() {
                        return self.error_at(token, "a power of two");
                    }
                    align = Some(value);
                }
                Some("v2") => lanes = self.skip_to(2),
                Some("v4") => lanes = self.skip_to(4),
                Some("v8") => lanes = self.skip_to(8),
                Some("attribute") => {
                    self.next();
                    self.expect(b'(', "after `.attribute`")?;
                    while !self.eat(b')') {
                        if self.next().kind == Kind::End {
                            return self.error("`)` that closes the attribute");
                        }
                    }
                }
                Some("ptr") => {
                    self.next();
                    if let Some("global" | "shared" | "const" | "local") = self.dotted() {
                        self.next();
                    }
                    // `.ptr .align N` speaks of what the pointer points to.
                    if self.eat_dotted("align") {
                        self.unsigned("an alignment in bytes")?;
                    }
                }
                Some(name) => {
                    let Some(ty) = Type::named(name) else {
                        return self.error("a type such as `.b32`");
                    };
                    self.next();
                    // A parameter gives `.ptr` after its type.
                    if self.dotted() == Some("ptr") {
                        self.next();
                        if let Some("global" | "shared" | "const" | "local") = self.dotted() {
                            self.next();
                        }
                        if self.eat_dotted("align") {
                            self.unsigned("an alignment in bytes")?;
                        }
                    }
                    return Ok((align, lanes, ty));
                }
                None => return self.error("a type such as `.b32`"),
            }
        }
    }

    fn skip_to(&mut self, lanes: u8) -> u8 {
        self.next();
        lanes
    }

    /// `[n][m]`: all bytes, `None` for `[]`; and whether there was any bracket.
    fn lengths(&mut self, element: u64) -> Result<(Option<u64>, bool)> {
        let (mut bytes, mut array) = (Some(element), false);
        while self.eat(b'[') {
            array = true;
            if self.eat(b']') {
                bytes = None;
                continue;
            }
            let token = self.peek();
            let length = self.unsigned("the length of the array")?;
            bytes = match bytes.map(|b| b.checked_mul(length)) {
                Some(None) => return self.error_at(token, "a length that fits into memory"),
                Some(product) => product,
                None => None,
            };
            self.expect(b']', "after the length")?;
        }
        Ok((bytes, array))
    }

    fn initialiser(&mut self, init: &mut Vec<Initial>) -> Result<()> {
        if self.eat(b'{') {
            return self.nested(|p| {
                while !p.eat(b'}') {
                    p.initialiser(init)?;
                    if !p.eat(b',') && !p.is(b'}') {
                        return p.error("`,` or `}` in the initialiser");
                    }
                }
                Ok(())
            });
        }
        if self.peek().kind == Kind::Number && self.peek_kind(1) == Kind::Mark(b'(') {
            let mask = self.unsigned("a mask")?;
            self.next();
            let Initial::Address { symbol, offset, generic, .. } = self.symbol_address()? else {
                return self.error("a symbol below the mask");
            };
            self.expect(b')', "after the masked symbol")?;
            init.push(Initial::Address { symbol, offset, generic, mask: Some(mask) });
        } else if self.peek().kind == Kind::Word {
            let item = self.symbol_address()?;
            init.push(item);
        } else {
            let bits = match self.number()? {
                Operand::Int(value) => value as u64,
                Operand::F32(bits) => u64::from(bits),
                Operand::F64(bits) => bits,
                _ => return self.error("a number"),
            };
            init.push(Initial::Bits(bits));
        }
        Ok(())
    }

    fn symbol_address(&mut self) -> Result<Initial> {
        let mut symbol = self.word("a symbol")?;
        let generic = symbol == "generic" && self.eat(b'(');
        if generic {
            symbol = self.word("a symbol")?;
        }
        let mut offset = self.offset()?;
        if generic {
            self.expect(b')', "after `generic(`")?;
            offset = offset.wrapping_add(self.offset()?);
        }
        Ok(Initial::Address { symbol: symbol.into(), offset, generic, mask: None })
    }

    /// `+n`, `-n`, `+-n` or nothing.
    fn offset(&mut self) -> Result<i64> {
        let mut sum = 0i64;
        loop {
            let mut negative = match self.peek().kind {
                Kind::Mark(b'+') => false,
                Kind::Mark(b'-') => true,
                _ => return Ok(sum),
            };
            self.next();
            if self.eat(b'-') {
                negative = !negative;
            }
            let value = self.unsigned("an offset in bytes")? as i64;
            sum = sum.wrapping_add(if negative { value.wrapping_neg() } else { value });
        }
    }

    fn params(&mut self) -> Result<Vec<Param>> {
        self.expect(b'(', "that opens the parameters")?;
        let mut params = Vec::new();
        while !self.eat(b')') {
            let line = self.peek().line;
            let space = match self.dotted() {
                Some("param") => Space::Param,
                Some("reg") => Space::Reg,
                _ => return self.error("`.param` or `.reg`"),
            };
            self.next();
            let (align, lanes, ty) = self.type_of_variable()?;
            let name = self.word("the name of the parameter")?;
            let element = u64::from(ty.bytes()) * u64::from(lanes);
            let (bytes, array) = self.lengths(element)?;
            let align = align.unwrap_or(element.min(16) as u32).max(1);
            let bytes = bytes.unwrap_or(0);
            params.push(Param { name: name.into(), line, space, ty, align, bytes, array });
            if !self.eat(b',') && !self.is(b')') {
                return self.error("`,` or `)` in the parameters");
            }
        }
        Ok(params)
    }

    // ---- functions ----

    fn function(&mut self, kind: FunctionKind, linkage: Linkage, line: u32) -> Result<Function> {
        let returns = if self.is(b'(') { self.params()? } else { Vec::new() };
        let name = self.word("the name of the function")?.into();
        let params = if self.is(b'(') { self.params()? } else { Vec::new() };
        let mut directives = Vec::new();
        while let Some(name) = self.dotted() {
            let line = self.next().line;
            let mut args = Vec::new();
            while self.peek().kind == Kind::Number {
                args.push(self.unsigned("a number")?);
                if !self.eat(b',') {
                    break;
                }
            }
            // `.pragma "…";` may stand here too.
            if name == "pragma" {
                self.string("the text of the pragma")?;
                self.expect(b';', "after the pragma")?;
            }
            directives.push(Directive { name: name.into(), line, args });
        }
        let mut function =
            Function { kind, name, linkage, line, params, returns, directives, body: None };
        if self.is(b'{') {
            function.body = Some(self.body(&function)?);
            self.eat(b';');
        } else if !self.eat(b';') && linkage != Linkage::Extern {
            return self.error("the body of the function, or `;`");
        }
        Ok(function)
    }

    fn body(&mut self, function: &Function) -> Result<Body> {
        let open = self.peek();
        let mut body = Body { line: open.line, ..Body::default() };
        let mut outer = Scope::default();
        let mut declare = |params: &[Param], meaning: fn(u32) -> Meaning| {
            for (i, param) in params.iter().enumerate() {
                let meaning = match param.space {
                    Space::Reg => {
                        let id = RegId(body.registers.len() as u32);
                        body.registers.push(Register {
                            name: param.name.clone(),
                            ty: param.ty,
                            lanes: 1,
                        });
                        Meaning::Register(id)
                    }
                    _ => meaning(i as u32),
                };
                outer.names.insert(param.name.clone(), meaning);
            }
        };
        declare(&function.returns, Meaning::Return);
        declare(&function.params, Meaning::Param);
        self.scopes = vec![outer];
        self.block(&mut body)?;
        self.scopes.clear();
        let close = self.tokens[self.at - 1];
        body.span = open.start as usize..close.end as usize;
        Ok(body)
    }

    fn block(&mut self, body: &mut Body) -> Result<()> {
        let open = self.expect(b'{', "that opens the block")?;
        let mut scope = Scope::default();
        self.collect_labels(&mut scope, body)?;
        self.scopes.push(scope);
        while !self.eat(b'}') {
            if self.peek().kind == Kind::End {
                return self.error(format!("`}}` for the `{{` of line {}", open.line));
            }
            self.statement(body)?;
        }
        self.scopes.pop();
        Ok(())
    }

    /// Declares every label between here and the brace that closes this scope.
    fn collect_labels(&mut self, scope: &mut Scope<'a>, body: &mut Body) -> Result<()> {
        let mut depth = 0usize;
        for (i, &token) in self.tokens.iter().enumerate().skip(self.at) {
            match token.kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') if depth == 0 => break,
                Kind::Mark(b'}') => depth -= 1,
                Kind::Word
                    if depth == 0
                        && self.tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Mark(b':')) =>
                {
                    let name = self.str(token);
                    let id = LabelId(body.labels.len() as u32);
                    if scope.labels.insert(name, id).is_some() {
                        return self.error_at(token, "a label that this scope does not have yet");
                    }
                    body.labels.push(Label {
                        name: name.into(),
                        line: token.line,
                        target: usize::MAX,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn statement(&mut self, body: &mut Body) -> Result<()> {
        let token = self.peek();
        match token.kind {
            Kind::Mark(b'{') => self.nested(|p| p.block(body)),
            Kind::Mark(b';') => {
                self.next();
                Ok(())
            }
            Kind::Mark(b'@') => self.instruction(body),
            Kind::Word if self.peek_kind(1) == Kind::Mark(b':') => self.label(body),
            Kind::Word => self.instruction(body),
            Kind::Dotted => self.body_directive(body),
            _ => self.error("an instruction, a label, a declaration or `}`"),
        }
    }

    fn label(&mut self, body: &mut Body) -> Result<()> {
        let token = self.next();
        let name = self.str(token);
        self.next();
        let Some(id) = self.find_label(name) else {
            return self.error_at(token, "a label in its scope");
        };
        body.labels[id.0 as usize].target = body.instructions.len();
        match self.dotted() {
            Some("branchtargets" | "calltargets") => {
                self.next();
                let mut targets = Vec::new();
                loop {
                    let token = self.peek();
                    let name = self.word("a label")?;
                    match self.find_label(name) {
                        Some(label) => targets.push(label),
                        // The functions of `.calltargets` only narrow what a call may reach.
                        None if self.is(b',') || self.is(b';') => {}
                        None => return self.error_at(token, "a label of this function"),
                    }
                    if !self.eat(b',') {
                        break;
                    }
                }
                self.expect(b';', "after the targets")?;
                body.branch_targets.push((id, targets));
            }
            Some("callprototype") => {
                self.next();
                let returns = if self.is(b'(') { self.params()? } else { Vec::new() };
                self.word("`_`")?;
                let params = if self.is(b'(') { self.params()? } else { Vec::new() };
                // `.noreturn`, `.abi_preserve N` and the like.
                self.skip_statement()?;
                body.prototypes.push((id, Prototype { returns, params }));
            }
            _ => {}
        }
        Ok(())
    }

    fn body_directive(&mut self, body: &mut Body) -> Result<()> {
        match self.dotted() {
            Some("reg") => self.registers(body),
            Some("loc") => {
                self.next();
                let file = self.small("the number of the file")?;
                let line = self.small("the line")?;
                let column = self.small("the column")?;
                body.locations.push(Location { file, line, column });
                // `, function_name label, inlined_at file line column`
                while self.eat(b',') {
                    self.word("`function_name` or `inlined_at`")?;
                    while matches!(self.peek().kind, Kind::Word | Kind::Number)
                        && self.peek().line == self.tokens[self.at - 1].line
                        || self.is(b'+')
                    {
                        self.next();
                    }
                }
                Ok(())
            }
            Some("pragma") => self.pragma(),
            Some("section") => self.section().map(drop),
            Some("file") => {
                self.next();
                self.unsigned("the number of the file")?;
                self.string("the path of the file").map(drop)
            }
            _ => {
                let linkage = self.linkage();
                if !matches!(self.dotted(), Some("local" | "shared" | "param" | "global" | "const"))
                {
                    return self.error("a declaration such as `.reg`, `.local` or `.param`");
                }
                let first = body.variables.len();
                self.variable(linkage, |variable| body.variables.push(variable))?;
                for (i, variable) in body.variables.iter().enumerate().skip(first) {
                    let meaning = Meaning::Variable(VarId(i as u32));
                    self.scope().names.insert(variable.name.clone(), meaning);
                }
                Ok(())
            }
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn registers(&mut self, body: &mut Body) -> Result<()> {
        self.next();
        let (_, lanes, ty) = self.type_of_variable()?;
        loop {
            let token = self.peek();
            let name = self.word("the name of a register")?;
            let first = body.registers.len();
            if self.eat(b'<') {
                let count = self.small("the number of registers")?;
                self.expect(b'>', "after the number of registers")?;
                if first + count as usize > MAX_REGISTERS {
                    return self.error_at(token, format!("at most {MAX_REGISTERS} registers"));
                }
                body.registers.extend((0..count).map(|i| Register {
                    name: format!("{name}{i}").into(),
                    ty,
                    lanes,
                }));
                self.scope().families.insert(name, (first as u32, count));
            } else {
                body.registers.push(Register { name: name.into(), ty, lanes });
                self.scope().names.insert(name.into(), Meaning::Register(RegId(first as u32)));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';', "after the registers")?;
        Ok(())
    }

    fn find(&self, name: &str) -> Option<Meaning> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        self.scopes.iter().rev().find_map(|scope| {
            if let Some(&meaning) = scope.names.get(name) {
                return Some(meaning);
            }
            // The prefix of a family may itself end in digits: `%p2<4>` declares `%p23`.
            (1..=digits).rev().find_map(|digits| {
                let (prefix, number) = name.split_at(name.len() - digits);
                let &(first, count) = scope.families.get(prefix)?;
                let number = number.parse::<u32>().ok()?;
                (number < count).then_some(Meaning::Register(RegId(first + number)))
            })
        })
    }

    fn find_label(&self, name: &str) -> Option<LabelId> {
        self.scopes.iter().rev().find_map(|scope| scope.labels.get(name).copied())
    }

    // ---- instructions ----

    fn instruction(&mut self, body: &mut Body) -> Result<()> {
        let start = self.peek();
        let mut guard = None;
        if self.eat(b'@') {
            let negated = self.eat(b'!');
            let token = self.peek();
            let name = self.word("a predicate register")?;
            let Some(Meaning::Register(register)) = self.find(name) else {
                return self.error_at(token, "a declared predicate register");
            };
            guard = Some(Guard { register, negated });
        }
        let token = self.peek();
        let mut mnemonic = String::from(self.word("an instruction")?);
        while self.dotted().is_some() {
            let part = self.next();
            mnemonic += self.str(part);
        }
        let mut operands = Vec::new();
        while !self.is(b';') {
            operands.push(self.operand()?);
            if !self.eat(b',') && !self.is(b';') {
                return self.error("`,` or `;` after the operand");
            }
        }
        let end = self.next();
        let branches = matches!(&*mnemonic, "bra" | "bra.uni");
        if branches && !matches!(operands[..], [Operand::Label(_)]) {
            return self.error_at(token, "a branch to one label of this function");
        }
        body.instructions.push(Instruction {
            guard,
            mnemonic: mnemonic.into(),
            operands,
            line: token.line,
            span: start.start as usize..end.end as usize,
            location: body.locations.len().checked_sub(1).map(|i| i as u32),
        });
        Ok(())
    }

    fn operand(&mut self) -> Result<Operand> {
        let first = self.simple_operand()?;
        if self.eat(b'|') {
            let second = self.simple_operand()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple_operand(&mut self) -> Result<Operand> {
        let token = self.peek();
        match token.kind {
            Kind::Word => self.named(),
            Kind::Number | Kind::Mark(b'-' | b'+') => self.number(),
            Kind::Mark(b'!') => {
                self.next();
                let token = self.peek();
                let name = self.word("a predicate register")?;
                match self.find(name) {
                    Some(Meaning::Register(register)) => Ok(Operand::Not(register)),
                    _ => self.error_at(token, "a declared predicate register"),
                }
            }
            Kind::Mark(b'{') => Ok(Operand::Vector(self.list(b'}')?)),
            Kind::Mark(b'(') => Ok(Operand::List(self.list(b')')?)),
            Kind::Mark(b'[') => self.address(),
            _ => self.error("an operand"),
        }
    }

    fn list(&mut self, close: u8) -> Result<Vec<Operand>> {
        self.next();
        self.nested(|p| {
            let mut items = Vec::new();
            while !p.eat(close) {
                items.push(p.operand()?);
                if !p.eat(b',') && !p.is(close) {
                    return p.error(format!("`,` or `{}` in the list", close as char));
                }
            }
            Ok(items)
        })
    }

    fn address(&mut self) -> Result<Operand> {
        self.next();
        let (base, offset) = match self.peek().kind {
            Kind::Word => match self.named()? {
                Operand::Register(register) => (Base::Register(register), self.offset()?),
                Operand::Symbol(symbol, offset) => (Base::Symbol(symbol), offset),
                _ => return self.error("the address to be a register or a variable"),
            },
            _ => match self.number()? {
                Operand::Int(value) => (Base::Absolute, value),
                _ => return self.error("an integer address"),
            },
        };
        let mut items = Vec::new();
        while self.eat(b',') {
            items.push(self.nested(Self::operand)?);
        }
        self.expect(b']', "after the address")?;
        Ok(Operand::Address(Address { base, offset, items }))
    }

    /// A register, variable, label, special register or `_`.
    fn named(&mut self) -> Result<Operand> {
        let token = self.next();
        let name = self.str(token);
        if name == "_" {
            return Ok(Operand::Sink);
        }
        let symbol = match self.find(name) {
            Some(Meaning::Register(register)) => {
                return Ok(match self.dotted() {
                    Some(part) => {
                        let Some(lane) = component(part) else {
                            return self.error("`.x`, `.y`, `.z` or `.w`");
                        };
                        self.next();
                        Operand::Component(register, lane)
                    }
                    None => Operand::Register(register),
                });
            }
            Some(Meaning::Param(index)) => Symbol::Param(index),
            Some(Meaning::Return(index)) => Symbol::Return(index),
            Some(Meaning::Variable(id)) => Symbol::Local(id),
            None => {
                if let Some(label) = self.find_label(name) {
                    return Ok(Operand::Label(label));
                }
                if name.starts_with('%') {
                    return self.special(token);
                }
                if name == "WARP_SZ" {
                    return Ok(Operand::Int(32));
                }
                Symbol::Global(name.into())
            }
        };
        let offset = self.offset()?;
        Ok(Operand::Symbol(symbol, offset))
    }

    fn special(&mut self, token: Token) -> Result<Operand> {
        let name = self.str(token);
        if !SPECIAL.contains(&name) && !name.starts_with("%pm") && !name.starts_with("%envreg") {
            return self.error_at(token, "a declared register or a special register");
        }
        let mut full = String::from(name);
        if let Some(part) = self.dotted() {
            full.push('.');
            full += part;
            self.next();
        }
        Ok(Operand::Special(full.into()))
    }

    fn number(&mut self) -> Result<Operand> {
        let mut negative = false;
        loop {
            if self.eat(b'-') {
                negative = !negative;
            } else if !self.eat(b'+') {
                break;
            }
        }
        let token = self.peek();
        let text = self.str(token);
        if token.kind != Kind::Number {
            return self.error("a number");
        }
        let hex = |digits: usize| {
            (text.len() == 2 + digits).then(|| u64::from_str_radix(&text[2..], 16).ok()).flatten()
        };
        let operand = match text.get(..2) {
            Some("0f" | "0F") => {
                hex(8).map(|bits| Operand::F32(bits as u32 ^ (u32::from(negative) << 31)))
            }
            Some("0d" | "0D") => {
                hex(16).map(|bits| Operand::F64(bits ^ (u64::from(negative) << 63)))
            }
            _ => match integer(text) {
                Some(value) if negative => Some(Operand::Int((value as i64).wrapping_neg())),
                Some(value) => Some(Operand::Int(value as i64)),
                None => text
                    .parse::<f64>()
                    .ok()
                    .filter(|_| text.contains(['.', 'e', 'E']))
                    .map(|value| Operand::F64(if negative { -value } else { value }.to_bits())),
            },
        };
        match operand {
            Some(operand) => {
                self.next();
                Ok(operand)
            }
            None => self.error("a number that fits into 64 bits"),
        }
    }
}

fn component(part: &str) -> Option<u8> {
    Some(match part {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
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

/// Special registers, without their components.
const SPECIAL: &[&str] = &[
    "%tid",
    "%ntid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%ctaid",
    "%nctaid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
];
