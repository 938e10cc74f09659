//! Operands: registers, addresses, lists, numbers.

use super::{Meaning, Parser, Result, integer};
use crate::lexer::{Kind, Token};
use crate::tree::*;

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Result<Operand> {
        let first = self.simple_operand()?;
        if self.eat(b'|') {
            let second = self.simple_operand()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        if let Operand::Register(register) = first
            && self.is(b'+')
        {
            return Ok(Operand::Sum(register, self.offset()?));
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

    pub(super) fn number(&mut self) -> Result<Operand> {
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
