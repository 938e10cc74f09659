//! One instruction of a litmus file: mnemonic, qualifiers in any order, operands.
//!
//! Only what the memory model sees is kept. Qualifiers that the model ignores (`.sync.aligned`,
//! shapes, caches) are accepted where PTX has them; others are errors. A state space says from where an
//! address is reached; whether it can be is known once all threads are, at the end of the file.

mod asynchronous;
mod barrier;
mod fence;
mod qualifiers;

use super::LitmusError;
use super::lexer::{Line, Token};
use super::parser::Parser;
use crate::program::{
    Address, Alu, Compare, Logic, Modify, Op, Operand, Order, Proxy, Rmw, Semantics, Space, Type,
    Window,
};
use crate::scope::Scope;
use qualifiers::Qualifiers;

/// Parses the instruction that the line holds, its guard taken already.
pub fn parse(parser: &mut Parser, line: &mut Line<'_>) -> Result<Op, LitmusError> {
    let place = line.clone();
    let mnemonic = line.word("an instruction")?;
    let mut words = mnemonic.split('.').map(str::to_owned);
    let opcode = words.next().unwrap_or_default();
    let mut q = Qualifiers::new(place.clone(), words.collect());
    let first = parser.reached.len();
    let reader = &mut Reader { parser, line };
    let op = match opcode.as_str() {
        "mov" | "add" | "sub" | "and" | "or" | "xor" | "not" | "shl" | "shr" | "mul" | "min"
        | "max" => arithmetic(&opcode, &mut q, reader)?,
        "setp" => comparison(&mut q, reader)?,
        "bra" => {
            q.take("uni");
            let place = reader.line.clone();
            let label = reader.line.word("a label")?;
            reader.parser.jump(label, &place)
        }
        "bar" if q.words.iter().any(|word| word == "warp") => {
            return Err(q.error_at("warp", "a barrier of the block: a litmus test has no warps"));
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
            Op::Fence(Order { semantics: Semantics::Sc, scope }, None)
        }
        "fence" => fence::fence(&mut q, reader)?,
        "barrier" if q.take("cluster") => barrier::cluster_barrier(&mut q)?,
        "bar" | "barrier" => barrier::barrier(&opcode, &mut q, reader)?,
        "mbarrier" => asynchronous::mbarrier(&mut q, reader)?,
        "cp" => asynchronous::copy(&mut q, reader)?,
        "red" => asynchronous::store_async(true, &mut q, reader)?,
        "tensormap" if q.take("replace") => {
            let field = q.take("tile") && q.take_one(&MAP_FIELDS) && q.take("b1024");
            if !field || !q.take_one(&["b32", "b64"]) {
                return Err(q.error(
                    "`tensormap.replace.tile.FIELD.global.b1024.b64`, FIELD such as `global_address`",
                ));
            }
            let to = reader
                .in_space("a location declared `tensormap`", |space| space == Space::TensorMap)?;
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
    let reached = &mut parser.reached[first..];
    if q.windows.len() > reached.len() && !parser.compiled {
        return Err(q.error("no state space here, or one for each address"));
    }
    for (reach, window) in reached.iter_mut().zip(&q.windows) {
        reach.window = reach.window.or(Some(*window));
    }
    Ok(op)
}

/// What `tensormap.replace` replaces.
const MAP_FIELDS: [&str; 11] = [
    "global_address",
    "rank",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "swizzle_atomicity",
    "fill_mode",
];

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
        let what = "a number or a register, r0 … or p0 …";
        Ok(Operand::Register(self.parser.register(self.line, what)?))
    }

    /// A register that holds a truth value. In compiled kernels all registers have the same names.
    fn predicate(&mut self, what: &str) -> Result<usize, LitmusError> {
        let what = format!("{what}: a predicate register, p0 …");
        let compiled = self.parser.compiled;
        match self.line.peek() {
            Some(Token::Word(word)) if compiled || word.starts_with('p') => {
                self.parser.register(self.line, &what)
            }
            _ => Err(self.line.expected(what)),
        }
    }

    /// The operand that `.L2::cache_hint` asks for, of which nothing depends.
    fn policy(&mut self, there_is_one: bool) -> Result<(), LitmusError> {
        if there_is_one {
            self.comma()?;
            self.register("a cache policy")?;
        }
        Ok(())
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
        self.parser.reach(view, place.expected(""));
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
            let behind =
                if offset == 0 { String::new() } else { format!(" behind offset {offset}") };
            let left = size - offset as usize;
            return Err(place.expected(format!(
                "at least {bytes} bytes: `{}` has {left}{behind}",
                memory.name
            )));
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

    /// `[map], 128`: the tensor map that a fence is about, and its size.
    fn map(&mut self) -> Result<Address, LitmusError> {
        let map =
            self.in_space("a location declared `tensormap`", |space| space == Space::TensorMap)?;
        self.comma()?;
        let place = self.line.clone();
        match self.line.small("the size of a tensor map, 128")? {
            128 => Ok(map),
            _ => Err(place.expected("the size of a tensor map, 128")),
        }
    }

    /// Says that what was reached last lies in this window.
    fn within(&mut self, window: Window) {
        if let Some(reach) = self.parser.reached.last_mut() {
            reach.window = Some(window);
        }
    }
}

/// `setp.lt` and `setp.lt.and`: a comparison, alone or together with another predicate.
fn comparison(q: &mut Qualifiers<'_>, reader: &mut Reader<'_, '_, '_>) -> Result<Op, LitmusError> {
    let compare = q
        .find(Compare::named)
        .ok_or_else(|| q.error("`setp.eq`, `.ne`, `.lt`, `.le`, `.gt` or `.ge`"))?;
    q.integers()?;
    let with = q.find(Logic::named);
    let ty = q.find(Type::named).unwrap_or(REGISTER);
    let to = reader.predicate("the result")?;
    let a = reader.next_operand()?;
    let b = reader.next_operand()?;
    let Some(logic) = with else {
        return Ok(Op::Alu(Alu::Compare(compare), ty, to, [a, b, ZERO]));
    };
    reader.comma()?;
    let negated = reader.line.take("!");
    let c = Operand::Register(reader.predicate("what it is combined with")?);
    Ok(Op::Alu(Alu::CompareWith(compare, logic, negated), ty, to, [a, b, c]))
}

fn arithmetic(
    opcode: &str,
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    if opcode == "mul" {
        q.take_one(&["lo", "wide"]);
    }
    if opcode != "mov" {
        q.integers()?;
    }
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
        return asynchronous::store_async(false, q, reader);
    }
    let readonly = load && (q.take("nc") || q.take("proxy::readonly"));
    let constant = load && q.take("const");
    let legal: &[&str] =
        if load { &["weak", "relaxed", "acquire"] } else { &["weak", "relaxed", "release"] };
    let order = q.access_order(legal)?;
    if (readonly || constant) && order.is_strong() {
        return Err(q.error("a weak load through this proxy"));
    }
    if readonly && q.windows.iter().any(|window| *window != Window::Global) {
        return Err(q.error("`.global` with a load of what is only read"));
    }
    let policy = q.caches(match load {
        true => &["ca", "cg", "cs", "lu", "cv"],
        false => &["wb", "cg", "cs", "wt"],
    });
    let lanes = q.find(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let ty = q.ty()?;
    let count = lanes.unwrap_or(1);
    let bytes = ty.bytes * count as u32;
    if bytes > 32 || count > 1 && ty.bytes == 16 {
        return Err(q.error("a vector of at most 32 bytes, of elements of at most 8"));
    }
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
    reader.policy(policy)?;
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
    if opcode != "tex" && !q.take("b") || !q.take("1d") {
        return Err(q.error("`suld.b.1d`, `sust.b.1d` or `tex.1d`, and a type"));
    }
    let ty = q.ty()?;
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
    q.integers()?;
    let policy = q.caches(&[]);
    let ty = q.ty()?;
    let bits: &[u32] = match modify {
        Modify::CompareExchange => &[16, 32, 64, 128],
        Modify::Exchange => &[32, 64, 128],
        Modify::Increment | Modify::Decrement => &[32],
        _ => &[32, 64],
    };
    if !bits.contains(&(8 * ty.bytes)) {
        let bits: Vec<String> = bits.iter().map(u32::to_string).collect();
        return Err(q.error(format!("a type of {} bits for this operation", bits.join(", "))));
    }
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
    reader.policy(policy)?;
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
