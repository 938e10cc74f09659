//! The body of a function: scopes of names, labels, registers, instructions.

use super::{Meaning, Parser, Result, Scope};
use crate::lexer::Kind;
use crate::tree::*;

/// Registers of one function; bounds what `%r<N>` can ask for.
const MAX_REGISTERS: usize = 1 << 20;

impl<'a> Parser<'a> {
    pub(super) fn body(&mut self, function: &Function) -> Result<Body> {
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

    pub(super) fn find(&self, name: &str) -> Option<Meaning> {
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

    pub(super) fn find_label(&self, name: &str) -> Option<LabelId> {
        self.scopes.iter().rev().find_map(|scope| scope.labels.get(name).copied())
    }

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
}
