//! One instruction of a litmus file: mnemonic, qualifiers in any order, operands.
//!
//! Only what the memory model sees is kept. Qualifiers that the model ignores (`.sync.aligned`,
//! shapes, cache hints) are accepted where PTX has them; others are errors.

mod asynchronous;

use super::LitmusError;
use super::lexer::{Line, Token};
use super::parser::Parser;
use crate::program::{
    Address, Alu, Compare, Modify, Op, Operand, Order, Proxy, ProxyFence, Rmw, Semantics, Space,
    Type,
};
use crate::scope::Scope;

/// The qualifiers of a mnemonic, to be taken one by one.
struct Qualifiers<'a> {
    place: Line<'a>,
    words: Vec<String>,
}

const SPACES: [&str; 6] =
    ["global", "shared", "shared::cta", "shared::cluster", "local", "param::entry"];

impl Qualifiers<'_> {
    fn take(&mut self, word: &str) -> bool {
        let at = self.words.iter().position(|known| known == word);
        at.map(|at| self.words.remove(at)).is_some()
    }

    fn take_any(&mut self, words: &[&str]) {
        self.words.retain(|known| !words.contains(&known.as_str()));
    }

    fn find<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let at = self.words.iter().position(|word| meaning(word).is_some())?;
        meaning(&self.words.remove(at))
    }

    fn error(&self, expected: impl Into<String>) -> LitmusError {
        self.place.expected(expected)
    }

    fn ty(&mut self) -> Result<Type, LitmusError> {
        self.find(Type::named).ok_or_else(|| self.error("a type, such as `.u32`"))
    }

    fn scope(&mut self) -> Option<Scope> {
        self.find(Scope::named)
    }

    /// Semantics and scope, or `default` if neither is given.
    fn order(&mut self, default: Order, legal: &[&str]) -> Result<Order, LitmusError> {
        if self.take("volatile") {
            return Ok(Order { semantics: Semantics::Relaxed, scope: Scope::Sys });
        }
        self.take("mmio");
        let named = |word: &str| {
            Some(match word {
                "weak" => Semantics::Weak,
                "relaxed" => Semantics::Relaxed,
                "acquire" => Semantics::Acquire,
                "release" => Semantics::Release,
                "acq_rel" => Semantics::AcqRel,
                "sc" => Semantics::Sc,
                _ => return None,
            })
        };
        if let Some(word) =
            self.words.iter().find(|w| named(w).is_some() && !legal.contains(&w.as_str()))
        {
            return Err(self.error(format!("{} here, not `.{word}`", legal.join(", "))));
        }
        let semantics = self.find(named);
        let scope = self.scope();
        match (semantics, scope) {
            (Some(Semantics::Weak), None) => Ok(Order::WEAK),
            (None, None) => Ok(default),
            (Some(semantics), Some(scope)) if semantics != Semantics::Weak => {
                Ok(Order { semantics, scope })
            }
            (None, Some(scope)) if default.is_strong() => Ok(Order { scope, ..default }),
            (Some(semantics), None) if default.is_strong() => Ok(Order { semantics, ..default }),
            _ => Err(self.error("semantics and a scope together, such as `.relaxed.gpu`")),
        }
    }

    fn finish(&mut self) -> Result<(), LitmusError> {
        self.take_any(&SPACES);
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("no `.{word}` on this instruction"))),
        }
    }
}

/// Parses the instruction that the line holds, its guard taken already.
pub fn parse(parser: &mut Parser, line: &mut Line<'_>) -> Result<Op, LitmusError> {
    let place = line.clone();
    let mnemonic = line.word("an instruction")?;
    let mut words = mnemonic.split('.').map(str::to_owned);
    let opcode = words.next().unwrap_or_default();
    let mut q = Qualifiers { place: place.clone(), words: words.collect() };
    let reader = &mut Reader { parser, line };
    let op = match opcode.as_str() {
        "mov" | "add" | "sub" | "and" | "or" | "xor" | "not" | "shl" | "shr" | "mul" | "min"
        | "max" => arithmetic(&opcode, &mut q, reader)?,
        "setp" => {
            let compare = q
                .find(Compare::named)
                .ok_or_else(|| q.error("`setp.eq`, `.ne`, `.lt`, `.le`, `.gt` or `.ge`"))?;
            let ty = q.find(Type::named).unwrap_or(REGISTER);
            let to = reader.register("the predicate")?;
            let a = reader.next_operand()?;
            let b = reader.next_operand()?;
            Op::Alu(Alu::Compare(compare), ty, to, [a, b, ZERO])
        }
        "bra" => {
            q.take("uni");
            let place = reader.line.clone();
            let label = reader.line.word("a label")?;
            reader.parser.jump(label, &place)
        }
        "exit" | "ret" => Op::Exit,
        "ld" | "st" => load_store(opcode == "ld", &mut q, reader)?,
        "suld" | "sust" | "tex" => special_access(&opcode, &mut q, reader)?,
        "atom" | "red" if !q.words.iter().any(|word| word == "async") => {
            rmw(opcode == "atom", &mut q, reader)?
        }
        "membar" => {
            let scope = q.find(|word| match word {
                "gl" => Some(Scope::Gpu),
                "cta" => Some(Scope::Cta),
                "sys" => Some(Scope::Sys),
                _ => None,
            });
            let scope = scope.ok_or_else(|| q.error("`membar.cta`, `.gl` or `.sys`"))?;
            Op::Fence(Order { semantics: Semantics::Sc, scope }, false)
        }
        "fence" => fence(&mut q, reader)?,
        "bar" | "barrier" if q.take("cluster") => asynchronous::cluster_barrier(&mut q)?,
        "bar" | "barrier" => {
            q.take_any(&["cta", "aligned"]);
            let waits = !q.take("arrive");
            if waits && !q.take("sync") {
                return Err(q.error("`bar.sync` or `bar.arrive`"));
            }
            let id = match reader.parser.compiled {
                true => reader.operand()?,
                false => Operand::Immediate(reader.line.small("the barrier's number")?.into()),
            };
            let mut count = None;
            if reader.line.take(",") {
                let place = reader.line.clone();
                count = Some(reader.line.small("how many threads take part")?);
                if count == Some(0) {
                    return Err(place.expected("at least one thread"));
                }
            } else if !waits {
                return Err(reader.line.expected("`, n`: how many threads take part"));
            }
            Op::Barrier { id, count, waits, vote: None }
        }
        "mbarrier" => asynchronous::mbarrier(&mut q, reader)?,
        "cp" => asynchronous::copy(&mut q, reader)?,
        "red" => asynchronous::store_async(&mut q, reader)?,
        "tensormap" if q.take("replace") => {
            q.words.clear();
            let to = reader.address()?;
            let value = reader.next_operand()?;
            Op::ReplaceTensorMap(to, value)
        }
        "tcgen05" => asynchronous::tcgen05(&mut q, reader)?,
        _ => {
            return Err(place.expected(
                "an instruction of the format: mov, add, sub, and, or, xor, setp, bra, ld, st, atom, \
                 red, fence, bar, barrier.cluster, mbarrier, cp.async, cp.async.bulk, st.async, tensormap.replace, \
                 tcgen05",
            ));
        }
    };
    q.finish()?;
    Ok(op)
}

/// What an operation on registers without a type works on.
const REGISTER: Type = Type { bytes: 8, signed: false };
const ZERO: Operand = Operand::Immediate(0);

struct Reader<'p, 'l, 's> {
    parser: &'p mut Parser,
    line: &'l mut Line<'s>,
}

impl Reader<'_, '_, '_> {
    fn register(&mut self, what: &str) -> Result<usize, LitmusError> {
        self.parser.register(self.line, &format!("{what}: a register, r0 … or p0 …"))
    }

    fn operand(&mut self) -> Result<Operand, LitmusError> {
        if let Some(Token::Number(number)) = self.line.peek() {
            let number = *number;
            self.line.number("")?;
            return Ok(Operand::Immediate(number));
        }
        Ok(Operand::Register(self.register("a number or")?))
    }

    fn comma(&mut self) -> Result<(), LitmusError> {
        self.line.sign(",")
    }

    fn next_operand(&mut self) -> Result<Operand, LitmusError> {
        self.comma()?;
        self.operand()
    }

    fn next_address(&mut self) -> Result<Address, LitmusError> {
        self.comma()?;
        self.address()
    }

    /// What stands in `[…]`, up to the closing bracket or a comma.
    fn place(&mut self) -> Result<Address, LitmusError> {
        let place = self.line.clone();
        let name = self.line.word("a location")?;
        if self.parser.compiled && self.parser.view(&name).is_none() {
            let mut again = place.clone();
            let register = self.parser.register(&mut again, "a location or a register")?;
            let offset = if self.line.take("+") { self.line.number("an offset")? } else { 0 };
            return Ok(Address::Register(register, offset as i64));
        }
        let offset =
            if self.line.take("+") { i64::from(self.line.small("an offset in bytes")?) } else { 0 };
        let view = self.parser.view(&name).ok_or_else(|| place.expected("a declared location"))?;
        let memory = &self.parser.program.memories[self.parser.program.views[view].memory];
        if offset as usize >= memory.init.len() {
            return Err(place.expected(format!(
                "an offset inside `{}`, which has {} bytes",
                memory.name,
                memory.init.len()
            )));
        }
        Ok(Address::Named(view, offset))
    }

    fn address(&mut self) -> Result<Address, LitmusError> {
        self.line.sign("[")?;
        let address = self.place()?;
        self.line.sign("]")?;
        Ok(address)
    }

    /// An address of `bytes` bytes, which must lie inside its location and be aligned.
    fn fitting(&mut self, bytes: u32) -> Result<Address, LitmusError> {
        let place = self.line.clone();
        let address = self.address()?;
        self.fits(address, bytes, &place)?;
        Ok(address)
    }

    fn fits(&self, address: Address, bytes: u32, place: &Line<'_>) -> Result<(), LitmusError> {
        let Address::Named(view, offset) = address else { return Ok(()) };
        let memory = &self.parser.program.memories[self.parser.program.views[view].memory];
        let size = memory.init.len();
        if offset as usize + bytes as usize > size {
            return Err(
                place.expected(format!("at least {bytes} bytes: `{}` has {size}", memory.name))
            );
        }
        let align = bytes.min(16);
        if align.is_power_of_two() && !(offset as u64).is_multiple_of(u64::from(align)) {
            return Err(place.expected(format!("an offset aligned to {align} bytes")));
        }
        Ok(())
    }

    fn proxy_of(&self, address: Address) -> Proxy {
        match address {
            Address::Named(view, _) => self.parser.program.views[view].proxy,
            _ => Proxy::Generic,
        }
    }

    fn space_of(&self, address: Address) -> Option<Space> {
        match address {
            Address::Named(view, _) => {
                Some(self.parser.program.memories[self.parser.program.views[view].memory].space)
            }
            _ => None,
        }
    }

    fn in_space(
        &mut self,
        what: &str,
        right: impl Fn(Space) -> bool,
    ) -> Result<Address, LitmusError> {
        let place = self.line.clone();
        let address = self.address()?;
        match self.space_of(address) {
            Some(space) if !right(space) => Err(place.expected(what)),
            _ => Ok(address),
        }
    }

    /// An mbarrier object: 8 bytes of shared memory.
    fn mbarrier(&mut self) -> Result<Address, LitmusError> {
        let place = self.line.clone();
        let address = self
            .in_space("an mbarrier in shared memory", |space| matches!(space, Space::Shared(_)))?;
        self.fits(address, 8, &place)?;
        Ok(address)
    }
}

fn arithmetic(
    opcode: &str,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    q.take_any(&["lo", "wide"]);
    let ty = q.find(Type::named).unwrap_or(REGISTER);
    let to = reader.register("the destination")?;
    let a = reader.next_operand()?;
    let alu = match opcode {
        "mov" => return Ok(Op::Alu(Alu::Move, ty, to, [a, ZERO, ZERO])),
        "not" => return Ok(Op::Alu(Alu::Not, ty, to, [a, ZERO, ZERO])),
        "add" => Alu::Add,
        "sub" => Alu::Sub,
        "and" => Alu::And,
        "or" => Alu::Or,
        "xor" => Alu::Xor,
        "shl" => Alu::Shl,
        "shr" => Alu::Shr,
        "mul" => Alu::Mul,
        "min" => Alu::Min,
        _ => Alu::Max,
    };
    let b = reader.next_operand()?;
    Ok(Op::Alu(alu, ty, to, [a, b, ZERO]))
}

fn load_store(
    load: bool,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    if !load && q.take("async") {
        return asynchronous::store_async(q, reader);
    }
    let readonly = load && (q.take("nc") || q.take("proxy::readonly"));
    let constant = load && q.take("const");
    let legal: &[&str] =
        if load { &["weak", "relaxed", "acquire"] } else { &["weak", "relaxed", "release"] };
    let order = q.order(Order::WEAK, legal)?;
    let lanes = q.find(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let ty = q.ty()?;
    let count = lanes.unwrap_or(1);
    let bytes = ty.bytes * count as u32;
    let mut registers = vec![];
    let mut values = vec![];
    let mut lane = |reader: &mut Reader<'_, '_, '_>| -> Result<(), LitmusError> {
        if load {
            registers.push(reader.register("a destination")?);
        } else {
            values.push(reader.operand()?);
        }
        Ok(())
    };
    let mut address = None;
    let mut place = reader.line.clone();
    if !load {
        address = Some(reader.fitting(bytes)?);
        reader.comma()?;
    }
    if lanes.is_some() {
        reader.line.sign("{")?;
        for index in 0..count {
            if index > 0 {
                reader.comma()?;
            }
            lane(reader)?;
        }
        reader.line.sign("}")?;
    } else {
        lane(reader)?;
    }
    if load {
        reader.comma()?;
        place = reader.line.clone();
        address = Some(reader.fitting(bytes)?);
    }
    let Some(address) = address else { return Err(place.expected("an address")) };
    let own = reader.proxy_of(address);
    let proxy = match own {
        Proxy::Generic if readonly => Proxy::Readonly,
        Proxy::Generic if !constant => Proxy::Generic,
        Proxy::Constant if constant => Proxy::Constant,
        Proxy::Tensor => return Err(place.expected("a location outside tensor memory")),
        _ if constant => return Err(place.expected("a location declared `constant-of`")),
        _ => return Err(place.expected("a location that ordinary loads and stores reach")),
    };
    Ok(if load {
        Op::Load(registers, ty, order, proxy, address)
    } else {
        Op::Store(values, ty, order, proxy, address)
    })
}

/// `suld`, `sust` and `tex`: the hypothetical accesses of the ISCA'22 paper.
fn special_access(
    opcode: &str,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    q.take_any(&["b", "1d", "trap", "v4"]);
    let ty = q.find(Type::named).unwrap_or(Type { bytes: 4, signed: false });
    q.find(Type::named);
    let proxy = if opcode == "tex" { Proxy::Texture } else { Proxy::Surface };
    let (mut register, mut value) = (0, ZERO);
    if opcode != "sust" {
        register = reader.register("the destination")?;
        reader.comma()?;
    }
    let place = reader.line.clone();
    let address = reader.fitting(ty.bytes)?;
    if reader.proxy_of(address) != proxy {
        let kind = if proxy == Proxy::Texture { "texture-of" } else { "surface-of" };
        return Err(place.expected(format!("a location declared `{kind}`")));
    }
    if opcode == "sust" {
        value = reader.next_operand()?;
        return Ok(Op::Store(vec![value], ty, Order::WEAK, proxy, address));
    }
    let _ = value;
    Ok(Op::Load(vec![register], ty, Order::WEAK, proxy, address))
}

const ATOMIC: Order = Order { semantics: Semantics::Relaxed, scope: Scope::Gpu };

fn rmw(
    returns: bool,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    let legal: &[&str] = if returns {
        &["relaxed", "acquire", "release", "acq_rel"]
    } else {
        &["relaxed", "release"]
    };
    let order = q.order(ATOMIC, legal)?;
    let modify = q
        .find(Modify::named)
        .filter(|m| returns || !matches!(m, Modify::Exchange | Modify::CompareExchange))
        .ok_or_else(|| {
            q.error("an operation: add, and, or, xor, min, max, inc, dec; atom also exch, cas")
        })?;
    let ty = q.ty()?;
    let mut register = None;
    if returns {
        if !reader.line.take_word("_") {
            register = Some(reader.register("the old value's destination")?);
        }
        reader.comma()?;
    }
    let place = reader.line.clone();
    let address = reader.fitting(ty.bytes)?;
    if reader.proxy_of(address) != Proxy::Generic {
        return Err(place.expected("a location that atomics reach"));
    }
    let a = match modify {
        // `inc` and `dec` without a bound wrap at the type's end, as in the text's examples.
        Modify::Increment | Modify::Decrement if reader.line.is_done() => {
            Operand::Immediate(u128::MAX)
        }
        _ => reader.next_operand()?,
    };
    let b = if modify == Modify::CompareExchange { reader.next_operand()? } else { ZERO };
    Ok(Op::Rmw(Rmw {
        reduction: !returns,
        to: register,
        modify,
        ty,
        args: [a, b],
        order,
        at: address,
    }))
}

fn fence(q: &mut Qualifiers<'_>, reader: &mut Reader<'_, '_, '_>) -> Result<Op, LitmusError> {
    let restricted = q.words.iter().any(|word| word.starts_with("sync_restrict"));
    q.words.retain(|word| !word.starts_with("sync_restrict"));
    if q.take("mbarrier_init") {
        q.take_any(&["release", "cluster"]);
        return Ok(Op::InitFence);
    }
    if !q.take("proxy") {
        let default = Order { semantics: Semantics::AcqRel, scope: Scope::Sys };
        if !q.words.iter().any(|word| Scope::named(word).is_some()) {
            return Err(q.error("a fence with its scope, such as `fence.acq_rel.gpu`"));
        }
        let order = q.order(default, &["sc", "acq_rel", "acquire", "release"])?;
        return Ok(Op::Fence(order, restricted));
    }
    let kinds = "fence.proxy of alias, async, tensormap::generic, surface, texture or constant";
    let kind = q.find(|word| {
        Some(match word {
            "alias" => ProxyFence::Alias,
            "async" | "async::generic" => ProxyFence::Both(Proxy::Async),
            "tensormap" => ProxyFence::Both(Proxy::TensorMap),
            "surface" => ProxyFence::Both(Proxy::Surface),
            "texture" => ProxyFence::Both(Proxy::Texture),
            "constant" => ProxyFence::Both(Proxy::Constant),
            "tensormap::generic" => ProxyFence::TensorMapRelease(Scope::Sys),
            _ => return None,
        })
    });
    let kind = match kind.ok_or_else(|| q.error(kinds))? {
        ProxyFence::TensorMapRelease(_) => {
            let release = q.take("release");
            if !release && !q.take("acquire") {
                return Err(q.error("`.release.SCOPE` or `.acquire.SCOPE`"));
            }
            let scope = q.scope().ok_or_else(|| q.error("a scope"))?;
            if release {
                ProxyFence::TensorMapRelease(scope)
            } else {
                reader.address()?;
                reader.comma()?;
                reader.line.small("the size, 128")?;
                ProxyFence::TensorMapAcquire(scope)
            }
        }
        other => {
            q.take_any(&["acquire", "release", "sys", "cluster"]);
            other
        }
    };
    Ok(Op::ProxyFence(kind))
}
