//! What stands outside of functions: directives, variables, and the heads of functions.

use super::{Parser, Result};
use crate::lexer::Kind;
use crate::tree::*;

impl<'a> Parser<'a> {
    pub(super) fn module(&mut self, module: &mut Module) -> Result<()> {
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

    pub(super) fn string(&mut self, what: &str) -> Result<String> {
        let token = self.peek();
        let text = self.str(token);
        if token.kind == Kind::Text && text.len() >= 2 && text.ends_with('"') {
            self.next();
            return Ok(text[1..text.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\"));
        }
        self.error(what)
    }

    pub(super) fn section(&mut self) -> Result<Section> {
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

    pub(super) fn pragma(&mut self) -> Result<()> {
        self.next();
        self.string("the text of the pragma")?;
        while self.eat(b',') {
            self.string("the text of the pragma")?;
        }
        self.expect(b';', "after the pragma")?;
        Ok(())
    }

    pub(super) fn skip_statement(&mut self) -> Result<()> {
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

    pub(super) fn linkage(&mut self) -> Linkage {
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
    pub(super) fn variable(
        &mut self,
        linkage: Linkage,
        mut put: impl FnMut(Variable),
    ) -> Result<()> {
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
    pub(super) fn type_of_variable(&mut self) -> Result<(Option<u32>, u8, Type)> {
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
    pub(super) fn offset(&mut self) -> Result<i64> {
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

    pub(super) fn params(&mut self) -> Result<Vec<Param>> {
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
}
